// Reading: get, list, queues. Nothing here writes.
#include <algorithm>
#include <charconv>

#include "core/text.hpp"
#include "storage/sqlite/schema.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

// Where a page ended: "STATE:POS-SEQ".
struct cursor {
  std::int64_t state, pos, seq;
};

std::optional<cursor> parse_cursor(std::string_view text) {
  cursor c{};
  const auto* at = text.data();
  const auto* end = text.data() + text.size();
  const auto number = [&](std::int64_t& into, char mark) {
    const auto read = std::from_chars(at, end, into);
    if (read.ec != std::errc{} || (mark != 0 && (read.ptr == end || *read.ptr != mark))) return false;
    at = mark != 0 ? read.ptr + 1 : read.ptr;
    return true;
  };
  const bool good = number(c.state, ':') && number(c.pos, '-') && number(c.seq, 0) && at == end;
  return good && c.state >= 0 ? std::optional(c) : std::nullopt;
}

std::optional<job> whole(session& s, const job_row& row, std::string_view record) {
  auto content = decode_content(row.id, record);
  auto progress = decode_progress(row.id, row.progress);
  if (content && progress) return s.assemble(row, std::move(*content), std::move(*progress));
  s.damaged(row.seq);
  return std::nullopt;
}

struct found_row {
  job_row row;
  std::string record;
  std::int64_t key;  // what the page is ordered by
};

// Of one state, by place: the waiting in the order they will go, the final newest first.
void read_line(session& s, job_state state, std::int64_t line, bool newest_first, std::optional<cursor> after,
               std::uint32_t limit, std::vector<found_row>& into) {
  auto q =
      newest_first
          ? s.db.prepare(
                "SELECT " SLUICE_JOB_COLUMNS
                ",record FROM jobs WHERE state=? AND line=? AND (pos,seq)<(?,?) ORDER BY pos DESC,seq DESC LIMIT ?")
          : s.db.prepare("SELECT " SLUICE_JOB_COLUMNS
                         ",record FROM jobs WHERE state=? AND line=? AND (pos,seq)>(?,?) ORDER BY pos,seq LIMIT ?");
  const auto from = after.value_or(newest_first ? cursor{0, INT64_MAX, INT64_MAX} : cursor{0, INT64_MIN, INT64_MIN});
  q.with(static_cast<int>(state), line, from.pos, from.seq, limit);
  while (q.step()) {
    auto row = read_row(q);
    const auto pos = row.pos;
    into.push_back({std::move(row), q.text(15), pos});
  }
}

}  // namespace

get_answer apply(session& s, const get_request& r) {
  std::string record;
  {
    auto q = s.db.prepare("SELECT record FROM jobs WHERE id=?").with(r.id.value);
    if (q.step()) record = q.text(0);
  }
  if (const auto row = s.find(r.id)) {
    auto found = whole(s, *row, record);
    return found ? get_answer{std::move(found), errc::none} : get_answer{std::nullopt, errc::damaged_record};
  }
  auto q = s.db.prepare("SELECT 1 FROM quarantine WHERE id=?").with(r.id.value);
  return {std::nullopt, q.step() ? errc::damaged_record : errc::not_found};
}

list_answer apply(session& s, const list_request& r) {
  const auto limit = std::clamp<std::uint32_t>(r.query.limit, 1, largest_page);
  auto after = parse_cursor(r.query.after);
  const auto& queue = r.query.queue.value;
  std::vector<job_state> states(std::begin(listing_order), std::end(listing_order));
  if (r.query.state) states = {*r.query.state};
  list_answer answer;
  std::size_t taken = 0;
  cursor last{};
  for (auto n = after ? static_cast<std::size_t>(after->state) : 0; n < states.size(); ++n, after.reset()) {
    const bool newest_first = is_final(states[n]);
    const auto wanted = static_cast<std::uint32_t>(limit + 1 - taken);
    std::vector<found_row> found;
    for (const auto& [line, count] : s.counted_lines(static_cast<int>(states[n]))) {
      const auto at = s.find_line(line);
      if (queue.empty() || (at && at->queue == queue))
        read_line(s, states[n], line, newest_first, after, wanted, found);
    }
    std::sort(found.begin(), found.end(), [&](const found_row& a, const found_row& b) {
      const auto key = [](const found_row& f) { return std::pair(f.key, f.row.seq); };
      return newest_first ? key(a) > key(b) : key(a) < key(b);
    });
    for (const auto& f : found) {
      if (taken == limit) {
        answer.page.next = cat(last.state, ":", last.pos, "-", last.seq);
        return answer;
      }
      last = {static_cast<std::int64_t>(n), f.key, f.row.seq};
      ++taken;
      if (auto one = whole(s, f.row, f.record)) answer.page.jobs.push_back(std::move(*one));
    }
  }
  return answer;
}

queues_answer apply(session& s, const queues_request&) {
  s.flush();  // what this batch has changed so far
  std::map<std::string, queue_counts> by_name;
  {
    auto q = s.db.prepare("SELECT name,paused FROM queues");
    while (q.step()) {
      auto& counts = by_name[q.text(0)];
      counts.queue.value = q.text(0);
      counts.paused = q.number(1) != 0;
    }
  }
  auto q = s.db.prepare("SELECT l.queue,c.state,c.n FROM counts c JOIN lines l ON l.id=c.line WHERE c.n>0");
  while (q.step()) {
    auto& counts = by_name[q.text(0)];
    counts.queue.value = q.text(0);
    const auto n = static_cast<std::uint64_t>(q.number(2));
    switch (q.number(1)) {
      case static_cast<int>(job_state::enqueued): counts.enqueued += n; break;
      case static_cast<int>(job_state::scheduled): counts.scheduled += n; break;
      case static_cast<int>(job_state::awaiting): counts.awaiting += n; break;
      case static_cast<int>(job_state::throttled): counts.throttled += n; break;
      case static_cast<int>(job_state::processing): counts.processing += n; break;
      case static_cast<int>(job_state::succeeded): counts.succeeded += n; break;
      case static_cast<int>(job_state::failed): counts.failed += n; break;
      case static_cast<int>(job_state::deleted): counts.deleted += n; break;
      case quarantined_state: counts.quarantined += n; break;
      default: break;
    }
  }
  queues_answer answer;
  for (auto& [name, counts] : by_name)
    answer.queues.push_back(std::move(counts));
  return answer;
}

}  // namespace sluice::storage::sqlite
