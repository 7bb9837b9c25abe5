#include "storage/programs.hpp"

#include <array>

#include "core/throttlers.hpp"
#include "execution/limiter_steps.hpp"
#include "throttling/windows.hpp"

namespace sluice::test {
namespace {

// What a broken program is tried as, from large cuts to small. RapidCheck's own way tries thousands of cuts of a long
// program before one fits, which is too slow for a store on a disk.
rc::Seq<program> smaller(const program& p) {
  std::vector<program> all;
  const auto n = p.steps.size();
  if (p.look_every > 1) return rc::seq::just(program{p.steps, 1});
  for (auto cut = n; cut > 0; cut /= 2)
    for (std::size_t end = n; end >= cut; end -= cut) {
      auto less = p;
      less.steps.erase(less.steps.begin() + static_cast<std::ptrdiff_t>(end - cut),
                       less.steps.begin() + static_cast<std::ptrdiff_t>(end));
      all.push_back(std::move(less));
    }
  for (std::size_t i = 0; i < n; ++i) {
    const auto but = [&](auto member, auto value) {
      auto less = p;
      less.steps[i].*member = value;
      all.push_back(std::move(less));
    };
    for (const auto member : {&command::job, &command::other, &command::queue, &command::server, &command::which,
                              &command::choice, &command::types, &command::amount, &command::more, &command::time,
                              &command::connection, &command::flow, &command::whom, &command::more_of})
      for (int value = 0; value < p.steps[i].*member; ++value)
        but(member, value);
    for (const auto member : {&command::flag, &command::joined, &command::all_or_none})
      if (p.steps[i].*member) but(member, false);
  }
  return rc::seq::fromContainer(std::move(all));
}

const names server_names = {"s1", "s2", "s3"};
const names known_types = {"work mail", "work mail", "work mail", "work", "mail"};
constexpr std::array ends = {how::succeeded, how::failed, how::removed, how::retry, how::given_back, how::deferred};
constexpr duration delays[] = {0s, 0s, 0s, 10s};
constexpr duration leases[] = {30s, 10s, 1s, 1min};
constexpr duration waits[] = {1s, 15s, 40s, 2h};
constexpr duration steps_back[] = {500ms, 10s, 40s, 1h};

std::uint32_t number(int n) { return static_cast<std::uint32_t>(n); }
const std::string& at(const names& all, int n) { return all[static_cast<std::size_t>(n)]; }
how end_by(const command& c) { return ends[static_cast<std::size_t>(c.choice)]; }
int free_of(const command& c) { return c.what == verb::claim ? (c.amount + 1) % 3 : c.amount; }
int slot_of(const command& c) { return c.other % 2; }
// What claims take for each type: nothing, or what the job number says.
storage::permits_by_type permits_of(const command& c) {
  if (c.job < 3) return {};
  const auto& wanted = wishes[static_cast<std::size_t>(c.job + c.choice) % wishes.size()];
  return {{"work", {wanted, c.choice != 5}}, {"mail", {{"mutex:m"}, true}}};
}
// How many jobs of a type may share a permit.
std::map<std::string, storage::claim_request::chain, std::less<>> chains_of(const command& c) {
  if (c.amount == 0) return {};
  return {{"work", {.most = number(c.other), .wants_turn = c.flag}}, {"mail", {.most = number(c.more + 1)}}};
}
std::string permits_in_words(const command& c) {
  std::string text;
  for (const auto& [type, its] : chains_of(c))
    text += cat(its.wants_turn ? ", wants a turn" : "", ", chains of ", its.most, ' ', type);
  for (const auto& [type, plan] : permits_of(c)) {
    text += cat(plan.park ? ", for " : ", unless it is busy for ", type);
    for (const auto& resource : plan.resources)
      text += ' ' + resource;
  }
  return text;
}
duration reservation_of(const command& c) { return c.flag ? 5s : 30s; }
bool pauses(const command& c) { return c.flag && c.more < 2; }
names ids_of(const command& c) {
  names both = {at(job_names, c.job)};
  if (c.other > 0) both.push_back(at(job_names, c.other - 1));
  return both;
}
// Three jobs of one call have one key.
bool shares_key(const command& c) { return c.flow == 13; }
// The jobs of a call share what they have to do with others; each may want another end of its parents, and do something
// else when its key is taken.
bool comes_by_calls_of_their_own(const command& c) { return c.what == verb::enqueue && shares_key(c) && c.flag; }
names new_ids_of(const command& c) {
  if (shares_key(c)) return {at(job_names, c.job), at(job_names, (c.job + 1) % 6), at(job_names, (c.job + 2) % 6)};
  auto all = ids_of(c);
  if (c.types > 2) all.push_back(at(job_names, (c.job + c.more_of) % 6));
  return all;
}
command nth_of(command c, std::size_t place) {
  const auto step = shares_key(c) ? 1 + c.types : c.types % 3 * 2;
  c.choice = (c.choice + static_cast<int>(place) * step) % 6;
  return c;
}
duration delay_of(const command& c) { return shares_key(c) && c.time > 0 ? delays[3] : delays[c.time]; }
// What a definition is about: the semaphore, or a window.
std::string defined_by(const command& c) { return c.choice < 3 ? "semaphore:s" : at(limiter_names, c.choice - 3); }
const std::string& window_of(const command& c) { return at(limiter_names, c.choice < 3 ? 0 : c.choice % 3); }
const std::string raw = limiter_names.back();

// What a new job has to do with others, and with time.
constexpr parent_end ends_of_parents[] = {parent_end::succeeded,
                                          parent_end::failed,
                                          parent_end::deleted,
                                          parent_end::finished,
                                          parent_end::succeeded | parent_end::deleted,
                                          parent_end::succeeded | parent_end::failed};
constexpr when_taken rules[] = {when_taken::skip,   when_taken::coalesce, when_taken::replace,
                                when_taken::refuse, when_taken::extend,   when_taken::coalesce};
const names key_names = {"work/until its end", "work/until its start", "work/for a time"};
bool has_parents(const command& c) { return c.flow == 1 || c.flow == 2 || c.flow == 9 || c.flow == 10 || c.flow == 12; }
bool has_groups(const command& c) { return c.flow == 3 || c.flow == 4 || c.flow == 12; }
bool is_member(const command& c) { return c.flow == 2 || c.flow == 5 || c.flow == 8 || c.flow == 11; }
bool has_key(const command& c) { return c.flow == 6 || c.flow == 8 || c.flow == 10 || shares_key(c); }
bool has_times(const command& c) { return c.flow == 7 || c.flow == 9 || c.flow == 11; }
const std::string& group_of(const command& c) { return at(group_names, c.more_of % 2); }
when_taken rule_of(const command& c) {
  const auto rule = rules[c.choice];
  return has_parents(c) && rule == when_taken::coalesce ? when_taken::skip : rule;
}
std::optional<duration> finish_after(const command& c) {
  constexpr duration within[] = {35s, 1min, 10s};
  if (c.choice < 3) return std::nullopt;
  return c.flag && c.choice == 5 ? 0s : within[c.choice - 3];
}
std::optional<duration> start_within(const command& c) {
  constexpr duration within[] = {20s, 5s, 0s};
  return c.server == 1 && finish_after(c) ? std::nullopt : std::optional(within[c.flag ? c.server : 0]);
}
names parents_of(const command& c, const std::string& id) {
  names parents;
  for (const auto& name : {at(job_names, c.whom), c.more_of > 0 ? at(job_names, c.more_of - 1) : id})
    if (name != id && std::find(parents.begin(), parents.end(), name) == parents.end()) parents.push_back(name);
  return parents;
}
std::string flow_in_words(const command& c) {
  std::string text;
  constexpr std::string_view wanted[] = {"succeeded",          "failed", "deleted", "finished", "succeeded or deleted",
                                         "succeeded or failed"};
  constexpr std::string_view if_unmet[] = {"deleted", "run", "kept"};
  constexpr std::string_view rule_words[] = {"skip", "refuse", "replace", "extend", "coalesce"};
  constexpr std::string_view if_missing[] = {"refused", "met", "unmet"};
  if (has_parents(c)) {
    text += ", after";
    for (const auto& parent : parents_of(c, ""))
      if (!parent.empty()) text += ' ' + parent;
  }
  if (has_groups(c)) text += cat(", after group ", group_of(c), c.flag ? " and the other" : "");
  if (has_parents(c) || has_groups(c))
    text += cat(" on ", c.flow == 4 ? "the first failure" : wanted[c.choice], ", else ", if_unmet[c.which],
                ", missing ", if_missing[c.server], c.types == 1 || c.flow == 12 ? ", one is enough" : "");
  if (is_member(c)) text += cat(", member of ", group_of(c), c.flag ? cat(" by ", at(job_names, c.whom)) : "");
  if (has_key(c))
    text += cat(", key ", at(key_names, c.whom % 3), ", taken: ", rule_words[static_cast<std::size_t>(rule_of(c))],
                c.flag ? ", at most 12 s" : "");
  const auto within = [](const std::optional<duration>& d) {
    return d ? format_duration(*d) : std::string("any time");
  };
  if (has_times(c)) text += cat(", starts within ", within(start_within(c)), ", over within ", within(finish_after(c)));
  return text;
}
// A settled run carries another job.
bool carries(const command& c) { return c.flow > 7; }
command carried(command c) {
  constexpr int flows[] = {0, 1, 2, 5, 6, 7, 8};
  c.flow = flows[c.more_of];
  c.flag = true;
  return c;
}

std::string words_for(const command& c) {
  const auto& job = at(job_names, c.job);
  const auto both = c.other > 0 ? job + " and " + at(job_names, c.other - 1) : job;
  const auto& queue = at(queue_names, c.queue);
  const auto claim = [&] {
    return cat(at(server_names, c.server), " claims from ", queue, " by slot ", slot_of(c), ": ", free_of(c), " free, ",
               c.more, " ahead", c.flag ? ", a suspect too" : "", ", knows ", at(known_types, c.types), ", lease ",
               format_duration(leases[c.time]), permits_in_words(c));
  };
  const auto run = cat(" (run ", c.which == 0 ? "now" : c.which == 1 ? "before" : "never", ")");
  switch (c.what) {
    case verb::enqueue: {
      std::string jobs;
      const auto ids = new_ids_of(c);
      for (std::size_t i = 0; i < ids.size(); ++i)
        jobs += cat(i == 0                           ? ""
                    : comes_by_calls_of_their_own(c) ? "; by another call "
                                                     : "; ",
                    ids[i], flow_in_words(nth_of(c, i)));
      return cat("enqueue ", c.all_or_none ? "all or none of " : "", c.more == 0 ? "mail" : "work", " in ", queue,
                 c.amount == 2 ? " with other args" : "", " after ", format_duration(delay_of(c)), ": ", jobs);
    }
    case verb::claim: return claim() + (c.which > 0 ? cat(", as ", c.which, " before") : "");
    case verb::settle:
      return cat(both, run, " ends: ", name_of(end_by(c)), " in ", format_duration(delays[c.time]),
                 carries(c) ? cat(", carrying ", at(job_names, c.whom), flow_in_words(carried(c))) : "",
                 c.amount > 0 ? "; " + claim() : "");
    case verb::renew: return cat("renew ", both, run, " for ", format_duration(leases[c.time]));
    case verb::progress: return cat("progress of ", both, run);
    case verb::promote:
      return cat("promote ", c.amount == 0 ? all_of_them : number(c.amount), ", reservations last ",
                 format_duration(reservation_of(c)));
    case verb::find_expired: return "look for lost leases";
    case verb::reap:
      return cat("reap ", c.flag ? "what was seen" : cat(both, run, " renewed ", c.amount, " times"), ", ", 3 - c.more,
                 " losses at most");
    case verb::prune:
      return cat("prune ", c.choice < 3 ? name_of(end_by(c)) : "all",
                 c.flag ? cat(" older than ", format_duration(waits[c.time])) : "", " keeping ", c.more, ", at most ",
                 c.amount == 0 ? all_of_them : number(c.amount));
    case verb::requeue: return "requeue " + both;
    case verb::remove: return "remove " + both;
    case verb::cancel: return "cancel " + both;
    case verb::group: {
      const auto& group = at(group_names, c.queue);
      const auto verb = c.choice < 3 ? "create " : c.choice < 5 ? "seal " : "cancel ";
      return cat(verb, group, c.choice < 3 && c.flag ? " in the other" : "", c.time == 3 ? ", sealed within 30 s" : "");
    }
    case verb::pause: return cat(pauses(c) ? "pause " : "resume ", queue);
    case verb::take: {
      std::string wanted;
      for (const auto& resource : wishes[static_cast<std::size_t>(c.choice) % wishes.size()])
        wanted += ' ' + resource;
      return cat(both, run, c.more == 2 ? " would take" : " takes", wanted, c.amount == 2 ? ", strictly" : "");
    }
    case verb::ask:
      return cat("for ", c.amount == 2 ? "those who wait" : (c.flag ? "all" : both) + run, " step ", window_of(c),
                 c.time < 2 ? "" : cat(", as seen ", c.time - 1, " before"), c.more == 2 ? ", not parking" : "");
    case verb::update_limiter:
      return cat("update ", raw,
                 c.which == 0   ? ""
                 : c.which == 1 ? " of before"
                                : " of never",
                 " for ", both, run, c.flag ? ", parking" : ", letting in", ", waking ", c.amount, ", next check ",
                 c.more == 0   ? "as before"
                 : c.more == 1 ? "never"
                               : cat("in ", format_duration(waits[c.time])),
                 c.time == 2   ? ", for an instant"
                 : c.time == 3 ? ", for later"
                               : "");
    case verb::define:
      return cat(c.more == 2 ? "undefine " : "define ", defined_by(c), c.more == 2 ? "" : cat(", limit ", c.amount));
    case verb::reconcile: return "reconcile";
    case verb::lock:
      return cat(at(server_names, c.server),
                 c.choice < 3   ? " takes "
                 : c.choice < 5 ? " renews "
                                : " releases ",
                 at(lock_names, c.queue), " (",
                 c.which == 0   ? "now"
                 : c.which == 1 ? "before"
                                : "never",
                 ") for ", format_duration(leases[c.time]));
    case verb::wait: return "wait " + format_duration(waits[c.time]);
    case verb::set_back: return "set the clock back " + format_duration(steps_back[c.time]);
    case verb::reopen: return "reopen";
    case verb::audit: return "audit";
  }
  return {};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const program& p) {
  for (const auto& c : p.steps)
    out << "\n- " << words_for(c) << (c.connection > 0 ? ", through the other connection" : "")
        << (c.joined ? " +" : "");
  return out;
}

rc::Gen<program> any_program(int longest, int connections) {
  using rc::gen::inRange;
  using rc::gen::map;
  using rc::gen::set;
  const auto what = rc::gen::weightedElement<verb>(
      {{12, verb::enqueue},     {8, verb::claim},          {7, verb::settle},   {2, verb::renew},
       {1, verb::progress},     {4, verb::promote},        {4, verb::group},    {1, verb::audit},
       {4, verb::find_expired}, {5, verb::reap},           {3, verb::prune},    {3, verb::requeue},
       {2, verb::remove},       {3, verb::cancel},         {4, verb::pause},    {8, verb::take},
       {12, verb::ask},         {3, verb::update_limiter}, {4, verb::define},   {1, verb::reconcile},
       {4, verb::lock},         {4, verb::wait},           {1, verb::set_back}, {1, verb::reopen}});
  const auto seldom = [](int below) {
    return map(inRange(0, 3 * below), [below](int n) { return n < below ? n : 0; });
  };
  const auto step = rc::gen::build<command>(
      set(&command::what, what), set(&command::job, inRange(0, 6)), set(&command::other, seldom(7)),
      set(&command::queue, map(inRange(0, 3), [](int n) { return n / 2; })), set(&command::server, inRange(0, 3)),
      set(&command::which, seldom(3)), set(&command::choice, inRange(0, 6)), set(&command::types, inRange(0, 5)),
      set(&command::amount, inRange(0, 3)), set(&command::more, inRange(0, 3)), set(&command::time, inRange(0, 4)),
      set(&command::flag), set(&command::joined, map(seldom(2), [](int n) { return n > 0; })),
      set(&command::all_or_none, map(seldom(2), [](int n) { return n > 0; })),
      set(&command::connection, inRange(0, connections)),
      set(&command::flow, map(inRange(0, 22), [](int n) { return n < 14   ? n
                                                                 : n < 16 ? 12
                                                                          : 0; })),
      set(&command::whom, inRange(0, 6)), set(&command::more_of, inRange(0, 7)));
  const auto steps = rc::gen::container<std::vector<command>>(rc::gen::resize(rc::kNominalSize, step));
  return [=](const rc::Random& random, int) {
    return rc::shrinkable::shrinkRecur(program{steps(random, longest).value()},
                                       [](const program& p) { return smaller(p); });
  };
}

storage::define_request window_definition(const std::string& limiter, int more) {
  throttler t;
  t.kind = kind_of(limiter).value();
  t.name = limiter.substr(limiter.find(':') + 1);
  t.interval = 1min;
  if (t.kind == throttler_kind::dynamic_window) {
    t.key = "{tenant}";
    t.min_limit = 1;
    t.max_limit = 2;
    t.capacity = 2 + number(more);
  } else {
    t.limit = 1 + number(more);
  }
  if (t.kind != throttler_kind::fixed_window) {
    t.interval = 40s;
    t.buckets = 2;
  }
  return storage::to_define(t);
}

storage::update_limiter_request step_of(const storage::limiter_record& seen, const std::string& limiter, time_point now,
                                        const std::vector<storage::run_key>& runs, bool may_park) {
  std::vector<execution::limiter_ask> asks;
  for (const auto& run : runs)
    asks.push_back({line_for(limiter, run.id), run, may_park});
  const auto by = throttling::make_limiter(read_throttler(seen.definition).value());
  return execution::plan_limiter_update(*by, limiter, seen, now, asks).update;
}

storage::heartbeat_request somebody_serves() { return {serving("beating", {"default:1", "other:1"})}; }

bool crowd::asks(const command& c) {
  return c.what != verb::wait && c.what != verb::set_back && c.what != verb::reopen && c.what != verb::audit;
}

void crowd::pass_time(const command& c) {
  if (c.what == verb::wait) w_.clock.advance(waits[c.time]);
  if (c.what == verb::set_back) w_.clock.advance(-steps_back[c.time]);
  serve();
}
void crowd::serve() { w_.ask<storage::heartbeat_answer>(somebody_serves()); }

storage::request crowd::request(const command& c) {
  w_.clock.advance(1us);
  const auto both = ids_of(c);
  const auto changing = [&](storage::job_change change) {
    return storage::change_jobs_request{change, {both.begin(), both.end()}};
  };
  switch (c.what) {
    case verb::enqueue: {
      storage::enqueue_request r;
      for (const auto& id : new_ids_of(c))
        r.jobs.push_back(made(id, nth_of(c, r.jobs.size())));
      r.all_or_none = c.all_or_none;
      return r;
    }
    case verb::claim: return claim(c);
    case verb::settle: {
      storage::settle_request r;
      for (const auto& id : both) {
        r.runs.push_back(end_of({job_id(id), fence_of(id, c.which)}, end_by(c), c));
        if (carries(c)) carry(r.runs.back(), c);
      }
      if (c.amount > 0) {
        auto next = c;
        next.which = 0;
        r.next = claim(next);
      }
      return r;
    }
    case verb::renew: {
      storage::renew_request r;
      for (const auto& id : both)
        r.runs.push_back({job_id(id), fence_of(id, c.which)});
      r.lease = leases[c.time];
      return r;
    }
    case verb::progress: {
      storage::progress_request r;
      for (const auto& id : both)
        r.runs.push_back({{job_id(id), fence_of(id, c.which)}, {0.25 * c.amount, "page"}});
      return r;
    }
    case verb::promote:
      return storage::promote_request{c.amount == 0 ? all_of_them : number(c.amount),
                                      lapses_alone() ? reservation_of(c) : 10'000h};
    case verb::find_expired: return storage::expired_request{};
    case verb::reap: {
      storage::reap_request r;
      r.max_losses = number(3 - c.more);
      if (c.flag) r.leases = lost_;
      for (const auto& id : c.flag ? names{} : both)
        r.leases.push_back({{job_id(id), fence_of(id, c.which)}, static_cast<std::uint64_t>(c.amount), 30s, false});
      return r;
    }
    case verb::prune: {
      storage::prune_request r;
      r.retention = {{}, {}, {}};
      retention_rule rule;
      rule.count = number(c.more);
      if (c.flag) rule = {waits[c.time], c.amount == 0 ? std::nullopt : rule.count};
      if (c.choice == 0 || c.choice > 2) r.retention.succeeded = rule;
      if (c.choice == 1 || c.choice > 2) r.retention.failed = rule;
      if (c.choice == 2 || c.choice > 2) r.retention.deleted = rule;
      if (c.amount > 0) r.limit = number(c.amount);
      return r;
    }
    case verb::requeue: return changing(storage::job_change::requeue);
    case verb::remove: return changing(storage::job_change::remove);
    case verb::cancel: return changing(storage::job_change::cancel);
    case verb::group: {
      using act = storage::change_group_request::what;
      new_group group{group_name(at(group_names, c.queue)), {}, c.time == 3 ? 30s : 24h};
      if (c.choice < 3 && c.flag) group.in.value = at(group_names, 1 - c.queue);
      return storage::change_group_request{c.choice < 3 ? act::create : c.choice < 5 ? act::seal : act::cancel, group};
    }
    case verb::take: {
      storage::acquire_permits_request r;
      for (const auto& id : both)
        r.runs.push_back({{job_id(id), fence_of(id, c.which)},
                          wishes[static_cast<std::size_t>(c.choice) % wishes.size()],
                          c.amount == 2,
                          c.more != 2});
      return r;
    }
    case verb::define:
      if (c.more == 2) return storage::undefine_request{defined_by(c)};
      if (c.choice >= 3) return window_definition(defined_by(c), c.amount);
      return storage::define_request{"semaphore:s", cat("{\"limit\":", c.amount, "}"), number(c.amount), ""};
    case verb::ask: return ask_window(c);
    case verb::update_limiter: return update_limiter(c);
    case verb::reconcile: return storage::reconcile_request{};
    case verb::lock: return lock(c);
    default: return storage::pause_request{queue_name(at(queue_names, c.queue)), pauses(c)};
  }
}

std::vector<storage::request> crowd::requests(const command& c) {
  auto one = request(c);
  if (!comes_by_calls_of_their_own(c)) return {std::move(one)};
  std::vector<storage::request> all;
  for (auto& job : std::get<storage::enqueue_request>(one).jobs)
    all.emplace_back(storage::enqueue_request{{std::move(job)}, c.all_or_none});
  return all;
}

prepared_job crowd::made(const std::string& id, const command& c) {
  auto job = prepared({.id = id,
                       .type = c.more == 0 ? "mail" : "work",
                       .queue = at(queue_names, c.queue),
                       .args = c.amount == 2 ? "[2]" : "{}",
                       .delay = never_twice(delay_of(c))});
  flow_options flow;
  constexpr when_unmet if_unmet[] = {when_unmet::remove, when_unmet::run, when_unmet::keep};
  constexpr when_missing if_missing[] = {when_missing::refuse, when_missing::met, when_missing::unmet};
  if (has_parents(c))
    for (const auto& parent : parents_of(c, id))
      flow.after.parents.emplace_back(parent);
  if (has_groups(c)) flow.after.groups = {group_name(group_of(c))};
  if (has_groups(c) && c.flag) flow.after.groups.emplace_back(at(group_names, 1 - c.more_of % 2));
  flow.after.on = c.flow == 4 ? parent_end::first_failure : ends_of_parents[c.choice];
  flow.after.unless = if_unmet[c.which];
  flow.after.missing = if_missing[c.server];
  flow.after.need =
      (c.types == 1 || c.flow == 12) && !(flow.after.parents.empty() && flow.after.groups.empty()) ? 1 : 0;
  if (is_member(c)) {
    flow.group.value = group_of(c);
    const auto& by = at(job_names, c.whom);
    if (c.flag) flow.added_by = {job_id(by), fence_of(by, 0)};
  }
  if (has_key(c)) {
    constexpr unique_until points[] = {unique_until::end, unique_until::start, unique_until::period};
    flow.unique_key = at(key_names, c.whom % 3);
    flow.unique.until = points[c.whom % 3];
    if (flow.unique.until == unique_until::period) flow.unique.period = 30s;
    flow.unique.then = rule_of(c);
    if (c.flag) flow.unique.at_most = 12s;
  }
  if (has_times(c)) {
    flow.start_within = start_within(c);
    flow.finish_within = finish_after(c);
  }
  if (!flow.is_empty()) job.flow = std::make_shared<const flow_options>(std::move(flow));
  return job;
}

// A job that the end of a run carries: after it, or added to its group by it.
void crowd::carry(storage::settlement& end, const command& c) {
  auto next = made(at(job_names, c.whom), carried(c));
  if (next.flow) {
    auto& flow = flow_of(next);
    if (!flow.after.parents.empty() && end.run.id.value != next.id.value) flow.after.parents = {end.run.id};
    if (!flow.group.empty()) flow.added_by = {end.run.id, end.run.fence};
  }
  end.next.push_back(std::move(next));
}

// Mostly of what is there now. Who finds it undefined defines it.
storage::request crowd::ask_window(const command& c) {
  const auto& name = window_of(c);
  auto& views = seen_[name];
  if (c.time < 2 || views.empty()) views.push_back(limiter_record_of(w_, name));
  const auto back = c.time < 2 ? 1 : static_cast<std::size_t>(c.time) - 1;
  const auto& seen = views[views.size() - std::min(back, views.size())];
  if (seen.definition.empty()) return window_definition(name, c.amount);
  return step_of(seen, name, w_.clock.now(), c.amount == 2 ? std::vector<storage::run_key>() : runs_of(c), c.more != 2);
}

storage::update_limiter_request crowd::update_limiter(const command& c) {
  const auto seen = limiter_record_of(w_, raw);
  storage::update_limiter_request r;
  r.limiter = raw;
  r.version = c.which == 0 ? seen.version : c.which == 1 ? seen.version - 1 : 7'000;
  r.state = cat("said ", c.amount);
  r.from = c.time == 3 ? seen.now + 10s : seen.now - 10s;
  r.until = c.time == 2 ? seen.now + 2us : r.from + 25s;
  for (const auto& run : runs_of(c)) {
    if (c.flag) r.parks.push_back({run, raw});
    else r.let_in.push_back(run);
  }
  if (c.amount > 0) r.wakes.push_back({raw, number(c.amount)});
  if (c.more == 1) r.next_checks.push_back({raw, {}});
  if (c.more == 2) r.next_checks.push_back({raw, seen.now + waits[c.time]});
  return r;
}

void crowd::remember(const storage::request& asked, const storage::answer& told) {
  if (const auto* c = std::get_if<storage::claim_answer>(&told)) remember(*c);
  if (const auto* s = std::get_if<storage::settle_answer>(&told)) remember(s->next);
  if (const auto* e = std::get_if<storage::expired_answer>(&told)) lost_ = e->leases;
  if (const auto* s = std::get_if<storage::update_limiter_answer>(&told))
    seen_[std::get<storage::update_limiter_request>(asked).limiter].push_back(s->limiter);
  if (const auto* l = std::get_if<storage::lock_answer>(&told); l && l->now) {
    auto& of_lock = locks_[std::get<storage::lock_request>(asked).resource];
    if (std::find(of_lock.begin(), of_lock.end(), l->now->fence) == of_lock.end()) of_lock.push_back(l->now->fence);
  }
}

// Runs a whole program, each step a commit.
void crowd::play(const program& p) {
  for (const auto& c : p.steps) {
    pass_time(c);
    if (asks(c))
      for (const auto& r : requests(c))
        ask(r);
  }
}
storage::answer crowd::ask(const storage::request& r) {
  auto told = w_.store().apply({&r, 1}).at(0);
  if (const auto* e = std::get_if<error>(&told)) throw std::runtime_error("the store refused: " + to_string(*e));
  remember(r, told);
  return told;
}

storage::claim_request crowd::claim(const command& c) {
  auto& ops = ops_[{c.server, c.queue, slot_of(c)}];
  const auto back = static_cast<std::size_t>(c.which);
  if (back == 0) ops.push_back(++last_op_);
  const auto op = back == 0 ? last_op_ : back <= ops.size() ? ops[ops.size() - back] : ++last_op_;
  auto chains = chains_of(c);
  for (auto& [type, its] : chains)
    if (const auto known = chains_.find(type); known != chains_.end() && c.flag)
      its.growing.push_back({known->second, number(c.more) + 1});
  return claiming({.free = number(free_of(c)),
                   .ahead = number(c.more),
                   .allow_suspect = c.flag,
                   .queue = at(queue_names, c.queue),
                   .server = at(server_names, c.server),
                   .op = op,
                   .lease = leases[c.time],
                   .types = at(known_types, c.types),
                   .no_prefetch = c.job == 5 ? "mail" : "",
                   .slot = number(slot_of(c)),
                   .permits = permits_of(c),
                   .chains = std::move(chains)});
}

storage::lock_request crowd::lock(const command& c) {
  const auto& resource = at(lock_names, c.queue);
  const auto& holder = at(server_names, c.server);
  if (c.choice < 3) {
    if (c.which == 0) ++last_token_;
    return taking(resource, {holder, leases[c.time], cat(holder, ' ', c.which < 2 ? last_token_ : 0)});
  }
  const auto known = fence_of(locks_, resource, c.which);
  return c.choice < 5 ? renewing(resource, known, leases[c.time]) : releasing(resource, known);
}

storage::settlement crowd::end_of(storage::run_key run, how end, const command& c) {
  storage::settlement s;
  s.run = std::move(run);
  s.end = end;
  s.cause = name_of(end);
  s.text = end == how::succeeded ? "42" : "said that it broke";
  s.reason = "said by its server";
  s.delay = never_twice(delays[c.time]);
  s.failure = end == how::failed || (end == how::retry && c.flag);
  s.waited = c.more * 10s;
  if (c.more == 2) s.progress = progress_report{1, "all pages"};
  return s;
}

std::vector<storage::run_key> crowd::runs_of(const command& c) const {
  std::vector<storage::run_key> some;
  for (const auto& id : c.what == verb::ask && c.flag ? job_names : ids_of(c))
    some.push_back({job_id(id), fence_of(id, c.which)});
  return some;
}

fence crowd::fence_of(const std::map<std::string, std::vector<fence>>& drawn, const std::string& name, int which) {
  const auto known = drawn.find(name);
  const auto back = static_cast<std::size_t>(which) + 1;
  if (which == 2) return fence{1};
  if (known == drawn.end() || known->second.size() < back) return fence{0};
  return known->second[known->second.size() - back];
}

// No two reservations lapse that were made in the same instant: which of them goes first is not promised.
bool crowd::lapses_alone() {
  std::set<time_point> seen;
  for (const auto& row : all_throttlers(w_))
    for (const auto& h : one_throttler(w_, row.resource, 200).holders)
      if (h.reserved && !seen.insert(h.since).second) return false;
  return true;
}

// No two jobs become due in the same instant: which of them goes first is not promised.
duration crowd::never_twice(duration delay) {
  return delay > 0s ? delay + std::chrono::microseconds(++delays_) : delay;
}

void crowd::remember(const storage::claim_answer& got) {
  for (const auto& one : got.jobs)
    if (one.chain.value > 0) chains_[one.job.type.value] = one.chain;
  for (const auto& j : jobs_of(got)) {
    auto& of_job = starts_[j.id.value];
    if (std::find(of_job.begin(), of_job.end(), j.fence) == of_job.end()) of_job.push_back(j.fence);
  }
}

}  // namespace sluice::test
