// What a dispatcher asks of its queue's supervisor, which is an actor and may die: then nothing is claimed until its
// successor has attached itself. Called from any thread, one call at a time; must not block, and what it calls back
// takes its turn as a step.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "execution/admission_request.hpp"

namespace sluice::execution {

// Why a dispatcher looks again.
enum class wake_reason : std::uint8_t {
  retry,
  claims_resume,
  more_may_have_ended,
  turn_of_another_over,
  turn_for_a_thread
};
struct timer {
  wake_reason why{};
  std::uint64_t request = 0;  // that is to be asked again
};

class supervisor_link {
public:
  virtual ~supervisor_link() = default;

  // Calls dispatcher::again with this timer after that time.
  virtual void call_later(duration in, timer what) = 0;
  // Has these admitted; dispatcher::judged is told what became of them.
  virtual void ask_gate(std::vector<admission_request> runs) = 0;
  // Runs of types with custom throttlers are over.
  virtual void notify_run_ended(const run_ptr& run, bool failed, duration ran) = 0;
  // Calls dispatcher::call_filters.
  virtual void call_filters() = 0;
  // Other queues may have work to claim.
  virtual void wake_all_queues() = 0;
};

// The one whom a dispatcher asks now. What is asked of nobody waits for the next. Not thread-safe.
class current_supervisor {
public:
  void use(std::shared_ptr<supervisor_link> one) {
    link_ = std::move(one);
    for (const auto& what : std::exchange(owed_, {}))
      what(*link_);
  }
  void forget(const std::shared_ptr<supervisor_link>& one) {
    if (link_ == one) link_ = nullptr;
  }
  bool is_there() const { return link_ != nullptr; }
  void ask(std::function<void(supervisor_link&)> what) {
    if (link_) what(*link_);
    else owed_.push_back(std::move(what));
  }

private:
  std::shared_ptr<supervisor_link> link_;
  std::vector<std::function<void(supervisor_link&)>> owed_;
};

}  // namespace sluice::execution
