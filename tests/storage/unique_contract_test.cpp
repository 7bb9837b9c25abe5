// Unique keys. The names of the scenarios begin with the corner cases that they are about.
#include "storage/flow_words.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

struct key_words {
  unique_until until = unique_until::end;
  when_taken then = when_taken::skip;
  duration period{0};
  duration at_most{0};
  duration delay{0};
  std::string key = "work/k";
};
prepared_job keyed(const std::string& id, const key_words& words = {}) {
  return changed({.id = id, .delay = words.delay}, [&](prepared_job& j) {
    flow_of(j).unique_key = words.key;
    flow_of(j).unique.until = words.until;
    flow_of(j).unique.then = words.then;
    flow_of(j).unique.period = words.period;
    flow_of(j).unique.at_most = words.at_most;
  });
}
std::string put_key(world& w, const std::string& id, const key_words& words = {}) {
  return report(put_jobs(w, {keyed(id, words)}));
}

}  // namespace

ON_EACH_STORE("uni: one job at a time has a key, until its end") {
  CHECK(put_key(w, "a") == "stored");
  CHECK(put_key(w, "b") == "duplicate a");
  CHECK_FALSE(look(w, "b").found.has_value());
  CHECK(put_key(w, "other", {.key = "work/o"}) == "stored");
  audit(w);
  end(w, "a");
  CHECK(put_key(w, "b") == "stored");
  audit(w);
  CHECK(put_key(w, "c", {.then = when_taken::refuse}) == "unique_conflict");
  CHECK_FALSE(look(w, "c").found.has_value());
}

ON_EACH_STORE("uni-1 Of two in one call, and of two calls in one batch, one is stored") {
  const auto told = put_jobs(w, {keyed("a"), keyed("b")});
  CHECK(report(told, 0) == "stored");
  CHECK(report(told, 1) == "duplicate a");
  const std::vector<storage::request> batch{storage::enqueue_request{{keyed("c", {.key = "work/2"})}},
                                            storage::enqueue_request{{keyed("d", {.key = "work/2"})}}};
  const auto answers = w.store().apply(batch);
  CHECK(report(std::get<storage::enqueue_answer>(answers[0])) == "stored");
  CHECK(report(std::get<storage::enqueue_answer>(answers[1])) == "duplicate c");
  audit(w);
}

ON_EACH_STORE("uni-8 What a call does with a key does not depend on the calls that share its step") {
  const key_words replaces{.then = when_taken::replace, .delay = 1min};
  const std::vector<storage::request> batch{storage::enqueue_request{{keyed("a", {.delay = 1min})}},
                                            storage::enqueue_request{{keyed("b", replaces)}},
                                            storage::enqueue_request{{keyed("c", {.then = when_taken::extend})}},
                                            storage::enqueue_request{{keyed("d", replaces)}}};
  const auto answers = w.store().apply(batch);
  const auto said = [&](std::size_t i) { return report(std::get<storage::enqueue_answer>(answers[i])); };
  CHECK(said(0) == "stored");
  CHECK(said(1) == "replaced a");
  CHECK(said(2) == "extended b");
  CHECK(said(3) == "replaced b");
  CHECK(counts(w).deleted == 2);
  audit(w);
}

ON_EACH_STORE("uni-9 Who is given another delay and is replaced in one call does not run") {
  CHECK(put_key(w, "a", {.delay = 1h}) == "stored");
  const auto told = put_jobs(w, {keyed("b", {.then = when_taken::extend, .delay = 1min}),
                                 keyed("c", {.then = when_taken::replace, .delay = 1min})});
  CHECK(report(told, 0) == "extended a");
  CHECK(report(told, 1) == "replaced a");
  CHECK(state(w, "a") == job_state::deleted);
  audit(w);
  w.clock.advance(2h);
  promote(w);
  CHECK(ids(claim(w, {.free = 5})) == names{"c"});
  audit(w);
}

ON_EACH_STORE("uni-9 Who could not run any more by the delay that it would be given is left as it is") {
  auto a = keyed("a", {.delay = 30s});
  flow_of(a).finish_within = 1min;
  CHECK(report(put_jobs(w, {a})) == "stored");
  const auto due = get(w, "a").due_at;
  for (const auto delay : {duration(1min), duration(1h)})
    CHECK(put_key(w, "b", {.then = when_taken::extend, .delay = delay}) == "unique_conflict");
  CHECK(get(w, "a").due_at == due);
  CHECK(put_key(w, "b", {.then = when_taken::extend, .delay = 59s}) == "extended a");
  CHECK(put_key(w, "b", {.then = when_taken::extend, .at_most = 50s, .delay = 1h}) == "extended a");
  audit(w);
}

ON_EACH_STORE("uni-5 A retry that is lost or given back does not take the key that its first start gave away") {
  const key_words until_start{.until = unique_until::start};
  CHECK(put_key(w, "a", until_start) == "stored");
  REQUIRE(settle(w, claim_one(w), how::retry) == errc::none);
  for (const auto by : {how::given_back, how::deferred})
    REQUIRE(settle(w, claim_one(w), by) == errc::none);
  (void)claim_one(w);
  lose_all(w);
  audit(w);
  CHECK(put_key(w, "b", until_start) == "stored");
  audit(w);
}

ON_EACH_STORE("uni-2 An enqueue that is repeated is the same job, and no conflict with itself") {
  for (const auto rule :
       {when_taken::skip, when_taken::refuse, when_taken::replace, when_taken::extend, when_taken::coalesce}) {
    const auto id = cat("a", static_cast<int>(rule));
    CHECK(put_key(w, id, {.then = rule, .key = id}) == "stored");
    CHECK(put_key(w, id, {.then = rule, .key = id}) == "same");
  }
  audit(w);
}

ON_EACH_STORE("uni-3 The key stays through losses and retries, and each end for good frees it in its step") {
  CHECK(put_key(w, "a") == "stored");
  for (const auto by : {how::retry, how::deferred, how::given_back}) {
    REQUIRE(settle(w, claim_one(w), by) == errc::none);
    CHECK(put_key(w, "b") == "duplicate a");
  }
  (void)claim_one(w);
  lose_all(w);
  CHECK(put_key(w, "b") == "duplicate a");
  audit(w);
  (void)claim_one(w, {.allow_suspect = true});
  lose_all(w, 30s, 1);  // failed by its losses
  CHECK(put_key(w, "b") == "stored");
  REQUIRE(remove(w, "b").code == errc::none);
  CHECK(put_key(w, "c") == "stored");
  end(w, "c", how::failed);
  CHECK(put_key(w, "d") == "stored");
  REQUIRE(remove(w, "d").code == errc::none);
  auto orphan = keyed("e");
  flow_of(orphan).after.parents = {job_id("c")};
  CHECK(report(put_jobs(w, {orphan})) == "stored");  // and ends at once as unmet
  CHECK(state(w, "e") == job_state::deleted);
  CHECK(put_key(w, "f") == "stored");
  audit(w);
}

ON_EACH_STORE("uni-4 An old job that is removed or requeued does not free the key of a newer one") {
  CHECK(put_key(w, "old") == "stored");
  end(w, "old", how::failed);
  CHECK(put_key(w, "new") == "stored");
  REQUIRE(remove(w, "old").code == errc::none);
  CHECK(put_key(w, "third") == "duplicate new");
  retention_options soon;
  soon.deleted.age = 1s;
  w.clock.advance(1min);
  ask(w, storage::prune_request{soon});
  CHECK(put_key(w, "third") == "duplicate new");
  audit(w);
}

ON_EACH_STORE("uni-5 A key until the start is free from the claim on, and taken again when that start was none") {
  const key_words until_start{.until = unique_until::start};
  CHECK(put_key(w, "a", until_start) == "stored");
  CHECK(put_key(w, "b", until_start) == "duplicate a");
  const auto a = claim_one(w);
  audit(w);
  REQUIRE(settle(w, a, how::given_back) == errc::none);
  CHECK(put_key(w, "b", until_start) == "duplicate a");
  audit(w);
  const auto again = claim_one(w);
  CHECK(put_key(w, "b", until_start) == "stored");
  REQUIRE(settle(w, again, how::given_back) == errc::none);  // another has it by now: two wait
  CHECK(put_key(w, "c", until_start) == "duplicate b");
  audit(w);
  end(w, "a");
  CHECK(put_key(w, "c", until_start) == "duplicate b");
  end(w, "b");
  CHECK(put_key(w, "c", until_start) == "stored");
  audit(w);
}

ON_EACH_STORE("uni-6 Who is told of a job that has a key for a period is told when that job is not kept any more") {
  const key_words period{.until = unique_until::period, .period = 48h};
  CHECK(put_key(w, "a", period) == "stored");
  end(w, "a");
  CHECK(put_key(w, "b", period) == "duplicate a");
  w.clock.advance(1h);
  storage::prune_request prune;
  prune.retention.succeeded.age = 1s;
  REQUIRE(ask(w, prune).removed == 1);
  CHECK(put_key(w, "b", period) == "duplicate a, not kept");
  audit(w);
}

ON_EACH_STORE("uni-6 A period counts from the enqueue by the store's clock, whatever becomes of the job") {
  const key_words period{.until = unique_until::period, .period = 10min};
  CHECK(put_key(w, "a", period) == "stored");
  end(w, "a");
  CHECK(put_key(w, "b", period) == "duplicate a");
  audit(w);
  w.clock.advance(-5min);
  CHECK(put_key(w, "b", period) == "duplicate a");
  w.clock.advance(15min - 1us);
  CHECK(put_key(w, "b", period) == "duplicate a");
  w.clock.advance(1us);
  SECTION("It is taken over when nobody has looked at it yet") {
    CHECK(put_key(w, "b", period) == "stored");
    audit(w);
  }
  SECTION("Nothing is left of it when somebody has") {
    work_off(w);
    audit(w);
    CHECK(put_key(w, "b", period) == "stored");
  }
}

ON_EACH_STORE("uni-7 A job whose key another has cannot be requeued; else it has its key again") {
  CHECK(put_key(w, "a") == "stored");
  end(w, "a", how::failed);
  CHECK(put_key(w, "b") == "stored");
  const auto refused = requeue(w, "a");
  CHECK(refused.code == errc::unique_conflict);
  CHECK(refused.message.find("b") != std::string::npos);
  CHECK(state(w, "a") == job_state::failed);
  audit(w);
  end(w, "b");
  REQUIRE(requeue(w, "a").code == errc::none);
  CHECK(put_key(w, "c") == "duplicate a");
  audit(w);
}

ON_EACH_STORE("uni-8 A waiting job is replaced in the step that stores the other; a running one is not") {
  const key_words replaces{.then = when_taken::replace};
  CHECK(put_key(w, "a") == "stored");
  CHECK(put_key(w, "b", {.then = when_taken::replace, .delay = 1h}) == "replaced a");
  CHECK(state(w, "a") == job_state::deleted);
  CHECK(get(w, "a").reason == "replaced by b");
  CHECK(get(w, "a").history.at(0).cause == "replaced");
  CHECK(state(w, "b") == job_state::scheduled);
  audit(w);
  CHECK(put_key(w, "c", replaces) == "replaced b");
  audit(w);
  const auto c = claim_one(w);
  CHECK(put_key(w, "d", replaces) == "duplicate c");
  REQUIRE(settle(w, c) == errc::none);
  CHECK(put_key(w, "d", replaces) == "stored");
  audit(w);
}

ON_EACH_STORE("uni-8 Who waits for a throttler is replaced with its place, and who awaits it is told") {
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  (void)holding(w, "holder", {"semaphore:s"});
  CHECK(put_key(w, "a") == "stored");
  REQUIRE(take(w, claim_one(w), {"semaphore:s"}).starts_with("parked "));
  auto child = changed({.id = "child"}, [](prepared_job& j) { flow_of(j).after.parents = {job_id("a")}; });
  REQUIRE(put_jobs(w, {child}).each.at(0) == errc::none);
  CHECK(put_key(w, "b", {.then = when_taken::replace}) == "replaced a");
  CHECK(waiters(w, "semaphore:s") == names{});
  CHECK(state(w, "child") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("uni-8 A job that would take the place of its own parent is refused") {
  CHECK(put_key(w, "a") == "stored");
  auto child = keyed("child", {.then = when_taken::replace});
  flow_of(child).after.parents = {job_id("a")};
  const auto told = put_jobs(w, {child});
  CHECK(report(told) == "invalid_argument");
  CHECK(storage::report_of(job_id("child"), told, 0).error().message.find("its parent a has its unique key") !=
        std::string::npos);
  CHECK(state(w, "a") == job_state::enqueued);
  CHECK_FALSE(look(w, "child").found.has_value());
  audit(w);
  const auto running = claim_one(w);
  CHECK(report(put_jobs(w, {child})) == "duplicate a");  // nobody would be replaced
  REQUIRE(settle(w, running) == errc::none);
  CHECK(report(put_jobs(w, {child})) == "stored");  // its parent has ended, and the key is free
  audit(w);
}

ON_EACH_STORE("uni-9 A scheduled job is due later by whoever extends it, and no later than at most") {
  const key_words extends{.then = when_taken::extend, .at_most = 25min, .delay = 10min};
  const auto due_in = [&] { return *get(w, "a").due_at - w.clock.now(); };
  CHECK(put_key(w, "a", extends) == "stored");
  w.clock.advance(9min);
  CHECK(put_key(w, "b", extends) == "extended a");
  CHECK(due_in() == 10min);
  audit(w);
  w.clock.advance(9min);
  CHECK(put_key(w, "b", extends) == "extended a");
  CHECK(due_in() == 7min);
  w.clock.advance(7min);
  promote(w);
  CHECK(state(w, "a") == job_state::enqueued);
  CHECK(put_key(w, "b", extends) == "duplicate a");
  CHECK(state(w, "a") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("uni-10 While one runs the last of those that come waits for its end") {
  const key_words joins{.then = when_taken::coalesce};
  CHECK(put_key(w, "a", joins) == "stored");
  CHECK(put_key(w, "b", joins) == "duplicate a");
  const auto a = claim_one(w);
  CHECK(put_key(w, "b", joins) == "stored");
  CHECK(state(w, "b") == job_state::awaiting);
  CHECK(explain(w, "b").open_parents.at(0).value == "a");
  audit(w);
  CHECK(put_key(w, "c", joins) == "replaced b");
  CHECK(state(w, "b") == job_state::deleted);
  audit(w);
  REQUIRE(settle(w, a, how::retry) == errc::none);  // a retry delays it
  CHECK(state(w, "c") == job_state::awaiting);
  CHECK(put_key(w, "d", joins) == "duplicate a");
  end(w, "a", how::failed);
  CHECK(state(w, "c") == job_state::enqueued);
  CHECK(put_key(w, "d", joins) == "duplicate c");
  audit(w);
  end(w, "c");
  CHECK(put_key(w, "d", joins) == "stored");
  audit(w);
}

ON_EACH_STORE("uni-10 Who was to be next and is deleted leaves the key to its owner") {
  const key_words joins{.then = when_taken::coalesce};
  CHECK(put_key(w, "a", joins) == "stored");
  const auto a = claim_one(w);
  CHECK(put_key(w, "b", joins) == "stored");
  REQUIRE(remove(w, "b").code == errc::none);
  audit(w);
  CHECK(put_key(w, "c", joins) == "stored");
  REQUIRE(settle(w, a) == errc::none);
  CHECK(state(w, "c") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("uni-12 A child that awaits has its key already") {
  put_all(w, {"p"});
  auto child = keyed("c");
  flow_of(child).after.parents = {job_id("p")};
  CHECK(report(put_jobs(w, {child})) == "stored");
  CHECK(put_key(w, "d") == "duplicate c");
  audit(w);
}

ON_EACH_STORE("uni-1 Of two in one call that would replace each other one is stored, also when it is asked again") {
  const key_words replaces{.then = when_taken::replace};
  for (int time = 0; time < 2; ++time) {
    CHECK(report(put_jobs(w, {keyed("a", replaces), keyed("b", replaces)}), 1) == "duplicate a");
    CHECK(state(w, "a") == job_state::enqueued);
  }
  audit(w);
}

ON_EACH_STORE(
    "uni-1 A call that is asked again gives no new delay to a job that it stored itself behind the one it delayed") {
  CHECK(put_key(w, "a", {.delay = 1min}) == "stored");
  const auto ask_both = [&] {
    return put_jobs(w, {keyed("c", {.then = when_taken::extend, .delay = 1min}),
                        keyed("d", {.then = when_taken::replace, .delay = 1min})});
  };
  const auto told = ask_both();
  CHECK(report(told, 0) == "extended a");
  CHECK(report(told, 1) == "replaced a");
  const auto due = get(w, "d").due_at;
  w.clock.advance(1s);
  CHECK(report(ask_both(), 0) == "duplicate d");
  CHECK(get(w, "d").due_at == due);
  audit(w);
}

ON_EACH_STORE("uni-5 A key until the start is taken again by a job that a throttler did not let in") {
  const key_words until_start{.until = unique_until::start};
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  (void)holding(w, "holder", {"semaphore:s"});
  CHECK(put_key(w, "a", until_start) == "stored");
  REQUIRE(take(w, claim_one(w), {"semaphore:s"}).starts_with("parked "));
  CHECK(put_key(w, "b", until_start) == "duplicate a");
  audit(w);
}

ON_EACH_STORE(
    "uni-10 Who waits for the key of a retried job has it next, also when a person has that one run at once") {
  const key_words joins{.then = when_taken::coalesce};
  CHECK(put_key(w, "a", joins) == "stored");
  const auto a = claim_one(w);
  CHECK(put_key(w, "b", joins) == "stored");
  REQUIRE(settle(w, a, how::retry, 1h) == errc::none);
  REQUIRE(requeue(w, "a").code == errc::none);
  audit(w);
  end(w, "a");
  CHECK(put_key(w, "c", joins) == "duplicate b");
  audit(w);
}

ON_EACH_STORE("uni-10 An owner that waits for its retry and is requeued leaves the key to the next one at its end") {
  const key_words joins{.then = when_taken::coalesce};
  CHECK(put_key(w, "a", joins) == "stored");
  const auto a = claim_one(w);
  CHECK(put_key(w, "b", joins) == "stored");
  REQUIRE(settle(w, a, how::retry, 1h) == errc::none);
  REQUIRE(requeue(w, "b").code == errc::none);  // a person has it run at once
  REQUIRE(requeue(w, "a").code == errc::none);
  audit(w);
  CHECK(put_key(w, "c", joins) == "duplicate a");
}

ON_EACH_STORE("uni-8 Whoever replaces an owner replaces the one that waits for its end, too") {
  CHECK(put_key(w, "a", {.then = when_taken::coalesce}) == "stored");
  const auto a = claim_one(w);
  CHECK(put_key(w, "b", {.then = when_taken::coalesce}) == "stored");
  REQUIRE(settle(w, a, how::retry, 1h) == errc::none);
  CHECK(put_key(w, "c", {.then = when_taken::replace}) == "replaced a");
  CHECK(state(w, "a") == job_state::deleted);
  CHECK(state(w, "b") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("uni-5 A job that is parked has its key again") {
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  (void)holding(w, "holder", {"semaphore:s"});
  CHECK(put_key(w, "a", {.until = unique_until::start}) == "stored");
  REQUIRE(take(w, claim_one(w), {"semaphore:s"}).starts_with("parked "));
  CHECK(put_key(w, "b", {.until = unique_until::start}) == "duplicate a");
  audit(w);
}

ON_EACH_STORE("A key that was held for a period and then until the end is nobody's period any more") {
  CHECK(put_key(w, "a", {.until = unique_until::period, .period = 10min}) == "stored");
  CHECK(put_key(w, "b", {.then = when_taken::replace}) == "replaced a");
  audit(w);
  w.clock.advance(11min);
  work_off(w);
  CHECK(put_key(w, "c") == "duplicate b");
  audit(w);
}
