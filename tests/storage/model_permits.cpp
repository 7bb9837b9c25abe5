// Permits: how they are taken, wait for and pass on; and definitions.
#include "storage/model.hpp"

namespace sluice::test {

using enum job_state;

model::finding model::look_at(const stored_job& j, const storage::claim_request& r,
                              std::set<std::string>& records_read) const {
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
    records_read.insert(resource);
    if (found.busy.empty() && (waited_for(resource) || held(resource) >= *limit)) found.busy = resource;
    found.roomy = found.roomy && !waited_for(resource) && 2 * (held(resource) + 1) <= *limit;
  }
  found.takes = found.busy.empty();
  return found;
}

bool model::waited_for(const std::string& resource) const { return waiting_in(resource, true) > 0; }

std::uint64_t model::held(const std::string& resource) const {
  const auto holders = permits_.find(resource);
  if (holders == permits_.end()) return 0;
  std::uint64_t alone = 0;
  std::set<sluice::fence> chains;
  for (const auto& [id, p] : holders->second)
    if (p.chain.value == 0) ++alone;
    else chains.insert(p.chain);
  return alone + chains.size();
}
storage::acquire_permits_answer model::apply(const storage::acquire_permits_request& r) {
  storage::acquire_permits_answer answer;
  begin_step();
  for (const auto& asked : r.runs)
    if (auto* j = running(asked.key); j && j->asked_to_end) end_before_begin(*j);
  end_step();
  for (const auto& asked : r.runs)
    answer.each.push_back(take_one(asked));
  return answer;
}

storage::acquire_permits_answer::verdict model::take_one(const storage::acquire_permits_request::run& asked) {
  using enum admission;
  auto* j = find(asked.key.id);
  if (!j || asked.key.fence.value == 0 || j->seen.fence != asked.key.fence) return {stale, ""};
  if (j->seen.state == throttled) return {parked, j->seen.line};
  if (j->seen.state != processing) return {stale, ""};
  for (const auto& has : permits_of(*j))
    if (permits_[has][j->seen.id.value].chain.value > 0) return {stale, ""};
  for (const auto& resource : asked.permits)
    if (!limit_of(resource)) return {undecided, resource};
  const auto& id = j->seen.id.value;
  names missing;
  for (const auto& resource : asked.permits) {
    if (permits_[resource].contains(id)) continue;
    if (has_room(resource)) {
      missing.push_back(resource);
      continue;
    }
    if (!asked.park) return {deferred, resource};
    park(*j, resource, missing);
    return {parked, resource};
  }
  for (const auto& resource : missing)
    grant(*j, resource, {.run = asked.key.fence});
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
  if (!r.permits) redefine_window(r.resource, what == changed);
  return {what};
}

storage::change_answer model::apply(const storage::undefine_request& r) {
  const auto waits = where([&](const stored_job& j) {
    return j.seen.state == throttled && (j.seen.line == r.resource || j.seen.line.starts_with(r.resource + "/"));
  });
  if (!waits.empty() || !permits_[r.resource].empty()) return {errc::illegal_transition, ""};
  const auto known = definitions_.find(r.resource);
  forget_window(r.resource, known != definitions_.end() && !known->second.permits);
  definitions_.erase(r.resource);
  return {};
}

storage::reconcile_answer model::apply(const storage::reconcile_request&) {
  return {reconcile_lines([](const stored_job&) { return true; }), ""};
}

// Those in which such a job waits. Nobody looks at the line of a limiter that has no next check: it gets one while
// somebody waits there whose queue runs.
std::uint64_t model::reconcile_lines(const std::function<bool(const stored_job&)>& is_one) {
  std::set<std::string> lines;
  for (const auto* j : where([&](const stored_job& j) { return j.seen.state == throttled && is_one(j); }))
    lines.insert(j->seen.line);
  std::uint64_t woken = 0;
  for (const auto& resource : lines) {
    woken += pass_on(resource);
    const bool of_limiter = std::find(limiter_lines.begin(), limiter_lines.end(), resource) != limiter_lines.end();
    if (!of_limiter || !waited_for(resource) || next_checks_.contains(resource)) continue;
    next_checks_[resource] = clock_.now();
    moved_checks_ = true;
  }
  return woken;
}

std::optional<std::uint64_t> model::limit_of(const std::string& resource) const {
  const auto known = definitions_.find(resource);
  if (known != definitions_.end()) return known->second.permits;
  return resource.starts_with("mutex:") ? std::optional<std::uint64_t>(1) : std::nullopt;
}

bool model::has_room(const std::string& resource) {
  pass_on(resource);
  return held(resource) < limit_of(resource);
}

std::uint64_t model::pass_on(const std::string& resource) {
  std::uint64_t woken = 0;
  while (held(resource) < limit_of(resource).value_or(0)) {
    const auto line = waiters(resource);
    if (line.empty()) break;
    wake(*line[0]);
    grant(*line[0], resource, {.reserved = true});
    ++woken;
  }
  if (woken > 0) passed_on_.insert(resource);
  return woken;
}

model::known_jobs model::waiters(const std::string& resource) {
  auto line = where([&](const stored_job& j) {
    return j.seen.state == throttled && j.seen.line == resource && !paused_.contains(j.seen.queue.value);
  });
  std::sort(line.begin(), line.end(), [](auto* a, auto* b) { return a->first < b->first; });
  return line;
}

void model::wake(stored_job& j) { storage::is_suspect(j.seen.losses) ? to_tail(j) : move(j, enqueued, "front"); }

void model::grant(stored_job& j, const std::string& resource, permit p) {
  p.since = clock_.now();
  p.number = ++places_;
  permits_[resource][j.seen.id.value] = p;
  if (held(resource) > limit_of(resource)) throw std::logic_error(resource + " is above its limit");
}

void model::wait_in(stored_job& j, const std::string& resource) {
  move(j, throttled, resource);
  j.place = j.first;
}

// What it had goes back. But what is strict, and what it has when it was woken in vain too often, it keeps: while it
// waits for a permit, what comes before that one by name. A custom throttler's line counts for nothing.
void model::park(stored_job& j, const std::string& resource, const names& free) {
  const bool custom = resource.starts_with("custom:");
  if (j.first == 0) j.first = ++places_;
  else if (!custom) ++j.failed_wakeups;
  const bool keeps = j.failed_wakeups >= storage::max_failed_wakeups && !custom;
  const bool for_a_permit = limit_of(resource).has_value();
  names freed;
  for (const auto& has : permits_of(j)) {
    auto& p = permits_[has][j.seen.id.value];
    const auto chain = std::exchange(p.chain, {});
    const auto& holders = permits_[has];
    if (chain.value > 0 &&
        std::any_of(holders.begin(), holders.end(), [&](auto& h) { return h.second.chain == chain; })) {
      permits_[has].erase(j.seen.id.value);  // it leaves the permit to the others
      continue;
    }
    p.run = {};
    if ((p.strict || keeps) && (!for_a_permit || has < resource)) continue;
    permits_[has].erase(j.seen.id.value);
    freed.push_back(has);
  }
  if (keeps)
    for (const auto& taken : free)
      grant(j, taken, {});
  j.seen.attempt -= 1;
  wait_in(j, resource);
  take_key_again(j);
  for (const auto& f : freed)
    pass_on(f);
}

void model::give_back(stored_job& j) {
  for (const auto& has : permits_of(j)) {
    auto& p = permits_[has][j.seen.id.value];
    p.run = {};
    if (p.strict && !is_final(j.seen.state)) continue;
    free_permit(has, j.seen.id.value);
  }
  j.first = 0;
  j.failed_wakeups = 0;
  j.slots.clear();
}

// A chain has its permit as long as one of its runs goes on.
void model::free_permit(const std::string& resource, const std::string& id) {
  const auto chain = permits_[resource][id].chain;
  permits_[resource].erase(id);
  for (const auto& [other, p] : permits_[resource])
    if (chain.value > 0 && p.chain == chain) return;
  freed_.push_back(resource);
}

bool model::return_to_line(stored_job& j) {
  const auto has = permits_of(j);
  if (has.size() != 1 || permits_[has[0]][j.seen.id.value].chain.value == 0 || storage::is_suspect(j.seen.losses))
    return false;
  if (j.first == 0) j.first = permits_[has[0]][j.seen.id.value].number;  // it grew as it was claimed
  free_permit(has[0], j.seen.id.value);
  wait_in(j, has[0]);
  returned_.push_back(has[0]);
  return true;
}

bool model::is_left_to_another(const line_name& line, const std::string& server) const {
  const auto known = turns_.find(line);
  if (known == turns_.end() || known->second.next == server) return false;
  const auto& t = known->second;
  return t.until == time_point{} ? passed_on_.contains(line.second) : t.until > clock_.now();
}

// When all that a request ends has ended.
void model::pass_on_freed() {
  for (const auto& f : std::exchange(freed_with_others_, {}))
    pass_on(f);
  for (const auto& f : std::exchange(freed_, {}))
    pass_on(f);
  for (const auto& r : std::exchange(returned_, {}))
    pass_on(r);
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

names model::permits_of(const stored_job& j) const {
  names all;
  for (const auto& [resource, holders] : permits_)
    if (holders.contains(j.seen.id.value)) all.push_back(resource);
  return all;
}
}  // namespace sluice::test
