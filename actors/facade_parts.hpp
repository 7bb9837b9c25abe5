// The parts of the facade, each with a file of its own. They run inside the facade's actor and live as long as it; all
// ask the store in one way.
#pragma once

#include <map>
#include <set>

#include "actors/spawn.hpp"
#include "core/pipeline.hpp"
#include "storage/async_store.hpp"

namespace sluice::actors {

// What the facade has asked of the store and is not answered yet.
class facade_store {
public:
  using answered = std::function<void(std::vector<storage::answer>&)>;

  facade_store(facade_actor::pointer self, server_context_ptr e) : self_(self), e_(std::move(e)) {}

  // `callback` is called once, later.
  void ask(std::vector<storage::request> asked, answered callback);
  void ask(storage::request asked, std::function<void(storage::answer&)> callback);
  storage::async_store async_store();

  // What is answered to a message about something of the store: `begin` is handed whom to tell. At once an error when
  // nothing can be asked now.
  template <class T, class Begin>
  caf::result<T> promise(const Begin& begin) {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    auto promised = self_->make_response_promise<T>();
    begin(storage::callback<T>([promised](result<T> came) mutable {
      if (came) promised.deliver(std::move(*came));
      else promised.deliver(to_caf(came.error()));
    }));
    return promised;
  }

  std::optional<error> cannot_ask() const;
  bool all_answered() const { return waiting_.empty(); }

  // The store's answers to what was asked with this number.
  void applied(std::uint64_t number, std::vector<storage::answer>& answers);
  // Nothing new is taken but what follows from what waits.
  void close() { closed_ = true; }
  // Whoever waits is told this.
  void give_up(const error& why);

private:
  struct waiting_answer {
    answered callback;
    std::size_t weight = 0;
    std::size_t count = 0;  // of requests
  };

  facade_actor::pointer self_;
  server_context_ptr e_;
  bool closed_ = false;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, waiting_answer> waiting_;
  std::size_t waiting_weight_ = 0;
};

// Enqueues, looks at jobs, and tells observers of ends.
class facade_jobs {
public:
  facade_jobs(facade_store& store, server_context_ptr e, const enqueue_pipeline& pipeline)
      : store_(store), e_(std::move(e)), pipeline_(pipeline) {}

  caf::result<job_id> enqueue(new_job job, const caf::actor& observer);  // who may be null
  caf::result<enqueue_report> enqueue_reporting(new_job job);
  caf::result<std::vector<job_id>> enqueue_all(std::vector<new_job> jobs);
  caf::result<job> find(const job_id& id);
  caf::result<explanation> explain(const job_id& id);
  caf::result<job_id> cancel(const job_id& id);
  void watch(const job_id& id, const caf::actor& observer);

  // Whoever has ended of these, its observers are told.
  void check_jobs(std::vector<job_id> ids);
  // The same for a part of all watched jobs, and for all.
  void sweep();
  void check_all_watches();

private:
  struct observer_entry {
    caf::actor who;
    bool stored = true;  // false: its own enqueue is not answered yet
  };
  using observers = std::vector<observer_entry>;

  void enqueue(new_job job, const caf::actor& observer, const storage::callback<enqueue_report>& then);
  void add_watch(const job_id& id, const caf::actor& observer, bool stored);
  void settle_watch(const job_id& id, const caf::actor& observer, bool refused);
  void forget(std::map<job_id, observers>::iterator at);
  void seen(const job_id& id, storage::get_answer& got);
  void check_watches(std::size_t most);

  facade_store& store_;
  server_context_ptr e_;
  const enqueue_pipeline& pipeline_;
  std::map<job_id, observers> watches_;
  job_id checked_until_;
  std::size_t checks_ = 0;  // not answered yet
};

namespace facade_groups {
caf::result<group_status> change(facade_store& store, storage::change_group_request::what change,
                                 const new_group& group);
caf::result<group_status> describe(facade_store& store, const group_name& name);
caf::result<std::uint64_t> requeue_failed(facade_store& store, const group_name& name);
}  // namespace facade_groups

namespace facade_locks {
caf::result<lock_verdict> take(facade_store& store, take_lock wish);
caf::result<lock_holder> renew(facade_store& store, const renew_lock& wish);
caf::result<fence> release(facade_store& store, const release_lock& wish);
}  // namespace facade_locks

namespace facade_schedules {
caf::result<recurring_status> set(facade_store& store, const recurring& definition, const server_context& e);
caf::result<bool> remove(facade_store& store, const std::string& which);
caf::result<job_id> trigger(facade_store& store, const std::string& which, const enqueue_pipeline& pipeline,
                            const server_context_ptr& e);
caf::result<recurring_status> pause(facade_store& store, const std::string& which, bool paused,
                                    const server_context& e);
caf::result<std::vector<recurring_status>> all(facade_store& store);
}  // namespace facade_schedules

namespace facade_throttlers {
caf::result<std::string> set(facade_store& store, const throttler& definition);
caf::result<std::string> remove(facade_store& store, const throttler_name& which);
caf::result<throttler_status> describe(facade_store& store, const throttler_name& which);
caf::result<std::vector<throttler_status>> all(facade_store& store);
}  // namespace facade_throttlers

// Minds the actors of the host that handle job types.
class facade_handlers {
public:
  facade_handlers(caf::scheduled_actor* self, server_context_ptr e) : self_(self), e_(std::move(e)) {}

  // Those that the registry named.
  void monitor_all();
  void name(const job_type& type, const caf::actor& actor);
  void died(const caf::down_msg& down);

private:
  void monitor_actor(const caf::actor& actor);

  caf::scheduled_actor* self_;
  server_context_ptr e_;
  std::set<caf::actor_id> monitored_;
};

}  // namespace sluice::actors
