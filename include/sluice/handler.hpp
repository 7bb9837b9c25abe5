/// What runs a job: a function of its args, of a `job_context`, or of both. An actor of yours can run
/// jobs too: <sluice/actors.hpp>.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/handler_shape.hpp>
#include <sluice/job.hpp>
#include <sluice/throttling.hpp>

namespace sluice {

/// How one run ended. Make it with the functions below. An exception that leaves a handler is
/// `failed` with its text.
struct outcome {
  run_end what = run_end::succeeded;
  std::string text;                     ///< The result when it succeeded, else why not.
  std::string cause;                    ///< One word for the history; empty: the end's own.
  duration delay{0};                    ///< retry, deferred: run again after this.
  std::vector<watched_part> watched{};  ///< Filled in by Sluice when the run has ended, for filters to see.
  std::vector<new_job> next{};          ///< succeeded: stored in the step that records this end, so once.

  static outcome succeeded(std::string result = {}) { return {run_end::succeeded, std::move(result), {}, {}}; }
  static outcome failed(std::string why) { return {run_end::failed, std::move(why), {}, {}}; }
  static outcome do_not_retry(std::string why) { return {run_end::given_up, std::move(why), {}, {}}; }
  static outcome retry_in(duration delay, std::string why = "its handler asked for it") {
    return {run_end::retry, std::move(why), {}, delay};
  }
  /// `return outcome::succeeded(text).then(job)`: see `next`. A job that cannot be stored (its id is taken, its key,
  /// its group is closed) leaves this end as it is, and the job's reason tells of it; one that breaks a limit of
  /// `new_job` fails the run for good. At most 100, of 4 MiB together: a run adds more by a client.
  outcome& then(new_job job) & { return next.push_back(std::move(job)), *this; }
  outcome&& then(new_job job) && { return std::move(then(std::move(job))); }

  static outcome give_back(std::string why) { return {run_end::given_back, std::move(why), {}, {}}; }
};

/// Thrown by `job_context::throw_if_stop_requested`. At shutdown the job goes back to its queue and
/// no attempt is used; after its timeout it is a failed run; one that was cancelled is deleted.
struct stopped {};

/// The args of a job are not what its handler takes. They never will be, so the run has failed and is not tried again,
/// unless a filter's `elect` says so.
struct args_mismatch : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Why a run was asked to stop; the first reason stands.
enum class stop_reason : std::uint8_t {
  none,       ///< Nobody has asked.
  shutdown,   ///< The server stops.
  timeout,    ///< It ran too long.
  lost,       ///< Its lease was lost, or its job deleted: its outcome is refused.
  cancelled,  ///< `client::cancel`: unless it succeeds, its job is deleted.
};

/// Thrown by `job_context::end_as`: ends the run with this outcome from any depth of the handler. Neither
/// is a std::exception, so that a handler's own `catch (const std::exception&)` lets them pass.
struct ended_early {
  outcome how;
};
/// Throws that; where a handler swallows it and returns, a warning says so.
[[noreturn]] void end_early(outcome how);
/// A second handler of a type takes the place of the first, which is warned of.
void warn_of_second_handler(const std::string& type);

/// What a handler may know and ask while it runs. Owned by the worker; valid during the call only.
class job_context {
public:
  using progress_sink = std::function<void(progress_report)>;
  /// `reason` says why `stop` was set, and is set before it; it outlives the context.
  job_context(const job& about, std::stop_token stop, progress_sink progress = {},
              const std::atomic<sluice::stop_reason>* reason = nullptr)
      : job_(about), stop_(std::move(stop)), progress_(std::move(progress)), reason_(reason) {}

  const job_id& id() const { return job_.id; }
  const job_type& type() const { return job_.type; }
  const queue_name& queue() const { return job_.queue; }
  const std::string& args() const { return job_.args; }  ///< JSON text.
  const std::map<std::string, std::string>& headers() const { return job_.headers; }
  std::uint32_t attempt() const { return job_.attempt; }  ///< 1 in the first run.
  /// Grows with every run: put it into your own writes (`WHERE fence <= ?`) and an old run that
  /// was believed dead cannot overwrite a newer one's work.
  sluice::fence fence() const { return job_.fence; }

  /// Set at shutdown, at the timeout, when the lease was lost and when the job was deleted or cancelled. A callback
  /// on it runs on a thread that its queue has for them alone: while one blocks no other job of the queue is told to
  /// stop, and no lease is lost by it.
  const std::stop_token& stop() const { return stop_; }
  bool stop_requested() const { return stop_.stop_requested(); }
  sluice::stop_reason stop_reason() const { return reason_ ? reason_->load() : sluice::stop_reason::none; }
  void throw_if_stop_requested() const {
    if (stop_.stop_requested()) throw stopped{};
  }

  /// How far it is: 0 to 1, and a few words (at most 1 KiB are kept). Cheap: the latest is stored
  /// several times a second at most, under the fence, and `job::progress` shows it.
  void progress(double done, std::string text = {}) const {
    if (progress_) progress_({done, std::move(text)});
  }
  /// The job's result, unless the handler returns one. The latest stands.
  void set_result(std::string result) { result_ = std::move(result); }
  const std::string& result() const { return result_; }

  /// Runs `part` and notes how long it took, by the names of what was used and what for. What `part` returns and what
  /// it throws passes through; a part that an exception ended counts as failed. When the run has ended, the log tells
  /// of all its parts, and so does `run_record::watched`: names are cut, repeated ones summed, and from the 16th
  /// name on all are one. A run that was lost, or that an actor handled, leaves none. From any thread while the run
  /// goes on.
  ///   const auto game = job.watch("REDIS", "Load_Game", [&] { return cache.load(id); });
  template <class F>
  decltype(auto) watch(std::string_view system, std::string_view what, F&& part) {
    const stopwatch running{*this, system, what};
    return std::forward<F>(part)();
  }
  /// What `watch` does, for a part that was timed otherwise.
  void watched(std::string_view system, std::string_view what, duration took, bool failed) noexcept;
  /// What was watched so far. Leaves nothing behind.
  std::vector<watched_part> take_watched();

  /// Ends this run here with an outcome, by an exception that must not be caught on the way.
  [[noreturn]] void end_as(outcome how) const { end_early(std::move(how)); }
  /// Not now: run again after `delay`, 0 to 10 years. Counts as a run, not as a failure. `why` is told in the history.
  /// Less than 0 is a failed run, and more than 10 years count as that many.
  [[noreturn]] void retry_in(duration delay, std::string why = "its handler asked for it") const {
    end_as(outcome::retry_in(delay, std::move(why)));
  }

private:
  struct stopwatch {
    job_context& noted_in;
    std::string_view system, what;
    int exceptions = std::uncaught_exceptions();
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    ~stopwatch() {
      const auto took = std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - since);
      noted_in.watched(system, what, took, std::uncaught_exceptions() > exceptions);
    }
  };

  const job& job_;
  std::stop_token stop_;
  progress_sink progress_;
  const std::atomic<sluice::stop_reason>* reason_;
  std::string result_;
  std::mutex watching_;
  std::vector<watched_part> watched_;
};

using handler = std::function<outcome(job_context&)>;

struct handler_options {
  /// False: a worker is given such a job only when it can start it at once. For handlers that may kill
  /// the process, or that must not wait behind another.
  bool prefetch = true;
};

class actor_route;      // <sluice/actors.hpp>
class throttler_route;  // <sluice/actors.hpp>

namespace shape {

template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<result<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

}  // namespace shape

/// The job types a server knows. Filled before the server starts; copied by it.
class handler_registry {
public:
  struct entry {
    handler run;
    handler_options options;
    std::shared_ptr<const actor_route> route{};  ///< Set: an actor of the host runs it, and not `run`.
  };

  /// Registers `run` for `type`; a second registration replaces the first. `run` takes `const Args&`, the
  /// `job_context&`, both in this order, or nothing. Args are made of the job's JSON; those that cannot be converted
  /// are a failed run that says why. `handle<Args>` must name them when the function is a template or overloaded, or
  /// when they are one JSON text. `run` is called from many threads at once, and must be copyable. It may return
  /// nothing, a text (what converts to std::string_view: the result, as it is), an `outcome`, or whatever
  /// `json_conversion` writes, as JSON.
  template <class... Args, class F>
  handler_registry& handle(const std::string& type, F run, handler_options options = {}) {
    if constexpr (shape::explain<F, Args...>()) {
      using args = shape::args_of<F, Args...>;
      return add(type, {[run = std::move(run)](job_context& c) mutable {
                          if constexpr (std::is_void_v<args>) return of_context(run, c);
                          else return of_args(run, read_args<args>(c.args(), c.type().value), c);
                        },
                        options});
    } else {
      return *this;
    }
  }

  handler_registry& add(const std::string& type, entry how) {
    if (!entries_.insert_or_assign(type, std::move(how)).second) warn_of_second_handler(type);
    return *this;
  }

  const std::map<std::string, entry>& entries() const { return entries_; }

  /// Throttler `custom:NAME` is this limiter; what it remembers is kept in the store, as that of windows is.
  handler_registry& limit(const std::string& name, std::shared_ptr<const limiter> by) {
    limiters_[name] = std::move(by);
    return *this;
  }
  const std::map<std::string, std::shared_ptr<const limiter>>& limiters() const { return limiters_; }

  /// Throttler `custom:NAME` is an actor of the host; made by `throttle_by_actor`.
  handler_registry& limit(const std::string& name, std::shared_ptr<const throttler_route> by) {
    throttlers_[name] = std::move(by);
    return *this;
  }
  const std::map<std::string, std::shared_ptr<const throttler_route>>& throttlers() const { return throttlers_; }

  /// Throws std::invalid_argument with why they do not fit.
  template <class Args>
  static Args read_args(const std::string& text, const std::string& type = {}) {
    static_assert(converted<Args>, "args need JSON: write #include <sluice/json.hpp>");
    try {
      if constexpr (requires { json_conversion<Args>::read(text, type); })
        return json_conversion<Args>::read(text, type);
      else return json_conversion<Args>::read(text);  // of the program's own
    } catch (const std::bad_alloc&) {
      throw;  // they may fit another time
    } catch (const std::exception& e) {
      throw args_mismatch(std::string("the args do not fit the handler: ") + e.what());
    }
  }

private:
  template <class F>
  static outcome of_context(F& run, job_context& c) {
    return as_outcome([&]() -> decltype(auto) {
      if constexpr (std::is_invocable_v<F&, job_context&>) return run(c);
      else return run();
    });
  }
  template <class F, class Args>
  static outcome of_args(F& run, const Args& args, job_context& c) {
    return as_outcome([&]() -> decltype(auto) {
      if constexpr (std::is_invocable_v<F&, const Args&, job_context&>) return run(args, c);
      else return run(args);
    });
  }

  template <class F>
  static outcome as_outcome(F&& run) {
    using answer = std::remove_cvref_t<std::invoke_result_t<F&>>;
    if constexpr (std::is_void_v<answer>) {
      run();
      return outcome::succeeded();
    } else if constexpr (shape::is_result<answer>) {
      answer told = run();
      return told ? as_outcome([&]() -> decltype(auto) { return std::move(told).value(); })
                  : outcome::failed(to_string(told.error()));
    } else if constexpr (shape::is_optional<answer>) {
      answer told = run();
      return told ? as_outcome([&]() -> decltype(auto) { return *std::move(told); }) : outcome::succeeded();
    } else if constexpr (std::is_same_v<answer, outcome>) {
      return run();
    } else if constexpr (std::is_pointer_v<answer> && std::is_convertible_v<const answer&, std::string_view>) {
      const char* const text = run();
      return text ? outcome::succeeded(text) : outcome::failed("the handler returned a null text");
    } else if constexpr (std::is_convertible_v<const answer&, std::string_view>) {
      return outcome::succeeded(std::string(std::string_view(run())));
    } else {
      static_assert(converted<answer>, "a result that is no text needs JSON: write #include <sluice/json.hpp>");
      return outcome::succeeded(json_conversion<answer>::write(run()));
    }
  }

  std::map<std::string, entry> entries_;
  std::map<std::string, std::shared_ptr<const limiter>> limiters_;
  std::map<std::string, std::shared_ptr<const throttler_route>> throttlers_;
};

}  // namespace sluice
