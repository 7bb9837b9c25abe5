// The parts of the door, each with a file of its own. They run inside the door's actor and live as long as it; all ask
// the store in one way.
#pragma once

#include <map>
#include <set>

#include "actors/spawn.hpp"
#include "core/pipeline.hpp"
#include "storage/courier.hpp"

namespace sluice::actors {

// What the door has asked of the store and is not answered yet. Whoever takes the requests along may die: they are
// asked again, since every request may be.
class door_store {
public:
  using answered = std::function<void(std::vector<storage::answer>&)>;

  door_store(door_actor::pointer self, engine_ptr e) : self_(self), e_(std::move(e)) {}

  // `told` is called once, later.
  void ask(std::vector<storage::request> asked, answered told);
  void ask(storage::request asked, std::function<void(storage::answer&)> told);
  storage::courier courier();

  // What is answered to a message about something of the store: `begin` is handed whom to tell. At once an error when
  // nothing can be asked now.
  template <class T, class Begin>
  caf::result<T> promise(const Begin& begin) {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    auto promised = self_->make_response_promise<T>();
    begin(storage::told<T>([promised](result<T> came) mutable {
      if (came) promised.deliver(std::move(*came));
      else promised.deliver(to_caf(came.error()));
    }));
    return promised;
  }

  std::optional<error> cannot_ask() const;
  bool all_answered() const { return waiting_.empty(); }

  // The store's answers to the order with this number.
  void applied(std::uint64_t number, std::vector<storage::answer>& answers);
  // From now on this storage actor is asked.
  void use(const storage_actor& other);
  // There may be work that was none before.
  void hint() const;
  // The storage actor is gone for good: what waits is asked of the runner, and nothing new is taken but what follows
  // from it.
  void close();
  // Whoever waits is told this.
  void give_up(const error& why);

private:
  struct waiting_order {
    std::vector<storage::request> asked;
    answered told;
    std::size_t weight = 0;
  };
  void submit(std::uint64_t number, const waiting_order& order);

  door_actor::pointer self_;
  engine_ptr e_;
  storage_actor store_;
  bool closed_ = false;
  std::uint64_t last_order_ = 0;
  std::map<std::uint64_t, waiting_order> waiting_;
  std::size_t waiting_weight_ = 0;
};

// Enqueues, looks at jobs, and tells observers of ends.
class door_jobs {
public:
  door_jobs(door_store& store, engine_ptr e, const enqueue_pipeline& pipeline)
      : store_(store), e_(std::move(e)), pipeline_(pipeline) {}

  caf::result<job_id> enqueue(new_job job, const caf::actor& observer);  // who may be null
  caf::result<job> find(const job_id& id);
  caf::result<explanation> explain(const job_id& id);
  void watch(const job_id& id, const caf::actor& observer);

  // Whoever has ended of these, its observers are told.
  void look_after(std::vector<job_id> ids);
  // The same for a part of all watched jobs, and for all.
  void sweep();
  void look_at_all();

private:
  struct observer_entry {
    caf::actor who;
    bool stored = true;  // false: its own enqueue is not answered yet
  };
  using observers = std::vector<observer_entry>;

  void add_watch(const job_id& id, const caf::actor& observer, bool stored);
  void settle_watch(const job_id& id, const caf::actor& observer, bool refused);
  void forget(std::map<job_id, observers>::iterator at);
  void seen(const job_id& id, storage::get_answer& got);
  void look_at_watches(std::size_t most);

  door_store& store_;
  engine_ptr e_;
  const enqueue_pipeline& pipeline_;
  std::map<job_id, observers> watches_;
  job_id looked_until_;
  std::size_t looks_ = 0;  // not answered yet
};

namespace door_locks {
caf::result<lock_verdict> take(door_store& store, take_lock wish);
caf::result<lock_holder> renew(door_store& store, const renew_lock& wish);
caf::result<fence> release(door_store& store, const release_lock& wish);
}  // namespace door_locks

namespace door_schedules {
caf::result<recurring_status> set(door_store& store, const recurring& definition);
caf::result<bool> remove(door_store& store, const std::string& which);
caf::result<job_id> trigger(door_store& store, const std::string& which, const enqueue_pipeline& pipeline,
                            const engine_ptr& e);
caf::result<recurring_status> pause(door_store& store, const std::string& which, bool paused);
caf::result<std::vector<recurring_status>> all(door_store& store);
}  // namespace door_schedules

namespace door_throttlers {
caf::result<std::string> set(door_store& store, const throttler& definition);
caf::result<std::string> remove(door_store& store, const throttler_name& which);
caf::result<throttler_status> describe(door_store& store, const throttler_name& which);
caf::result<std::vector<throttler_status>> all(door_store& store);
}  // namespace door_throttlers

// Minds the actors of the host that handle job types.
class door_handlers {
public:
  door_handlers(caf::scheduled_actor* self, const door_store& store, engine_ptr e)
      : self_(self), store_(store), e_(std::move(e)) {}

  // Those that the registry named.
  void mind_all();
  void name(const job_type& type, const caf::actor& actor);
  void died(const caf::down_msg& down);

private:
  void mind(const caf::actor& actor);

  caf::scheduled_actor* self_;
  const door_store& store_;
  engine_ptr e_;
  std::set<caf::actor_id> minded_;
};

}  // namespace sluice::actors
