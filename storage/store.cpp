#include "storage/store.hpp"

#include <algorithm>

#include "core/no_job.hpp"
#include "storage/job_filter.hpp"

namespace sluice::storage {

request::request(const request&) = default;
request::request(request&&) noexcept = default;
request& request::operator=(const request&) = default;
request& request::operator=(request&&) noexcept = default;
request::~request() = default;

answer::answer(const answer&) = default;
answer::answer(answer&&) noexcept = default;
answer& answer::operator=(const answer&) = default;
answer& answer::operator=(answer&&) noexcept = default;
answer::~answer() = default;

namespace {

// What is large weighs as much as many that are small.
std::size_t heavy(std::size_t bytes) { return bytes / 4'096; }

}  // namespace

std::size_t enqueue_request::weight() const {
  std::size_t sum = 1 + jobs.size();
  for (const auto& job : jobs)
    sum += heavy(job.record.size());
  return sum;
}

std::size_t settle_request::weight() const {
  std::size_t sum = 1 + runs.size() + (next ? next->free + next->ahead : 0);
  for (const auto& end : runs)
    sum += heavy(bytes_of(end));
  return sum;
}

std::size_t update_limiter_request::weight() const {
  std::size_t sum = 1 + parks.size() + heavy(state.size());
  for (const auto& one : wakes)
    sum += one.count;
  return sum;
}

std::size_t update_schedule_request::weight() const {
  std::size_t sum = 1 + enqueue.size();
  for (const auto& o : enqueue)
    sum += heavy(o.job.record.size());
  return sum;
}

std::size_t list_request::weight() const {
  return 1 + (reads_records(query) ? max_records_read : std::min(query.limit, largest_page));
}

std::size_t weight(const request& r) {
  return std::visit(
      [](const auto& one) -> std::size_t {
        if constexpr (requires { one.weight(); }) return one.weight();
        else return 1;
      },
      static_cast<const request::variant&>(r));
}

namespace {

// Why it was not stored.
error why_not(const job_id& id, errc code, const enqueue_answer::note& note) {
  using what = enqueue_answer::note::what;
  const auto about = printable(note.about, 200);
  const auto not_stored = cat("job ", printable(id.value, 200), " was not stored: ");
  switch (note.is) {
    case what::missing:
      if (note.about.starts_with('@')) return {code, cat(not_stored, no_group(note.about.substr(1)).message)};
      return {code, cat(not_stored, "its parent ", about, " is not in the store")};
    case what::no_group: return {code, cat(not_stored, no_group(note.about).message, "; make it first")};
    case what::sealed: return {code, cat(not_stored, "group ", about, " is sealed")};
    case what::cancelled: return {code, cat(not_stored, "group ", about, " was cancelled")};
    case what::circle:
      return {code, cat(not_stored, "it would wait for itself, since it is of group ", about, " and waits for it")};
    case what::other_group:
      return {code, cat(not_stored, "it is there already, in ",
                        about.empty() ? std::string("no group") : cat("group ", about), "; give it another id")};
    case what::own_parent:
      return {code,
              cat(not_stored, "its parent ", about,
                  " has its unique key, and a job cannot take the place of its own parent; leave out one of both")};
    case what::refused: return {code, cat(not_stored, "job ", about, " has its unique key")};
    case what::other_content: {
      const bool is_one = about == "type" || about == "queue";
      return {code, cat(not_stored, "a job with this id is there already, and its ", about,
                        is_one ? " differs" : " differ", "; give another job another id")};
    }
    case what::with_others:
      return {code, cat(not_stored, "all jobs of this call are stored or none is, and ", about, " was refused")};
    default: return no_job(id, code);
  }
}

}  // namespace

result<enqueue_report> report_of(const job_id& id, const enqueue_answer& told, std::size_t place) {
  using what = enqueue_answer::note::what;
  const auto note = told.notes.find(place);
  if (note == told.notes.end()) {
    if (told.each[place] != errc::none) return no_job(id, told.each[place]);
    return enqueue_report{id};
  }
  if (told.each[place] != errc::none) return why_not(id, told.each[place], note->second);
  const job_id other(note->second.about);
  switch (note->second.is) {
    case what::duplicate: return enqueue_report{other, enqueue_result::duplicate};
    case what::forgotten: return enqueue_report{other, enqueue_result::duplicate, {}, false};
    case what::extended: return enqueue_report{other, enqueue_result::extended};
    case what::replaced: return enqueue_report{id, enqueue_result::replaced, other};
    default: return enqueue_report{id, enqueue_result::same};
  }
}

}  // namespace sluice::storage
