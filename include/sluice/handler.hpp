/// What runs a job: a function of a `job_context` that answers an `outcome`.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <type_traits>

#include <sluice/job.hpp>

namespace sluice {

/// How one run ended. Make it with the functions below. An exception that leaves a handler is
/// `failed` with its text.
struct outcome {
  enum class kind : std::uint8_t {
    succeeded,   ///< Done; `text` is the result.
    failed,      ///< Failed; the retry policy decides what becomes of the job.
    given_up,    ///< Failed, and no retry: the job ends as its policy's `then` says.
    retry,       ///< Not done; run again after `delay`. Counts as a run.
    given_back,  ///< Not done, not counted: back to the front of its queue.
    removed,     ///< Ends as deleted.
  };
  kind what = kind::succeeded;
  std::string text;
  std::string cause;  ///< One word for the history; empty: the kind's own.
  duration delay{0};

  static outcome succeeded(std::string result = {}) { return {kind::succeeded, std::move(result), {}, {}}; }
  static outcome failed(std::string why) { return {kind::failed, std::move(why), {}, {}}; }
  static outcome do_not_retry(std::string why) { return {kind::given_up, std::move(why), {}, {}}; }
  static outcome retry_in(duration delay, std::string why) { return {kind::retry, std::move(why), {}, delay}; }
  static outcome give_back(std::string why) { return {kind::given_back, std::move(why), {}, {}}; }
};

/// Thrown by `job_context::throw_if_stop_requested`. At shutdown the job goes back to its queue and
/// no attempt is used; after its timeout it is a failed run.
struct stopped : std::exception {
  const char* what() const noexcept override { return "stopped on request"; }
};

/// What a handler may know and ask while it runs. Owned by the worker; valid during the call only.
class job_context {
public:
  job_context(const job& about, std::stop_token stop) : job_(about), stop_(std::move(stop)) {}

  const job_id& id() const { return job_.id; }
  const job_type& type() const { return job_.type; }
  const queue_name& queue() const { return job_.queue; }
  const std::string& args() const { return job_.args; }  ///< JSON text.
  const std::map<std::string, std::string>& headers() const { return job_.headers; }
  std::uint32_t attempt() const { return job_.attempt; }  ///< 1 in the first run.
  /// Grows with every start: put it into your own writes (`WHERE fence < ?`) and an old run that
  /// was believed dead cannot overwrite a newer one's work.
  sluice::fence fence() const { return job_.fence; }

  /// Set at shutdown, at the timeout, when the lease was lost and when the job was deleted. A callback
  /// on it may run on any of Sluice's threads: it must be quick and call no client.
  const std::stop_token& stop() const { return stop_; }
  bool stop_requested() const { return stop_.stop_requested(); }
  void throw_if_stop_requested() const {
    if (stop_.stop_requested()) throw stopped{};
  }

private:
  const job& job_;
  std::stop_token stop_;
};

using handler = std::function<outcome(job_context&)>;

struct handler_options {
  /// False: a worker is given such a job only when it can start it at once. For bodies that may kill
  /// the process, or that must not wait behind another.
  bool prefetch = true;
};

/// The job types a server knows. Filled before `server::start`; copied by it.
class handler_registry {
public:
  struct entry {
    handler run;
    handler_options options;
  };

  /// Registers `run` for `type`; a second registration replaces the first. `run` is called from many
  /// threads at once and may return nothing, a string (the result) or an outcome.
  template <class F>
  handler_registry& handle(std::string type, F run, handler_options options = {}) {
    using answer = std::invoke_result_t<F&, job_context&>;
    if constexpr (std::is_void_v<answer>) {
      entries_[std::move(type)] = {[run = std::move(run)](job_context& c) mutable {
                                     run(c);
                                     return outcome::succeeded();
                                   },
                                   options};
    } else if constexpr (std::is_convertible_v<answer, outcome>) {
      entries_[std::move(type)] = {std::move(run), options};
    } else {
      entries_[std::move(type)] = {
          [run = std::move(run)](job_context& c) mutable { return outcome::succeeded(run(c)); }, options};
    }
    return *this;
  }

  const std::map<std::string, entry>& entries() const { return entries_; }

private:
  std::map<std::string, entry> entries_;
};

}  // namespace sluice
