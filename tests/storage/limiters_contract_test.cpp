// Cells and their lines, definitions, and what people are shown of throttlers.
#include "storage/contract.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string news = "dynamic_window:news";

// An update of what was just read, good from now on for ten seconds.
storage::update_limiter_request swapping(world& w, const std::string& id, const std::string& state = "{}") {
  const auto read = limiter_record_of(w, id);
  storage::update_limiter_request r;
  r.limiter = id;
  r.version = read.version;
  r.state = state;
  r.from = read.now;
  r.until = read.now + 10s;
  return r;
}

// Parks these in the line of a resource of the limiter.
void defer(world& w, const std::string& id, const std::vector<job>& all, const std::string& resource) {
  auto r = swapping(w, id);
  for (const auto& j : all)
    r.parks.push_back({run_of(j), resource});
  const auto told = update_limiter(w, r);
  REQUIRE(told.updated);
  REQUIRE(in_words(told.parked) == names(all.size(), "parked " + resource));
}
void defer(world& w, const std::string& id, const job& j) { defer(w, id, {j}, id); }

storage::update_limiter_answer wake(world& w, const std::string& id,
                                    std::vector<storage::update_limiter_request::wake> wakes) {
  auto r = swapping(w, id);
  r.wakes = std::move(wakes);
  return update_limiter(w, r);
}

storage::update_limiter_answer open_at(world& w, const std::string& id, const std::string& resource,
                                       std::optional<time_point> at) {
  auto r = swapping(w, id);
  r.next_checks.push_back({resource, at});
  return update_limiter(w, r);
}

std::string portrait(const storage::limiter_record& c) {
  std::string text = cat("version ", c.version, " state ", c.state, " definition ", c.definition);
  for (const auto& l : c.lines)
    text += cat(" [", l.resource, ' ', l.waiting, ']');
  return text;
}

std::string portrait(const storage::throttler_row& row) {
  return cat(row.resource, " held ", row.held, " waiting ", row.waiting, row.definition.empty() ? "" : " defined");
}
names portraits(const std::vector<storage::throttler_row>& rows) {
  names all;
  for (const auto& row : rows)
    all.push_back(portrait(row));
  return all;
}

std::vector<storage::throttler_row> first_behind(world& w, const std::string& after) {
  return w.ask<storage::throttlers_answer>(storage::throttlers_request{1, after}).throttlers;
}

}  // namespace

ON_EACH_STORE("A limiter has nothing in it at first") {
  auto read = limiter_record_of(w, window);
  CHECK(portrait(read) == "version 0 state  definition ");
  CHECK(read.now == w.clock.now());
  w.clock.advance(1s);
  REQUIRE(define(w, {.resource = window, .text = "{\"limit\":3}", .permits = {}, .config = ""}) == defined::added);
  read = limiter_record_of(w, window);
  CHECK(portrait(read) == "version 0 state  definition {\"limit\":3}");
  CHECK(read.now == w.clock.now());
  audit(w);
}

ON_EACH_STORE_AND_FILE("A limiter is swapped against the version that was read") {
  auto told = update_limiter(w, swapping(w, window, "one"));
  CHECK(told.updated);
  CHECK(portrait(told.limiter) == "version 1 state one definition ");
  CHECK(told.limiter.now == w.clock.now());
  CHECK(told.woken == 0);
  CHECK(told.parked.empty());
  CHECK_FALSE(w.store().made_work());
  auto old = swapping(w, window, "two");
  REQUIRE(update_limiter(w, old).updated);
  if (w.survives_reopen) w.reopen();
  CHECK(portrait(limiter_record_of(w, window)) == "version 2 state two definition ");
  CHECK(portrait(limiter_record_of(w, window + "w")) == "version 0 state  definition ");
  for (const std::uint64_t version : {0, 1, 3}) {
    old.version = version;
    old.state = "three";
    told = update_limiter(w, old);
    CHECK_FALSE(told.updated);
    CHECK(portrait(told.limiter) == "version 2 state two definition ");
  }
  CHECK(portrait(limiter_record_of(w, window)) == "version 2 state two definition ");
  audit(w);
}

ON_EACH_STORE_AND_FILE("A state is kept byte for byte") {
  const std::string state = GENERATE(as<std::string>(), "", "it's \"quoted\" größe", std::string("\0\1\xff\r\n", 5),
                                     std::string(100'000, 's'));
  REQUIRE(update_limiter(w, swapping(w, window, state)).limiter.state == state);
  if (w.survives_reopen) w.reopen();
  CHECK(limiter_record_of(w, window).state == state);
  CHECK(one_throttler(w, window).state == state);
}

ON_EACH_STORE("A state of more than a MiB is refused and changes nothing") {
  const std::string longest(storage::longest_state, 's');
  const auto a = started(w, "a");
  auto r = swapping(w, window, longest + 's');
  r.parks = {{run_of(a), window}};
  CHECK(refusal(w, r) == errc::too_large);
  CHECK(limiter_record_of(w, window).version == 0);
  CHECK(get(w, "a").state == job_state::processing);
  const std::vector<storage::request> some = {r, enqueue_of("beside")};
  const auto told = w.store().apply(some);
  CHECK(code_of(told.at(0)) == errc::too_large);
  CHECK(code_of(told.at(1)) == errc::none);
  CHECK(get(w, "beside").state == job_state::enqueued);
  r.state = longest;
  CHECK(update_limiter(w, r).limiter.state == longest);
  CHECK(get(w, "a").state == job_state::throttled);
  audit(w);
}

ON_EACH_STORE("An update is carried out only within the time it was made for") {
  auto r = swapping(w, window, "now");
  r.from = w.clock.now() + 10s;
  r.until = w.clock.now() + 20s;
  w.clock.advance(10s - 1us);
  CHECK_FALSE(update_limiter(w, r).updated);
  SECTION("from its first instant") {
    w.clock.advance(1us);
    CHECK(update_limiter(w, r).updated);
  }
  SECTION("to its last") {
    w.clock.advance(10s);
    CHECK(update_limiter(w, r).updated);
  }
  SECTION("and not at its end") {
    w.clock.advance(10s + 1us);
    const auto told = update_limiter(w, r);
    CHECK_FALSE(told.updated);
    CHECK(told.limiter.now == w.clock.now());
  }
  SECTION("and not when it is empty") {
    w.clock.advance(1us);
    r.until = r.from;
    CHECK_FALSE(update_limiter(w, r).updated);
  }
  audit(w);
}

ON_EACH_STORE("An update that is not carried out changes nothing") {
  defer(w, window, started(w, "waits"));
  const auto a = holding(w, "a", {m});
  auto r = swapping(w, window, "no");
  r.wakes.push_back({window, 1});
  r.parks.push_back({run_of(a), window});
  r.next_checks.push_back({window, w.clock.now() + 1s});
  SECTION("for its version") { ++r.version; }
  SECTION("for its time") { w.clock.advance(10s); }
  const auto before = portrait(w);
  const auto told = update_limiter(w, r);
  CHECK_FALSE(told.updated);
  CHECK(told.woken == 0);
  CHECK(portrait(told.limiter) == portrait(limiter_record_of(w, window)));
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  CHECK(holders(w, m) == names{"a"});
  CHECK_FALSE(one_throttler(w, window).about.next_at.has_value());
  CHECK(promote(w).open.empty());
  audit(w);
}

ON_EACH_STORE("An update parks those who are deferred") {
  const auto a = holding(w, "a", {m});
  parked(w, "next", {m});
  const auto b = started(w, "b");
  const auto old = started(w, "old");
  REQUIRE(settle(w, old) == errc::none);
  auto r = swapping(w, window, "full");
  r.parks = {{run_of(b), window}, {run_of(old), window}, {run_of(a), window}};
  const auto told = update_limiter(w, r);
  CHECK(w.store().made_work());  // for the one who gets the permit
  CHECK(told.updated);
  CHECK(in_words(told.parked) == names{"parked " + window, "stale", "parked " + window});
  CHECK(portrait(told.limiter) == "version 1 state full definition  [fixed_window:w 2]");
  CHECK(waiters(w, window) == names{"b", "a"});
  CHECK(holders(w, window).empty());
  CHECK(holders(w, m) == names{"next reserved"});
  const auto waits = get(w, "a");
  CHECK(waits.state == job_state::throttled);
  CHECK(waits.line == window);
  CHECK(waits.reason == "waits for " + window);
  CHECK(waits.attempt == 0);
  CHECK(waits.history.empty());
  CHECK(settle(w, a) == errc::stale_fence);
  CHECK(renew(w, a) == errc::stale_fence);
  CHECK(take(w, a, {m}).substr(0, 7) != "granted");
  CHECK_FALSE(update_limiter(w, r).updated);  // asked again
  CHECK(waiters(w, window) == names{"b", "a"});
  audit(w);
}

ON_EACH_STORE("An update wakes the oldest waiters whose queues run") {
  for (const auto& [id, queue] : {std::pair("a", "default"), {"b", "q"}, {"c", "default"}, {"d", "q"}, {"e", "q"}})
    defer(w, window, started(w, id, queue));
  SECTION("as many as it counts") {
    const auto told = wake(w, window, {{window, 3}});
    CHECK(w.store().made_work());
    CHECK(told.woken == 3);
    CHECK(portrait(told.limiter) == "version 6 state {} definition  [fixed_window:w 2]");
    CHECK(waiters(w, window) == names{"d", "e"});
    CHECK(get(w, "b").line == "front");
    CHECK(ids(claim(w, {.free = 9})) == names{"a", "c"});
    CHECK(ids(claim(w, {.free = 9, .queue = "q"})) == names{"b"});
  }
  SECTION("none when it counts none") {
    CHECK(wake(w, window, {{window, 0}}).woken == 0);
    CHECK(waiters(w, window).size() == 5);
  }
  SECTION("all when it counts more than there are") {
    CHECK(wake(w, window, {{window, 1'000'000'000}}).woken == 5);
    CHECK(waiters(w, window).empty());
  }
  SECTION("not those of a paused queue") {
    pause(w, "q");
    CHECK(portrait(limiter_record_of(w, window)) == "version 5 state {} definition  [fixed_window:w 2]");
    const auto told = wake(w, window, {{window, 9}});
    CHECK(told.woken == 2);
    CHECK(told.limiter.lines.empty());
    CHECK(waiters(w, window) == names{"b", "d", "e"});
    pause(w, "q", false);
    CHECK(portrait(limiter_record_of(w, window)) == "version 6 state {} definition  [fixed_window:w 3]");
  }
  SECTION("not those of a queue that nobody serves") {
    w.clock.advance(storage::served_for + 1us);
    beat(w, serving("s1", {"default:1"}));
    CHECK(wake(w, window, {{window, 9}}).woken == 2);
    CHECK(waiters(w, window) == names{"b", "d", "e"});
  }
  audit(w);
}

ON_EACH_STORE("Nobody but an update wakes those who wait for a slot") {
  const auto a = started(w, "a");
  defer(w, window, a);
  CHECK(reconcile(w) == 0);
  REQUIRE(settle(w, started(w, "b")) == errc::none);
  promote(w);
  CHECK(define(w, {.resource = window, .text = "{}", .permits = {}, .config = ""}) == defined::added);
  CHECK(waiters(w, window) == names{"a"});
  CHECK(requeue(w, "a").code == errc::illegal_transition);
  CHECK(remove(w, "a").code == errc::none);
  CHECK(waiters(w, window).empty());
  CHECK(limiter_record_of(w, window).lines.empty());
  audit(w);
}

ON_EACH_STORE("A slot is good until its end and for one run") {
  defer(w, window, started(w, "a"));
  REQUIRE(wake(w, window, {{window, 1}}).woken == 1);  // for ten seconds
  SECTION("claimed in time") {
    w.clock.advance(10s - 1us);
    const auto request = claiming({});
    const auto got = ask(w, request);
    REQUIRE(ids(got) == names{"a"});
    CHECK(admitted(got) == std::vector<names>{{window}});
    CHECK(admitted(ask(w, request)) == std::vector<names>{{window}});
    CHECK(holders(w, window).empty());
    REQUIRE(settle(w, got.jobs[0].job, how::retry) == errc::none);
    const auto again = claim(w);
    REQUIRE(ids(again) == names{"a"});
    CHECK(admitted(again) == std::vector<names>{{}});
  }
  SECTION("claimed at its end") {
    w.clock.advance(10s);
    const auto got = claim(w);
    REQUIRE(ids(got) == names{"a"});
    CHECK(admitted(got) == std::vector<names>{{}});
    defer(w, window, got.jobs[0].job);
    CHECK(waiters(w, window) == names{"a"});
  }
  audit(w);
}

ON_EACH_STORE("Who was woken for a slot that lapsed keeps its number") {
  defer(w, window, started(w, "a"));
  defer(w, window, started(w, "b"));
  REQUIRE(wake(w, window, {{window, 1}}).woken == 1);
  w.clock.advance(10s);
  const auto a = claim_one(w);
  REQUIRE(a.id.value == "a");
  defer(w, window, a);
  CHECK(waiters(w, window) == names{"a", "b"});
  audit(w);
}

ON_EACH_STORE("A job has its reserved permit and its slot when it is claimed") {
  const auto a = holding(w, "a", {m}, {.strict = true});
  defer(w, window, a);
  CHECK(holders(w, m) == names{"a kept"});  // strict, so it belongs to the job
  REQUIRE(wake(w, window, {{window, 1}}).woken == 1);
  const auto got = claim(w);
  REQUIRE(ids(got) == names{"a"});
  auto admitted = got.jobs.at(0).admitted;
  std::sort(admitted.begin(), admitted.end());
  CHECK(admitted == names{window, m});
  audit(w);
}

ON_EACH_STORE("A permit is given back while its job waits for a slot and kept after three failed wakeups") {
  auto a = started(w, "a");
  for (std::uint32_t failed = 0; failed <= storage::max_failed_wakeups; ++failed) {
    INFO(failed);
    if (failed > 0) {
      REQUIRE(wake(w, window, {{window, 1}}).woken == 1);
      w.clock.advance(10s);
      a = claim_one(w);
    }
    CHECK(holders(w, m).empty());
    REQUIRE(take(w, a, {m}) == "granted");
    defer(w, window, a);
  }
  CHECK(holders(w, m) == names{"a kept"});
  const auto b = parked(w, "b", {m});
  audit(w);
  SECTION("and then it comes back with it") {
    REQUIRE(wake(w, window, {{window, 1}}).woken == 1);
    const auto got = claim(w);
    REQUIRE(ids(got) == names{"a"});
    auto admitted = got.jobs.at(0).admitted;
    std::sort(admitted.begin(), admitted.end());
    CHECK(admitted == names{window, m});
    REQUIRE(settle(w, got.jobs[0].job) == errc::none);
  }
  SECTION("and goes on when it is deleted") { REQUIRE(remove(w, "a").code == errc::none); }
  CHECK(holders(w, m) == names{"b reserved"});
  audit(w);
}

ON_EACH_STORE("A line whose queue is paused when it opens is told of once the queue runs again") {
  const auto a = started(w, "a");
  auto r = swapping(w, window, "one");
  r.parks = {{{a.id, a.fence}, window}};
  r.next_checks = {{window, w.clock.now() + 5s}};
  REQUIRE(update_limiter(w, r).updated);
  pause(w, "default", true);
  w.clock.advance(6s);
  CHECK(promote(w).open.empty());
  auto nobody = swapping(w, window, "two");
  nobody.next_checks = {{window, std::nullopt}};  // of a limiter that saw nobody to wake
  nobody.until = w.clock.now() + 3s;
  REQUIRE(update_limiter(w, nobody).updated);
  pause(w, "default", false);
  CHECK(promote(w).open.empty());
  w.clock.advance(4s);
  CHECK(promote(w).open == names{window});
  REQUIRE(remove(w, "a").code == errc::none);
  CHECK(promote(w).open.empty());  // with its last waiter
  audit(w);
}

ON_EACH_STORE("A line in which an update leaves somebody of whom it did not know is looked at again") {
  defer(w, window, started(w, "old", "q"));
  defer(w, window, started(w, "young"));
  pause(w, "q");
  auto r = swapping(w, window);
  REQUIRE(limiter_record_of(w, window).lines.at(0).waiting == 1);
  pause(w, "q", false);
  r.wakes = {{window, 1}};  // the only one that it saw
  r.next_checks = {{window, std::nullopt}};
  REQUIRE(update_limiter(w, r).woken == 1);
  CHECK(waiters(w, window) == names{"young"});
  CHECK(promote(w).open == names{window});
  audit(w);
}

ON_EACH_STORE("What was decided before a window was removed is not carried out on one that is defined anew") {
  const bool written = GENERATE(false, true);
  REQUIRE(define(w, {window, "{\"limit\":2}", std::nullopt, ""}) == defined::added);
  if (written) REQUIRE(update_limiter(w, swapping(w, window, "one")).updated);
  const auto decided = swapping(w, window, "two");
  REQUIRE(undefine(w, window).code == errc::none);
  const auto gone = limiter_record_of(w, window);
  CHECK(gone.state.empty());
  CHECK(gone.definition.empty());
  CHECK(undefine(w, window).code == errc::none);
  CHECK(limiter_record_of(w, window).version == gone.version);  // it was gone already
  REQUIRE(define(w, {window, "{\"limit\":1}", std::nullopt, ""}) == defined::added);
  CHECK_FALSE(update_limiter(w, decided).updated);
  auto again = swapping(w, window, "its first");
  CHECK(again.version != decided.version);
  CHECK(update_limiter(w, again).updated);
  CHECK_FALSE(update_limiter(w, decided).updated);
  CHECK(limiter_record_of(w, window).state == "its first");
  audit(w);
}

ON_EACH_STORE("Whoever looks at the line of a key is shown the state of its window") {
  defer(w, news, {started(w, "a")}, news + "/k");
  REQUIRE(update_limiter(w, swapping(w, news, "counts")).updated);
  CHECK(one_throttler(w, news + "/k").state == "counts");
  CHECK(explain(w, "a").waits_for.state == "counts");
}

ON_EACH_STORE("Lines that stand still hide none that opens from a promotion") {
  for (const auto* id : {"a", "b"}) {
    const std::string still = cat("fixed_window:", id);
    defer(w, still, started(w, id, "q"));
    REQUIRE(open_at(w, still, still, w.clock.now() + 1s).updated);
  }
  defer(w, window, started(w, "c"));
  REQUIRE(open_at(w, window, window, w.clock.now() + 2s).updated);
  defer(w, news, started(w, "d"));
  REQUIRE(open_at(w, news, news, w.clock.now() + 2s + 500ms).updated);
  pause(w, "q");
  w.clock.advance(1s);
  CHECK(promote(w, 1).open.empty());
  CHECK(promote(w, 1).next_in == duration(1s));
  w.clock.advance(1s);
  CHECK(promote(w, 1).open == names{window});
  CHECK(promote(w, 1).next_in == duration(500ms));
  audit(w);
}

ON_EACH_STORE(
    "A line that opens while nobody serves its queue has no next check until a sweep finds its queue served") {
  defer(w, window, started(w, "a"));
  REQUIRE(open_at(w, window, window, w.clock.now() + 1h).updated);
  w.clock.advance(2h);
  const auto told = promote(w);
  CHECK(told.open.empty());
  CHECK_FALSE(told.next_in.has_value());
  CHECK_FALSE(one_throttler(w, window).about.next_at.has_value());
  CHECK(reconcile(w) == 0);
  CHECK(promote(w).open.empty());
  beat(w, serving("s1", {"default:1"}));
  CHECK(reconcile(w) == 0);
  CHECK(w.store().made_work());
  CHECK(one_throttler(w, window).about.next_at == w.clock.now());
  CHECK(promote(w).open == names{window});
  reconcile(w);
  CHECK_FALSE(w.store().made_work());
  audit(w);
}

ON_EACH_STORE("A line whose queue was paused when it opened is told of as soon as its queue goes on") {
  defer(w, news, {started(w, "a", "q")}, news + "/k");
  defer(w, window, started(w, "b"));
  REQUIRE(open_at(w, news, news + "/k", w.clock.now() + 1s).updated);
  pause(w, "q");
  w.clock.advance(2s);
  CHECK(promote(w).open.empty());
  CHECK_FALSE(one_throttler(w, news + "/k").about.next_at.has_value());
  pause(w, "q", false);
  CHECK(promote(w).open == names{news});  // the other line is not of this queue
  audit(w);
}

ON_EACH_STORE("A sweep finds a line that nobody looks at and leaves an opening that is still to come") {
  defer(w, news, {started(w, "a")}, news + "/k");  // no next check comes with it
  defer(w, window, started(w, "b"));
  REQUIRE(open_at(w, window, window, w.clock.now() + 5s).updated);
  CHECK(promote(w).open.empty());
  CHECK(reconcile(w) == 0);
  CHECK(w.store().made_work());
  const auto told = promote(w);
  CHECK(told.open == names{news});
  CHECK(one_throttler(w, window).about.next_at == w.clock.now() + 5s);
  audit(w);
}

TEMPLATE_TEST_CASE("However many lines stand still one that opens is told of and so are they when their queue runs",
                   "[contract]", harmed_file_world, harmed_redis_world) {
  constexpr int lines = 100'000, records_read = 10'000;  // in one step
  TestType w;
  for (int n = 0; n < lines;) {
    std::vector<names> some;
    for (const int end = n + records_read; n < end; ++n) {
      const auto still = cat("fixed_window:still-", n);
      some.push_back({"SADD", "waits:" + still, "silent"});
      some.push_back({"ZADD", "waiting", "0", still});
      some.push_back({"ZADD", "next_checks", std::to_string(micros(w.clock.now() - 1s)), still});
    }
    w.commands(some);
  }
  defer(w, window, started(w, "live"));
  REQUIRE(open_at(w, window, window, w.clock.now()).updated);
  for (int step = 0; step < lines / records_read; ++step) {
    const auto told = promote(w);
    REQUIRE(told.open.empty());
    REQUIRE(told.next_in == duration(0));  // it goes on at once
  }
  CHECK(promote(w).open == names{window});
  CHECK(promote(w).next_in == storage::recheck_interval);
  CHECK(w.command({"ZCARD", "next_checks"}) == "1");
  beat(w, serving("s1", {"silent:1"}));
  reconcile(w);
  CHECK(w.command({"ZCARD", "next_checks"}) == std::to_string(lines + 1));
  CHECK(promote(w).open.size() == 1'000);
}

ON_EACH_STORE("An update tells who of those it lets in may run no more") {
  const auto runs = started(w, "a");
  const auto waits = started(w, "b");
  defer(w, window, waits);
  auto r = swapping(w, window, "two");
  r.let_in = {{runs.id, runs.fence}, {waits.id, waits.fence}, {job_id("nobody"), fence{1}}, {runs.id, fence{0}}};
  const auto told = update_limiter(w, r);
  REQUIRE(told.updated);
  CHECK(told.let_in == std::vector{errc::none, errc::stale_fence, errc::stale_fence, errc::stale_fence});
  audit(w);
}

ON_EACH_STORE("Nothing is kept in the line of a custom throttler however often a job was woken") {
  const std::string raw = "custom:door";
  auto a = started(w, "a");
  for (std::uint32_t failed = 0; failed <= storage::max_failed_wakeups + 1; ++failed) {
    if (failed > 0) {
      REQUIRE(wake(w, raw, {{raw, 1}}).woken == 1);
      a = claim_one(w);
    }
    REQUIRE(take(w, a, {m}) == "granted");
    defer(w, raw, a);
    CHECK(holders(w, m).empty());
  }
  audit(w);
}

ON_EACH_STORE("A dynamic window has a limiter and a line for each of its keys") {
  const auto key = [](const std::string& k) { return news + "/" + k; };
  const auto put_in = [&](const std::string& id, const std::string& resource, const std::string& queue = "default") {
    defer(w, news, {started(w, id, queue)}, resource);
  };
  put_in("a", key("tenant:7"));
  put_in("b", key("tenant:10"));
  put_in("c", key("tenant:7"));
  put_in("d", key("it's/größe"), "q");
  defer(w, news + "2", {started(w, "e")}, news + "2/tenant:1");
  defer(w, news + "-more", {started(w, "f")}, news + "-more");
  defer(w, "dynamic_window:new", {started(w, "g")}, "dynamic_window:new/s");
  CHECK(portrait(limiter_record_of(w, news)) == cat("version 4 state {} definition  [", key("it's/größe"), " 1] [",
                                                    key("tenant:10"), " 1] [", key("tenant:7"), " 2]"));
  CHECK(portrait(limiter_record_of(w, "dynamic_window:new")) ==
        "version 1 state {} definition  [dynamic_window:new/s 1]");
  pause(w, "q");
  CHECK(limiter_record_of(w, news).lines.size() == 2);
  const auto told = wake(w, news, {{key("it's/größe"), 5}, {key("tenant:10"), 0}, {key("tenant:7"), 1}, {key("x"), 3}});
  CHECK(told.woken == 1);
  CHECK(waiters(w, key("tenant:7")) == names{"c"});
  const auto got = claim(w, {.free = 9});
  REQUIRE(ids(got) == names{"a"});
  CHECK(admitted(got) == std::vector<names>{{key("tenant:7")}});
  CHECK(one_throttler(w, key("tenant:7")).about.waiting == 1);
  CHECK(limiter_record_of(w, key("tenant:7")).version == 0);  // only the window has one
  audit(w);
}

ON_EACH_STORE_AND_FILE("A promotion tells which limiters may be looked at again until an update says otherwise") {
  defer(w, window, started(w, "a"));
  REQUIRE(open_at(w, window, window, w.clock.now() + 10s).updated);
  CHECK(one_throttler(w, window).about.next_at == w.clock.now() + 10s);
  auto told = promote(w);
  CHECK(told.open.empty());
  CHECK(told.next_in == duration(10s));
  w.clock.advance(10s - 1us);
  CHECK(promote(w).open.empty());
  CHECK(promote(w).next_in == duration(1us));
  w.clock.advance(1us);
  for (int i = 0; i < 3; ++i) {
    told = promote(w);
    CHECK(told.open == names{window});
    CHECK(told.moved == 0);
    CHECK((!told.next_in || *told.next_in > duration(0)));
    CHECK(waiters(w, window) == names{"a"});
    if (w.survives_reopen) w.reopen();
  }
  w.clock.advance(1h);
  CHECK(promote(w).open.empty());  // nobody serves its queue, and nobody could be woken
  beat(w, serving("s1", {"default:1"}));
  reconcile(w);
  CHECK(promote(w).open == names{window});
  SECTION("moved on") {
    REQUIRE(open_at(w, window, window, w.clock.now() + 5s).updated);
    told = promote(w);
    CHECK(told.open.empty());
    CHECK(told.next_in == duration(5s));
    w.clock.advance(5s);
    CHECK(promote(w).open == names{window});
  }
  SECTION("moved near") {
    REQUIRE(open_at(w, window, window, w.clock.now() + 1h).updated);
    REQUIRE(open_at(w, window, window, w.clock.now() + 1s).updated);
    CHECK(promote(w).next_in == duration(1s));
  }
  SECTION("taken back") {
    REQUIRE(wake(w, window, {{window, 1}}).woken == 1);
    REQUIRE(open_at(w, window, window, w.clock.now()).updated);
    REQUIRE(open_at(w, window, window, {}).updated);
    told = promote(w);
    CHECK(told.open.empty());
    CHECK_FALSE(told.next_in.has_value());
    CHECK_FALSE(one_throttler(w, window).about.next_at.has_value());
  }
  audit(w);
}

ON_EACH_STORE("A line in which nobody waits keeps no next check") {
  defer(w, window, started(w, "a"));
  auto decided = swapping(w, window);
  decided.next_checks = {{window, w.clock.now() + 1s}};
  REQUIRE(remove(w, "a").code == errc::none);  // after the look and before the update
  REQUIRE(update_limiter(w, decided).updated);
  w.clock.advance(1h);
  CHECK(promote(w).open.empty());
  audit(w);
}

ON_EACH_STORE("A promotion tells of the first of what is due and what opens") {
  defer(w, window, started(w, "a"));
  REQUIRE(open_at(w, window, window, w.clock.now() + 10s).updated);
  REQUIRE(put(w, {.id = "later", .delay = 20s}) == errc::none);
  CHECK(promote(w).next_in == duration(10s));
  REQUIRE(put(w, {.id = "sooner", .delay = 5s}) == errc::none);
  CHECK(promote(w).next_in == duration(5s));
  w.clock.advance(20s);
  const auto told = promote(w, 1);
  CHECK(told.moved == 1);
  CHECK(told.open == names{window});
  CHECK(told.next_in == duration(0));  // for the other job
  CHECK(promote(w).moved == 1);
  audit(w);
}

ON_EACH_STORE("A limiter whose keys open is named once") {
  names keys;
  for (const auto* k : {"a", "b", "c"}) {
    keys.push_back(news + "/" + k);
    defer(w, news, {started(w, k)}, keys.back());
  }
  defer(w, window, started(w, "w"));
  for (std::size_t i = 0; i < keys.size(); ++i)
    REQUIRE(open_at(w, news, keys[i], w.clock.now() + 1s * static_cast<int>(i + 1)).updated);
  REQUIRE(open_at(w, window, window, w.clock.now() + 2s).updated);
  const auto open = [&] {
    auto limiters = promote(w).open;
    std::sort(limiters.begin(), limiters.end());
    return limiters;
  };
  CHECK(promote(w).next_in == duration(1s));
  w.clock.advance(1s);
  CHECK(open() == names{news});
  w.clock.advance(2s);
  CHECK(open() == names{news, window});
  REQUIRE(open_at(w, news, keys[0], w.clock.now() + 1h).updated);
  CHECK(open() == names{news, window});
  auto r = swapping(w, news);
  r.next_checks = {{keys[1], w.clock.now() + 1h}, {keys[2], w.clock.now() + 1s}};
  REQUIRE(update_limiter(w, r).updated);
  CHECK(open() == names{window});
  audit(w);
}

ON_EACH_STORE_AND_FILE("A definition is added then changed and told of") {
  storage::define_request r{"semaphore:s", "{\"limit\":2}", 2, ""};
  CHECK(define(w, r) == defined::added);
  CHECK(define(w, r) == defined::unchanged);
  if (w.survives_reopen) w.reopen();
  CHECK(define(w, r) == defined::unchanged);
  CHECK(one_throttler(w, r.resource).about.definition == r.text);
  r.text = "it's \"größe\"";
  CHECK(define(w, r) == defined::changed);
  CHECK(one_throttler(w, r.resource).about.definition == r.text);
  r.permits = 3;
  r.text = "{\"limit\":3}";
  CHECK(define(w, r) == defined::changed);
  for (const auto* id : {"a", "b", "c"})
    holding(w, id, {r.resource});
  CHECK(undefine(w, r.resource).code == errc::illegal_transition);
  audit(w);
}

ON_EACH_STORE("Who defines is told what was defined before and whom a higher limit woke") {
  const auto defining = [&](std::uint64_t permits, const std::string& config = {}) {
    const auto told = w.ask<storage::define_answer>(
        storage::define_request{"semaphore:s", cat("{\"limit\":", permits, "}"), permits, config});
    return cat(told.before, " woke ", told.woken);
  };
  CHECK(defining(1, "file") == " woke 0");
  CHECK(one_throttler(w, "semaphore:s").config == "file");
  holding(w, "a", {"semaphore:s"});
  for (const auto* id : {"b", "c", "d"})
    parked(w, id, {"semaphore:s"});
  CHECK(defining(3) == "{\"limit\":1} woke 2");
  CHECK(defining(3) == "{\"limit\":3} woke 0");
  CHECK(defining(9, "file") == "{\"limit\":3} woke 0");  // it stays
  CHECK(one_throttler(w, "semaphore:s").config == "file");
  CHECK(one_throttler(w, "semaphore:s").about.waiting == 1);
  CHECK(defining(2, "another file") == "{\"limit\":3} woke 0");
  CHECK(one_throttler(w, "semaphore:s").config == "another file");
  CHECK(one_throttler(w, "semaphore:never").config.empty());
  audit(w);
}

ON_EACH_STORE("What was decided by an old definition is not carried out") {
  for (const bool written : {false, true}) {
    const std::string name = written ? "fixed_window:written" : "fixed_window:new";
    REQUIRE(define(w, {name, "{\"limit\":2}", std::nullopt, ""}) == defined::added);
    if (written) REQUIRE(update_limiter(w, swapping(w, name, "one")).updated);
    const auto decided = swapping(w, name, "two");
    REQUIRE(define(w, {name, "{\"limit\":2}", std::nullopt, "a file"}) == defined::unchanged);
    CHECK(limiter_record_of(w, name).version == decided.version);
    REQUIRE(define(w, {name, "{\"limit\":1}", std::nullopt, ""}) == defined::changed);
    const auto told = update_limiter(w, decided);
    CHECK_FALSE(told.updated);
    CHECK(told.limiter.state == (written ? "one" : ""));
    CHECK(update_limiter(w, swapping(w, name, "three")).updated);
  }
  audit(w);
}

ON_EACH_STORE_AND_FILE("Configuration changes a definition only when its own text is another one") {
  const storage::define_request first{"semaphore:s", "{\"limit\":2}", 2, "limit = 2"};
  const storage::define_request by_hand{"semaphore:s", "{\"limit\":5}", 5, ""};
  const storage::define_request second{"semaphore:s", "{\"limit\":3}", 3, "limit = 3"};
  CHECK(define(w, first) == defined::added);
  CHECK(define(w, first) == defined::unchanged);
  CHECK(define(w, by_hand) == defined::changed);
  CHECK(define(w, first) == defined::unchanged);
  CHECK(one_throttler(w, "semaphore:s").about.definition == by_hand.text);
  if (w.survives_reopen) w.reopen();
  CHECK(define(w, first) == defined::unchanged);
  CHECK(define(w, second) == defined::changed);
  CHECK(one_throttler(w, "semaphore:s").about.definition == second.text);
  CHECK(define(w, second) == defined::unchanged);
  CHECK(define(w, first) == defined::changed);  // back again
  for (const auto* id : {"a", "b"})
    holding(w, id, {"semaphore:s"});
  CHECK(take(w, started(w, "c"), {"semaphore:s"}) == "parked semaphore:s");
  audit(w);
}

ON_EACH_STORE("What is in use is not removed") {
  CHECK(undefine(w, "semaphore:s").code == errc::none);
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  const auto refused = [&](const std::string& resource) {
    const auto told = undefine(w, resource);
    CHECK(told.message.find(resource) != std::string::npos);
    return told.code == errc::illegal_transition;
  };
  const auto a = holding(w, "a", {"semaphore:s"});
  CHECK(refused("semaphore:s"));
  parked(w, "b", {"semaphore:s"}, "q");
  CHECK(refused("semaphore:s"));
  pause(w, "q");
  REQUIRE(settle(w, a) == errc::none);
  REQUIRE(holders(w, "semaphore:s").empty());
  CHECK(refused("semaphore:s"));  // waited for
  pause(w, "q", false);
  reconcile(w);
  REQUIRE(holders(w, "semaphore:s") == names{"b reserved"});
  CHECK(refused("semaphore:s"));
  CHECK(one_throttler(w, "semaphore:s").about.definition == "{\"limit\":1}");
  REQUIRE(settle(w, claim_one(w, {.queue = "q"})) == errc::none);
  CHECK(undefine(w, "semaphore:s").code == errc::none);
  CHECK(undefine(w, "semaphore:s").code == errc::none);
  CHECK(take(w, started(w, "c"), {"semaphore:s"}) == "undefined semaphore:s");
  CHECK(all_throttlers(w).empty());
  CHECK(define(w, "semaphore:s", 1) == defined::added);
  audit(w);
}

ON_EACH_STORE("A window with waiters is not removed") {
  REQUIRE(define(w, {.resource = news, .text = "{}", .permits = {}, .config = ""}) == defined::added);
  defer(w, news, {started(w, "a")}, news + "/k");
  CHECK(undefine(w, news).code == errc::illegal_transition);
  CHECK(one_throttler(w, news).about.definition == "{}");
  REQUIRE(remove(w, "a").code == errc::none);
  CHECK(undefine(w, news).code == errc::none);
  CHECK(limiter_record_of(w, news).definition.empty());
  audit(w);
}

ON_EACH_STORE("Throttlers are listed by name page by page") {
  CHECK(all_throttlers(w).empty());
  REQUIRE(define(w, "semaphore:s", 2) == defined::added);
  REQUIRE(define(w, "semaphore:a", 9) == defined::added);
  REQUIRE(define(w, {.resource = window, .text = "{}", .permits = {}, .config = ""}) == defined::added);
  const auto a = holding(w, "a", {"semaphore:s"});
  holding(w, "b", {m, "semaphore:s"});
  for (const auto* id : {"c", "d", "e"})
    parked(w, id, {"semaphore:s"});
  parked(w, "f", {m});
  defer(w, window, started(w, "g"));
  defer(w, news, {started(w, "h")}, news + "/k");
  REQUIRE(settle(w, a) == errc::none);
  REQUIRE(open_at(w, window, window, w.clock.now() + 7s).updated);
  const names expected = {news + "/k held 0 waiting 1", window + " held 0 waiting 1 defined", m + " held 1 waiting 1",
                          "semaphore:a held 0 waiting 0 defined", "semaphore:s held 2 waiting 2 defined"};
  for (const std::uint32_t limit : {1u, 2u, 4u, 5u, 200u}) {
    auto rows = all_throttlers(w, limit);
    rows.erase(std::remove_if(rows.begin(), rows.end(), [](const auto& row) { return row.resource == news; }),
               rows.end());  // it has a limiter, which may be told of
    CHECK(portraits(rows) == expected);
    CHECK(rows.at(1).next_at == w.clock.now() + 7s);
    CHECK_FALSE(rows.at(2).next_at.has_value());
  }
  const auto from = [&](const std::string& after) { return portraits(first_behind(w, after)); };
  CHECK(from("mutex:") == names{expected[2]});
  CHECK(from(m) == names{expected[3]});
  CHECK(from("semaphore:b") == names{expected[4]});
  CHECK(from("semaphore:s").empty());
  audit(w);
}

ON_EACH_STORE("One throttler is shown with the first of its holders and waiters") {
  auto told = one_throttler(w, "semaphore:s");
  CHECK(portrait(told.about) == "semaphore:s held 0 waiting 0");
  CHECK(told.holders.empty());
  CHECK(told.waiters.empty());
  CHECK(told.state.empty());
  REQUIRE(define(w, "semaphore:s", 3) == defined::added);
  std::vector<job> all;
  const auto began = w.clock.now();
  for (const auto* id : {"z", "b", "a"}) {
    all.push_back(holding(w, id, {"semaphore:s"}));
    w.clock.advance(1s);
  }
  for (const auto* id : {"w3", "w1", "w2"})
    parked(w, id, {"semaphore:s"});
  REQUIRE(settle(w, all[0]) == errc::none);
  told = one_throttler(w, "semaphore:s");
  CHECK(portrait(told.about) == "semaphore:s held 3 waiting 2 defined");
  REQUIRE(in_words(told.holders) == names{"b", "a", "w3 reserved"});
  CHECK(told.holders[0].fence == all[1].fence);
  CHECK(told.holders[0].since == began + 1s);
  CHECK(told.holders[1].since == began + 2s);
  CHECK(told.holders[2].since == w.clock.now());
  CHECK(told.holders[2].fence == fence{0});
  CHECK(told.waiters == std::vector{job_id("w1"), job_id("w2")});
  told = one_throttler(w, "semaphore:s", 1);
  CHECK(told.about.held == 3);
  CHECK(in_words(told.holders) == names{"b"});
  CHECK(told.waiters == std::vector{job_id("w1")});
  audit(w);
}

ON_EACH_STORE("Those before a job are counted up to ten thousand") {
  const auto last = storage::max_counted + 5;
  const auto id = [](std::uint64_t n) { return cat("j", n); };
  for (std::uint64_t n = 0; n <= last;) {
    names some;
    while (some.size() < 1'000 && n <= last)
      some.push_back(id(n++));
    put_all(w, some);
  }
  CHECK(explain(w, id(7)).before == 7);
  CHECK(explain(w, id(storage::max_counted)).before == storage::max_counted);
  CHECK(explain(w, id(last)).before == storage::max_counted + 1);
  // The first gives them all its permit to wait for.
  REQUIRE(take(w, claim_one(w), {m}) == "granted");
  while (claim(w, {.permits = {{"work", {{m}, true}}}}).jobs.empty() && counts(w).enqueued > 0) {
  }
  REQUIRE(counts(w).throttled == last);
  CHECK(explain(w, id(1)).before == 0);
  CHECK(explain(w, id(storage::max_counted + 1)).before == storage::max_counted);
  CHECK(explain(w, id(last)).before == storage::max_counted + 1);
}

ON_EACH_STORE("Of a waiting job is told what it waits for") {
  CHECK(explain(w, "nobody").code == errc::not_found);
  CHECK_FALSE(explain(w, "nobody").found.has_value());
  const auto a = holding(w, "a", {m});
  for (const auto* id : {"b", "c", "d"})
    parked(w, id, {m});
  parked(w, "q1", {m}, "q");
  put_all(w, {"e", "f", "g"});
  SECTION("throttled") {
    const auto before = portrait(w);
    auto told = explain(w, "d");
    REQUIRE(told.found.has_value());
    CHECK(told.code == errc::none);
    CHECK(portrait(*told.found) == portrait(get(w, "d")));
    CHECK(told.before == 2);
    CHECK(told.running == 1);
    CHECK(portrait(told.waits_for.about) == m + " held 1 waiting 4");
    CHECK(in_words(told.waits_for.holders) == names{"a"});
    CHECK(told.waits_for.waiters.at(0).value == "b");
    CHECK(explain(w, "b").before == 0);
    told = explain(w, "q1");
    CHECK(told.before == 3);
    CHECK(told.running == 0);
    CHECK(portrait(w) == before);
    CHECK_FALSE(w.store().made_work());
  }
  SECTION("for a slot") {
    REQUIRE(claim(w, {.free = 2}).jobs.size() == 2);
    defer(w, window, claim_one(w));
    REQUIRE(open_at(w, window, window, w.clock.now() + 7s).updated);
    const auto told = explain(w, "g");
    CHECK(told.before == 0);
    CHECK(told.running == 3);
    CHECK(told.waits_for.about.resource == window);
    CHECK(told.waits_for.about.next_at == w.clock.now() + 7s);
    CHECK(told.waits_for.state == "{}");
  }
  SECTION("ready") {
    CHECK(explain(w, "e").before == 0);
    CHECK(explain(w, "g").before == 2);
    CHECK(explain(w, "g").running == 1);
    CHECK(explain(w, "g").waits_for.about.resource.empty());
    REQUIRE(settle(w, a) == errc::none);  // it wakes b, which goes first
    CHECK(explain(w, "b").before == 0);
    CHECK(explain(w, "e").before == 1);
    CHECK(explain(w, "g").before == 3);
    CHECK(explain(w, "g").running == 0);
  }
  SECTION("running") {
    CHECK(explain(w, "a").found->state == job_state::processing);
    CHECK(explain(w, "a").running == 1);
    CHECK(explain(w, "a").waits_for.holders.empty());
  }
  SECTION("paused") {
    CHECK_FALSE(explain(w, "d").paused);
    pause(w, "default");
    CHECK(explain(w, "d").paused);
    CHECK(explain(w, "e").paused);
    CHECK_FALSE(explain(w, "q1").paused);
  }
  SECTION("served") {
    w.clock.advance(1h);
    CHECK_FALSE(explain(w, "e").served);
    beat(w, serving("s1", {"mail:1", "default:4"}));
    CHECK(explain(w, "e").served);
    CHECK_FALSE(explain(w, "q1").served);
    w.clock.advance(1h);
    CHECK_FALSE(explain(w, "e").served);
  }
  audit(w);
}
