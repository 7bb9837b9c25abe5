/// Jobs that run after each other, and are stored all or none: half a graph would wait for ever.
///
///   sluice::job_graph report;
///   const auto fetched = report.add(make_job("fetch", fetch{url}));
///   const auto parsed = report.add(make_job("parse", parse{}), {fetched});
///   const auto counted = report.add(make_job("count", count{}), {fetched});
///   report.add(make_job("publish", publish{}), {parsed, counted});
///   client.enqueue_all(std::move(report).jobs());
///
/// A job can only name jobs that were added before it, so no circle can be written. Not for several threads at once.
#pragma once

#include <vector>

#include <sluice/job.hpp>

namespace sluice {

class job_graph {
public:
  /// Adds a job that runs after these, beside whatever its own `after` names: jobs of the graph, or stored ones.
  /// Answers its id, which is made when the job has none.
  job_id add(new_job job, const std::vector<job_id>& after = {});

  /// In the order in which they were added, for client::enqueue_all.
  const std::vector<new_job>& jobs() const& { return jobs_; }
  std::vector<new_job> jobs() && { return std::move(jobs_); }

private:
  std::vector<new_job> jobs_;
};

}  // namespace sluice
