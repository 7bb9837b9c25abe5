/// A server: supervised pools of workers that run the jobs of its queues, in this process.
///
/// Start and stop have a written contract: stop before start and stop twice do nothing; start while
/// running is an error; start after stop is allowed; destruction stops; all calls are thread-safe.
/// A crash at any point costs only the leases: the jobs it held run again (docs/guarantees.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <sluice/error.hpp>
#include <sluice/filter.hpp>
#include <sluice/handler.hpp>
#include <sluice/options.hpp>

namespace sluice {

/// What was left when a server stopped.
struct stop_report {
  /// Handlers that ignored their stop request beyond the grace time. Their threads still run; their
  /// jobs are given back only by `give_back_unfinished`, else when their leases run out.
  std::uint32_t unfinished = 0;
};

class server {
public:
  explicit server(server_options options, handler_registry handlers = {}, filter_list filters = {});
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// As `handler_registry::handle`: `handle("type", f)`, or `handle<args_struct>("type", f)`. Counts
  /// from the next start on, which a warning says while the server runs.
  template <class... Args, class F>
  server& handle(const std::string& type, F run, handler_options how = {}) {
    handler_registry one;
    one.handle<Args...>(type, std::move(run), how);
    add(one);
    return *this;
  }

  /// Opens the store and begins to work; a store that is away or held by another is waited for, for 10 s, which a
  /// warning says at once. Nothing runs when it answers an error: invalid_argument (options,
  /// all that are out of range with a line each; a handler that is an actor; a Redis that refuses the password, or
  /// rights that are needed: at once, as waiting does not mend them), storage_*, io_error. storage_older
  /// with names: servers of an older version work on the store; start again when they have ended, and the store is
  /// raised (docs/upgrading.md).
  result<void> start();

  /// Claims nothing new; running jobs go on. Undone only by stop and start.
  void quiet();

  /// Quiet; asks running handlers to stop; waits up to `grace`; gives back what has not begun. In a handler of this
  /// server, which it would wait for: `bad_result`.
  stop_report stop();

  /// For the last act before the process leaves, after `stop`: gives back the jobs of handlers that
  /// ignored their stop, though those handlers still run. They must die with this process.
  void give_back_unfinished();

  /// `callback` is called at most once a start, from any thread, when the server can no longer work (its store
  /// was removed or is damaged, or a newer version raised its layout). It must be quick, since a stop waits for it, and
  /// not call back into the server: stop it from elsewhere. It is not called any more when a stop has ended.
  void on_fatal(const std::function<void(const error&)>& callback);

private:
  friend struct serving;
  void add(const handler_registry& more);
  std::optional<duration> when_fatal(const std::function<void()>& call);  // nothing when it does not run
  // Asks before each further try, which takes the pause; false: there shall be none.
  result<void> start_while(const std::function<bool(duration)>& pause_for);

  struct parts;
  std::unique_ptr<parts> parts_;
};

/// Serves until the program is told to stop, stops the server in order, and answers the exit code for `main`. Call it
/// after `start`, on the main thread. As `sluice work` it does
///  - at SIGTERM or SIGINT: `stop`, then 0;
///  - at the same again, half a second or more later: ends the process at once, with 128 and the signal's number;
///  - at SIGUSR1: `quiet`; at SIGHUP: nothing. Before this call both end the program as by default. A handler that it
///  has
///    of its own for one of these two stays in its place;
///  - when the server can no longer work: `stop`, then 1. What `on_fatal` was given is called before; without it the
///    reason is logged.
/// It ends the process itself when the stop takes 5 s longer than `grace` (with 1), and when handlers ignored their
/// stop (with the exit code), since they must not run on. 1 at once when the server does not run. A SIGTERM or SIGINT
/// that came before counts, once `catch_stop_signals` was called (<sluice/stop_signal.hpp>): call that first in `main`.
int run(server& s);

}  // namespace sluice
