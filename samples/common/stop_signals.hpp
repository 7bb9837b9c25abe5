// SIGINT and SIGTERM, taken where the program waits.
#pragma once

#include <signal.h>

#include <algorithm>
#include <chrono>

namespace sample {

// To be made before the first thread, which inherits the mask.
class stop_signals {
public:
  stop_signals() {
    sigemptyset(&both_);
    sigaddset(&both_, SIGINT);
    sigaddset(&both_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &both_, nullptr);
  }

  // Waits so long at most; whether a signal came. Later ones change nothing: stopping takes no longer than the grace.
  bool wait(std::chrono::nanoseconds most) {
    using namespace std::chrono_literals;
    most = std::max(most, 0ns);
    const timespec time{most / 1s, (most % 1s).count()};
    return sigtimedwait(&both_, nullptr, &time) > 0;
  }

private:
  sigset_t both_{};
};

}  // namespace sample
