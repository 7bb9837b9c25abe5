#include "actors/spawn.hpp"
#include "actors/supervisor.hpp"
#include "core/log.hpp"
#include "core/queues.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// One death is replaced at once; what dies again within this time waits for it.
constexpr duration calm = 1s;

struct root_state {
  static inline const char* name = "sluice";

  root_actor::pointer self = nullptr;
  engine_ptr e;
  door_actor door;
  storage_actor store;
  ticker_actor ticker;
  gate_actor gate;
  struct served {
    queue_desk_ptr desk;
    supervisor_actor supervisor;
  };
  std::map<std::string, served> queues;
  bool has_patterns = false;
  steady_point last_replacement{};
  std::uint64_t look = 0;

  void start_up() {
    if (e->stopped) return;  // stopped before we began
    for (const auto& [named, options] : e->options.queues) {
      if (named.find('*') == std::string::npos) queues[named].desk = make_desk(named, options);
      else has_patterns = true;
    }
    replace_missing();
    look_for_queues();
  }

  queue_desk_ptr make_desk(const std::string& queue, const queue_options& options) const {
    auto desk = std::make_shared<queue_desk>();
    desk->pool = e->pool_of(queue, options);
    return desk;
  }

  // Spawns whatever is not there.
  void replace_missing() {
    if (e->stopped) return;
    last_replacement = steady_clock::now();
    if (!store) {
      store = spawn_storage(self, e);
      if (has_patterns) caf::anon_send(store, listen_atom::value, hint_reader_actor(root_actor(self)));
      for (auto& [key, q] : queues) {
        if (!q.supervisor) continue;
        caf::anon_send(store, listen_atom::value, key, hinted_actor(q.supervisor));
        caf::anon_send(q.supervisor, store_atom::value, store);
      }
      if (ticker) {
        caf::anon_send(store, listen_atom::value, hint_reader_actor(ticker));
        caf::anon_send(ticker, store_atom::value, store);
      }
      if (gate) caf::anon_send(gate, store_atom::value, store);
      if (door) caf::anon_send(door, store_atom::value, store);
    }
    if (!gate) {
      gate = spawn_gate(self, e, store);
      for (auto& [key, q] : queues)
        if (q.supervisor) caf::anon_send(q.supervisor, gate_atom::value, gate);
      if (ticker) caf::anon_send(ticker, gate_atom::value, gate);
      if (door) caf::anon_send(door, gate_atom::value, gate);
    }
    for (auto& [key, q] : queues)
      if (!q.supervisor) q.supervisor = spawn_supervisor(self, e, q.desk, store, gate);
    if (!ticker) ticker = spawn_ticker(self, e, store, root_actor(self), gate);
  }

  void down(const caf::actor_addr& who) {
    if (store && store.address() == who) store = nullptr;
    if (ticker && ticker.address() == who) ticker = nullptr;
    if (gate && gate.address() == who) gate = nullptr;
    for (auto& [key, q] : queues)
      if (q.supervisor && q.supervisor.address() == who) q.supervisor = nullptr;
    if (steady_clock::now() - last_replacement > calm) return replace_missing();
    self->delayed_send(self, calm, respawn_atom::value);
  }

  void sweep() {
    if (door) caf::anon_send(door, sweep_atom::value);
    for (const auto& [key, q] : queues)
      if (q.supervisor) caf::anon_send(q.supervisor, sweep_atom::value);
    look_for_queues();
  }

  void hinted(const storage::hint& of) {
    if (!has_patterns || e->quiet) return;
    if (of.all_queues) look_for_queues();
    else serve_matching(of.queues);
  }

  // Patterns: which queues are there now?
  void look_for_queues() {
    if (!has_patterns || e->quiet) return;
    auto order = std::make_shared<store_order>();
    order->asked.emplace_back(storage::queue_names_request{});
    order->done = [me = root_actor(self), number = ++look](answers_ptr answers) {
      caf::anon_send(me, applied_atom::value, number, std::move(answers));
    };
    caf::anon_send(store, submit_atom::value, std::move(order));
  }

  void found_queues(const std::vector<storage::answer>& answers) {
    // Else the next sweep asks again.
    if (const auto* found = std::get_if<storage::names_answer>(&answers.at(0))) serve_matching(found->names);
  }

  template <class Names>
  void serve_matching(const Names& names) {
    bool more = false;
    for (const std::string& named : names) {
      if (queues.contains(named)) continue;
      const auto* options = options_for(e->options.queues, named);
      if (!options) continue;
      log::info("queue ", named, " matches a pattern: it gets a pool of ", options->workers, " workers");
      queues[named].desk = make_desk(named, *options);
      more = true;
    }
    if (more) replace_missing();
  }

  void overdue(const std::string& queue, std::uint64_t f) {
    const auto found = queues.find(queue);
    if (found != queues.end() && found->second.supervisor)
      caf::anon_send(found->second.supervisor, overdue_atom::value, f);
  }

  std::vector<caf::actor> children() const {
    std::vector<caf::actor> all;
    if (store) all.push_back(caf::actor_cast<caf::actor>(store));
    if (ticker) all.push_back(caf::actor_cast<caf::actor>(ticker));
    if (gate) all.push_back(caf::actor_cast<caf::actor>(gate));
    for (const auto& [key, q] : queues)
      if (q.supervisor) all.push_back(caf::actor_cast<caf::actor>(q.supervisor));
    return all;
  }

  void end_all() {
    for (const auto& [key, q] : queues)
      if (q.supervisor) self->send_exit(q.supervisor, caf::exit_reason::user_shutdown);
    if (ticker) self->send_exit(ticker, caf::exit_reason::user_shutdown);
    if (gate) self->send_exit(gate, caf::exit_reason::user_shutdown);
    if (store) self->send_exit(store, caf::exit_reason::user_shutdown);
  }
};

root_actor::behavior_type root(root_actor::stateful_pointer<root_state> self, engine_ptr e, door_actor door) {
  arm(self, e, "root");
  self->set_down_handler([self](caf::down_msg& down) { self->state.down(down.source); });
  self->set_exit_handler([self](caf::exit_msg& end) {
    self->state.end_all();
    self->quit(std::move(end.reason));
  });
  self->state.self = self;
  self->state.e = std::move(e);
  self->state.door = std::move(door);
  self->state.start_up();
  return {
      [self](hint_atom, const hint_ptr& of) { self->state.hinted(*of); },
      [self](sweep_atom) { self->state.sweep(); },
      [self](applied_atom, std::uint64_t number, const answers_ptr& answers) {
        if (number == self->state.look) self->state.found_queues(*answers);
      },
      [self](respawn_atom) { self->state.replace_missing(); },
      [self](overdue_atom, const std::string& queue, std::uint64_t f) { self->state.overdue(queue, f); },
      [self](children_atom) { return self->state.children(); },
  };
}

}  // namespace

root_actor spawn_root(caf::actor_system& system, engine_ptr e, door_actor door) {
  enlist(e);
  return system.spawn(root, std::move(e), std::move(door));
}

}  // namespace sluice::actors
