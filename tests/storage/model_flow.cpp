// What jobs have to do with others and with time: parents and children, groups, unique keys, times to start and to
// finish.
#include "core/text.hpp"
#include "storage/model.hpp"

namespace sluice::test {
namespace {

using enum job_state;

constexpr duration group_kept = 24h;  // behind its end

bool waits(job_state s) { return s == enqueued || s == scheduled || s == throttled || s == awaiting; }
bool wants(parent_end on, job_state as) {
  const auto end = as == succeeded ? parent_end::succeeded : as == failed ? parent_end::failed : parent_end::deleted;
  return (static_cast<unsigned>(on) & static_cast<unsigned>(end)) != 0;
}
bool is_group(const std::string& name) { return name.starts_with('@'); }
std::string group_in(const std::string& name) { return name.substr(1); }
std::string node_of(const std::string& group) { return "@" + group; }

}  // namespace

void model::begin_step() {
  ++steps_;
  ending_.clear();
  named_.clear();
}
void model::name(const std::vector<prepared_job>& jobs) {
  for (const auto& job : jobs)
    named_.insert(job.id.value);
}
void model::end_step() {
  tell_ends();
  pass_on_freed();
}

// --- Ends, and who waits for them.

std::uint64_t model::birth_of(const std::string& name) const {
  if (is_group(name)) {
    const auto known = groups_.find(group_in(name));
    return known == groups_.end() ? 0 : known->second.birth;
  }
  const auto known = jobs_.find(name);
  return known == jobs_.end() ? 0 : known->second.birth;
}

std::optional<job_state> model::end_of(const std::string& name) const {
  if (is_group(name)) {
    const auto& g = groups_.at(group_in(name));
    if (!is_finished(g)) return std::nullopt;
    const auto n = [&](job_state s) { return g.ended.contains(s) ? g.ended.at(s) : 0; };
    return n(failed) > 0 ? failed : n(deleted) > 0 || g.cancelled ? deleted : succeeded;
  }
  const auto state = jobs_.at(name).seen.state;
  if (ending_.contains(name) || !is_final(state)) return std::nullopt;
  return state;
}

bool model::is_met(const stored_job& j) const {
  const auto met = std::count_if(j.parents.begin(), j.parents.end(), [](auto& p) { return p.met == true; });
  return met >= static_cast<std::ptrdiff_t>(j.after.need);
}
bool model::is_hopeless(const stored_job& j) const {
  const auto unmet = std::count_if(j.parents.begin(), j.parents.end(), [](auto& p) { return p.met == false; });
  return unmet > static_cast<std::ptrdiff_t>(j.parents.size()) - static_cast<std::ptrdiff_t>(j.after.need);
}

void model::release(stored_job& j) {
  if (j.delay > duration::zero()) {
    move(j, scheduled);
    j.seen.due_at = clock_.now() + j.delay;
  } else {
    to_tail(j);
  }
  start_clock(j, clock_.now() + j.delay);
}

bool model::place_child(stored_job& j) {
  if (is_met(j)) {
    release(j);
    return true;
  }
  if (!is_hopeless(j) || j.after.unless == when_unmet::keep) return false;
  if (j.after.unless == when_unmet::run) {
    release(j);
    return true;
  }
  end_waiting(j, deleted, "unmet");
  j.is_unmet = true;
  ended_.emplace_back(j.seen.id.value, deleted);
  return true;
}

// What an end does but for those that wait for it.
void model::let_go(const std::string& name, job_state as) {
  std::string group;
  std::optional<job_state>* counted = nullptr;
  if (is_group(name)) {
    auto& g = groups_.at(group_in(name));
    group = g.in;
    counted = &g.counted;
  } else {
    auto& j = jobs_.at(name);
    if (!j.is_unmet) j.parents.clear();
    free_key(j);
    group = j.group;
    counted = &j.counted;
  }
  const auto its = groups_.find(group);
  if (group.empty() || *counted || its == groups_.end()) return;
  auto& g = its->second;
  *counted = as;
  --g.open;
  if (++g.ended[as] == 1 && as == failed) ended_.emplace_back(node_of(group), std::nullopt);
  if (is_finished(g)) finish(group);
}

// Those that want to hear of the first failure are told first. Whom the same step has stored is told by the next
// promote.
void model::tell_children(const ending& end) {
  const auto birth = birth_of(end.first);
  const auto link_of = [&](stored_job& j) -> parent_link* {
    for (auto& p : j.parents)
      if (p.name == end.first && p.birth == birth && !p.met) return &p;
    return nullptr;
  };
  auto children = where([&](const stored_job& j) {
    return link_of(const_cast<stored_job&>(j)) && (end.second || j.after.on == parent_end::first_failure);
  });
  std::stable_partition(children.begin(), children.end(),
                        [](auto* j) { return j->after.on == parent_end::first_failure; });
  bool owes = false;
  for (auto* j : children) {
    if (j->step == steps_) {
      owes = true;
      continue;
    }
    auto* link = link_of(*j);
    if (!link) continue;
    link->met = end.second ? wants(j->after.on, *end.second) : true;
    if (j->seen.state == awaiting) place_child(*j);
  }
  if (owes) owed_.push_back(end);
}

void model::tell_ends() {
  for (auto& runs = ended_runs_; const auto& end : std::exchange(runs, {}))
    ended_.push_back(end);
  for (std::size_t n = 0; n < ended_.size(); ++n) {
    const auto end = ended_[n];
    if (end.second) let_go(end.first, *end.second);
    tell_children(end);
  }
  ended_.clear();
}

bool model::is_parent_of_some(const std::string& name) const {
  const auto birth = birth_of(name);
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& one) {
    const auto& j = one.second;
    return !is_final(j.seen.state) && std::any_of(j.parents.begin(), j.parents.end(), [&](const parent_link& p) {
      return p.name == name && p.birth == birth;
    });
  });
}

// Of those that run, or have ended, nothing.
bool model::end_waiting(stored_job& j, job_state as, const std::string& cause) {
  if (!waits(j.seen.state)) return false;
  remember_hand(j, cause);
  j.seen.reason = stores_words;
  j.seen.result.clear();
  move(j, as);
  const auto others = std::exchange(freed_, {});
  give_back(j);
  for (const auto& f : std::exchange(freed_, others))
    freed_with_others_.push_back(f);
  return true;
}

// --- Groups.

bool model::awaits_group(const std::vector<parent_link>& parents, const std::string& group) const {
  std::set<std::string> around, seen;
  for (auto name = group; !name.empty();) {
    around.insert(node_of(name));
    const auto known = groups_.find(name);
    name = known == groups_.end() ? std::string() : known->second.in;
  }
  names open;
  for (const auto& p : parents)
    open.push_back(p.name);
  while (!open.empty()) {
    const auto name = open.back();
    open.pop_back();
    if (around.contains(name)) return true;
    const auto j = jobs_.find(name);
    if (!seen.insert(name).second || j == jobs_.end()) continue;
    for (const auto& p : j->second.parents)
      if (!p.met) open.push_back(p.name);
  }
  return false;
}

bool model::is_cancelled(const std::string& group) const {
  const auto known = groups_.find(group);
  if (known == groups_.end() || known->second.cancelled) return true;
  return !known->second.in.empty() && is_cancelled(known->second.in);
}

std::optional<errc> model::why_closed(const std::string& group, const group_run& by) {
  const auto known = groups_.find(group);
  if (known == groups_.end()) return errc::not_found;
  if (is_cancelled(group)) return errc::group_closed;
  if (!known->second.sealed) return std::nullopt;
  const auto* adds = running({by.id, by.fence});
  return adds && adds->group == group ? std::nullopt : std::optional(errc::group_closed);
}

void model::finish(const std::string& group) {
  auto& g = groups_.at(group);
  g.finished = true;
  g.forget_at = clock_.now() + group_kept;
  ended_.emplace_back(node_of(group), end_of(node_of(group)));
}

bool model::cancel_group(const std::string& group) {
  const auto known = groups_.find(group);
  if (known == groups_.end() || known->second.cancelled || is_finished(known->second)) return false;
  known->second.cancelled = true;
  if (known->second.open > 0) owed_cancels_.insert(group);
  else finish(group);
  return true;
}

// Groups before jobs, each by name. Who runs is asked to end, once.
void model::cancel_members(const std::string& group) {
  auto& left_alone = groups_.at(group).left_alone;
  for (auto& [name, g] : groups_)
    if (g.in == group && !g.counted && left_alone.insert(node_of(name)).second) cancel_group(name);
  for (auto& [id, j] : jobs_) {
    if (j.group != group || j.counted || left_alone.contains(id)) continue;
    if (end_waiting(j, deleted, "cancelled")) {
      ended_.emplace_back(id, deleted);
      continue;
    }
    left_alone.insert(id);
    if (j.seen.state != processing || std::exchange(j.asked_to_end, true)) continue;
    remember_hand(j, "cancel_asked");
    j.seen.reason = stores_words;
    cancels_ = true;
  }
}

storage::change_answer model::apply(const storage::change_group_request& r) {
  using act = storage::change_group_request::what;
  begin_step();
  const auto& name = r.group.name.value;
  const auto& outer = r.group.in.value;
  const auto known = groups_.find(name);
  if (r.change == act::create) {
    if (known != groups_.end())
      return known->second.in == outer ? storage::change_answer{.changed = false}
                                       : storage::change_answer{errc::illegal_transition, ""};
    if (!outer.empty()) {
      if (const auto closed = why_closed(outer, {})) return {*closed, ""};
      ++groups_.at(outer).open;
    }
    auto& g = groups_[name];
    g.birth = ++births_;
    g.in = outer;
    g.seal_by = clock_.now() + r.group.seal_within;
    return {};
  }
  if (known == groups_.end()) return {errc::not_found, ""};
  auto& g = known->second;
  if (r.change == act::cancel) {
    if (g.cancelled) return {.changed = false};
    if (!cancel_group(name)) return {errc::illegal_transition, ""};
  } else {
    if (g.cancelled) return {errc::illegal_transition, ""};
    if (std::exchange(g.sealed, true)) return {.changed = false};
    if (g.open == 0) finish(name);
  }
  end_step();
  return {};
}

// --- Unique keys.

void model::take_key(const std::string& key, const std::string& id, unique_until until, duration period) {
  keys_[key] = {id, "", until, clock_.now(), clock_.now() + period};
}
void model::free_key(stored_job& j) {
  const auto known = keys_.find(j.key);
  if (j.key.empty() || known == keys_.end()) return;
  auto& k = known->second;
  if (k.next == j.seen.id.value) {
    k.next.clear();
  } else if (k.owner == j.seen.id.value && k.until != unique_until::period) {
    k.owner = std::exchange(k.next, "");
    if (k.owner.empty()) keys_.erase(known);
  }
}
// A start came to nothing: its key was given away by the first that did not.
void model::take_key_again(stored_job& j) {
  if (!j.key.empty() && j.key_until == unique_until::start && j.seen.attempt == 0 && !keys_.contains(j.key))
    take_key(j.key, j.seen.id.value, unique_until::start, duration(0));
}
const model::unique_key* model::held_by_another(const stored_job& j) const {
  const auto known = j.key.empty() ? keys_.end() : keys_.find(j.key);
  if (known == keys_.end() || known->second.owner == j.seen.id.value || is_over(known->second)) return nullptr;
  return &known->second;
}

model::key_answer model::ask_for_key(const prepared_job& wanted, const std::vector<parent_link>& parents) {
  using what = note::what;
  const auto& id = wanted.id.value;
  const auto& key = flow_of(wanted).unique_key;
  const auto& rule = flow_of(wanted).unique;
  const auto known = keys_.find(key);
  if (known == keys_.end() || is_over(known->second)) {
    take_key(key, id, rule.until, rule.period);
    return {};
  }
  auto& k = known->second;
  const auto has_it = k.owner;
  if (rule.then == when_taken::refuse) return {false, what::refused, has_it};
  auto* owner = find(job_id(has_it));
  if (named_.contains(has_it)) return {false, what::duplicate, has_it};
  if (!owner) return {false, what::forgotten, has_it};
  const bool may_replace = rule.then == when_taken::replace && !named_.contains(k.next);
  if (may_replace && waits(owner->seen.state))
    for (const auto& p : parents)
      if (!p.met && p.birth > 0 && (p.name == has_it || p.name == k.next)) return {false, what::own_parent, p.name};
  const auto replaced = [&](stored_job& other) {
    if (!end_waiting(other, deleted, "replaced")) return false;
    ending_.insert(other.seen.id.value);
    ended_.emplace_back(other.seen.id.value, deleted);
    return true;
  };
  if (may_replace && replaced(*owner)) {
    if (auto* next = k.next.empty() ? nullptr : find(job_id(k.next))) replaced(*next);
    take_key(key, id, rule.until, rule.period);
    return {true, what::replaced, has_it};
  }
  if (rule.then == when_taken::coalesce && owner->seen.state == processing && k.until == unique_until::end) {
    const auto before = k.next;
    if (named_.contains(before)) return {false, what::duplicate, before};
    if (auto* other = before.empty() ? nullptr : find(job_id(before)); other && !replaced(*other))
      return {false, what::duplicate, before};
    k.next = id;
    return {true, what::replaced, before};
  }
  if (rule.then == when_taken::extend && owner->seen.state == scheduled) {
    auto at = clock_.now() + wanted.delay;
    if (rule.at_most > duration::zero()) at = std::min(at, k.since + rule.at_most);
    at = std::max(at, clock_.now());
    if (owner->finish_by && at >= *owner->finish_by) return {false, what::refused, has_it};
    owner->seen.due_at = at;
    made_work_.insert(has_it);
    start_clock(*owner, at);
    return {false, what::extended, has_it};
  }
  return {false, what::duplicate, has_it};
}

// --- Times.

void model::start_clock(stored_job& j, time_point from) {
  if (j.start_within) j.start_by = from + std::max(duration(1), *j.start_within);
}
std::optional<model::way> model::over_for(const stored_job& j) const {
  const bool begun = has_begun(j);
  if (!begun && j.start_by && clock_.now() >= *j.start_by) return way(deleted, "expired");
  if (j.finish_by && clock_.now() >= *j.finish_by) return way(failed, "deadline");
  return std::nullopt;
}
std::optional<model::way> model::why_not_start(const stored_job& j) const {
  if (!j.group.empty() && is_cancelled(j.group)) return way(deleted, "cancelled");
  return over_for(j);
}
std::optional<time_point> model::next_over(const stored_job& j) const {
  std::optional<time_point> next = has_begun(j) ? std::nullopt : j.start_by;
  if (j.finish_by && (!next || *j.finish_by < *next)) next = j.finish_by;
  return next;
}
void model::end_those_met() {
  for (auto* j : std::exchange(met_too_late_, {}))
    if (const auto why = why_not_start(*j); why && end_waiting(*j, why->first, why->second))
      ended_.emplace_back(j->seen.id.value, why->first);
}

// --- New jobs.

std::pair<errc, std::optional<model::note>> model::enqueue_one(const prepared_job& wanted) {
  using what = note::what;
  const auto& flow = flow_of(wanted);
  const auto content = decode_content(wanted.id, wanted.record).value();
  if (const auto* stored = find(wanted.id)) {
    if (!flow.group.empty() && stored->group != flow.group.value)
      return {errc::id_conflict, note{what::other_group, stored->group}};
    if (const auto parts = stored->content.what_differs(content, wanted.headers_of_filters); !parts.empty())
      return {errc::id_conflict, note{what::other_content, listed(parts)}};
    return {errc::none, note{}};
  }
  std::vector<parent_link> parents;
  const auto add = [&](const std::string& name) {
    const auto birth = birth_of(name);
    if (birth == 0) {
      if (flow.after.missing == when_missing::refuse) return false;
      parents.push_back({name, 0, flow.after.missing == when_missing::met});
      return true;
    }
    std::optional<bool> met;
    const bool first_failure = flow.after.on == parent_end::first_failure;
    if (first_failure && groups_.at(group_in(name)).ended[failed] > 0) met = true;
    else if (const auto end = end_of(name)) met = !first_failure && wants(flow.after.on, *end);
    parents.push_back({name, birth, met});
    return true;
  };
  for (const auto& id : flow.after.parents)
    if (!add(id.value)) return {errc::not_found, note{what::missing, id.value}};
  for (const auto& group : flow.after.groups)
    if (!add(node_of(group.value))) return {errc::not_found, note{what::missing, node_of(group.value)}};
  if (!flow.group.empty() && awaits_group(parents, flow.group.value))
    return {errc::invalid_argument, note{what::circle, flow.group.value}};
  if (!flow.group.empty())
    if (const auto closed = why_closed(flow.group.value, flow.added_by)) {
      const auto why = *closed == errc::not_found       ? what::no_group
                       : is_cancelled(flow.group.value) ? what::cancelled
                                                        : what::sealed;
      return {*closed, note{why, flow.group.value}};
    }
  key_answer key;
  if (!flow.unique_key.empty()) key = ask_for_key(wanted, parents);
  if (!key.stored) {
    const auto code = key.what == what::refused      ? errc::unique_conflict
                      : key.what == what::own_parent ? errc::invalid_argument
                                                     : errc::none;
    return {code, note{key.what, key.about}};
  }

  auto& j = jobs_[wanted.id.value];
  j.content = content;
  j.seen.id = wanted.id;
  j.seen.type = content.type;
  j.seen.queue = content.queue;
  j.seen.args = content.args;
  j.birth = ++births_;
  j.step = steps_;
  j.after = flow.after;
  j.delay = wanted.delay;
  j.parents = std::move(parents);
  if (j.after.need == 0) j.after.need = static_cast<std::uint32_t>(j.parents.size());
  j.key = flow.unique_key;
  j.key_until = flow.unique.until;
  if (const auto k = keys_.find(j.key); !j.key.empty() && k->second.next == j.seen.id.value) {
    j.parents.push_back({k->second.owner, birth_of(k->second.owner), std::nullopt});
    j.after.on = parent_end::finished;
    j.after.need = static_cast<std::uint32_t>(j.parents.size());
  }
  j.group = flow.group.value;
  if (!j.group.empty()) ++groups_.at(j.group).open;
  j.start_within = flow.start_within;
  j.finish_within = flow.finish_within;
  const auto now = clock_.now();
  if (j.finish_within) j.finish_by = now + *j.finish_within;
  if (j.start_within && j.parents.empty()) j.start_by = now + j.delay + *j.start_within;
  move(j, awaiting);
  if (const auto over = over_for(j)) {  // what comes too late is stored as ended
    end_waiting(j, over->first, over->second);
    ended_.emplace_back(j.seen.id.value, over->first);
  } else if (j.parents.empty()) {
    const auto start_by = j.start_by;
    release(j);
    j.start_by = start_by;
  } else {
    place_child(j);
  }
  if (is_final(j.seen.state)) free_key(j);
  if (key.about.empty()) return {errc::none, std::nullopt};
  return {errc::none, note{what::replaced, key.about}};
}

// That all are there already is the same call once more.
storage::enqueue_answer model::store_all_or_none(const storage::enqueue_request& r) {
  using what = note::what;
  storage::enqueue_answer answer;
  const auto carry_out = [&](model& m) {
    answer = {};
    m.begin_step();
    m.name(r.jobs);
    for (const auto& wanted : r.jobs) {
      const auto [code, more] = m.enqueue_one(wanted);
      if (more) answer.notes[answer.each.size()] = *more;
      answer.each.push_back(code);
    }
    m.end_step();
  };
  auto trial = *this;
  carry_out(trial);
  std::size_t stored = 0, there = 0;
  std::optional<std::size_t> first;  // at fault
  std::vector<bool> is_there, is_stored;
  for (std::size_t i = 0; i < r.jobs.size(); ++i) {
    const auto more = answer.notes.find(i);
    const bool told = more != answer.notes.end();
    is_there.push_back(told && (more->second.is == what::same || more->second.is == what::other_content));
    is_stored.push_back(answer.each[i] == errc::none && (!told || more->second.is == what::replaced));
    there += is_there[i] ? 1 : 0;
    stored += is_stored[i] ? 1 : 0;
    if (!is_stored[i] && !first) first = i;
  }
  if (stored == r.jobs.size() || there == r.jobs.size()) {
    carry_out(*this);
    return answer;
  }
  for (std::size_t i = 0; i < r.jobs.size(); ++i) {
    if (is_there[i]) {
      if (answer.each[i] == errc::none) answer.notes.erase(i);
      answer.each[i] = errc::id_conflict;
    } else if (is_stored[i]) {
      answer.each[i] = errc::refused;
      answer.notes[i] = {what::with_others, "job " + r.jobs[*first].id.value};
    } else if (answer.each[i] == errc::none) {  // another stands for it
      answer.each[i] = errc::unique_conflict;
      answer.notes[i].is = what::refused;
    }
  }
  return answer;
}

storage::enqueue_answer model::apply(const storage::enqueue_request& r) {
  if (r.all_or_none) return store_all_or_none(r);
  storage::enqueue_answer answer;
  begin_step();
  name(r.jobs);
  for (const auto& wanted : r.jobs) {
    const auto [code, more] = enqueue_one(wanted);
    if (more) answer.notes[answer.each.size()] = *more;
    answer.each.push_back(code);
  }
  end_step();
  return answer;
}

// --- A person has a job run.

void model::count_again(std::optional<job_state>& counted, const std::string& group, names& again) {
  const auto its = groups_.find(group);
  if (group.empty() || !counted || its == groups_.end()) return;
  auto& g = its->second;
  const bool was_finished = is_finished(g);
  --g.ended[*counted];
  ++g.open;
  counted.reset();
  if (!was_finished) return;
  g.finished = false;
  std::erase_if(owed_, [&](const ending& e) { return e.first == node_of(group); });
  again.push_back(node_of(group));
  count_again(g.counted, g.in, again);
}

std::optional<errc> model::go_on(stored_job& j) {
  if (!j.group.empty() && j.counted && is_cancelled(j.group)) return errc::illegal_transition;
  const bool was_final = is_final(j.seen.state);
  if (was_final && held_by_another(j)) return errc::unique_conflict;
  if (const auto k = keys_.find(j.key); was_final && !j.key.empty() && j.key_until != unique_until::period)
    if (k == keys_.end() || k->second.owner != j.seen.id.value)
      take_key(j.key, j.seen.id.value, j.key_until, duration(0));
  std::erase_if(owed_, [&](const ending& e) { return e.first == j.seen.id.value; });
  names again = {j.seen.id.value};
  count_again(j.counted, j.group, again);
  if (j.finish_within) j.finish_by = clock_.now() + std::max(duration(1), *j.finish_within);
  start_clock(j, clock_.now());
  j.is_unmet = false;
  await_again(std::move(again));
  return std::nullopt;
}

// Children that were deleted as unmet await them again, when enough of their parents can still end as they want.
void model::await_again(names parents) {
  for (std::size_t n = 0; n < parents.size(); ++n) {
    const auto name = parents[n];
    const auto birth = birth_of(name);
    for (auto& [id, j] : jobs_) {
      if (!j.is_unmet) continue;
      bool is_its = false;
      for (auto& p : j.parents)
        if (p.name == name && p.birth == birth) {
          p.met.reset();
          is_its = true;
        }
      for (auto& p : j.parents)  // groups that are open again, too
        if (is_its && p.birth > 0 && p.birth == birth_of(p.name) && is_group(p.name) && !end_of(p.name) &&
            !(j.after.on == parent_end::first_failure && groups_.at(group_in(p.name)).ended[failed] > 0))
          p.met.reset();
      if (!is_its || is_hopeless(j) || held_by_another(j) || (!j.group.empty() && is_cancelled(j.group))) continue;
      if (!j.key.empty() && j.key_until != unique_until::period) take_key(j.key, id, j.key_until, duration(0));
      j.is_unmet = false;
      std::erase_if(owed_, [&, &its_id = id](const ending& e) { return e.first == its_id; });
      count_again(j.counted, j.group, parents);
      if (j.finish_within) j.finish_by = clock_.now() + std::max(duration(1), *j.finish_within);
      j.start_by.reset();
      move(j, awaiting);
      j.seen.reason.clear();
    }
  }
}

// --- What promote does of it.

void model::work_off() {
  begin_step();
  const auto now = clock_.now();
  for (const auto& group : std::exchange(owed_cancels_, {}))
    cancel_members(group);
  for (const auto& end : std::exchange(owed_, {}))
    ended_.push_back(end);
  std::vector<std::pair<time_point, std::string>> over;
  for (const auto& [name, g] : groups_)
    if (!g.sealed && !g.cancelled && now >= g.seal_by) over.emplace_back(g.seal_by, name);
  std::sort(over.begin(), over.end());
  for (const auto& [at, name] : over)
    cancel_group(name);
  over.clear();
  for (const auto& [id, j] : jobs_)
    if (waits(j.seen.state) && over_for(j)) over.emplace_back(*next_over(j), id);
  std::sort(over.begin(), over.end());
  for (const auto& [at, id] : over) {
    auto& j = jobs_.at(id);
    const auto end = *over_for(j);
    if (end_waiting(j, end.first, end.second)) ended_.emplace_back(id, end.first);
  }
  std::erase_if(keys_, [&](const auto& k) { return is_over(k.second); });
  names gone;
  for (auto& [name, g] : groups_) {
    if (!is_finished(g) || now < g.forget_at) continue;
    const bool has_members =
        std::any_of(jobs_.begin(), jobs_.end(), [&, &group = name](auto& j) { return j.second.group == group; }) ||
        std::any_of(groups_.begin(), groups_.end(),
                    [&, &group = name](auto& other) { return other.second.in == group; });
    if (has_members || is_parent_of_some(node_of(name))) g.forget_at = now + group_kept;
    else gone.push_back(name);
  }
  end_step();
  for (const auto& name : gone)
    groups_.erase(name);
}

std::optional<time_point> model::next_of_flow() const {
  std::optional<time_point> next;
  const auto sooner = [&](time_point at) { next = std::min(next.value_or(at), at); };
  if (!owed_.empty() || !owed_cancels_.empty()) sooner(clock_.now());
  for (const auto& [id, j] : jobs_)
    if (const auto at = next_over(j); at && waits(j.seen.state)) sooner(*at);
  for (const auto& [name, g] : groups_) {
    if (!g.sealed && !g.cancelled) sooner(g.seal_by);
    if (is_finished(g)) sooner(g.forget_at);
  }
  for (const auto& [key, k] : keys_)
    if (k.until == unique_until::period) sooner(k.over);
  return next;
}

}  // namespace sluice::test
