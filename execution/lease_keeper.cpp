#include "execution/lease_keeper.hpp"

#include <algorithm>

#include "core/thread_name.hpp"

namespace sluice::execution {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// What is told of progress within this time is stored as one.
constexpr duration progress_delay = 200ms;

steady_point at(steady_point::rep ticks) { return steady_point(steady_point::duration(ticks)); }

}  // namespace

lease_keeper::lease_keeper(std::weak_ptr<execution_context> of, lease_watch::overdue_report overdue)
    : context_(std::move(of)),
      watch_(std::move(overdue)),
      next_look_(steady_point::max().time_since_epoch().count()),
      thread_([this] { run(); }) {}

void lease_keeper::halt() {
  {
    const mutex_lock held(lock_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void lease_keeper::notice(steady_point earliest_need) {
  if (earliest_need >= at(next_look_.load())) return;  // it looks earlier anyway
  const mutex_lock held(lock_);
  if (earliest_need < at(next_look_.load())) next_look_ = earliest_need.time_since_epoch().count();
  changed_.notify_all();
}

void lease_keeper::look_for_cancels() {
  if (watch_.ask_for_cancels()) notice(steady_clock::now());
}

void lease_keeper::progress_waits() { notice(steady_clock::now() + progress_delay); }

void lease_keeper::run() {
  name_this_thread("sluice-leases");
  mutex_lock held(lock_);
  while (!stopping_) {
    const auto planned = at(next_look_.load());
    if (planned == steady_point::max()) {
      held.wait(changed_);
      continue;
    }
    if (steady_clock::now() < planned) {
      held.wait_until(changed_, planned);
      continue;
    }
    next_look_ = steady_point::max().time_since_epoch().count();
    held.unlock();
    auto next = steady_point::max();
    if (const auto of = context_.lock()) next = watch_.look(of, steady_clock::now());
    held.lock();
    next_look_ = std::min(next_look_.load(), next.time_since_epoch().count());
  }
}

}  // namespace sluice::execution
