#include "execution/lease_watch.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "scheduler/timetable.hpp"

namespace sluice::execution {
namespace {

using namespace std::chrono_literals;

// How long a handler may go on after it was asked to stop, before its worker is replaced.
constexpr duration stop_timeout = 10s;

constexpr duration overdue_again = 1s;

// Cancels of many at once are told by a few renewals; each of these is of all that is held.
constexpr duration between_cancel_looks = 20ms;

// No thread is stuck in an actor of the host, so nothing is gained by waiting.
duration patience_with(const execution_context& of, const claimed_run& run) {
  return run.by_actor ? duration(0) : std::min<duration>(stop_timeout, std::max<duration>(of.options.grace, 1s));
}

using runs_of_pool = std::pair<std::shared_ptr<pool>, std::vector<run_ptr>>;

void stop_cancelled(pool& p, const std::vector<storage::run_key>& cancelled, steady_point now) {
  const auto runs = p.lock();
  for (const auto& run : cancelled)
    if (const auto held = runs->held.find(run.fence); held != runs->held.end())
      runs->ask_to_stop(held->second, stop_reason::cancelled, now);
}

void take_renewals(const std::vector<runs_of_pool>& due, steady_point lease_ends, steady_point now,
                   execution_context* of, const std::vector<storage::answer>& answers) {
  bool refused = false;
  for (std::size_t i = 0; i < due.size(); ++i) {
    const auto& [p, runs] = due[i];
    const auto* renewed = std::get_if<storage::renew_answer>(&answers[i]);
    // What is harmed of one queue says nothing about others' leases.
    if (!renewed) {
      const auto& why = std::get<error>(answers[i]);
      refused = refused || why.code != errc::storage_damaged;
      log::warn("queue ", p->queue.value, ": leases could not be renewed: ", to_string(why));
      continue;
    }
    {
      const auto its = p->lock();
      for (std::size_t k = 0; k < runs.size(); ++k) {
        if (renewed->each[k] == errc::none) its->state_of(runs[k]).lease_ends = lease_ends;
        // Settled meanwhile, or taken away: then its handler works in vain.
        else its->ask_to_stop(runs[k], stop_reason::lost, now);
      }
    }
    stop_cancelled(*p, renewed->cancelled, now);
  }
  if (of && refused) ++of->refused_renewals;
}

// Each queue by itself, in one commit: what is harmed of one must cost the others no lease.
void renew(execution_context& of, const std::vector<runs_of_pool>& due, steady_point now,
           const std::weak_ptr<execution_context>& weak, const std::function<void()>& answered) {
  std::vector<storage::request> asked;
  for (const auto& [p, runs] : due) {
    storage::renew_request request{{}, of.options.lease};
    for (const auto& run : runs)
      request.runs.push_back({run->about.id, run->about.fence});
    asked.emplace_back(std::move(request));
  }
  of.store->submit(
      std::move(asked),
      [due, weak, answered, lease_ends = now + of.options.lease,
       time = of.config->time](const std::vector<storage::answer>& answers) {
        const auto alive = weak.lock();
        take_renewals(due, lease_ends, time->steady_now(), alive.get(), answers);
        if (alive) answered();
      },
      storage::priority::urgent);
}

}  // namespace

steady_point lease_watch::look(const std::shared_ptr<execution_context>& context, steady_point now) {
  auto& of = *context;
  const auto every = scheduler::renewal_interval(of.options);
  const bool cancels_asked = cancels_asked_;
  const bool may_look = cancels_asked && !*renewing_ && now >= last_renewal_ + between_cancel_looks;
  const bool renewal_due = may_look || now >= last_renewal_ + every - 1ms;
  auto next = cancels_asked && !renewal_due
                  ? std::max(now + between_cancel_looks / 4, last_renewal_ + between_cancel_looks)
                  : steady_point::max();
  if (renewal_due) cancels_asked_ = false;  // before it is asked for: a cancel behind this is told by the next
  std::vector<runs_of_pool> due;
  for (const auto& p : of.queues.pools()) {
    next = std::min(next, p->end_slices(now));
    std::vector<run_ptr> its;
    for (const auto& [run, state] : p->held()) {
      if (renewal_due) its.push_back(run);
      next = std::min({next, renewal_due ? now + every : last_renewal_ + every, monitor_run(of, p, run, state, now)});
    }
    if (!its.empty()) due.emplace_back(p, std::move(its));
  }
  if (renewal_due) last_renewal_ = now;
  if (!due.empty()) {
    *renewing_ = true;
    renew(of, due, now, context, [renewing = renewing_] { *renewing = false; });
  }
  store_progress(of);
  return next;
}

steady_point lease_watch::monitor_run(const execution_context& of, const std::shared_ptr<pool>& p, const run_ptr& run,
                                      const run_state& state, steady_point now) {
  if (now > state.lease_ends) p->lock()->ask_to_stop(run, stop_reason::lost, now);
  auto next = steady_point::max();
  if (run->timeout && state.phase == run_phase::queued) next = now + *run->timeout;
  if (state.phase != run_phase::running) return next;
  // Who was cancelled and goes on has his time still.
  if (run->timeout && (state.stop.cause == stop_reason::none || state.stop.cause == stop_reason::cancelled)) {
    const auto ends = std::min(state.began + *run->timeout, run->finish_by);
    if (now < ends) return std::min(next, ends);
    p->lock()->ask_to_stop(run, stop_reason::timeout, now);
    return std::min(next, now + patience_with(of, *run));
  }
  if (state.stop.cause != stop_reason::timeout && state.stop.cause != stop_reason::lost) return next;
  const auto replaced = state.stop.asked + patience_with(of, *run);
  if (now < replaced) return std::min(next, replaced);
  if (!state.stop.overdue_told) {
    p->lock()->state_of(run).stop.overdue_told = true;
    log::error("job ", run->about.id.value, " (", run->about.type.value,
               ") ignores its stop request; its worker is replaced");
  }
  overdue_(p->queue, run->about.fence);  // again at every look: a message may meet an actor that dies
  return std::min(next, now + overdue_again);
}

void lease_watch::store_progress(execution_context& of) {
  storage::progress_request request;
  std::vector<std::shared_ptr<pool>> pools;
  for (const auto& p : of.queues.pools()) {
    auto told = p->take_progress();
    if (!told.empty()) pools.push_back(p);
    std::move(told.begin(), told.end(), std::back_inserter(request.runs));
  }
  if (request.runs.empty()) return;
  std::vector<storage::request> asked;
  asked.emplace_back(std::move(request));
  of.store->submit(std::move(asked), [pools = std::move(pools), time = of.config->time](const auto& answers) {
    if (const auto* stored = std::get_if<storage::progress_answer>(&answers.at(0))) {
      for (const auto& p : pools)
        stop_cancelled(*p, stored->cancelled, time->steady_now());
    } else {
      log::warn("progress could not be stored: ", to_string(std::get<error>(answers[0])));
    }
  });
}

}  // namespace sluice::execution
