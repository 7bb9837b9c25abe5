#include "execution/pool.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "core/text.hpp"

namespace sluice::execution {

pool::access::~access() {
  if (!is_held_) return;
  try {
    unlock();
  } catch (const std::exception& e) {  // no room for a line or a thread; the next access tries again
    log::error("queue ", pool_.queue.value, ": what waits could not be begun: ", message_of(e));
  }
}

void pool::access::lock() {
  held_.lock();
  is_held_ = true;
}

void pool::access::unlock() {
  const auto called = pool_.table_.begin_waiting(pool_.runs_);
  const auto stops = std::exchange(pool_.runs_.stops, {});
  const auto tell = pool_.runs_.ended.due_call();
  pool_.changed_.notify_all();
  held_.unlock();
  is_held_ = false;
  if (called) pool_.workers.lend_thread(*called);
  for (const auto& stop : stops)
    pool_.stops_.request(stop);
  if (tell) (*tell)();
}

pool_load pool::load() const {
  const mutex_lock hold(lock_);
  auto load = runs_.load();
  load.workers = table_.count();
  return load;
}

std::vector<std::pair<run_ptr, run_state>> pool::held() const {
  const mutex_lock hold(lock_);
  std::vector<std::pair<run_ptr, run_state>> all;
  all.reserve(runs_.held.size());
  for (const auto& [f, run] : runs_.held)
    all.emplace_back(run, runs_.state_of(run));
  return all;
}

bool pool::awaits_admission(const run_ptr& run) const {
  const mutex_lock hold(lock_);
  return runs_.state_of(run).phase == run_phase::awaiting_admission;
}

bool pool::is_stopping(const run_ptr& run) const {
  const mutex_lock hold(lock_);
  return runs_.state_of(run).stop.cause != stop_reason::none;
}

std::vector<storage::progress_request::run_report> pool::take_progress() {
  const mutex_lock hold(lock_);
  std::vector<storage::progress_request::run_report> all;
  if (!std::exchange(runs_.progress_waits, false)) return all;
  for (const auto& [f, run] : runs_.held) {
    auto& state = runs_.state_of(run);
    if (std::exchange(state.progress.is_new, false) && state.phase == run_phase::running)
      all.push_back({{run->about.id, f}, *state.progress.last});
  }
  return all;
}

steady_point pool::end_slices(steady_point now) {
  const auto runs = lock();
  for (const auto& run : runs->chains.take_late(now))
    runs->give_back(run, "its turn did not come in time");
  return runs->chains.next_late(now);
}

bool pool::end_if_idle(duration for_long) {
  const mutex_lock hold(lock_);
  return runs_.draining = runs_.draining || runs_.is_idle(for_long);
}

void pool::drain(steady_point now) {
  const auto runs = lock();
  runs->draining = true;
  for (const auto& [f, run] : runs->held)
    runs->ask_to_stop(run, stop_reason::shutdown, now);
}

bool pool::wait_until_empty(steady_point deadline) {
  auto runs = lock();
  const auto is_empty = [&] {
    return runs->open_claims == 0 && std::none_of(runs->held.begin(), runs->held.end(), [&](const auto& one) {
             return runs->state_of(one.second).server_waits_for_it;
           });
  };
  while (!is_empty())
    if (!runs.wait_until(deadline)) return is_empty();
  return true;
}

}  // namespace sluice::execution
