#include <algorithm>
#include <random>
#include <system_error>
#include <thread>

#include <sluice/lock.hpp>

#include "client/asking.hpp"
#include "client/lock_keeper.hpp"
#include "core/locks.hpp"
#include "core/never_destroyed.hpp"
#include "core/text.hpp"
#include "operations/locks.hpp"

namespace sluice {
namespace {

using act = storage::lock_request::verb;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

// Between two questions of one who waits.
constexpr duration first_pause = 5ms;
constexpr duration longest_pause = 250ms;
constexpr duration longest_wait_for_it = 24h * 365;

// So that those who were refused together do not come again together.
duration some_of(duration pause) {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return duration(std::uniform_int_distribution<std::int64_t>(pause.count() / 2, pause.count())(engine));
}

}  // namespace

struct lock_manager::parts {
  static constexpr auto whose = "lock_manager";
  lock_options options;
  std::shared_ptr<storage::shared_store> shared_store;
  lock_keeper keeper;

  parts(lock_options o, std::shared_ptr<storage::shared_store> r)
      : options(std::move(o)), shared_store(std::move(r)), keeper(shared_store) {}

  result<storage::lock_answer> ask(storage::lock_request wanted) {
    const auto asked = operations::checked(std::move(wanted));
    if (!asked) return asked.error();
    return ask_for<storage::lock_answer>(*shared_store, *asked, options.deadline);
  }
};

struct held_lock::parts {
  std::shared_ptr<lock_manager::parts> of;
  std::shared_ptr<lock_lease> lease;
  bool released = false;

  ~parts() {
    if (!released) give_up();
  }
  // Also when it was lost: the store may know of nobody else. In a child that was forked it is its parent's.
  void give_up() {
    if (!of->shared_store->is_of_this_process()) return;
    lease->end();
    lock_keeper::release(*of->shared_store, *lease);
  }
};

held_lock::held_lock(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
held_lock::held_lock(held_lock&&) noexcept = default;
held_lock& held_lock::operator=(held_lock&&) noexcept = default;
held_lock::~held_lock() = default;

const std::string& held_lock::resource() const {
  static const auto& none = *never_destroyed<std::string>();
  return parts_ ? parts_->lease->resource() : none;
}
sluice::fence held_lock::fence() const { return parts_ ? parts_->lease->fence() : sluice::fence(); }
bool held_lock::still_held() const {
  return parts_ && parts_->of->shared_store->is_of_this_process() && parts_->lease->held(steady_clock::now());
}
std::stop_token held_lock::lost() const { return parts_ ? parts_->lease->lost().get_token() : std::stop_token(); }

result<void> held_lock::release() {
  if (!parts_) return error{errc::invalid_argument, "this held_lock was moved from and holds no lock"};
  const auto& lease = *parts_->lease;
  const bool is_here = parts_->of->shared_store->is_of_this_process();  // else it is refused
  if (is_here && !parts_->released && !lease.held(steady_clock::now())) {
    parts_->give_up();
    return error{errc::stale_fence, cat("lock ", printable(lease.resource(), 200), " was lost before")};
  }
  parts_->released = true;
  if (is_here) parts_->lease->end();
  const auto got = parts_->of->ask({.what = act::release, .resource = lease.resource(), .fence = lease.fence()});
  if (!got) return got.error();
  const auto now = operations::holder_after(lease.resource(), *got);
  return now ? result<void>() : now.error();
}

lock_manager::lock_manager(std::shared_ptr<parts> p) : parts_{std::move(p)} {}
lock_manager::lock_manager(lock_manager&&) noexcept = default;
lock_manager& lock_manager::operator=(lock_manager&&) noexcept = default;
lock_manager::~lock_manager() = default;

result<lock_manager> lock_manager::open(lock_options options) {
  if (options.holder.empty()) options.holder = this_process();
  if (auto fine = check_lock_holder(options.holder); !fine) return fine.error();
  auto shared_store = storage::open_shared_store(options.storage);
  if (!shared_store) return shared_store.error();
  return lock_manager(std::make_shared<parts>(std::move(options), std::move(*shared_store)));
}

result<held_lock> lock_manager::take(const std::string& resource, duration ttl, lock_holder* refused_by) {
  const auto asked = steady_clock::now();
  const auto got = parts_->ask({.what = act::take,
                                .resource = resource,
                                .holder = parts_->options.holder,
                                .token = random_token(),
                                .lease = ttl});
  if (!got) return got.error();
  if (got->code != errc::none) {
    const auto now = got->now.value_or(lock_holder());
    if (refused_by) *refused_by = now;
    return error{got->code, held_by(resource, now)};
  }
  auto lease = std::make_shared<lock_lease>(resource, got->now->fence, ttl, asked);
  auto mine = std::make_unique<held_lock::parts>();
  mine->of = parts_;
  mine->lease = lease;
  if (!lease->held(steady_clock::now()))  // `mine` gives it back
    return error{errc::timed_out, cat("the store took longer to give lock ", printable(resource, 200),
                                      " than its time to live, ", format_duration(ttl), "; take it for longer")};
  try {
    parts_->keeper.keep(std::move(lease));
  } catch (const std::system_error& failed) {  // `mine` gives it back
    return error{errc::io_error,
                 cat("no thread could be made that renews lock ", printable(resource, 200), ": ", failed.what())};
  }
  return held_lock(std::move(mine));
}

result<held_lock> lock_manager::take_within(const std::string& resource, duration timeout, duration ttl,
                                            lock_holder* refused_by) {
  const auto deadline = steady_clock::now() + std::clamp<duration>(timeout, 0s, longest_wait_for_it);
  for (duration pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    lock_holder by;
    auto got = take(resource, ttl, &by);
    const auto left = deadline - steady_clock::now();
    if (got || got.error().code != errc::lock_held || left <= 0s) {
      if (!got && refused_by) *refused_by = by;
      return got;
    }
    std::this_thread::sleep_for(std::min({some_of(pause), by.left, std::chrono::ceil<duration>(left)}));
  }
}

result<std::optional<lock_holder>> lock_manager::holder_of(const std::string& resource) {
  auto got = parts_->ask({.what = act::read, .resource = resource});
  if (!got) return got.error();
  return std::move(got->now);
}

}  // namespace sluice
