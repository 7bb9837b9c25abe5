#include <algorithm>

#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"
#include "storage/words.hpp"

namespace sluice::storage::sqlite {
namespace {

errc reap_one(session& s, const expired_lease& seen, std::uint32_t max_losses, reap_answer& answer) {
  auto row = s.find(seen.start.id);
  if (!row || row->state != job_state::processing || row->fence != seen.start.fence.value ||
      row->renewals != seen.renewals)
    return errc::stale_fence;
  auto progress = decode_progress(row->id, row->progress);
  const auto home = s.find_line(row->line);
  if (!progress || !home) {
    s.damaged(row->seq);
    return errc::none;
  }
  const auto losses = row->losses + 1;
  const bool give_up = losses >= max_losses;
  remember(*progress, {fence{row->fence}, row->attempt, "lost", row->server, words::lost_start, s.began(*row), s.now});
  progress->reason =
      give_up ? words::with_number(words::lost_for_good, losses) : words::with_number(words::lost_again, row->attempt);
  const auto bytes = encode(row->id, *progress);
  const auto state = give_up ? job_state::failed : job_state::enqueued;
  const auto line = give_up ? row->line : s.tail_line(home->queue, losses);
  const auto pos = give_up ? s.now_us() : static_cast<std::int64_t>(s.draw());
  s.db.prepare("UPDATE jobs SET state=?,line=?,pos=?,attempt=?,losses=?,progress=?,took=x'' WHERE seq=?")
      .with(static_cast<int>(state), line, pos, row->attempt > 0 ? row->attempt - 1 : 0, losses, query::blob{bytes},
            row->seq)
      .run();
  s.count(row->state, row->line, -1);
  s.count(state, line, +1);
  s.made_work = true;
  if (!row->took.empty()) leave_took(s, row->took);
  leave_admission(s, row->seq, give_up);
  if (give_up) answer.failed.push_back(row->id);
  return errc::none;
}

}  // namespace

expired_answer apply(session& s, const expired_request& r) {
  expired_answer answer;
  std::optional<std::int64_t> next;
  const auto read = [](const query& q) {
    return expired_lease{{job_id(q.text(0)), fence{static_cast<std::uint64_t>(q.number(1))}},
                         static_cast<std::uint64_t>(q.number(2)),
                         duration(q.number(3))};
  };
  for (const auto& [line, n] : s.counted_lines(static_cast<int>(job_state::processing))) {
    {
      auto q =
          s.db.prepare("SELECT id,fence,renewals,lease,pos FROM jobs WHERE state=5 AND line=? ORDER BY pos LIMIT ?")
              .with(line, r.limit);
      while (q.step()) {
        if (q.number(4) > s.now_us()) {
          if (!next || q.number(4) < *next) next = q.number(4);
          break;
        }
        answer.leases.push_back(read(q));
      }
    }
    auto q = s.db.prepare(
                     "SELECT id,fence,renewals,lease FROM jobs WHERE state=5 AND line=? AND pos>?+lease ORDER BY pos "
                     "DESC LIMIT ?")
                 .with(line, s.now_us() + clock_slack.count(), r.limit);
    while (q.step()) {
      answer.leases.push_back(read(q));
      answer.leases.back().clock_went_back = true;
    }
  }
  if (answer.leases.size() > r.limit) answer.leases.resize(r.limit);
  if (next) answer.next_in = duration(*next - s.now_us());
  return answer;
}

reap_answer apply(session& s, const reap_request& r) {
  reap_answer answer;
  for (const auto& seen : r.leases)
    answer.each.push_back(reap_one(s, seen, r.max_losses, answer));
  pass_on_freed(s);
  return answer;
}

}  // namespace sluice::storage::sqlite
