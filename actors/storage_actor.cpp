#include "actors/spawn.hpp"

namespace sluice::actors {
namespace {

// A damaged key is not: what does not touch it goes on.
bool may_be_for_good(errc code) { return code == errc::storage_lost || code == errc::storage_damaged; }

struct storage_state {
  static inline const char* name = "storage";
  engine_ptr e;
  std::vector<hinted_actor> listeners;
  std::shared_ptr<std::atomic<bool>> hinted = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<storage::runner::subscription> hints;

  void submit(const order_ptr& order) {
    auto done = [weak = std::weak_ptr<engine>(e), done = std::move(order->done)](std::vector<storage::answer> answers) {
      for (const auto& a : answers)
        if (const auto* failed = std::get_if<error>(&a); failed && may_be_for_good(failed->code))
          if (const auto alive = weak.lock(); alive && alive->runner->has_failed_for_good()) alive->fatal(*failed);
      done(std::make_shared<std::vector<storage::answer>>(std::move(answers)));
    };
    e->runner->submit(std::move(order->asked), std::move(done), order->beside);
  }

  void spread_hint() {
    *hinted = false;  // before the listeners look, so that what comes now is told again
    for (const auto& listener : listeners)
      caf::anon_send(listener, hint_atom::value);
  }
};

storage_actor::behavior_type storage(storage_actor::stateful_pointer<storage_state> self, engine_ptr e) {
  arm(self, e, "storage");
  auto& s = self->state;
  s.e = std::move(e);
  s.hints = s.e->runner->subscribe([me = storage_actor(self), hinted = s.hinted] {
    if (!hinted->exchange(true)) caf::anon_send(me, hint_atom::value);
  });
  return {
      [self](submit_atom, const order_ptr& order) { self->state.submit(order); },
      [self](hint_atom) { self->state.spread_hint(); },
      [self](listen_atom, const hinted_actor& who) { self->state.listeners.push_back(who); },
  };
}

}  // namespace

storage_actor spawn_storage(caf::local_actor* parent, engine_ptr e) {
  enlist(e);
  auto made = parent->system().spawn(storage, std::move(e));
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
