/// Waiting until somebody asks the program to end: SIGTERM (systemd, Docker, kill) or SIGINT (Ctrl-C).
///
///   sluice::catch_stop_signals();    // first in main
///   ...                              // start a server
///   sluice::wait_for_stop_signal();
///   server.stop();
///
/// `run` (<sluice/server.hpp>) does the last two, and what else `sluice work` does with signals.
///
/// A signal is remembered for the life of the process: whoever waits later is answered at once. Further ones change
/// nothing, since `timeout` and some supervisors send each twice; a stop ends by itself after the grace time. Threads:
/// any number may wait, and none needs a signal mask of its own. Child processes that run another program do not
/// inherit any of this.
#pragma once

#include <optional>

#include <sluice/types.hpp>

namespace sluice {

/// From now on SIGTERM and SIGINT no longer end the process: they are kept for whoever waits. Without this call that
/// begins with the first wait, and a signal that comes before ends the process, as it does by default. In place of
/// handlers that were there. To call it again changes nothing.
void catch_stop_signals();

/// Blocks until a stop signal has come; answers which, SIGTERM or SIGINT.
int wait_for_stop_signal();

/// The same for so long at most, with nothing when none has come. With 0s it only looks.
std::optional<int> wait_for_stop_signal(duration most);

}  // namespace sluice
