/// How you test your handlers and flows: a world in memory, and a clock that only the test moves.
/// Nothing runs but inside the calls below, on the thread that makes them; nothing sleeps. docs/testing.md
/// shows it at work.
///
/// What happens there is the real thing, done by the code of a server: enqueue filters, claims with attempt and fence,
/// throttlers, the filters around a run, retry policies, progress, leases, timeouts, cancels, stops, settling,
/// schedules. It logs what a server logs. Left out: threads, so no two runs of one world overlap; retention; handlers
/// that are actors.
/// Random stays random: new job ids and the delays of the backoffs that roll dice (the default one
/// does). `advance_to_next` does not care; a test that counts seconds says `retry.delay`.
///
/// Errors: what the test itself got wrong is a std::runtime_error. A handler that throws is a failed
/// run, as on a server, and never leaves these calls: look at the job. So does a failed REQUIRE.
/// Threads: a world belongs to one thread; clients of its store may be used by any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <sluice/client.hpp>
#include <sluice/filter.hpp>
#include <sluice/handler.hpp>
#include <sluice/options.hpp>
#include <sluice/throttling.hpp>

namespace sluice::testing {

/// What a drain has run, and how it ended.
struct drained {
  std::uint32_t runs = 0;  ///< The numbers below tell what the store took as their ends.
  std::uint32_t succeeded = 0;
  std::uint32_t failed = 0;   ///< For good: no retry was left, or none was wanted.
  std::uint32_t retried = 0;  ///< Will run again: failed with a retry left, or asked for it (`retry_in`).
  std::uint32_t given_back = 0;
  std::uint32_t deleted = 0;
  /// Ready and not run: of a type without a handler (`line` is "type:NAME"), in a paused queue, or in
  /// one that the options do not name. In the order they would go.
  std::vector<job> left;
};

/// Which jobs to look at; what is left out allows all.
struct job_filter {
  job_type type{};
  queue_name queue{};
  std::optional<job_state> state{};
};

class world {
public:
  /// Serves every queue, with default options.
  world();
  /// As a server of these options would: their policies, throttlers and schedules, and the queues that
  /// they name and no other. `storage`, workers, prefetch, sweeps and retention mean nothing here. What `server::start`
  /// refuses is an error here too.
  explicit world(server_options options, const handler_registry& handlers = {}, filter_list filters = {});
  /// Another server on the store and the clock of that one. Each of them advances the clock for all. A handler of one
  /// may run the other's jobs: so two runs overlap.
  world(world& beside, server_options options, const handler_registry& handlers = {}, filter_list filters = {});
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// As `server::handle`.
  template <class... Args, class F>
  world& handle(const std::string& type, F run, handler_options how = {}) {
    handler_registry one;
    one.handle<Args...>(type, std::move(run), how);
    return add(one);
  }
  /// All handlers of a registry, functions only: for those that need this world's client. Not from a handler.
  world& add(const handler_registry& more);
  /// What stands for the throttler `custom:NAME`, where that is an actor: `decide` is asked about each run as the actor
  /// would be, and says granted, deferred or rejected; `ended` is told of those that it let in. Neither may drive the
  /// world; what they throw leaves the call that asked them. Whoever it defers waits in the store and is asked about
  /// again `after` that.
  world& throttler(const std::string& name, std::function<throttle_verdict(const throttle_request&)> decide,
                   std::function<void(const throttled_end&)> ended = {});

  /// A client of this world with its filters, for the test and for its handlers; ends with the world.
  sluice::client& client();
  /// The store's URL, for code that opens a client of its own. Once the world has ended, and the last
  /// client with it, the same URL names an empty store.
  const std::string& storage() const;

  // --- Time.
  /// Begins at the present instant and stands still. It decides what is due, and stamps jobs, runs
  /// and ends.
  time_point now() const;
  /// Due jobs become ready, schedules make their jobs, and who waits for a slot is woken when it comes,
  /// each at its instant; nothing runs. A handler may call it too: then its run took that long, its lease is
  /// renewed, and it is asked to stop when its timeout is over. It hears so, too, that its job was cancelled or
  /// deleted: within 20 ms.
  void advance(duration by);
  /// The same, but this server does nothing meanwhile, as one whose machine sleeps: its leases run out, and another
  /// one on the same store takes back what it ran.
  void suspend(duration by);
  /// Until something of that is due; none: nothing ever is. A schedule that runs is due again and again.
  std::optional<duration> next_due();
  /// Advances by `next_due`. False: nothing is due ever, and the clock stays.
  bool advance_to_next();

  // --- Running.
  /// Runs what is ready, and what that makes ready, until nothing is: queue by queue by their names,
  /// each in its own order, and again when there is more. The clock stays, so retries with a delay
  /// wait for `advance`. More than `limit` starts: an error that names the type that had most.
  drained drain(std::uint32_t limit = 10'000);
  /// The same with one queue.
  drained drain(const queue_name& queue, std::uint32_t limit = 10'000);
  /// Starts the first ready job of a queue that its throttlers let in, and answers it as it is then; none:
  /// there is none.
  std::optional<job> run_next(const queue_name& queue = queue_name("default"));
  /// Stores a job and runs it and no other, though others wait before it: those keep their places,
  /// with one more `given_back` in their histories (suspects go last; who was woken asks its throttlers
  /// again). An error when it was refused or cannot start.
  job run(new_job asked);
  /// `run("send_email", send_email{...})`: needs <sluice/json.hpp>.
  template <class Args>
  job run(std::string type, const Args& args) {
    return run(make_job(std::move(type), args));
  }
  /// As `run_next` on a server that is killed when the handler has ended and before that is stored:
  /// the job is enqueued again, from its second loss on as a suspect, or has failed as `lost` at `max_losses`. Shows
  /// whether a handler is safe to run twice.
  std::optional<job> lose_next(const queue_name& queue = queue_name("default"));

  /// As a server that is stopped, with a grace that never ends: the handler that calls this is asked to stop, and
  /// nothing begins here any more. What the store has is for another world beside this one.
  void stop();

  // --- Looking.
  /// All jobs made so far, whatever became of them, oldest first.
  std::vector<job> jobs(const job_filter& which = {}) const;
  /// The job of this type. An error when there is none, or more than one.
  job only(const std::string& type) const;
  /// The args of all jobs of a type made so far, oldest first. An error when they do not fit. Needs
  /// <sluice/json.hpp>.
  template <class Args>
  std::vector<Args> enqueued(const std::string& type) const {
    std::vector<Args> all;
    for (const auto& made : jobs({.type = job_type(type)})) {
      try {
        all.push_back(json_conversion<Args>::read(made.args));
      } catch (const std::exception& e) {
        throw std::runtime_error("the args of job " + made.id.value + " (" + type + ") do not fit: " + e.what());
      }
    }
    return all;
  }

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace sluice::testing
