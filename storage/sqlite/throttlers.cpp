// Definitions, and how throttlers are looked at.
#include <algorithm>

#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"
#include "storage/words.hpp"

namespace sluice::storage::sqlite {
namespace {

std::uint64_t all_waiting(session& s, const std::string& resource) {
  auto q = s.db.prepare("SELECT count(*) FROM parked WHERE resource=?").with(resource);
  return q.step() ? static_cast<std::uint64_t>(q.number(0)) : 0;
}

throttler_row row_of(session& s, const std::string& resource) {
  throttler_row row;
  row.resource = resource;
  {
    auto q = s.db.prepare("SELECT text FROM definitions WHERE resource=?").with(resource);
    if (q.step()) row.definition = q.text(0);
  }
  row.held = s.held(resource);
  row.waiting = all_waiting(s, resource);
  auto q = s.db.prepare("SELECT at FROM openings WHERE resource=?").with(resource);
  if (q.step()) row.next_at = from_micros(q.number(0));
  return row;
}

// Those whose claims took it, among the others and as they are: the oldest first.
void add_who_took(session& s, const throttler_request& r, std::vector<throttler_answer::holder>& holders) {
  auto q = s.db.prepare("SELECT id,fence,started,took FROM jobs WHERE state=5 AND instr(took,?)>0")
               .with(query::blob{r.resource});
  while (q.step()) {
    const auto took = read_took(q.text(3));
    if (std::find(took.begin(), took.end(), r.resource) == took.end()) continue;
    holders.push_back(
        {job_id(q.text(0)), fence{static_cast<std::uint64_t>(q.number(1))}, false, from_micros(q.number(2))});
  }
  std::sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) {
    return std::tie(a.since, a.fence, a.id.value) < std::tie(b.since, b.fence, b.id.value);
  });
  if (holders.size() > r.limit) holders.resize(r.limit);
}

}  // namespace

define_answer apply(session& s, const define_request& r) {
  using how = define_answer::how;
  bool known = false, same = false;
  {
    auto q = s.db.prepare("SELECT text,coalesce(permits,-1),config FROM definitions WHERE resource=?").with(r.resource);
    known = q.step();
    if (known && !r.config.empty() && q.text(2) == r.config) return {how::unchanged};
    const auto permits = r.permits ? static_cast<std::int64_t>(*r.permits) : -1;
    same = known && q.text(0) == r.text && q.number(1) == permits;
  }
  if (same) {
    if (!r.config.empty())
      s.db.prepare("UPDATE definitions SET config=? WHERE resource=?").with(r.config, r.resource).run();
    return {how::unchanged};
  }
  s.db.prepare(
          "INSERT INTO definitions(resource,text,permits,config) VALUES(?1,?2,nullif(?3,-1),?4) "
          "ON CONFLICT(resource) DO UPDATE SET text=?2,permits=nullif(?3,-1),config=iif(?4='',config,?4)")
      .with(r.resource, r.text, r.permits ? static_cast<std::int64_t>(*r.permits) : -1, r.config)
      .run();
  pass_on(s, r.resource);
  // What was decided by the old one is not carried out any more.
  if (known && !r.permits)
    s.db.prepare(
            "INSERT INTO cells(name,version,state) VALUES(?,1,x'') ON CONFLICT(name) DO UPDATE SET version=version+1")
        .with(r.resource)
        .run();
  // Who waits for a window is counted anew.
  s.db.prepare(
          "INSERT INTO openings(resource,at) SELECT DISTINCT resource,?2 FROM parked WHERE (resource=?1 OR "
          "(resource>?1||'/' AND resource<?1||'0')) AND ?3=-1 ON CONFLICT(resource) DO UPDATE SET at=?2")
      .with(r.resource, s.now_us(), r.permits ? 0 : -1)
      .run();
  s.made_work = true;
  return {known ? how::changed : how::added};
}

change_answer apply(session& s, const undefine_request& r) {
  const auto n = s.held(r.resource);
  std::uint64_t wait = 0;
  {
    auto q = s.db.prepare("SELECT count(*) FROM parked WHERE resource=?1 OR (resource>?1||'/' AND resource<?1||'0')")
                 .with(r.resource);
    if (q.step()) wait = static_cast<std::uint64_t>(q.number(0));
  }
  if (n + wait > 0) return {errc::illegal_transition, words::in_use(r.resource, n, wait)};
  // Its cell keeps the number: what was decided before is not carried out on one of that name that is defined anew.
  s.db.prepare(
          "INSERT INTO cells(name,version,state) SELECT resource,1,x'' FROM definitions "
          "WHERE resource=? AND permits IS NULL ON CONFLICT(name) DO UPDATE SET version=version+1,state=x''")
      .with(r.resource)
      .run();
  s.db.prepare("DELETE FROM definitions WHERE resource=?").with(r.resource).run();
  s.db.prepare("UPDATE cells SET version=version+1,state=x'' WHERE name=? AND length(state)>0").with(r.resource).run();
  s.db.prepare("DELETE FROM openings WHERE resource=?1 OR (resource>?1||'/' AND resource<?1||'0')")
      .with(r.resource)
      .run();
  return {};
}

throttlers_answer apply(session& s, const throttlers_request& r) {
  throttlers_answer answer;
  s.flush();
  // The next name of each kind of trace, one by one: a line or a set of holders may be long.
  for (auto at = r.after;;) {
    std::string next;
    {
      auto q = s.db.prepare(
                       "SELECT min(name) FROM (SELECT min(resource) AS name FROM definitions WHERE resource>?1 "
                       "UNION ALL SELECT min(resource) FROM held WHERE resource>?1 "
                       "UNION ALL SELECT min(resource) FROM parked WHERE resource>?1)")
                   .with(at);
      if (q.step()) next = q.text(0);
    }
    if (next.empty()) return answer;
    if (answer.throttlers.size() == r.limit) {
      answer.next = at;
      return answer;
    }
    answer.throttlers.push_back(row_of(s, next));
    at = std::move(next);
  }
}

throttler_answer apply(session& s, const throttler_request& r) {
  throttler_answer answer;
  answer.about = row_of(s, r.resource);
  {
    auto q = s.db.prepare(
                     "SELECT j.id,p.fence,p.kind,p.since FROM permits p JOIN jobs j ON j.seq=p.seq WHERE p.resource=? "
                     "ORDER BY p.since,p.fence,j.id LIMIT ?")
                 .with(r.resource, r.limit);
    while (q.step())
      answer.holders.push_back({job_id(q.text(0)), fence{static_cast<std::uint64_t>(q.number(1))},
                                q.number(2) == static_cast<int>(permit_kind::reserved), from_micros(q.number(3))});
  }
  add_who_took(s, r, answer.holders);
  {
    auto q =
        s.db.prepare("SELECT j.id FROM parked p JOIN jobs j ON j.seq=p.seq WHERE p.resource=? ORDER BY p.pos LIMIT ?")
            .with(r.resource, r.limit);
    while (q.step())
      answer.waiters.emplace_back(q.text(0));
  }
  const auto cell = cell_of(r.resource);
  auto q = s.db.prepare("SELECT state FROM cells WHERE name=?").with(cell);
  if (q.step()) answer.state = q.text(0);
  return answer;
}

rouse_answer apply(session& s, const rouse_request& r) {
  rouse_answer answer;
  std::string at = r.after;
  for (std::uint32_t looked = 0; looked < r.limit; ++looked) {
    {
      auto q = s.db.prepare("SELECT resource FROM parked WHERE resource>? ORDER BY resource LIMIT 1").with(at);
      if (!q.step()) return answer;
      at = q.text(0);
    }
    const auto woken = pass_on(s, at);
    answer.woken += woken;
    if (answer.woken >= most_woken) {
      answer.next = woken >= most_woken ? r.after : at;
      return answer;
    }
  }
  answer.next = at;
  return answer;
}

bool finds_work(session& s, const rouse_request& r) {
  auto q = s.db.prepare("SELECT 1 FROM parked WHERE resource>? LIMIT 1").with(r.after);
  return q.step();
}

explain_answer apply(session& s, const explain_request& r) {
  explain_answer answer;
  auto got = apply(s, get_request{r.id});
  answer.code = got.code;
  answer.found = std::move(got.found);
  if (!answer.found) return answer;
  const auto row = s.find(r.id);
  const auto& about = *answer.found;
  answer.paused = s.paused(about.queue.value);
  {
    auto q = s.db.prepare("SELECT until FROM served WHERE queue=?").with(about.queue.value);
    answer.served = q.step() && q.number(0) > s.now_us();
  }
  s.flush();
  {
    auto q =
        s.db.prepare(
                "SELECT coalesce(sum(c.n),0) FROM counts c JOIN lines l ON l.id=c.line WHERE l.queue=? AND c.state=5")
            .with(about.queue.value);
    if (q.step()) answer.running = static_cast<std::uint64_t>(q.number(0));
  }
  if (about.state == job_state::enqueued) {
    for (const auto& l : s.lines_of(about.queue.value)) {
      // The woken go before all others.
      const bool all_first = l.kind == line_kind::woken && about.line != "woken";
      if (about.line == "woken" && l.kind != line_kind::woken) continue;
      auto q = s.db.prepare("SELECT count(*) FROM jobs WHERE state=1 AND line=? AND pos<?")
                   .with(l.id, all_first ? INT64_MAX : row->pos);
      if (q.step()) answer.before += static_cast<std::uint64_t>(q.number(0));
    }
  }
  if (about.state == job_state::throttled) {
    answer.waits_for = apply(s, throttler_request{about.line, 20});
    auto q = s.db.prepare("SELECT count(*) FROM parked WHERE resource=? AND pos<?").with(about.line, row->pos);
    if (q.step()) answer.before = static_cast<std::uint64_t>(q.number(0));
  }
  return answer;
}

}  // namespace sluice::storage::sqlite
