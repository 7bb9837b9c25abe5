#include <algorithm>

#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {

promote_answer apply(session& s, const promote_request& r) {
  struct due {
    std::int64_t pos, seq, line;
    std::uint32_t losses;
  };
  std::vector<due> found;
  for (const auto& [line, n] : s.counted_lines(static_cast<int>(job_state::scheduled))) {
    auto q =
        s.db.prepare("SELECT pos,seq,line,losses FROM jobs WHERE state=2 AND line=? AND pos<=? ORDER BY pos LIMIT ?")
            .with(line, s.now_us(), r.limit);
    while (q.step())
      found.push_back({q.number(0), q.number(1), q.number(2), static_cast<std::uint32_t>(q.number(3))});
  }
  std::stable_sort(found.begin(), found.end(), [](const due& a, const due& b) { return a.pos < b.pos; });
  if (found.size() > r.limit) found.resize(r.limit);

  promote_answer answer;
  for (const auto& d : found) {
    const auto home = s.find_line(d.line);
    if (!home) continue;
    job_row row;
    row.seq = d.seq;
    row.state = job_state::scheduled;
    row.line = d.line;
    s.move(row, job_state::enqueued, s.tail_line(home->queue, d.losses), static_cast<std::int64_t>(s.draw()));
    ++answer.moved;
  }
  if (answer.moved > 0) s.made_work = true;
  answer.next_in = next_due(s);
  return answer;
}

bool finds_work(session& s, const promote_request&) {
  const auto next = next_due(s);
  return next && *next == duration::zero();
}

std::optional<duration> next_due(session& s) {
  std::optional<std::int64_t> first;
  for (const auto& [line, n] : s.counted_lines(static_cast<int>(job_state::scheduled))) {
    auto q = s.db.prepare("SELECT pos FROM jobs WHERE state=2 AND line=? ORDER BY pos LIMIT 1").with(line);
    if (q.step() && (!first || q.number(0) < *first)) first = q.number(0);
  }
  if (!first) return std::nullopt;
  return duration(std::max<std::int64_t>(0, *first - s.now_us()));
}

}  // namespace sluice::storage::sqlite
