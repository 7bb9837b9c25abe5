// Jobs that the end of another carries: stored in its step.
#include "storage/flow_words.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

storage::settlement carrying(const job& j, std::vector<prepared_job> next, how by = how::succeeded) {
  auto end = ended(j, by);
  end.next = std::move(next);
  return end;
}

}  // namespace

ON_EACH_STORE("dag-6 An end carries jobs, which are stored in its step and once") {
  put_all(w, {"a"});
  const auto a = claim_one(w);
  auto later = changed({.id = "later", .delay = 1h}, [](prepared_job&) {});
  const auto end = carrying(a, {prepared({.id = "b"}), later});
  REQUIRE(settle(w, end) == errc::none);
  CHECK(w.store().made_work().queues.contains("default"));
  CHECK(state(w, "a") == job_state::succeeded);
  CHECK(state(w, "b") == job_state::enqueued);
  CHECK(state(w, "later") == job_state::scheduled);
  audit(w);
  REQUIRE(settle(w, end) == errc::none);  // it is told again
  CHECK(list(w).size() == 3);
  audit(w);
}

ON_EACH_STORE("A failed, a retried and a stale end store none of the jobs that they carry") {
  put_all(w, {"a"});
  for (const auto by : {how::retry, how::given_back, how::failed})
    REQUIRE(settle(w, carrying(claim_one(w), {prepared({.id = "b"})}, by)) == errc::none);
  put_all(w, {"c"});
  const auto lost = claim_one(w);
  lose_all(w);
  CHECK(settle(w, carrying(lost, {prepared({.id = "b"})})) == errc::stale_fence);
  CHECK_FALSE(look(w, "b").found.has_value());
  audit(w);
}

ON_EACH_STORE("A carried job that cannot be stored leaves the end as it is, and the reason tells of it") {
  put_all(w, {"a", "taken"});
  const auto a = claim_one(w);
  auto orphan = changed({.id = "orphan"}, [](prepared_job& j) { flow_of(j).after.parents = {job_id("nobody")}; });
  REQUIRE(settle(w, carrying(a, {prepared({.id = "taken", .args = "[]"}), orphan, prepared({.id = "b"})})) ==
          errc::none);
  CHECK(state(w, "a") == job_state::succeeded);
  CHECK(get(w, "a").result == "42");
  CHECK(get(w, "a").reason ==
        "job taken, which it carried, was not stored: another has its id; job orphan, which it "
        "carried, was not stored: its parent is not in the store: nobody");
  CHECK(state(w, "b") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("dag-6 A carried job holds its carrier's group open, and may run after the carrier") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a"});
  REQUIRE(put_jobs(w, {behind("told", "g", parent_end::succeeded)}).each.at(0) == errc::none);
  REQUIRE(seal(w, "g").code == errc::none);
  const auto a = claim_one(w);
  auto b = member("b", "g");
  flow_of(b).added_by = {a.id, a.fence};
  flow_of(b).after.parents = {a.id};
  REQUIRE(settle(w, carrying(a, {b})) == errc::none);
  CHECK(state(w, "told") == job_state::awaiting);
  CHECK(group_in_words(w, "g") == "1 open, 1 succeeded, 0 failed, 0 deleted, sealed");
  work_off(w);
  audit(w);
  end(w, "b");
  CHECK(state(w, "told") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("Ends that carry jobs and others come in one request, and each is stored") {
  put_all(w, {"a", "b", "c"});
  const auto all = claim(w, {.free = 3});
  REQUIRE(all.jobs.size() == 3);
  storage::settle_request ends;
  ends.runs = {ended(all.jobs[0].job, how::succeeded), carrying(all.jobs[1].job, {prepared({.id = "d"})}),
               ended(all.jobs[2].job, how::failed)};
  ends.next = claiming({.free = 5});
  const auto told = ask(w, ends);
  CHECK(told.each == std::vector<errc>(3, errc::none));
  REQUIRE(told.next.jobs.size() == 1);
  CHECK(told.next.jobs[0].job.id.value == "d");
  CHECK(state(w, "c") == job_state::failed);
  audit(w);
}

ON_EACH_STORE("A carried job may have the unique key of its carrier") {
  const auto keyed = [](const std::string& id) {
    return changed({.id = id}, [](prepared_job& j) { flow_of(j).unique_key = "work/k"; });
  };
  REQUIRE(put_jobs(w, {keyed("a")}).each.at(0) == errc::none);
  REQUIRE(settle(w, carrying(claim_one(w), {keyed("b")})) == errc::none);
  CHECK(state(w, "b") == job_state::enqueued);
  CHECK(report(put_jobs(w, {keyed("c")})) == "duplicate b");
  audit(w);
}

ON_EACH_STORE("A job that is carried into an empty store and claimed by the same step has its times and its key") {
  put_all(w, {"a"});
  auto b = changed({.id = "b"}, [](prepared_job& j) {
    flow_of(j).finish_within = 1min;
    flow_of(j).unique_key = "work/k";
    flow_of(j).unique.until = unique_until::start;
  });
  storage::settle_request ends{{carrying(claim_one(w), {b})}, claiming({.free = 1})};
  const auto told = ask(w, ends);
  REQUIRE(told.next.jobs.size() == 1);
  CHECK(told.next.jobs[0].finish_in == std::optional<duration>(1min));
  auto c = changed({.id = "c"}, [](prepared_job& j) { flow_of(j).unique_key = "work/k"; });
  CHECK(report(put_jobs(w, {c})) == "stored");
  audit(w);
}
