#include <algorithm>

#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr std::size_t max_moved = 1'000;  // jobs of unknown types moved aside in one claim

struct candidate {
  std::int64_t seq = 0;
  line from;
  std::int64_t pos = 0;
  job_id id;
  std::uint32_t attempt = 0, losses = 0;
  std::string record, progress;
};

bool known(const claim_request& r, const std::string& type) { return r.types && r.types->contains(type); }

// False: nobody waits to whom a start of this claim could hand on its permit.
bool may_hand_on(session& s, const claim_request& r) {
  if (r.hand_on.empty() || !r.permits) return false;
  return std::any_of(r.permits->begin(), r.permits->end(), [&](const auto& plan) {
    const auto& needs = plan.second;
    return needs.whole && needs.resources.size() == 1 &&
           s.db.prepare("SELECT 1 FROM parked WHERE resource=? AND queue=? LIMIT 1")
               .with(needs.resources[0], r.queue.value)
               .step();
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
    // Whoever would have been overtaken goes on now, if there is room.
    for (const auto& [resource, found] : rooms_)
      if (found.waited_for && found.held < *found.limit) pass_on(s_, resource);
    if (may_hand_on(s_, r_))
      for (const auto& start : r_.hand_on)
        hand_on(start);
    if (!got_.jobs.empty())
      s_.db
          .prepare(
              "INSERT INTO claims(server,queue,lane,op) VALUES(?1,?2,?3,?4) ON CONFLICT(server,queue,lane) DO UPDATE "
              "SET op=?4")
          .with(r_.server.value, r_.queue.value, r_.lane, r_.op)
          .run();
    return std::move(got_);
  }

private:
  std::size_t wanted() const { return full_ ? 0 : r_.free + r_.ahead - got_.jobs.size(); }

  // Takes from `lines`, all together oldest first, until they are empty or we have enough.
  void drain(const std::vector<line>& lines) {
    while (wanted() > 0 && moved_ < max_moved) {
      std::vector<candidate> first;
      for (const auto& l : lines)
        if (l.kind != line_kind::suspect || suspect_too_) read(l, first);
      if (first.empty()) return;
      if (lines.size() > 1)
        std::stable_sort(first.begin(), first.end(), [](const auto& a, const auto& b) { return a.pos < b.pos; });
      const auto most = std::min(first.size(), wanted());
      for (std::size_t i = 0; i < most && !full_; ++i)
        take(first[i]);
    }
  }

  void read(const line& l, std::vector<candidate>& into) {
    // Only in a line of its own type can a suspect stand beside others.
    const bool skip_suspects = l.kind == line_kind::type && !suspect_too_;
    auto q = s_.db
                 .prepare(
                     "SELECT seq,pos,id,attempt,losses,record,progress FROM jobs WHERE state=1 AND line=? AND "
                     "losses<=? ORDER BY pos LIMIT ?")
                 .with(l.id, skip_suspects ? std::int64_t{0} : INT64_MAX, static_cast<std::uint64_t>(wanted()));
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
    const bool suspect = c.losses > 0;
    if (suspect && !suspect_too_) return;  // nor put aside: else it would depend on how much was read at once
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

    taken took;
    if (found.takes) {
      took.resources = found.plan->resources;
      for (const auto& resource : took.resources) {
        ++rooms_.at(resource).held;
        s_.count_held(resource, +1);
      }
    } else if (found.plan && found.plan->whole && is_complete(c.seq, found.plan->resources)) {
      fold(s_, c.seq, found.plan->resources);
      took.resources = found.plan->resources;
    }
    start(c, c.from.id, job_state::enqueued, took, std::move(*content), std::move(*progress));
  }

  // `from`: the line that counts it, in which it has this state.
  void start(const candidate& c, std::int64_t from, job_state state, const taken& took, job_content content,
             job_progress progress) {
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
    row.took = write_took(took);
    s_.db
        .prepare(
            "UPDATE jobs SET state=5,line=?,pos=?,attempt=?,fence=?,server=?,op=?,lease=?,renewals=0,started=?,took=? "
            "WHERE seq=?")
        .with(row.line, row.pos, row.attempt, row.fence, row.server, r_.op, r_.lease.count(), s_.now_us(),
              query::blob{row.took}, row.seq)
        .run();
    s_.count(state, from, -1);
    s_.count(job_state::processing, main_, +1);
    got_.failures.push_back(progress.failures);
    got_.behind.push_back(took.behind ? fence{took.behind->fence} : fence{});
    auto admitted = admit_claimed(s_, row.seq, row.fence);
    got_.admitted.push_back(took.resources.empty() ? std::move(admitted) : took.resources);
    got_.jobs.push_back(s_.assemble(row, std::move(content), std::move(progress)));
  }

  // True when what was reserved for a job is all that it needs.
  bool is_complete(std::int64_t seq, const std::vector<std::string>& needs) {
    if (s_.db.prepare("SELECT 1 FROM slots WHERE seq=? AND until>?").with(seq, s_.now_us()).step()) return false;
    const auto has = permits_of(s_, seq);
    return std::equal(has.begin(), has.end(), needs.begin(), needs.end(), [](const permit& p, const auto& resource) {
      return p.kind != permit_kind::strict && p.resource == resource;
    });
  }

  // Claims whoever waited longest for the permit of a running start behind that, if this suits the claim.
  void hand_on(const start_key& from) {
    auto row = s_.find(from.id);
    if (!row || row->state != job_state::processing || row->line != main_ || row->fence != from.fence.value) return;
    const auto has = read_took(row->took);
    if (has.resources.size() != 1 || runs_before(s_, {has.resources, has.behind})) return;
    const auto& resource = has.resources.front();
    const auto limit = limit_of(s_, resource);
    const auto next = first_waiter(s_, resource);
    if (!limit || s_.held(resource) > *limit || !next || next->queue != r_.queue.value) return;
    candidate c;
    {
      auto q = s_.db.prepare("SELECT seq,id,attempt,losses,record,progress FROM jobs WHERE seq=? AND state=?")
                   .with(next->seq, static_cast<int>(job_state::throttled));
      if (!q.step()) return;
      c = {q.number(0),
           {},
           next->pos,
           job_id(q.text(1)),
           static_cast<std::uint32_t>(q.number(2)),
           static_cast<std::uint32_t>(q.number(3)),
           q.text(4),
           q.text(5)};
    }
    auto content = decode_content(c.id, c.record);
    auto progress = decode_progress(c.id, c.progress);
    if (!content || !progress || c.losses > 0 || !needs_only(resource, content->type.value)) return;
    if (!permits_of(s_, c.seq).empty() || s_.db.prepare("SELECT 1 FROM slots WHERE seq=?").with(c.seq).step()) return;
    leave_line(s_, c.seq);
    s_.db.prepare("DELETE FROM admissions WHERE seq=?").with(c.seq).run();
    s_.db.prepare("UPDATE jobs SET took=x'' WHERE seq=?").with(row->seq).run();
    start(c, s_.line_id(r_.queue.value, line_kind::main), job_state::throttled,
          {{resource}, took_over{row->fence, next->pos, row->seq}}, std::move(*content), std::move(*progress));
  }
  bool needs_only(const std::string& resource, const std::string& type) const {
    if (!known(r_, type) || (r_.at_once && r_.at_once->contains(type)) || !r_.permits) return false;
    const auto plan = r_.permits->find(type);
    return plan != r_.permits->end() && plan->second.whole && plan->second.resources == std::vector{resource};
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
    ++moved_;
  }

  session& s_;
  const claim_request& r_;
  std::int64_t main_ = 0;
  bool suspect_too_;
  bool full_ = false;
  std::map<std::string, room> rooms_;
  std::size_t moved_ = 0;
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
    auto took = read_took(row.took);
    answer.behind.push_back(took.behind ? fence{took.behind->fence} : fence{});
    answer.admitted.push_back(all_of(std::move(took.resources), admitted(s, row.seq)));
    answer.jobs.push_back(s.assemble(row, std::move(*content), std::move(*progress)));
  }
  return answer;
}

bool is_repeat(session& s, const claim_request& r) {
  auto q = s.db.prepare("SELECT op FROM claims WHERE server=? AND queue=? AND lane=?")
               .with(r.server.value, r.queue.value, r.lane);
  return q.step() && static_cast<std::uint64_t>(q.number(0)) >= r.op;
}

}  // namespace

claim_answer apply(session& s, const claim_request& r) {
  if (!asks_for_jobs(r)) return {};
  return is_repeat(s, r) ? repeat(s, r) : claiming(s, r).run();
}

bool finds_work(session& s, const claim_request& r) {
  if (!asks_for_jobs(r)) return false;
  if (is_repeat(s, r)) return true;
  if (s.paused(r.queue.value)) return false;
  if (may_hand_on(s, r)) return true;
  if (r.free + r.ahead == 0) return false;
  for (const auto& l : s.lines_of(r.queue.value)) {
    if (l.kind == line_kind::type && !known(r, l.name)) continue;
    if (l.kind == line_kind::suspect && !r.suspect_too) continue;
    auto q = s.db.prepare("SELECT 1 FROM jobs WHERE state=1 AND line=? LIMIT 1").with(l.id);
    if (q.step()) return true;
  }
  return false;
}

}  // namespace sluice::storage::sqlite
