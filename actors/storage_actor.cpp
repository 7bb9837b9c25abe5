// Owns the way to the store: while it lives, the server's store_access is open and hints are passed on. A hint goes
// straight to the queues that it names; this actor tells those who read every hint.
#include "actors/hint_router.hpp"
#include "actors/spawn.hpp"

namespace sluice::actors {
namespace {

// The readers learn within this time that others have work, and at once what is theirs.
constexpr auto readers_delay = std::chrono::milliseconds(100);

// What the store's threads have told and the actor has not taken yet.
class hint_tray {
public:
  // Whether the actor is to be told, now or in `readers_delay`: not when it was told already and has not looked.
  bool add(const storage::hint& one, bool at_once) {
    const mutex_lock held(lock_);
    all_.add(one);
    return !std::exchange(at_once ? is_told_ : is_told_later_, true);
  }
  // `later`: by the message that was delayed.
  storage::hint take(bool later) {
    const mutex_lock held(lock_);
    (later ? is_told_later_ : is_told_) = false;
    return std::exchange(all_, {});
  }

private:
  mutex lock_;
  storage::hint all_ SLUICE_GUARDED_BY(lock_);
  bool is_told_ SLUICE_GUARDED_BY(lock_) = false;
  bool is_told_later_ SLUICE_GUARDED_BY(lock_) = false;
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
    const auto& served = e->options.queues;
    const bool finds_queues =
        std::any_of(served.begin(), served.end(), [](const auto& q) { return q.first.find('*') != std::string::npos; });
    hints = e->store->subscribe([self, finds_queues, tray = tray, router = e->hints](const storage::hint& one) {
      router->route(one);
      if (!one.has_work()) return;
      // Of jobs in queues that are served already the readers need to know only that there are some.
      const bool at_once = one.timers || one.all_queues || finds_queues;
      if (!tray->add(one, at_once)) return;
      if (at_once) caf::anon_send(self, hinted_atom::value, false);
      else caf::delayed_anon_send(self, readers_delay, hinted_atom::value, true);
    });
    e->hints->route(storage::hint::for_everybody());  // what came while nobody listened
  }

  void tell_readers(bool later) const {
    const auto shared = std::make_shared<const storage::hint>(tray->take(later));
    if (!*shared) return;
    for (const auto& reader : readers)
      caf::anon_send(reader, hint_atom::value, shared);
  }
};

storage_actor::behavior_type storage(storage_actor::stateful_pointer<storage_state> self, server_context_ptr e) {
  install_handlers(self, e, "storage");
  self->state.start_up(storage_actor(self), std::move(e));
  return {
      [self](hinted_atom, bool later) { self->state.tell_readers(later); },
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
