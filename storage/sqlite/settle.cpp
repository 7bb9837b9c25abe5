#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

using how = settlement::how;

struct place {
  job_state state;
  std::int64_t line;
  std::int64_t pos;
};

place place_after(session& s, const settlement& end, const job_row& row, const std::string& queue) {
  const auto tail = [&] {
    return place{job_state::enqueued, s.tail_line(queue, row.losses), static_cast<std::int64_t>(s.draw())};
  };
  switch (end.end) {
    case how::succeeded: return {job_state::succeeded, row.line, s.now_us()};
    case how::failed: return {job_state::failed, row.line, s.now_us()};
    case how::deleted: return {job_state::deleted, row.line, s.now_us()};
    case how::retry:
    case how::deferred:
      if (end.delay > duration::zero()) return {job_state::scheduled, row.line, micros(s.now + end.delay)};
      return tail();
    case how::given_back:
      if (is_suspect(row.losses)) return tail();
      return {job_state::enqueued, s.line_id(queue, line_kind::woken), static_cast<std::int64_t>(s.draw())};
  }
  return tail();
}

errc settle_one(session& s, const settlement& end) {
  auto row = s.find(end.start.id);
  if (!row || end.start.fence.value == 0) return errc::stale_fence;
  if (row->settled == end.start.fence.value) return errc::none;  // asked again
  if (row->state != job_state::processing || row->fence != end.start.fence.value) return errc::stale_fence;
  auto progress = decode_progress(row->id, row->progress);
  const auto home = s.find_line(row->line);
  if (!progress || !home) {
    s.damaged(row->seq);
    return errc::none;  // the start did end; its record is kept aside
  }
  // A start that was given back or deferred does not count as a run.
  const bool counts = end.end != how::given_back && end.end != how::deferred;
  const auto attempt = counts || row->attempt == 0 ? row->attempt : row->attempt - 1;
  const auto to = place_after(s, end, *row, home->queue);
  remember(*progress, {fence{row->fence}, row->attempt, end.cause, row->server,
                       end.end == how::succeeded ? "" : end.text, s.began(*row, end.waited), s.now, end.watched});
  if (end.progress) progress->reported = end.progress;
  progress->reason = end.reason;
  progress->result = end.end == how::succeeded ? end.text : std::string();
  if (end.failure) ++progress->failures;
  const auto bytes = encode(row->id, *progress);
  s.db.prepare("UPDATE jobs SET state=?,line=?,pos=?,attempt=?,settled=?,progress=?,took=x'' WHERE seq=?")
      .with(static_cast<int>(to.state), to.line, to.pos, attempt, row->fence, query::blob{bytes}, row->seq)
      .run();
  s.count(row->state, row->line, -1);
  s.count(to.state, to.line, +1);
  if (!is_final(to.state)) s.made_work = true;
  if (!row->took.empty()) leave_took(s, row->took);
  leave_admission(s, row->seq, is_final(to.state));
  return errc::none;
}

}  // namespace

void remember(job_progress& progress, start_record start) {
  progress.history.push_back(std::move(start));
  if (progress.history.size() > history_limit)
    progress.history.erase(progress.history.begin(), progress.history.end() - history_limit);
}

settle_answer apply(session& s, const settle_request& r) {
  settle_answer answer;
  answer.each.reserve(r.starts.size());
  for (const auto& end : r.starts)
    answer.each.push_back(settle_one(s, end));
  pass_on_freed(s);
  if (r.next) answer.next = apply(s, *r.next);
  return answer;
}

}  // namespace sluice::storage::sqlite
