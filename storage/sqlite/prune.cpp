#include <algorithm>

#include "storage/sqlite/schema.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

struct old_job {
  std::int64_t pos, seq, line;
};

// The oldest final jobs of one state that its rule no longer keeps, at most `limit`.
std::vector<old_job> beyond(session& s, job_state state, const retention_rule& rule, std::uint32_t limit) {
  std::vector<old_job> found;
  std::uint64_t total = 0;
  const auto lines = s.counted_lines(static_cast<int>(state));
  for (const auto& [line, n] : lines)
    total += static_cast<std::uint64_t>(n);
  const auto excess = rule.count && total > *rule.count ? total - *rule.count : 0;
  const auto cutoff = rule.age ? micros(s.now - *rule.age) : INT64_MIN;
  if (excess == 0 && !rule.age) return found;
  for (const auto& [line, n] : lines) {
    auto q = s.db.prepare("SELECT pos,seq FROM jobs WHERE state=? AND line=? ORDER BY pos LIMIT ?")
                 .with(static_cast<int>(state), line, limit);
    while (q.step() && (excess > 0 || q.number(0) < cutoff))
      found.push_back({q.number(0), q.number(1), line});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pos < b.pos; });
  const auto too_old =
      std::partition_point(found.begin(), found.end(), [&](const auto& o) { return o.pos < cutoff; }) - found.begin();
  found.resize(
      std::min<std::size_t>({found.size(), limit, std::max<std::size_t>(static_cast<std::size_t>(too_old), excess)}));
  return found;
}

std::vector<std::pair<job_state, const retention_rule*>> rules(const prune_request& r) {
  return {{job_state::succeeded, &r.retention.succeeded},
          {job_state::failed, &r.retention.failed},
          {job_state::deleted, &r.retention.deleted}};
}

std::int64_t silent_since(const session& s, const prune_request& r) {
  return r.server_age > duration::zero() ? s.now_us() - r.server_age.count() : INT64_MIN;
}

// Locks are forgotten here when nobody took or released them; not at once, so that a clock that was set ahead takes
// none from a holder who renews it yet.
constexpr duration lock_kept = std::chrono::hours(24);  // as in storage/machine/lua/prune.lua

std::int64_t locks_over_by(const session& s) { return s.now_us() - lock_kept.count(); }

bool forget_locks(session& s, std::uint32_t limit) {
  s.db.prepare(
          "DELETE FROM locks WHERE resource IN (SELECT resource FROM locks WHERE until<=? ORDER BY until,resource "
          "LIMIT ?)")
      .with(locks_over_by(s), limit)
      .run();
  return s.db.changes() == static_cast<int>(limit);
}

}  // namespace

prune_answer apply(session& s, const prune_request& r) {
  prune_answer answer;
  for (const auto& [state, rule] : rules(r)) {
    const auto old = beyond(s, state, *rule, r.limit);
    for (const auto& o : old) {
      s.db.prepare("DELETE FROM jobs WHERE seq=?").with(o.seq).run();
      s.count(state, o.line, -1);
    }
    answer.removed += static_cast<std::uint32_t>(old.size());
    answer.more = answer.more || old.size() == r.limit;
  }
  answer.more = forget_locks(s, r.limit) || answer.more;
  s.db.prepare("DELETE FROM claims WHERE server IN (SELECT id FROM servers WHERE beat<?)")
      .with(silent_since(s, r))
      .run();
  s.db.prepare("DELETE FROM servers WHERE beat<?").with(silent_since(s, r)).run();
  return answer;
}

bool finds_work(session& s, const prune_request& r) {
  for (const auto& [state, rule] : rules(r))
    if (!beyond(s, state, *rule, 1).empty()) return true;
  {
    auto q = s.db.prepare("SELECT 1 FROM locks WHERE until<=? LIMIT 1").with(locks_over_by(s));
    if (q.step()) return true;
  }
  auto q = s.db.prepare("SELECT 1 FROM servers WHERE beat<? LIMIT 1").with(silent_since(s, r));
  return q.step();
}

}  // namespace sluice::storage::sqlite
