#include <algorithm>

#include "actors/hint_router.hpp"
#include "actors/spawn.hpp"
#include "actors/supervisor.hpp"
#include "core/log.hpp"
#include "core/queues.hpp"
#include "execution/dispatcher.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// One death is replaced at once; what dies again within this time waits for it.
constexpr duration calm = 1s;

// What of the store, by its answer's number.
enum class question : std::uint64_t { names, work, idle_pools };

struct root_state {
  static inline const char* name = "sluice";

  root_actor::pointer self = nullptr;
  server_context_ptr e;
  facade_actor facade;
  storage_actor store;
  ticker_actor ticker;
  gate_actor gate;
  struct served {
    queue_state_ptr kept_state{};
    supervisor_actor supervisor{};
    bool is_of_pattern = false;
  };
  std::map<std::string, served> queues;  // that have pools
  bool has_patterns = false;
  steady_point last_replacement{};
  std::vector<std::string> idle;  // queues, of which the store is asked whether they have work

  void start_up() {
    if (e->stopped) return;  // stopped before we began
    for (const auto& [named, options] : e->options.queues) {
      if (named.find('*') == std::string::npos) queues[named] = {.kept_state = make_queue_state(named, options)};
      else has_patterns = true;
    }
    replace_missing();
    find_queues();
  }

  queue_state_ptr make_queue_state(const std::string& queue, const queue_options& options) const {
    return std::make_shared<queue_state>(e->queue(queue, options));
  }

  // Spawns whatever is not there.
  void replace_missing() {
    if (e->stopped) return;
    last_replacement = steady_clock::now();
    if (!store) {
      store = spawn_storage(self, e);
      if (has_patterns) caf::anon_send(store, listen_atom::value, hint_reader_actor(root_actor(self)));
      if (ticker) caf::anon_send(store, listen_atom::value, hint_reader_actor(ticker));
    }
    if (!gate) {
      gate = spawn_gate(self, e);
      for (auto& [key, q] : queues)
        if (q.supervisor) caf::anon_send(q.supervisor, gate_atom::value, gate);
      if (ticker) caf::anon_send(ticker, gate_atom::value, gate);
      if (facade) caf::anon_send(facade, gate_atom::value, gate);
    }
    for (auto& [key, q] : queues)
      if (!q.supervisor) q.supervisor = spawn_supervisor(self, e, q.kept_state, gate);
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
    e->config->threads->try_again();
    if (facade) caf::anon_send(facade, sweep_atom::value);
    for (const auto& [key, q] : queues)
      if (q.supervisor) caf::anon_send(q.supervisor, sweep_atom::value);
    find_idle_pools();
    e->hints->route(storage::hint::of_any_work());  // one request for all queues that have none
    find_queues();
  }

  // A pool of a pattern lasts as long as there is work, be it work that waits for a thread, or that nobody takes.
  void find_idle_pools() {
    if (!idle.empty()) return;  // asked, and not answered
    for (const auto& [named, q] : queues)
      if (q.is_of_pattern && q.kept_state->pool->lock()->is_idle(e->queues.pool_lasts)) idle.push_back(named);
    if (!idle.empty()) ask(question::idle_pools, storage::ready_request{idle});
  }

  // Those that are idle still, and have no work. What came since that answer is found by another look.
  void end_pools(const std::vector<std::string>& with_work) {
    bool any = false;
    for (const auto& named : idle) {
      const auto at = queues.find(named);
      if (at == queues.end() || std::find(with_work.begin(), with_work.end(), named) != with_work.end() ||
          !at->second.kept_state->pool->end_if_idle(e->queues.pool_lasts))
        continue;
      end_pool(named, at->second);
      queues.erase(at);
      any = true;
    }
    idle.clear();
    if (any) find_queues();
  }

  void end_pool(const std::string& named, const served& q) {
    e->queues.forget(named);
    q.kept_state->dispatcher->end();
    q.kept_state->pool->workers.disable_callbacks();
    if (q.supervisor) return self->send_exit(q.supervisor, caf::exit_reason::user_shutdown);
    for (const auto& w : q.kept_state->workers)
      self->send_exit(w, caf::exit_reason::user_shutdown);
  }

  void hinted(const storage::hint& of) {
    if (!has_patterns || e->quiet) return;
    if (of.all_queues) find_queues();
    else look_for_work(of.queues);
  }

  // Patterns: which queues are there now?
  void find_queues() {
    if (has_patterns && !e->quiet) ask(question::names, storage::queue_names_request{});
  }

  // Of queues without pools. A hint may name what the store does not have.
  template <class Names>
  void look_for_work(const Names& names) {
    storage::ready_request asked;
    for (const std::string& named : names)
      if (!queues.contains(named) && options_for(e->options.queues, named)) asked.queues.push_back(named);
    if (!asked.queues.empty()) ask(question::work, std::move(asked));
  }

  void ask(question what, storage::request asked) const {
    auto done = [me = root_actor(self), what](std::vector<storage::answer> answers) {
      caf::anon_send(me, applied_atom::value, static_cast<std::uint64_t>(what),
                     std::make_shared<std::vector<storage::answer>>(std::move(answers)));
    };
    std::vector<storage::request> all;
    all.push_back(std::move(asked));
    e->store->submit(std::move(all), std::move(done));
  }

  // Refused: the next sweep asks again.
  void answered(question what, const std::vector<storage::answer>& answers) {
    const auto* found = std::get_if<storage::names_answer>(&answers.at(0));
    if (what == question::idle_pools && (!found || e->stopped)) idle.clear();  // else it is asked still
    if (!found || e->stopped) return;
    if (what == question::idle_pools) return end_pools(found->names);
    if (what == question::work) return serve_matching(found->names);
    for (const auto& named : found->names)
      serves(named);
    look_for_work(found->names);
  }

  // How, if it is named or matches a pattern. From now on it counts as served.
  std::optional<queue_options> serves(const std::string& named) const {
    const auto* found = options_for(e->options.queues, named);
    if (!found) return std::nullopt;
    auto options = *found;
    if (options.workers == 0) options.workers = default_workers(named, e->options.special_queue_workers);
    if (e->queues.add(named, options.workers))
      log::info("queue ", named, " matches a pattern: it gets a pool of ", options.workers, " workers");
    return options;
  }

  void serve_matching(const std::vector<std::string>& names) {
    bool more = false;
    for (const auto& named : names) {
      const auto options = serves(named);
      if (!options || queues.contains(named)) continue;
      queues[named] = {.kept_state = make_queue_state(named, *options), .is_of_pattern = true};
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

root_actor::behavior_type root(root_actor::stateful_pointer<root_state> self, server_context_ptr e,
                               facade_actor facade) {
  install_handlers(self, e, "root");
  self->set_down_handler([self](caf::down_msg& down) { self->state.down(down.source); });
  self->set_exit_handler([self](caf::exit_msg& end) {
    self->state.end_all();
    self->quit(std::move(end.reason));
  });
  self->state.self = self;
  self->state.e = std::move(e);
  self->state.facade = std::move(facade);
  self->state.start_up();
  return {
      [self](hint_atom, const hint_ptr& of) { self->state.hinted(*of); },
      [self](sweep_atom) { self->state.sweep(); },
      [self](applied_atom, std::uint64_t number, const answers_ptr& answers) {
        self->state.answered(static_cast<question>(number), *answers);
      },
      [self](respawn_atom) { self->state.replace_missing(); },
      [self](overdue_atom, const std::string& queue, std::uint64_t f) { self->state.overdue(queue, f); },
      [self](children_atom) { return self->state.children(); },
  };
}

}  // namespace

root_actor spawn_root(caf::actor_system& system, server_context_ptr e, facade_actor facade) {
  count_actor(e);
  return system.spawn(root, std::move(e), std::move(facade));
}

}  // namespace sluice::actors
