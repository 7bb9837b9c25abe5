#include "storage/model.hpp"

#include "core/text.hpp"

namespace sluice::test {
namespace {

using enum job_state;

const std::string stores_words = "(the store's words)";
constexpr duration clock_slack = 1s;  // no clock runs a lease further ahead by itself

// The words of programs start with "said"; all others are the store's, of which only is promised that there are some.
void forget_words(std::string& text) {
  if (!text.empty() && !text.starts_with("said")) text = stores_words;
}

std::string face(job j) {
  forget_words(j.reason);
  for (auto& h : j.history)
    forget_words(h.error);
  return portrait(j);
}

bool knows(const storage::claim_request& r, const std::string& type) { return r.types && r.types->contains(type); }

bool is_suspect(const job& j) { return j.losses > 0; }

std::string in_words(const std::vector<errc>& each) {
  std::string text;
  for (const auto code : each)
    text += cat(name_of(code), " ");
  return text;
}

std::string in_words(const names& has) {
  std::string text;
  for (const auto& resource : has)
    text += " has " + resource;
  return text;
}

std::string in_words(const std::optional<duration>& d) { return d ? cat(d->count(), " us") : "never"; }

std::string in_words(const storage::claim_answer& a) {
  std::string text = cat(a.jobs.size(), " jobs");
  for (std::size_t i = 0; i < a.jobs.size(); ++i)
    text += cat("\n  ", face(a.jobs[i]), " failures ", i < a.failures.size() ? int(a.failures[i]) : -1,
                i < a.admitted.size() ? in_words(a.admitted[i]) : " and nobody says what it has");
  return text;
}

std::string in_words(const storage::expired_answer& a) {
  names leases;
  for (const auto& l : a.leases)
    leases.push_back(cat("\n  ", l.start.id.value, " fence ", l.start.fence.value, " renewals ", l.renewals, " lease ",
                         l.lease.count(), l.clock_went_back ? " clock went back" : ""));
  std::sort(leases.begin(), leases.end());
  std::string text = "next in " + in_words(a.next_in);
  for (const auto& l : leases)
    text += l;
  return text;
}

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

// What `look` says beside the jobs themselves.
struct overview {
  std::map<std::pair<std::string, std::string>, names> lines;                // by queue and line
  std::map<std::pair<std::string, std::string_view>, std::uint64_t> counts;  // by queue and state
  std::set<std::string> paused;
  std::map<std::string, std::string> throttlers;
  std::map<std::string, std::string> locks;
};

// Who has a permit, and of which start.
std::string holder(const std::string& id, sluice::fence start, bool reserved) {
  return cat(' ', id, reserved ? " reserved" : start.value == 0 ? " kept" : cat(" start ", start.value));
}
std::string about(const std::string& definition, names holders, const names& waiters) {
  std::sort(holders.begin(), holders.end());
  auto text = cat(definition, ", held by");
  for (const auto& h : holders)
    text += h;
  text += ", waited for by";
  for (const auto& id : waiters)
    text += ' ' + id;
  return text;
}

std::string in_words(const overview& o) {
  std::string text;
  for (const auto& [at, standing] : o.lines) {
    text += cat("line ", at.first, '/', at.second, ':');
    for (const auto& id : standing)
      text += ' ' + id;
    text += '\n';
  }
  for (const auto& [at, n] : o.counts)
    if (n > 0) text += cat("queue ", at.first, ' ', at.second, ' ', n, '\n');
  for (const auto& queue : o.paused)
    text += cat("queue ", queue, " is paused\n");
  for (const auto& [resource, said] : o.throttlers)
    text += cat(resource, ' ', said, '\n');
  for (const auto& [resource, said] : o.locks)
    text += cat(resource, " is ", said, '\n');
  return text;
}

}  // namespace

std::string in_words(const storage::answer& a) {
  return std::visit(
      overloaded{
          [](const error& e) { return "error " + to_string(e); },
          [](const storage::claim_answer& c) { return in_words(c); },
          [](const storage::settle_answer& s) { return in_words(s.each) + "then " + in_words(s.next); },
          [](const storage::promote_answer& p) { return cat(p.moved, " moved, next in ", in_words(p.next_in)); },
          [](const storage::expired_answer& e) { return in_words(e); },
          [](const storage::prune_answer& p) { return cat(p.removed, " removed", p.more ? ", more" : ""); },
          [](const storage::change_answer& c) { return std::string(name_of(c.code)); },
          [](const storage::lock_answer& l) { return cat(name_of(l.code), ", then ", in_words(l.now)); },
          [](const storage::rouse_answer& r) { return cat(r.woken, " woken, then ", r.next); },
          [](const storage::define_answer& d) { return cat("definition ", static_cast<int>(d.what)); },
          [](const storage::take_answer& t) {
            std::string text;
            for (const auto& one : test::in_words(t.each))
              text += one + "; ";
            return text;
          },
          [](const auto& other) {
            if constexpr (requires(std::vector<errc> codes) { codes = other.each; }) return in_words(other.each);
            else return std::string("done");
          },
      },
      a);
}

storage::answer model::carry_out(const storage::request& asked, const storage::answer& told) {
  if (const auto* e = std::get_if<error>(&told)) throw std::runtime_error("the store refused: " + to_string(*e));
  return std::visit(overloaded{
                        [&](const storage::claim_request& r) {
                          return storage::answer(apply(r, std::get<storage::claim_answer>(told)));
                        },
                        [&](const storage::lock_request& r) {
                          return storage::answer(apply(r, std::get<storage::lock_answer>(told)));
                        },
                        [&](const storage::settle_request& r) {
                          return storage::answer(apply(r, std::get<storage::settle_answer>(told)));
                        },
                        [&](const auto& r) {
                          if constexpr (requires { apply(r); }) return storage::answer(apply(r));
                          else return told;  // looking, and what servers say of themselves
                        },
                    },
                    asked);
}

bool model::made_work() {
  const auto ready = std::exchange(made_work_, {});
  return std::any_of(ready.begin(), ready.end(), [&](const std::string& id) {
    const auto* j = find(job_id(id));
    return j && (j->seen.state == enqueued || j->seen.state == scheduled);
  });
}

storage::enqueue_answer model::apply(const storage::enqueue_request& r) {
  storage::enqueue_answer answer;
  for (const auto& j : r.jobs)
    answer.each.push_back(enqueue_one(j));
  return answer;
}

errc model::enqueue_one(const prepared_job& wanted) {
  const auto content = decode_content(wanted.id, wanted.record).value();
  if (const auto* stored = find(wanted.id)) return stored->content.same_job(content) ? errc::none : errc::id_conflict;
  auto& j = jobs_[wanted.id.value];
  j.content = content;
  j.seen.id = wanted.id;
  j.seen.type = content.type;
  j.seen.queue = content.queue;
  j.seen.args = content.args;
  if (wanted.delay > duration::zero()) {
    move(j, scheduled);
    j.seen.due_at = clock_.now() + wanted.delay;
  } else {
    to_tail(j);
  }
  return errc::none;
}

// The woken line, then all others together by age. Jobs that were put aside are met by those who know their type.
model::known_jobs model::in_turn(const storage::claim_request& r) {
  auto ready = where([&](const known_job& j) {
    const bool aside = j.seen.line.starts_with("type:");
    return j.seen.state == enqueued && j.seen.queue == r.queue && (!aside || knows(r, j.seen.type.value));
  });
  std::sort(ready.begin(), ready.end(), [](const known_job* a, const known_job* b) {
    return std::pair(a->seen.line != "woken", a->place) < std::pair(b->seen.line != "woken", b->place);
  });
  return ready;
}

storage::claim_answer model::apply(const storage::claim_request& r, const storage::claim_answer& told) {
  storage::claim_answer answer;
  const auto give = [&](const known_job& j) {
    answer.jobs.push_back(j.seen);
    answer.failures.push_back(j.failures);
    answer.admitted.push_back(permits_of(j));
  };
  const auto most = r.free + r.ahead;
  if (most == 0) return answer;
  auto& last_op = last_op_[{r.server, r.queue, r.lane}];
  if (r.op <= last_op) {  // asked again: what it took and still holds
    auto held = where([&](const known_job& j) {
      return j.seen.state == processing && j.seen.queue == r.queue && j.seen.server == r.server.value && j.op == r.op;
    });
    std::sort(held.begin(), held.end(), [](auto* a, auto* b) { return a->seen.fence < b->seen.fence; });
    for (const auto* j : held)
      give(*j);
    return answer;
  }
  if (paused_.contains(r.queue.value)) return answer;

  bool suspect_too = r.suspect_too;
  std::set<std::string> looked_at;
  for (auto* j : in_turn(r)) {
    const auto taken = answer.jobs.size();
    if (taken == most) break;
    const auto& type = j->seen.type.value;
    const bool suspect = is_suspect(j->seen);
    if (suspect && !suspect_too) continue;
    if (!knows(r, type)) {
      j->seen.line = "type:" + type;        // it keeps its place
      made_work_.insert(j->seen.id.value);  // for a server that knows it
      continue;
    }
    const auto found = look_at(*j, r, looked_at);
    const bool at_once = suspect || !found.roomy || (r.at_once && r.at_once->contains(type));
    if (at_once && taken >= r.free) break;  // those behind it wait too
    if (!found.busy.empty() && found.plan->park) {
      j->first = ++places_;
      j->seen.fence = {};
      wait_in(*j, found.busy);
      if (++answer.parked == storage::most_parked) break;
      continue;
    }
    if (suspect) suspect_too = false;
    if (taken == told.jobs.size()) throw std::runtime_error("it should also have claimed " + j->seen.id.value);
    start(*j, r, told.jobs[taken].fence);
    if (found.takes)
      for (const auto& resource : found.plan->resources)
        grant(*j, resource, {j->seen.fence});
    give(*j);
  }
  for (const auto& resource : looked_at)
    pass_on(resource);
  if (!answer.jobs.empty()) last_op = r.op;
  return answer;
}

model::finding model::look_at(const known_job& j, const storage::claim_request& r,
                              std::set<std::string>& looked_at) const {
  finding found;
  const auto plan = r.permits ? r.permits->find(j.seen.type.value) : storage::permits_by_type::const_iterator();
  if (!r.permits || plan == r.permits->end()) return found;
  found.plan = &plan->second;
  if (j.first > 0 || !permits_of(j).empty()) {
    found.roomy = false;
    return found;
  }
  for (const auto& resource : found.plan->resources) {
    const auto limit = limit_of(resource);
    if (!limit) return {found.plan, "", true, false};
    looked_at.insert(resource);
    if (found.busy.empty() && (waited_for(resource) || held(resource) >= *limit)) found.busy = resource;
    found.roomy = found.roomy && !waited_for(resource) && 2 * (held(resource) + 1) <= *limit;
  }
  found.takes = found.busy.empty();
  return found;
}

bool model::waited_for(const std::string& resource) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& one) {
    const auto& j = one.second.seen;
    return j.state == throttled && j.line == resource && !paused_.contains(j.queue.value);
  });
}

std::uint64_t model::held(const std::string& resource) const {
  const auto holders = permits_.find(resource);
  return holders == permits_.end() ? 0 : holders->second.size();
}

void model::draw(sluice::fence drawn) {
  const auto now = micros(clock_.now());
  if (drawn <= last_fence_) throw std::runtime_error(cat("fence ", drawn.value, " is not above ", last_fence_.value));
  if (drawn.value < static_cast<std::uint64_t>(now))
    throw std::runtime_error(cat("fence ", drawn.value, " is below the clock, ", now));
  last_fence_ = drawn;
}

void model::start(known_job& j, const storage::claim_request& r, sluice::fence drawn) {
  const auto now = clock_.now();
  draw(drawn);
  move(j, processing);
  j.seen.fence = drawn;
  j.seen.attempt += 1;
  j.seen.server = r.server.value;
  j.seen.started_at = now;
  j.seen.lease_until = now + r.lease;
  j.lease = r.lease;
  j.op = r.op;
  j.renewals = 0;
  for (const auto& resource : permits_of(j)) {
    auto& p = permits_[resource][j.seen.id.value];
    p.start = drawn;
    p.reserved = false;
  }
}

storage::settle_answer model::apply(const storage::settle_request& r, const storage::settle_answer& told) {
  storage::settle_answer answer;
  for (const auto& end : r.starts)
    answer.each.push_back(settle_one(end));
  pass_on_freed();
  if (r.next) answer.next = apply(*r.next, told.next);
  return answer;
}

errc model::settle_one(const storage::settlement& end) {
  if (const auto* j = find(end.start.id); j && end.start.fence.value > 0 && j->settled == end.start.fence)
    return errc::none;  // asked again
  auto* j = running(end.start);
  if (!j) return errc::stale_fence;
  const bool succeeded_now = end.end == how::succeeded;
  remember(*j, end.cause, succeeded_now ? "" : end.text, end.ran);
  j->settled = end.start.fence;
  j->seen.reason = end.reason;
  j->requeued = false;
  j->seen.result = succeeded_now ? end.text : "";
  if (end.progress) j->seen.progress = end.progress;
  if (end.failure) ++j->failures;
  switch (end.end) {
    case how::succeeded: move(*j, succeeded); break;
    case how::failed: move(*j, failed); break;
    case how::deleted: move(*j, deleted); break;
    case how::deferred: j->seen.attempt -= 1; [[fallthrough]];
    case how::retry:
      if (end.delay > duration::zero()) {
        move(*j, scheduled);
        j->seen.due_at = clock_.now() + end.delay;
      } else {
        to_tail(*j);
      }
      break;
    case how::given_back:
      j->seen.attempt -= 1;
      is_suspect(j->seen) ? to_tail(*j) : move(*j, enqueued, "woken");
      break;
  }
  give_back(*j);
  return errc::none;
}

storage::renew_answer model::apply(const storage::renew_request& r) {
  storage::renew_answer answer;
  for (const auto& held : r.starts) {
    auto* j = running(held);
    answer.each.push_back(j ? errc::none : errc::stale_fence);
    if (!j) continue;
    j->seen.lease_until = clock_.now() + r.lease;
    j->lease = r.lease;
    ++j->renewals;
  }
  return answer;
}

storage::progress_answer model::apply(const storage::progress_request& r) {
  storage::progress_answer answer;
  for (const auto& said : r.starts) {
    auto* j = running(said.start);
    answer.each.push_back(j ? errc::none : errc::stale_fence);
    if (j) j->seen.progress = said.report;
  }
  return answer;
}

storage::promote_answer model::apply(const storage::promote_request& r) {
  storage::promote_answer answer;
  auto waiting = where([](const known_job& j) { return j.seen.state == scheduled; });
  std::sort(waiting.begin(), waiting.end(), [](auto* a, auto* b) { return a->seen.due_at < b->seen.due_at; });
  for (auto* j : waiting) {
    if (*j->seen.due_at > clock_.now() || answer.moved == r.limit) {
      answer.next_in = std::max(duration(0), *j->seen.due_at - clock_.now());
      break;
    }
    to_tail(*j);
    ++answer.moved;
  }
  pass_on_lapsed(r);
  for (const auto& [resource, holders] : permits_)
    for (const auto& [id, p] : holders)
      if (p.reserved) {
        const auto left = std::max(duration(0), p.since + r.reservation - clock_.now());
        answer.next_in = std::min(answer.next_in.value_or(left), left);
      }
  return answer;
}

storage::expired_answer model::apply(const storage::expired_request&) const {
  storage::expired_answer answer;
  for (const auto& [id, j] : jobs_) {
    if (j.seen.state != processing) continue;
    const auto left = *j.seen.lease_until - clock_.now();
    const bool went_back = left > j.lease + clock_slack;
    if (left <= duration::zero() || went_back)
      answer.leases.push_back({{j.seen.id, j.seen.fence}, j.renewals, j.lease, went_back});
    if (left > duration::zero() && (!answer.next_in || left < *answer.next_in)) answer.next_in = left;
  }
  return answer;
}

storage::reap_answer model::apply(const storage::reap_request& r) {
  storage::reap_answer answer;
  for (const auto& seen : r.leases)
    answer.each.push_back(reap_one(seen, r.max_losses));
  pass_on_freed();
  return answer;
}

errc model::reap_one(const storage::expired_lease& seen, std::uint32_t max_losses) {
  auto* j = running(seen.start);
  if (!j || j->renewals != seen.renewals) return errc::stale_fence;
  remember(*j, "lost", stores_words, clock_.now() - *j->seen.started_at);
  j->seen.reason = stores_words;
  j->requeued = false;
  j->seen.attempt -= 1;
  j->seen.losses += 1;
  j->seen.losses >= max_losses ? move(*j, failed) : to_tail(*j);
  give_back(*j);
  return errc::none;
}

storage::prune_answer model::apply(const storage::prune_request& r) {
  storage::prune_answer answer;
  for (const auto& [state, rule] :
       {std::pair(succeeded, r.retention.succeeded), {failed, r.retention.failed}, {deleted, r.retention.deleted}}) {
    const auto removed = prune_state(state, rule, r.limit);
    answer.removed += removed;
    answer.more = answer.more || removed == r.limit;
  }
  std::vector<std::pair<time_point, std::string>> over;
  for (const auto& [resource, l] : locks_)
    if (l.who.until <= clock_.now()) over.emplace_back(l.who.until, resource);
  std::sort(over.begin(), over.end());
  if (over.size() >= r.limit) {
    over.resize(r.limit);
    answer.more = true;
  }
  for (const auto& [until, resource] : over)
    locks_.erase(resource);
  return answer;
}

std::optional<lock_holder> model::holder_of(const std::string& resource) const {
  const auto held = locks_.find(resource);
  if (held == locks_.end() || held->second.who.until <= clock_.now()) return std::nullopt;
  auto who = held->second.who;
  who.left = who.until - clock_.now();
  return who;
}

storage::lock_answer model::apply(const storage::lock_request& r, const storage::lock_answer& told) {
  using act = storage::lock_request::act;
  const auto known = locks_.find(r.resource);
  const bool ours = known != locks_.end() && known->second.who.fence == r.fence;
  const bool held = holder_of(r.resource).has_value();
  auto code = errc::none;
  if (r.what == act::take && !held) {
    if (!told.now) throw std::runtime_error("it should have got the lock");
    draw(told.now->fence);
    locks_[r.resource] = {{told.now->fence, r.holder, clock_.now() + r.lease, {}}, r.token, r.lease};
  } else if (r.what == act::take) {
    auto& l = known->second;
    code = l.token == r.token ? errc::none : errc::lock_held;
    if (l.who.until > clock_.now() + l.lease + clock_slack) l.who.until = clock_.now() + l.lease;
  } else if (r.what == act::renew) {
    if (!ours) code = errc::stale_fence;
    else known->second.lease = r.lease, known->second.who.until = clock_.now() + r.lease;
  } else if (r.what == act::release) {
    if (ours) locks_.erase(known);
    else if (held) code = errc::stale_fence;
  }
  return {code, holder_of(r.resource)};
}

std::uint32_t model::prune_state(job_state state, const retention_rule& rule, std::uint32_t limit) {
  auto oldest = where([&](const known_job& j) { return j.seen.state == state; });
  std::sort(oldest.begin(), oldest.end(), [&](auto* a, auto* b) {
    const auto key = [&](const known_job* j) { return std::pair(*j->seen.finished_at, kept_(j->seen.id.value)); };
    return key(a) < key(b);
  });
  const auto too_many = rule.count && oldest.size() > *rule.count ? oldest.size() - *rule.count : 0;
  std::uint32_t removed = 0;
  for (auto* j : oldest) {
    const bool too_old = rule.age && *j->seen.finished_at < clock_.now() - *rule.age;
    if (removed == limit || (removed >= too_many && !too_old)) break;
    ++removed;
    jobs_.erase(std::string(j->seen.id.value));
  }
  return removed;
}

storage::change_answer model::apply(const storage::requeue_request& r) {
  auto* j = find(r.id);
  if (!j) return {errc::not_found, ""};
  if (j->seen.state == enqueued && j->requeued) return {};  // asked again
  if (j->seen.state == enqueued || j->seen.state == processing || j->seen.state == throttled)
    return {errc::illegal_transition, ""};
  if (is_final(j->seen.state)) {  // afresh, with all its attempts
    j->failures = 0;
    j->seen.attempt = 0;
    j->seen.losses = 0;
  }
  j->seen.reason = stores_words;
  j->requeued = true;
  j->seen.result.clear();
  to_tail(*j);
  return {};
}

storage::change_answer model::apply(const storage::remove_request& r) {
  auto* j = find(r.id);
  if (!j) return {errc::not_found, ""};
  if (j->seen.state == deleted) return {};
  if (j->seen.state == processing) remember(*j, "deleted", stores_words, clock_.now() - *j->seen.started_at);
  j->seen.reason = stores_words;
  j->requeued = false;
  move(*j, deleted);
  give_back(*j);
  pass_on_freed();
  return {};
}

storage::done_answer model::apply(const storage::pause_request& r) {
  if (r.paused) paused_.insert(r.queue.value);
  else paused_.erase(r.queue.value);
  if (!r.paused) apply(storage::rouse_request{});
  return {};
}

storage::take_answer model::apply(const storage::take_request& r) {
  storage::take_answer answer;
  for (const auto& asked : r.starts)
    answer.each.push_back(take_one(asked));
  return answer;
}

storage::take_answer::one model::take_one(const storage::take_request::start& asked) {
  using enum storage::take_answer::how;
  auto* j = find(asked.key.id);
  if (!j || asked.key.fence.value == 0 || j->seen.fence != asked.key.fence) return {stale, ""};
  if (j->seen.state == throttled) return {parked, j->seen.line};
  if (j->seen.state != processing) return {stale, ""};
  for (const auto& resource : asked.permits)
    if (!limit_of(resource)) return {undefined, resource};
  const auto& id = j->seen.id.value;
  names missing;
  for (const auto& resource : asked.permits) {
    if (permits_[resource].contains(id)) continue;
    if (has_room(resource)) {
      missing.push_back(resource);
      continue;
    }
    if (!asked.park) return {busy, resource};
    park(*j, resource, missing);
    return {parked, resource};
  }
  for (const auto& resource : missing)
    grant(*j, resource, {.start = asked.key.fence});
  if (asked.strict)
    for (const auto& resource : permits_of(*j))
      permits_[resource][id].strict = true;
  return {granted, ""};
}

storage::define_answer model::apply(const storage::define_request& r) {
  using enum storage::define_answer::how;
  const auto known = definitions_.find(r.resource);
  if (known != definitions_.end() && known->second.text == r.text && known->second.permits == r.permits)
    return {unchanged};
  const auto what = known == definitions_.end() ? added : changed;
  definitions_[r.resource] = r;
  pass_on(r.resource);
  return {what};
}

storage::change_answer model::apply(const storage::undefine_request& r) {
  const auto waits = where([&](const known_job& j) { return j.seen.state == throttled && j.seen.line == r.resource; });
  if (!waits.empty() || !permits_[r.resource].empty()) return {errc::illegal_transition, ""};
  definitions_.erase(r.resource);
  return {};
}

storage::rouse_answer model::apply(const storage::rouse_request&) {
  std::set<std::string> lines;
  for (const auto* j : where([](const known_job& j) { return j.seen.state == throttled; }))
    lines.insert(j->seen.line);
  storage::rouse_answer answer;
  for (const auto& resource : lines)
    answer.woken += pass_on(resource);
  return answer;
}

std::optional<std::uint64_t> model::limit_of(const std::string& resource) const {
  const auto known = definitions_.find(resource);
  if (known != definitions_.end()) return known->second.permits;
  return resource.starts_with("mutex:") ? std::optional<std::uint64_t>(1) : std::nullopt;
}

bool model::has_room(const std::string& resource) {
  pass_on(resource);
  return permits_[resource].size() < limit_of(resource);
}

std::uint64_t model::pass_on(const std::string& resource) {
  std::uint64_t woken = 0;
  while (permits_[resource].size() < limit_of(resource).value_or(0)) {
    const auto waiters = where([&](const known_job& j) {
      return j.seen.state == throttled && j.seen.line == resource && !paused_.contains(j.seen.queue.value);
    });
    if (waiters.empty()) break;
    auto& oldest =
        **std::min_element(waiters.begin(), waiters.end(), [](auto* a, auto* b) { return a->first < b->first; });
    is_suspect(oldest.seen) ? to_tail(oldest) : move(oldest, enqueued, "woken");
    grant(oldest, resource, {.reserved = true});
    ++woken;
  }
  return woken;
}

void model::grant(known_job& j, const std::string& resource, permit p) {
  p.since = clock_.now();
  p.number = ++places_;
  permits_[resource][j.seen.id.value] = p;
}

void model::wait_in(known_job& j, const std::string& resource) {
  move(j, throttled, resource);
  j.place = j.first;
}

// What it had goes back; but when it was woken in vain too often, it keeps what comes before the busy one by name.
void model::park(known_job& j, const std::string& resource, const names& free) {
  if (j.first > 0) ++j.vain;
  else j.first = ++places_;
  const bool keeps = j.vain >= storage::vain_wakes;
  names freed;
  for (const auto& has : permits_of(j)) {
    auto& p = permits_[has][j.seen.id.value];
    p.start = {};
    if ((p.strict || keeps) && has < resource) continue;
    permits_[has].erase(j.seen.id.value);
    freed.push_back(has);
  }
  if (keeps)
    for (const auto& taken : free)
      grant(j, taken, {});
  j.seen.attempt -= 1;
  wait_in(j, resource);
  for (const auto& f : freed)
    pass_on(f);
}

void model::give_back(known_job& j) {
  for (const auto& has : permits_of(j)) {
    auto& p = permits_[has][j.seen.id.value];
    p.start = {};
    if (p.strict && !is_final(j.seen.state)) continue;
    permits_[has].erase(j.seen.id.value);
    freed_.push_back(has);
  }
  j.first = 0;
  j.vain = 0;
}

// When all that a request ends has ended.
void model::pass_on_freed() {
  for (const auto& f : std::exchange(freed_, {}))
    pass_on(f);
}

void model::pass_on_lapsed(const storage::promote_request& r) {
  struct lapse {
    time_point since;
    std::uint64_t number;
    std::string resource, id;
    auto operator<=>(const lapse&) const = default;
  };
  std::set<lapse> all;
  for (const auto& [resource, holders] : permits_)
    for (const auto& [id, p] : holders)
      if (p.reserved && p.since <= clock_.now() - r.reservation) all.insert({p.since, p.number, resource, id});
  std::uint32_t passed = 0;
  for (const auto& one : all) {
    if (passed++ == r.limit) break;
    permits_[one.resource].erase(one.id);
    auto& j = jobs_.at(one.id);
    j.first = ++places_;
    wait_in(j, one.resource);
    pass_on(one.resource);
  }
}

names model::permits_of(const known_job& j) const {
  names all;
  for (const auto& [resource, holders] : permits_)
    if (holders.contains(j.seen.id.value)) all.push_back(resource);
  return all;
}

model::known_job* model::find(const job_id& id) {
  const auto known = jobs_.find(id.value);
  return known == jobs_.end() ? nullptr : &known->second;
}

model::known_job* model::running(const storage::start_key& start) {
  auto* j = find(start.id);
  return j && j->seen.state == processing && j->seen.fence == start.fence ? j : nullptr;
}

model::known_jobs model::where(const std::function<bool(const known_job&)>& is_one) {
  known_jobs found;
  for (auto& [id, j] : jobs_)
    if (is_one(j)) found.push_back(&j);
  return found;
}

// Each state has its own times; whoever waits stands behind all others.
void model::move(known_job& j, job_state to, const std::string& line) {
  j.seen.state = to;
  j.seen.line = line;
  j.seen.server.clear();
  j.seen.due_at.reset();
  j.seen.started_at.reset();
  j.seen.lease_until.reset();
  j.seen.finished_at = is_final(to) ? std::optional(clock_.now()) : std::nullopt;
  if (to == enqueued) j.place = ++places_;
  if (to == enqueued || to == scheduled) made_work_.insert(j.seen.id.value);
}

void model::remember(known_job& j, const std::string& cause, const std::string& why, duration ran) {
  const auto now = clock_.now();
  auto& history = j.seen.history;
  history.push_back(
      {j.seen.fence, j.seen.attempt, cause, j.seen.server, why, now - std::min(ran, now - *j.seen.started_at), now});
  if (history.size() > 20) history.erase(history.begin());
}

std::string model::look() const {
  std::vector<const known_job*> all;
  for (const auto& [id, j] : jobs_)
    all.push_back(&j);
  std::string text;
  for (const auto* j : all) {  // by id
    auto shown = j->seen;
    if (shown.line.starts_with("type:") || shown.state == throttled) shown.reason = stores_words;
    // Once a throttled job goes on, its start is as if it had never been.
    if (shown.state != processing && shown.state != throttled)
      shown.fence = shown.history.empty() ? sluice::fence{} : shown.history.back().fence;
    text += face(shown) + '\n';
  }
  overview rest;
  rest.paused = paused_;
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->place < b->place; });
  for (const auto* j : all) {
    const auto& queue = j->seen.queue.value;
    if (j->seen.state == enqueued) rest.lines[{queue, j->seen.line}].push_back(j->seen.id.value);
    ++rest.counts[{queue, name_of(j->seen.state)}];
  }
  std::set<std::string> resources;
  std::map<std::string, names> waiters;
  for (const auto* j : all)
    if (j->seen.state == throttled) waiters[j->seen.line].push_back(j->seen.id.value);
  for (const auto& [resource, d] : definitions_)
    resources.insert(resource);
  for (const auto& [resource, standing] : waiters)
    resources.insert(resource);
  for (const auto& [resource, holders] : permits_)
    if (!holders.empty()) resources.insert(resource);
  for (const auto& resource : resources) {
    names held;
    if (const auto has = permits_.find(resource); has != permits_.end())
      for (const auto& [id, p] : has->second)
        held.push_back(holder(id, p.start, p.reserved));
    const auto written = definitions_.find(resource);
    rest.throttlers[resource] =
        about(written == definitions_.end() ? "" : written->second.text, held, waiters[resource]);
  }
  for (const auto& resource : lock_names)
    rest.locks[resource] = in_words(holder_of(resource));
  return text + in_words(rest);
}

std::string model::look(world& w) {
  std::map<std::string, std::string> faces;
  for (const auto& j : list(w)) {
    auto& text = faces[j.id.value];
    text += face(j) + '\n';
    const auto alone = test::look(w, j.id.value).found;
    if (!alone || portrait(*alone) != portrait(j)) text += "but looked at alone it is another\n";
  }
  std::string text;
  for (const auto& [id, one] : faces)
    text += one;
  overview rest;
  job_query waiting;
  waiting.state = enqueued;
  for (const auto& j : list(w, waiting))
    rest.lines[{j.queue.value, j.line}].push_back(j.id.value);
  for (const auto& q : queues(w)) {
    for (int n = 1; n <= 8; ++n) {
      const auto state = static_cast<job_state>(n);
      rest.counts[{q.queue.value, name_of(state)}] = count_of(q, state);
    }
    if (q.quarantined > 0) text += cat("quarantined ", q.quarantined, '\n');
    if (q.paused) rest.paused.insert(q.queue.value);
  }
  for (const auto& row : all_throttlers(w)) {
    const auto told = one_throttler(w, row.resource, 200);
    names held, waiters;
    for (const auto& h : told.holders)
      held.push_back(holder(h.id.value, h.fence, h.reserved));
    for (const auto& id : told.waiters)
      waiters.push_back(id.value);
    rest.throttlers[row.resource] = about(row.definition, held, waiters);
    if (row.held != held.size() || row.waiting != waiters.size()) text += row.resource + " is counted wrongly\n";
  }
  for (const auto& resource : lock_names)
    rest.locks[resource] = who_holds(w, resource);
  return text + in_words(rest);
}

}  // namespace sluice::test
