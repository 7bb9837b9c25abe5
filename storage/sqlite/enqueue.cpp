#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

// The same id again: the same job, or another that may not have it.
errc compare_with_stored(session& s, const prepared_job& wanted) {
  auto q = s.db.prepare("SELECT seq,record FROM jobs WHERE id=?").with(wanted.id.value);
  if (!q.step()) return errc::id_conflict;
  const auto stored = decode_content(wanted.id, q.bytes(1));
  const auto offered = decode_content(wanted.id, wanted.record);
  if (!stored) {
    s.damaged(q.number(0));
    return errc::id_conflict;
  }
  return offered && stored->same_job(*offered) ? errc::none : errc::id_conflict;
}

}  // namespace

enqueue_answer apply(session& s, const enqueue_request& r) {
  enqueue_answer answer;
  answer.each.reserve(r.jobs.size());
  for (const auto& job : r.jobs) {
    const auto line = s.line_id(job.queue.value, line_kind::main);
    const bool later = job.delay > duration::zero();
    const auto state = later ? job_state::scheduled : job_state::enqueued;
    const auto pos = later ? micros(s.now + job.delay) : static_cast<std::int64_t>(s.draw());
    s.db.prepare("INSERT INTO jobs(id,state,line,pos,record) VALUES(?,?,?,?,?) ON CONFLICT(id) DO NOTHING")
        .with(job.id.value, static_cast<int>(state), line, pos, query::blob{job.record})
        .run();
    if (s.db.changes() == 0) {
      answer.each.push_back(compare_with_stored(s, job));
      continue;
    }
    s.count(state, line, +1);
    s.made_work = true;
    answer.each.push_back(errc::none);
  }
  return answer;
}

}  // namespace sluice::storage::sqlite
