#include "execution/run_watch.hpp"

namespace sluice::execution {

std::vector<std::pair<run_ptr, run_state>> run_watch::held() const {
  const mutex_lock held(core_.lock);
  std::vector<std::pair<run_ptr, run_state>> all;
  all.reserve(core_.runs.held.size());
  for (const auto& [f, run] : core_.runs.held)
    all.emplace_back(run, core_.state_of(*run));
  return all;
}

bool run_watch::holds(sluice::fence f) const {
  const mutex_lock held(core_.lock);
  return core_.runs.held.contains(f);
}

run_ptr run_watch::find(sluice::fence f) const {
  const mutex_lock held(core_.lock);
  const auto found = core_.runs.held.find(f);
  return found == core_.runs.held.end() ? nullptr : found->second;
}

void run_watch::renewed(const run_ptr& run, steady_point lease_ends) {
  const mutex_lock held(core_.lock);
  core_.state_of(*run).lease_ends = lease_ends;
}

bool run_watch::tell_overdue_once(const run_ptr& run) {
  const mutex_lock held(core_.lock);
  return !std::exchange(core_.state_of(*run).stop.overdue_told, true);
}

std::vector<storage::progress_request::run_report> run_watch::take_progress() {
  const mutex_lock held(core_.lock);
  std::vector<storage::progress_request::run_report> all;
  if (!std::exchange(core_.runs.progress_waits, false)) return all;
  for (const auto& [f, run] : core_.runs.held) {
    auto& state = core_.state_of(*run);
    if (std::exchange(state.progress.is_new, false) && state.phase == run_phase::running)
      all.push_back({{run->about.id, f}, *state.progress.last});
  }
  return all;
}

void run_watch::ask_to_stop(const run_ptr& run, stop_reason cause, steady_point now) {
  {
    const pool_section section(core_);
    auto& state = core_.state_of(*run);
    // As a rule its throttler has parked it, and says so any moment. Let in by now, it does not begin.
    if (state.phase == run_phase::awaiting_admission && cause == stop_reason::lost) {
      state.stop.cause = cause;
      return;
    }
    if (state.phase == run_phase::queued || state.phase == run_phase::awaiting_admission) {
      if (state.phase == run_phase::awaiting_admission) --core_.runs.awaiting_admission;
      else std::erase(core_.runs.queue, run);
      core_.file_never_begun(run, "stopped before it began");
      return;
    }
    if (state.phase != run_phase::running) return;
    const bool goes_on =
        state.stop.cause == stop_reason::cancelled && (cause == stop_reason::timeout || cause == stop_reason::lost);
    if (state.stop.cause != stop_reason::none && !goes_on) return;
    if (!goes_on) run->reason = cause;  // before the token says so
    state.stop.cause = cause;
    state.stop.asked = now;
  }
  core_.stops.request(run->stop);
}

bool run_watch::is_stopping(const run_ptr& run) const {
  const mutex_lock held(core_.lock);
  return core_.state_of(*run).stop.cause != stop_reason::none;
}

void run_watch::drain(steady_point now) {
  {
    const mutex_lock held(core_.lock);
    core_.runs.draining = true;
  }
  for (const auto& [run, state] : held())
    ask_to_stop(run, stop_reason::shutdown, now);
}

void run_watch::give_back_queued_before(steady_point then) {
  const pool_section section(core_);
  auto& queue = core_.runs.queue;
  while (!queue.empty() && core_.state_of(*queue.back()).queued_since < then) {
    const auto run = queue.back();
    queue.pop_back();
    core_.file_never_begun(run, "waited for a worker too long");
  }
}

steady_point run_watch::end_slices(steady_point now) {
  const pool_section section(core_);
  core_.give_back(core_.runs.chains.take_late(now));
  return core_.runs.chains.next_late(now);
}

void run_watch::give_back_type(const std::string& type, const std::string& why) {
  const pool_section section(core_);
  auto& queue = core_.runs.queue;
  for (auto at = queue.begin(); at != queue.end();) {
    const auto run = *at;
    if (run->about.type.value != type) {
      ++at;
      continue;
    }
    at = queue.erase(at);
    core_.file_never_begun(run, why);
  }
}

bool run_watch::wait_until_empty(steady_point deadline) {
  mutex_lock held(core_.lock);
  while (is_waited_for())
    if (!held.wait_until(core_.fewer_held, deadline)) return !is_waited_for();
  return true;
}

bool run_watch::is_waited_for() const {
  if (core_.runs.open_claims > 0) return true;
  for (const auto& [f, run] : core_.runs.held)
    if (core_.state_of(*run).server_waits_for_it) return true;
  return false;
}

void run_watch::stop_waiting_for(const run_ptr& run) {
  const mutex_lock held(core_.lock);
  core_.state_of(*run).server_waits_for_it = false;
  core_.fewer_held.notify_all();
}

}  // namespace sluice::execution
