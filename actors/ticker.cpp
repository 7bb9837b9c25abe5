// Brings the time to a server's duties, and their requests to the store, one batch at a time.
#include "actors/spawn.hpp"
#include "core/log.hpp"
#include "execution/duties.hpp"

namespace sluice::actors {
namespace {

using scheduler::duty;
using std::chrono::steady_clock;

constexpr auto behind_claims = std::chrono::milliseconds(1);  // of a hint's looks those for work go first

struct ticker_state {
  static inline const char* name = "ticker";

  ticker_actor::pointer self = nullptr;
  server_context_ptr e;
  root_actor root;
  gate_actor gate;
  std::optional<execution::duties> duties;
  std::uint64_t last_asked = 0;
  struct {
    std::uint64_t number = 0;
    steady_point at = steady_point::max();
  } timer;

  execution::duties::parts others() {
    return {.look_at_lines =
                [this](const std::vector<std::string>& limiters) {
                  caf::anon_send(gate, open_atom::value, std::make_shared<const std::vector<std::string>>(limiters));
                },
            .sweep = [this] { caf::anon_send(root, sweep_atom::value); },
            .beaten = [this](bool is_known) { beaten(is_known); },
            .zones_version = [this] { return e->zones.version(); },
            .read_zones = [this] { e->zones.read_again(); }};
  }

  void tick() {
    if (duties->is_waiting() || e->stopped) return;
    ask(duties->due(steady_clock::now()));
  }

  void ask(execution::duties::requests asked) {
    if (asked.empty()) return set_timer();
    auto done = [me = ticker_actor(self), number = ++last_asked](std::vector<storage::answer> answers) {
      caf::anon_send(me, applied_atom::value, number,
                     std::make_shared<std::vector<storage::answer>>(std::move(answers)));
    };
    e->store->submit(std::move(asked), std::move(done));
  }

  void applied(std::uint64_t number, std::vector<storage::answer>& answers) {
    if (number == last_asked) ask(duties->answered(answers, steady_clock::now()));
  }

  void beaten(bool is_known) const {
    if (is_known && !e->definitions.take_restore_later()) return;
    if (!is_known)
      log::warn(
          "the store does not know this server any more: it came back empty or from an old copy, or the server "
          "was silent for long; storing the configuration's throttlers and schedules again");
    e->definitions.restore();
  }

  void hinted(const storage::hint& of) {
    const auto now = steady_clock::now();
    if (of.timers) duties->at(duty::promote, now + behind_claims);
    duties->at(duty::find_lost, now + e->options.lease);  // whoever claims that work may be lost with it
    tick();
  }

  // Only a new earliest instant needs a new timer; an old one that fires finds nothing due.
  void set_timer() {
    const auto next = duties->next();
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
  s.duties.emplace(*e, e->self, s.others(), scheduler::timetable(e->options, steady_clock::now()));
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
