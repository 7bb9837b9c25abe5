// Steps that must not overlap, without a thread of their own: whoever brings one runs it, unless another is under way.
// Then he leaves it behind, and whoever is at that one runs it next. So nobody waits, and a step may bring others.
// Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <stdexcept>
#include <utility>

#include "core/mutex.hpp"

namespace sluice {

class SLUICE_CHECKED_BY_CLANG(capability("serial executor")) serial_executor {
public:
  // What a step throws is handed to `failed`.
  explicit serial_executor(std::function<void(const std::exception&)> failed) : failed_(std::move(failed)) {}

  // False: it is closed, and the step was not taken.
  bool run(std::function<void()> step) {
    {
      const mutex_lock held(lock_);
      if (closed_) return false;
      waiting_.push_back(std::move(step));
      if (std::exchange(busy_, true)) return true;
    }
    while (const auto next = take_next())
      carry_out(next);
    return true;
  }

  // Takes no more steps and waits until those are done that were brought before. Not from a step.
  void close() {
    mutex_lock held(lock_);
    closed_ = true;
    while (busy_)
      held.wait(idle_);
  }

  // For the functions that are called from steps alone.
  void is_in_step() const SLUICE_ASSERTS(this) {}

private:
  std::function<void()> take_next() {
    const mutex_lock held(lock_);
    if (waiting_.empty()) {
      busy_ = false;
      idle_.notify_all();
      return nullptr;
    }
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }
  void carry_out(const std::function<void()>& step) {
    try {
      step();
    } catch (const std::exception& thrown) {
      failed_(thrown);
    } catch (...) {  // the steps behind it must have their turn
      failed_(std::runtime_error("an exception that is no std::exception"));
    }
  }

  const std::function<void(const std::exception&)> failed_;
  mutex lock_;
  std::deque<std::function<void()>> waiting_ SLUICE_GUARDED_BY(lock_);
  bool busy_ SLUICE_GUARDED_BY(lock_) = false;
  bool closed_ SLUICE_GUARDED_BY(lock_) = false;
  std::condition_variable idle_;
};

}  // namespace sluice
