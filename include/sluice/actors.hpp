/// Sluice inside a host's own caf::actor_system: the interfaces that a host may speak. CAF 0.17.
///
/// The host's actors enqueue by message, are told how jobs ended, and can be the handlers of job
/// types. Sluice blocks no thread of the host's scheduler, but for a look at the date of a zone's file when a
/// schedule is due; filters of enqueues run there too. A host whose scheduler is busy loses no
/// lease: renewal and the store have threads of their own. What the scheduler's settings should be:
/// docs/embedding.md.
///
/// clang: needs -fvisibility=hidden, which sluice::server of CMake adds to your target (docs/embedding.md).
///
/// No type-id block is opened here (two in one program clash): all messages are local ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <caf/all.hpp>

#include <sluice/error.hpp>
#include <sluice/explanation.hpp>
#include <sluice/filter.hpp>
#include <sluice/handler.hpp>
#include <sluice/job.hpp>
#include <sluice/lock.hpp>
#include <sluice/options.hpp>
#include <sluice/recurring.hpp>
#include <sluice/server.hpp>
#include <sluice/throttler_status.hpp>
#include <sluice/throttling.hpp>

namespace sluice {

/// What a host's actor is sent, as a request, when it handles a job type. Cheap to copy and to keep.
class run_job {
public:
  run_job() = default;
  run_job(std::shared_ptr<const job> about, std::stop_token stop,
          std::shared_ptr<const std::atomic<sluice::stop_reason>> reason = {})
      : about_(std::move(about)), stop_(std::move(stop)), reason_(std::move(reason)) {}

  const job& about() const { return *about_; }  ///< As it was claimed: args, headers, attempt, fence.
  const job_id& id() const { return about_->id; }
  const std::string& args() const { return about_->args; }  ///< JSON text; `args_of<T>(about())` reads it.
  std::uint32_t attempt() const { return about_->attempt; }
  sluice::fence fence() const { return about_->fence; }
  /// Set at shutdown, at the timeout, when the lease was lost and when the job was deleted or cancelled. Ask it; a
  /// callback on it would run on another thread than your actor.
  const std::stop_token& stop() const { return stop_; }
  sluice::stop_reason stop_reason() const { return reason_ ? reason_->load() : sluice::stop_reason::none; }

private:
  std::shared_ptr<const job> about_;
  std::stop_token stop_;
  std::shared_ptr<const std::atomic<sluice::stop_reason>> reason_;
};

/// What an observer is sent when a job has reached a final state: the job as the store has it then,
/// with its result or reason and its history. `known` is false when the store no longer has it (it was
/// pruned, or never enqueued there); then only the id is set.
struct job_ended {
  job about;
  bool known = true;
};

/// Locks by message: what a lock is, <sluice/lock.hpp> says. Nobody renews it but you, by `renew_lock`: a third of
/// `ttl` after it was taken is a good time. Count on it for `ttl` from before you sent the message, less a tenth.
struct take_lock {
  std::string resource{};
  duration ttl = usual_lock_ttl;
  std::string holder{};  ///< What the others are told. Empty: host name and pid.
};
struct lock_verdict {
  bool taken = false;
  lock_holder now{};  ///< Yours when it was taken, else whoever has it.
};
struct renew_lock {
  std::string resource{};
  sluice::fence fence{};
  duration ttl = usual_lock_ttl;  ///< From now on.
};
struct release_lock {
  std::string resource{};
  sluice::fence fence{};
};

/// Which throttler: `semaphore` and `provider-api`; of a dynamic window `NAME/KEY` is the line of one key.
struct throttler_name {
  throttler_kind kind = throttler_kind::mutex;
  std::string name{};
};

}  // namespace sluice

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::new_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<sluice::new_job>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::enqueue_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::job_id)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<sluice::job_id>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::job_type)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::job_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::recurring)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::recurring_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<sluice::recurring_status>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::run_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::outcome)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::take_lock)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::lock_verdict)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::renew_lock)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::lock_holder)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::release_lock)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::fence)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::throttler)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::throttler_name)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::throttler_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<sluice::throttler_status>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::explanation)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::group_name)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::new_group)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::group_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<sluice::throttle_request>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<sluice::throttle_verdict>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<sluice::throttled_end>)

namespace sluice {

using enqueue_atom = caf::atom_constant<caf::atom("sl_enqueue")>;
using enqueue_reporting_atom = caf::atom_constant<caf::atom("sl_enqrep")>;
using enqueue_all_atom = caf::atom_constant<caf::atom("sl_enqall")>;
using find_atom = caf::atom_constant<caf::atom("sl_find")>;
using cancel_atom = caf::atom_constant<caf::atom("sl_cancel")>;
using group_atom = caf::atom_constant<caf::atom("sl_group")>;
using seal_group_atom = caf::atom_constant<caf::atom("sl_sealgr")>;
using cancel_group_atom = caf::atom_constant<caf::atom("sl_cancelg")>;
using requeue_failed_atom = caf::atom_constant<caf::atom("sl_requeue")>;
using watch_atom = caf::atom_constant<caf::atom("sl_watch")>;
using set_handler_atom = caf::atom_constant<caf::atom("sl_handler")>;
using lock_atom = caf::atom_constant<caf::atom("sl_lock")>;
using quiet_atom = caf::atom_constant<caf::atom("sl_quiet")>;
using stop_atom = caf::atom_constant<caf::atom("sl_stop")>;

using schedule_atom = caf::atom_constant<caf::atom("sl_sched")>;
using remove_schedule_atom = caf::atom_constant<caf::atom("sl_rmsched")>;
using trigger_schedule_atom = caf::atom_constant<caf::atom("sl_trigger")>;
using pause_schedule_atom = caf::atom_constant<caf::atom("sl_pausesc")>;

using acquire_atom = caf::atom_constant<caf::atom("sl_acquire")>;
using ended_runs_atom = caf::atom_constant<caf::atom("sl_ended")>;
using describe_atom = caf::atom_constant<caf::atom("sl_descr")>;
using throttler_atom = caf::atom_constant<caf::atom("sl_settht")>;
using remove_throttler_atom = caf::atom_constant<caf::atom("sl_rmtht")>;
using explain_atom = caf::atom_constant<caf::atom("sl_explain")>;
using set_throttler_actor_atom = caf::atom_constant<caf::atom("sl_throttl")>;

/// A THROTTLER lets runs in or defers them. Sluice's own speak this, and so may an actor of the host: then it is
/// named `custom:NAME` and asked before the others.
using throttler_actor = caf::typed_actor<
    /// A verdict for each, in order, within 10 s. One that is let in counts from then on until its `ended_runs_atom`.
    caf::replies_to<acquire_atom, std::vector<throttle_request>>::with<std::vector<throttle_verdict>>,
    /// These have ended, or were not started after all. What a server that died had let in is not told,
    /// nor what was let in by a verdict that came too late.
    caf::reacts_to<ended_runs_atom, std::vector<throttled_end>>>;

/// The SERVER, as the host's actors speak to it. Errors are answered as a caf::error that `error_of`
/// reads. It ends when the server has stopped; requests to it are refused from then on.
using server_actor = caf::typed_actor<
    /// Stores a job; the answer is its id, and means what client::enqueue promises. Filters'
    /// `on_enqueue` run here, on a thread of the host's scheduler.
    caf::replies_to<enqueue_atom, new_job>::with<job_id>,
    /// The same, and `observer` is sent one job_ended when the job has reached a final state; of a duplicate, when the
    /// job has that stands for it.
    caf::replies_to<enqueue_atom, new_job, caf::actor>::with<job_id>,
    /// Stores a job and tells what came of it, as client::enqueue_reporting.
    caf::replies_to<enqueue_reporting_atom, new_job>::with<enqueue_report>,
    /// Stores all of these in one step, or none, as client::enqueue_all; the answer is their ids. job_graph.hpp
    caf::replies_to<enqueue_all_atom, std::vector<new_job>>::with<std::vector<job_id>>,
    /// The observer is sent one job_ended: at once when the job is final already. At most once; a watch
    /// is forgotten when the process ends. What other processes and people did is seen within
    /// `sweep_interval`, what this server did at once.
    caf::reacts_to<watch_atom, job_id, caf::actor>,
    /// The job as the store has it now.
    caf::replies_to<find_atom, job_id>::with<job>,
    /// Ends a job, or asks it to end when it runs, as client::cancel; the answer is its id.
    caf::replies_to<cancel_atom, job_id>::with<job_id>,
    /// Makes a group, as client::create_group; the answer is how it stands then, also below.
    caf::replies_to<group_atom, new_group>::with<group_status>,
    caf::replies_to<group_atom, group_name>::with<group_status>,
    /// Seals a group, as client::seal_group.
    caf::replies_to<seal_group_atom, group_name>::with<group_status>,
    /// Cancels a group, as client::cancel_group.
    caf::replies_to<cancel_group_atom, group_name>::with<group_status>,
    /// Requeues its failed members, as client::requeue_failed; the answer is how many.
    caf::replies_to<requeue_failed_atom, group_name>::with<std::uint64_t>,
    /// From now on this actor handles jobs of a type that `handle_by_actor` named: the word of a host
    /// that has respawned it. Until then, with its actor dead, the type is not claimed.
    caf::reacts_to<set_handler_atom, job_type, caf::actor>,
    /// From now on this actor is throttler `custom:NAME`: the word of a host that has respawned it. Until then, with
    /// its actor dead, jobs that name it wait.
    caf::reacts_to<set_throttler_actor_atom, std::string, throttler_actor>,
    /// At once, whoever has it. Ask again after unknown_outcome and you may be refused by yourself, for one `ttl`.
    caf::replies_to<lock_atom, take_lock>::with<lock_verdict>,
    /// Held until then; stale_fence when it is yours no more.
    caf::replies_to<lock_atom, renew_lock>::with<lock_holder>,
    /// The same fence: it holds nothing any more, or did not before. stale_fence when another has the lock already.
    caf::replies_to<lock_atom, release_lock>::with<fence>,
    /// Adds or changes a schedule, as client::set_recurring; the answer is how it stands then.
    caf::replies_to<schedule_atom, recurring>::with<recurring_status>,
    /// Removes a schedule; the answer is whether it was there.
    caf::replies_to<remove_schedule_atom, std::string>::with<bool>,
    /// Enqueues one job of a schedule now, as client::trigger_recurring.
    caf::replies_to<trigger_schedule_atom, std::string>::with<job_id>,
    /// Pauses a schedule (true), or resumes it.
    caf::replies_to<pause_schedule_atom, std::string, bool>::with<recurring_status>,
    /// All schedules, by name.
    caf::replies_to<schedule_atom>::with<std::vector<recurring_status>>,
    /// Adds or changes a throttler, as client::set_throttler; the answer is "KIND:name", as it is called from then on.
    caf::replies_to<throttler_atom, throttler>::with<std::string>,
    /// Removes one, as client::remove_throttler, and answers what it was called. Fine when there is none.
    caf::replies_to<remove_throttler_atom, throttler_name>::with<std::string>,
    /// How it stands, with the first of its holders and waiters, as client::throttler.
    caf::replies_to<describe_atom, throttler_name>::with<throttler_status>,
    /// All throttlers, as client::throttlers.
    caf::replies_to<describe_atom>::with<std::vector<throttler_status>>,
    /// The one reason why a job does not run, or that it does, as client::explain.
    caf::replies_to<explain_atom, job_id>::with<explanation>,
    /// Claim nothing new; running jobs go on.
    caf::reacts_to<quiet_atom>,
    /// Stop as embedded_server::stop does, without blocking; the answer is stop_report::unfinished.
    /// An exit message does the same without an answer.
    caf::replies_to<stop_atom>::with<std::uint32_t>>;

/// What a caf::error from a server_actor means; other errors come back as errc::not_running when the
/// server is gone, else as io_error with CAF's words.
error error_of(const caf::error& e);
caf::error to_caf(const error& e);

/// A server that lives in a host's actor_system. Move-only; its end stops the server. Must be
/// destroyed before the system, on a thread that is no thread of the system's scheduler. Of one that was moved from
/// each function but assignment and destruction throws `bad_result`.
class embedded_server {
public:
  embedded_server(embedded_server&&) noexcept;
  embedded_server& operator=(embedded_server&&) noexcept;
  ~embedded_server();

  /// For the host's actors.
  const server_actor& handle() const;

  /// As of `server`: the same contract. `stop` blocks, at most grace + 2 s and as long as the host's
  /// scheduler takes to run our last messages; handlers and handler actors that ignored their stop are
  /// reported, and their leases run out.
  void quiet();
  stop_report stop();
  void give_back_unfinished();
  void on_fatal(const std::function<void(const error&)>& callback);

private:
  friend result<embedded_server> spawn_server(caf::actor_system&, const server_options&, const handler_registry&,
                                              const filter_list&);
  struct parts;
  explicit embedded_server(std::shared_ptr<parts> p);
  parts_pointer<std::shared_ptr<parts>> parts_;
};

/// Opens the store and begins to work inside `system`. May be called from any thread but the system's
/// own. Errors: as server::start; nothing was spawned then. A registry may go at once: what it holds is
/// copied, and actors only weakly.
result<embedded_server> spawn_server(caf::actor_system& system, const server_options& options,
                                     const handler_registry& handlers, const filter_list& filters = {});

/// How a job is put into a message for the actor that handles its type. Made by `handle_by_actor`.
class actor_route {
public:
  using message_maker = std::function<caf::message(const run_job&)>;
  /// What understands an answer of the actor's own type.
  using answer_reader = std::function<caf::message_handler(std::function<void(outcome)> then)>;
  actor_route(const caf::actor& to, message_maker make, answer_reader read = {})
      : to_(caf::actor_cast<caf::actor_addr>(to)), make_(std::move(make)), read_(std::move(read)) {}

  /// Null when it was so, or is gone.
  caf::actor to() const { return to_ ? caf::actor_cast<caf::actor>(to_) : caf::actor(); }
  caf::message message_for(const run_job& run) const { return make_(run); }
  caf::message_handler answers(std::function<void(outcome)> then) const {
    return read_ ? read_(std::move(then)) : caf::message_handler();
  }

private:
  caf::actor_addr to_;  // weak: a registry keeps no actor alive
  message_maker make_;
  answer_reader read_;
};

/// A host's actor that is a throttler. Made by `throttle_by_actor`.
class throttler_route {
public:
  explicit throttler_route(const throttler_actor& to) : to_(caf::actor_cast<caf::actor_addr>(to)) {}
  /// Null when it was so, or is gone.
  throttler_actor to() const { return to_ ? caf::actor_cast<throttler_actor>(to_) : throttler_actor(); }

private:
  caf::actor_addr to_;  // weak
};

/// Throttler `custom:NAME` is this actor, which you keep alive. Job types name it in their `throttle`. When it dies,
/// jobs that name it wait in the store until `set_throttler_actor_atom` names its successor, which knows nothing of who
/// was let in before.
inline handler_registry& throttle_by_actor(handler_registry& handlers, const std::string& name,
                                           const throttler_actor& to) {
  return handlers.limit(name, std::make_shared<const throttler_route>(to));
}

template <class Actor>
requires(!std::is_convertible_v<const Actor&, throttler_actor>)
    handler_registry& throttle_by_actor(handler_registry& handlers, const std::string&, const Actor&) {
  static_assert(std::is_void_v<Actor>,
                "a throttler is a sluice::throttler_actor: spawn a function that returns "
                "sluice::throttler_actor::behavior_type");
  return handlers;
}

/// What `caught`, below, is made of: the answer of such a message handler, and the handler itself.
template <class R>
struct caught_answer {
  using type = caf::result<R>;
};
template <class... Ts>
struct caught_answer<caf::result<Ts...>> {
  using type = caf::result<Ts...>;
};
template <class... Ts>
struct caught_answer<caf::typed_response_promise<Ts...>> {
  using type = caf::result<Ts...>;
};

template <class R, class... Args, class F, class Call>
auto caught_as(F run, Call call) {
  static_assert(!std::is_same_v<R, caf::response_promise>, "answer by caf::typed_response_promise<T>");
  using answer = typename caught_answer<std::decay_t<R>>::type;
  return [run = std::move(run), call](Args... args) mutable -> answer {
    std::string why;
    try {
      if constexpr (std::is_void_v<R>) return (run.*call)(std::forward<Args>(args)...), caf::unit;
      else return (run.*call)(std::forward<Args>(args)...);
    } catch (const std::exception& thrown) {
      const char* const said = thrown.what();
      why = said ? said : "an exception without words";
    } catch (...) {
      why = "threw something that is no std::exception";
    }
    return caf::make_error(caf::sec::runtime_error, std::move(why));
  };
}
template <class F, class R, class... Args>
auto caught_as(F run, R (F::*call)(Args...) const) {
  return caught_as<R, Args...>(std::move(run), call);
}
template <class F, class R, class... Args>
auto caught_as(F run, R (F::*call)(Args...)) {
  return caught_as<R, Args...>(std::move(run), call);
}

/// A message handler of an actor whose exceptions are answers:
///
///   return {sluice::caught([](const run_job& run) { print(run.args()); })};
///
/// CAF 0.17 ends an actor that throws, whatever exception handler it has set. Here the request is answered with
/// `caf::sec::runtime_error` and what the exception says, and the actor lives: a job's run has failed with these words.
/// `run` is a lambda that is not generic, and answers nothing, a value, a caf::result or a caf::typed_response_promise.
/// Make the promise last: a request that has one is answered by nobody else, so an exception behind it leaves the job
/// to its timeout.
template <class F>
auto caught(F run) {
  return caught_as(std::move(run), &F::operator());
}

/// Jobs of `type` are handled by this actor of the host: each is sent as a request and holds a worker
/// of its queue until it is answered. The answer is the outcome: nothing, or the result as a text, a number or a bool;
/// a `sluice::outcome`; or an error, which is a failed run. An exception ends the actor, unless its handler is
/// `caught`. No answer within the timeout (the job's, the type's, the queue's or the server's; 10 minutes if none says
/// one) is a failed run with cause timed_out, and a later answer is dropped. When the actor dies, what it had in hand
/// failed (cause handler_died), or is given back while the server stops, and its type is not claimed until
/// `set_handler_atom` names another. The registry does not keep the actor alive: you do. `to` may be null: then the
/// type waits for that message from the start. Filters' `around` is not called for such jobs.
template <class Actor>
handler_registry& handle_by_actor(handler_registry& handlers, const std::string& type, const Actor& to,
                                  handler_options options = {}) {
  return handlers.add(
      type, {{}, options, std::make_shared<actor_route>(caf::actor_cast<caf::actor>(to), [](const run_job& run) {
               return caf::make_message(run);
             })});
}

/// The same, sent as the actor's own args struct, which must be a message element (an `inspect`, or
/// CAF_ALLOW_UNSAFE_MESSAGE_TYPE). Needs <sluice/json.hpp>.
template <class Args, class Actor>
handler_registry& handle_by_actor(handler_registry& handlers, const std::string& type, const Actor& to,
                                  handler_options options = {}) {
  return handlers.add(
      type, {{}, options, std::make_shared<actor_route>(caf::actor_cast<caf::actor>(to), [](const run_job& run) {
               return caf::make_message(handler_registry::read_args<Args>(run.args(), run.about().type.value));
             })});
}

/// The same, for an actor that answers a Result of its own, which is stored as JSON.
template <class Args, class Result, class Actor>
handler_registry& handle_by_actor(handler_registry& handlers, const std::string& type, const Actor& to,
                                  handler_options options = {}) {
  const auto make = [](const run_job& run) {
    return caf::make_message(handler_registry::read_args<Args>(run.args(), run.about().type.value));
  };
  const auto read = [](std::function<void(outcome)> then) {
    return caf::message_handler{[then = std::move(then)](const Result& answer) {
      then(outcome::succeeded(json_conversion<Result>::write(answer)));
    }};
  };
  return handlers.add(type, {{}, options, std::make_shared<actor_route>(caf::actor_cast<caf::actor>(to), make, read)});
}

}  // namespace sluice
