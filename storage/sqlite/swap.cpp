#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr std::uint32_t most_lines = 1'000;

cell_view view(session& s, const std::string& name) {
  cell_view cell;
  cell.now = s.now;
  {
    auto q = s.db.prepare("SELECT version,state FROM cells WHERE name=?").with(name);
    if (q.step()) {
      cell.version = static_cast<std::uint64_t>(q.number(0));
      cell.state = q.text(1);
    }
  }
  {
    auto q = s.db.prepare("SELECT text FROM definitions WHERE resource=?").with(name);
    if (q.step()) cell.definition = q.text(0);
  }
  const auto look_at = [&](const std::string& resource) {
    if (const auto n = waiting(s, resource)) cell.lines.push_back({resource, n});
  };
  look_at(name);
  // Its keys, one by one: each may have many waiters. '0' is the character behind '/'.
  const std::string end = name + "0";
  for (std::string at = name + "/"; cell.lines.size() < most_lines;) {
    {
      auto q = s.db.prepare("SELECT resource FROM parked WHERE resource>? AND resource<? ORDER BY resource LIMIT 1")
                   .with(at, end);
      if (!q.step()) break;
      at = q.text(0);
    }
    look_at(at);
  }
  return cell;
}

take_answer::one park_one(session& s, const swap_request::park& asked) {
  using how = take_answer::how;
  const auto row = s.find(asked.start.id);
  if (!row || asked.start.fence.value == 0 || row->fence != asked.start.fence.value) return {how::stale, {}};
  if (row->state == job_state::throttled) return {how::parked, line_of(s, row->seq)};
  if (row->state != job_state::processing) return {how::stale, {}};
  park(s, *row, asked.resource);
  return {how::parked, asked.resource};
}

std::uint64_t wake(session& s, const swap_request::wake& asked, time_point until) {
  std::uint64_t woken = 0;
  for (; woken < asked.count; ++woken) {
    const auto seq = wake_first(s, asked.resource);
    if (!seq) break;
    s.db.prepare(
            "INSERT INTO slots(seq,resource,until) VALUES(?1,?2,?3) ON CONFLICT(seq,resource) DO UPDATE SET until=?3")
        .with(*seq, asked.resource, micros(until))
        .run();
  }
  return woken;
}

// A line has an opening exactly while somebody waits there. Those whose queues do not run are looked at again when this
// step is over; those of whom this step does not know that their queues run again, at once.
void open_at(session& s, swap_request::opening o, time_point until) {
  if (!has_waiters(s, o.resource)) o.at.reset();
  else if (!o.at) o.at = stands_still(s, o.resource) ? until : s.now;
  if (!o.at) s.db.prepare("DELETE FROM openings WHERE resource=?").with(o.resource).run();
  else
    s.db.prepare("INSERT INTO openings(resource,at) VALUES(?1,?2) ON CONFLICT(resource) DO UPDATE SET at=?2")
        .with(o.resource, micros(*o.at))
        .run();
}

}  // namespace

cell_answer apply(session& s, const cell_request& r) { return {view(s, r.cell)}; }

swap_answer apply(session& s, const swap_request& r) {
  swap_answer answer;
  std::uint64_t version = 0;
  {
    auto q = s.db.prepare("SELECT version FROM cells WHERE name=?").with(r.cell);
    if (q.step()) version = static_cast<std::uint64_t>(q.number(0));
  }
  answer.swapped = version == r.version && s.now >= r.from && s.now < r.until;
  if (answer.swapped) {
    s.db.prepare(
            "INSERT INTO cells(name,version,state) VALUES(?1,?2,?3) ON CONFLICT(name) DO UPDATE SET "
            "version=?2,state=?3")
        .with(r.cell, version + 1, query::blob{r.state})
        .run();
    for (const auto& p : r.parks)
      answer.parked.push_back(park_one(s, p));
    for (const auto& start : r.let_in) {
      const auto row = s.find(start.id);
      const bool current = row && row->state == job_state::processing && row->fence == start.fence.value;
      answer.let_in.push_back(current ? errc::none : errc::stale_fence);
    }
    for (const auto& w : r.wakes)
      answer.woken += wake(s, w, r.until);
    for (const auto& o : r.openings)
      open_at(s, o, r.until);
    if (!r.openings.empty()) s.made_work = true;  // timers look when the next is due
  }
  answer.cell = view(s, r.cell);
  return answer;
}

}  // namespace sluice::storage::sqlite
