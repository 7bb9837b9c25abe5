#include <sluice/job_graph.hpp>

#include "client/parts.hpp"
#include "core/clock.hpp"

namespace sluice {

job_id job_graph::add(new_job job, const std::vector<job_id>& after) {
  if (job.id.empty()) job.id = make_job_id(system_clock().now());
  job.after.parents.insert(job.after.parents.end(), after.begin(), after.end());
  return jobs_.emplace_back(std::move(job)).id;
}

result<std::vector<job_id>> client::enqueue_all(std::vector<new_job> jobs) {
  using namespace storage;
  std::vector<job_id> ids;
  enqueue_request all{.all_or_none = true};
  std::size_t bytes = 0, parents = 0;
  for (const auto now = parts_->shared_store->now(); auto& job : jobs) {
    auto ready = parts_->pipeline.prepare(std::move(job), now);
    if (!ready) return error{ready.error().code, cat("job ", ids.size() + 1, " of these: ", ready.error().message)};
    bytes += ready->record.size();
    parents += ready->parents();
    ids.push_back(ready->id);
    all.jobs.push_back(std::move(*ready));
  }
  if (ids.size() > max_all_jobs || parents > max_all_parents || bytes > max_all_bytes)
    return error{errc::too_large, cat("at most ", max_all_jobs, " jobs with ", max_all_parents, " parents and ",
                                      max_all_bytes, " bytes are stored all or none; these are ", ids.size(), " with ",
                                      parents, " and ", bytes, ". Gather more by a group")};
  if (ids.empty()) return ids;
  const auto stored = parts_->ask_for<enqueue_answer>(all);
  if (!stored) return stored.error();
  // Whoever is at fault is told of, not those that were refused with it.
  for (const bool with_others : {false, true})
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (stored->each[i] != errc::none && (stored->each[i] == errc::refused) == with_others)
        return report_of(ids[i], *stored, i).error();
  return ids;
}

}  // namespace sluice
