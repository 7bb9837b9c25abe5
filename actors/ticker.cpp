#include "actors/spawn.hpp"
#include "core/log.hpp"
#include "scheduler/agenda.hpp"
#include "scheduler/reaping.hpp"

namespace sluice::actors {
namespace {

using scheduler::duty;
using std::chrono::steady_clock;

struct ticker_state {
  static inline const char* name = "ticker";

  ticker_actor::pointer self = nullptr;
  engine_ptr e;
  storage_actor store;
  root_actor root;
  gate_actor gate;
  std::optional<scheduler::agenda> agenda;
  std::optional<scheduler::reaper> reaper;
  bool waiting = false;    // for the store
  std::string rouse_from;  // where the last look at waiters ended
  std::uint64_t order = 0;
  std::uint64_t timer = 0;
  steady_point timer_at = steady_point::max();

  // Does what is due, one order at a time, and sets the timer for the rest.
  void tick() {
    if (waiting || e->stopped) return;
    const auto now = steady_clock::now();
    std::vector<storage::request> asked;
    for (const auto d : agenda->take_due(now)) {
      switch (d) {
        case duty::promote: asked.emplace_back(storage::promote_request{1'000, e->options.lease}); break;
        case duty::look_for_lost: asked.emplace_back(storage::expired_request{}); break;
        case duty::prune:
          asked.emplace_back(storage::prune_request{e->options.retention, scheduler::server_silent_after});
          break;
        case duty::beat: asked.emplace_back(beat()); break;
        case duty::sweep:
          if (rouse_from.empty()) caf::anon_send(root, sweep_atom::value);
          asked.emplace_back(storage::rouse_request{1'000, rouse_from});
          break;
      }
    }
    if (asked.empty()) return set_timer();
    submit(std::move(asked));
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

  void submit(std::vector<storage::request> asked) {
    waiting = true;
    auto o = std::make_shared<store_order>();
    o->asked = std::move(asked);
    o->done = [me = ticker_actor(self), number = ++order](answers_ptr answers) {
      caf::anon_send(me, applied_atom::value, number, std::move(answers));
    };
    caf::anon_send(store, submit_atom::value, std::move(o));
  }

  void applied(std::uint64_t number, const std::vector<storage::answer>& answers) {
    if (number != order) return;
    waiting = false;
    const auto now = steady_clock::now();
    std::vector<storage::expired_lease> lost;
    for (const auto& a : answers) {
      if (const auto* failed = std::get_if<error>(&a)) {
        log::warn("ticker: the store refused (", to_string(*failed), "); trying again in a while");
        reaper->forget();
        break;
      }
      if (const auto* promoted = std::get_if<storage::promote_answer>(&a)) {
        if (promoted->next_in) agenda->at(duty::promote, now + *promoted->next_in);
        if (!promoted->open.empty())
          caf::anon_send(gate, open_atom::value, std::make_shared<const std::vector<std::string>>(promoted->open));
      }
      if (const auto* roused = std::get_if<storage::rouse_answer>(&a)) {
        rouse_from = roused->next;
        if (!rouse_from.empty()) agenda->at(duty::sweep, now);
      }
      if (const auto* pruned = std::get_if<storage::prune_answer>(&a); pruned && pruned->more)
        agenda->at(duty::prune, now);
      if (const auto* expired = std::get_if<storage::expired_answer>(&a)) {
        lost = reaper->look(expired->leases, now);
        if (const auto again = reaper->next(); again && lost.empty()) agenda->at(duty::look_for_lost, *again);
        if (expired->next_in) agenda->at(duty::look_for_lost, now + *expired->next_in + std::chrono::milliseconds(1));
      }
    }
    if (!lost.empty()) {
      for (const auto& l : lost)
        log::warn("job ", l.start.id.value, ": its lease ran out; it is taken back");
      std::vector<storage::request> asked;
      asked.emplace_back(storage::reap_request{std::move(lost), e->options.max_losses});
      return submit(std::move(asked));
    }
    set_timer();
  }

  void hinted() {
    const auto now = steady_clock::now();
    agenda->at(duty::promote, now);
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
  s.reaper.emplace(scheduler::renewal_interval(e->options));
  s.e = std::move(e);
  s.tick();
  return {
      [self](hint_atom) { self->state.hinted(); },
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
  caf::anon_send(store, listen_atom::value, hinted_actor(made));
  return made;
}

}  // namespace sluice::actors
