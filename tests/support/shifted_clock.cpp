// Preloaded into a program: its wall clock is TEST_CLOCK_SHIFT seconds ahead of the machine's, or behind.
#include <cstdlib>
#include <ctime>

#include <sys/syscall.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t which, timespec* into) noexcept {
  const long answer = ::syscall(SYS_clock_gettime, which, into);
  const char* const shift = std::getenv("TEST_CLOCK_SHIFT");
  if (answer == 0 && which == CLOCK_REALTIME && shift) into->tv_sec += std::atol(shift);
  return static_cast<int>(answer);
}
