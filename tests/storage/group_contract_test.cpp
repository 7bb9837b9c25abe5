// Groups of jobs. The names of the scenarios begin with the corner cases that they are about.
#include "storage/flow_words.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// A group with three ways to be told of its end.
void with_callbacks(world& w, const std::string& name) {
  REQUIRE(create(w, name).code == errc::none);
  const auto told = put_jobs(
      w, {behind("on-finished", name, parent_end::finished), behind("on-succeeded", name, parent_end::succeeded),
          behind("on-first-failure", name, parent_end::first_failure)});
  for (const auto code : told.each)
    REQUIRE(code == errc::none);
}
std::string callbacks(world& w) {
  std::string all;
  for (const auto* id : {"on-finished", "on-succeeded", "on-first-failure"})
    all += cat(all.empty() ? "" : " ", name_of(state(w, id)));
  return all;
}
// Ends what runs, whatever it is.
void end_all(world& w, const names& failing = {}) {
  for (auto some = claim(w, {.free = 100}); !some.jobs.empty(); some = claim(w, {.free = 100}))
    for (const auto& one : some.jobs) {
      const bool fails = std::find(failing.begin(), failing.end(), one.job.id.value) != failing.end();
      REQUIRE(settle(w, one.job, fails ? how::failed : how::succeeded) == errc::none);
    }
}

}  // namespace

ON_EACH_STORE("bat: a group counts its members and releases who waits for it with the last of them") {
  with_callbacks(w, "pages");
  put_members(w, "pages", {"a", "b"});
  CHECK(group_in_words(w, "pages") == "2 open, 0 succeeded, 0 failed, 0 deleted");
  audit(w);
  end(w, "a");
  REQUIRE(seal(w, "pages").code == errc::none);
  CHECK(group_in_words(w, "pages") == "1 open, 1 succeeded, 0 failed, 0 deleted, sealed");
  CHECK(callbacks(w) == "awaiting awaiting awaiting");
  CHECK(explain(w, "on-finished").open_parents.at(0).value == "@pages");
  CHECK(explain(w, "on-finished").open_groups.at(0).sealed);
  audit(w);
  end(w, "b");
  CHECK(w.store().made_work().queues.contains("default"));
  CHECK(group_in_words(w, "pages") == "0 open, 2 succeeded, 0 failed, 0 deleted, sealed, finished");
  CHECK(callbacks(w) == "enqueued enqueued deleted");
  CHECK(get(w, "on-first-failure").reason == "its group pages ended as succeeded");
  const auto parents = w.ask<storage::parents_answer>(storage::parents_request{job_id("on-finished")}).parents;
  REQUIRE(parents.size() == 1);
  CHECK(parents[0].group.value == "pages");
  CHECK(parents[0].state == job_state::succeeded);
  CHECK(parents[0].met == true);
  audit(w);
}

ON_EACH_STORE(
    "bat: an explanation tells of groups that are not sealed or were cancelled, and how many parents are enough") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a", "b"});
  auto child = changed({.id = "child"}, [](prepared_job& j) {
    flow_of(j).after.parents = {job_id("a"), job_id("b")};
    flow_of(j).after.groups = {group_name("g")};
    flow_of(j).after.need = 2;
  });
  REQUIRE(report(put_jobs(w, {child})) == "stored");
  end(w, "a");
  auto told = explain(w, "child");
  CHECK(told.parents == 3);
  CHECK(told.need == 2);
  CHECK(told.met == 1);
  REQUIRE(told.open_groups.size() == 1);
  CHECK_FALSE(told.open_groups[0].sealed);
  CHECK(told.open_groups[0].seal_by == w.clock.now() + 24h);
  CHECK(explain(w, "b").cancelled_group.empty());
  REQUIRE(cancel_group(w, "g").code == errc::none);
  CHECK(explain(w, "child").open_groups.at(0).cancelled);
  CHECK_FALSE(explain(w, "child").open_groups.at(0).seal_by.has_value());
  CHECK(explain(w, "b").cancelled_group.value == "g");
}

ON_EACH_STORE("bat: get tells the group, the key, the times and the parents of a job") {
  REQUIRE(create(w, "g").code == errc::none);
  REQUIRE(create(w, "outer").code == errc::none);
  put_all(w, {"a", "b"});
  auto child = changed({.id = "child"}, [](prepared_job& j) {
    flow_of(j).group = group_name("g");
    flow_of(j).unique_key = "work/k";
    flow_of(j).finish_within = 1h;
    flow_of(j).after.parents = {job_id("a"), job_id("b")};
    flow_of(j).after.groups = {group_name("outer")};
  });
  REQUIRE(report(put_jobs(w, {child})) == "stored");
  const auto finish_by = w.clock.now() + 1h;
  end(w, "a");
  const auto told = get(w, "child").flow;
  CHECK(told.group.value == "g");
  CHECK(told.unique_key == "work/k");
  CHECK_FALSE(told.start_by.has_value());
  CHECK(told.finish_by == finish_by);
  REQUIRE(told.parents.size() == 3);
  CHECK(told.parents[0].id.value == "a");
  CHECK(told.parents[0].met == true);
  CHECK(told.parents[1].id.value == "b");
  CHECK_FALSE(told.parents[1].met.has_value());
  CHECK(told.parents[2].group.value == "outer");
  CHECK(get(w, "b").flow.parents.empty());
}

ON_EACH_STORE("bat-1 A job that is stored already or is refused is not counted") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a"});
  CHECK(report(put_jobs(w, {member("a", "g")})) == "same");
  auto orphan = member("b", "g");
  flow_of(orphan).after.parents = {job_id("nobody")};
  CHECK(report(put_jobs(w, {orphan})) == "not_found");
  put_all(w, {"plain"});
  CHECK(report(put_jobs(w, {member("plain", "g")})) == "id_conflict");  // it was stored without a group, and stays so
  REQUIRE(create(w, "h").code == errc::none);
  const auto moved = put_jobs(w, {member("a", "h")});
  CHECK(report(moved) == "id_conflict");
  CHECK(storage::report_of(job_id("a"), moved, 0).error().message.find("it is there already, in group g") !=
        std::string::npos);
  CHECK(group_in_words(w, "h") == "0 open, 0 succeeded, 0 failed, 0 deleted");
  auto twin = changed({.id = "t1"},
                      [](prepared_job& j) { flow_of(j).group = group_name("g"), flow_of(j).unique_key = "work/k"; });
  CHECK(report(put_jobs(w, {twin})) == "stored");
  auto second = changed({.id = "t2"},
                        [](prepared_job& j) { flow_of(j).group = group_name("g"), flow_of(j).unique_key = "work/k"; });
  CHECK(report(put_jobs(w, {second})) == "duplicate t1");
  CHECK(group_in_words(w, "g") == "2 open, 0 succeeded, 0 failed, 0 deleted");
  audit(w);
}

ON_EACH_STORE("bat-2 Members run before the seal, and nobody is told of an end before it") {
  with_callbacks(w, "g");
  for (int part = 0; part < 3; ++part) {
    names ids;
    for (int i = 0; i < 120; ++i)
      ids.push_back(cat("m", part, "-", i));
    put_members(w, "g", ids);
    end_all(w);
    CHECK(callbacks(w) == "awaiting awaiting awaiting");
  }
  CHECK(group_in_words(w, "g") == "0 open, 360 succeeded, 0 failed, 0 deleted");
  audit(w);
  REQUIRE(seal(w, "g").code == errc::none);
  CHECK(callbacks(w) == "enqueued enqueued deleted");
  audit(w);
}

ON_EACH_STORE("bat-3 A group that is not sealed in time is cancelled") {
  REQUIRE(change_group(w, storage::change_group_request::what::create, {"g"_group, {}, 10min}).code == errc::none);
  put_members(w, "g", {"a"});
  REQUIRE(put_jobs(w, {behind("told", "g", parent_end::deleted)}).each.at(0) == errc::none);
  CHECK(promote(w).next_in == std::optional<duration>(10min));
  w.clock.advance(10min);
  work_off(w);
  CHECK(state(w, "a") == job_state::deleted);
  CHECK(get(w, "a").reason == "its group g was cancelled");
  CHECK(state(w, "told") == job_state::enqueued);
  CHECK(group_in_words(w, "g") == "0 open, 0 succeeded, 0 failed, 1 deleted, cancelled, finished");
  audit(w);
}

ON_EACH_STORE("bat-4 An empty group ends with its seal, and so for the group that it is in") {
  with_callbacks(w, "outer");
  REQUIRE(create(w, "inner", "outer").code == errc::none);
  CHECK(group_in_words(w, "outer") == "1 open, 0 succeeded, 0 failed, 0 deleted");
  REQUIRE(seal(w, "outer").code == errc::none);
  CHECK(callbacks(w) == "awaiting awaiting awaiting");
  audit(w);
  REQUIRE(seal(w, "inner").code == errc::none);
  CHECK(seal(w, "inner").changed == false);
  CHECK(group_in_words(w, "inner") == "0 open, 0 succeeded, 0 failed, 0 deleted, sealed, finished");
  CHECK(group_in_words(w, "outer") == "0 open, 1 succeeded, 0 failed, 0 deleted, sealed, finished");
  CHECK(callbacks(w) == "enqueued enqueued deleted");
  audit(w);
}

ON_EACH_STORE("bat-5 Of the last two members and the seal in one batch, in any order, each is told once") {
  with_callbacks(w, "g");
  put_members(w, "g", {"a", "b"});
  const auto both = claim(w, {.free = 2});
  REQUIRE(both.jobs.size() == 2);
  std::vector<storage::request> batch{
      storage::settle_request{{ended(both.jobs[0].job, how::succeeded)}, {}},
      storage::change_group_request{storage::change_group_request::what::seal, {"g"_group}},
      storage::settle_request{{ended(both.jobs[1].job, how::succeeded)}, {}}};
  std::rotate(batch.begin(), batch.begin() + GENERATE(0, 1, 2), batch.end());
  for (const auto& answer : w.store().apply(batch))
    REQUIRE(code_of(answer) == errc::none);
  CHECK(callbacks(w) == "enqueued enqueued deleted");
  CHECK(get(w, "on-finished").history.empty());
  audit(w);
}

ON_EACH_STORE("bat-6 A member that is retried, deferred, given back or lost is open still") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a"});
  REQUIRE(seal(w, "g").code == errc::none);
  for (const auto by : {how::retry, how::deferred, how::given_back}) {
    REQUIRE(settle(w, claim_one(w), by) == errc::none);
    CHECK(group_in_words(w, "g") == "1 open, 0 succeeded, 0 failed, 0 deleted, sealed");
  }
  (void)claim_one(w);
  lose_all(w);
  CHECK(group_in_words(w, "g") == "1 open, 0 succeeded, 0 failed, 0 deleted, sealed");
  audit(w);
}

ON_EACH_STORE("bat-7 A lost run that is settled late counts nothing") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a"});
  const auto lost = claim_one(w);
  lose_all(w);
  CHECK(settle(w, lost) == errc::stale_fence);
  CHECK(group_in_words(w, "g") == "1 open, 0 succeeded, 0 failed, 0 deleted");
  end(w, "a");
  CHECK(settle(w, lost) == errc::stale_fence);
  CHECK(group_in_words(w, "g") == "0 open, 1 succeeded, 0 failed, 0 deleted");
  audit(w);
}

ON_EACH_STORE("bat-8 A failed member that is requeued while the group is open is open again") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a", "b"});
  end(w, "a", how::failed);
  CHECK(group_in_words(w, "g") == "1 open, 0 succeeded, 1 failed, 0 deleted");
  REQUIRE(requeue(w, "a").code == errc::none);
  CHECK(group_in_words(w, "g") == "2 open, 0 succeeded, 0 failed, 0 deleted");
  audit(w);
}

ON_EACH_STORE("bat-8 After its end a group goes on with a requeued member, and success is told then, once") {
  with_callbacks(w, "g");
  put_members(w, "g", {"a", "b"});
  REQUIRE(seal(w, "g").code == errc::none);
  end(w, "a", how::failed);
  CHECK(callbacks(w) == "awaiting awaiting enqueued");
  for (auto some = claim(w, {.free = 9}); !some.jobs.empty(); some = claim(w, {.free = 9}))
    for (const auto& one : some.jobs)
      REQUIRE(settle(w, one.job) == errc::none);
  CHECK(callbacks(w) == "succeeded deleted succeeded");
  CHECK(get(w, "on-succeeded").reason == "its group g ended as failed");
  audit(w);
  REQUIRE(requeue(w, "a").code == errc::none);
  CHECK(group_in_words(w, "g") == "1 open, 1 succeeded, 0 failed, 0 deleted, sealed");
  CHECK(callbacks(w) == "succeeded awaiting succeeded");
  audit(w);
  end(w, "a");
  CHECK(callbacks(w) == "succeeded enqueued succeeded");
  CHECK(group_in_words(w, "g") == "0 open, 2 succeeded, 0 failed, 0 deleted, sealed, finished");
  audit(w);
}

ON_EACH_STORE("bat-9 A running member adds members behind the seal, and nobody else does") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a"});
  REQUIRE(seal(w, "g").code == errc::none);
  CHECK(report(put_jobs(w, {member("late", "g")})) == "group_closed");
  const auto a = claim_one(w);
  const auto by = [](const job& run, const std::string& id) {
    auto made = member(id, "g");
    flow_of(made).added_by = {run.id, run.fence};
    return made;
  };
  CHECK(report(put_jobs(w, {by(a, "b")})) == "stored");
  CHECK(report(put_jobs(w, {by(a, "b")})) == "same");
  put_all(w, {"stranger"});
  const auto stranger = claim(w, {.free = 2}).jobs.at(1).job;
  CHECK(report(put_jobs(w, {by(stranger, "c")})) == "group_closed");
  REQUIRE(settle(w, a) == errc::none);
  CHECK(report(put_jobs(w, {by(a, "d")})) == "group_closed");
  CHECK(group_in_words(w, "g") == "1 open, 1 succeeded, 0 failed, 0 deleted, sealed");
  audit(w);
}

ON_EACH_STORE("bat-10 A hint that names too many queues still tells that a member is asked to end") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"runs"});
  const auto runs = claim_one(w);
  for (const char n : std::string("123456789")) {
    const auto id = cat("waits-", n);
    put_members(w, "g", {id});
    const auto child = changed({.id = cat("behind-", n), .queue = cat("q", n)}, [&](prepared_job& j) {
      flow_of(j).after.parents = {job_id(id)};
      flow_of(j).after.on = parent_end::deleted;
    });
    REQUIRE(put_jobs(w, {child}).each.at(0) == errc::none);
  }
  REQUIRE(cancel_group(w, "g").code == errc::none);
  promote(w);
  const auto hint = w.store().made_work();
  CHECK(hint.all_queues);
  CHECK(hint.cancels);
  CHECK(state(w, "behind-9") == job_state::enqueued);
  REQUIRE(settle(w, runs, how::failed) == errc::none);
  work_off(w);
  audit(w);
}

ON_EACH_STORE("bat-10 No member of a cancelled group starts, those that wait are deleted, and its end is told") {
  with_callbacks(w, "g");
  put_members(w, "g", {"a", "b", "c"});
  auto later = member("later", "g");
  later.delay = 1h;
  REQUIRE(put_jobs(w, {later}).each.at(0) == errc::none);
  const auto a = claim_one(w);
  REQUIRE(cancel_group(w, "g").code == errc::none);
  CHECK(cancel_group(w, "g").changed == false);
  CHECK(claim(w, {.free = 9}).jobs.empty());  // before promote has come to them
  CHECK(state(w, "b") == job_state::deleted);
  CHECK(report(put_jobs(w, {member("d", "g")})) == "group_closed");
  work_off(w);
  CHECK(state(w, "c") == job_state::deleted);
  CHECK(state(w, "later") == job_state::deleted);
  CHECK(callbacks(w) == "awaiting awaiting awaiting");
  audit(w);
  REQUIRE(settle(w, a) == errc::none);
  CHECK(callbacks(w) == "enqueued deleted deleted");
  CHECK(requeue(w, "b").code == errc::illegal_transition);
  CHECK(seal(w, "g").code == errc::illegal_transition);
  audit(w);
}

ON_EACH_STORE("bat-10 A group in a cancelled one is cancelled, and a cancelled one in it leaves the outer as it is") {
  REQUIRE(create(w, "outer").code == errc::none);
  REQUIRE(create(w, "left", "outer").code == errc::none);
  REQUIRE(create(w, "right", "outer").code == errc::none);
  put_members(w, "left", {"l"});
  put_members(w, "right", {"r"});
  put_members(w, "outer", {"o"});
  REQUIRE(cancel_group(w, "left").code == errc::none);
  work_off(w);
  CHECK(state(w, "l") == job_state::deleted);
  CHECK(group_in_words(w, "outer") == "2 open, 0 succeeded, 0 failed, 1 deleted");
  audit(w);
  REQUIRE(cancel_group(w, "outer").code == errc::none);
  CHECK(report(put_jobs(w, {member("r2", "right")})) == "group_closed");
  CHECK(claim(w, {.free = 9}).jobs.empty());
  work_off(w);
  CHECK(state(w, "r") == job_state::deleted);
  CHECK(group_in_words(w, "right") == "0 open, 0 succeeded, 0 failed, 1 deleted, cancelled, finished");
  CHECK(group_in_words(w, "outer") == "0 open, 0 succeeded, 0 failed, 3 deleted, cancelled, finished");
  audit(w);
}

ON_EACH_STORE("bat-11 Of a cancel and the last end, in either order, each is told once") {
  with_callbacks(w, "g");
  put_members(w, "g", {"a"});
  REQUIRE(seal(w, "g").code == errc::none);
  const auto a = claim_one(w);
  std::vector<storage::request> batch{
      storage::settle_request{{ended(a, how::succeeded)}, {}},
      storage::change_group_request{storage::change_group_request::what::cancel, {"g"_group}}};
  const bool cancel_first = GENERATE(true, false);
  if (cancel_first) std::swap(batch[0], batch[1]);
  w.store().apply(batch);
  work_off(w);
  CHECK(callbacks(w) == (cancel_first ? "enqueued deleted deleted" : "enqueued enqueued deleted"));
  audit(w);
}

ON_EACH_STORE("bat-12 A group stays until nobody who was in it or waits for it is stored") {
  with_callbacks(w, "g");
  put_members(w, "g", {"a"});
  REQUIRE(seal(w, "g").code == errc::none);
  end(w, "a");
  REQUIRE(settle(w, claim_one(w), how::retry, 100h) == errc::none);  // one of its callbacks
  end_all(w);
  w.clock.advance(25h);
  work_off(w);
  CHECK(group_now(w, "g").has_value());
  retention_options soon;
  soon.succeeded.age = soon.failed.age = soon.deleted.age = 1s;
  ask(w, storage::prune_request{soon});
  w.clock.advance(25h);
  work_off(w);
  CHECK(group_now(w, "g").has_value());  // the callback is not final
  audit(w);
  w.clock.advance(100h);
  work_off(w);
  end_all(w);
  w.clock.advance(25h);
  ask(w, storage::prune_request{soon});
  work_off(w);
  w.clock.advance(25h);
  work_off(w);
  CHECK_FALSE(group_now(w, "g").has_value());
  audit(w);
}

ON_EACH_STORE("bat-13 A pruned or deleted member keeps its count") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a", "b", "c"});
  end(w, "a");
  REQUIRE(remove(w, "b").code == errc::none);
  retention_options soon;
  soon.succeeded.age = soon.deleted.age = 1s;
  w.clock.advance(1min);
  CHECK(ask(w, storage::prune_request{soon}).removed == 2);
  CHECK(group_in_words(w, "g") == "1 open, 1 succeeded, 0 failed, 1 deleted");
  audit(w);
}

ON_EACH_STORE("bat-14 Success may wait for the job that is told of the end") {
  with_callbacks(w, "g");
  put_members(w, "g", {"a"});
  auto last = behind("last", "g", parent_end::succeeded);
  flow_of(last).after.parents = {job_id("on-finished")};
  REQUIRE(put_jobs(w, {last}).each.at(0) == errc::none);
  REQUIRE(seal(w, "g").code == errc::none);
  end(w, "a");
  CHECK(state(w, "last") == job_state::awaiting);
  end_all(w);
  CHECK(state(w, "last") == job_state::succeeded);
  audit(w);
}

ON_EACH_STORE("dag-4 Between two steps an empty group lets the join run") {
  put_all(w, {"first"});
  REQUIRE(create(w, "fan").code == errc::none);
  auto join = behind("join", "fan", parent_end::succeeded);
  flow_of(join).after.parents = {job_id("first")};
  REQUIRE(put_jobs(w, {join}).each.at(0) == errc::none);
  REQUIRE(seal(w, "fan").code == errc::none);
  end(w, "first");
  CHECK(state(w, "join") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("dag-5 Many gather by the counts of a group, whose last end is one short step") {
  REQUIRE(create(w, "g").code == errc::none);
  for (int part = 0; part < 20; ++part) {
    names ids;
    for (int i = 0; i < 100; ++i)
      ids.push_back(cat(part, "-", i));
    put_members(w, "g", ids);
  }
  REQUIRE(put_jobs(w, {behind("join", "g", parent_end::succeeded)}).each.at(0) == errc::none);
  REQUIRE(seal(w, "g").code == errc::none);
  end_all(w);
  CHECK(state(w, "join") == job_state::succeeded);
  CHECK(group_in_words(w, "g") == "0 open, 2000 succeeded, 0 failed, 0 deleted, sealed, finished");
}

ON_EACH_STORE("A group has one name, and what cannot be made of it is said") {
  REQUIRE(create(w, "g").code == errc::none);
  CHECK(create(w, "g").changed == false);
  REQUIRE(create(w, "outer").code == errc::none);
  CHECK(create(w, "g", "outer").code == errc::illegal_transition);
  CHECK(create(w, "h", "nowhere").code == errc::not_found);
  CHECK(seal(w, "nowhere").code == errc::not_found);
  CHECK(report(put_jobs(w, {member("a", "nowhere")})) == "not_found");
  CHECK(report(put_jobs(w, {behind("b", "nowhere", parent_end::finished)})) == "not_found");
  REQUIRE(seal(w, "outer").code == errc::none);
  CHECK(create(w, "h", "outer").code == errc::group_closed);
  CHECK(cancel_group(w, "outer").code == errc::illegal_transition);
  CHECK(w.ask<storage::groups_answer>(storage::groups_request{{}, 1}).page.next == "g");
  CHECK(w.ask<storage::groups_answer>(storage::groups_request{{}, 1, "g"}).page.groups.at(0).name.value == "outer");
  audit(w);
}

ON_EACH_STORE("Who waits for a group that has ended is told in its own step") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a"});
  end(w, "a", how::failed);
  CHECK(put_jobs(w, {behind("at-once", "g", parent_end::first_failure)}).each.at(0) == errc::none);
  CHECK(state(w, "at-once") == job_state::enqueued);
  REQUIRE(seal(w, "g").code == errc::none);
  CHECK(put_jobs(w, {behind("then", "g", parent_end::failed)}).each.at(0) == errc::none);
  CHECK(state(w, "then") == job_state::enqueued);
  CHECK(put_jobs(w, {behind("never", "g", parent_end::succeeded)}).each.at(0) == errc::none);
  CHECK(state(w, "never") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("bat-10 Of members of a cancelled group none is given the permit of another") {
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  REQUIRE(create(w, "g").code == errc::none);
  const auto holder = holding(w, "holder", {"semaphore:s"});
  put_members(w, "g", {"a", "b"});
  for (int i = 0; i < 2; ++i)
    REQUIRE(take(w, claim_one(w), {"semaphore:s"}).starts_with("parked "));
  REQUIRE(settle(w, holder) == errc::none);  // the permit is reserved for one of them now
  REQUIRE(cancel_group(w, "g").code == errc::none);
  work_off(w);
  CHECK(state(w, "a") == job_state::deleted);
  CHECK(state(w, "b") == job_state::deleted);
  CHECK(holders(w, "semaphore:s").empty());
  audit(w);
}

ON_EACH_STORE("bat-10 A member of a cancelled group that was deleted as unmet does not await its parent again") {
  put_all(w, {"p"});
  REQUIRE(create(w, "g").code == errc::none);
  auto child = member("c", "g");
  flow_of(child).after.parents = {job_id("p")};
  REQUIRE(put_jobs(w, {child, member("open", "g")}).each == std::vector<errc>(2, errc::none));
  end(w, "p", how::failed);
  REQUIRE(cancel_group(w, "g").code == errc::none);
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(state(w, "c") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("bat-10 Who comes to a permit that a cancelled member has had goes on") {
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  REQUIRE(create(w, "g").code == errc::none);
  const auto holder = holding(w, "holder", {"semaphore:s"});
  put_members(w, "g", {"a"});
  REQUIRE(take(w, claim_one(w), {"semaphore:s"}).starts_with("parked "));
  REQUIRE(settle(w, holder) == errc::none);
  put_all(w, {"new"});
  REQUIRE(cancel_group(w, "g").code == errc::none);
  const claim_words words{.free = 2, .permits = {{"work", {{"semaphore:s"}, true}}}};
  CHECK(ids(claim(w, words)) == names{});  // it looks while that one has the permit still
  CHECK(state(w, "a") == job_state::deleted);
  CHECK(ids(claim(w, words)) == names{"new"});
  audit(w);
}

ON_EACH_STORE("bat-10 A member that is released by the step that would claim it does not start in a cancelled group") {
  REQUIRE(create(w, "g").code == errc::none);
  put_all(w, {"p"});
  auto c = member("c", "g");
  flow_of(c).after.parents = {job_id("p")};
  REQUIRE(put_jobs(w, {c}).each.at(0) == errc::none);
  const auto p = claim_one(w);
  REQUIRE(cancel_group(w, "g").code == errc::none);
  const auto told = ask(w, storage::settle_request{{ended(p, how::succeeded)}, claiming({.free = 1})});
  CHECK(told.next.jobs.empty());
  CHECK(state(w, "c") == job_state::deleted);
  work_off(w);
  audit(w);
}

ON_EACH_STORE("Nobody waits for the group that it is in, also by way of others") {
  REQUIRE(create(w, "outer").code == errc::none);
  REQUIRE(create(w, "inner", "outer").code == errc::none);
  auto in_inner = behind("a", "outer", parent_end::finished);
  flow_of(in_inner).group = "inner"_group;
  CHECK(report(put_jobs(w, {in_inner})) == "invalid_argument");
  REQUIRE(put_jobs(w, {behind("x", "outer", parent_end::finished)}).each.at(0) == errc::none);
  auto by_way = member("y", "outer");
  flow_of(by_way).after.parents = {job_id("x")};
  CHECK(report(put_jobs(w, {by_way})) == "invalid_argument");
  CHECK(group_in_words(w, "outer") == "1 open, 0 succeeded, 0 failed, 0 deleted");
  audit(w);
}

ON_EACH_STORE("Groups are in each other sixteen deep at most") {
  REQUIRE(create(w, "g0").code == errc::none);
  for (int i = 1; i < 16; ++i)
    REQUIRE(create(w, cat("g", i), cat("g", i - 1)).code == errc::none);
  CHECK(create(w, "g16", "g15").code == errc::invalid_argument);
  audit(w);
}

ON_EACH_STORE("A parent that runs again does not bring back the members of a cancelled group") {
  REQUIRE(create(w, "g").code == errc::none);
  put_all(w, {"p"});
  auto c = member("c", "g");
  flow_of(c).after.parents = {job_id("p")};
  REQUIRE(put_jobs(w, {c}).each.at(0) == errc::none);
  end(w, "p", how::failed);
  CHECK(state(w, "c") == job_state::deleted);
  REQUIRE(cancel_group(w, "g").code == errc::none);
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(state(w, "c") == job_state::deleted);
  CHECK(group_in_words(w, "g") == "0 open, 0 succeeded, 0 failed, 1 deleted, cancelled, finished");
  audit(w);
}
