#include "actors/spawn.hpp"

#include <map>

#include <sluice/cron.hpp>

#include "core/log.hpp"
#include "scheduler/agenda.hpp"
#include "scheduler/reaping.hpp"
#include "scheduler/schedules.hpp"

namespace sluice::actors {
namespace {

using scheduler::duty;
using std::chrono::steady_clock;

constexpr std::size_t most_fired = 1'000;      // jobs in one order, or few more
constexpr std::ptrdiff_t most_reaped = 1'000;  // in one step of the store
constexpr auto after_refusal = std::chrono::seconds(1);
constexpr auto behind_claims = std::chrono::milliseconds(1);  // of a hint's looks those for work go first

struct ticker_state {
  static inline const char* name = "ticker";

  ticker_actor::pointer self = nullptr;
  engine_ptr e;
  storage_actor store;
  root_actor root;
  gate_actor gate;
  std::optional<scheduler::agenda> agenda;
  std::optional<scheduler::reaper> reaper;
  std::optional<enqueue_pipeline> pipeline;
  std::string zones;                            // the zone files by which schedules are planned here
  std::optional<std::string> plan_from;         // which schedules are still to be planned anew
  bool more_due = false;                        // than one step could fire
  std::map<std::string, std::string> problems;  // of schedules, as they were told last
  bool waiting = false;                         // for the store
  std::vector<bool> are_swaps;                  // of schedules, of what it was asked
  steady_point fire_not_before{};
  std::uint64_t refused_renewals = 0;           // as the reaper knows of them
  std::vector<storage::expired_lease> reaping;  // what it was asked to take back, at the end of its order
  std::size_t first_reap = 0;                   // in that order
  std::string rouse_from;                       // where the last look at waiters ended
  std::uint64_t order = 0;
  std::uint64_t timer = 0;
  steady_point timer_at = steady_point::max();

  // Does what is due, one order at a time, and sets the timer for the rest.
  void tick() {
    if (waiting || e->stopped) return;
    const auto now = steady_clock::now();
    std::vector<storage::request> asked;
    look_at_zones();
    for (const auto d : agenda->take_due(now)) {
      switch (d) {
        case duty::promote: asked.emplace_back(storage::promote_request{1'000, e->options.sweep_interval}); break;
        case duty::look_for_lost: asked.emplace_back(storage::expired_request{}); break;
        case duty::prune:
          asked.emplace_back(storage::prune_request{e->options.retention, scheduler::server_silent_after});
          break;
        case duty::beat: asked.emplace_back(beat()); break;
        case duty::sweep:
          if (rouse_from.empty()) caf::anon_send(root, sweep_atom::value);
          asked.emplace_back(storage::rouse_request{1'000, rouse_from});
          break;
        case duty::fire: asked.emplace_back(storage::due_request{}); break;
        case duty::zones: e->read_zones(); break;
      }
    }
    if (plan_from) asked.emplace_back(storage::schedules_request{200, *plan_from});
    if (asked.empty()) return set_timer();
    submit(std::move(asked));
  }

  // Other zone files than before: schedules run at other instants.
  void look_at_zones() {
    auto now = e->zones();
    if (now == zones) return;
    zones = std::move(now);
    plan_from.emplace();
  }

  storage::swap_schedule_request fire(const storage::schedule_row& due, time_point now) {
    auto fired = scheduler::firing(due, now, zones,
                                   [this](new_job job) { return pipeline->prepare(std::move(job), e->runner->now()); });
    auto& told = problems[due.name];
    if (told != fired.problem && !fired.problem.empty())
      log::error("schedule ", due.name, ": no job can be made: ", fired.problem);
    told = fired.problem;
    if (told.empty()) problems.erase(due.name);
    return std::move(fired.swap);
  }

  storage::beat_request beat() const {
    storage::beat_request request{e->self};
    for (const auto& p : e->pools()) {
      const auto load = p->load();
      request.server.queues.push_back(cat(p->queue.value, ":", p->options.workers));
      request.server.running += load.running;
    }
    return request;
  }

  // What is to be taken back. A server never takes back what it holds itself: it lives, and its renewals or ends were
  // refused. What was seen before a refused renewal shows nothing, since nobody may have been able to renew.
  std::vector<storage::expired_lease> look_for_lost(std::vector<storage::expired_lease> expired, steady_point now) {
    if (const auto refused = e->refused_renewals.load(); std::exchange(refused_renewals, refused) != refused)
      reaper->forget();
    std::erase_if(expired, [&](const auto& lease) { return e->holds(lease.start.fence); });
    return reaper->look(expired, now);
  }

  // Not at once again after the store refused: one schedule that cannot go on holds up nobody.
  void fire_at(steady_point when) { agenda->at(duty::fire, std::max(when, fire_not_before)); }

  void submit(std::vector<storage::request> asked) {
    waiting = true;
    are_swaps.clear();
    for (const auto& r : asked)
      are_swaps.push_back(std::holds_alternative<storage::swap_schedule_request>(r));
    auto o = std::make_shared<store_order>();
    o->asked = std::move(asked);
    o->done = [me = ticker_actor(self), number = ++order](answers_ptr answers) {
      caf::anon_send(me, applied_atom::value, number, std::move(answers));
    };
    caf::anon_send(store, submit_atom::value, std::move(o));
  }

  void applied(std::uint64_t number, std::vector<storage::answer>& answers) {
    if (number != order) return;
    waiting = false;
    const auto now = steady_clock::now();
    std::vector<storage::expired_lease> lost;
    const auto reaped_now = std::exchange(reaping, {});
    std::vector<storage::request> asked;
    const error *refused = nullptr, *not_fired = nullptr;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      auto& a = answers[i];
      if (const auto* failed = std::get_if<error>(&a)) {
        (i < are_swaps.size() && are_swaps[i] ? not_fired : refused) = failed;
        continue;
      }
      if (const auto* promoted = std::get_if<storage::promote_answer>(&a)) {
        if (promoted->next_in) agenda->at(duty::promote, now + *promoted->next_in);
        if (promoted->schedule_in) fire_at(now + *promoted->schedule_in);
        if (!promoted->open.empty())
          caf::anon_send(gate, open_atom::value, std::make_shared<const std::vector<std::string>>(promoted->open));
      }
      if (const auto* roused = std::get_if<storage::rouse_answer>(&a)) {
        rouse_from = roused->next;
        if (!rouse_from.empty()) agenda->at(duty::sweep, now);
      }
      if (const auto* due = std::get_if<storage::due_answer>(&a)) {
        std::size_t jobs = 0;
        more_due = due->next_in == duration::zero();
        for (const auto& row : due->rows) {
          auto swap = fire(row, due->now);
          jobs += swap.enqueue.size();
          asked.emplace_back(std::move(swap));
          if (jobs < most_fired) continue;
          more_due = true;
          break;
        }
        if (due->next_in && !more_due) fire_at(now + *due->next_in);
      }
      if (const auto* some = std::get_if<storage::schedules_answer>(&a)) {
        for (const auto& row : some->rows)
          if (auto planned = scheduler::planning_anew(row, zones)) asked.emplace_back(std::move(*planned));
        plan_from = some->next.empty() ? std::nullopt : std::optional(some->next);
        if (plan_from) fire_at(now);
      }
      if (const auto* swapped = std::get_if<storage::swap_schedule_answer>(&a)) {
        if (swapped->row && swapped->row->next_at)
          fire_at(now + std::max(duration::zero(), *swapped->row->next_at - swapped->now));
        if (std::exchange(more_due, false)) fire_at(now);
      }
      if (const auto* known = std::get_if<storage::beat_answer>(&a);
          known && (!known->known || e->must_restore.exchange(false))) {
        if (!known->known)
          log::warn(
              "the store does not know this server any more: it came back empty or from an old copy, or the server "
              "was silent for long; storing the configuration's throttlers and schedules again");
        e->restore_configuration();
      }
      if (const auto* pruned = std::get_if<storage::prune_answer>(&a); pruned && pruned->more)
        agenda->at(duty::prune, now);
      // What is taken back is seen no more: the next look tells when the second look at the others is due.
      if (const auto* reaped = std::get_if<storage::reap_answer>(&a)) {
        agenda->at(duty::look_for_lost, now);
        const auto* lease = &reaped_now[(i - first_reap) * most_reaped];
        for (std::size_t n = 0; n < reaped->each.size(); ++n)
          if (reaped->each[n] == errc::none)
            log::warn("job ", lease[n].start.id.value, ": its lease ran out; it is taken back");
        for (const auto& id : reaped->failed)
          log::error("job ", id.value, " has failed: its lease ran out ", e->options.max_losses, " times");
      }
      if (auto* expired = std::get_if<storage::expired_answer>(&a)) {
        lost = look_for_lost(std::move(expired->leases), now);
        // If that is refused nobody could renew, and what was seen is forgotten.
        if (lost.empty() && reaper->next()) asked.emplace_back(beat());
        if (const auto again = reaper->next(); again && lost.empty()) agenda->at(duty::look_for_lost, *again);
        if (expired->next_in) agenda->at(duty::look_for_lost, now + *expired->next_in + std::chrono::milliseconds(1));
      }
    }
    if (not_fired) {
      log::warn("ticker: the store refused to enqueue what schedules want (", to_string(*not_fired),
                "); trying again in a while");
      fire_not_before = now + after_refusal;
      fire_at(fire_not_before);
    }
    if (refused) {
      log::warn("ticker: the store refused (", to_string(*refused), "); trying again in a while");
      reaper->forget();
      lost.clear();
      agenda->at(duty::beat, now + after_refusal);  // it may come back empty
      agenda->at(duty::look_for_lost, now + after_refusal);
    }
    reaping = std::move(lost);
    first_reap = asked.size();
    for (auto from = reaping.begin(); from != reaping.end();) {
      const auto to = from + std::min(most_reaped, reaping.end() - from);
      asked.emplace_back(storage::reap_request{{from, to}, e->options.max_losses});
      from = to;
    }
    if (!asked.empty()) return submit(std::move(asked));
    set_timer();
  }

  void hinted(const storage::hint& of) {
    const auto now = steady_clock::now();
    if (of.timers) agenda->at(duty::promote, now + behind_claims);
    agenda->at(duty::look_for_lost, now + e->options.lease);  // whoever claims that work may be lost with it
    tick();
  }

  // Only a new earliest instant needs a new timer; an old one that fires finds nothing due.
  void set_timer() {
    const auto next = agenda->next();
    if (next >= timer_at && timer_at > steady_clock::now()) return;
    timer_at = next;
    const auto in = std::max(next - steady_clock::now(), steady_clock::duration::zero());
    self->delayed_send(self, std::chrono::duration_cast<std::chrono::microseconds>(in), duty_atom::value, ++timer);
  }

  void timer_fired(std::uint64_t which) {
    if (which == timer) timer_at = steady_point::max();
    tick();
  }

  void use(const storage_actor& other) {
    store = other;
    waiting = false;  // every duty may be done twice
    ++order;
    tick();
  }
};

ticker_actor::behavior_type ticker(ticker_actor::stateful_pointer<ticker_state> self, engine_ptr e,
                                   const storage_actor& store, const root_actor& root, const gate_actor& gate) {
  arm(self, e, "ticker");
  auto& s = self->state;
  s.self = self;
  s.store = store;
  s.root = root;
  s.gate = gate;
  s.agenda.emplace(e->options, steady_clock::now());
  s.pipeline.emplace(e->can_run->filters, e->options.jobs);
  s.reaper.emplace(scheduler::renewal_interval(e->options));
  s.e = std::move(e);
  s.tick();
  return {
      [self](hint_atom, const hint_ptr& of) { self->state.hinted(*of); },
      [self](duty_atom, std::uint64_t which) { self->state.timer_fired(which); },
      [self](applied_atom, std::uint64_t number, const answers_ptr& answers) { self->state.applied(number, *answers); },
      [self](store_atom, const storage_actor& other) { self->state.use(other); },
      [self](gate_atom, const gate_actor& other) { self->state.gate = other; },
  };
}

}  // namespace

ticker_actor spawn_ticker(caf::local_actor* parent, engine_ptr e, storage_actor store, root_actor root,
                          gate_actor gate) {
  enlist(e);
  auto made = parent->system().spawn(ticker, std::move(e), store, std::move(root), std::move(gate));
  parent->monitor(made);
  caf::anon_send(store, listen_atom::value, hint_reader_actor(made));
  return made;
}

}  // namespace sluice::actors
