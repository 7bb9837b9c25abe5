#include "execution/run_exchange.hpp"

namespace sluice::execution {

void run_exchange::accept(const std::vector<run_ptr>& runs) {
  const pool_section section(core_);
  for (const auto& run : runs) {
    if (!core_.hold(run)) continue;
    const bool waits = run->chain.value > 0 && !core_.runs.chains.add(run, core_.now());
    if (!waits) core_.enqueue(run);
    else if (core_.runs.draining) core_.file_never_begun(run, "the server is stopping");
  }
  core_.begin_waiting();
}

std::vector<run_ptr> run_exchange::hold(std::vector<run_ptr> runs) {
  const pool_section section(core_);
  std::vector<run_ptr> taken;
  for (auto& run : runs) {
    if (!core_.hold(run)) continue;
    if (core_.runs.draining) {
      core_.file_never_begun(run, "the server is stopping");
      continue;
    }
    core_.state_of(*run).phase = run_phase::awaiting_admission;
    ++core_.runs.awaiting_admission;
    taken.push_back(std::move(run));
  }
  return taken;
}

std::vector<run_ptr> run_exchange::admit(const std::vector<run_ptr>& runs) {
  const pool_section section(core_);
  std::vector<run_ptr> over;
  for (const auto& run : runs) {
    auto& state = core_.state_of(*run);
    if (state.phase != run_phase::awaiting_admission) {
      if (!state.admitted) over.push_back(run);
      continue;
    }
    --core_.runs.awaiting_admission;
    if (state.stop.cause != stop_reason::none) {
      core_.file_never_begun(run, "lost before it began");
      over.push_back(run);
      continue;
    }
    state.admitted = true;
    core_.enqueue(run);
  }
  core_.begin_waiting();
  return over;
}

bool run_exchange::forget(const run_ptr& run) {
  const pool_section section(core_);
  auto& state = core_.state_of(*run);
  if (state.phase != run_phase::awaiting_admission) return false;
  --core_.runs.awaiting_admission;
  state.phase = run_phase::ended;
  core_.let_go(run->about.fence);
  return true;
}

void run_exchange::reject(const run_ptr& run, elected_end end) {
  const pool_section section(core_);
  if (core_.state_of(*run).phase != run_phase::awaiting_admission) return;
  --core_.runs.awaiting_admission;
  core_.file(run, std::move(end));
}

std::vector<run_ptr> run_exchange::awaiting_admission() const {
  const mutex_lock held(core_.lock);
  std::vector<run_ptr> all;
  for (const auto& [f, run] : core_.runs.held)
    if (core_.state_of(*run).phase == run_phase::awaiting_admission) all.push_back(run);
  return all;
}

bool run_exchange::awaits_admission(const run_ptr& run) const {
  const mutex_lock held(core_.lock);
  return core_.state_of(*run).phase == run_phase::awaiting_admission;
}

bool run_exchange::open_claim() {
  const mutex_lock held(core_.lock);
  if (core_.runs.draining) return false;
  ++core_.runs.open_claims;
  return true;
}

void run_exchange::claim_answered(bool is_refused) {
  const mutex_lock held(core_.lock);
  --core_.runs.open_claims;
  if (is_refused) core_.runs.used = core_.now();
  if (core_.runs.draining || core_.runs.held.empty()) core_.fewer_held.notify_all();
}

bool run_exchange::end_if_idle(duration for_long) {
  const mutex_lock held(core_.lock);
  return core_.runs.draining = core_.runs.draining || core_.is_idle(for_long);
}

bool run_exchange::is_idle(duration for_long) const {
  const mutex_lock held(core_.lock);
  return core_.is_idle(for_long);
}

std::vector<ended_run> run_exchange::take_ended(std::size_t at_least, std::size_t at_most) {
  const mutex_lock held(core_.lock);
  return core_.ended.take(at_least, at_most);
}

void run_exchange::notify_when_ended(std::size_t at_least) {
  const pool_section section(core_);
  core_.ended.tell_of(at_least);
}

void run_exchange::on_ended(const std::function<void()>& told) {
  const pool_section section(core_);
  core_.ended.on_ended(told ? std::make_shared<const std::function<void()>>(told) : nullptr);
}

void run_exchange::release(sluice::fence f) {
  const mutex_lock held(core_.lock);
  core_.let_go(f);
}

run_exchange::chains_of_types run_exchange::ask_for_chains(bool may_grow) {
  const mutex_lock held(core_.lock);
  chains_of_types all;
  for (const auto& [type, its] : core_.chaining) {
    const auto length = its.times.chain_length();
    all[type] = {length, its.held == 0, {}};
    if (may_grow) all[type].growing = core_.runs.chains.ask_to_grow(type, length);
  }
  return all;
}

pool_load run_exchange::load() const {
  const mutex_lock held(core_.lock);
  pool_load load;
  load.workers = core_.workers.count();
  load.running = core_.runs.running;
  load.ending = core_.runs.ending;
  load.at_actors = core_.runs.at_actors;
  load.queued = static_cast<std::uint32_t>(core_.runs.queue.size());
  load.awaiting_admission = core_.runs.awaiting_admission;
  load.ended = static_cast<std::uint32_t>(core_.ended.size());
  load.typical_handler = core_.times.typical();
  load.measured = core_.times.measured();
  return load;
}

}  // namespace sluice::execution
