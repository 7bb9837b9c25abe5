// A mutex whose use clang checks (-Wthread-safety): what it guards and what needs it held is written beside the
// declaration, and a build by clang fails where that is broken. For other compilers the marks are empty.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define SLUICE_CHECKED_BY_CLANG(mark) __attribute__((mark))
#else
#define SLUICE_CHECKED_BY_CLANG(mark)
#endif

// Of a field: read and written only with `m` held.
#define SLUICE_GUARDED_BY(m) SLUICE_CHECKED_BY_CLANG(guarded_by(m))
// Of a function: its caller holds `m`; its caller does not.
#define SLUICE_REQUIRES(m) SLUICE_CHECKED_BY_CLANG(requires_capability(m))
#define SLUICE_EXCLUDES(m) SLUICE_CHECKED_BY_CLANG(locks_excluded(m))
// Of a function: whoever is in it holds `m`, though no compiler can see how.
#define SLUICE_ASSERTS(m) SLUICE_CHECKED_BY_CLANG(assert_capability(m))

namespace sluice {

class SLUICE_CHECKED_BY_CLANG(capability("mutex")) mutex {
public:
  void lock() SLUICE_CHECKED_BY_CLANG(acquire_capability()) { native_.lock(); }
  void unlock() SLUICE_CHECKED_BY_CLANG(release_capability()) { native_.unlock(); }

private:
  friend class mutex_lock;
  std::mutex native_;
};

class SLUICE_CHECKED_BY_CLANG(scoped_lockable) mutex_lock {
public:
  explicit mutex_lock(mutex& m) SLUICE_CHECKED_BY_CLANG(acquire_capability(m)) : held_(m.native_) {}
  ~mutex_lock() SLUICE_CHECKED_BY_CLANG(release_capability()) {}
  mutex_lock(const mutex_lock&) = delete;
  mutex_lock& operator=(const mutex_lock&) = delete;

  void unlock() SLUICE_CHECKED_BY_CLANG(release_capability()) { held_.unlock(); }
  void lock() SLUICE_CHECKED_BY_CLANG(acquire_capability()) { held_.lock(); }

  // Woken for nothing at times: look again at what is waited for.
  void wait(std::condition_variable& on) { on.wait(held_); }
  // False once the deadline is over.
  bool wait_until(std::condition_variable& on, std::chrono::steady_clock::time_point deadline) {
    return on.wait_until(held_, deadline) == std::cv_status::no_timeout;
  }

private:
  std::unique_lock<std::mutex> held_;
};

}  // namespace sluice
