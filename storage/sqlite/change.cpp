// What a person says about one job or queue: requeue, remove, pause.
#include "core/text.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

change_answer missing(const job_id& id) { return {errc::not_found, cat("there is no job ", printable(id.value, 200))}; }

}  // namespace

change_answer apply(session& s, const requeue_request& r) {
  auto row = s.find(r.id);
  if (!row) return missing(r.id);
  if (row->state == job_state::processing)
    return {errc::illegal_transition, cat("job ", r.id.value, " is running; delete it first, or wait")};
  if (!may_become(row->state, job_state::enqueued))
    return {errc::illegal_transition, cat("job ", r.id.value, " is ", name_of(row->state), " already")};
  auto progress = decode_progress(row->id, row->progress);
  const auto home = s.find_line(row->line);
  if (!progress || !home) {
    s.damaged(row->seq);
    return {errc::damaged_record, cat("the record of job ", r.id.value, " cannot be decoded; it is in quarantine")};
  }
  const bool afresh = is_final(row->state);  // with all its attempts
  if (afresh) progress->failures = 0;
  progress->reason = "requeued by hand";
  progress->result.clear();
  const auto bytes = encode(row->id, *progress);
  s.db.prepare("UPDATE jobs SET progress=?,attempt=?,losses=? WHERE seq=?")
      .with(query::blob{bytes}, afresh ? 0 : row->attempt, afresh ? 0 : row->losses, row->seq)
      .run();
  s.move(*row, job_state::enqueued, s.tail_line(home->queue, afresh ? 0 : row->losses),
         static_cast<std::int64_t>(s.draw()));
  s.made_work = true;
  return {};
}

change_answer apply(session& s, const remove_request& r) {
  auto row = s.find(r.id);
  if (!row) return missing(r.id);
  if (row->state == job_state::deleted) return {};
  if (!may_become(row->state, job_state::deleted))
    return {errc::illegal_transition, cat("job ", r.id.value, " is ", name_of(row->state))};
  auto progress = decode_progress(row->id, row->progress);
  const auto home = s.find_line(row->line);
  if (!progress || !home) {
    s.damaged(row->seq);
    return {errc::damaged_record, cat("the record of job ", r.id.value, " cannot be decoded; it is in quarantine")};
  }
  if (row->state == job_state::processing)
    remember(*progress, {fence{row->fence}, row->attempt, "deleted", row->server, "deleted by hand while it ran",
                         from_micros(row->started), s.now});
  progress->reason = "deleted by hand";
  const auto bytes = encode(row->id, *progress);
  s.db.prepare("UPDATE jobs SET progress=? WHERE seq=?").with(query::blob{bytes}, row->seq).run();
  s.move(*row, job_state::deleted, s.line_id(home->queue, line_kind::main), s.now_us());
  return {};
}

done_answer apply(session& s, const pause_request& r) {
  s.line_id(r.queue.value, line_kind::main);
  s.db.prepare("UPDATE queues SET paused=? WHERE name=?").with(r.paused ? 1 : 0, r.queue.value).run();
  if (!r.paused) s.made_work = true;
  return {};
}

}  // namespace sluice::storage::sqlite
