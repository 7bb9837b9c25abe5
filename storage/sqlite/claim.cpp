#include <algorithm>

#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr std::size_t most_passed = 1'000;  // jobs that one claim looks at and does not take

struct candidate {
  std::int64_t seq = 0;
  line from;
  std::int64_t pos = 0;
  job_id id;
  std::uint32_t attempt = 0, losses = 0;
  std::string record, progress;
};

bool known(const claim_request& r, const std::string& type) { return r.types && r.types->contains(type); }

bool suspect_waits(session& s, const std::string& queue) {
  const auto lines = s.lines_of(queue);
  return std::any_of(lines.begin(), lines.end(), [&](const line& l) {
    return l.kind == line_kind::suspect &&
           s.db.prepare("SELECT 1 FROM jobs WHERE state=1 AND line=? LIMIT 1").with(l.id).step();
  });
}

class claiming {
public:
  claiming(session& s, const claim_request& r) : s_(s), r_(r), suspect_too_(r.suspect_too) {}

  claim_answer run() {
    main_ = s_.line_id(r_.queue.value, line_kind::main);
    if (s_.paused(r_.queue.value)) return {};
    mark_served(s_, r_.queue.value);
    std::vector<line> woken, others;
    for (auto& l : s_.lines_of(r_.queue.value)) {
      if (l.kind == line_kind::type && !known(r_, l.name)) continue;
      (l.kind == line_kind::woken ? woken : others).push_back(std::move(l));
    }
    drain(woken);
    drain(others);
    if (!got_.jobs.empty())
      s_.db
          .prepare(
              "INSERT INTO claims(server,queue,lane,op) VALUES(?1,?2,?3,?4) ON CONFLICT(server,queue,lane) DO UPDATE "
              "SET op=?4")
          .with(r_.server.value, r_.queue.value, r_.lane, r_.op)
          .run();
    // Whoever would have been overtaken goes on now, if there is room.
    for (const auto& [resource, found] : rooms_)
      if (found.waited_for && found.held < *found.limit) pass_on(s_, resource);
    got_.suspect_waits = passed_suspect_ || suspect_waits(s_, r_.queue.value);
    return std::move(got_);
  }

private:
  std::size_t wanted() const { return full_ ? 0 : r_.free + r_.ahead - got_.jobs.size(); }

  // Takes from `lines`, all together oldest first, until they are empty or we have enough. Each job is looked at once.
  void drain(const std::vector<line>& lines) {
    std::map<std::int64_t, std::int64_t> seen;  // of each line the last place
    while (wanted() > 0 && looked_ - got_.jobs.size() < most_passed) {
      std::vector<candidate> first;
      for (const auto& l : lines)
        if (l.kind != line_kind::suspect || suspect_too_)
          read(l, seen.try_emplace(l.id, INT64_MIN).first->second, first);
      if (first.empty()) return;
      if (lines.size() > 1)
        std::stable_sort(first.begin(), first.end(), [](const auto& a, const auto& b) { return a.pos < b.pos; });
      const auto most = std::min(first.size(), wanted());
      for (std::size_t i = 0; i < most && !full_; ++i) {
        seen[first[i].from.id] = first[i].pos;
        ++looked_;
        take(first[i]);
      }
    }
  }

  void read(const line& l, std::int64_t after, std::vector<candidate>& into) {
    auto q = s_.db
                 .prepare(
                     "SELECT seq,pos,id,attempt,losses,record,progress FROM jobs WHERE state=1 AND line=? AND pos>? "
                     "ORDER BY pos LIMIT ?")
                 .with(l.id, after, static_cast<std::uint64_t>(wanted()));
    while (q.step())
      into.push_back({q.number(0), l, q.number(1), job_id(q.text(2)), static_cast<std::uint32_t>(q.number(3)),
                      static_cast<std::uint32_t>(q.number(4)), q.text(5), q.text(6)});
  }

  void take(candidate& c) {
    auto content = decode_content(c.id, c.record);
    auto progress = decode_progress(c.id, c.progress);
    if (!content || !progress) {
      s_.damaged(c.seq);
      s_.quarantine_damaged();
      return;
    }
    const bool suspect = is_suspect(c.losses);
    if (suspect && !suspect_too_) {  // it stays where it is
      passed_suspect_ = true;
      return;
    }
    if (!known(r_, content->type.value)) return move_aside(c, content->type.value);
    const auto found = look_at(c.seq, content->type.value);
    const bool at_once = suspect || !found.roomy || (r_.at_once && r_.at_once->contains(content->type.value));
    if (at_once && got_.jobs.size() >= r_.free) {
      full_ = true;  // it and those behind it wait for a free worker: the order of the line holds
      return;
    }
    if (!found.busy.empty() && found.plan->park) return put_in_line(c, found.busy);
    if (suspect) suspect_too_ = false;
    if (c.from.kind == line_kind::woken)
      if (auto& hinted = s_.woken[r_.queue.value]; hinted > 0) --hinted;

    job_row row;
    row.seq = c.seq;
    row.id = c.id;
    row.state = job_state::processing;
    row.line = main_;
    row.pos = micros(s_.now + r_.lease);
    row.attempt = c.attempt + 1;
    row.losses = c.losses;
    row.fence = s_.draw();
    row.server = r_.server.value;
    row.started = s_.now_us();
    if (found.takes) {
      row.took = write_took(found.plan->resources);
      for (const auto& resource : found.plan->resources) {
        ++rooms_.at(resource).held;
        s_.count_held(resource, +1);
      }
    }
    s_.db
        .prepare(
            "UPDATE jobs SET state=5,line=?,pos=?,attempt=?,fence=?,server=?,op=?,lease=?,renewals=0,started=?,took=? "
            "WHERE seq=?")
        .with(row.line, row.pos, row.attempt, row.fence, row.server, r_.op, r_.lease.count(), s_.now_us(),
              query::blob{row.took}, row.seq)
        .run();
    s_.count(job_state::enqueued, c.from.id, -1);
    s_.count(job_state::processing, main_, +1);
    got_.failures.push_back(progress->failures);
    auto admitted = admit_claimed(s_, row.seq, row.fence);
    got_.admitted.push_back(found.takes ? found.plan->resources : std::move(admitted));
    got_.jobs.push_back(s_.assemble(row, std::move(*content), std::move(*progress)));
  }

  // What a type's permits mean for a job, before anything is written.
  struct finding {
    const claim_permits* plan = nullptr;
    std::string busy{};  // what keeps a newcomer from them, if anything does
    bool roomy = true;   // half of each is free, and nobody has to do with it yet
    bool takes = false;
  };
  finding look_at(std::int64_t seq, const std::string& type) {
    finding found;
    if (!r_.permits) return found;
    const auto plan = r_.permits->find(type);
    if (plan == r_.permits->end()) return found;
    found.plan = &plan->second;
    if (has_admission(s_, seq)) {
      found.roomy = false;
      return found;
    }
    for (const auto& resource : found.plan->resources) {
      const auto& at = room_of(resource);
      if (!at.limit) return {found.plan};
      if (found.busy.empty() && (at.waited_for || at.held >= *at.limit)) found.busy = resource;
      found.roomy = found.roomy && !at.waited_for && 2 * (at.held + 1) <= *at.limit;
    }
    found.takes = found.busy.empty();
    return found;
  }

  struct room {
    std::optional<std::uint64_t> limit;
    std::uint64_t held = 0;
    bool waited_for = false;
  };
  const room& room_of(const std::string& resource) {
    const auto known = rooms_.find(resource);
    if (known != rooms_.end()) return known->second;
    return rooms_[resource] = {limit_of(s_, resource), s_.held(resource), waited_for(s_, resource)};
  }

  void put_in_line(const candidate& c, const std::string& resource) {
    job_row row;
    row.seq = c.seq;
    row.id = c.id;
    row.line = c.from.id;
    park_fresh(s_, row, r_.queue.value, resource);
    full_ = ++got_.parked >= most_parked;
  }

  void move_aside(const candidate& c, const std::string& type) {
    const auto to = s_.line_id(r_.queue.value, line_kind::type, type);
    s_.db.prepare("UPDATE jobs SET line=? WHERE seq=?").with(to, c.seq).run();
    s_.count(job_state::enqueued, c.from.id, -1);
    s_.count(job_state::enqueued, to, +1);
    s_.made_work = true;  // for a server that knows it
  }

  session& s_;
  const claim_request& r_;
  std::int64_t main_ = 0;
  bool suspect_too_;
  bool full_ = false;
  bool passed_suspect_ = false;
  std::size_t looked_ = 0;
  std::map<std::string, room> rooms_;
  claim_answer got_;
};

// A claim asked again: what it took the first time and is still held.
claim_answer repeat(session& s, const claim_request& r) {
  claim_answer answer;
  std::vector<std::pair<job_row, std::string>> rows;
  {
    auto q = s.db.prepare("SELECT " SLUICE_JOB_COLUMNS
                          ",record FROM jobs WHERE state=5 AND line=? AND server=? AND op=? ORDER BY fence")
                 .with(s.line_id(r.queue.value, line_kind::main), r.server.value, r.op);
    while (q.step())
      rows.emplace_back(read_row(q), q.text(15));
  }
  for (auto& [row, record] : rows) {
    auto content = decode_content(row.id, record);
    auto progress = decode_progress(row.id, row.progress);
    if (!content || !progress) {
      s.damaged(row.seq);
      continue;
    }
    answer.failures.push_back(progress->failures);
    answer.admitted.push_back(all_of(read_took(row.took), admitted(s, row.seq)));
    answer.jobs.push_back(s.assemble(row, std::move(*content), std::move(*progress)));
  }
  answer.suspect_waits = suspect_waits(s, r.queue.value);
  return answer;
}

bool is_repeat(session& s, const claim_request& r) {
  auto q = s.db.prepare("SELECT op FROM claims WHERE server=? AND queue=? AND lane=?")
               .with(r.server.value, r.queue.value, r.lane);
  return q.step() && static_cast<std::uint64_t>(q.number(0)) >= r.op;
}

}  // namespace

claim_answer apply(session& s, const claim_request& r) {
  if (r.free + r.ahead == 0) return {};
  return is_repeat(s, r) ? repeat(s, r) : claiming(s, r).run();
}

std::optional<claim_answer> look(session& s, const claim_request& r) {
  if (r.free + r.ahead == 0) return claim_answer{};
  if (is_repeat(s, r)) return std::nullopt;
  if (s.paused(r.queue.value)) return claim_answer{};
  claim_answer nothing;
  for (const auto& l : s.lines_of(r.queue.value)) {
    if (l.kind == line_kind::type && !known(r, l.name)) continue;
    if (!s.db.prepare("SELECT 1 FROM jobs WHERE state=1 AND line=? LIMIT 1").with(l.id).step()) continue;
    if (l.kind != line_kind::suspect || r.suspect_too) return std::nullopt;
    nothing.suspect_waits = true;
  }
  return nothing;
}

}  // namespace sluice::storage::sqlite
