// Why a server can go on no more. Thread-safe.
#pragma once

#include <functional>
#include <optional>

#include <sluice/error.hpp>

#include "core/log.hpp"
#include "core/mutex.hpp"

namespace sluice::actors {

class fatal_report {
public:
  // The first time counts, and is told once. Told with the lock held, so that a stop waits: what is called may be gone
  // after it.
  void report(const error& why) {
    const mutex_lock held(lock_);
    if (why_) return;
    why_ = why;
    if (call_) call_(why);
    else log::error("the server cannot go on: ", to_string(why));
    if (besides_) besides_();
  }
  void on_report(const std::function<void(const error&)>& call) {
    const mutex_lock held(lock_);
    call_ = call;
    if (why_ && call) call(*why_);
  }
  // Called after that one, for who waits for the server.
  void also_report(const std::function<void()>& call) {
    const mutex_lock held(lock_);
    besides_ = call;
    if (why_ && call) call();
  }
  // From here on nobody is told.
  void end() {
    const mutex_lock held(lock_);
    call_ = nullptr;
    besides_ = nullptr;
    if (!why_) why_ = error{errc::not_running, {}};
  }

private:
  mutex lock_;
  std::optional<error> why_ SLUICE_GUARDED_BY(lock_);
  std::function<void(const error&)> call_ SLUICE_GUARDED_BY(lock_);
  std::function<void()> besides_ SLUICE_GUARDED_BY(lock_);
};

}  // namespace sluice::actors
