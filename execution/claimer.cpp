#include "execution/claimer.hpp"

#include "execution/execution_context.hpp"
#include "scheduler/timetable.hpp"

namespace sluice::execution {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr duration first_retry = 50ms;
constexpr duration last_retry = 5s;

// CAF 0.17 never answers a dropped promise, so no actor of the host is waited for without end.
constexpr duration answer_timeout = 10min;

}  // namespace

run_ptr make_run(const execution_context& of, storage::claimed_job& one, steady_point lease_ends) {
  auto run = std::make_shared<claimed_run>(lease_ends);
  run->about = std::move(one.job);
  run->failures = one.failures;
  run->timeout = timeout_of(of.options, run->about);
  run->by_actor = of.config->by_actor.contains(run->about.type.value);
  run->chain = one.chain;
  if (run->by_actor && !run->timeout) run->timeout = answer_timeout;
  if (one.finish_in) {
    run->timeout = std::min(run->timeout.value_or(*one.finish_in), *one.finish_in);
    run->finish_by = of.config->time->steady_now() + *one.finish_in;
  }
  return run;
}

duration retry_delay(std::uint32_t failures) {
  return std::min<duration>(last_retry, first_retry * (1u << std::min(failures, 10u)));
}

bool claimer::needs_threads(const execution_context& of) {
  const auto& by_actor = of.config->by_actor;
  if (by_actor.empty()) return true;
  const auto known = of.known_types();
  return !std::all_of(known->begin(), known->end(), [&](const auto& type) { return by_actor.contains(type); });
}

claim_size claimer::size(const execution_context& of, std::uint32_t coming, bool ends_something,
                         const std::shared_ptr<thread_shares::share>& threads) {
  if (of.quiet || paused_ || !(look_ || ends_something)) return {};
  const auto load = pool_->load();
  auto size = plan_claim(load, pool_->options.prefetch, coming);
  if (needs_threads(of)) {
    auto& shares = *of.config->shares;
    if (shares.somebody_waits()) size.ahead = 0;  // else its workers would never run out of jobs
    auto got = size.free > 0 ? shares.use(threads, threads_for(load, coming), size.free) : 0;
    // What it may hold already is fetched before its lease is over.
    if (size.free > 0 && (half_done_[0] || half_done_[1])) got = std::max(got, 1u);
    if (got < size.free) size = {got, 0};  // it is told when its turn for another has come
  }
  if (size.empty() || !pool_->lock()->open_claim()) return {};
  look_ = false;
  return size;
}

storage::claim_request claimer::claim(execution_context& of, open_request& request, claim_size size, bool alone) {
  request.wanted = size.free + size.ahead;
  request.op = request.number;
  if (const auto& again = half_done_.at(request.slot);
      again && steady_clock::now() < again->sent + scheduler::renewal_interval(of.options)) {
    request.op = again->op;
    request.sent = again->sent;
  }
  // Whose end this request tells gives the place back with the answer: to want it now would wake everybody for us.
  const bool ends_one = std::any_of(request.ending.begin(), request.ending.end(),
                                    [](const auto& end) { return storage::is_suspect(end.run->about.losses); });
  request.suspect_reserved =
      suspect_waits_ && size.free > 0 && !ends_one && !std::exchange(others_first_, false) && of.suspects.take();
  // Of two requests the later might be carried out first, and a chain would not run in the order of its fences.
  run_chains::wanted chains;
  if (pool_->options.prefetch > 0) chains = pool_->lock()->chains.ask(alone);
  return {of.id,
          pool_->queue,
          request.op,
          size.free,
          size.ahead,
          request.suspect_reserved,
          of.options.lease,
          of.known_types(),
          of.config->no_prefetch,
          request.slot,
          of.config->permits,
          std::move(chains)};
}

claimer::claimed_runs claimer::take(execution_context& of, const open_request& request, storage::claim_answer& answer) {
  claimed_runs taken;
  bool suspect = false;
  taken.ready.reserve(answer.jobs.size());
  for (auto& one : answer.jobs) {
    auto run = make_run(of, one, request.sent + of.options.lease);
    suspect = suspect || storage::is_suspect(run->about.losses);
    taken.has_chains = taken.has_chains || run->chain.value > 0;
    if (run->timeout) taken.first_timeout = std::min(taken.first_timeout, steady_clock::now() + *run->timeout);
    const auto plan = of.config->throttles.find(run->about.type.value);
    if (plan == of.config->throttles.end() || plan->second.is_met_by(run->about, one.admitted))
      taken.ready.push_back(std::move(run));
    else taken.to_admit.push_back({std::move(run), std::move(one.admitted)});
  }
  if (request.suspect_reserved && !suspect) taken.suspect_place_is_free = release_suspect_slot(of);
  if (suspect && !request.suspect_reserved) of.suspects.take();  // of a claim that was refused, and done
  if (request.wanted > 0) suspect_waits_ = answer.has_waiting_suspect;
  const auto followers = std::count_if(answer.jobs.begin(), answer.jobs.end(), [](const auto& one) {
    return one.chain.value > 0 && one.chain != one.job.fence;
  });
  if (request.wanted > 0 && (answer.jobs.size() - static_cast<std::size_t>(followers) >= request.wanted ||
                             answer.parked >= storage::max_parked || answer.cut))
    look_ = true;
  return taken;
}

void claimer::answered(execution_context& of, const open_request& request, const storage::claim_answer& answer) {
  if (request.wanted == 0) return;
  pool_->lock()->claim_answered();
  auto& half_done = half_done_.at(request.slot);
  if (answer.cut && answer.jobs.empty()) {  // refused, beside its ends
    half_done = {request.op, request.sent};
  } else {
    refused_in_a_row_ = 0;
    half_done.reset();
  }
  // Without a free worker the next end asks. When the place is taken, whoever gives it back tells us.
  if (suspect_waits_ && !request.suspect_reserved && plan_claim(pool_->load(), pool_->options.prefetch, 0).free > 0 &&
      of.suspects.is_free())
    look_ = true;
}

duration claimer::refused(const open_request& request) {
  paused_ = true;
  half_done_.at(request.slot) = {request.op, request.sent};
  pool_->lock()->claim_answered(true);
  return retry_delay(refused_in_a_row_++);
}

bool claimer::release_suspect_slot(execution_context& of) {
  if (!of.suspects.give_back()) return false;
  others_first_ = true;
  return true;
}

}  // namespace sluice::execution
