// What a process shares among its threads, and a child that it forked must not: another thread may have held its lock
// at the fork, and what it names is the parent's. The child begins with a new one.
#pragma once

#include <atomic>

#include <unistd.h>

#include <sluice/error.hpp>

#include "core/text.hpp"

namespace sluice {

// What the child is answered when it uses what its parent opened.
inline error of_other_process(pid_t opener) {
  return {errc::not_running, cat("it was opened in another process (PID ", opener,
                                 ") and cannot be used after fork(); open a new one here")};
}

// For a variable of static lifetime. What it holds is never destroyed.
template <class T>
class per_process {
public:
  T& here() {
    const auto me = ::getpid();
    auto* known = now_.load(std::memory_order_acquire);
    while (!known || known->process != me) {
      auto* fresh = new one{me, {}};
      if (now_.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh->value;
      delete fresh;
    }
    return known->value;
  }

private:
  struct one {
    pid_t process;
    T value;
  };
  std::atomic<one*> now_{nullptr};
};

}  // namespace sluice
