#include "actors/spawn.hpp"
#include "core/log.hpp"
#include "execution/due_schedules.hpp"
#include "execution/lost_leases.hpp"
#include "scheduler/timetable.hpp"

namespace sluice::actors {
namespace {

using scheduler::duty;
using std::chrono::steady_clock;

constexpr auto after_refusal = std::chrono::seconds(1);
constexpr std::uint64_t much_in_quarantine = 64ULL << 20;  // bytes
constexpr auto between_warnings = std::chrono::hours(1);
constexpr auto behind_claims = std::chrono::milliseconds(1);  // of a hint's looks those for work go first

struct ticker_state {
  static inline const char* name = "ticker";
  using requests = std::vector<storage::request>;

  ticker_actor::pointer self = nullptr;
  server_context_ptr e;
  root_actor root;
  gate_actor gate;
  std::optional<scheduler::timetable> timetable;
  std::optional<due_schedules> schedules;
  std::optional<lost_leases> leases;
  steady_point next_warning{};  // of much in quarantine
  std::string reconcile_from;   // where the last look at waiters ended
  struct {
    bool is_open = false;
    std::uint64_t number = 0;
    std::vector<bool> are_updates;  // which of its requests change a schedule
  } asked_store;
  struct {
    std::uint64_t number = 0;
    steady_point at = steady_point::max();
  } timer;

  // Does what is due, one request at a time, and sets the timer for the rest.
  void tick() {
    if (asked_store.is_open || e->stopped) return;
    requests asked;
    schedules->use_zones(e->zones.version());
    for (const auto d : timetable->take_due(steady_clock::now()))
      do_duty(d, asked);
    if (auto planning = schedules->next_planning()) asked.push_back(std::move(*planning));
    ask(std::move(asked));
  }

  void do_duty(duty d, requests& asked) {
    switch (d) {
      case duty::promote: asked.emplace_back(storage::promote_request{1'000, e->options.sweep_interval}); break;
      case duty::find_lost: asked.emplace_back(storage::expired_request{}); break;
      case duty::prune:
        asked.emplace_back(storage::prune_request{e->options.retention, scheduler::server_silent_after});
        break;
      case duty::heartbeat: asked.emplace_back(beat()); break;
      case duty::sweep:
        if (reconcile_from.empty()) caf::anon_send(root, sweep_atom::value);
        asked.emplace_back(storage::reconcile_request{1'000, reconcile_from});
        break;
      case duty::fire: asked.emplace_back(storage::due_request{}); break;
      case duty::zones: e->zones.read_again(); break;
    }
  }

  storage::heartbeat_request beat() const {
    storage::heartbeat_request request{e->self};
    for (const auto& p : e->queues.pools()) {
      request.server.queues.push_back(cat(p->queue.value, ":", p->options.workers));
      request.server.running += p->runs.load().running;
    }
    return request;
  }

  void ask(requests asked) {
    if (asked.empty()) return set_timer();
    asked_store.is_open = true;
    asked_store.are_updates.clear();
    for (const auto& r : asked)
      asked_store.are_updates.push_back(std::holds_alternative<storage::update_schedule_request>(r));
    auto done = [me = ticker_actor(self), number = ++asked_store.number](std::vector<storage::answer> answers) {
      caf::anon_send(me, applied_atom::value, number,
                     std::make_shared<std::vector<storage::answer>>(std::move(answers)));
    };
    e->store->submit(std::move(asked), std::move(done));
  }

  void applied(std::uint64_t number, std::vector<storage::answer>& answers) {
    if (number != asked_store.number) return;
    asked_store.is_open = false;
    const auto now = steady_clock::now();
    const bool refused = note_refusals(answers, now);
    requests asked;
    for (auto& a : answers) {
      // If nobody could renew, what was seen is forgotten.
      if (auto* expired = std::get_if<storage::expired_answer>(&a); expired && !refused)
        find_lost(*expired, now, asked);
      else std::visit([&](const auto& answer) { on(answer, now, asked); }, a);
    }
    ask(std::move(asked));
  }

  // Whether the store refused what is no schedule's.
  bool note_refusals(const std::vector<storage::answer>& answers, steady_point now) {
    const error *refused = nullptr, *not_fired = nullptr;
    for (std::size_t i = 0; i < answers.size(); ++i)
      if (const auto* failed = std::get_if<error>(&answers[i]))
        (asked_store.are_updates[i] ? not_fired : refused) = failed;
    if (not_fired) timetable->at(duty::fire, schedules->refused(*not_fired, now));
    if (!refused) return false;
    log::warn("ticker: the store refused (", to_string(*refused), "); trying again in a while");
    leases->forget();
    timetable->at(duty::heartbeat, now + after_refusal);  // it may come back empty
    timetable->at(duty::find_lost, now + after_refusal);
    return true;
  }

  // --- What follows from each answer.

  template <class Other>
  void on(const Other&, steady_point, requests&) {}

  void on(const storage::promote_answer& promoted, steady_point now, requests&) {
    if (promoted.next_in) timetable->at(duty::promote, now + *promoted.next_in);
    if (promoted.schedule_in) timetable->at(duty::fire, schedules->not_before(now + *promoted.schedule_in));
    if (!promoted.open.empty())
      caf::anon_send(gate, open_atom::value, std::make_shared<const std::vector<std::string>>(promoted.open));
  }

  void on(const storage::reconcile_answer& reconciled, steady_point now, requests&) {
    reconcile_from = reconciled.next;
    if (!reconcile_from.empty()) timetable->at(duty::sweep, now);
  }

  void on(const storage::due_answer& due, steady_point now, requests& asked) {
    go_on(schedules->answered(due), now, asked);
  }
  void on(const storage::schedules_answer& some, steady_point now, requests& asked) {
    go_on(schedules->answered(some), now, asked);
  }
  void on(const storage::update_schedule_answer& updated, steady_point now, requests& asked) {
    go_on(schedules->answered(updated), now, asked);
  }
  void go_on(due_schedules::next_step next, steady_point now, requests& asked) {
    std::move(next.requests.begin(), next.requests.end(), std::back_inserter(asked));
    if (next.look_in) timetable->at(duty::fire, schedules->not_before(now + *next.look_in));
  }

  void on(const storage::heartbeat_answer& beaten, steady_point, requests&) {
    if (beaten.known && !e->definitions.take_restore_later()) return;
    if (!beaten.known)
      log::warn(
          "the store does not know this server any more: it came back empty or from an old copy, or the server "
          "was silent for long; storing the configuration's throttlers and schedules again");
    e->definitions.restore();
  }

  // Nothing of it is ever pruned: a person has to decide.
  void on(const storage::prune_answer& pruned, steady_point now, requests&) {
    if (pruned.more) timetable->at(duty::prune, now);
    if (pruned.quarantined_bytes < much_in_quarantine || now < next_warning) return;
    next_warning = now + between_warnings;
    log::warn(pruned.quarantined_bytes >> 20, " MiB are in quarantine (", pruned.quarantined,
              pruned.quarantined == 1 ? " job" : " jobs",
              "), which nothing removes by itself: `sluice quarantine list` "
              "tells which, `requeue` enqueues what can be read by now, `drop` removes it");
  }

  // What is taken back is seen no more: the next look tells when the second look at the others is due.
  void on(const storage::reap_answer& reaped, steady_point now, requests&) {
    timetable->at(duty::find_lost, now);
    leases->answered(reaped);
  }

  void find_lost(storage::expired_answer& expired, steady_point now, requests& asked) {
    auto reaps = leases->look(std::move(expired.leases), now);
    if (reaps.empty() && leases->next_look()) {
      asked.emplace_back(beat());
      timetable->at(duty::find_lost, *leases->next_look());
    }
    std::move(reaps.begin(), reaps.end(), std::back_inserter(asked));
    if (expired.next_in) timetable->at(duty::find_lost, now + *expired.next_in + std::chrono::milliseconds(1));
  }

  // --- The timer.

  void hinted(const storage::hint& of) {
    const auto now = steady_clock::now();
    if (of.timers) timetable->at(duty::promote, now + behind_claims);
    timetable->at(duty::find_lost, now + e->options.lease);  // whoever claims that work may be lost with it
    tick();
  }

  // Only a new earliest instant needs a new timer; an old one that fires finds nothing due.
  void set_timer() {
    const auto next = timetable->next();
    if (next >= timer.at && timer.at > steady_clock::now()) return;
    timer.at = next;
    const auto in = std::max(next - steady_clock::now(), steady_clock::duration::zero());
    self->delayed_send(self, std::chrono::duration_cast<std::chrono::microseconds>(in), duty_atom::value,
                       ++timer.number);
  }

  void timer_fired(std::uint64_t which) {
    if (which == timer.number) timer.at = steady_point::max();
    tick();
  }
};

ticker_actor::behavior_type ticker(ticker_actor::stateful_pointer<ticker_state> self, server_context_ptr e,
                                   const root_actor& root, const gate_actor& gate) {
  install_handlers(self, e, "ticker");
  auto& s = self->state;
  s.self = self;
  s.root = root;
  s.gate = gate;
  s.timetable.emplace(e->options, steady_clock::now());
  s.schedules.emplace(*e);
  s.leases.emplace(*e);
  s.e = std::move(e);
  s.tick();
  return {
      [self](hint_atom, const hint_ptr& of) { self->state.hinted(*of); },
      [self](duty_atom, std::uint64_t which) { self->state.timer_fired(which); },
      [self](applied_atom, std::uint64_t number, const answers_ptr& answers) { self->state.applied(number, *answers); },
      [self](gate_atom, const gate_actor& other) { self->state.gate = other; },
  };
}

}  // namespace

ticker_actor spawn_ticker(caf::local_actor* parent, server_context_ptr e, const storage_actor& store, root_actor root,
                          gate_actor gate) {
  count_actor(e);
  auto made = parent->system().spawn(ticker, std::move(e), std::move(root), std::move(gate));
  parent->monitor(made);
  caf::anon_send(store, listen_atom::value, hint_reader_actor(made));
  return made;
}

}  // namespace sluice::actors
