#include "client/lock_keeper.hpp"

#include <condition_variable>

#include "core/log.hpp"
#include "core/never_destroyed.hpp"
#include "core/stop_caller.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using leases = std::vector<std::shared_ptr<lock_lease>>;

// Thousands of locks are gone through at most so often.
constexpr auto between_looks = std::chrono::milliseconds(5);
constexpr std::size_t max_in_one_submission = 500;

// Wakes the thread. The store's thread rings it and owns nothing else of ours, so that it never ends its own shared
// store.
struct bell {
  std::mutex mutex;
  std::condition_variable rung;
  bool ring = false;
  bool stop = false;

  void sound() {
    std::lock_guard hold(mutex);
    ring = true;
    rung.notify_one();
  }
};

void take_answers(const leases& asked_for, const std::vector<storage::answer>& answers, steady_point asked) {
  const auto now = steady_clock::now();
  for (std::size_t i = 0; i < asked_for.size(); ++i) {
    auto& lease = *asked_for[i];
    const auto* told = std::get_if<storage::lock_answer>(&answers.at(i));
    if (!told) lease.failed(now);
    else if (told->code == errc::none) lease.renewed(asked, now);
    else lease.refused();
  }
}

}  // namespace

struct lock_keeper::shared {
  std::shared_ptr<storage::shared_store> store;
  stop_caller stops;
  std::shared_ptr<bell> wake = std::make_shared<bell>();
  std::mutex mutex;
  leases all;

  void run() {
    for (;;) {
      const auto next = look();
      std::unique_lock hold(wake->mutex);
      wake->rung.wait_for(hold, between_looks, [&] { return wake->stop; });
      wake->rung.wait_until(hold, next, [&] { return wake->ring || wake->stop; });
      if (wake->stop) return;
      wake->ring = false;
    }
  }

  // Does what is due; answers when to look again.
  steady_point look() {
    leases due, lost;
    const auto now = steady_clock::now();
    auto next = now + std::chrono::hours(1);
    {
      std::lock_guard hold(mutex);
      std::erase_if(all, [&](const std::shared_ptr<lock_lease>& lease) {
        const auto what = lease->look(now);
        if (what == lock_lease::step::renew) due.push_back(lease);
        if (what == lock_lease::step::lose) lost.push_back(lease);
        return what == lock_lease::step::lose || what == lock_lease::step::forget;
      });
      for (const auto& lease : all)
        next = std::min(next, lease->next_check());
    }
    renew(std::move(due), now);
    for (const auto& lease : lost)
      lose(*lease);
    return next;
  }

  void renew(leases due, steady_point asked) {
    for (std::size_t from = 0; from < due.size(); from += max_in_one_submission) {
      const auto to = std::min(from + max_in_one_submission, due.size());
      leases some(due.begin() + static_cast<std::ptrdiff_t>(from), due.begin() + static_cast<std::ptrdiff_t>(to));
      storage::shared_store::requests order;
      for (const auto& lease : some)
        order.emplace_back(storage::lock_request{.what = storage::lock_request::verb::renew,
                                                 .resource = lease->resource(),
                                                 .fence = lease->fence(),
                                                 .lease = lease->ttl()});
      store->submit(
          std::move(order),
          [some = std::move(some), asked, wake = wake](const storage::shared_store::answers& got) {
            take_answers(some, got, asked);
            wake->sound();
          },
          storage::priority::urgent);
    }
  }

  // The store may still take it for ours, when we could not renew it in time: then others need not wait.
  void lose(lock_lease& lease) {
    log::warn("lock ", printable(lease.resource(), 200), " is lost (fence ", lease.fence().value, ")");
    release(*store, lease);
    stops.request(lease.lost());
  }
};

lock_keeper::lock_keeper(std::shared_ptr<storage::shared_store> store) : shared_(std::make_shared<shared>()) {
  shared_->store = std::move(store);
}

lock_keeper::~lock_keeper() {
  if (!shared_->store->is_of_this_process()) {
    never_destroyed<std::thread>(std::move(thread_));  // there is no such thread in a child that was forked
    return;
  }
  {
    std::lock_guard hold(shared_->wake->mutex);
    shared_->wake->stop = true;
    shared_->wake->rung.notify_one();
  }
  if (!thread_.joinable()) return;
  // Somebody ended the last lock in the callback that told him of its loss.
  if (thread_.get_id() == std::this_thread::get_id()) thread_.detach();
  else thread_.join();
}

void lock_keeper::keep(std::shared_ptr<lock_lease> lease) {
  std::call_once(begun_, [this] { thread_ = std::thread([all = shared_] { all->run(); }); });
  {
    std::lock_guard hold(shared_->mutex);
    shared_->all.push_back(std::move(lease));
  }
  shared_->wake->sound();
}

void lock_keeper::release(storage::shared_store& store, const lock_lease& lease) {
  storage::shared_store::requests order;
  order.emplace_back(storage::lock_request{
      .what = storage::lock_request::verb::release, .resource = lease.resource(), .fence = lease.fence()});
  store.submit(std::move(order), [](const storage::shared_store::answers&) {});
}

}  // namespace sluice
