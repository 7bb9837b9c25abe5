#include "storage/sqlite/admission.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "core/text.hpp"

namespace sluice::storage::sqlite {
namespace {

// The queues that have waiters in a line, found one by one: a line may be long.
template <class F>
void each_queue(session& s, const std::string& resource, F&& look) {
  std::string queue;
  for (;;) {
    {
      auto q = s.db.prepare("SELECT queue FROM parked WHERE resource=? AND queue>? ORDER BY queue LIMIT 1")
                   .with(resource, queue);
      if (!q.step()) return;
      queue = q.text(0);
    }
    look(queue);
  }
}

struct ticket {
  std::int64_t first = 0;  // 0: not parked since its last start ended
  std::uint32_t vain = 0;
};

ticket ticket_of(session& s, std::int64_t seq) {
  auto q = s.db.prepare("SELECT first,vain FROM admissions WHERE seq=?").with(seq);
  return q.step() ? ticket{q.number(0), static_cast<std::uint32_t>(q.number(1))} : ticket{};
}

void write_ticket(session& s, std::int64_t seq, const ticket& t) {
  s.admissions = true;
  s.db.prepare(
          "INSERT INTO admissions(seq,first,vain) VALUES(?1,?2,?3) ON CONFLICT(seq) DO UPDATE SET first=?2,vain=?3")
      .with(seq, t.first, t.vain)
      .run();
}

void stand_in_line(session& s, const job_row& row, const std::string& queue, const std::string& resource,
                   std::int64_t place) {
  s.waiters = true;
  s.db.prepare("INSERT INTO parked(seq,resource,queue,pos) VALUES(?,?,?,?)")
      .with(row.seq, resource, queue, place)
      .run();
  s.move(row, job_state::throttled, s.line_id(queue, line_kind::main), place);
}

}  // namespace

bool any_admissions(session& s) {
  if (!s.admissions) s.admissions = s.db.prepare("SELECT 1 FROM admissions LIMIT 1").step();
  return *s.admissions;
}

bool has_admission(session& s, std::int64_t seq) {
  return any_admissions(s) && s.db.prepare("SELECT 1 FROM admissions WHERE seq=?").with(seq).step();
}

std::optional<std::uint64_t> limit_of(session& s, const std::string& resource) {
  auto q = s.db.prepare("SELECT permits FROM definitions WHERE resource=? AND permits IS NOT NULL").with(resource);
  if (q.step()) return static_cast<std::uint64_t>(q.number(0));
  return resource.starts_with("mutex:") ? std::optional<std::uint64_t>(1) : std::nullopt;
}

bool runs(session& s, const std::string& queue) {
  if (s.paused(queue)) return false;
  auto q = s.db.prepare("SELECT until FROM served WHERE queue=?").with(queue);
  return q.step() && q.number(0) > s.now_us();
}

// Written anew only when half of it is over: a claim should not cost a write for this.
void mark_served(session& s, const std::string& queue) {
  s.db.prepare(
          "INSERT INTO served(queue,until) VALUES(?1,?2) ON CONFLICT(queue) DO UPDATE SET until=?2 WHERE until<?3 OR "
          "until>?2")
      .with(queue, micros(s.now + served_for), micros(s.now + served_for / 2))
      .run();
}

std::vector<permit> permits_of(session& s, std::int64_t seq) {
  std::vector<permit> found;
  auto q = s.db.prepare("SELECT resource,kind FROM permits WHERE seq=? ORDER BY resource").with(seq);
  while (q.step())
    found.push_back({q.text(0), static_cast<permit_kind>(q.number(1))});
  return found;
}

void grant(session& s, const std::string& resource, std::int64_t seq, permit_kind kind, std::uint64_t fence) {
  s.admissions = true;
  s.db.prepare("INSERT INTO permits(resource,seq,kind,fence,since) VALUES(?,?,?,?,?)")
      .with(resource, seq, static_cast<int>(kind), fence, s.now_us())
      .run();
  s.db.prepare("INSERT OR IGNORE INTO admissions(seq) VALUES(?)").with(seq).run();
  s.count_held(resource, +1);
}

void release(session& s, const std::string& resource, std::int64_t seq) {
  s.db.prepare("DELETE FROM permits WHERE resource=? AND seq=?").with(resource, seq).run();
  if (s.db.changes() > 0) s.count_held(resource, -1);
}

std::string write_took(const std::vector<std::string>& resources) {
  std::string took;
  for (const auto& resource : resources)
    took += cat(resource.size(), ':', resource);
  return took;
}

// Stops at what nobody wrote.
std::vector<std::string> read_took(const std::string& took) {
  std::vector<std::string> resources;
  for (std::size_t at = 0; at < took.size();) {
    std::size_t size = 0;
    const auto read = std::from_chars(took.data() + at, took.data() + took.size(), size);
    at = static_cast<std::size_t>(read.ptr - took.data()) + 1;
    if (read.ec != std::errc{} || at > took.size() || size > took.size() - at) break;
    resources.push_back(took.substr(at, size));
    at += size;
  }
  return resources;
}

void leave_took(session& s, const std::string& took) {
  for (auto& resource : read_took(took)) {
    s.count_held(resource, -1);
    s.freed.push_back(std::move(resource));
  }
}

void pass_on_freed(session& s) {
  auto freed = std::exchange(s.freed, {});
  if (freed.empty()) return;
  if (!s.waiters) s.waiters = s.db.prepare("SELECT 1 FROM parked LIMIT 1").step();
  if (!*s.waiters) return;
  // Each once, where it came free first: what fits is woken at once.
  std::set<std::string_view> seen;
  for (const auto& resource : freed)
    if (seen.insert(resource).second) pass_on(s, resource);
}

void unfold_took(session& s, job_row& row) {
  if (row.took.empty()) return;
  s.admissions = true;
  s.db.prepare("INSERT OR IGNORE INTO admissions(seq) VALUES(?)").with(row.seq).run();
  for (const auto& resource : read_took(std::exchange(row.took, {})))
    s.db.prepare("INSERT OR IGNORE INTO permits(resource,seq,kind,fence,since) VALUES(?,?,0,?,?)")
        .with(resource, row.seq, row.fence, row.started)
        .run();
  s.db.prepare("UPDATE jobs SET took=x'' WHERE seq=?").with(row.seq).run();
}

bool stands_still(session& s, const std::string& resource) {
  bool some = false, running = false;
  each_queue(s, resource, [&](const std::string& queue) {
    some = true;
    running = running || runs(s, queue);
  });
  return some && !running;
}

bool has_waiters(session& s, const std::string& resource) {
  return s.db.prepare("SELECT 1 FROM parked WHERE resource=? LIMIT 1").with(resource).step();
}

bool waited_for(session& s, const std::string& resource) {
  bool running = false;
  each_queue(s, resource, [&](const std::string& queue) { running = running || runs(s, queue); });
  return running;
}

std::uint64_t waiting(session& s, const std::string& resource) {
  std::uint64_t n = 0;
  each_queue(s, resource, [&](const std::string& queue) {
    if (!runs(s, queue)) return;
    auto q = s.db.prepare("SELECT count(*) FROM parked WHERE resource=? AND queue=?").with(resource, queue);
    if (q.step()) n += static_cast<std::uint64_t>(q.number(0));
  });
  return n;
}

std::optional<std::int64_t> wake_first(session& s, const std::string& resource) {
  struct waiter {
    std::int64_t pos = 0, seq = 0;
    std::string queue;
  };
  std::optional<waiter> first;
  each_queue(s, resource, [&](const std::string& queue) {
    if (!runs(s, queue)) return;
    auto q = s.db.prepare("SELECT pos,seq FROM parked WHERE resource=? AND queue=? ORDER BY pos LIMIT 1")
                 .with(resource, queue);
    if (q.step() && (!first || q.number(0) < first->pos)) first = waiter{q.number(0), q.number(1), queue};
  });
  if (!first) return std::nullopt;
  leave_line(s, first->seq);
  job_row row;
  {
    auto q = s.db.prepare("SELECT " SLUICE_JOB_COLUMNS " FROM jobs WHERE seq=?").with(first->seq);
    if (!q.step()) return first->seq;  // never so, or the audit tells
    row = read_row(q);
  }
  const auto to =
      is_suspect(row.losses) ? s.tail_line(first->queue, row.losses) : s.line_id(first->queue, line_kind::woken);
  s.move(row, job_state::enqueued, to, static_cast<std::int64_t>(s.draw()));
  ++s.woken[first->queue];
  return first->seq;
}

std::uint64_t pass_on(session& s, const std::string& resource) {
  const auto limit = limit_of(s, resource);
  if (!limit) return 0;
  std::uint64_t woken = 0;
  for (auto taken = s.held(resource); taken < *limit && woken < most_woken; ++taken, ++woken) {
    const auto seq = wake_first(s, resource);
    if (!seq) break;
    grant(s, resource, *seq, permit_kind::reserved, 0);
  }
  return woken;
}

void leave_line(session& s, std::int64_t seq) {
  const auto resource = line_of(s, seq);
  if (resource.empty()) return;
  s.db.prepare("DELETE FROM parked WHERE seq=?").with(seq).run();
  s.db.prepare("DELETE FROM openings WHERE resource=?1 AND NOT EXISTS(SELECT 1 FROM parked WHERE resource=?1)")
      .with(resource)
      .run();
}

std::string line_of(session& s, std::int64_t seq) {
  auto q = s.db.prepare("SELECT resource FROM parked WHERE seq=?").with(seq);
  return q.step() ? q.text(0) : std::string();
}

void park_fresh(session& s, const job_row& row, const std::string& queue, const std::string& resource) {
  const auto first = static_cast<std::int64_t>(s.draw());
  write_ticket(s, row.seq, {first, 0});
  s.db.prepare("UPDATE jobs SET fence=0 WHERE seq=?").with(row.seq).run();
  stand_in_line(s, row, queue, resource, first);
}

bool park(session& s, job_row row, const std::string& resource) {
  unfold_took(s, row);
  const auto home = s.find_line(row.line);
  if (!home) {
    s.damaged(row.seq);
    return false;
  }
  const bool by_host = resource.starts_with("custom:");
  auto t = ticket_of(s, row.seq);
  if (t.first == 0) t = {static_cast<std::int64_t>(s.draw()), 0};
  else if (!by_host) ++t.vain;
  write_ticket(s, row.seq, t);
  const bool keeps = t.vain >= vain_wakes && !by_host;
  const bool for_a_permit = limit_of(s, resource).has_value();
  std::vector<std::string> free;
  for (const auto& has : permits_of(s, row.seq)) {
    // While it waits for a permit it keeps only what comes before that by name, so that no two wait for each other.
    // What is strict is no exception: a job that has it and lacks another asks for more than it did in its last start.
    const bool may_keep = keeps || has.kind == permit_kind::strict;
    if (may_keep && (!for_a_permit || has.resource < resource)) continue;
    release(s, has.resource, row.seq);
    free.push_back(has.resource);
  }
  s.db.prepare("UPDATE permits SET fence=0,kind=CASE kind WHEN 1 THEN 1 ELSE 3 END WHERE seq=?").with(row.seq).run();
  // A start that was throttled does not count as a run.
  s.db.prepare("UPDATE jobs SET attempt=? WHERE seq=?").with(row.attempt > 0 ? row.attempt - 1 : 0, row.seq).run();
  stand_in_line(s, row, home->queue, resource, t.first);
  for (const auto& f : free)
    pass_on(s, f);
  return keeps;
}

void leave_admission(session& s, std::int64_t seq, bool final) {
  if (!has_admission(s, seq)) return;
  bool stays = false;
  for (const auto& has : permits_of(s, seq)) {
    if (has.kind == permit_kind::strict && !final) {
      stays = true;
      continue;
    }
    release(s, has.resource, seq);
    s.freed.push_back(has.resource);
  }
  s.db.prepare("DELETE FROM slots WHERE seq=?").with(seq).run();
  leave_line(s, seq);
  if (stays) {
    s.db.prepare("UPDATE permits SET fence=0 WHERE seq=?").with(seq).run();
    s.db.prepare("UPDATE admissions SET first=0,vain=0 WHERE seq=?").with(seq).run();
  } else {
    s.db.prepare("DELETE FROM admissions WHERE seq=?").with(seq).run();
  }
}

std::vector<std::string> admit_claimed(session& s, std::int64_t seq, std::uint64_t fence) {
  if (!any_admissions(s)) return {};
  s.db.prepare("UPDATE permits SET fence=?,kind=CASE kind WHEN 1 THEN 1 ELSE 0 END WHERE seq=?").with(fence, seq).run();
  s.db.prepare("DELETE FROM slots WHERE seq=? AND until<=?").with(seq, s.now_us()).run();
  return admitted(s, seq);
}

std::vector<std::string> admitted(session& s, std::int64_t seq) {
  if (!any_admissions(s)) return {};
  std::vector<std::string> all;
  auto q =
      s.db.prepare("SELECT resource FROM permits WHERE seq=?1 UNION SELECT resource FROM slots WHERE seq=?1").with(seq);
  while (q.step())
    all.push_back(q.text(0));
  return all;
}

void pass_on_reservations(session& s, const promote_request& r) {
  struct lapsed {
    std::string resource;
    std::int64_t seq;
  };
  std::vector<lapsed> over;
  {
    auto q = s.db.prepare("SELECT resource,seq FROM permits WHERE kind=2 AND since<=? ORDER BY since LIMIT ?")
                 .with(micros(s.now - r.reservation), r.limit);
    while (q.step())
      over.push_back({q.text(0), q.number(1)});
  }
  for (const auto& o : over) {
    release(s, o.resource, o.seq);
    job_row row;
    {
      auto q = s.db.prepare("SELECT " SLUICE_JOB_COLUMNS " FROM jobs WHERE seq=?").with(o.seq);
      if (q.step()) row = read_row(q);
    }
    const auto home = row.state == job_state::enqueued ? s.find_line(row.line) : std::nullopt;
    if (home && row.seq == o.seq) {
      auto t = ticket_of(s, o.seq);
      t.first = static_cast<std::int64_t>(s.draw());
      write_ticket(s, o.seq, t);
      stand_in_line(s, row, home->queue, o.resource, t.first);
    }
    pass_on(s, o.resource);
  }
}

std::optional<std::int64_t> next_lapse(session& s, const promote_request& r) {
  auto q = s.db.prepare("SELECT since FROM permits WHERE kind=2 ORDER BY since LIMIT 1");
  return q.step() ? std::optional(q.number(0) + r.reservation.count()) : std::nullopt;
}

std::string cell_of(const std::string& resource) { return resource.substr(0, resource.find('/')); }

}  // namespace sluice::storage::sqlite
