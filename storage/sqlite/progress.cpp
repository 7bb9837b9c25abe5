#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

errc report_one(session& s, const progress_request::said& said) {
  const auto row = s.find(said.start.id);
  if (!row || row->state != job_state::processing || row->fence != said.start.fence.value) return errc::stale_fence;
  auto progress = decode_progress(row->id, row->progress);
  if (!progress) {
    s.damaged(row->seq);
    return errc::stale_fence;
  }
  progress->reported = said.report;
  const auto bytes = encode(row->id, *progress);
  s.db.prepare("UPDATE jobs SET progress=? WHERE seq=?").with(query::blob{bytes}, row->seq).run();
  return errc::none;
}

}  // namespace

progress_answer apply(session& s, const progress_request& r) {
  progress_answer answer;
  answer.each.reserve(r.starts.size());
  for (const auto& said : r.starts)
    answer.each.push_back(report_one(s, said));
  return answer;
}

}  // namespace sluice::storage::sqlite
