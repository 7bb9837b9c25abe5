#include "storage/all_or_none.hpp"

#include "core/text.hpp"

namespace sluice::storage {
namespace {

error none_stored(const error& why) {
  if (why.code == errc::unknown_outcome) return why;
  return {why.code, cat(why.message, "; none of these was stored")};
}

// Of an answer that is no error.
result<std::vector<job_id>> ids_or_fault(std::vector<job_id> ids, const enqueue_answer& told) {
  // Whoever is at fault is told of, not those that were refused with it.
  for (const bool with_others : {false, true})
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (told.each[i] != errc::none && (told.each[i] == errc::refused) == with_others)
        return none_stored(report_of(ids[i], told, i).error());
  return ids;
}

}  // namespace

void enqueue_all(const async_store& store, const enqueue_pipeline& pipeline, std::vector<new_job> jobs, time_point now,
                 const callback<std::vector<job_id>>& then) {
  std::vector<job_id> ids;
  enqueue_request all;
  all.all_or_none = true;
  std::size_t bytes = 0, parents = 0;
  for (auto& job : jobs) {
    auto ready = pipeline.prepare(std::move(job), now);
    if (!ready)
      return then(none_stored({ready.error().code, cat("job ", ids.size() + 1, " of these: ", ready.error().message)}));
    bytes += ready->record.size();
    parents += ready->parents();
    ids.push_back(ready->id);
    all.jobs.push_back(std::move(*ready));
  }
  if (ids.size() > max_all_jobs || parents > max_all_parents || bytes > max_all_bytes)
    return then(error{errc::too_large, cat("at most ", max_all_jobs, " jobs with ", max_all_parents, " parents and ",
                                           max_all_bytes, " bytes are stored all or none; these are ", ids.size(),
                                           " with ", parents, " and ", bytes, ". Gather more by a group")});
  if (ids.empty()) return then(std::move(ids));
  ask_for<enqueue_answer>(store, std::move(all),
                          [ids = std::move(ids), then](const result<enqueue_answer>& told) mutable {
                            if (!told) then(told.error());
                            else then(ids_or_fault(std::move(ids), *told));
                          });
}

}  // namespace sluice::storage
