// Where this process dies as by kill -9, for tests of what is left then: --halt-after STEP.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace sample {

struct kill_point {
  // In the order in which a grant comes to them; of the worker those from `claimed` on.
  static constexpr std::array<std::string_view, 8> steps{
      "handed_out",  // the grant is stored, and the backend has told nobody
      "looked",      // the device saw that the grant is open, and has not redeemed it
      "redeemed",    // the redemption is stored, and the device was not told
      "claimed",     // the check has begun, and has done nothing
      "checked",     // its effect is done, and the store does not know the answer
      "due",         // the end of the grant has begun, and has done nothing
      "expired",     // the end is decided, and the job that decided it has not ended
      "polled",      // the answer was read, and the poller has told nobody
  };

  std::string step{};

  void reach(std::string_view here) const {
    if (here == step) ::kill(::getpid(), SIGKILL);
  }
};

}  // namespace sample
