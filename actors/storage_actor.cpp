#include <map>
#include <mutex>

#include "actors/spawn.hpp"

namespace sluice::actors {
namespace {

// Whether a server that hears this can work no more. A store of another layout belongs to another version now; a
// damaged key is no reason: what does not touch it goes on.
bool is_for_good(errc code, const storage::runner& of) {
  if (code == errc::storage_newer || code == errc::storage_older) return true;
  return (code == errc::storage_lost || code == errc::storage_damaged) && of.has_failed_for_good();
}

// Fewer are told to look than asked about first.
constexpr std::size_t few_queues = 4;

// What the runner's threads have told and the actor has not taken yet.
class hint_tray {
public:
  // Whether it was empty.
  bool add(const storage::hint& one) {
    std::lock_guard hold(mutex_);
    const bool first = !all_;
    all_.add(one);
    return first;
  }
  storage::hint take() {
    std::lock_guard hold(mutex_);
    return std::exchange(all_, {});
  }

private:
  std::mutex mutex_;
  storage::hint all_;
};

struct storage_state {
  static inline const char* name = "storage";
  storage_actor::pointer self = nullptr;
  engine_ptr e;
  std::map<std::string, hinted_actor, std::less<>> by_queue;
  std::vector<hint_reader_actor> readers;
  std::shared_ptr<hint_tray> tray = std::make_shared<hint_tray>();
  std::unique_ptr<storage::runner::subscription> hints;
  bool looking = false;  // which queues have work
  bool look_again = false;

  void submit(const order_ptr& order) {
    auto done = [weak = std::weak_ptr<engine>(e), done = std::move(order->done)](std::vector<storage::answer> answers) {
      for (const auto& a : answers)
        if (const auto* failed = std::get_if<error>(&a))
          if (const auto alive = weak.lock(); alive && is_for_good(failed->code, *alive->runner)) alive->fatal(*failed);
      done(std::make_shared<std::vector<storage::answer>>(std::move(answers)));
    };
    e->runner->submit(std::move(order->asked), std::move(done),
                      order->beside ? storage::turn::beside : storage::turn::last);
  }

  void spread_hint(storage::hint one) {
    if (one.all_queues) look_for_work();
    else tell(one.queues);
    const auto shared = std::make_shared<const storage::hint>(std::move(one));
    for (const auto& reader : readers)
      caf::anon_send(reader, hint_atom::value, shared);
  }

  template <class Names>
  void tell(const Names& queues) {
    for (const std::string& queue : queues)
      if (const auto found = by_queue.find(queue); found != by_queue.end())
        caf::anon_send(found->second, hint_atom::value);
  }

  // Nobody knows whose the work is. One look at all queues spares those without any a claim in vain.
  void look_for_work() {
    if (looking) {
      look_again = true;  // what made work since may have come too late for that look
      return;
    }
    auto queues = std::make_shared<std::vector<std::string>>();
    queues->reserve(by_queue.size());
    for (const auto& [queue, who] : by_queue)
      queues->push_back(queue);
    if (queues->size() <= few_queues) return tell(*queues);
    looking = true;
    auto done = [me = storage_actor(self), queues](std::vector<storage::answer> answers) {
      auto* found = std::get_if<storage::names_answer>(&answers.at(0));
      if (found) *queues = std::move(found->names);  // else all: each hears for itself what is wrong
      caf::anon_send(me, hint_atom::value, names_ptr(queues));
    };
    e->runner->submit({storage::ready_request{*queues}}, std::move(done), storage::turn::beside);
  }

  void looked(const std::vector<std::string>& ready) {
    looking = false;
    tell(ready);
    if (std::exchange(look_again, false)) look_for_work();
  }
};

storage_actor::behavior_type storage(storage_actor::stateful_pointer<storage_state> self, engine_ptr e) {
  arm(self, e, "storage");
  auto& s = self->state;
  s.e = std::move(e);
  s.self = self;
  s.hints = s.e->runner->subscribe([me = storage_actor(self), tray = s.tray](const storage::hint& one) {
    if (tray->add(one)) caf::anon_send(me, hinted_atom::value);
  });
  return {
      [self](submit_atom, const order_ptr& order) { self->state.submit(order); },
      [self](hint_atom) { self->state.spread_hint(storage::hint::for_everybody()); },
      [self](hinted_atom) { self->state.spread_hint(self->state.tray->take()); },
      [self](hint_atom, const names_ptr& ready) { self->state.looked(*ready); },
      [self](listen_atom, const std::string& queue, const hinted_actor& who) { self->state.by_queue[queue] = who; },
      [self](listen_atom, const hint_reader_actor& who) { self->state.readers.push_back(who); },
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
