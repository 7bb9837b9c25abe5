#include "storage/sqlite/session.hpp"

#include <utility>

#include "core/log.hpp"
#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/schema.hpp"
#include "storage/words.hpp"

namespace sluice::storage::sqlite {

std::uint64_t session::draw() {
  if (!last_number_) {
    auto q = db.prepare("SELECT last FROM numbers");
    last_number_ = q.step() ? static_cast<std::uint64_t>(q.number(0)) : 0;
  }
  drawn_ = true;
  last_number_ = std::max(*last_number_ + 1, static_cast<std::uint64_t>(now_us()));
  return *last_number_;
}

std::int64_t session::line_id(const std::string& queue, line_kind kind, const std::string& name) {
  const auto key = std::tuple(queue, kind, name);
  if (const auto known = line_ids_.find(key); known != line_ids_.end()) return known->second;
  std::int64_t id = 0;
  {
    auto q = db.prepare("SELECT id FROM lines WHERE queue=? AND kind=? AND name=?")
                 .with(queue, static_cast<int>(kind), name);
    if (q.step()) id = q.number(0);
  }
  if (id == 0) {
    db.prepare("INSERT INTO lines(queue,kind,name) VALUES(?,?,?)").with(queue, static_cast<int>(kind), name).run();
    id = db.last_rowid();
    db.prepare("INSERT OR IGNORE INTO queues(name) VALUES(?)").with(queue).run();
  }
  line_ids_[key] = id;
  return id;
}

std::optional<line> session::find_line(std::int64_t id) {
  if (const auto known = lines_.find(id); known != lines_.end()) return known->second;
  auto q = db.prepare("SELECT queue,kind,name FROM lines WHERE id=?").with(id);
  if (!q.step()) return std::nullopt;
  return lines_[id] = line{id, q.text(0), static_cast<line_kind>(q.number(1)), q.text(2)};
}

std::vector<line> session::lines_of(const std::string& queue) {
  std::vector<line> found;
  auto q = db.prepare("SELECT id,kind,name FROM lines WHERE queue=? ORDER BY kind,name").with(queue);
  while (q.step())
    found.push_back({q.number(0), queue, static_cast<line_kind>(q.number(1)), q.text(2)});
  return found;
}

bool session::paused(const std::string& queue) {
  auto q = db.prepare("SELECT paused FROM queues WHERE name=?").with(queue);
  return q.step() && q.number(0) != 0;
}

std::vector<std::pair<std::int64_t, std::int64_t>> session::counted_lines(int state) {
  flush();
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  auto q = db.prepare("SELECT line,n FROM counts WHERE state=? AND n>0").with(state);
  while (q.step())
    found.emplace_back(q.number(0), q.number(1));
  return found;
}

std::uint64_t session::held(const std::string& resource) {
  std::int64_t n = 0;
  if (const auto unwritten = held_.find(resource); unwritten != held_.end()) n = unwritten->second;
  auto q = db.prepare("SELECT n FROM held WHERE resource=?").with(resource);
  if (q.step()) n += q.number(0);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, n));
}

void session::move(const job_row& row, job_state to, std::int64_t line, std::int64_t pos) {
  db.prepare("UPDATE jobs SET state=?,line=?,pos=? WHERE seq=?").with(static_cast<int>(to), line, pos, row.seq).run();
  count(row.state, row.line, -1);
  count(to, line, +1);
}

job_row read_row(const query& q) {
  job_row row;
  row.seq = q.number(0);
  row.id.value = q.text(1);
  row.state = static_cast<job_state>(q.number(2));
  row.line = q.number(3);
  row.pos = q.number(4);
  row.attempt = static_cast<std::uint32_t>(q.number(5));
  row.losses = static_cast<std::uint32_t>(q.number(6));
  row.fence = static_cast<std::uint64_t>(q.number(7));
  row.settled = static_cast<std::uint64_t>(q.number(8));
  row.server = q.text(9);
  row.lease = q.number(10);
  row.renewals = static_cast<std::uint64_t>(q.number(11));
  row.started = q.number(12);
  row.progress = q.text(13);
  row.took = q.text(14);
  return row;
}

std::optional<job_row> session::find(const job_id& id) {
  auto q = db.prepare("SELECT " SLUICE_JOB_COLUMNS " FROM jobs WHERE id=?").with(id.value);
  if (!q.step()) return std::nullopt;
  return read_row(q);
}

job session::assemble(const job_row& row, job_content content, job_progress progress) {
  job whole;
  whole.id = row.id;
  whole.type = std::move(content.type);
  whole.queue = std::move(content.queue);
  whole.args = std::move(content.args);
  whole.headers = std::move(content.headers);
  whole.retry = content.retry;
  whole.timeout = content.timeout;
  whole.created_at = content.created_at;
  whole.state = row.state;
  whole.attempt = row.attempt;
  whole.losses = row.losses;
  whole.fence.value = row.fence;
  whole.reason = std::move(progress.reason);
  whole.result = std::move(progress.result);
  whole.progress = std::move(progress.reported);
  whole.history = std::move(progress.history);
  // Once a throttled job goes on, its start is as if it had never been.
  if (row.state != job_state::processing && row.state != job_state::throttled)
    whole.fence = whole.history.empty() ? sluice::fence{} : whole.history.back().fence;
  if (row.state == job_state::scheduled) whole.due_at = from_micros(row.pos);
  if (row.state == job_state::processing) {
    whole.started_at = from_micros(row.started);
    whole.lease_until = from_micros(row.pos);
    whole.server = row.server;
  }
  if (is_final(row.state)) whole.finished_at = from_micros(row.pos);
  if (row.state == job_state::throttled) {
    whole.line = line_of(*this, row.seq);
    whole.reason = words::waits_for(whole.line);
  }
  if (row.state == job_state::enqueued) {
    if (const auto at = find_line(row.line)) {
      if (at->kind == line_kind::woken) whole.line = "woken";
      if (at->kind == line_kind::suspect) whole.line = "suspect";
      if (at->kind == line_kind::type) {
        whole.line = "type:" + at->name;
        whole.reason = words::type_unknown;
      }
    }
  }
  return whole;
}

void session::quarantine_damaged() {
  for (const auto seq : damaged_) {
    int state = 0;
    std::int64_t at_line = 0;
    std::string id;
    {
      // Read again: it may have been put aside by another, and its place taken by a healthy job.
      auto q = db.prepare("SELECT state,line,id,record,progress FROM jobs WHERE seq=?").with(seq);
      if (!q.step()) continue;
      state = static_cast<int>(q.number(0));
      at_line = q.number(1);
      id = q.text(2);
      const bool readable = decode_content(job_id(id), q.bytes(3)) && decode_progress(job_id(id), q.bytes(4));
      if (readable && find_line(at_line)) continue;
    }
    log::error("the record of job ", id, " cannot be decoded; its bytes are kept in quarantine");
    db.prepare(
          "INSERT INTO quarantine(id,line,state,at,record,progress) SELECT id,line,state,?,record,progress FROM jobs "
          "WHERE seq=?")
        .with(now_us(), seq)
        .run();
    if (const auto row = find(job_id(id)); row && row->seq == seq && !row->took.empty()) leave_took(*this, row->took);
    leave_admission(*this, seq, true);
    db.prepare("DELETE FROM jobs WHERE seq=?").with(seq).run();
    count(state, at_line, -1);
    const auto home = find_line(at_line);
    count(quarantined_state, home ? line_id(home->queue, line_kind::main) : at_line, +1);
  }
  damaged_.clear();
  pass_on_freed(*this);
}

void session::begin(time_point at) {
  now = at;
  made_work = false;
  admissions.reset();
  waiters.reset();
  last_number_.reset();
  drawn_ = false;
}

void session::flush() {
  for (const auto& [place, by] : counted_)
    if (by != 0)
      db.prepare("INSERT INTO counts(state,line,n) VALUES(?1,?2,?3) ON CONFLICT(state,line) DO UPDATE SET n=n+?3")
          .with(place.first, place.second, by)
          .run();
  counted_.clear();
  for (const auto& [resource, by] : held_) {
    if (by == 0) continue;
    db.prepare("INSERT INTO held(resource,n) VALUES(?1,?2) ON CONFLICT(resource) DO UPDATE SET n=n+?2")
        .with(resource, by)
        .run();
    if (by < 0) db.prepare("DELETE FROM held WHERE resource=? AND n<=0").with(resource).run();
  }
  held_.clear();
  for (const auto& [queue, n] : std::exchange(woken, {}))
    made_work = made_work || n > 0;
  if (drawn_) db.prepare("UPDATE numbers SET last=?").with(*last_number_).run();
  drawn_ = false;
}

void session::forget() {
  counted_.clear();
  held_.clear();
  freed.clear();
  woken.clear();
  line_ids_.clear();
  lines_.clear();
  damaged_.clear();
  last_number_.reset();
  drawn_ = false;
  made_work = false;
}

}  // namespace sluice::storage::sqlite
