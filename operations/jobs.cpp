#include "operations/jobs.hpp"

#include <algorithm>
#include <memory>

#include "core/no_job.hpp"
#include "core/text.hpp"
#include "throttling/explain.hpp"

namespace sluice::operations {
namespace {

error none_stored(const error& why) {
  if (why.code == errc::unknown_outcome) return why;
  return {why.code, cat(why.message, "; none of these was stored")};
}

// Of an answer that is no error.
result<std::vector<job_id>> ids_or_fault(std::vector<job_id> ids, const storage::enqueue_answer& told) {
  // Whoever is at fault is told of, not those that were refused with it.
  for (const bool with_others : {false, true})
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (told.each[i] != errc::none && (told.each[i] == errc::refused) == with_others)
        return none_stored(storage::report_of(ids[i], told, i).error());
  return ids;
}

}  // namespace

void enqueue_all(const async_store& store, const enqueue_pipeline& pipeline, std::vector<new_job> jobs, time_point now,
                 const callback<std::vector<job_id>>& then) {
  std::vector<job_id> ids;
  storage::enqueue_request all;
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
  if (ids.size() > storage::max_all_jobs || parents > storage::max_all_parents || bytes > storage::max_all_bytes)
    return then(
        error{errc::too_large, cat("at most ", storage::max_all_jobs, " jobs with ", storage::max_all_parents,
                                   " parents and ", storage::max_all_bytes, " bytes are stored all or none; these are ",
                                   ids.size(), " with ", parents, " and ", bytes, ". Gather more by a group")});
  if (ids.empty()) return then(std::move(ids));
  storage::ask_for<storage::enqueue_answer>(
      store, std::move(all), [ids = std::move(ids), then](const result<storage::enqueue_answer>& told) mutable {
        if (!told) then(told.error());
        else then(ids_or_fault(std::move(ids), *told));
      });
}

result<job> job_of(const job_id& id, storage::answer& told) {
  auto* got = std::get_if<storage::get_answer>(&told);
  if (!got) return std::get<error>(std::move(told));
  if (got->found) return std::move(*got->found);
  return no_job(id, got->code);
}

void find_job(const async_store& store, const job_id& id, const callback<job>& then) {
  store(storage::get_request{id}, [id, then](storage::answer& told) { then(job_of(id, told)); });
}

void explain_job(const async_store& store, const job_id& id, const std::function<time_point()>& now,
                 const callback<explanation>& then) {
  storage::ask_for<storage::explain_answer>(
      store, storage::explain_request{id}, [store, id, now, then](const result<storage::explain_answer>& got) {
        if (!got) return then(got.error());
        if (!got->found) return then(no_job(id, got->code));
        if (got->found->state != job_state::enqueued) return then(throttling::explain(*got, now()));
        storage::ask_for<storage::servers_answer>(
            store, storage::servers_request{}, [seen = *got, now, then](const result<storage::servers_answer>& told) {
              then(throttling::explain(seen, now(), told ? told->servers : std::vector<server_info>()));
            });
      });
}

namespace {

struct changing_jobs : std::enable_shared_from_this<changing_jobs> {
  async_store store;
  storage::change_jobs_request wanted;
  callback<changes> then;
  changes each{};
  std::size_t one_by_one_until = 0;
  std::optional<error> away{};

  void next() {
    while (away && each.size() < wanted.ids.size())
      each.emplace_back(*away);
    if (each.size() == wanted.ids.size()) return then(std::move(each));
    const auto from = each.size();
    const auto most = from < one_by_one_until ? 1 : storage::max_changed;
    const auto to = std::min(from + most, wanted.ids.size());
    storage::change_jobs_request part{wanted.change, {}, wanted.only_in, wanted.by};
    for (auto i = from; i < to; ++i)
      part.ids.push_back(wanted.ids[i]);
    storage::ask_for<storage::change_jobs_answer>(
        store, std::move(part), [me = shared_from_this(), to](result<storage::change_jobs_answer> told) {
          me->took(to, told);
          me->next();
        });
  }

  void took(std::size_t to, result<storage::change_jobs_answer>& told) {
    const auto from = each.size();
    if (!told && told.error().code == errc::storage_damaged && to - from > 1) {
      one_by_one_until = to;
      return;
    }
    if (!told && is_transient(told.error().code)) {
      away = told.error();
      if (away->code == errc::unknown_outcome) away->code = errc::storage_unavailable;
      away->message = cat("the store was not asked any more: ", away->message);
    }
    for (auto i = from; i < to; ++i) {
      if (!told) each.emplace_back(told.error());
      else each.emplace_back(std::move(told->each[i - from]));
      if (each[i] && from < one_by_one_until && each[i]->code == errc::none) each[i]->changed = true;
    }
  }
};

}  // namespace

void change_jobs(const async_store& store, storage::change_jobs_request wanted, const callback<changes>& then) {
  const auto work = std::make_shared<changing_jobs>();
  work->store = store;
  work->wanted = std::move(wanted);
  work->then = then;
  work->next();
}

}  // namespace sluice::operations
