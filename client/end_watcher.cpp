#include "client/end_watcher.hpp"

#include <condition_variable>

#include "core/log.hpp"
#include "core/mutex.hpp"
#include "core/never_destroyed.hpp"
#include "core/text.hpp"
#include "core/thread_name.hpp"

namespace sluice {
namespace {

// Wakes the watcher's thread. The store's thread shares it and nothing else of ours: it must not be who destroys the
// store, or a client that a listener holds.
class wake_up_call {
public:
  void somebody_watches() {
    mutex_lock hold(mutex_);
    watched_ = true;
    changed_.notify_one();
  }
  void answered(storage::shared_store::answers got) {
    mutex_lock hold(mutex_);
    got_ = std::move(got);
    changed_.notify_one();
  }
  void stop() {
    mutex_lock hold(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }

  // False, and nothing: it was stopped.
  bool wait_for_watch() {
    mutex_lock hold(mutex_);
    while (!watched_ && !stopped_)
      hold.wait(changed_);
    watched_ = false;
    return !stopped_;
  }
  std::optional<storage::shared_store::answers> wait_for_answers() {
    mutex_lock hold(mutex_);
    while (!got_ && !stopped_)
      hold.wait(changed_);
    return stopped_ ? std::nullopt : std::exchange(got_, std::nullopt);
  }
  bool wait_until(steady_point next) {
    mutex_lock hold(mutex_);
    while (!stopped_ && hold.wait_until(changed_, next)) {
    }
    return !stopped_;
  }

private:
  mutex mutex_;
  std::condition_variable changed_;
  bool watched_ SLUICE_GUARDED_BY(mutex_) = false;
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
  std::optional<storage::shared_store::answers> got_ SLUICE_GUARDED_BY(mutex_);
};

void tell_of_end(const watched_ends::listener& listener, const job_id& id, const result<job>& how) {
  try {
    listener(how);
  } catch (const std::exception& e) {
    log::error("what was called with the end of job ", printable(id.value, 200),
               " threw: ", printable(message_of(e), 300));
  } catch (...) {
    log::error("what was called with the end of job ", printable(id.value, 200),
               " threw something that is no std::exception");
  }
}

void tell_of_ends(const std::vector<watched_ends::end>& ends) {
  for (const auto& one : ends)
    for (const auto& listener : one.listeners)
      tell_of_end(listener, one.id, one.how);
}

error client_is_gone(const job_id& id) {
  return {errc::not_running, cat("the client was destroyed before job ", printable(id.value, 200), " was seen to end")};
}

}  // namespace

struct end_watcher::shared {
  std::shared_ptr<storage::shared_store> store;
  std::shared_ptr<wake_up_call> wake = std::make_shared<wake_up_call>();
  sluice::mutex guard;  // never held while somebody is told
  watched_ends watched SLUICE_GUARDED_BY(guard);
  bool closed SLUICE_GUARDED_BY(guard) = false;

  void run() {
    name_this_thread("sluice-ends");
    while (look_on()) {
    }
    close();
  }

  // Of what is amiss here nobody is told an end: the next look asks for the same jobs.
  bool look_on() {
    try {
      return look();
    } catch (const std::exception& e) {
      log::error("the ends of watched jobs could not be looked at: ", message_of(e));
      return wake->wait_until(std::chrono::steady_clock::now() + between_looks);
    }
  }
  bool look() {
    const auto ids = next_look();
    if (ids.empty()) return wake->wait_for_watch();
    const auto next = std::chrono::steady_clock::now() + between_looks;
    storage::shared_store::requests asked;
    for (const auto& id : ids)
      asked.emplace_back(storage::get_request{id});
    store->submit(std::move(asked), [to = wake](storage::shared_store::answers got) { to->answered(std::move(got)); });
    auto answers = wake->wait_for_answers();
    if (!answers) return false;
    tell_of_ends(seen(ids, *answers));
    return wake->wait_until(next);
  }

  std::vector<job_id> next_look() {
    mutex_lock hold(guard);
    return watched.next_look();
  }
  std::vector<watched_ends::end> seen(const std::vector<job_id>& ids, storage::shared_store::answers& answers) {
    mutex_lock hold(guard);
    return watched.seen(ids, answers);
  }
  // False: it is closed, and `tell` is the caller's still.
  bool add(const job_id& id, watched_ends::listener& tell) {
    mutex_lock hold(guard);
    if (!closed) watched.add(id, std::move(tell));
    return !closed;
  }
  void close() {
    std::vector<watched_ends::end> left;
    {
      mutex_lock hold(guard);
      closed = true;
      left = watched.give_up(client_is_gone);
    }
    tell_of_ends(left);
  }
};

end_watcher::end_watcher(std::shared_ptr<storage::shared_store> store) : shared_(std::make_shared<shared>()) {
  shared_->store = std::move(store);
}

end_watcher::~end_watcher() {
  if (!shared_->store->is_of_this_process()) {
    never_destroyed<std::thread>(std::move(thread_));  // there is no such thread in a child that was forked
    return;
  }
  shared_->wake->stop();
  if (!thread_.joinable()) return;
  // A listener destroyed the client.
  if (thread_.get_id() == std::this_thread::get_id()) thread_.detach();
  else thread_.join();
}

void end_watcher::watch(const job_id& id, watched_ends::listener tell) {
  if (!shared_->store->is_of_this_process()) {
    // Nothing of the parent's watcher is touched: its thread may have held the lock at the fork.
    const auto refused = shared_->store->call({storage::get_request{id}}, {});
    return tell_of_end(tell, id, std::get<error>(refused.front()));
  }
  try {
    std::call_once(begun_, [this] { thread_ = std::thread([all = shared_] { all->run(); }); });
  } catch (const std::system_error& failed) {  // the next call tries again
    return tell_of_end(
        tell, id, error{errc::io_error, cat("no thread can be made that waits for ends (", message_of(failed), ")")});
  }
  if (!shared_->add(id, tell)) return tell_of_end(tell, id, client_is_gone(id));
  shared_->wake->somebody_watches();
}

}  // namespace sluice
