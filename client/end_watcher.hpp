// The thread that tells of the ends of jobs: one for a client and all that were made of it by `as`. It is made with the
// first job that is watched, sleeps while none is, and asks the store about some of them together
// (client/watched_ends.hpp), at most every `between_looks` and not before the store has answered.
#pragma once

#include <memory>
#include <mutex>
#include <thread>

#include "client/watched_ends.hpp"
#include "storage/shared_store.hpp"

namespace sluice {

class end_watcher {
public:
  // A thousand jobs a second, as the sweep of a host's observers.
  static constexpr auto between_looks = std::chrono::milliseconds(200);

  explicit end_watcher(std::shared_ptr<storage::shared_store> store);
  // Tells all who still wait not_running, and waits for what is told, unless this is the watcher's own thread.
  ~end_watcher();
  end_watcher(const end_watcher&) = delete;

  // `tell` is called once, on the watcher's thread; in a child that was forked at once, here.
  void watch(const job_id& id, watched_ends::listener tell);

private:
  struct shared;
  std::shared_ptr<shared> shared_;  // with the thread, which may outlive us by a moment
  std::once_flag begun_;
  std::thread thread_;
};

}  // namespace sluice
