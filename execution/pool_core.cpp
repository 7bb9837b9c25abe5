#include "execution/pool_core.hpp"

namespace sluice::execution {

pool_core::pool_core(queue_name name, std::shared_ptr<const execution_config> runs_by)
    : queue(std::move(name)), config(std::move(runs_by)) {
  const mutex_lock held(lock);
  runs.used = now();
  for (const auto& type : chaining_types(config->throttles, *config->permits))
    if (!config->no_prefetch->contains(type)) chaining.try_emplace(type);
}

pool_section::~pool_section() {
  const auto tell = core_.ended.due_call();
  unlock();
  if (tell) (*tell)();
}

void pool_section::unlock() {
  const auto called = core_.workers.take_called();
  held_.unlock();
  if (called && core_.lend_thread) core_.lend_thread(*called);
}

bool pool_core::hold(const run_ptr& run) {
  if (!runs.held.try_emplace(run->about.fence, run).second) return false;
  auto& state = state_of(*run);
  state.received = now();
  if (const auto its = chaining.find(run->about.type.value); its != chaining.end()) {
    state.of_type = &its->second;
    ++state.of_type->held;
  }
  return true;
}

void pool_core::let_go(sluice::fence f) {
  const auto at = runs.held.find(f);
  if (at != runs.held.end()) {
    if (auto* of_type = state_of(*at->second).of_type) --of_type->held;
    runs.held.erase(at);
    runs.used = now();
  }
  if (runs.draining || runs.held.empty()) fewer_held.notify_all();
}

void pool_core::enqueue(const run_ptr& run, bool first) {
  if (runs.draining) return file_never_begun(run, "the server is stopping");
  state_of(*run).phase = run_phase::queued;
  state_of(*run).queued_since = now();
  // A suspect was claimed for a free worker: it must not wait behind others.
  if (first || storage::is_suspect(run->about.losses)) runs.queue.push_front(run);
  else runs.queue.push_back(run);
}

// What an actor makes needs no thread to begin.
void pool_core::begin_waiting() {
  for (auto* w = workers.next_resting(); w && has_next() && runs.queue.front()->by_actor; w = workers.next_resting()) {
    begin(*w);
    if (w->calls.given_run) w->calls.given_run();
  }
  if (!runs.queue.empty()) workers.wake_one();
}

bool pool_core::has_next() {
  while (!runs.queue.empty() && state_of(*runs.queue.front()).lease_ends < now()) {
    const auto run = runs.queue.front();
    runs.queue.pop_front();
    file_never_begun(run, "its lease is over");
  }
  return !runs.queue.empty();
}

void pool_core::begin(worker& w) {
  auto run = std::move(runs.queue.front());
  runs.queue.pop_front();
  state_of(*run).phase = run_phase::running;
  state_of(*run).began = now();
  runs.chains.begins(*run, state_of(*run).began);
  workers.unrest(w);
  if (run->by_actor) ++runs.at_actors;
  w.current = std::move(run);
  ++runs.running;
}

void pool_core::leave_thread(worker& w) {
  w.has_thread = false;
  if (std::exchange(w.is_left, false)) config->threads->came_back();
  w.finished = w.retired;
  if (w.finished) fewer_held.notify_all();
}

void pool_core::stop_running(const claimed_run& run) {
  state_of(run).phase = run_phase::ended;
  --runs.running;
  if (run.by_actor) --runs.at_actors;
  ++runs.ending;
}

void pool_core::handler_over(const claimed_run& run) {
  stop_running(run);
  const auto& state = state_of(run);
  const auto ran = since(state.began);
  times.note(ran);
  if (state.of_type) state.of_type->times.note(ran);
  end_turn(run);
}

void pool_core::end_turn(const claimed_run& run) {
  if (run.chain.value == 0) return;
  if (state_of(run).began == steady_point{}) give_back(runs.chains.take_waiting(run));
  give_back(runs.chains.take_late(now()));
  auto next = runs.chains.end_turn(run);
  while (next && state_of(*next).phase != run_phase::queued)  // it was stopped as it waited
    next = runs.chains.end_turn(*next);
  if (!next) return;
  enqueue(next, true);  // others of the line wait for its permit
  begin_waiting();
}

void pool_core::give_back(const run_chains::runs& waiting) {
  for (const auto& run : waiting)
    if (state_of(*run).phase == run_phase::queued) file_never_begun(run, "its turn did not come in time");
}

void pool_core::file(const run_ptr& run, elected_end end) {
  auto& state = state_of(*run);
  state.phase = run_phase::ended;
  const auto began = state.began == steady_point{} ? now() : state.began;
  end.settlement.waited = std::chrono::duration_cast<duration>(began - state.received);
  end.settlement.progress = state.progress.last;  // also when it was taken: the store may get that too late
  state.filed = std::make_shared<const storage::settlement>(std::move(end.settlement));
  ended.add({run, state.filed, std::move(end.elected), state.admitted});
  end_turn(*run);
}

void pool_core::file_never_begun(const run_ptr& run, const std::string& why) {
  file(run, {given_back({run->about.id, run->about.fence}, why), outcome::give_back(why)});
}

void pool_core::end(const run_ptr& run, outcome result, duration ran) {
  auto elected = elect(*config, run->about, run->failures, std::move(result), ran);
  if (run->reason == stop_reason::cancelled) end_as_cancelled(elected);
  const pool_section section(*this);
  --runs.ending;
  file(run, std::move(elected));
}

}  // namespace sluice::execution
