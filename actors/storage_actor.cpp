// Owns the way to the store: while it lives, the server's store_access is open and hints are passed on. A hint goes
// straight to the queues that it names; this actor tells those who read every hint.
#include "actors/hint_router.hpp"
#include "actors/spawn.hpp"

namespace sluice::actors {
namespace {

// What the store's threads have told and the actor has not taken yet.
class hint_tray {
public:
  // Whether it was empty.
  bool add(const storage::hint& one) {
    const mutex_lock held(lock_);
    const bool first = !all_;
    all_.add(one);
    return first;
  }
  storage::hint take() {
    const mutex_lock held(lock_);
    return std::exchange(all_, {});
  }

private:
  mutex lock_;
  storage::hint all_ SLUICE_GUARDED_BY(lock_);
};

struct storage_state {
  static inline const char* name = "storage";

  server_context_ptr e;
  std::uint64_t opened = 0;
  std::vector<hint_reader_actor> readers;
  std::shared_ptr<hint_tray> tray = std::make_shared<hint_tray>();
  std::unique_ptr<storage::shared_store::subscription> hints;

  ~storage_state() {
    hints = nullptr;
    if (e) e->store->close(opened);
  }

  void start_up(const storage_actor& self, server_context_ptr of) {
    e = std::move(of);
    opened = e->store->open();
    hints = e->store->subscribe([self, tray = tray, router = e->hints](const storage::hint& one) {
      router->route(one);
      if (tray->add(one)) caf::anon_send(self, hinted_atom::value);
    });
    e->hints->route(storage::hint::for_everybody());  // what came while nobody listened
  }

  void tell_readers() const {
    const auto shared = std::make_shared<const storage::hint>(tray->take());
    for (const auto& reader : readers)
      caf::anon_send(reader, hint_atom::value, shared);
  }
};

storage_actor::behavior_type storage(storage_actor::stateful_pointer<storage_state> self, server_context_ptr e) {
  install_handlers(self, e, "storage");
  self->state.start_up(storage_actor(self), std::move(e));
  return {
      [self](hinted_atom) { self->state.tell_readers(); },
      [self](listen_atom, const hint_reader_actor& who) { self->state.readers.push_back(who); },
  };
}

}  // namespace

storage_actor spawn_storage(caf::local_actor* parent, server_context_ptr e) {
  count_actor(e);
  auto made = parent->system().spawn(storage, std::move(e));
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
