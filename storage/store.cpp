#include "storage/store.hpp"

#include "core/no_job.hpp"

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
