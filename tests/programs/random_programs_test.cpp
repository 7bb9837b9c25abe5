// Laws of the store over random programs (programs.hpp) of a few servers, throttlers and people that get in each
// other's way. The programs are new ones each time. One that breaks a law is shrunk and printed; the line of RC_PARAMS
// that each law prints runs the same programs again.
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>

#include <rapidcheck/detail/TestListenerAdapter.h>

#include "storage/flow_words.hpp"
#include "storage/programs.hpp"
#include "storage/watched_rules.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

template <class Printable>
std::string shown(const Printable& what) {
  std::ostringstream out;
  out << what;
  return out.str();
}

void agree(const std::string& expected, const std::string& got) {
  if (got != expected) throw std::runtime_error(cat("expected\n", expected, "\ngot\n", got));
}

using requests = std::vector<storage::request>;

// Runs a program. Joined steps are one commit, through the connection of the last of them.
void run(crowd& people, const program& p, const std::function<void(requests&, int connection)>& commit,
         const std::function<void(const command&)>& time_has_passed) {
  requests batch;
  int through = 0;
  const auto end_commit = [&] {
    if (!batch.empty()) commit(batch, through);
    batch.clear();
  };
  int step = 0;
  for (const auto& c : p.steps) {
    ++step;
    try {
      if (crowd::asks(c)) {
        for (auto& one : people.requests(c))
          batch.push_back(std::move(one));
        through = c.connection;
        const bool goes_on = c.joined && &c != &p.steps.back();
        if (goes_on && c.what != verb::prune) continue;  // the model asks what was pruned
        end_commit();
      } else {
        end_commit();
        people.pass_time(c);
        time_has_passed(c);
      }
    } catch (const std::exception& e) {
      throw std::runtime_error(cat("step ", step, ": ", e.what()));
    }
  }
}

// A second connection to what a world's store holds.
std::unique_ptr<storage::store> connected_to(world& w) {
  if (auto another = w.store().open_second_connection()) return another;
  auto opened = storage::open_store(w.url(), &w.clock);
  if (!opened) throw std::runtime_error(to_string(opened.error()));
  return std::move(*opened);
}

void expect_sound(world& w) {
  const auto findings = w.store().audit();
  if (!findings) throw std::runtime_error(to_string(findings.error()));
  std::string text;
  for (const auto& f : *findings)
    text += cat("\n  ", f);
  if (!findings->empty()) throw std::runtime_error("the audit finds" + text);
  std::string mended;
  const auto done = w.store().repair([&](const auto& one) { mended += "\n  " + one.finding; });
  if (!done) throw std::runtime_error(to_string(done.error()));
  if (!mended.empty()) throw std::runtime_error("the repair finds" + mended);
}

// Whether to look at all that there is, which takes far longer than a step.
class every_few {
public:
  explicit every_few(const program& p) : steps_(p.look_every) {}
  bool operator()() { return ++n_ % steps_ == 0; }

private:
  int steps_, n_ = 0;
};

// The first law: the store answers and looks like the model, commit by commit.
void agrees_with_the_model(world& w, const program& p, std::unique_ptr<storage::store> other) {
  crowd people(w);
  model expected(w.clock, [&](const std::string& id) { return look(w, id).found.has_value(); });
  every_few is_time_to_look(p);
  const auto commit = [&](requests& batch, int connection) {
    auto& store = connection == 0 ? w.store() : *other;
    const auto answers = store.apply(batch);
    const bool made_work{store.made_work()};
    for (std::size_t i = 0; i < batch.size(); ++i) {
      agree(in_words(expected.carry_out(batch[i], answers.at(i))), in_words(answers.at(i)));
      people.remember(batch[i], answers[i]);
    }
    if (expected.made_work() && !made_work) throw std::runtime_error("it made work and does not say so");
    // What the other connection wrote the first one must find out by itself, when it writes too.
    if (connection == 0 && is_time_to_look()) agree(expected.look(), model::look(w));
  };
  run(people, p, commit, [&](const command& c) {
    if (w.survives_reopen && c.what == verb::reopen && c.connection == 0) w.reopen();
    if (c.what == verb::reopen && c.connection > 0) other = connected_to(w);
    if (c.what == verb::audit) expect_sound(w);
    if (is_time_to_look()) agree(expected.look(), model::look(w));
  });
  expect_sound(w);
  agree(expected.look(), model::look(w));
  for (const auto& id : job_names) {  // what ended is to run again
    requests one{requeuing(job_id(id))};
    commit(one, 0);
  }
  agree(expected.look(), model::look(w));
  expect_sound(w);
}
void one_goes_with_the_model(world& w, const program& p) { agrees_with_the_model(w, p, nullptr); }
void two_go_with_the_model(world& w, const program& p) { agrees_with_the_model(w, p, connected_to(w)); }

// All that can be seen of what programs do.
requests all_looks() {
  job_query waiting;
  waiting.state = job_state::enqueued;
  requests looks = {storage::list_request{}, storage::list_request{waiting}, storage::queues_request{},
                    storage::throttlers_request{}, storage::groups_request{}};
  for (const auto& id : job_names) {
    looks.emplace_back(storage::explain_request{job_id(id)});
    looks.emplace_back(storage::parents_request{job_id(id)});
  }
  for (const auto& resource : {"mutex:m", "mutex:n", "semaphore:s"})
    looks.emplace_back(storage::throttler_request{resource});
  for (const auto& line : limiter_lines)
    looks.emplace_back(storage::throttler_request{line});
  for (const auto& limiter : limiter_names)
    looks.emplace_back(storage::read_limiter_request{limiter});
  for (const auto& resource : lock_names)
    looks.emplace_back(storage::lock_request{storage::lock_request::verb::read, resource});
  return looks;
}

bool some_ended_together(world& w) {
  std::set<std::pair<job_state, time_point>> ends;
  for (const auto& j : list(w))
    if (j.finished_at && !ends.emplace(j.state, *j.finished_at).second) return true;
  return false;
}

// Another law: Redis answers every commit and every look as SQLite does beside it by the same clock, to the last word:
// both run the same scripts, so fences, places and versions are the same too. Only which of the jobs that ended in one
// instant are pruned is not promised, since Redis has its queues in any order: then all are.
void both_answer_alike(world& w, const program& p) {
  const auto opened = storage::open_store("sqlite::memory:", &w.clock);
  if (!opened) throw std::runtime_error(to_string(opened.error()));
  auto& beside = **opened;
  const auto ask_both = [&](const requests& batch) {
    auto answers = w.store().apply(batch);
    const auto others = beside.apply(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (const auto* e = std::get_if<error>(&answers.at(i)))
        throw std::runtime_error("Redis refused: " + to_string(*e));
      const auto by_redis = in_full(answers[i]), by_sqlite = in_full(others.at(i));
      if (by_redis != by_sqlite)
        throw std::runtime_error(
            cat("request ", i + 1, " of ", batch.size(), ", Redis answers\n", by_redis, "\nand SQLite\n", by_sqlite));
    }
    if (w.store().made_work() != beside.made_work()) throw std::runtime_error("they say differently who has work");
    return answers;
  };
  const auto serve_beside = [&] {
    const storage::request r = somebody_serves();
    beside.apply({&r, 1});
  };
  const auto looks = all_looks();
  every_few is_time_to_look(p);
  crowd people(w);
  serve_beside();
  const auto commit = [&](requests& batch, int) {
    auto* prunes = std::get_if<storage::prune_request>(&batch.back());
    if (prunes && (batch.size() > 1 || some_ended_together(w))) {
      for (auto* rule : {&prunes->retention.succeeded, &prunes->retention.failed, &prunes->retention.deleted})
        if (rule->age || rule->count) *rule = {std::nullopt, 0};
      prunes->limit = all_of_them;
    }
    const auto answers = ask_both(batch);
    for (std::size_t i = 0; i < batch.size(); ++i)
      people.remember(batch[i], answers[i]);
    if (is_time_to_look()) ask_both(looks);
  };
  run(people, p, commit, [&](const command& c) {
    serve_beside();
    if (c.what == verb::reopen) w.reopen();
    if (is_time_to_look()) ask_both(looks);
  });
  ask_both(looks);
}

// What a request that is asked again does: never anything, and it answers as before where it names what it is about.
// But a promote may owe something still; and a claim that got nothing, and ended what it met, may find who waited for
// it.
bool finds_more(const storage::request& r, const storage::answer& told, bool some_ended) {
  if (const auto* p = std::get_if<storage::promote_request>(&r))
    return p->limit < all_of_them || std::get<storage::promote_answer>(told).next_in == duration(0);
  if (const auto* e = std::get_if<storage::enqueue_answer>(&told))  // who was refused may be stored behind the others
    return std::any_of(e->each.begin(), e->each.end(), [](errc code) { return code != errc::none; });
  if (const auto* c = std::get_if<storage::claim_answer>(&told)) return some_ended && c->jobs.empty();
  if (const auto* s = std::get_if<storage::settle_answer>(&told)) return some_ended && s->next.jobs.empty();
  if (const auto* p = std::get_if<storage::prune_request>(&r)) return p->limit < all_of_them;
  return false;
}
bool repeats_its_answer(const storage::request& r) {
  // An update is carried out once, and its second asking is told so.
  if (std::holds_alternative<storage::update_limiter_request>(r)) return false;
  // Of two runs, one may be parked and then woken by what the other one gave back.
  if (const auto* t = std::get_if<storage::acquire_permits_request>(&r)) return t->runs.size() == 1;
  return !std::holds_alternative<storage::define_request>(r) &&
         !std::holds_alternative<storage::reconcile_request>(r) &&
         !std::holds_alternative<storage::promote_request>(r) && !std::holds_alternative<storage::prune_request>(r) &&
         !std::holds_alternative<storage::reap_request>(r);
}

std::uint64_t final_jobs(world& w) {
  std::uint64_t n = 0;
  for (const auto& q : queues(w))
    n += q.succeeded + q.failed + q.deleted;
  return n;
}

void repeats_change_nothing(world& w, const program& p) {
  crowd people(w);
  every_few is_time_to_look(p);
  int step = 0;
  for (const auto& c : p.steps) {
    ++step;
    people.pass_time(c);
    if (!crowd::asks(c)) continue;
    auto asked = people.requests(c);
    const auto request = std::move(asked.back());
    asked.pop_back();
    for (const auto& earlier : asked)
      people.ask(earlier);
    if (!is_time_to_look()) {
      people.ask(request);
      continue;
    }
    const auto ended_before = final_jobs(w);
    auto first = people.ask(request);
    if (finds_more(request, first, final_jobs(w) > ended_before)) continue;
    const auto before = model::look(w);
    auto again = people.ask(request);
    // Who asks again is told that it is so, and not that this changed it.
    if (auto* same = std::get_if<storage::change_answer>(&again))
      same->changed = std::get<storage::change_answer>(first).changed;
    if (auto* same = std::get_if<storage::change_jobs_answer>(&again))
      for (std::size_t i = 0; i < same->each.size(); ++i)
        same->each[i].changed = std::get<storage::change_jobs_answer>(first).each[i].changed;
    for (auto* one : {&first, &again})
      if (auto* stored = std::get_if<storage::enqueue_answer>(one)) stored->notes.clear();
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

// Whatever is said about runs that are no more, and about locks that were taken anew.
void zombies_change_nothing(world& w, const program& p) {
  crowd people(w);
  people.play(p);
  const auto everything = [&] { return model::look(w) + in_words(storage::answer(expired(w))); };
  const auto before = everything();
  for (const auto& [id, fences] : people.starts()) {
    const auto now = look(w, id).found;
    for (const auto old : fences) {
      if (now && now->state == job_state::processing && now->fence == old) continue;
      const storage::run_key run{job_id(id), old};
      std::vector<storage::request> words = {storage::renew_request{{run}, 30s},
                                             storage::progress_request{{{run, {0.5, "undead"}}}},
                                             storage::reap_request{{{run, 0, 30s, false}, {run, 1, 30s, false}}, 1}};
      for (const auto end : {how::succeeded, how::failed, how::removed, how::retry, how::given_back, how::deferred}) {
        storage::settlement s;
        s.run = run;
        s.end = end;
        s.cause = s.text = s.reason = "undead";
        words.emplace_back(storage::settle_request{{s}, {}});
      }
      words.emplace_back(
          storage::acquire_permits_request{{{run, {"mutex:m"}, true, true}, {run, {"mutex:m"}, false, false}}});
      storage::update_limiter_request update_limiter;  // a limiter that nobody looks at
      update_limiter.limiter = "custom:undead";
      update_limiter.version = limiter_record_of(w, update_limiter.limiter).version;
      update_limiter.from = w.clock.now();
      update_limiter.until = update_limiter.from + 1s;
      update_limiter.parks = {{run, limiter_names.back()}};
      update_limiter.let_in = {run};
      words.emplace_back(update_limiter);
      const auto told = w.store().apply(words);
      agree("stale_fence ", in_words(told.at(0)));
      agree("stale_fence ", in_words(told.at(1)));
      agree("stale_fence stale_fence ", in_words(told.at(2)));
      const bool in_line = now && now->state == job_state::throttled && now->fence == old;
      const auto answer = in_line ? cat("parked ", now->line, "; ") : std::string("stale; ");
      agree(answer + answer, in_words(told.at(told.size() - 2)));
      const auto& updated = std::get<storage::update_limiter_answer>(told.back());
      agree(answer, in_words(updated.parked.at(0)) + "; ");
      agree("stale_fence", std::string(name_of(updated.let_in.at(0))));
      agree(before, everything());
    }
  }
  for (const auto& [resource, fences] : people.locks()) {
    const auto now = ask(w, storage::lock_request{storage::lock_request::verb::read, resource}).now;
    // Of the last one the lease may be over without anybody having taken it: then it may still be renewed.
    for (const auto old : all_but_last(fences)) {
      agree("stale_fence", std::string(name_of(ask(w, renewing(resource, old)).code)));
      agree(now ? "stale_fence" : "none", std::string(name_of(ask(w, releasing(resource, old)).code)));
      agree(before, everything());
    }
  }
}

// One step of a window for a run, or for those who wait.
storage::update_limiter_answer step(world& w, const std::string& name, const std::vector<storage::run_key>& runs) {
  const auto told = update_limiter(w, step_of(limiter_record_of(w, name), name, w.clock.now(), runs));
  if (!told.updated) throw std::runtime_error("nobody else steps " + name + " and yet it is not swapped");
  return told;
}

// What the throttlers of a server do about lines that open. Whoever is behind the door may go.
void open_lines(world& w) {
  for (const auto& name : promote(w).open)
    while (name != limiter_names.back() && step(w, name, {}).woken > 0) {
    }
  storage::update_limiter_request r;
  r.limiter = limiter_names.back();
  r.version = limiter_record_of(w, r.limiter).version;
  r.from = w.clock.now();
  r.until = r.from + 1s;
  r.wakes = {{r.limiter, all_of_them}};
  update_limiter(w, r);
}

// One server that lives and knows all types ends everything, whatever state it finds. Each job needs some permits and
// a window.
void everything_ends(world& w, const program& p) {
  crowd people(w);
  people.play(p);
  for (const auto& queue : queue_names)
    pause(w, queue, false);
  const auto unfinished = [&] {
    const auto all = list(w);
    return std::any_of(all.begin(), all.end(), [](const job& j) { return !is_final(j.state); });
  };
  define(w, "semaphore:s", 1);
  for (std::size_t n = 0; n < 3; ++n)  // one that is there stays, since to change it would open its lines
    if (const auto& name = limiter_names[n]; limiter_record_of(w, name).definition.empty())
      define(w, window_definition(name, 0));
  const auto end = [&](const job& j, const names& has) {
    const auto which = static_cast<std::size_t>(j.id.value[0]);
    const auto taken = take(w, j, wishes[which % wishes.size()]);
    if (taken.starts_with("parked")) return;
    const auto& name = limiter_names[which % 3];
    if (std::find(has.begin(), has.end(), line_for(name, j.id)) == has.end() &&
        !step(w, name, {run_of(j)}).parked.empty())
      return;
    if (taken != "granted" || settle(w, j) != errc::none)
      throw std::runtime_error(cat("it could not end ", j.id.value, ", ", taken));
  };
  for (int day = 0; day < 60 && unfinished(); ++day) {
    w.clock.advance(24h);
    people.serve();
    work_off(w);
    job_query kept;  // whoever waits for ends that have come otherwise needs a person
    kept.state = job_state::awaiting;
    for (const auto& j : list(w, kept))
      if (explain(w, j.id.value).open_parents.empty()) remove(w, j.id.value);
    reap(w, expired(w).leases);
    open_lines(w);
    reconcile(w);
    for (const auto& queue : queue_names)  // until nothing is ready: of suspects each claim takes but one
      for (bool some = true; some;) {
        const auto got =
            claim(w, {.free = 9, .allow_suspect = true, .queue = queue, .server = "healthy", .types = "work mail"});
        some = !got.jobs.empty();
        for (const auto& one : got.jobs)
          end(one.job, one.admitted);
      }
  }
  if (unfinished()) throw std::runtime_error("still not all final:\n" + model::look(w));
}

// A store whose steps tell one end of a parent, where others tell eighty, and leave the rest to the next.
const version& with_small_steps() {
  static const version one = [] {
    auto text = storage::machine::current_text();
    replace(text, "max_resolved = 80", "max_resolved = 1");
    return version{{storage::machine::layout, text}, {}};
  }();
  return one;
}
struct small_steps_world : world {
  small_steps_world() : world("sqlite::memory:", false, &with_small_steps().known) {}
};

void stays_sound(world& w, const program& p) {
  crowd people(w);
  for (const auto& c : p.steps) {
    people.pass_time(c);
    if (crowd::asks(c))
      for (const auto& r : people.requests(c))
        people.ask(r);
    if (c.what == verb::prune || c.what == verb::audit) expect_sound(w);
  }
  everything_ends(w, {});
  expect_sound(w);
  storage::prune_request all;
  all.retention.succeeded.count = all.retention.failed.count = all.retention.deleted.count = 0;
  ask(w, all);
  expect_sound(w);
}

struct watched_world : world {
  watched_world() : watched_world(next_seed()) {}
  explicit watched_world(unsigned seed) : watched_world(std::make_unique<version>(watched_rules(seed))) {}
  explicit watched_world(std::unique_ptr<version> rules)
      : world("sqlite::memory:", false, &rules->known), kept_(std::move(rules)) {}
  static unsigned next_seed() {
    static unsigned seed = 0;
    return ++seed;
  }

private:
  std::unique_ptr<version> kept_;
};

int failed_calls = 0;
void leaves_nothing_behind(world& w, const program& p) {
  const auto is_over = [&](const std::string& why) {
    if (why.find(left_behind) != std::string::npos) throw std::runtime_error(why);
    ++failed_calls;
  };
  std::optional<crowd> people;
  for (const auto& c : p.steps) {
    try {
      if (!people) people.emplace(w);
      people->pass_time(c);
      if (!crowd::asks(c)) continue;
      for (const auto& r : people->requests(c)) {
        const auto told = w.store().apply({&r, 1}).at(0);
        if (const auto* e = std::get_if<error>(&told)) is_over(e->message);
        else people->remember(r, told);
      }
    } catch (const std::runtime_error& e) {
      is_over(e.what());
    }
  }
}

constexpr int programs = 200;
// Laws that a store holds whatever it answers, by one of so many programs.
constexpr int fewer = 5;

// New at each run, unless who runs it wants the same programs again: PROGRAM_SEED, a number.
std::uint32_t first_seed() {
  const char* wanted = std::getenv("PROGRAM_SEED");
  return wanted ? static_cast<std::uint32_t>(std::strtoul(wanted, nullptr, 10)) : std::random_device()();
}

void holds(const std::string& law, int connections, int one_of, const std::function<void(const program&)>& check) {
  constexpr int longest = 200;
  constexpr auto shrinking = 40s;
  rc::detail::Configuration config;
  config.testParams.seed =
      first_seed() + std::hash<std::string>()(law + Catch::getResultCapture().getCurrentTestName()) % 1'000'000;
  config.testParams.maxSuccess = programs;
  if (const char* wanted = std::getenv("RC_PARAMS")) config = rc::detail::configFromString(wanted, config);
  if (const char* most = std::getenv("PROGRAM_LIMIT"))
    config.testParams.maxSuccess = std::min(config.testParams.maxSuccess, std::atoi(most));
  const auto again =
      cat("RC_PARAMS=\"seed=", config.testParams.seed, " max_success=", config.testParams.maxSuccess, "\"");
  std::cout << law << ": " << again << std::endl;  // also of a run that is killed
  config.testParams.maxSuccess = (config.testParams.maxSuccess + one_of - 1) / one_of;
  rc::detail::TestMetadata about;
  about.id = about.description = law;
  rc::detail::TestListenerAdapter nobody;
  std::optional<steady_point> failed;
  std::string smallest;  // the last that failed
  const auto one = [&] {
    const auto drawn = *any_program(longest, connections);
    const auto now = std::chrono::steady_clock::now();
    if (failed && now > *failed + shrinking) return;  // what is found by now must do
    try {
      check(drawn);
    } catch (const std::exception& e) {
      if (!failed) failed = now;
      smallest = cat("the program", shown(drawn), "\n", e.what());
      throw;
    }
  };
  const auto result = rc::detail::checkTestable(one, about, config.testParams, nobody, config.reproduce);
  INFO(again);
  if (rc::detail::FailureResult failure; result.match(failure)) {
    rc::detail::Configuration alone;
    alone.reproduce[law] = failure.reproduce;
    UNSCOPED_INFO("the smallest alone: RC_PARAMS=\"" << rc::detail::configToMinimalString(alone) << "\"");
  }
  INFO((smallest.empty() ? shown(result) : smallest));
  REQUIRE(result.is<rc::detail::SuccessResult>());
}

// Each program in a new world.
template <class World>
void holds(const std::string& name, void (*law)(world&, const program&), int connections = 1, int one_of = 1) {
  holds(name, connections, one_of, [law](const program& p) {
    World w;
    law(w, p);
  });
}

}  // namespace

TEMPLATE_TEST_CASE("Random programs leave a store as they leave the model", "[contract]", sqlite_file_world,
                   sqlite_memory_world, redis_world) {
  holds<TestType>("model", one_goes_with_the_model);
}

TEMPLATE_TEST_CASE("Random programs through two connections leave a store as they leave the model", "[contract]",
                   sqlite_file_world, redis_world) {
  holds<TestType>("connections", two_go_with_the_model, 2, fewer);
}

TEMPLATE_TEST_CASE("Redis answers every step of a program as SQLite does beside it", "[contract]", redis_world) {
  holds<TestType>("beside", both_answer_alike);
}

TEMPLATE_TEST_CASE("Whatever a program asks twice changes nothing the second time", "[contract]", sqlite_file_world,
                   sqlite_memory_world, redis_world) {
  holds<TestType>("replay", repeats_change_nothing, 1, fewer);
}

TEMPLATE_TEST_CASE("Nothing that is said about an old run changes anything", "[contract]", sqlite_file_world,
                   sqlite_memory_world, redis_world) {
  holds<TestType>("zombies", zombies_change_nothing, 1, fewer);
}

TEMPLATE_TEST_CASE("From wherever a program has led, one healthy server ends everything", "[contract]",
                   sqlite_file_world, sqlite_memory_world, redis_world) {
  holds<TestType>("drain", everything_ends, 1, fewer);
}

TEST_CASE("Random programs leave a store sound whose steps tell few of those that wait", "[contract]") {
  holds<small_steps_world>("small steps", stays_sound);
}

TEST_CASE("No call leaves anything behind in the rules for the next, however it ends", "[contract]") {
  holds<watched_world>("left behind", leaves_nothing_behind, 1, fewer);
  CHECK(failed_calls > 0);
}
