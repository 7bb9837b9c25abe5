#include <algorithm>
#include <set>
#include <tuple>

#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr std::uint32_t most_open = 10'000;  // lines looked at by one promotion, those that stand still included

// When the next scheduled job is due.
std::optional<std::int64_t> next_due(session& s) {
  std::optional<std::int64_t> first;
  for (const auto& [line, n] : s.counted_lines(static_cast<int>(job_state::scheduled))) {
    auto q = s.db.prepare("SELECT pos FROM jobs WHERE state=2 AND line=? ORDER BY pos LIMIT 1").with(line);
    if (q.step() && (!first || q.number(0) < *first)) first = q.number(0);
  }
  return first;
}

struct due {
  std::int64_t pos, seq, line;
  std::uint32_t losses;
  auto place() const { return std::tuple(pos, line, seq); }
};

// The oldest of all lines, read in growing parts: however many queues there are, some twice the limit is read.
std::vector<due> oldest_due(session& s, std::uint32_t limit) {
  struct part {
    std::int64_t line;
    std::uint32_t read = 0;
    due last{};
    bool ended = false;
  };
  std::vector<part> parts;
  for (const auto& [line, n] : s.counted_lines(static_cast<int>(job_state::scheduled)))
    parts.push_back({line});
  std::vector<due> found;
  std::uint64_t share = limit / std::max<std::size_t>(1, parts.size()) + 1;
  for (; !parts.empty(); share *= 2) {
    for (auto& p : parts) {
      auto q = s.db.prepare(
                       "SELECT pos,seq,losses FROM jobs WHERE state=2 AND line=? AND pos<=? ORDER BY pos,seq "
                       "LIMIT ? OFFSET ?")
                   .with(p.line, s.now_us(), share, p.read);
      const auto before = found.size();
      while (q.step())
        found.push_back(p.last = {q.number(0), q.number(1), p.line, static_cast<std::uint32_t>(q.number(2))});
      p.read += static_cast<std::uint32_t>(found.size() - before);
      p.ended = found.size() - before < share;
    }
    std::sort(found.begin(), found.end(), [](const due& a, const due& b) { return a.place() < b.place(); });
    std::erase_if(parts, [&](const part& p) {
      return p.ended || (found.size() >= limit && p.last.place() >= found[limit - 1].place());
    });
  }
  if (found.size() > limit) found.resize(limit);
  return found;
}

}  // namespace

promote_answer apply(session& s, const promote_request& r) {
  promote_answer answer;
  for (const auto& d : oldest_due(s, r.limit)) {
    const auto home = s.find_line(d.line);
    if (!home) continue;
    job_row row;
    row.seq = d.seq;
    row.state = job_state::scheduled;
    row.line = d.line;
    s.move(row, job_state::enqueued, s.tail_line(home->queue, d.losses), static_cast<std::int64_t>(s.draw()));
    ++answer.moved;
  }
  pass_on_reservations(s, r);
  if (answer.moved > 0) s.made_work = true;
  const auto seen = look(s, r);
  answer.next_in = seen.next_in;
  answer.open = seen.open;
  answer.schedule_in = seen.schedule_in;
  return answer;
}

bool finds_work(session& s, const promote_request& r) {
  const auto due = next_due(s);
  const auto lapse = next_lapse(s, r);
  return (due && *due <= s.now_us()) || (lapse && *lapse <= s.now_us());
}

promote_answer look(session& s, const promote_request& r) {
  promote_answer answer;
  std::optional<std::int64_t> next;
  const auto sooner = [&](std::optional<std::int64_t> instant) {
    if (instant && (!next || *instant < *next)) next = instant;
  };
  sooner(next_due(s));
  sooner(next_lapse(s, r));
  std::set<std::string> open;
  {
    std::uint32_t lines = 0;
    auto q = s.db.prepare("SELECT resource FROM openings WHERE at<=? ORDER BY at LIMIT ?").with(s.now_us(), most_open);
    while (lines < r.limit && q.step()) {
      if (stands_still(s, q.text(0))) continue;  // it stays open until one of their queues runs again
      open.insert(cell_of(q.text(0)));
      ++lines;
    }
  }
  {
    auto q = s.db.prepare("SELECT at FROM openings WHERE at>? ORDER BY at LIMIT 1").with(s.now_us());
    if (q.step()) sooner(q.number(0));
  }
  // Whoever is told of them moves them; when nobody does, they are told again.
  if (!open.empty()) sooner(s.now_us() + look_again.count());
  answer.open.assign(open.begin(), open.end());
  if (next) answer.next_in = duration(std::max<std::int64_t>(0, *next - s.now_us()));
  answer.schedule_in = next_schedule_in(s);
  return answer;
}

}  // namespace sluice::storage::sqlite
