// What a person says about one job or queue: requeue, remove, pause.
#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"
#include "storage/words.hpp"

namespace sluice::storage::sqlite {
namespace {

change_answer missing(const job_id& id) { return {errc::not_found, words::no_job(id)}; }

}  // namespace

change_answer apply(session& s, const requeue_request& r) {
  auto row = s.find(r.id);
  if (!row) return missing(r.id);
  if (row->state == job_state::processing) return {errc::illegal_transition, words::runs_still(r.id)};
  if (row->state == job_state::enqueued)
    if (const auto before = decode_progress(row->id, row->progress); before && before->reason == words::requeued)
      return {};  // asked again
  if (row->state == job_state::throttled)
    return {errc::illegal_transition, words::waits_still(r.id, line_of(s, row->seq))};
  if (!may_become(row->state, job_state::enqueued))
    return {errc::illegal_transition, words::is_already(r.id, name_of(row->state))};
  auto progress = decode_progress(row->id, row->progress);
  const auto home = s.find_line(row->line);
  if (!progress || !home) {
    s.damaged(row->seq);
    return {errc::damaged_record, words::damaged_job(r.id)};
  }
  const bool afresh = is_final(row->state);  // with all its attempts
  if (afresh) progress->failures = 0;
  progress->reason = words::requeued;
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
    return {errc::illegal_transition, words::is_already(r.id, name_of(row->state))};
  auto progress = decode_progress(row->id, row->progress);
  const auto home = s.find_line(row->line);
  if (!progress || !home) {
    s.damaged(row->seq);
    return {errc::damaged_record, words::damaged_job(r.id)};
  }
  if (row->state == job_state::processing)
    remember(*progress,
             {fence{row->fence}, row->attempt, "deleted", row->server, words::deleted_running, s.began(*row), s.now});
  progress->reason = words::deleted;
  const auto bytes = encode(row->id, *progress);
  s.db.prepare("UPDATE jobs SET progress=?,took=x'' WHERE seq=?").with(query::blob{bytes}, row->seq).run();
  s.move(*row, job_state::deleted, s.line_id(home->queue, line_kind::main), s.now_us());
  if (!row->took.empty()) leave_took(s, row->took);
  leave_admission(s, row->seq, true);
  pass_on_freed(s);
  return {};
}

done_answer apply(session& s, const pause_request& r) {
  s.line_id(r.queue.value, line_kind::main);
  s.db.prepare("UPDATE queues SET paused=? WHERE name=?").with(r.paused ? 1 : 0, r.queue.value).run();
  if (r.paused) return {};
  s.made_work = true;
  apply(s, rouse_request{});
  return {};
}

}  // namespace sluice::storage::sqlite
