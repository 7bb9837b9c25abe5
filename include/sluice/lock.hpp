/// Locks in the store, for code that is no job, or that needs one in the middle of a job. Needs no CAF.
///
/// A lock is a lease: it is renewed while it is held, and whoever cannot renew loses it. No lease can promise that the
/// one who lost it has noticed; a process that was frozen may go on beside the next holder for a moment. What is
/// promised is the fence: it grows with every lock taken, so your own write can refuse an old one
/// (`... WHERE fence <= ?`): docs/locks.md.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/types.hpp>

namespace sluice {

/// Who has a lock, as the store knows it.
struct lock_holder {
  sluice::fence fence{};  ///< Above that of every lock that was taken before in this store, of any resource.
  std::string holder{};   ///< Who it says it is.
  time_point until{};     ///< By the store's clock. A renewal moves it.
  duration left{0};       ///< Until then, when the store answered.
};

/// A lock that is held.
struct lock_status {
  std::string resource;
  lock_holder now;  ///< No fence and nobody when what is kept of it cannot be read: it is held until its end.
};
/// Ordered by ends of leases: a lock that is renewed between two pages may come twice or not at all.
struct lock_page {
  std::vector<lock_status> locks;
  std::string next;  ///< Empty: this was the last page.
};

/// What is said when a lock is opened, taken or renewed.
struct lock_options {
  std::string storage = "sqlite:sluice.db";
  /// For every call, waiting for other processes included.
  duration deadline = std::chrono::seconds(10);
  /// What those are told who are refused: 1 to 200 bytes of UTF-8 without control characters. Empty: host name and pid.
  std::string holder{};
};

inline constexpr duration usual_lock_ttl = std::chrono::seconds(30);

/// A lock that was taken. Its manager's thread renews it, three times within its time to live, until it is released,
/// lost or destroyed. Move-only; one thread at a time, but for `still_held` and `lost`, which any may ask. A crash of
/// the process leaves it held until its time to live has passed. One that was moved from holds nothing: it has no name
/// and no fence, is not held, is never told to be lost, and its release is an invalid_argument.
class held_lock {
public:
  held_lock(held_lock&&) noexcept;
  held_lock& operator=(held_lock&&) noexcept;  ///< What was held is released as by the destructor.
  /// Releases what is held still, without waiting for the store to answer.
  ~held_lock();

  const std::string& resource() const;
  /// Put it into what you write under this lock.
  sluice::fence fence() const;

  /// False from when it was lost or released, for ever. Asks nobody: it counts the lease on this machine's monotonic
  /// clock, from before the store was asked and less a tenth, so that a process that was stopped for longer than its
  /// lease knows at its first question. True says nothing of the next instant; the fence does.
  bool still_held() const;
  /// Its stop is requested when it is lost: another has it, or it could not be renewed in time. Not when it is
  /// released. A callback runs on a thread that the manager has for them alone: while one blocks no other is told.
  std::stop_token lost() const;

  /// Ok: it was held until now, and is free; also when it is said again. stale_fence: it was lost before. Others: it
  /// may be held until its time to live has passed; asking again is safe.
  result<void> release();

private:
  friend class lock_manager;
  struct parts;
  explicit held_lock(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;  // null: moved away
};

/// Takes locks. One is enough for a process; it has one thread for all its locks, from the first on. All of its calls
/// may be made from any thread; of one that was moved from they throw `bad_result`.
class lock_manager {
public:
  /// Opens the store, the one that clients and servers of this process use already when it is the same. Errors:
  /// invalid_argument (URL, holder), storage_*, io_error.
  static result<lock_manager> open(lock_options options);
  lock_manager(lock_manager&&) noexcept;
  lock_manager& operator=(lock_manager&&) noexcept;
  ~lock_manager();  ///< Its locks live on, and are renewed, until they end themselves.

  /// One question to the store, never a wait for others: lock_held when somebody has it, with who and until when in the
  /// message and in `refused_by`. A resource is 1 to 200 bytes of UTF-8 without control characters, compared byte by
  /// byte; `ttl` is 100 ms to 1 day. invalid_argument, lock_held, storage_*; unknown_outcome: it may be held for `ttl`
  /// by nobody; io_error: the manager's thread could not be made, and the lock is free again. No lock is taken twice,
  /// also not by the same manager.
  result<held_lock> take(const std::string& resource, duration ttl = usual_lock_ttl, lock_holder* refused_by = nullptr);
  /// Asks again and again, at the latest when the holder's time is over, for at most `timeout`; then lock_held. Who
  /// waits stands in no line: any of them may be the next.
  result<held_lock> take_within(const std::string& resource, duration timeout, duration ttl = usual_lock_ttl,
                                lock_holder* refused_by = nullptr);

  /// Who has it now. None: nobody.
  result<std::optional<lock_holder>> holder_of(const std::string& resource);

private:
  friend class held_lock;
  struct parts;
  explicit lock_manager(std::shared_ptr<parts> p);
  parts_pointer<std::shared_ptr<parts>> parts_;
};

}  // namespace sluice
