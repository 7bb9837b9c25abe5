// The signals that a server's program is told something by, for one thread that waits for them and for words of its own
// process. They are caught by handlers, as in <sluice/stop_signal.hpp>, whose waits hear of SIGTERM and SIGINT as well.
#pragma once

#include <optional>
#include <vector>

#include "core/clock.hpp"

namespace sluice::signals {

inline constexpr int none = 0;
inline constexpr int woken = -1;

// From its making on SIGTERM, SIGINT and `others` are kept, for the life of the process, but those of the others for
// which the program has a handler of its own. Those of SIGTERM and SIGINT that came before count too, once
// catch_stop_signals() was called.
class kept {
public:
  explicit kept(const std::vector<int>& others);

  // From now on only `next` is interrupted by them: call it before any thread is made.
  void block_elsewhere() const;

  // Waits for one that nobody was told of; `woken` after a wake(), and perhaps without one; `none` once the deadline
  // has passed. One thread at a time.
  int next(std::optional<steady_point> deadline = std::nullopt) const;

  // From any thread.
  static void wake();

private:
  std::vector<int> all_;
};

}  // namespace sluice::signals
