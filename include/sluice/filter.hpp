/// How you extend the pipeline without touching it. Override what you need and register the filter
/// with an order (lower runs first; retry is at 20) and, if you like, for one job type only.
///
/// Threads: one filter object is called from many threads at once. Exceptions: in `on_enqueue` the
/// job is refused, in `around` the run has failed, in `elect` and `applied` they are logged.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/job.hpp>

namespace sluice {

class job_context;
struct outcome;

/// The candidate end of one run, before it is stored. Filters may replace it.
struct election {
  const job& about;         ///< As it was claimed.
  std::uint32_t failures;   ///< Failed runs of this job, this one included.
  sluice::outcome& chosen;  ///< What will be stored unless a filter changes it.
};

class filter {
public:
  virtual ~filter() = default;

  /// In the enqueuing process, before anything is stored. May change the job, or refuse it.
  virtual result<void> on_enqueue(new_job&) { return {}; }

  /// Around the handler, on the worker's thread. Call `next` once to run what is inside. It throws nothing: it answers
  /// how the run ended, also when that was an exception of the handler's, `end_as`, `retry_in` or a stop.
  virtual outcome around(job_context& context, const std::function<outcome(job_context&)>& next);

  /// In the server, before it is stored, for what handlers answer and for runs that throttlers rejected; the latter,
  /// and those that actors of yours handle, on a thread of the actor system.
  virtual void elect(election&) {}

  /// In the server, after the commit, at most once: a crash in between skips it.
  virtual void applied(const job& /*about*/, const outcome& /*stored*/) {}
};

/// Watches every run as a whole, as `job_context::watch` does: system "JOB", by type. A run that failed counts
/// as failed.
class watch_filter final : public filter {
public:
  outcome around(job_context& context, const std::function<outcome(job_context&)>& next) override;
};

struct filter_entry {
  std::shared_ptr<sluice::filter> filter;
  int order = 0;
  job_type only_for{};  ///< Empty: all jobs.
};

using filter_list = std::vector<filter_entry>;

}  // namespace sluice
