// Laws of the store over random programs of a few servers and people that get in each other's way. A program that
// breaks a law is shrunk, and printed with the seed; RC_PARAMS="seed=N max_success=N" runs others.
#include <cstdlib>

#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include "core/text.hpp"
#include "storage/model.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// One step. Each verb takes what it needs of the small numbers; all of them shrink to 0.
enum class verb {
  enqueue,
  claim,
  settle,
  renew,
  progress,
  promote,
  look,
  reap,
  prune,
  requeue,
  remove,
  pause,
  take,
  define,
  rouse,
  lock,
  wait,
  set_back,
  reopen
};

struct command {
  verb what = verb::enqueue;
  int job = 0;     // of 6
  int other = 0;   // above 0: a second job in the same request
  int queue = 0;   // of 2
  int server = 0;  // of 3
  int which = 0;   // 0: the latest start or claim, 1: the one before, 2: one that never was
  int choice = 0;  // of 6: the end, the state to prune
  int types = 0;   // of 5: which are known
  int amount = 0;  // of 3
  int more = 0;    // of 3
  int time = 0;    // of 4
  bool flag = false;
  bool joined = false;  // one commit with the next
};

struct program {
  std::vector<command> steps;
};

// What a broken program is tried as, from large cuts to small. RapidCheck's own way tries thousands of cuts of a long
// program before one fits, which is too slow for a store on a disk.
rc::Seq<program> smaller(const program& p) {
  std::vector<program> all;
  const auto n = p.steps.size();
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
                              &command::choice, &command::types, &command::amount, &command::more, &command::time})
      for (int value = 0; value < p.steps[i].*member; ++value)
        but(member, value);
    for (const auto member : {&command::flag, &command::joined})
      if (p.steps[i].*member) but(member, false);
  }
  return rc::seq::fromContainer(std::move(all));
}

rc::Gen<program> any_program(int longest) {
  using rc::gen::inRange;
  using rc::gen::set;
  const auto what = rc::gen::weightedElement<verb>({{6, verb::enqueue},
                                                    {8, verb::claim},
                                                    {7, verb::settle},
                                                    {2, verb::renew},
                                                    {1, verb::progress},
                                                    {2, verb::promote},
                                                    {4, verb::look},
                                                    {5, verb::reap},
                                                    {2, verb::prune},
                                                    {3, verb::requeue},
                                                    {1, verb::remove},
                                                    {2, verb::pause},
                                                    {8, verb::take},
                                                    {2, verb::define},
                                                    {1, verb::rouse},
                                                    {4, verb::lock},
                                                    {4, verb::wait},
                                                    {1, verb::set_back},
                                                    {1, verb::reopen}});
  const auto seldom = [](int below) {
    return rc::gen::map(inRange(0, 3 * below), [below](int n) { return n < below ? n : 0; });
  };
  const auto step = rc::gen::build<command>(
      set(&command::what, what), set(&command::job, inRange(0, 6)), set(&command::other, seldom(7)),
      set(&command::queue, seldom(2)), set(&command::server, inRange(0, 3)), set(&command::which, seldom(3)),
      set(&command::choice, inRange(0, 6)), set(&command::types, inRange(0, 5)), set(&command::amount, inRange(0, 3)),
      set(&command::more, inRange(0, 3)), set(&command::time, inRange(0, 4)), set(&command::flag),
      set(&command::joined, rc::gen::map(seldom(2), [](int n) { return n > 0; })));
  const auto steps = rc::gen::container<std::vector<command>>(rc::gen::resize(rc::kNominalSize, step));
  return [=](const rc::Random& random, int) {
    return rc::shrinkable::shrinkRecur(program{steps(random, longest).value()},
                                       [](const program& p) { return smaller(p); });
  };
}

const names job_names = {"a", "b", "c", "d", "e", "f"};
const names queue_names = {"default", "other"};
const names server_names = {"s1", "s2", "s3"};
const names known_types = {"work mail", "work mail", "work mail", "work", "mail"};
const names ends = {"succeeded", "failed", "deleted", "retry", "given_back", "deferred"};
constexpr duration delays[] = {0s, 0s, 0s, 10s};
constexpr duration leases[] = {30s, 10s, 1s, 1min};
constexpr duration waits[] = {1s, 15s, 40s, 2h};
constexpr duration steps_back[] = {500ms, 10s, 40s, 1h};
const std::vector<names> wishes = {
    {"mutex:m"}, {"mutex:m", "mutex:n"}, {"mutex:n"}, {"semaphore:s"}, {"mutex:n", "semaphore:s"}};
constexpr std::uint32_t all_of_them = 1'000;

const std::string& at(const names& all, int n) { return all[static_cast<std::size_t>(n)]; }
int free_of(const command& c) { return c.what == verb::claim ? (c.amount + 1) % 3 : c.amount; }
int lane_of(const command& c) { return c.other % 2; }
// What claims take for each type: nothing, or what the job number says.
storage::permits_by_type permits_of(const command& c) {
  if (c.job < 3) return {};
  const auto& wanted = wishes[static_cast<std::size_t>(c.job + c.choice) % wishes.size()];
  return {{"work", {wanted, c.choice != 5}}, {"mail", {{"mutex:m"}, true}}};
}
std::string permits_in_words(const command& c) {
  std::string text;
  for (const auto& [type, plan] : permits_of(c)) {
    text += cat(plan.park ? ", for " : ", unless it is busy for ", type);
    for (const auto& resource : plan.resources)
      text += ' ' + resource;
  }
  return text;
}
bool pauses(const command& c) { return c.flag && c.more == 0; }
std::uint32_t number(int n) { return static_cast<std::uint32_t>(n); }

std::string words_for(const command& c) {
  const auto& job = at(job_names, c.job);
  const auto both = c.other > 0 ? job + " and " + at(job_names, c.other - 1) : job;
  const auto& queue = at(queue_names, c.queue);
  const auto claim = [&] {
    return cat(at(server_names, c.server), " claims from ", queue, " in lane ", lane_of(c), ": ", free_of(c), " free, ",
               c.more, " ahead", c.flag ? ", a suspect too" : "", ", knows ", at(known_types, c.types), ", lease ",
               format_duration(leases[c.time]), permits_in_words(c));
  };
  const auto start = cat(" (start ", c.which == 0 ? "now" : c.which == 1 ? "before" : "never", ")");
  switch (c.what) {
    case verb::enqueue:
      return cat("enqueue ", both, ": ", c.more == 0 ? "mail" : "work", " in ", queue,
                 c.amount == 2 ? " with other args" : "", " after ", format_duration(delays[c.time]));
    case verb::claim: return claim() + (c.which > 0 ? cat(", as ", c.which, " before") : "");
    case verb::settle:
      return cat(both, start, " ends: ", at(ends, c.choice), " in ", format_duration(delays[c.time]),
                 c.amount > 0 ? "; " + claim() : "");
    case verb::renew: return cat("renew ", both, start, " for ", format_duration(leases[c.time]));
    case verb::progress: return cat("progress of ", both, start);
    case verb::promote: return cat("promote ", c.amount == 0 ? all_of_them : number(c.amount));
    case verb::look: return "look for lost leases";
    case verb::reap:
      return cat("reap ", c.flag ? "what was seen" : cat(both, start, " renewed ", c.amount, " times"), ", ",
                 3 - c.more, " losses at most");
    case verb::prune:
      return cat("prune ", c.choice < 3 ? at(ends, c.choice) : "all",
                 c.flag ? cat(" older than ", format_duration(waits[c.time])) : "", " keeping ", c.more, ", at most ",
                 c.amount == 0 ? all_of_them : number(c.amount));
    case verb::requeue: return "requeue " + job;
    case verb::remove: return "remove " + job;
    case verb::pause: return cat(pauses(c) ? "pause " : "resume ", queue);
    case verb::take: {
      std::string wanted;
      for (const auto& resource : wishes[static_cast<std::size_t>(c.choice) % wishes.size()])
        wanted += ' ' + resource;
      return cat(both, start, c.more == 2 ? " would take" : " takes", wanted, c.amount == 2 ? ", strictly" : "");
    }
    case verb::define: return c.more == 2 ? "undefine semaphore:s" : cat("define semaphore:s, limit ", c.amount);
    case verb::rouse: return "rouse";
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
  }
  return {};
}

std::ostream& operator<<(std::ostream& out, const program& p) {
  for (const auto& c : p.steps)
    out << "\n- " << words_for(c) << (c.joined ? " +" : "");
  return out;
}

// Turns commands into requests. Remembers every start and every lost lease that it was told of, so that what it says is
// often old.
class crowd {
public:
  explicit crowd(world& w) : w_(w) { serve(); }

  static bool asks(const command& c) {
    return c.what != verb::wait && c.what != verb::set_back && c.what != verb::reopen;
  }
  void pass_time(const command& c) {
    if (c.what == verb::wait) w_.clock.advance(waits[c.time]);
    if (c.what == verb::set_back) w_.clock.advance(-steps_back[c.time]);
    serve();
  }
  // Somebody serves all queues, at any time.
  void serve() { beat(w_, serving("beating", {"default:1", "other:1"})); }

  storage::request request(const command& c) {
    w_.clock.advance(1us);
    const auto& job = at(job_names, c.job);
    names both = {job};
    if (c.other > 0) both.push_back(at(job_names, c.other - 1));
    switch (c.what) {
      case verb::enqueue: {
        storage::enqueue_request r;
        for (const auto& id : both)
          r.jobs.push_back(prepared({.id = id,
                                     .type = c.more == 0 ? "mail" : "work",
                                     .queue = at(queue_names, c.queue),
                                     .args = c.amount == 2 ? "[2]" : "{}",
                                     .delay = never_twice(delays[c.time])}));
        return r;
      }
      case verb::claim: return claim(c);
      case verb::settle: {
        storage::settle_request r;
        for (const auto& id : both)
          r.starts.push_back(end_of({job_id(id), fence_of(id, c.which)}, static_cast<how>(c.choice), c));
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
          r.starts.push_back({job_id(id), fence_of(id, c.which)});
        r.lease = leases[c.time];
        return r;
      }
      case verb::progress: {
        storage::progress_request r;
        for (const auto& id : both)
          r.starts.push_back({{job_id(id), fence_of(id, c.which)}, {0.25 * c.amount, "page"}});
        return r;
      }
      case verb::promote:
        return storage::promote_request{c.amount == 0 ? all_of_them : number(c.amount), lapses_alone() ? 30s : 10'000h};
      case verb::look: return storage::expired_request{};
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
        if (c.choice <= 2 && c.amount > 0) r.limit = number(c.amount);
        return r;
      }
      case verb::requeue: return storage::requeue_request{job_id(job)};
      case verb::remove: return storage::remove_request{job_id(job)};
      case verb::take: {
        storage::take_request r;
        for (const auto& id : both)
          r.starts.push_back({{job_id(id), fence_of(id, c.which)},
                              wishes[static_cast<std::size_t>(c.choice) % wishes.size()],
                              c.amount == 2,
                              c.more != 2});
        return r;
      }
      case verb::define:
        if (c.more == 2) return storage::undefine_request{"semaphore:s"};
        return storage::define_request{"semaphore:s", cat("limit ", c.amount), number(c.amount), ""};
      case verb::rouse: return storage::rouse_request{};
      case verb::lock: return lock(c);
      default: return storage::pause_request{queue_name(at(queue_names, c.queue)), pauses(c)};
    }
  }

  void remember(const storage::request& asked, const storage::answer& told) {
    const auto* r = std::get_if<storage::lock_request>(&asked);
    if (!r) return remember(told);
    const auto& got = std::get<storage::lock_answer>(told);
    auto& of_lock = locks_[r->resource];
    if (got.now && std::find(of_lock.begin(), of_lock.end(), got.now->fence) == of_lock.end())
      of_lock.push_back(got.now->fence);
  }
  void remember(const storage::answer& told) {
    if (const auto* c = std::get_if<storage::claim_answer>(&told)) remember(*c);
    if (const auto* s = std::get_if<storage::settle_answer>(&told)) remember(s->next);
    if (const auto* e = std::get_if<storage::expired_answer>(&told)) lost_ = e->leases;
  }

  // Runs a whole program, each step a commit.
  void play(const program& p) {
    for (const auto& c : p.steps) {
      pass_time(c);
      if (asks(c)) ask(request(c));
    }
  }
  storage::answer ask(const storage::request& r) {
    auto told = w_.store().apply({&r, 1}).at(0);
    if (const auto* e = std::get_if<error>(&told)) throw std::runtime_error("the store refused: " + to_string(*e));
    remember(r, told);
    return told;
  }

  // Every start that ever was, oldest first for each job; and every lock that was taken.
  const std::map<std::string, std::vector<fence>>& starts() const { return starts_; }
  const std::map<std::string, std::vector<fence>>& locks() const { return locks_; }

private:
  storage::claim_request claim(const command& c) {
    auto& ops = ops_[{c.server, c.queue, lane_of(c)}];
    const auto back = static_cast<std::size_t>(c.which);
    if (back == 0) ops.push_back(++last_op_);
    const auto op = back == 0 ? last_op_ : back <= ops.size() ? ops[ops.size() - back] : ++last_op_;
    return claiming({.free = number(free_of(c)),
                     .ahead = number(c.more),
                     .suspect_too = c.flag,
                     .queue = at(queue_names, c.queue),
                     .server = at(server_names, c.server),
                     .op = op,
                     .lease = leases[c.time],
                     .types = at(known_types, c.types),
                     .at_once = c.job == 5 ? "mail" : "",
                     .lane = number(lane_of(c)),
                     .permits = permits_of(c)});
  }

  storage::lock_request lock(const command& c) {
    const auto& resource = at(lock_names, c.queue);
    const auto& holder = at(server_names, c.server);
    if (c.choice < 3) {
      if (c.which == 0) ++last_token_;
      return taking(resource, {holder, leases[c.time], cat(holder, ' ', c.which < 2 ? last_token_ : 0)});
    }
    const auto known = fence_of(locks_, resource, c.which);
    return c.choice < 5 ? renewing(resource, known, leases[c.time]) : releasing(resource, known);
  }

  storage::settlement end_of(storage::start_key start, how end, const command& c) {
    storage::settlement s;
    s.start = std::move(start);
    s.end = end;
    s.cause = at(ends, c.choice);
    s.text = end == how::succeeded ? "42" : "said that it broke";
    s.reason = "said by its server";
    s.delay = never_twice(delays[c.time]);
    s.failure = end == how::failed || (end == how::retry && c.flag);
    s.ran = c.more * 10s;
    if (c.more == 2) s.progress = progress_report{1, "all pages"};
    return s;
  }

  fence fence_of(const std::string& id, int which) const { return fence_of(starts_, id, which); }
  static fence fence_of(const std::map<std::string, std::vector<fence>>& drawn, const std::string& name, int which) {
    const auto known = drawn.find(name);
    const auto back = static_cast<std::size_t>(which) + 1;
    if (which == 2) return fence{1};
    if (known == drawn.end() || known->second.size() < back) return fence{0};
    return known->second[known->second.size() - back];
  }

  // No two reservations lapse that were made in the same instant: which of them goes first is not promised.
  bool lapses_alone() {
    std::set<time_point> seen;
    for (const auto& row : all_throttlers(w_))
      for (const auto& h : one_throttler(w_, row.resource, 200).holders)
        if (h.reserved && !seen.insert(h.since).second) return false;
    return true;
  }

  // No two jobs become due in the same instant: which of them goes first is not promised.
  duration never_twice(duration delay) { return delay > 0s ? delay + std::chrono::microseconds(++delays_) : delay; }

  void remember(const storage::claim_answer& got) {
    for (const auto& j : got.jobs) {
      auto& of_job = starts_[j.id.value];
      if (std::find(of_job.begin(), of_job.end(), j.fence) == of_job.end()) of_job.push_back(j.fence);
    }
  }

  world& w_;
  std::map<std::string, std::vector<fence>> starts_;
  std::map<std::string, std::vector<fence>> locks_;
  int last_token_ = 0;
  std::vector<storage::expired_lease> lost_;
  std::map<std::tuple<int, int, int>, std::vector<std::uint64_t>> ops_;
  std::uint64_t last_op_ = 0;
  int delays_ = 0;
};

void agree(const std::string& expected, const std::string& got) {
  if (got != expected) throw std::runtime_error(cat("expected\n", expected, "\ngot\n", got));
}

// The first law: the store answers and looks like the model, commit by commit.
template <class World>
void goes_with_the_model(const program& p) {
  World w;
  crowd people(w);
  model expected(w.clock, [&](const std::string& id) { return look(w, id).found.has_value(); });
  std::vector<storage::request> batch;
  const auto commit = [&] {
    if (batch.empty()) return;
    const auto answers = w.store().apply(batch);
    const bool made_work = w.store().made_work();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      agree(in_words(expected.carry_out(batch[i], answers.at(i))), in_words(answers.at(i)));
      people.remember(batch[i], answers[i]);
    }
    if (expected.made_work() && !made_work) throw std::runtime_error("it made work and does not say so");
    batch.clear();
    agree(expected.look(), model::look(w));
  };
  int step = 0;
  for (const auto& c : p.steps) {
    ++step;
    try {
      if (crowd::asks(c)) {
        batch.push_back(people.request(c));
        if (c.joined && c.what != verb::prune) continue;  // the model asks what was pruned
        commit();
      } else {
        commit();
        people.pass_time(c);
        if constexpr (World::survives_reopen)
          if (c.what == verb::reopen) w.reopen();
        agree(expected.look(), model::look(w));
      }
    } catch (const std::exception& e) {
      throw std::runtime_error(cat("step ", step, ": ", e.what()));
    }
  }
  commit();
}

// What a request that is asked again does: never anything, and it answers as before where it names what it is about.
bool finds_more(const storage::request& r) {
  if (const auto* p = std::get_if<storage::promote_request>(&r)) return p->limit < all_of_them;
  if (const auto* p = std::get_if<storage::prune_request>(&r)) return p->limit < all_of_them;
  return false;
}
bool repeats_its_answer(const storage::request& r) {
  // Of two starts, one may be parked and then woken by what the other one gave back.
  if (const auto* t = std::get_if<storage::take_request>(&r)) return t->starts.size() == 1;
  return !std::holds_alternative<storage::define_request>(r) && !std::holds_alternative<storage::rouse_request>(r) &&
         !std::holds_alternative<storage::promote_request>(r) && !std::holds_alternative<storage::prune_request>(r) &&
         !std::holds_alternative<storage::reap_request>(r) && !std::holds_alternative<storage::requeue_request>(r);
}

template <class World>
void repeats_change_nothing(const program& p) {
  World w;
  crowd people(w);
  int step = 0;
  for (const auto& c : p.steps) {
    ++step;
    people.pass_time(c);
    if (!crowd::asks(c)) continue;
    const auto request = people.request(c);
    const auto first = people.ask(request);
    if (finds_more(request)) continue;
    const auto before = model::look(w);
    const auto again = people.ask(request);
    try {
      agree(before, model::look(w));
      if (repeats_its_answer(request)) agree(in_words(first), in_words(again));
    } catch (const std::exception& e) {
      throw std::runtime_error(cat("step ", step, " twice: ", e.what()));
    }
  }
}

std::vector<fence> all_but_last(std::vector<fence> all) {
  if (!all.empty()) all.pop_back();
  return all;
}

// Whatever is said about starts that are no more, and about locks that were taken anew.
template <class World>
void zombies_change_nothing(const program& p) {
  World w;
  crowd people(w);
  people.play(p);
  const auto everything = [&] { return model::look(w) + in_words(storage::answer(expired(w))); };
  const auto before = everything();
  for (const auto& [id, fences] : people.starts()) {
    const auto now = look(w, id).found;
    for (const auto old : fences) {
      if (now && now->state == job_state::processing && now->fence == old) continue;
      const storage::start_key start{job_id(id), old};
      std::vector<storage::request> words = {
          storage::renew_request{{start}, 30s}, storage::progress_request{{{start, {0.5, "undead"}}}},
          storage::reap_request{{{start, 0, 30s, false}, {start, 1, 30s, false}}, 1}};
      for (const auto end : {how::succeeded, how::failed, how::deleted, how::retry, how::given_back, how::deferred}) {
        storage::settlement s;
        s.start = start;
        s.end = end;
        s.cause = s.text = s.reason = "undead";
        words.emplace_back(storage::settle_request{{s}, {}});
      }
      words.emplace_back(storage::take_request{{{start, {"mutex:m"}, true, true}, {start, {"mutex:m"}, false, false}}});
      const auto told = w.store().apply(words);
      agree("stale_fence ", in_words(told.at(0)));
      agree("stale_fence ", in_words(told.at(1)));
      agree("stale_fence stale_fence ", in_words(told.at(2)));
      const bool in_line = now && now->state == job_state::throttled && now->fence == old;
      const auto answer = in_line ? cat("parked ", now->line, "; ") : std::string("stale; ");
      agree(answer + answer, in_words(told.back()));
      agree(before, everything());
    }
  }
  for (const auto& [resource, fences] : people.locks()) {
    const auto now = ask(w, storage::lock_request{storage::lock_request::act::look, resource}).now;
    // Of the last one the lease may be over without anybody having taken it: then it may still be renewed.
    for (const auto old : all_but_last(fences)) {
      agree("stale_fence", std::string(name_of(ask(w, renewing(resource, old)).code)));
      agree(now ? "stale_fence" : "none", std::string(name_of(ask(w, releasing(resource, old)).code)));
      agree(before, everything());
    }
  }
}

// One server that lives and knows all types ends everything, whatever state it finds.
template <class World>
void everything_ends(const program& p) {
  World w;
  crowd people(w);
  people.play(p);
  for (const auto& queue : queue_names)
    pause(w, queue, false);
  const auto unfinished = [&] {
    const auto all = list(w);
    return std::any_of(all.begin(), all.end(), [](const job& j) { return !is_final(j.state); });
  };
  define(w, "semaphore:s", 1);
  for (int day = 0; day < 60 && unfinished(); ++day) {
    w.clock.advance(24h);
    people.serve();
    reap(w, expired(w).leases);
    promote(w);
    rouse(w);
    for (const auto& queue : queue_names)
      for (const auto& j :
           claim(w, {.free = 9, .suspect_too = true, .queue = queue, .server = "healthy", .types = "work mail"}).jobs) {
        const auto taken = take(w, j, wishes[j.id.value[0] % wishes.size()]);
        if (taken.starts_with("parked")) continue;
        if (taken != "granted" || settle(w, j) != errc::none)
          throw std::runtime_error(cat("it could not end ", j.id.value, ", ", taken));
      }
  }
  if (unfinished()) throw std::runtime_error("still not all final:\n" + model::look(w));
}

template <class World>
constexpr int programs = 400;
template <>
constexpr int programs<redis_world> = 100;  // each step is some round trips
template <>
constexpr int programs<sqlite_file_world> = 30;  // it makes a file for each, and each commit is on the disk

void holds(const std::string& law, int how_many, void (*check)(const program&)) {
  constexpr int longest = 200;
  constexpr auto shrinking = 40s;
  rc::detail::Configuration config;
  config.testParams.seed = 20'260'308;
  config.testParams.maxSuccess = how_many;
  if (const char* wanted = std::getenv("RC_PARAMS")) config = rc::detail::configFromString(wanted, config);
  rc::detail::TestMetadata about;
  about.id = about.description = law;
  rc::detail::TestListenerAdapter nobody;
  std::optional<steady_point> failed;
  std::string smallest;  // the last that failed
  const auto one = [&] {
    const auto drawn = *any_program(longest);
    const auto now = std::chrono::steady_clock::now();
    if (failed && now > *failed + shrinking) return;  // what is found by now must do
    try {
      check(drawn);
    } catch (const std::exception& e) {
      if (!failed) failed = now;
      smallest = cat("the program", drawn, "\n", e.what());
      throw;
    }
  };
  const auto result = rc::detail::checkTestable(one, about, config.testParams, nobody, config.reproduce);
  INFO("RC_PARAMS=\"seed=" << config.testParams.seed << " max_success=" << config.testParams.maxSuccess << "\"");
  INFO((smallest.empty() ? cat(result) : smallest));
  REQUIRE(result.is<rc::detail::SuccessResult>());
}

}  // namespace

TEMPLATE_TEST_CASE("Random programs leave a store as they leave the model", "[contract]", sqlite_file_world,
                   sqlite_memory_world, redis_world) {
  holds("model", programs<TestType>, goes_with_the_model<TestType>);
}

TEMPLATE_TEST_CASE("Whatever a program asks twice changes nothing the second time", "[contract]", sqlite_file_world,
                   sqlite_memory_world, redis_world) {
  holds("replay", programs<TestType>, repeats_change_nothing<TestType>);
}

TEMPLATE_TEST_CASE("Nothing that is said about an old start changes anything", "[contract]", sqlite_file_world,
                   sqlite_memory_world, redis_world) {
  holds("zombies", programs<TestType>, zombies_change_nothing<TestType>);
}

TEMPLATE_TEST_CASE("From wherever a program has led, one healthy server ends everything", "[contract]",
                   sqlite_file_world, sqlite_memory_world, redis_world) {
  holds("drain", programs<TestType>, everything_ends<TestType>);
}
