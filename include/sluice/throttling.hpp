/// What must not run *yet*. A throttler is a named limit that jobs of some types share; a job that it defers waits in
/// the store, without a worker, until it is woken. docs/throttling.md explains each kind and what it promises.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/types.hpp>

namespace sluice {

struct job;

/// mutex: one job at a time; made on first use. semaphore: `limit` jobs at a time. fixed_window: `limit` runs in each
/// aligned interval. sliding_window: in any interval. dynamic_window: a window for each key, which share
/// `capacity`. custom: what your own limiter or actor says.
enum class throttler_kind : std::uint8_t { mutex, semaphore, fixed_window, sliding_window, dynamic_window, custom };

std::string_view name_of(throttler_kind kind) noexcept;
std::optional<throttler_kind> parse_throttler_kind(std::string_view name) noexcept;

/// release: nothing is limited any more and what is held is given back as jobs end, so that it can be removed.
enum class throttler_mode : std::uint8_t { acquire_and_release, release };

/// One definition. What a kind does not use stays as it is here.
struct throttler {
  throttler_kind kind = throttler_kind::semaphore;
  std::string name{};       ///< 1 to 100 bytes of printable UTF-8, in any case; each kind has names of its own.
  std::uint64_t limit = 0;  ///< semaphore, windows: 1 to 1,000,000,000.
  duration interval{0};     ///< windows: 1 s to 366 days.
  /// sliding, dynamic: parts of the interval, each 1 s or longer; at most 1000. 1 is a fixed window.
  std::uint32_t buckets = 0;
  /// sliding, dynamic: sums `buckets` aligned parts, as Hangfire does, and not one more: slots come back earlier, and
  /// an interval that is not aligned may hold up to twice the limit.
  bool compatible = false;
  std::string key{};  ///< dynamic: a template over args, as `tenant:{tenant_id}`; at most 200 bytes.
  /// dynamic: runs of all keys together in an interval, 1 to 1,000,000,000. With `limit` it may be left out, and is
  /// at least that.
  std::uint64_t capacity = 0;
  /// dynamic: a key's share of it, 1 <= min_limit <= max_limit <= capacity. Or `limit`: the same for each key.
  std::uint64_t min_limit = 0, max_limit = 0;
  throttler_mode mode = throttler_mode::acquire_and_release;

  bool operator==(const throttler&) const = default;
};

/// What happens to a job that a throttler defers.
enum class throttle_action : std::uint8_t {
  wait,    ///< It waits in the throttler's line and is woken once, when it can run.
  retry,   ///< It is scheduled again after a delay of 15 s or more.
  remove,  ///< It is deleted.
};

/// As in configuration: wait, retry, delete.
std::string_view name_of(throttle_action action) noexcept;
std::optional<throttle_action> parse_throttle_action(std::string_view name) noexcept;

/// What becomes of a run that throttlers must let in. A custom throttler says one of the first three.
enum class admission : std::uint8_t {
  granted,
  deferred,   ///< Not now.
  rejected,   ///< Never: the job fails.
  parked,     ///< It waits in the store already.
  stale,      ///< It is no longer ours.
  undecided,  ///< The store cannot say: what it would go by is not there, or not to be had.
};

/// A run that asks a throttler to let it in. Cheap to copy.
struct throttle_request {
  std::shared_ptr<const job> about{};  ///< As it was claimed.
  bool may_park = true;                ///< False: answer `deferred`, and the job is retried or deleted.
};

/// What a throttler says to it.
struct throttle_verdict {
  admission what = admission::granted;  ///< A custom throttler's parked, stale and undecided are read as deferred.
  duration after{0};                    ///< deferred: when it is asked about again; 1 ms or more.
  std::string why{};                    ///< rejected.
  std::string resource{};               ///< deferred, of Sluice's own throttlers: "KIND:name" of the one that said it.
};

/// How a run ended that a throttler let in.
struct throttled_end {
  std::shared_ptr<const job> about{};
  bool failed = false;  ///< The handler's word, before any retry policy.
  duration ran{0};
};

/// Runs that want in, of one key, the oldest first.
struct limiter_request {
  std::string key{};  ///< Empty, unless the throttler has keys.
  std::uint64_t count = 0;
};

struct limiter_grant {
  std::uint64_t granted = 0;         ///< Of `count`.
  std::optional<time_point> next{};  ///< When it makes sense to ask again for the others; later than `now`.
};

/// What a limiter says: the state after it, and a grant for each request.
struct limiter_step {
  std::string state;
  /// The span of the store's time that this was computed for: it is carried out only within it, else asked anew. A
  /// granted job that has not begun at its end has lost its slot and asks again.
  time_point from{}, until{};
  std::vector<limiter_grant> each;
};

/// A pure function over a small state, which Sluice keeps in the store, the same for all servers. It must depend on its
/// arguments alone, and may be called on any thread. Unreadable state must count as full, never as empty, until its
/// time has passed; "" is the state of the beginning. What it throws is logged, and nobody is admitted. A state of more
/// than 1 MiB is refused: the job that asks is deferred.
class limiter {
public:
  virtual ~limiter() = default;

  /// Who may start now. Keys that only wait are named too, so every key with a waiter is in `wanted`. Its order is that
  /// of arrival, and decides who gets the places that are free.
  virtual limiter_step take(std::string_view state, time_point now, std::span<const limiter_request> wanted) const = 0;
};

}  // namespace sluice
