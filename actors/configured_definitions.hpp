// What the configuration tells of throttlers and schedules, and how it gets into the store. Thread-safe.
#pragma once

#include <atomic>
#include <set>
#include <thread>

#include "core/mutex.hpp"
#include "execution/execution_context.hpp"

namespace sluice::actors {

class configured_definitions {
public:
  // `of` outlives this.
  explicit configured_definitions(execution::execution_context& of) : of_(of) {}

  // Waits for the store, as long as this for each step.
  result<void> store(duration timeout);
  // Once they are stored: not_found names the throttlers that types name and neither the configuration nor the store
  // defines.
  result<void> check_throttlers(duration timeout) const;
  // Does it again, on a thread of its own, since the store has forgotten this server: it came back empty, or as it was
  // long ago.
  void restore();
  // It is to be done with the next beat. True: it was asked for before.
  void restore_later() { must_restore_ = true; }
  bool take_restore_later() { return must_restore_.exchange(false); }
  // Waits until that has ended.
  void end();
  // Whether the configuration defines a throttler, named as in the store; also by one of its lines.
  bool defines(std::string_view resource) const;
  // False when it was asked before: what lasts is told of once.
  bool is_first_told_of(std::string_view resource);

private:
  storage::answer ask(const storage::request& r, duration timeout) const;
  void restore_now();
  void failed(const std::string& why);

  execution::execution_context& of_;
  mutex lock_;
  std::atomic<bool> restoring_{false};
  std::atomic<bool> must_restore_{false};  // that failed, or came too early: the next beat begins it again
  std::jthread restorer_ SLUICE_GUARDED_BY(lock_);
  std::set<std::string, std::less<>> told_of_ SLUICE_GUARDED_BY(lock_);
};

}  // namespace sluice::actors
