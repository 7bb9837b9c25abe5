#include "execution/worker_threads.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "execution/pool.hpp"
#include "execution/run_handler.hpp"

namespace sluice::execution {
namespace {

thread_local const void* config_of_worker = nullptr;  // of the server whose worker this thread is now

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

void leave_thread(worker& w, const execution_config& of) {
  w.has_thread = false;
  if (std::exchange(w.is_left, false)) of.threads->came_back();
  w.finished = w.retired;
}

}  // namespace

void refuse_own_worker(const void* config) {
  if (config && config == config_of_worker)
    throw_bad_result(invalid(
        "a handler cannot stop its own server, which would wait for it: send SIGTERM to the process, whose main is "
        "in run() or wait_for_stop_signal(), or stop it from another thread"));
}

void worker_threads::lend_thread(worker_id id) {
  of_.config->threads->lend(std::shared_ptr<thread_borrower>(of_.shared_from_this(), this), id);
}

worker_id worker_threads::add_without_thread() {
  of_.stops_.call_at_once();
  return of_.lock().workers().add().id;
}

worker_id worker_threads::add(worker_calls calls) {
  const auto over = of_.lock().workers().take_finished();
  const auto held = of_.lock();
  auto& table = held.workers();
  auto& made = table.add(table.closed ? worker_calls() : std::move(calls));
  if (table.closed) table.retire(made);  // it never has a thread
  else table.rest(made);
  return made.id;
}

void worker_threads::retire(worker_id id, const std::string& why, std::optional<sluice::fence> only_of) {
  run_ptr run;
  outcome result;
  duration ran{0};
  {
    const auto runs = of_.lock();
    auto& table = runs.workers();
    auto* w = table.find(id);
    if (!w || w->retired) return;
    if (only_of && (!w->current || w->current->about.fence != *only_of)) return;
    table.retire(*w);
    if (w->calls.gone) w->calls.gone();
    run = w->current;
    if (run && run->by_actor) w->current = nullptr;
    if (table.muted || !run || runs->state_of(run).phase != run_phase::running) return;
    ran = runs->stop_running(run, false);
    if (!run->by_actor) {
      w->is_left = true;
      of_.config->threads->write_off();
    }
    result = retired_outcome(*run, runs->state_of(run), why);
  }
  end(run, std::move(result), ran);
  of_.lock()->stops.push_back(run->stop);
}

std::optional<worker_id> worker_threads::who_runs(sluice::fence f) const {
  const auto runs = of_.lock();
  for (const auto& [id, w] : runs.workers().all)
    if (!w->retired && w->current && w->current->about.fence == f &&
        runs->state_of(w->current).phase == run_phase::running)
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
      config_of_worker = nullptr;
      if (!came_back) of.thread_ended(id);
    }
  } guard{*this, worker};

  config_of_worker = of_.config.get();
  while (const auto run = next(worker))
    run_here(worker, run);
  guard.came_back = true;
}

void worker_threads::run_here(worker_id id, const run_ptr& run) {
  auto result = run_handler(
      *of_.config, run->about, run->stop.get_token(),
      [this, &run](progress_report told) { tell_progress(run, std::move(told)); }, &run->reason);
  put(id, run, std::move(result));
}

bool worker_threads::run_next_here(worker_id id) {
  run_ptr run;
  {
    const auto runs = of_.lock();
    auto& w = *runs.workers().find(id);
    if (w.retired || !runs->has_next()) return false;
    runs.workers().begin(w, *runs);
    run = w.current;
  }
  run_here(id, run);
  return true;
}

void worker_threads::thread_ended(worker_id id) {
  run_ptr run;
  duration ran{0};
  {
    const auto runs = of_.lock();
    const auto current = runs.workers().find(id)->current;
    if (current && runs->state_of(current).phase == run_phase::running && !runs.workers().muted) {
      run = current;
      ran = runs->stop_running(run, false);
    }
  }
  if (run) {
    auto result = outcome::failed("the handler ended its worker's thread");
    result.cause = "worker_died";
    end(run, std::move(result), ran);
  }
  const auto held = of_.lock();
  auto& w = *held.workers().find(id);
  if (!w.retired && w.calls.gone) w.calls.gone();
  w.current = nullptr;
  held.workers().retire(w);
  leave_thread(w, *of_.config);
}

run_ptr worker_threads::next(worker_id id) {
  auto runs = of_.lock();
  auto& table = runs.workers();
  auto& w = *table.find(id);
  for (;;) {
    table.looks(w);
    // A run that its actor was given meanwhile: then what it was called for is another's.
    const bool has_next = !w.retired && !w.current && runs->has_next();
    // Runs that were too late to begin are told of before this worker begins or rests: that may take a while.
    if (!w.retired && runs->ended.is_call_due()) {
      runs.unlock();
      runs.lock();
      continue;
    }
    if (has_next) {
      table.begin(w, *runs);
      if (!w.current->by_actor) return w.current;
      if (w.calls.given_run) w.calls.given_run();
    }
    if (!w.current) table.rest(w);
    leave_thread(w, *of_.config);
    return nullptr;
  }
}

void worker_threads::put(worker_id id, const run_ptr& run, outcome result) {
  duration ran{0};
  {
    const auto runs = of_.lock();
    runs.workers().find(id)->current = nullptr;
    const auto& state = runs->state_of(run);
    if (runs.workers().muted || state.phase != run_phase::running) return;  // or its end is filed already
    ran = runs->stop_running(run, true);
    result = as_stopped(*run, state, std::move(result));
  }
  end(run, std::move(result), ran);
}

void worker_threads::end(const run_ptr& run, outcome result, duration ran) {
  auto elected = elect(*of_.config, run->about, run->failures, std::move(result), ran);
  if (run->reason == stop_reason::cancelled) end_as_cancelled(elected);
  of_.lock()->file(run, std::move(elected));
}

run_ptr worker_threads::actor_run_of(worker_id id) const {
  const auto held = of_.lock();
  const auto* w = held.workers().find(id);
  return w && w->current && w->current->by_actor ? w->current : nullptr;
}

run_ptr worker_threads::actor_answered(worker_id id, const run_ptr& run, outcome result) {
  bool ended = false;
  duration ran{0};
  {
    const auto runs = of_.lock();
    const auto* w = runs.workers().find(id);
    if (!w || w->current != run || runs.workers().muted) return nullptr;
    const auto& state = runs->state_of(run);
    if (state.phase == run_phase::running) {
      ended = true;
      ran = runs->stop_running(run, true);
      result = as_stopped(*run, state, std::move(result));
    }
  }
  if (ended) end(run, std::move(result), ran);
  const auto runs = of_.lock();
  auto& table = runs.workers();
  auto* w = table.find(id);  // it may have been retired while the filters had their say
  if (!w || w->current != run) return nullptr;
  w->current = nullptr;
  if (w->retired || table.muted) return nullptr;
  if (runs->has_next() && runs->queue.front()->by_actor) {
    table.begin(*w, *runs);
    return w->current;
  }
  table.rest(*w);
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
    const auto runs = of_.lock();
    auto& table = runs.workers();
    if (table.muted) return;
    for (auto& [id, w] : table.all) {
      const auto run = w->current;
      if (!run || !run->by_actor) continue;
      const auto& state = runs->state_of(run);
      if (state.phase != run_phase::running || state.actor != actor) continue;
      w->current = nullptr;
      table.rest(*w);
      lost.emplace_back(run, runs->stop_running(run, true));
    }
  }
  for (const auto& [run, ran] : lost)
    end(run, handler_died(*run, why), ran);
}

void worker_threads::tell_progress(const run_ptr& run, progress_report progress) {
  const bool is_no_fraction = progress.done > 1.001;
  const auto said = progress.done;
  progress = bounded(std::move(progress));
  if (is_no_fraction && !told_of_progress_.exchange(true))
    log::warn("job ", run->about.id.value, " (", run->about.type.value, ") reports a progress of ", said,
              ", which is shown as 100 %: progress is a fraction, as 0.5 for half");
  {
    const auto runs = of_.lock();
    auto& its = runs->state_of(run).progress;
    its.last = std::move(progress);
    its.is_new = true;
    if (std::exchange(runs->progress_waits, true)) return;
  }
  if (on_progress_) on_progress_();
}

void worker_threads::disable_callbacks() {
  std::vector<worker_calls> over;  // ends without our lock
  const auto runs = of_.lock();
  runs.workers().muted = true;
  runs->ended.on_ended(nullptr);
  for (auto& [id, w] : runs.workers().all)
    over.push_back(std::exchange(w->calls, {}));
}

void worker_threads::close(steady_point deadline) {
  {
    auto held = of_.lock();
    auto& table = held.workers();
    table.closed = true;
    for (auto& [id, w] : table.all)
      table.retire(*w);
    // One that was called and has not looked waits for a thread, or finds nothing.
    const auto is_over = [](const auto& entry) { return entry.second->finished || entry.second->called; };
    while (!std::all_of(table.all.begin(), table.all.end(), is_over))
      if (!held.wait_until(deadline)) break;
    for (const auto& entry : table.all)
      if (!is_over(entry))
        log::warn("a handler on queue ", of_.queue.value, " ignores its stop request; its thread is left behind");
  }
  const auto over = of_.lock().workers().take_finished();
}

}  // namespace sluice::execution
