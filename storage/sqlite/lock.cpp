#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

using act = lock_request::act;

struct lock_row {
  sluice::fence fence;
  time_point until;
  duration lease;
  std::string token, holder;
};

std::optional<lock_row> find(session& s, const std::string& resource) {
  auto q = s.db.prepare("SELECT fence,until,lease,token,holder FROM locks WHERE resource=?").with(resource);
  if (!q.step()) return std::nullopt;
  return lock_row{fence{static_cast<std::uint64_t>(q.number(0))}, from_micros(q.number(1)), duration(q.number(2)),
                  q.text(3), q.text(4)};
}

// Empty when its lease is over.
std::optional<lock_holder> holder_of(const session& s, const std::optional<lock_row>& row) {
  if (!row || row->until <= s.now) return std::nullopt;
  return lock_holder{row->fence, row->holder, row->until, row->until - s.now};
}

bool clock_went_back(const session& s, const lock_row& row) { return row.until > s.now + row.lease + clock_slack; }

// Who asks for a lock that is held has it already, or is refused.
lock_answer refuse(const lock_request& r, const lock_row& row, lock_holder now) {
  return {row.token == r.token ? errc::none : errc::lock_held, std::move(now)};
}

void hold(session& s, const std::string& resource, lock_row& row, duration lease) {
  row.until = s.now + lease;
  row.lease = lease;
  s.db.prepare("UPDATE locks SET until=?,lease=? WHERE resource=?")
      .with(micros(row.until), lease.count(), resource)
      .run();
}

lock_holder take(session& s, const lock_request& r) {
  const lock_row row{fence{s.draw()}, s.now + r.lease, r.lease, r.token, r.holder};
  s.db.prepare("INSERT OR REPLACE INTO locks(resource,fence,until,lease,token,holder) VALUES(?,?,?,?,?,?)")
      .with(r.resource, row.fence.value, micros(row.until), row.lease.count(), row.token, row.holder)
      .run();
  return *holder_of(s, row);
}

}  // namespace

std::optional<lock_answer> look(session& s, const lock_request& r) {
  const auto row = find(s, r.resource);
  auto now = holder_of(s, row);
  const bool ours = row && row->fence == r.fence;
  switch (r.what) {
    case act::take:
      if (!now || clock_went_back(s, *row)) return std::nullopt;
      return refuse(r, *row, std::move(*now));
    case act::renew: return ours ? std::nullopt : std::optional(lock_answer{errc::stale_fence, std::move(now)});
    case act::release:
      if (ours) return std::nullopt;
      return lock_answer{now ? errc::stale_fence : errc::none, std::move(now)};
    case act::look: break;
  }
  return lock_answer{errc::none, std::move(now)};
}

lock_answer apply(session& s, const lock_request& r) {
  if (auto told = look(s, r)) return std::move(*told);
  auto row = find(s, r.resource);
  switch (r.what) {
    case act::take:
      if (!holder_of(s, row)) return {errc::none, take(s, r)};
      hold(s, r.resource, *row, row->lease);
      return refuse(r, *row, *holder_of(s, row));
    case act::renew: hold(s, r.resource, *row, r.lease); return {errc::none, holder_of(s, row)};
    default: s.db.prepare("DELETE FROM locks WHERE resource=?").with(r.resource).run(); return {};
  }
}

}  // namespace sluice::storage::sqlite
