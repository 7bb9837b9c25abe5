#include <sluice/job_graph.hpp>

#include "core/clock.hpp"
#include "core/text.hpp"

namespace sluice {

job_id job_graph::add(new_job job, const std::vector<job_id>& after) {
  if (job.id.empty()) job.id = make_job_id(system_clock().now());
  job.after.parents.insert(job.after.parents.end(), after.begin(), after.end());
  return jobs_.emplace_back(std::move(job)).id;
}

}  // namespace sluice
