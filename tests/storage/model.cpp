#include "storage/model.hpp"

#include "core/text.hpp"

namespace sluice::test {
namespace {

using enum job_state;

constexpr duration clock_slack = 1s;  // no clock runs a lease further ahead by itself
constexpr duration lock_kept = 24h;   // a lock whose lease is over, by prune

bool knows(const storage::claim_request& r, const std::string& type) { return r.types && r.types->contains(type); }

bool is_suspect(const job& j) { return storage::is_suspect(j.losses); }

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

}  // namespace

storage::answer model::carry_out(const storage::request& asked, const storage::answer& told) {
  passed_on_.clear();
  if (const auto* e = std::get_if<error>(&told)) throw std::runtime_error("the store refused: " + to_string(*e));
  return std::visit(overloaded{
                        [&](const storage::claim_request& r) {
                          return storage::answer(apply(r, std::get<storage::claim_answer>(told)));
                        },
                        [&](const storage::lock_request& r) {
                          return storage::answer(apply(r, std::get<storage::lock_answer>(told)));
                        },
                        [&](const storage::promote_request& r) {
                          return storage::answer(apply(r, std::get<storage::promote_answer>(told)));
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
  const bool cancels = std::exchange(cancels_, false);
  return std::exchange(moved_checks_, false) || cancels ||
         std::any_of(ready.begin(), ready.end(), [&](const std::string& id) {
           const auto* j = find(job_id(id));
           return j && (j->seen.state == enqueued || j->seen.state == scheduled);
         });
}

// The woken line, then all others together by age. Jobs that were put aside are met by those who know their type.
model::known_jobs model::in_turn(const storage::claim_request& r) {
  auto ready = where([&](const stored_job& j) {
    const bool aside = j.seen.line.starts_with("type:");
    return j.seen.state == enqueued && j.seen.queue == r.queue && (!aside || knows(r, j.seen.type.value));
  });
  std::sort(ready.begin(), ready.end(), [](const stored_job* a, const stored_job* b) {
    return std::pair(a->seen.line != "front", a->place) < std::pair(b->seen.line != "front", b->place);
  });
  return ready;
}

// Who waits in the line of a permit and may follow in a chain.
model::known_jobs model::followers(const storage::claim_request& r, const std::string& type,
                                   const std::string& resource, std::uint32_t by) {
  auto line = waiters(resource);
  const auto here = std::count_if(line.begin(), line.end(), [&](auto* j) { return j->seen.queue == r.queue; });
  const auto permits = std::max<std::uint64_t>(1, limit_of(resource).value_or(1));
  const auto share = (static_cast<std::uint64_t>(here) + permits) / permits;  // of them and the first
  const auto alike = [&](const stored_job* j) {
    return j->seen.queue == r.queue && j->seen.type.value == type && !is_suspect(j->seen) && permits_of(*j).empty() &&
           j->slots.empty();
  };
  line.erase(std::find_if_not(line.begin(), line.end(), alike), line.end());
  line.resize(std::min<std::size_t>(line.size(), std::min<std::uint64_t>(by, share - 1)));
  const auto late = std::find_if(line.begin(), line.end(), [&](auto* j) { return why_not_start(*j).has_value(); });
  if (late != line.end()) met_too_late_.push_back(*late);
  line.erase(late, line.end());
  return line;
}

storage::claim_answer model::apply(const storage::claim_request& r, const storage::claim_answer& told) {
  storage::claim_answer answer;
  // Of a chain of one nobody knows.
  const auto chain_of = [&](const stored_job& j) {
    sluice::fence chain;
    for (const auto& resource : permits_of(j))
      if (permits_[resource][j.seen.id.value].chain.value > 0) chain = permits_[resource][j.seen.id.value].chain;
    return chain;
  };
  const auto give = [&](const stored_job& j) {
    answer.jobs.push_back({j.seen, j.failures, admitted(j), chain_of(j)});
    if (j.finish_by) answer.jobs.back().finish_in = std::max(duration(1), *j.finish_by - clock_.now());
  };
  const auto most = r.free + r.ahead;
  if (most == 0) return answer;
  auto& last_op = last_op_[{r.server, r.queue, r.slot}];
  if (r.op <= last_op) {  // asked again: what it took and still holds
    auto held = where([&](const stored_job& j) {
      return j.seen.state == processing && j.seen.queue == r.queue && j.seen.server == r.server.value && j.op == r.op;
    });
    std::sort(held.begin(), held.end(), [](auto* a, auto* b) { return a->seen.fence < b->seen.fence; });
    for (const auto* j : held)
      give(*j);
    return answer;
  }
  if (paused_.contains(r.queue.value)) return answer;

  begin_step();
  bool allow_suspect = r.allow_suspect;
  std::set<std::string> records_read, taken_of, left_of, fresh_of;  // the last three by type
  std::uint32_t used = 0;
  std::vector<stored_job*> taken;
  std::vector<std::pair<stored_job*, std::string>> parks;  // they join their lines behind all that was taken
  const auto start_next = [&](stored_job& j) {
    if (taken.size() == told.jobs.size()) throw std::runtime_error("it should also have claimed " + j.seen.id.value);
    start(j, r, told.jobs[taken.size()].job.fence);
    taken.push_back(&j);
  };
  const auto follow = [&](stored_job& j, const std::string& resource, sluice::fence first) {
    start_next(j);
    permits_[resource][j.seen.id.value] = {
        .run = j.seen.fence, .chain = first, .since = clock_.now(), .number = ++places_};
  };
  for (const auto& [type, its] : r.chains) {
    const auto plan = r.permits->find(type);
    if (plan == r.permits->end() || plan->second.resources.size() != 1) continue;
    const auto& resource = plan->second.resources[0];
    const auto t = turns_.find({r.queue.value, resource});
    if (t != turns_.end() && t->second.next != r.server.value) continue;
    if (held(resource) > limit_of(resource).value_or(0)) continue;
    for (const auto& one : its.growing) {
      const auto& holders = permits_[resource];
      const bool goes_on =
          std::any_of(holders.begin(), holders.end(), [&](auto& h) { return h.second.chain == one.first; });
      if (!goes_on) continue;
      for (auto* next : followers(r, type, resource, one.by))
        follow(*next, resource, one.first);
    }
  }
  for (auto* j : in_turn(r)) {
    if (used == most) break;
    const auto& type = j->seen.type.value;
    const bool suspect = is_suspect(j->seen);
    if (suspect && !allow_suspect) continue;
    if (why_not_start(*j)) {
      met_too_late_.push_back(j);
      continue;
    }
    if (!knows(r, type)) {
      j->seen.line = "type:" + type;        // it keeps its place
      made_work_.insert(j->seen.id.value);  // for a server that knows it
      continue;
    }
    const auto found = look_at(*j, r, records_read);
    const auto wished = r.chains.find(type);
    const auto chain =
        found.plan && found.plan->resources.size() == 1 && wished != r.chains.end() ? wished->second.most : 0;
    const bool waited = found.plan && (j->first > 0 || !permits_of(*j).empty());
    if (waited && chain > 0 && is_left_to_another({r.queue.value, found.plan->resources[0]}, r.server.value)) {
      left_of.insert(type);
      answer.left_to_another = true;
      continue;
    }
    const bool no_prefetch = suspect || !found.roomy || (r.no_prefetch && r.no_prefetch->contains(type));
    if (no_prefetch && used >= r.free) break;  // those behind it wait too
    if (!found.busy.empty() && found.plan->park) {
      parks.emplace_back(j, found.busy);
      if (++answer.parked == storage::max_parked) break;
      continue;
    }
    if (suspect) allow_suspect = false;
    const bool was_promised_alone = waited && chain > 1 && !suspect && j->slots.empty() &&
                                    permits_of(*j) == found.plan->resources &&
                                    permits_[found.plan->resources[0]][j->seen.id.value].reserved;
    start_next(*j);
    ++used;
    if (waited && chain > 0) taken_of.insert(type);
    if (found.takes) fresh_of.insert(type);
    if (was_promised_alone)
      for (auto* next : followers(r, type, found.plan->resources[0], chain - 1)) {
        permits_[found.plan->resources[0]][j->seen.id.value].chain = j->seen.fence;
        follow(*next, found.plan->resources[0], j->seen.fence);
      }
    if (!found.takes) continue;
    for (const auto& resource : found.plan->resources)
      grant(*j, resource, {j->seen.fence});
  }
  for (const auto& [j, resource] : parks) {
    j->first = ++places_;
    j->seen.fence = {};
    wait_in(*j, resource);
  }
  end_those_met();
  for (auto* j : taken)
    if (j->key_until == unique_until::start) free_key(*j);
  tell_ends();
  for (const auto* j : taken)
    give(*j);
  std::set<std::string> has;  // permits, of some type
  const auto each_chaining = [&](const auto& step) {
    for (const auto& [type, wished] : r.chains) {
      const auto plan = r.permits->find(type);
      if (plan != r.permits->end() && plan->second.resources.size() == 1) step(type, wished, plan->second.resources[0]);
    }
  };
  each_chaining([&](const std::string& type, const auto& wished, const std::string& resource) {
    const auto t = turns_.find({r.queue.value, resource});
    if (taken_of.contains(type)) {
      if (t != turns_.end() && (t->second.until > time_point{} || t->second.next == r.server.value)) turns_.erase(t);
    } else if (left_of.contains(type)) {
      if (t != turns_.end() && t->second.until == time_point{}) t->second.until = clock_.now() + storage::turn_time;
    }
    if ((wished.most > 0 && !wished.wants_turn) || taken_of.contains(type)) has.insert(resource);
  });
  for (const auto& type : fresh_of)
    for (const auto& resource : r.permits->at(type).resources)
      has.insert(resource);
  each_chaining([&](const std::string& type, const auto& wished, const std::string& resource) {
    if (!wished.wants_turn || !knows(r, type) || has.contains(resource) || left_of.contains(type)) return;
    const auto waits = where([&](const stored_job& j) {
      return j.seen.state == throttled && j.seen.queue == r.queue && j.seen.line == resource;
    });
    if (!waits.empty() && used < r.free) turns_.try_emplace({r.queue.value, resource}, turn{{}, r.server.value});
  });
  pass_on_freed();
  for (const auto& resource : records_read)
    pass_on(resource);
  if (!answer.jobs.empty()) last_op = r.op;
  return answer;
}
void model::draw(sluice::fence drawn) {
  const auto now = micros(clock_.now());
  if (drawn <= last_fence_) throw std::runtime_error(cat("fence ", drawn.value, " is not above ", last_fence_.value));
  if (drawn.value < static_cast<std::uint64_t>(now))
    throw std::runtime_error(cat("fence ", drawn.value, " is below the clock, ", now));
  last_fence_ = drawn;
}

void model::start(stored_job& j, const storage::claim_request& r, sluice::fence drawn) {
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
  j.asked_to_end = false;
  for (const auto& resource : permits_of(j)) {
    auto& p = permits_[resource][j.seen.id.value];
    p.run = drawn;
    p.reserved = false;
  }
  std::erase_if(j.slots, [&](const auto& slot) { return slot.second <= now; });
}

storage::settle_answer model::apply(const storage::settle_request& r, const storage::settle_answer& told) {
  storage::settle_answer answer;
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    const bool is_step = i == 0 || !r.runs[i].next.empty() || !r.runs[i - 1].next.empty();
    if (is_step && i > 0) {
      end_step();
      passed_on_.clear();
    }
    if (is_step) begin_step();
    answer.each.push_back(settle_one(r.runs[i]));
  }
  end_step();
  if (r.next) answer.next = apply(*r.next, told.next);
  return answer;
}

errc model::settle_one(const storage::settlement& end) {
  if (const auto* j = find(end.run.id); j && end.run.fence.value > 0 && j->settled == end.run.fence)
    return errc::none;  // asked again
  auto* j = running(end.run);
  if (!j) return errc::stale_fence;
  const bool succeeded_now = end.end == how::succeeded;
  const bool cancelled = j->asked_to_end && !succeeded_now;
  const bool is_late = !cancelled && end.end == how::retry && j->finish_by && clock_.now() + end.delay >= *j->finish_by;
  remember(*j, cancelled ? "cancelled" : is_late ? "deadline" : end.cause, succeeded_now ? "" : end.text, end.waited);
  j->settled = end.run.fence;
  j->seen.reason = cancelled || is_late ? stores_words : end.reason;
  j->seen.result = succeeded_now ? end.text : "";
  if (end.progress) j->seen.progress = end.progress;
  if (end.failure) ++j->failures;
  if (succeeded_now && !end.next.empty()) free_key(*j);  // the next may have it
  name(end.next);
  if (succeeded_now)
    for (const auto& next : end.next)
      if (const auto came = enqueue_one(next);
          came.first != errc::none || (came.second && came.second->is != note::what::replaced))
        j->seen.reason = stores_words;
  if (cancelled || is_late) {
    if (cancelled && (end.end == how::deferred || end.end == how::given_back)) j->seen.attempt -= 1;
    move(*j, cancelled ? deleted : failed);
    give_back(*j);
    ended_runs_.emplace_back(j->seen.id.value, j->seen.state);
    return errc::none;
  }
  if (end.end == how::deferred || end.end == how::given_back) {
    j->seen.attempt -= 1;
    take_key_again(*j);
  }
  switch (end.end) {
    case how::succeeded: move(*j, succeeded); break;
    case how::failed:
    case how::given_up: move(*j, failed); break;
    case how::removed: move(*j, deleted); break;
    case how::deferred:
    case how::retry:
      if (end.delay > duration::zero()) {
        move(*j, scheduled);
        j->seen.due_at = clock_.now() + end.delay;
      } else {
        to_tail(*j);
      }
      break;
    case how::given_back:
      if (return_to_line(*j)) return errc::none;
      is_suspect(j->seen) ? to_tail(*j) : move(*j, enqueued, "front");
      break;
  }
  give_back(*j);
  if (is_final(j->seen.state)) ended_runs_.emplace_back(j->seen.id.value, j->seen.state);
  return errc::none;
}

storage::renew_answer model::apply(const storage::renew_request& r) {
  storage::renew_answer answer;
  for (const auto& held : r.runs) {
    auto* j = running(held);
    answer.each.push_back(j ? errc::none : errc::stale_fence);
    if (!j) continue;
    j->seen.lease_until = clock_.now() + r.lease;
    j->lease = r.lease;
    ++j->renewals;
    if (j->asked_to_end) answer.cancelled.push_back(held);
  }
  return answer;
}

storage::progress_answer model::apply(const storage::progress_request& r) {
  storage::progress_answer answer;
  for (const auto& said : r.runs) {
    auto* j = running(said.run);
    answer.each.push_back(j ? errc::none : errc::stale_fence);
    if (j) j->seen.progress = said.report;
    if (j && j->asked_to_end) answer.cancelled.push_back(said.run);
  }
  return answer;
}

storage::promote_answer model::apply(const storage::promote_request& r, const storage::promote_answer& told) {
  storage::promote_answer answer;
  const auto sooner = [&](duration left) {
    left = std::max(duration(0), left);
    answer.next_in = std::min(answer.next_in.value_or(left), left);
  };
  auto waiting = where([](const stored_job& j) { return j.seen.state == scheduled; });
  std::sort(waiting.begin(), waiting.end(), [](auto* a, auto* b) { return a->seen.due_at < b->seen.due_at; });
  for (auto* j : waiting) {
    if (*j->seen.due_at > clock_.now() || answer.moved == r.limit) break;
    to_tail(*j);
    ++answer.moved;
  }
  pass_on_lapsed(r);
  answer.open = open_limiters(r);
  work_off();
  for (const auto* j : where([](const stored_job& j) { return j.seen.state == scheduled; }))
    sooner(*j->seen.due_at - clock_.now());
  for (const auto& [resource, holders] : permits_)
    for (const auto& [id, p] : holders)
      if (p.reserved) sooner(p.since + r.reservation - clock_.now());
  if (!answer.open.empty()) sooner(storage::recheck_interval);
  for (const auto& [line, at] : next_checks_)
    if (at > clock_.now()) sooner(at - clock_.now());
  if (const auto at = next_of_flow()) sooner(*at - clock_.now());
  // A store may look sooner at what has to do with others, or with time.
  if (births_ > 0 && told.next_in && (!answer.next_in || *told.next_in < *answer.next_in))
    answer.next_in = told.next_in;
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
  begin_step();
  for (const auto& seen : r.leases)
    answer.each.push_back(reap_one(seen, r.max_losses));
  end_step();
  return answer;
}

errc model::reap_one(const storage::expired_lease& seen, std::uint32_t max_losses) {
  auto* j = running(seen.run);
  if (!j || j->renewals != seen.renewals) return errc::stale_fence;
  remember(*j, j->asked_to_end ? "cancelled" : "lost", stores_words, duration::zero());
  j->seen.reason = stores_words;
  j->seen.attempt -= 1;
  j->seen.losses += 1;
  if (j->asked_to_end) move(*j, deleted);
  else j->seen.losses >= max_losses ? move(*j, failed) : to_tail(*j);
  give_back(*j);
  if (is_final(j->seen.state)) ended_runs_.emplace_back(j->seen.id.value, j->seen.state);
  else take_key_again(*j);
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
    if (l.who.until + lock_kept <= clock_.now()) over.emplace_back(l.who.until, resource);
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
  using act = storage::lock_request::verb;
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
  auto oldest = where([&](const stored_job& j) { return j.seen.state == state; });
  std::sort(oldest.begin(), oldest.end(), [&](auto* a, auto* b) {
    const auto key = [&](const stored_job* j) {
      return std::tuple(*j->seen.finished_at, kept_(j->seen.id.value), !is_parent_of_some(j->seen.id.value));
    };
    return key(a) < key(b);
  });
  const auto too_many = rule.count && oldest.size() > *rule.count ? oldest.size() - *rule.count : 0;
  std::uint32_t removed = 0, looked = 0;
  for (auto* j : oldest) {
    const bool too_old = rule.age && *j->seen.finished_at < clock_.now() - *rule.age;
    if (removed == limit || (looked >= too_many && !too_old)) break;
    ++looked;
    if (is_parent_of_some(j->seen.id.value)) continue;
    ++removed;
    const std::string id = j->seen.id.value;
    std::erase_if(owed_, [&](const ending& end) { return end.first == id; });  // no child waits for it any more
    jobs_.erase(id);
  }
  return removed;
}

storage::change_jobs_answer model::apply(const storage::change_jobs_request& r) {
  storage::change_jobs_answer told;
  for (const auto& id : r.ids)
    told.each.push_back(r.change == storage::job_change::requeue  ? requeue(id)
                        : r.change == storage::job_change::remove ? remove(id)
                                                                  : cancel(id));
  return told;
}

storage::change_answer model::requeue(const job_id& id) {
  auto* j = find(id);
  if (!j) return {errc::not_found, ""};
  if (j->seen.state == enqueued) return {.changed = false};
  if (j->seen.state == processing || j->seen.state == throttled) return {errc::illegal_transition, ""};
  begin_step();
  if (const auto refused = go_on(*j)) return {*refused, ""};
  remember_hand(*j, "requeued");
  if (is_final(j->seen.state)) {  // afresh, with all its attempts
    j->failures = 0;
    j->seen.attempt = 0;
    j->seen.losses = 0;
  }
  j->seen.reason = stores_words;
  j->seen.result.clear();
  to_tail(*j);
  return {};
}

storage::change_answer model::remove(const job_id& id) {
  auto* j = find(id);
  if (!j) return {errc::not_found, ""};
  if (j->seen.state == deleted) return {.changed = false};
  if (j->seen.state == processing) remember(*j, "deleted", stores_words, duration::zero());
  else remember_hand(*j, "deleted");
  begin_step();
  if (!is_final(j->seen.state)) ended_runs_.emplace_back(j->seen.id.value, deleted);  // the first end is what counts
  j->seen.reason = stores_words;
  move(*j, deleted);
  give_back(*j);
  end_step();
  return {};
}

storage::change_answer model::cancel(const job_id& id) {
  auto* j = find(id);
  if (!j) return {errc::not_found, ""};
  if (j->seen.state == deleted) return {.changed = false};
  if (is_final(j->seen.state)) return {errc::illegal_transition, ""};
  if (j->seen.state == processing) {
    cancels_ = true;
    if (std::exchange(j->asked_to_end, true)) return {.changed = false, .asked = true};
    remember_hand(*j, "cancel_asked");
    j->seen.reason = stores_words;
    return {.asked = true};
  }
  remember_hand(*j, "cancelled");
  begin_step();
  ended_runs_.emplace_back(j->seen.id.value, deleted);
  j->seen.reason = stores_words;
  move(*j, deleted);
  give_back(*j);
  end_step();
  return {};
}

// Who was asked to end before its handler began.
void model::end_before_begin(stored_job& j) {
  remember(j, "cancelled", "", clock_.now() - *j.seen.started_at);
  j.seen.reason = stores_words;
  j.seen.attempt -= 1;
  move(j, deleted);
  give_back(j);
  ended_runs_.emplace_back(j.seen.id.value, deleted);
}

storage::change_answer model::apply(const storage::pause_request& r) {
  const bool changed = r.paused ? paused_.insert(r.queue.value).second : paused_.erase(r.queue.value) > 0;
  if (!r.paused) reconcile_lines([&](const stored_job& j) { return j.seen.queue == r.queue; });
  return {.changed = changed};
}
model::stored_job* model::find(const job_id& id) {
  const auto known = jobs_.find(id.value);
  return known == jobs_.end() ? nullptr : &known->second;
}

model::stored_job* model::running(const storage::run_key& run) {
  auto* j = find(run.id);
  return j && j->seen.state == processing && j->seen.fence == run.fence ? j : nullptr;
}

model::known_jobs model::where(const std::function<bool(const stored_job&)>& is_one) {
  known_jobs found;
  for (auto& [id, j] : jobs_)
    if (is_one(j)) found.push_back(&j);
  return found;
}

// Each state has its own times; whoever waits stands behind all others. With the last who waited there, nothing is
// known any more of when a line opens.
void model::move(stored_job& j, job_state to, const std::string& line) {
  const auto left = j.seen.state == throttled ? j.seen.line : "";
  j.seen.state = to;
  j.seen.line = line;
  j.seen.server.clear();
  j.seen.due_at.reset();
  j.seen.started_at.reset();
  j.seen.lease_until.reset();
  j.seen.finished_at = is_final(to) ? std::optional(clock_.now()) : std::nullopt;
  if (to == enqueued) j.place = ++places_;
  if (to == enqueued || to == scheduled) made_work_.insert(j.seen.id.value);
  if (waiting_in(left, false) == 0) next_checks_.erase(left);
}

// What a person did: no run, but a row of the history.
void model::remember_hand(stored_job& j, const std::string& cause) {
  const auto now = clock_.now();
  add_to_history(j, {{}, 0, cause, "", stores_words, now, now});
}

void model::remember(stored_job& j, const std::string& cause, const std::string& why, duration waited) {
  const auto now = clock_.now();
  add_to_history(j, {j.seen.fence, j.seen.attempt, cause, j.seen.server, why,
                     *j.seen.started_at + std::min(waited, now - *j.seen.started_at), now});
}

void model::add_to_history(stored_job& j, run_record row) {
  auto& history = j.seen.history;
  history.push_back(std::move(row));
  if (history.size() > 20) history.erase(history.begin());
}
}  // namespace sluice::test
