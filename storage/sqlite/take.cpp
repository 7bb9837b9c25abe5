#include <algorithm>

#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

using how = take_answer::how;

// Room for a newcomer: nobody who waits is overtaken.
bool has_room(session& s, const std::string& resource) {
  const auto limit = limit_of(s, resource);
  if (!limit || s.held(resource) >= *limit) return false;
  pass_on(s, resource);
  return s.held(resource) < *limit;
}

take_answer::one take_one(session& s, const take_request::start& asked) {
  auto row = s.find(asked.key.id);
  const auto fence = asked.key.fence.value;
  if (!row || fence == 0 || row->fence != fence) return {how::stale, {}};
  if (row->state == job_state::throttled) return {how::parked, line_of(s, row->seq)};
  if (row->state != job_state::processing) return {how::stale, {}};
  for (const auto& resource : asked.permits)
    if (!limit_of(s, resource)) return {how::undefined, resource};

  std::vector<std::string> missing;
  {
    const auto has = permits_of(s, row->seq);
    const auto took = read_took(row->took);
    for (const auto& resource : asked.permits)
      if (std::find(took.begin(), took.end(), resource) == took.end() &&
          std::none_of(has.begin(), has.end(), [&](const permit& p) { return p.resource == resource; }))
        missing.push_back(resource);
  }
  const auto busy =
      std::find_if(missing.begin(), missing.end(), [&](const std::string& resource) { return !has_room(s, resource); });
  if (busy != missing.end() && !asked.park) return {how::busy, *busy};
  if (busy != missing.end()) {
    // Whoever waited in vain too often takes what is free before it.
    if (park(s, *row, *busy))
      for (auto free = missing.begin(); free != busy; ++free)
        grant(s, *free, row->seq, permit_kind::kept, 0);
    return {how::parked, *busy};
  }
  if (missing.empty() && !asked.strict) return {how::granted, {}};
  unfold_took(s, *row);
  const auto kind = asked.strict ? permit_kind::strict : permit_kind::held;
  for (const auto& resource : missing)
    grant(s, resource, row->seq, kind, fence);
  if (asked.strict) s.db.prepare("UPDATE permits SET kind=1 WHERE seq=?").with(row->seq).run();
  return {how::granted, {}};
}

}  // namespace

take_answer apply(session& s, const take_request& r) {
  take_answer answer;
  for (const auto& start : r.starts)
    answer.each.push_back(take_one(s, start));
  return answer;
}

}  // namespace sluice::storage::sqlite
