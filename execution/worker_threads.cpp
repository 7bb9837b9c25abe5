#include "execution/worker_threads.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "execution/pool.hpp"
#include "execution/run_handler.hpp"

namespace sluice::execution {
namespace {

// Why a run had no more time: what came first, its timeout or the end of its finish_within.
bool is_deadline(const claimed_run& run, steady_point began) {
  return run.timeout && run.finish_by <= began + *run.timeout;
}
const char* cause_of_timeout(const claimed_run& run, steady_point began) {
  return is_deadline(run, began) ? "deadline" : "timed_out";
}

// What a stop request makes of an outcome.
outcome as_stopped(const claimed_run& run, const run_state& state, outcome result) {
  const bool unfinished = result.what == run_end::failed || result.what == run_end::given_back;
  if (state.stop.cause == stop_reason::timeout && unfinished) {
    result =
        outcome::failed((is_deadline(run, state.began) ? "its finish_within was over: " : "timed out: ") + result.text);
    result.cause = cause_of_timeout(run, state.began);
  }
  return result;
}

outcome retired_outcome(const claimed_run& run, const run_state& state, const std::string& why) {
  const auto stopping = state.stop.cause;
  // Perhaps somebody else has it by now: then this end is refused. It is no failure of the job's.
  if (stopping == stop_reason::lost) return outcome::give_back("its lease was lost");
  const bool unanswered = run.by_actor && stopping == stop_reason::timeout;
  auto result = outcome::failed(unanswered ? "the actor that handles it gave no answer in time" : why);
  result.cause = stopping == stop_reason::timeout ? cause_of_timeout(run, state.began) : "worker_died";
  return result;
}

}  // namespace

worker_threads::worker_threads(pool_core& core, pool& of) : core_(core), of_(of) {
  core_.lend_thread = [this](worker_id id) {
    core_.config->threads->lend(std::shared_ptr<thread_borrower>(of_.shared_from_this(), this), id);
  };
}

worker_id worker_threads::add_without_thread() {
  core_.stops.call_at_once();
  const mutex_lock held(core_.lock);
  const auto id = ++core_.workers.last_id;
  core_.workers.all[id] = std::make_unique<worker>();
  return id;
}

worker_id worker_threads::add(worker_calls calls) {
  drop_finished();
  const pool_section section(core_);
  const auto id = ++core_.workers.last_id;
  if (core_.workers.closed) return id;  // it never has a thread
  auto& made = core_.workers.all[id];
  made = std::make_unique<worker>();
  made->id = id;
  made->calls = std::move(calls);
  core_.workers.rest(*made);
  core_.begin_waiting();
  return id;
}

void worker_threads::retire(worker_id id, const std::string& why, std::optional<sluice::fence> only_of) {
  run_ptr run;
  outcome result;
  duration ran{0};
  {
    const pool_section section(core_);
    auto* w = core_.workers.find(id);
    if (!w || w->retired) return;
    if (only_of && (!w->current || w->current->about.fence != *only_of)) return;
    w->retired = true;
    core_.workers.unrest(*w);
    if (w->calls.gone) w->calls.gone();
    run = w->current;
    if (run && run->by_actor) w->current = nullptr;
    w->finished = !w->has_thread;
    if (core_.muted || !run || core_.state_of(*run).phase != run_phase::running) return;
    core_.stop_running(*run);
    if (!run->by_actor) {
      w->is_left = true;
      core_.config->threads->write_off();
    }
    const auto& state = core_.state_of(*run);
    result = retired_outcome(*run, state, why);
    ran = core_.since(state.began);
  }
  core_.end(run, std::move(result), ran);
  core_.stops.request(run->stop);
}

std::optional<worker_id> worker_threads::who_runs(sluice::fence f) const {
  const mutex_lock held(core_.lock);
  for (const auto& [id, w] : core_.workers.all)
    if (!w->retired && w->current && w->current->about.fence == f &&
        core_.state_of(*w->current).phase == run_phase::running)
      return id;
  return std::nullopt;
}

bool worker_threads::retire_overdue(sluice::fence f) {
  const auto overdue = who_runs(f);
  if (overdue) retire(*overdue, "it ignored its stop request", f);
  return overdue.has_value();
}

void worker_threads::use_thread(std::uint64_t worker) {
  struct at_end {
    worker_threads& of;
    worker_id id;
    bool came_back = false;
    ~at_end() {
      if (!came_back) of.thread_ended(id);
    }
  } guard{*this, worker};

  while (const auto run = next(worker))
    run_here(worker, run);
  guard.came_back = true;
}

void worker_threads::run_here(worker_id id, const run_ptr& run) {
  auto result = run_handler(
      *core_.config, run->about, run->stop.get_token(),
      [this, &run](progress_report told) { tell_progress(run, std::move(told)); }, &run->reason);
  put(id, run, std::move(result));
}

bool worker_threads::run_next_here(worker_id id) {
  run_ptr run;
  {
    const pool_section section(core_);
    auto& w = *core_.workers.find(id);
    if (w.retired || !core_.has_next()) return false;
    core_.begin(w);
    run = w.current;
  }
  run_here(id, run);
  return true;
}

void worker_threads::thread_ended(worker_id id) {
  run_ptr run;
  duration ran{0};
  {
    const pool_section section(core_);
    const auto current = core_.workers.find(id)->current;
    if (current && core_.state_of(*current).phase == run_phase::running && !core_.muted) {
      run = current;
      core_.stop_running(*run);
      ran = core_.since(core_.state_of(*run).began);
    }
  }
  if (run) {
    auto result = outcome::failed("the handler ended its worker's thread");
    result.cause = "worker_died";
    core_.end(run, std::move(result), ran);
  }
  const mutex_lock held(core_.lock);
  auto& w = *core_.workers.find(id);
  if (!std::exchange(w.retired, true) && w.calls.gone) w.calls.gone();
  w.current = nullptr;
  core_.leave_thread(w);
}

run_ptr worker_threads::next(worker_id id) {
  pool_section held(core_);
  auto& w = *core_.workers.find(id);
  for (;;) {
    const bool was_called = w.called;
    core_.workers.looked(w);
    // Its actor was given a run meanwhile: then it is another's turn.
    if (was_called && w.current && !core_.runs.queue.empty()) core_.workers.wake_one();
    if (w.retired) {
      core_.workers.unrest(w);
      if (!core_.runs.queue.empty()) core_.workers.wake_one();  // for what this one was called for
      core_.leave_thread(w);
      return nullptr;
    }
    const bool has_next = !w.current && core_.has_next();
    // Of runs that were too late to begin. It is told before this worker begins or rests: that may take a while.
    if (const auto tell = core_.ended.due_call()) {
      core_.workers.unrest(w);
      if (has_next) core_.workers.wake_one();
      held.unlock();
      (*tell)();
      held.lock();
      continue;
    }
    if (has_next) {
      core_.begin(w);
      if (!core_.runs.queue.empty()) core_.workers.wake_one();
      if (!w.current->by_actor) return w.current;
      if (w.calls.given_run) w.calls.given_run();
    }
    if (!w.current) core_.workers.rest(w);
    core_.leave_thread(w);
    return nullptr;
  }
}

void worker_threads::put(worker_id id, const run_ptr& run, outcome result) {
  duration ran{0};
  {
    const pool_section section(core_);
    core_.workers.find(id)->current = nullptr;
    auto& state = core_.state_of(*run);
    if (core_.muted || state.phase != run_phase::running) return;  // nobody asks, or its end is filed already
    core_.handler_over(*run);
    result = as_stopped(*run, state, std::move(result));
    ran = core_.since(state.began);
  }
  core_.end(run, std::move(result), ran);
}

run_ptr worker_threads::actor_run_of(worker_id id) const {
  const mutex_lock held(core_.lock);
  const auto* w = core_.workers.find(id);
  return w && w->current && w->current->by_actor ? w->current : nullptr;
}

void worker_threads::asked_actor(const run_ptr& run, std::uint64_t actor) {
  const mutex_lock held(core_.lock);
  core_.state_of(*run).actor = actor;
}

run_ptr worker_threads::actor_answered(worker_id id, const run_ptr& run, outcome result) {
  bool ended = false;
  duration ran{0};
  {
    const pool_section section(core_);
    const auto* w = core_.workers.find(id);
    if (!w || w->current != run || core_.muted) return nullptr;
    auto& state = core_.state_of(*run);
    if (state.phase == run_phase::running) {
      core_.handler_over(*run);
      ended = true;
      result = as_stopped(*run, state, std::move(result));
      ran = core_.since(state.began);
    }
  }
  if (ended) core_.end(run, std::move(result), ran);
  const pool_section section(core_);
  auto* w = core_.workers.find(id);  // it may have been retired while the filters had their say
  if (!w || w->current != run) return nullptr;
  w->current = nullptr;
  if (w->retired || core_.muted) return nullptr;
  if (core_.has_next() && core_.runs.queue.front()->by_actor) {
    core_.begin(*w);
    return w->current;
  }
  core_.workers.rest(*w);
  if (!core_.runs.queue.empty()) core_.workers.wake_one();
  return nullptr;
}

outcome handler_died(const claimed_run& run, const std::string& why) {
  if (run.reason == stop_reason::shutdown) return outcome::give_back(why);
  auto failed = outcome::failed(why);
  failed.cause = "handler_died";
  return failed;
}

void worker_threads::actor_died(std::uint64_t actor, const std::string& why) {
  std::vector<std::pair<run_ptr, duration>> lost;
  {
    const pool_section section(core_);
    if (core_.muted) return;
    for (auto& [id, w] : core_.workers.all) {
      const auto run = w->current;
      if (!run || !run->by_actor) continue;
      const auto& state = core_.state_of(*run);
      if (state.phase != run_phase::running || state.actor != actor) continue;
      w->current = nullptr;
      core_.workers.rest(*w);
      core_.handler_over(*run);
      lost.emplace_back(run, core_.since(state.began));
    }
  }
  for (const auto& [run, ran] : lost) {
    core_.end(run, handler_died(*run, why), ran);
  }
  const pool_section section(core_);
  core_.begin_waiting();
}

void worker_threads::tell_progress(const run_ptr& run, progress_report progress) {
  const bool is_no_fraction = progress.done > 1.001;
  const auto said = progress.done;
  progress = bounded(std::move(progress));
  if (is_no_fraction && !told_of_progress_.exchange(true))
    log::warn("job ", run->about.id.value, " (", run->about.type.value, ") reports a progress of ", said,
              ", which is shown as 100 %: progress is a fraction, as 0.5 for half");
  {
    const mutex_lock held(core_.lock);
    auto& state = core_.state_of(*run);
    state.progress.last = std::move(progress);
    state.progress.is_new = true;
    if (std::exchange(core_.runs.progress_waits, true)) return;
  }
  if (on_progress_) on_progress_();
}

void worker_threads::disable_callbacks() {
  std::vector<worker_calls> over;  // ends without our lock
  const mutex_lock held(core_.lock);
  core_.muted = true;
  core_.ended.on_ended(nullptr);
  for (auto& [id, w] : core_.workers.all)
    over.push_back(std::exchange(w->calls, {}));
}

void worker_threads::close(steady_point deadline) {
  {
    mutex_lock held(core_.lock);
    core_.workers.closed = true;
    for (auto& [id, w] : core_.workers.all) {
      w->retired = true;
      w->finished = !w->has_thread;
      core_.workers.unrest(*w);
    }
    // One that was called and has not looked waits for a thread, or finds nothing.
    const auto is_over = [](const auto& entry) { return entry.second->finished || entry.second->called; };
    while (!std::all_of(core_.workers.all.begin(), core_.workers.all.end(), is_over))
      if (!held.wait_until(core_.fewer_held, deadline)) break;
    for (const auto& entry : core_.workers.all)
      if (!is_over(entry))
        log::warn("a handler on queue ", core_.queue.value, " ignores its stop request; its thread is left behind");
  }
  drop_finished();
}

void worker_threads::drop_finished() {
  std::vector<std::unique_ptr<worker>> over;  // what they would call may end actors: not under our lock
  const mutex_lock held(core_.lock);
  for (auto at = core_.workers.all.begin(); at != core_.workers.all.end();) {
    if (!at->second->finished) {
      ++at;
      continue;
    }
    over.push_back(std::move(at->second));
    at = core_.workers.all.erase(at);
  }
}

}  // namespace sluice::execution
