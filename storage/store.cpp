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

error why_not_stored(const job_id& id, const enqueue_answer& told, std::size_t place) {
  const auto missing = told.missing.find(place);
  if (missing == told.missing.end()) return no_job(id, told.each[place]);
  return {errc::not_found, cat("job ", printable(id.value, 200), " was not stored: its parent ",
                               printable(missing->second.value, 200), " is not in the store")};
}

}  // namespace sluice::storage
