// Jobs that are cancelled: at once while they do not run, else by the end of their run. The names of the scenarios
// begin with the corner cases that they are about.
#include "storage/contract.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

using enum job_state;

const author anna{"anna", "dashboard"};

void cancelled(world& w, const std::string& id) {
  const auto told = cancel(w, id, anna);
  INFO("job " << id << ": " << told.message);
  REQUIRE(told.code == errc::none);
  REQUIRE(told.changed);
}
// A new job that runs, and was asked to end.
job asked(world& w, const std::string& id) {
  auto j = started(w, id);
  cancelled(w, id);
  return j;
}

names causes(const job& j) {
  names all;
  for (const auto& row : j.history)
    all.push_back(row.cause);
  return all;
}

job_totals totals(world& w) {
  totals_query query;
  query.queue = queue_name("default");
  return w.ask<storage::totals_answer>(storage::totals_request{query}).report.ever;
}

void put_after(world& w, const std::string& id, const std::string& parent, parent_end on) {
  auto made = prepared({.id = id});
  flow_of(made).after.parents.emplace_back(parent);
  flow_of(made).after.on = on;
  REQUIRE(ask(w, storage::enqueue_request{{made}}).each.at(0) == errc::none);
}

// A job that a window has wait.
void wait_for_window(world& w, const job& j) {
  const std::string window = "fixed_window:w";
  storage::update_limiter_request r;
  r.limiter = window;
  r.version = limiter_record_of(w, window).version;
  r.from = w.clock.now();
  r.until = r.from + 1min;
  r.parks = {{run_of(j), window}};
  r.next_checks = {{window, r.until}};
  const auto told = update_limiter(w, r);
  REQUIRE(told.updated);
  CHECK(in_words(told.parked) == names{"stale"});
}

}  // namespace

ON_EACH_STORE("can-1 A cancelled job that settles as anything but succeeded is deleted and not run again") {
  const auto end = GENERATE(how::retry, how::failed, how::given_up, how::given_back, how::deferred, how::removed);
  const auto j = asked(w, "a");
  CHECK(get(w, "a").state == processing);
  CHECK(get(w, "a").reason == "cancellation asked for by anna through dashboard");
  audit(w);
  auto said = ended(j, end, 10s);
  said.progress = progress_report{0.5, "half"};
  REQUIRE(settle(w, said) == errc::none);
  audit(w);
  const auto now = get(w, "a");
  CHECK(now.state == deleted);
  CHECK(now.reason == "cancelled by anna through dashboard");
  CHECK(now.result.empty());
  CHECK(now.progress->text == "half");
  REQUIRE(causes(now) == names{"cancel_asked", "cancelled"});
  CHECK(now.history[0].fence.value == 0);
  CHECK(now.history[0].error == "cancellation asked for by anna through dashboard");
  CHECK(now.history[1].fence == j.fence);
  CHECK(now.history[1].error == "it broke");
  CHECK(now.history[1].end == end);
  CHECK(settle(w, said) == errc::none);  // asked again
  CHECK(settle(w, j, how::succeeded) == errc::none);
  CHECK(get(w, "a").state == deleted);
  w.clock.advance(1h);
  CHECK(promote(w).moved == 0);
  CHECK(claim(w).jobs.empty());
  CHECK(totals(w).deleted == 1);
  CHECK(totals(w).retried == 0);
  CHECK(totals(w).failed == 0);
  REQUIRE(requeue(w, "a").code == errc::none);
  CHECK(settle(w, claim_one(w), how::retry) == errc::none);  // the new run was asked nothing
  CHECK(get(w, "a").state == enqueued);
  audit(w);
}

ON_EACH_STORE("can-1 Of many that end in one step only those that were asked end as cancelled") {
  put_all(w, {"a", "b", "c", "d"});
  const auto all = jobs_of(claim(w, {.free = 4}));
  cancelled(w, "b");
  cancelled(w, "d");
  storage::settle_request r;
  for (const auto& j : all)
    r.runs.push_back(ended(j, how::retry, 10s));
  r.runs[3] = ended(all[3], how::succeeded);
  CHECK(ask(w, r).each == std::vector(4, errc::none));
  CHECK(get(w, "a").state == scheduled);
  CHECK(get(w, "b").state == deleted);
  CHECK(get(w, "c").state == scheduled);
  CHECK(get(w, "d").state == succeeded);
  audit(w);
}

ON_EACH_STORE("can-1 The children of a cancelled job see the end of its run and see it as deleted") {
  put_all(w, {"a", "b"});
  put_after(w, "of-deleted", "a", parent_end::deleted);
  put_after(w, "of-succeeded", "a", parent_end::succeeded);
  put_after(w, "of-lost", "b", parent_end::deleted);
  const auto both = jobs_of(claim(w, {.free = 2}));
  cancelled(w, "a");
  cancelled(w, "b");
  CHECK(get(w, "of-deleted").state == awaiting);
  REQUIRE(settle(w, both[0], how::retry) == errc::none);
  CHECK(get(w, "of-deleted").state == enqueued);
  CHECK(get(w, "of-succeeded").state == deleted);
  lose_all(w);
  CHECK(get(w, "of-lost").state == enqueued);
  audit(w);
}

ON_EACH_STORE("can-2 A cancelled job whose handler succeeds has succeeded") {
  const auto j = asked(w, "a");
  put_after(w, "child", "a", parent_end::succeeded);
  REQUIRE(settle(w, j) == errc::none);
  const auto now = get(w, "a");
  CHECK(now.state == succeeded);
  CHECK(now.result == "42");
  CHECK(now.reason == "because");  // what its server says
  CHECK(causes(now) == names{"cancel_asked", "succeeded"});
  CHECK(get(w, "child").state == enqueued);
  CHECK(totals(w).succeeded == 1);
  CHECK(totals(w).deleted == 0);
  audit(w);
}

ON_EACH_STORE("can-3 A job that has ended before is told to have ended") {
  REQUIRE(settle(w, started(w, "good")) == errc::none);
  REQUIRE(settle(w, started(w, "bad"), how::failed) == errc::none);
  for (const auto& [id, state] : {std::pair<std::string, std::string>("good", "succeeded"), {"bad", "failed"}}) {
    const auto told = cancel(w, id);
    CHECK(told.code == errc::illegal_transition);
    CHECK(told.message == "job " + id + " has already ended as " + state);
  }
  CHECK(cancel(w, "nobody").code == errc::not_found);
  CHECK(get(w, "good").history.size() == 1);
  const auto only = change(w, cancelling(job_id("good"), processing, {}));
  CHECK(only.message == "job good is succeeded by now, and was left so");
  audit(w);
}

ON_EACH_STORE("can-4 A cancelled job whose server dies is deleted and not run again") {
  const auto max_losses = GENERATE(1u, 3u);
  const auto j = asked(w, "a");
  put_all(w, {"other"});
  REQUIRE(ids(claim(w)) == names{"other"});
  w.clock.advance(31s);
  const auto told = reap(w, expired(w).leases, max_losses);
  CHECK(told.each == std::vector(2, errc::none));
  CHECK(told.failed.size() == (max_losses == 1 ? 1 : 0));
  REQUIRE(told.cancelled.size() == 1);
  CHECK(told.cancelled[0].value == "a");
  const auto now = get(w, "a");
  CHECK(now.state == deleted);
  CHECK(now.reason == "cancelled by anna through dashboard");
  CHECK(now.losses == 1);
  CHECK(causes(now) == names{"cancel_asked", "cancelled"});
  CHECK(now.history[1].error.starts_with("its server died"));
  CHECK(totals(w).lost == 2);
  CHECK(totals(w).deleted == 1);
  CHECK(settle(w, j) == errc::stale_fence);
  audit(w);
}

ON_EACH_STORE("can-5 A cancelled run keeps its permits until it has ended and then they pass on") {
  beat(w, serving("s0", {"default:1"}));
  const bool by_claim = GENERATE(true, false);
  const bool strict = !by_claim && GENERATE(true, false);
  const claim_words words{.permits = {{"work", {{m}, true}}}};
  job j;
  if (by_claim) {
    put_all(w, {"a"});
    j = claim_one(w, words);
  } else {
    j = holding(w, "a", {m}, {.strict = strict});
  }
  parked(w, "next", {m});
  cancelled(w, "a");
  CHECK(holders(w, m) == names{"a"});
  CHECK(get(w, "next").state == throttled);
  audit(w);
  SECTION("by its end") { REQUIRE(settle(w, j, how::retry, 1h) == errc::none); }
  SECTION("by the loss of its server") { lose_all(w); }
  CHECK(get(w, "a").state == deleted);
  beat(w, serving("s0", {"default:1"}));
  reconcile(w);
  CHECK(holders(w, m) == names{"next reserved"});
  audit(w);
}

ON_EACH_STORE("can-5 A cancelled run of a chain leaves it and is not parked again") {
  beat(w, serving("s0", {"default:1"}));
  claim_words words{.free = 4, .permits = {{"work", {{m}, true}}}, .chains = {{"work", {.most = 3}}}};
  put_all(w, {"first", "a", "b", "c"});
  const auto first = jobs_of(claim(w, words));
  REQUIRE(ids(first) == names{"first"});
  const auto chain = jobs_of(ask(w, storage::settle_request{{ended(first[0], how::succeeded)}, claiming(words)}).next);
  REQUIRE(ids(chain) == names{"a", "b", "c"});
  cancelled(w, "b");
  REQUIRE(settle(w, chain[1], how::given_back) == errc::none);
  CHECK(get(w, "b").state == deleted);
  CHECK(waiters(w, m).empty());
  REQUIRE(settle(w, chain[0]) == errc::none);
  CHECK(holders(w, m) == names{"c"});
  audit(w);
}

ON_EACH_STORE("can-5 A cancelled run that asks for permits has not begun and is deleted instead of parked or let in") {
  beat(w, serving("s0", {"default:1"}));
  const bool busy = GENERATE(true, false);
  if (busy) holding(w, "has", {m});
  const auto j = asked(w, "a");
  put_after(w, "child", "a", parent_end::deleted);
  SECTION("of a mutex") {
    const bool strict = GENERATE(true, false);
    CHECK(take(w, j, {m}, {.strict = strict}) == "stale");
    CHECK(holders(w, m) == (busy ? names{"has"} : names{}));
    CHECK(waiters(w, m).empty());
  }
  SECTION("after it got another") {
    const auto k = holding(w, "k", {"mutex:n"});
    parked(w, "next", {"mutex:n"});
    cancelled(w, "k");
    CHECK(take_all(w, {wanting(k, {m}), wanting(j, {m})}) == names{"stale", "stale"});
    CHECK(holders(w, "mutex:n") == names{"next reserved"});
    CHECK(get(w, "k").state == deleted);
  }
  SECTION("of a window") { wait_for_window(w, j); }
  const auto now = get(w, "a");
  CHECK(now.state == deleted);
  CHECK(now.attempt == 0);
  CHECK(now.reason == "cancelled by anna through dashboard");
  CHECK(causes(now) == names{"cancel_asked", "cancelled"});
  CHECK(get(w, "child").state == enqueued);
  CHECK(settle(w, j) == errc::stale_fence);
  CHECK(totals(w).deleted >= 1);
  audit(w);
}

ON_EACH_STORE("can-6 To cancel twice is once") {
  const auto j = asked(w, "a");
  put_all(w, {"b"});
  const auto before = portrait(w);
  const auto again = cancel(w, "a");
  CHECK(again.code == errc::none);
  CHECK_FALSE(again.changed);
  CHECK(again.asked);
  CHECK_FALSE(w.store().made_work().has_work());
  CHECK(portrait(w) == before);
  cancelled(w, "b");
  CHECK_FALSE(cancel(w, "b").changed);
  CHECK_FALSE(cancel(w, "b").asked);
  REQUIRE(settle(w, j, how::failed) == errc::none);
  CHECK_FALSE(cancel(w, "a").changed);
  put_all(w, {"c"});
  REQUIRE(remove(w, "c").code == errc::none);
  CHECK_FALSE(cancel(w, "c").changed);
  CHECK_FALSE(remove(w, "b").changed);
  audit(w);
}

ON_EACH_STORE("can-7 A job that does not run is deleted at once") {
  beat(w, serving("s0", {"default:1"}));
  put_all(w, {"waits"});
  REQUIRE(put(w, {.id = "later", .delay = 1h}) == errc::none);
  put_after(w, "child", "later", parent_end::succeeded);
  put_after(w, "of-child", "child", parent_end::deleted);
  for (const std::string id : {"waits", "child", "later"}) {
    cancelled(w, id);
    const auto now = get(w, id);
    CHECK(now.state == deleted);
    CHECK(now.reason == "cancelled by anna through dashboard");
    CHECK(causes(now) == names{"cancelled"});
    CHECK(now.history[0].error == "cancelled by anna through dashboard");
    CHECK_FALSE(w.store().made_work().cancels);
  }
  CHECK(get(w, "of-child").state == enqueued);
  CHECK(totals(w).deleted == 3);
  CHECK_FALSE(promote(w).next_in.has_value());
  audit(w);
}

ON_EACH_STORE("can-7 A job that waits at a throttler leaves its line and the permit that was kept for it passes on") {
  beat(w, serving("s0", {"default:1"}));
  const auto has = holding(w, "has", {m});
  parked(w, "a", {m});
  parked(w, "b", {m});
  parked(w, "c", {m});
  cancelled(w, "b");
  CHECK(waiters(w, m) == names{"a", "c"});
  REQUIRE(settle(w, has) == errc::none);
  CHECK(holders(w, m) == names{"a reserved"});
  cancelled(w, "a");
  CHECK(holders(w, m) == names{"c reserved"});
  audit(w);
}

ON_EACH_STORE("can-9 Renewals and reports of progress tell who is asked to end and a hint says that somebody is") {
  const auto j = started(w, "a");
  const auto other = started(w, "b");
  CHECK(ask(w, storage::renew_request{{run_of(j)}, 30s}).cancelled.empty());
  cancelled(w, "a");
  CHECK(w.store().made_work().cancels);
  CHECK_FALSE(w.store().made_work().has_work());
  const auto held = ask(w, storage::renew_request{{run_of(other), run_of(j)}, 30s});
  CHECK(held.each == std::vector(2, errc::none));
  REQUIRE(held.cancelled.size() == 1);
  CHECK(held.cancelled[0].fence == j.fence);
  const auto told = w.ask<storage::progress_answer>(
      storage::progress_request{{{run_of(other), {0.5, "half"}}, {run_of(j), {0.25, "quarter"}}}});
  CHECK(told.each == std::vector(2, errc::none));
  REQUIRE(told.cancelled.size() == 1);
  CHECK(told.cancelled[0].fence == j.fence);
  audit(w);
  REQUIRE(settle(w, j, how::failed) == errc::none);
  CHECK(get(w, "a").state == deleted);
  audit(w);
}

ON_EACH_STORE("can-9 Jobs that are cancelled together are told by one hint if any of them runs") {
  const auto tells = [&w](const std::vector<job_id>& ids) {
    w.ask<storage::change_jobs_answer>(storage::change_jobs_request{storage::job_change::cancel, ids, {}, anna});
    return w.store().made_work().cancels;
  };
  const auto j = started(w, "runs");
  put_all(w, {"waits", "waits-too"});
  CHECK(tells({job_id("waits"), job_id("runs"), job_id("nobody")}));
  CHECK(ask(w, storage::renew_request{{run_of(j)}, 30s}).cancelled.size() == 1);
  CHECK(tells({job_id("runs")}));  // which was asked already: that hint may have been lost
  CHECK_FALSE(tells({job_id("waits"), job_id("waits-too")}));
  CHECK_FALSE(tells({job_id("waits")}));
  audit(w);
}

ON_EACH_STORE("can-9 A run that gets a permit after it reported keeps what it was asked") {
  const auto j = started(w, "a");
  REQUIRE(take(w, j, {m}) == "granted");
  w.ask<storage::progress_answer>(storage::progress_request{{{run_of(j), {0.5, "half"}}}});
  cancelled(w, "a");
  REQUIRE(renew(w, j) == errc::none);
  REQUIRE(settle(w, j, how::retry) == errc::none);
  CHECK(get(w, "a").state == deleted);
  CHECK(holders(w, m).empty());
  audit(w);
}

TEMPLATE_TEST_CASE("can-4 A cancel of a run that cannot be read deletes its job at once", "[contract]",
                   harmed_file_world, harmed_redis_world) {
  TestType w;
  started(w, "a");
  w.command({"HSET", "runs", "a", "what is this"});
  cancelled(w, "a");
  CHECK(get(w, "a").state == deleted);
  CHECK(get(w, "a").reason == "cancelled by anna through dashboard");
  audit(w);
}
