#include "actors/lease_keeper.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "scheduler/agenda.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// How long a body may go on after it was asked to stop, before its worker is replaced.
constexpr duration stop_patience = 10s;

constexpr duration overdue_again = 1s;

// What is said of progress within this time is stored as one.
constexpr duration progress_delay = 200ms;

steady_point at(steady_point::rep ticks) { return steady_point(steady_point::duration(ticks)); }

}  // namespace

lease_keeper::lease_keeper(std::weak_ptr<engine> of, overdue_report overdue)
    : engine_(std::move(of)),
      overdue_(std::move(overdue)),
      next_look_(steady_point::max().time_since_epoch().count()),
      thread_([this] { run(); }) {}

void lease_keeper::halt() {
  {
    std::lock_guard hold(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void lease_keeper::notice(steady_point earliest_need) {
  if (earliest_need >= at(next_look_.load())) return;  // it looks earlier anyway
  std::lock_guard hold(mutex_);
  if (earliest_need < at(next_look_.load())) next_look_ = earliest_need.time_since_epoch().count();
  changed_.notify_all();
}

void lease_keeper::progress_waits() { notice(steady_clock::now() + progress_delay); }

void lease_keeper::run() {
  std::unique_lock hold(mutex_);
  while (!stopping_) {
    const auto planned = at(next_look_.load());
    if (planned == steady_point::max()) {
      changed_.wait(hold);
      continue;
    }
    if (steady_clock::now() < planned) {
      changed_.wait_until(hold, planned);
      continue;
    }
    next_look_ = steady_point::max().time_since_epoch().count();
    hold.unlock();
    auto next = steady_point::max();
    if (const auto e = engine_.lock()) next = look(*e, steady_clock::now());
    hold.lock();
    next_look_ = std::min(next_look_.load(), next.time_since_epoch().count());
  }
}

steady_point lease_keeper::look(engine& e, steady_point now) {
  const auto every = scheduler::renewal_interval(e.options);
  const auto patience = std::min<duration>(stop_patience, std::max<duration>(e.options.grace, 1s));
  const bool renewal_due = now >= last_renewal_ + every - 1ms;
  auto next = steady_point::max();
  std::vector<starts_of_pool> due;
  for (const auto& p : e.pools()) {
    std::vector<start_ptr> its;
    for (const auto& [start, course] : p->held()) {
      if (renewal_due) its.push_back(start);
      next = std::min(next, renewal_due ? now + every : last_renewal_ + every);
      if (now > course.lease_ends) p->ask_to_stop(start, stop_cause::lost, now);
      if (start->timeout && course.at == phase::queued) next = std::min(next, now + *start->timeout);
      if (course.at != phase::running) continue;
      if (start->timeout && course.stopping == stop_cause::none) {
        const auto ends = course.began + *start->timeout;
        next = std::min(next, now < ends ? ends : now + (start->elsewhere ? 0s : patience));
        if (now >= ends) p->ask_to_stop(start, stop_cause::timeout, now);
      }
      if (course.stopping == stop_cause::timeout || course.stopping == stop_cause::lost) {
        // No thread is stuck in an actor of the host, so nothing is gained by waiting.
        const auto replaced = course.stop_asked + (start->elsewhere ? 0s : patience);
        if (now < replaced) {
          next = std::min(next, replaced);
        } else {
          if (p->report_once(start))
            log::error("job ", start->about.id.value, " (", start->about.type.value,
                       ") ignores its stop request; its worker is replaced");
          overdue_(p, start->about.fence);  // again at every look: a message may meet an actor that dies
          next = std::min(next, now + overdue_again);
        }
      }
    }
    if (!its.empty()) due.emplace_back(p, std::move(its));
  }
  if (renewal_due) last_renewal_ = now;
  if (!due.empty()) renew(e, due, now);
  store_progress(e);
  return next;
}

void lease_keeper::store_progress(engine& e) {
  storage::progress_request request;
  for (const auto& p : e.pools()) {
    auto said = p->take_progress();
    std::move(said.begin(), said.end(), std::back_inserter(request.starts));
  }
  if (request.starts.empty()) return;
  std::vector<storage::request> asked;
  asked.emplace_back(std::move(request));
  e.runner->submit(std::move(asked), [](std::vector<storage::answer> answers) {
    if (const auto* failed = std::get_if<error>(&answers.at(0)))
      log::warn("progress could not be stored: ", to_string(*failed));
  });
}

// Each queue by itself, in one commit: what is harmed of one must cost the others no lease.
void lease_keeper::renew(engine& e, const std::vector<starts_of_pool>& due, steady_point now) {
  std::vector<storage::request> asked;
  for (const auto& [p, starts] : due) {
    storage::renew_request request{{}, e.options.lease};
    for (const auto& start : starts)
      request.starts.push_back({start->about.id, start->about.fence});
    asked.emplace_back(std::move(request));
  }
  const auto told = [due, now, weak = e.weak_from_this(),
                     lease = e.options.lease](const std::vector<storage::answer>& answers) {
    bool refused = false;
    for (std::size_t i = 0; i < due.size(); ++i) {
      const auto& [p, starts] = due[i];
      const auto* renewed = std::get_if<storage::renew_answer>(&answers[i]);
      // What is harmed of one queue says nothing about others' leases.
      if (!renewed) {
        const auto& why = std::get<error>(answers[i]);
        refused = refused || why.code != errc::storage_damaged;
        log::warn("queue ", p->queue.value, ": leases could not be renewed: ", to_string(why));
      }
      for (std::size_t k = 0; renewed && k < starts.size(); ++k) {
        if (renewed->each[k] == errc::none) p->renewed(starts[k], now + lease);
        // Settled meanwhile, or taken away: then its body works in vain.
        else p->ask_to_stop(starts[k], stop_cause::lost, steady_clock::now());
      }
    }
    if (const auto alive = weak.lock(); alive && refused) ++alive->refused_renewals;
  };
  e.runner->submit(std::move(asked), told, storage::turn::first);
}

}  // namespace sluice::actors
