#include "execution/run_buffer.hpp"

#include "execution/execution_config.hpp"

namespace sluice::execution {
namespace {

// Those that are claimed ahead of their turn.
std::vector<std::string> types_in_chains(const execution_config& config) {
  auto types = chaining_types(config.throttles, *config.permits);
  std::erase_if(types, [&](const auto& type) { return config.no_prefetch->contains(type); });
  return types;
}

bool has_begun(const run_state& state) { return state.phase == run_phase::running || state.phase == run_phase::ended; }

}  // namespace

run_buffer::run_buffer(std::shared_ptr<const execution_config> runs_by)
    : chains(types_in_chains(*runs_by)), config_(std::move(runs_by)), used_(now()) {}

steady_point run_buffer::now() const { return config_->time->steady_now(); }

pool_load run_buffer::load() const {
  auto load = counts_;
  load.queued = static_cast<std::uint32_t>(queue.size());
  load.ended = static_cast<std::uint32_t>(ended.size());
  load.typical_handler = times_.typical();
  load.measured = times_.measured();
  return load;
}

bool run_buffer::open_claim() {
  if (!draining) ++open_claims;
  return !draining;
}

void run_buffer::claim_answered(bool is_refused) {
  --open_claims;
  if (is_refused) used_ = now();
}

bool run_buffer::is_idle(duration for_long) const {
  return held.empty() && open_claims == 0 && now() - used_ >= for_long;
}

bool run_buffer::take(const run_ptr& run) {
  if (!held.try_emplace(run->about.fence, run).second) return false;
  auto& state = state_of(run);
  state.received = now();
  state.of_type = chains.find_type(run->about.type.value);
  if (state.of_type) ++state.of_type->held;
  return true;
}

void run_buffer::accept(const std::vector<run_ptr>& runs) {
  for (const auto& run : runs) {
    if (!take(run)) continue;
    const bool waits = run->chain.value > 0 && !chains.add(run, now());
    if (!waits) enqueue(run);
    else if (draining) give_back(run, "the server is stopping");
  }
}

std::vector<run_ptr> run_buffer::hold(std::vector<run_ptr> runs) {
  std::vector<run_ptr> taken;
  for (auto& run : runs) {
    if (!take(run)) continue;
    if (draining) {
      give_back(run, "the server is stopping");
      continue;
    }
    state_of(run).phase = run_phase::awaiting_admission;
    ++counts_.awaiting_admission;
    taken.push_back(std::move(run));
  }
  return taken;
}

std::vector<run_ptr> run_buffer::admit(const std::vector<run_ptr>& runs) {
  std::vector<run_ptr> over;
  for (const auto& run : runs) {
    auto& state = state_of(run);
    if (state.phase == run_phase::awaiting_admission && state.stop.cause == stop_reason::none) {
      --counts_.awaiting_admission;
      state.admitted = true;
      enqueue(run);
    } else if (!state.admitted) {
      give_back(run, "lost before it began");
      over.push_back(run);
    }
  }
  return over;
}

bool run_buffer::end_admission(const run_ptr& run, std::optional<elected_end> end) {
  auto& state = state_of(run);
  if (state.phase != run_phase::awaiting_admission) return false;
  if (end) {
    file(run, std::move(*end));
  } else {
    --counts_.awaiting_admission;
    state.phase = run_phase::ended;
    release(run->about.fence);
  }
  return true;
}

void run_buffer::release(sluice::fence f) {
  const auto at = held.find(f);
  if (at == held.end()) return;
  if (auto* of_type = state_of(at->second).of_type) --of_type->held;
  held.erase(at);
  used_ = now();
}

void run_buffer::enqueue(const run_ptr& run, bool first) {
  state_of(run).phase = run_phase::queued;
  state_of(run).queued_since = now();
  if (draining) return give_back(run, "the server is stopping");
  // A suspect was claimed for a free worker: it must not wait behind others.
  if (first || storage::is_suspect(run->about.losses)) queue.push_front(run);
  else queue.push_back(run);
}

bool run_buffer::has_next() {
  while (!queue.empty() && state_of(queue.front()).lease_ends < now())
    give_back(run_ptr(queue.front()), "its lease is over");
  return !queue.empty();
}

run_ptr run_buffer::begin_next() {
  auto run = std::move(queue.front());
  queue.pop_front();
  auto& state = state_of(run);
  state.phase = run_phase::running;
  state.began = now();
  chains.begins(*run, state.began);
  ++counts_.running;
  if (run->by_actor) ++counts_.at_actors;
  return run;
}

duration run_buffer::stop_running(const run_ptr& run, bool is_over) {
  auto& state = state_of(run);
  state.phase = run_phase::ended;
  --counts_.running;
  if (run->by_actor) --counts_.at_actors;
  ++counts_.ending;
  const auto ran = std::chrono::duration_cast<duration>(now() - state.began);
  if (!is_over) return ran;
  times_.note(ran);
  if (state.of_type) state.of_type->times.note(ran);
  end_turn(run);
  return ran;
}

void run_buffer::file(const run_ptr& run, elected_end end) {
  auto& state = state_of(run);
  if (state.phase == run_phase::awaiting_admission) --counts_.awaiting_admission;
  const bool has_run = state.began != steady_point{};
  if (has_run) --counts_.ending;
  state.phase = run_phase::ended;
  const auto began = has_run ? state.began : now();
  end.settlement.waited = std::chrono::duration_cast<duration>(began - state.received);
  end.settlement.progress = state.progress.last;  // also when it was taken: the store may get that too late
  state.filed = std::make_shared<const storage::settlement>(std::move(end.settlement));
  ended.add({run, state.filed, std::move(end.elected), state.admitted});
  end_turn(run);
}

void run_buffer::give_back(const run_ptr& run, const std::string& why) {
  const auto& state = state_of(run);
  if (has_begun(state)) return;
  if (state.phase == run_phase::queued) std::erase(queue, run);
  file(run, {given_back({run->about.id, run->about.fence}, why), outcome::give_back(why)});
}

void run_buffer::end_turn(const run_ptr& run) {
  if (run->chain.value == 0) return;
  auto late = chains.take_late(now());
  if (state_of(run).began == steady_point{})  // it has not begun: those behind it go back, too
    for (auto& behind : chains.take_waiting(*run))
      late.push_back(std::move(behind));
  for (const auto& one : late)
    give_back(one, "its turn did not come in time");
  auto next = chains.end_turn(*run);
  while (next && has_begun(state_of(next)))  // it was stopped as it waited
    next = chains.end_turn(*next);
  if (next) enqueue(next, true);  // others of the line wait for its permit
}

void run_buffer::ask_to_stop(const run_ptr& run, stop_reason cause, steady_point now) {
  auto& stop = state_of(run).stop;
  const auto phase = state_of(run).phase;
  if (phase == run_phase::ended) return;
  // As a rule its throttler has parked it, and says so any moment. Let in by now, it does not begin.
  if (phase == run_phase::awaiting_admission && cause == stop_reason::lost) {
    stop.cause = cause;
    return;
  }
  if (phase != run_phase::running) return give_back(run, "stopped before it began");
  const bool goes_on =
      stop.cause == stop_reason::cancelled && (cause == stop_reason::timeout || cause == stop_reason::lost);
  if (stop.cause != stop_reason::none && !goes_on) return;
  if (!goes_on) run->reason = cause;  // before the token says so
  stop.cause = cause;
  stop.asked = now;
  stops.push_back(run->stop);
}

}  // namespace sluice::execution
