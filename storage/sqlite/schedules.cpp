// Schedules of recurring jobs: how they are looked at, and the one step that changes them.
#include <algorithm>

#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

using how = swap_schedule_answer::how;

#define SLUICE_SCHEDULE_COLUMNS \
  "name,version,record,coalesce(next_at,-1),coalesce(place,-1),coalesce(span,0),coalesce(placed,0)"

std::optional<schedule_place> read_place(const query& q, int first) {
  const schedule_place place{duration(q.number(first)), duration(q.number(first + 1)),
                             static_cast<std::uint64_t>(q.number(first + 2))};
  return place.is_sound() ? std::optional(place) : std::nullopt;
}

schedule_row read_row_of_schedule(session& s, const query& q) {
  schedule_row row;
  row.name = q.text(0);
  row.version = static_cast<std::uint64_t>(q.number(1));
  row.record = q.text(2);
  if (q.number(3) >= 0) row.next_at = from_micros(q.number(3));
  row.place = read_place(q, 4);
  auto runs = s.db.prepare("SELECT id,at FROM schedule_runs WHERE schedule=? ORDER BY seq").with(row.name);
  while (runs.step())
    row.runs.push_back({job_id(runs.text(0)), from_micros(runs.number(1))});
  return row;
}

std::optional<schedule_row> find_schedule(session& s, const std::string& name) {
  auto q = s.db.prepare("SELECT " SLUICE_SCHEDULE_COLUMNS " FROM schedules WHERE name=?").with(name);
  if (!q.step()) return std::nullopt;
  return read_row_of_schedule(s, q);
}

std::uint64_t last_place(session& s) {
  auto q = s.db.prepare("SELECT coalesce(max(placed),0) FROM schedules");
  return q.step() ? static_cast<std::uint64_t>(q.number(0)) : 0;
}

// The state of a job; nothing when there is none.
std::optional<job_state> state_of(session& s, const job_id& id) {
  const auto row = s.find(id);
  return row ? std::optional(row->state) : std::nullopt;
}

// What the last jobs of a schedule leave room for.
struct occupied {
  bool runs = false;   // one is not final
  bool waits = false;  // one of these does not run
  void add(job_state state) {
    runs = runs || !is_final(state);
    waits = waits || (!is_final(state) && state != job_state::processing);
  }
  bool forbids(overlap_rule rule) const {
    return (rule == overlap_rule::skip && runs) || (rule == overlap_rule::queue_one && waits);
  }
};

void remember_run(session& s, const std::string& name, const swap_schedule_request::occurrence& o) {
  s.db.prepare("INSERT INTO schedule_runs(schedule,id,at) VALUES(?,?,?)")
      .with(name, o.job.id.value, micros(o.at))
      .run();
  s.db.prepare(
          "DELETE FROM schedule_runs WHERE schedule=?1 AND seq<=(SELECT seq FROM schedule_runs WHERE schedule=?1 "
          "ORDER BY seq DESC LIMIT 1 OFFSET ?2)")
      .with(name, static_cast<std::uint32_t>(runs_remembered))
      .run();
}

std::vector<how> enqueue_occurrences(session& s, const swap_schedule_request& r, const schedule_row* before) {
  occupied now;
  if (before && r.overlap != overlap_rule::allow)
    for (const auto& run : before->runs)
      if (const auto state = state_of(s, run.id)) now.add(*state);
  std::vector<how> each;
  for (const auto& o : r.enqueue) {
    if (state_of(s, o.job.id)) {
      each.push_back(how::there);
    } else if (now.forbids(r.overlap)) {
      each.push_back(how::overlaps);
    } else {
      (void)apply(s, enqueue_request{{o.job}});
      now.add(job_state::enqueued);
      remember_run(s, r.name, o);
      each.push_back(how::enqueued);
    }
  }
  return each;
}

void write(session& s, const swap_schedule_request& r) {
  const auto number = r.place ? (r.among ? s.draw() : r.place->number) : 0;
  s.db.prepare(
          "INSERT INTO schedules(name,version,record,next_at,place,span,placed) "
          "VALUES(?1,?2,?3,nullif(?4,-1),nullif(?5,-1),?6,?7) ON CONFLICT(name) DO UPDATE SET "
          "version=?2,record=?3,next_at=nullif(?4,-1),place=nullif(?5,-1),span=?6,placed=?7")
      .with(r.name, s.draw(), query::blob{*r.record}, r.next_at ? micros(*r.next_at) : -1,
            r.place ? r.place->offset.count() : -1, r.place ? r.place->span.count() : 0, number)
      .run();
}

}  // namespace

schedules_answer apply(session& s, const schedules_request& r) {
  schedules_answer answer;
  answer.now = s.now;
  auto q = s.db.prepare("SELECT " SLUICE_SCHEDULE_COLUMNS " FROM schedules WHERE name>? ORDER BY name LIMIT ?")
               .with(r.after, r.limit + 1);
  while (q.step()) {
    if (answer.rows.size() == r.limit) {
      answer.next = answer.rows.back().name;
      break;
    }
    answer.rows.push_back(read_row_of_schedule(s, q));
  }
  return answer;
}

schedule_answer apply(session& s, const schedule_request& r) {
  schedule_answer answer;
  answer.now = s.now;
  answer.row = find_schedule(s, r.name);
  auto q = s.db.prepare("SELECT place,span,placed FROM schedules WHERE place IS NOT NULL");
  while (q.step())
    if (const auto place = read_place(q, 0)) answer.places.push_back(*place);
  return answer;
}

due_answer apply(session& s, const due_request& r) {
  due_answer answer;
  answer.now = s.now;
  {
    auto q = s.db.prepare("SELECT " SLUICE_SCHEDULE_COLUMNS
                          " FROM schedules WHERE next_at IS NOT NULL AND next_at<=? ORDER BY next_at LIMIT ?")
                 .with(s.now_us(), r.limit);
    while (q.step())
      answer.rows.push_back(read_row_of_schedule(s, q));
  }
  if (answer.rows.size() == r.limit) {
    answer.next_in = duration(0);
    return answer;
  }
  auto q = s.db.prepare("SELECT next_at FROM schedules WHERE next_at>? ORDER BY next_at LIMIT 1").with(s.now_us());
  if (q.step()) answer.next_in = duration(q.number(0) - s.now_us());
  return answer;
}

std::optional<duration> next_schedule_in(session& s) {
  auto q = s.db.prepare("SELECT next_at FROM schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1");
  if (!q.step()) return std::nullopt;
  return duration(std::max<std::int64_t>(0, q.number(0) - s.now_us()));
}

swap_schedule_answer apply(session& s, const swap_schedule_request& r) {
  swap_schedule_answer answer;
  answer.now = s.now;
  answer.row = find_schedule(s, r.name);
  const auto version = answer.row ? answer.row->version : 0;
  if (version != r.version || (r.among && last_place(s) != *r.among)) return answer;
  answer.swapped = true;
  if (!r.record) {
    s.db.prepare("DELETE FROM schedules WHERE name=?").with(r.name).run();
    s.db.prepare("DELETE FROM schedule_runs WHERE schedule=?").with(r.name).run();
    answer.row.reset();
    return answer;
  }
  answer.each = enqueue_occurrences(s, r, answer.row ? &*answer.row : nullptr);
  write(s, r);
  if (r.enqueue.empty() && r.next_at) s.made_work = true;  // it may be due sooner than others know
  answer.row = find_schedule(s, r.name);
  return answer;
}

}  // namespace sluice::storage::sqlite
