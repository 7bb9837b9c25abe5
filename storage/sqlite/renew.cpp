#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {

renew_answer apply(session& s, const renew_request& r) {
  renew_answer answer;
  answer.each.reserve(r.starts.size());
  const auto until = micros(s.now + r.lease);
  for (const auto& start : r.starts) {
    s.db.prepare("UPDATE jobs SET pos=?,lease=?,renewals=renewals+1 WHERE id=? AND state=5 AND fence=?")
        .with(until, r.lease.count(), start.id.value, start.fence.value)
        .run();
    answer.each.push_back(s.db.changes() == 1 ? errc::none : errc::stale_fence);
  }
  return answer;
}

}  // namespace sluice::storage::sqlite
