// Jobs that run after others. The names of the scenarios begin with the corner cases that they are about.
#include "storage/flow_words.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

struct after_words {
  names parents;
  parent_end on = parent_end::succeeded;
  when_unmet unless = when_unmet::remove;
  std::uint32_t need = 0;
  when_missing missing = when_missing::refuse;
};

prepared_job child(const job_words& words, const after_words& after) {
  auto made = prepared(words);
  for (const auto& parent : after.parents)
    flow_of(made).after.parents.emplace_back(parent);
  flow_of(made).after.on = after.on;
  flow_of(made).after.unless = after.unless;
  flow_of(made).after.need = after.need;
  flow_of(made).after.missing = after.missing;
  return made;
}
storage::enqueue_answer put_after(world& w, const job_words& words, const after_words& after) {
  return ask(w, storage::enqueue_request{{child(words, after)}});
}
// Which must be stored.
void put_child(world& w, const std::string& id, const after_words& after) {
  REQUIRE(put_after(w, {.id = id}, after).each.at(0) == errc::none);
}

std::vector<parent_state> parents(world& w, const std::string& id) {
  return w.ask<storage::parents_answer>(storage::parents_request{job_id(id)}).parents;
}
names awaited(world& w, const std::string& id) {
  names open;
  for (const auto& parent : w.ask<storage::explain_answer>(storage::explain_request{job_id(id)}).open_parents)
    open.push_back(parent.value);
  return open;
}

}  // namespace

ON_EACH_STORE("con: a child awaits its parent and is enqueued by the step that ends it") {
  put_all(w, {"p"});
  put_child(w, "c", {.parents = {"p"}});
  CHECK(state(w, "c") == job_state::awaiting);
  CHECK(awaited(w, "c") == names{"p"});
  CHECK(queues(w).at(0).awaiting == 1);
  audit(w);
  end(w, "p");
  CHECK(w.store().made_work().queues.contains("default"));
  CHECK(state(w, "c") == job_state::enqueued);
  audit(w);
  const auto told = parents(w, "c");
  REQUIRE(told.size() == 1);
  CHECK(told[0].id.value == "p");
  CHECK(told[0].state == job_state::succeeded);
  CHECK(told[0].result == "42");
  CHECK(told[0].met == true);
  end(w, "c");
  CHECK(parents(w, "c").empty());
  audit(w);
}

ON_EACH_STORE("con-1 A child of a parent that has ended is enqueued, or ends as its unless says, in its own step") {
  put_all(w, {"good", "bad"});
  end(w, "good");
  end(w, "bad", how::failed);
  put_child(w, "runs", {.parents = {"good"}});
  CHECK(w.store().made_work().queues.contains("default"));
  CHECK(state(w, "runs") == job_state::enqueued);
  put_child(w, "goes", {.parents = {"bad"}});
  CHECK(state(w, "goes") == job_state::deleted);
  CHECK(get(w, "goes").reason == "its parent bad ended as failed");
  CHECK(get(w, "goes").history.at(0).cause == "unmet");
  put_child(w, "all-the-same", {.parents = {"bad"}, .unless = when_unmet::run});
  CHECK(state(w, "all-the-same") == job_state::enqueued);
  put_child(w, "stays", {.parents = {"bad"}, .unless = when_unmet::keep});
  CHECK(state(w, "stays") == job_state::awaiting);
  put_child(w, "wants-that", {.parents = {"bad"}, .on = parent_end::failed});
  CHECK(state(w, "wants-that") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("con-2 Of a parent that ends as a child is added, in either order, the child is released once") {
  put_all(w, {"p"});
  const auto p = claim_one(w);
  const bool child_first = GENERATE(true, false);
  storage::settle_request ends{{ended(p, how::succeeded)}, {}};
  storage::enqueue_request adds{{child({.id = "c"}, {.parents = {"p"}})}};
  std::vector<storage::request> both;
  if (child_first) both = {adds, ends};
  else both = {ends, adds};
  for (const auto& answer : w.store().apply(both))
    REQUIRE(code_of(answer) == errc::none);
  CHECK(state(w, "c") == job_state::enqueued);
  CHECK(ids(claim(w, {.free = 5})) == names{"c"});
  audit(w);
}

ON_EACH_STORE("con-3 What a parent with many children still owes is worked off by promote, and nobody is forgotten") {
  put_all(w, {"p"});
  storage::enqueue_request many;
  for (int i = 0; i < 700; ++i)
    many.jobs.push_back(child({.id = "c" + std::to_string(i)}, {.parents = {"p"}}));
  for (const auto code : ask(w, many).each)
    REQUIRE(code == errc::none);
  end(w, "p");
  CHECK(w.store().made_work().timers);
  auto counts = queues(w).at(0);
  CHECK(counts.enqueued == 80);
  CHECK(counts.awaiting == 620);
  audit(w);  // ended and owing is a legal state
  CHECK(work_off(w) >= 2);
  counts = queues(w).at(0);
  CHECK(counts.enqueued == 700);
  CHECK(counts.awaiting == 0);
  audit(w);
}

ON_EACH_STORE("con-4 A parent that is retried, given back, lost or deferred has not ended") {
  put_all(w, {"p"});
  put_child(w, "c", {.parents = {"p"}, .on = parent_end::finished});
  for (const auto by : {how::retry, how::given_back, how::deferred}) {
    end(w, "p", by);
    CHECK(state(w, "c") == job_state::awaiting);
  }
  claim_one(w);
  lose_all(w);
  CHECK(state(w, "c") == job_state::awaiting);
  audit(w);
}

ON_EACH_STORE("con-4 A parent that fails by its losses lets children go that want that") {
  put_all(w, {"p"});
  put_child(w, "wants-that", {.parents = {"p"}, .on = parent_end::failed});
  put_child(w, "does-not", {.parents = {"p"}});
  claim_one(w);
  lose_all(w, 30s, 1);
  CHECK(state(w, "p") == job_state::failed);
  CHECK(state(w, "wants-that") == job_state::enqueued);
  CHECK(state(w, "does-not") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("con-5 A person deletes the parent") {
  put_all(w, {"p"});
  const bool running = GENERATE(false, true);
  if (running) claim_one(w);
  put_child(w, "on-deleted", {.parents = {"p"}, .on = parent_end::deleted});
  put_child(w, "on-finished", {.parents = {"p"}, .on = parent_end::finished});
  put_child(w, "on-success", {.parents = {"p"}});
  REQUIRE(remove(w, "p").code == errc::none);
  CHECK(w.store().made_work().queues.contains("default"));
  CHECK(state(w, "on-deleted") == job_state::enqueued);
  CHECK(state(w, "on-finished") == job_state::enqueued);
  CHECK(state(w, "on-success") == job_state::deleted);
  audit(w);
}

TEMPLATE_TEST_CASE("con-5 A parent that goes to quarantine counts as failed", "[contract]", harmed_file_world,
                   harmed_redis_world) {
  TestType w;
  put_all(w, {"p"});
  put_child(w, "on-failed", {.parents = {"p"}, .on = parent_end::failed});
  put_child(w, "on-success", {.parents = {"p"}});
  w.command({"HSET", "jobs", "p", "no record"});
  CHECK(claim(w, {.free = 5}).jobs.empty());
  work_off(w);
  CHECK(state(w, "on-failed") == job_state::enqueued);
  CHECK(state(w, "on-success") == job_state::deleted);
  CHECK(put_after(w, {.id = "later"}, {.parents = {"p"}, .on = parent_end::failed}).each.at(0) == errc::none);
  CHECK(state(w, "later") == job_state::enqueued);
}

ON_EACH_STORE("con-6 A parent that is not there refuses the child, or counts as is said") {
  put_all(w, {"p"});
  const auto refused = put_after(w, {.id = "c"}, {.parents = {"p", "nobody"}});
  CHECK(refused.each.at(0) == errc::not_found);
  CHECK(refused.notes.at(0).about == "nobody");
  CHECK(look(w, "c").code == errc::not_found);
  REQUIRE(put_after(w, {.id = "runs"}, {.parents = {"nobody"}, .missing = when_missing::met}).each.at(0) == errc::none);
  CHECK(state(w, "runs") == job_state::enqueued);
  REQUIRE(put_after(w, {.id = "goes"}, {.parents = {"p", "nobody"}, .missing = when_missing::unmet}).each.at(0) ==
          errc::none);
  CHECK(state(w, "goes") == job_state::deleted);
  CHECK(get(w, "goes").reason == "its parent nobody is not there");
  REQUIRE(put_after(w, {.id = "waits"}, {.parents = {"p", "nobody"}, .missing = when_missing::met}).each.at(0) ==
          errc::none);
  CHECK(awaited(w, "waits") == names{"p"});
  audit(w);
  REQUIRE(remove(w, "p").code == errc::none);
  CHECK(state(w, "waits") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("con-7 A child is released into a paused queue and waits there") {
  put_all(w, {"p"});
  REQUIRE(put_after(w, {.id = "c", .queue = "other"}, {.parents = {"p"}}).each.at(0) == errc::none);
  pause(w, "other");
  end(w, "p");
  CHECK(state(w, "c") == job_state::enqueued);
  CHECK(claim(w, {.queue = "other"}).jobs.empty());
  pause(w, "other", false);
  CHECK(ids(claim(w, {.queue = "other"})) == names{"c"});
  audit(w);
}

ON_EACH_STORE("con-8 A delay counts from the release") {
  put_all(w, {"p"});
  REQUIRE(put_after(w, {.id = "c", .delay = 1h}, {.parents = {"p"}}).each.at(0) == errc::none);
  CHECK(state(w, "c") == job_state::awaiting);
  w.clock.advance(2h);
  promote(w);
  CHECK(state(w, "c") == job_state::awaiting);
  end(w, "p");
  CHECK(w.store().made_work().timers);
  CHECK(state(w, "c") == job_state::scheduled);
  w.clock.advance(59min);
  CHECK(promote(w).moved == 0);
  w.clock.advance(1min);
  CHECK(promote(w).moved == 1);
  CHECK(state(w, "c") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("con-9 A child that was deleted is left alone by its parent's end, and a person may release one") {
  put_all(w, {"p"});
  put_child(w, "gone", {.parents = {"p"}});
  put_child(w, "early", {.parents = {"p"}});
  REQUIRE(remove(w, "gone").code == errc::none);
  REQUIRE(requeue(w, "early").code == errc::none);
  CHECK(state(w, "early") == job_state::enqueued);
  audit(w);
  end(w, "p");
  CHECK(state(w, "gone") == job_state::deleted);
  CHECK(ids(claim(w, {.free = 5})) == names{"early"});
  audit(w);
}

ON_EACH_STORE("con-10 The same enqueue again is one job with one set of parents, whatever came between") {
  put_all(w, {"p", "q"});
  const after_words both{.parents = {"p", "q"}};
  put_child(w, "c", both);
  put_child(w, "c", both);
  end(w, "p");
  put_child(w, "c", both);
  CHECK(awaited(w, "c") == names{"q"});
  end(w, "q");
  put_child(w, "c", both);
  CHECK(ids(claim(w, {.free = 5})) == names{"c"});
  CHECK(put_after(w, {.id = "c", .args = "[1]"}, both).each.at(0) == errc::id_conflict);
  audit(w);
}

ON_EACH_STORE("con-11 Children that ended as unmet await their parent again when it is requeued") {
  put_all(w, {"p", "other"});
  put_child(w, "c", {.parents = {"p"}});
  put_child(w, "of-the-child", {.parents = {"c"}});
  put_child(w, "of-both", {.parents = {"p", "other"}});
  end(w, "p", how::failed);
  for (const auto* id : {"c", "of-the-child", "of-both"})
    CHECK(state(w, id) == job_state::deleted);
  audit(w);
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(state(w, "c") == job_state::awaiting);
  CHECK(awaited(w, "of-both") == names{"p", "other"});
  CHECK(state(w, "of-the-child") == job_state::deleted);  // its own parent is not requeued
  audit(w);
  end(w, "other");
  end(w, "p");
  CHECK(ids(claim(w, {.free = 5})) == names{"c", "of-both"});
  audit(w);
}

ON_EACH_STORE("con-11 A child of two that ended otherwise awaits them only when enough can still end as it wants") {
  put_all(w, {"p", "q"});
  put_child(w, "c", {.parents = {"p", "q"}});
  end(w, "p", how::failed);
  end(w, "q", how::failed);
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(state(w, "c") == job_state::deleted);
  audit(w);
  end(w, "p");
  CHECK(state(w, "c") == job_state::deleted);
  REQUIRE(requeue(w, "q").code == errc::none);
  CHECK(state(w, "c") == job_state::awaiting);
  CHECK(awaited(w, "c") == names{"q"});
  audit(w);
  end(w, "q");
  CHECK(state(w, "c") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("con-11 A child of a job and of its group awaits both again when that job is requeued") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"m", "x"});
  auto c = changed({.id = "c"}, [](prepared_job& j) {
    flow_of(j).after.parents = {job_id("m")};
    flow_of(j).after.groups = {group_name("g")};
    flow_of(j).after.on = parent_end::failed;
    flow_of(j).after.need = 1;
  });
  REQUIRE(put_jobs(w, {c}).each.at(0) == errc::none);
  REQUIRE(seal(w, "g").code == errc::none);
  end(w, "m");
  end(w, "x");
  REQUIRE(state(w, "c") == job_state::deleted);
  REQUIRE(requeue(w, "m").code == errc::none);
  CHECK(awaited(w, "c") == names{"m", "@g"});
  audit(w);
  REQUIRE(requeue(w, "x").code == errc::none);
  end(w, "m");
  CHECK(state(w, "c") == job_state::awaiting);
  end(w, "x", how::failed);
  CHECK(state(w, "c") == job_state::enqueued);  // its group has failed
  audit(w);
}

ON_EACH_STORE("con-11 A person's requeue of an unmet child is a release, and its parents have no say any more") {
  put_all(w, {"p"});
  put_child(w, "c", {.parents = {"p"}});
  end(w, "p", how::failed);
  REQUIRE(requeue(w, "c").code == errc::none);
  CHECK(state(w, "c") == job_state::enqueued);
  audit(w);
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(state(w, "c") == job_state::enqueued);
  end(w, "c");
  end(w, "p");
  CHECK(state(w, "c") == job_state::succeeded);
  audit(w);
}

namespace {

// Children of p, which is deleted or fails.
void put_many(world& w, int count) {
  for (int from = 0; from < count; from += 100) {
    storage::enqueue_request some;
    for (int i = from; i < std::min(from + 100, count); ++i)
      some.jobs.push_back(child({.id = "c" + std::to_string(i)}, {.parents = {"p"}}));
    for (const auto code : ask(w, some).each)
      REQUIRE(code == errc::none);
  }
}

}  // namespace

ON_EACH_STORE("con-11 Many children that ended as unmet await their parent again, however soon that ends") {
  put_all(w, {"p"});
  put_many(w, 700);
  end(w, "p", how::failed);
  work_off(w);
  CHECK(queues(w).at(0).deleted == 700);
  audit(w);
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(queues(w).at(0).awaiting == 80);
  audit(w);
  end(w, "p");
  work_off(w);
  CHECK(queues(w).at(0).enqueued == 700);
  audit(w);
}

ON_EACH_STORE("con-11 A parent that is requeued before all children were told tells them its next end") {
  put_all(w, {"p"});
  put_many(w, 700);
  REQUIRE(remove(w, "p").code == errc::none);
  CHECK(queues(w).at(0).deleted == 81);
  REQUIRE(requeue(w, "p").code == errc::none);
  work_off(w);
  CHECK(queues(w).at(0).awaiting == 700);
  put_child(w, "late", {.parents = {"p"}});
  audit(w);
  end(w, "p");
  work_off(w);
  CHECK(queues(w).at(0).enqueued == 701);
  audit(w);
}

ON_EACH_STORE("con-11 The first end of a parent stands when it is deleted behind it") {
  put_all(w, {"p"});
  put_many(w, 700);
  end(w, "p");
  REQUIRE(remove(w, "p").code == errc::none);
  work_off(w);
  CHECK(queues(w).at(0).enqueued == 700);
  audit(w);
}

ON_EACH_STORE("con-12 A released child is not taken back when its parent is requeued") {
  put_all(w, {"p"});
  put_child(w, "c", {.parents = {"p"}});
  end(w, "p");
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(state(w, "c") == job_state::enqueued);
  const auto both = claim(w, {.free = 5});
  REQUIRE(ids(both) == names{"c", "p"});
  REQUIRE(settle(w, both.jobs[1].job, how::failed) == errc::none);
  REQUIRE(settle(w, both.jobs[0].job) == errc::none);
  CHECK(state(w, "c") == job_state::succeeded);
  audit(w);
}

ON_EACH_STORE("con-13 The end of a line of children goes down it without a long step") {
  put_all(w, {"c0"});
  constexpr int length = 2'000;
  for (int from = 1; from < length; from += 100) {
    storage::enqueue_request some;
    for (int i = from; i < from + 100 && i < length; ++i)
      some.jobs.push_back(child({.id = "c" + std::to_string(i)}, {.parents = {"c" + std::to_string(i - 1)}}));
    for (const auto code : ask(w, some).each)
      REQUIRE(code == errc::none);
  }
  REQUIRE(remove(w, "c0").code == errc::none);
  CHECK(queues(w).at(0).deleted <= 251);
  CHECK(work_off(w) >= 7);
  CHECK(queues(w).at(0).deleted == length);
  CHECK(queues(w).at(0).awaiting == 0);
}

ON_EACH_STORE("con-14 A parent stays in the store until its children have ended") {
  put_all(w, {"p", "plain"});
  end(w, "p");
  end(w, "plain");
  put_child(w, "c", {.parents = {"p"}});
  w.clock.advance(48h);
  storage::prune_request prune;
  prune.retention.succeeded.age = 24h;
  CHECK(ask(w, prune).removed == 1);
  CHECK(look(w, "plain").code == errc::not_found);
  CHECK(parents(w, "c").at(0).result == "42");
  audit(w);
  end(w, "c");
  CHECK(ask(w, prune).removed == 1);
  CHECK(look(w, "p").code == errc::not_found);
  w.clock.advance(48h);
  CHECK(ask(w, prune).removed == 1);
  audit(w);
}

ON_EACH_STORE("con-14 A parent in a group that is removed with more unmet children than a step tells leaves nothing") {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"p"});
  std::vector<prepared_job> children;
  for (int i = 0; i < 200; ++i)
    children.push_back(changed({.id = "c" + std::to_string(i)}, [](prepared_job& j) {
      flow_of(j).after.parents = {job_id("p")};
      flow_of(j).after.on = parent_end::failed;
    }));
  for (const auto code : put_jobs(w, std::move(children)).each)
    REQUIRE(code == errc::none);
  end(w, "p");
  work_off(w);
  CHECK(counts(w).deleted == 200);
  w.clock.advance(48h);
  storage::prune_request prune;
  prune.retention.succeeded.age = 1s;
  prune.retention.deleted.age = 1s;
  CHECK(ask(w, prune).removed == 201);
  audit(w);
  put_all(w, {"p"});  // another life, in no group
  end(w, "p");
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(group_in_words(w, "g").starts_with("0 open, 1 succeeded"));
  audit(w);
}

ON_EACH_STORE("con-14 A parent whose unmet child is left may be removed, and the child then") {
  put_all(w, {"p"});
  put_child(w, "c", {.parents = {"p"}});
  end(w, "p", how::failed);
  w.clock.advance(48h);
  storage::prune_request prune;
  prune.retention.failed.age = 24h;
  prune.retention.deleted.age.reset();
  prune.retention.deleted.count.reset();
  CHECK(ask(w, prune).removed == 1);
  audit(w);
  REQUIRE(requeue(w, "c").code == errc::none);
  audit(w);
  end(w, "c");
  audit(w);
}

ON_EACH_STORE("con-14 An unmet child is removed before its parent, which has no children then") {
  put_all(w, {"p"});
  put_child(w, "c", {.parents = {"p"}});
  end(w, "p", how::failed);
  w.clock.advance(48h);
  storage::prune_request prune;
  prune.retention.deleted.age = 24h;
  CHECK(ask(w, prune).removed == 1);
  CHECK(look(w, "c").code == errc::not_found);
  audit(w);
  REQUIRE(requeue(w, "p").code == errc::none);
  end(w, "p");
  audit(w);
}

ON_EACH_STORE("con-14 Parents that must stay do not keep what is behind them") {
  names all;
  for (int i = 0; i < 8; ++i)
    all.push_back("p" + std::to_string(i));
  put_all(w, all);
  for (const auto& id : all)
    end(w, id);
  for (int i = 0; i < 5; ++i)
    put_child(w, "c" + std::to_string(i), {.parents = {"p" + std::to_string(i)}});
  w.clock.advance(48h);
  storage::prune_request prune;
  prune.limit = 2;
  prune.retention.succeeded.age = 24h;
  CHECK(ask(w, prune).removed == 2);
  CHECK(ask(w, prune).removed == 1);
  CHECK(ask(w, prune).removed == 0);
  audit(w);
}

ON_EACH_STORE(
    "con-14 Behind a parent that must stay the oldest of all queues is removed first, and none that is kept") {
  put_all(w, {"p", "old"});
  put_jobs(w, std::vector{prepared({.id = "new", .queue = "other"})});
  put_child(w, "c", {.parents = {"p"}, .on = parent_end::deleted});
  for (const auto* id : {"p", "old", "new"}) {
    w.clock.advance(1s);
    REQUIRE(remove(w, id).code == errc::none);
  }
  storage::prune_request prune;
  prune.limit = 1;
  prune.retention.deleted = {std::nullopt, 1};
  CHECK(ask(w, prune).removed == 1);
  CHECK(look(w, "old").code == errc::not_found);
  CHECK(ask(w, prune).removed == 0);
  CHECK(state(w, "new") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("con-14 A thousand parents that must stay keep no other queue from being pruned by age") {
  std::vector<prepared_job> parents, children;
  names ids;
  for (int i = 0; i < 1000; ++i) {
    ids.push_back("p" + std::to_string(i));
    parents.push_back(prepared({.id = ids.back(), .queue = "parents"}));
  }
  parents.push_back(prepared({.id = "open", .queue = "open"}));
  put_jobs(w, std::move(parents));
  for (std::size_t i = 0; i < 4; ++i)
    children.push_back(changed({.id = "c" + std::to_string(i)}, [&](prepared_job& j) {
      for (std::size_t k = 250 * i; k < 250 * (i + 1); ++k)
        flow_of(j).after.parents.emplace_back(ids[k]);
      flow_of(j).after.parents.emplace_back("open");
    }));
  for (const auto code : put_jobs(w, std::move(children)).each)
    REQUIRE(code == errc::none);
  for (std::size_t ended = 0; ended < ids.size();) {
    const auto got = claim(w, {.free = 100, .queue = "parents"});
    REQUIRE_FALSE(got.jobs.empty());
    for (const auto& one : got.jobs)
      REQUIRE(settle(w, one.job) == errc::none);
    ended += got.jobs.size();
  }
  w.clock.advance(1s);
  for (int i = 0; i < 5; ++i) {
    const auto queue = "q" + std::to_string(i);
    put_jobs(w, std::vector{prepared({.id = "of-" + queue, .queue = queue})});
    REQUIRE(settle(w, claim(w, {.queue = queue}).jobs.at(0).job) == errc::none);
  }
  w.clock.advance(48h);
  storage::prune_request prune;
  prune.retention.succeeded.age = 24h;
  CHECK(ask(w, prune).removed == 5);
  audit(w);
}

ON_EACH_STORE("con-6 A parent behind its child in one call is missing for that child, and awaited by those behind it") {
  const auto early = child({.id = "early"}, {.parents = {"p"}, .missing = when_missing::met});
  const auto parent = child({.id = "p"}, {.parents = {"nobody"}, .missing = when_missing::met});
  const auto late = child({.id = "late"}, {.parents = {"p"}});
  const auto stored = ask(w, storage::enqueue_request{{early, parent, late}});
  for (const auto& each : stored.each)
    CHECK(each == errc::none);
  CHECK(state(w, "early") == job_state::enqueued);
  CHECK(state(w, "p") == job_state::enqueued);
  CHECK(awaited(w, "late") == names{"p"});
  audit(w);
}

ON_EACH_STORE("con-6 A job that is stored later under a missing parent's id is another job") {
  put_all(w, {"p"});
  REQUIRE(put_after(w, {.id = "c"}, {.parents = {"p", "nobody"}, .missing = when_missing::met}).each.at(0) ==
          errc::none);
  put_all(w, {"nobody"});
  put_child(w, "of-nobody", {.parents = {"nobody"}});
  audit(w);
  end(w, "p", how::failed);
  CHECK(state(w, "c") == job_state::deleted);
  audit(w);
  REQUIRE(requeue(w, "p").code == errc::none);
  CHECK(state(w, "c") == job_state::awaiting);
  CHECK(get(w, "c").reason.empty());
  audit(w);
  end(w, "nobody");
  end(w, "p");
  end(w, "of-nobody");
  CHECK(state(w, "c") == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("dag-2 dag-3 A join of a diamond runs once, behind both, named in one call") {
  storage::enqueue_request graph;
  graph.jobs.push_back(prepared({.id = "top"}));
  graph.jobs.push_back(child({.id = "left"}, {.parents = {"top"}}));
  graph.jobs.push_back(child({.id = "right"}, {.parents = {"top"}}));
  graph.jobs.push_back(child({.id = "join"}, {.parents = {"left", "right"}}));
  for (const auto code : ask(w, graph).each)
    REQUIRE(code == errc::none);
  end(w, "top");
  end(w, "left");
  CHECK(state(w, "join") == job_state::awaiting);
  end(w, "right");
  CHECK(ids(claim(w, {.free = 5})) == names{"join"});
  audit(w);
}

ON_EACH_STORE("dag-3 A join whose one side is deleted ends once") {
  put_all(w, {"left", "right"});
  put_child(w, "join", {.parents = {"left", "right"}});
  REQUIRE(remove(w, "left").code == errc::none);
  CHECK(state(w, "join") == job_state::deleted);
  end(w, "right");
  CHECK(state(w, "join") == job_state::deleted);
  CHECK(get(w, "join").history.size() == 1);
  audit(w);
}

ON_EACH_STORE("need: so many parents are enough, and the others have no say") {
  put_all(w, {"a", "b", "c"});
  put_child(w, "two", {.parents = {"a", "b", "c"}, .need = 2});
  put_child(w, "one", {.parents = {"a", "b", "c"}, .on = parent_end::failed, .need = 1});
  end(w, "a");
  CHECK(state(w, "two") == job_state::awaiting);
  end(w, "b");
  CHECK(state(w, "two") == job_state::enqueued);
  CHECK(state(w, "one") == job_state::awaiting);
  end(w, "c");
  CHECK(state(w, "one") == job_state::deleted);
  audit(w);
}

ON_EACH_STORE("A child of a child waits until that has run") {
  put_all(w, {"a"});
  put_child(w, "b", {.parents = {"a"}});
  put_child(w, "c", {.parents = {"b"}});
  end(w, "a");
  CHECK(state(w, "c") == job_state::awaiting);
  end(w, "b");
  end(w, "c");
  CHECK(state(w, "c") == job_state::succeeded);
  audit(w);
}

// Each way in which a job ends, for each condition and for each state that the child may be in.
ON_EACH_STORE("Every way to end does the same to every child") {
  struct ending {
    const char* name;
    parent_end as;
    std::function<void(world&, const std::string&)> carry_out;
    std::function<void(flow_options&)> of = nullptr;  // what the parent has to do with others, or with time
  };
  const auto time_passes = [](world& in, const std::string&) {
    in.clock.advance(10s);
    work_off(in);
  };
  const auto starts_in_time = [](flow_options& flow) { flow.start_within = 10s; };
  const auto ends_in_time = [](flow_options& flow) { flow.finish_within = 10s; };
  const auto asked_to_end = [](world& in, const std::string& id) {
    const auto run = claim_one(in);
    REQUIRE(cancel(in, id).asked);
    return run;
  };
  const std::vector<ending> endings = {
      {"succeeded", parent_end::succeeded, [](world& in, const std::string& id) { end(in, id); }},
      {"failed", parent_end::failed, [](world& in, const std::string& id) { end(in, id, how::failed); }},
      {"given up", parent_end::failed, [](world& in, const std::string& id) { end(in, id, how::given_up); }},
      {"removed by its run", parent_end::deleted, [](world& in, const std::string& id) { end(in, id, how::removed); }},
      {"deleted by hand", parent_end::deleted,
       [](world& in, const std::string& id) { REQUIRE(remove(in, id).code == errc::none); }},
      {"deleted as it ran", parent_end::deleted,
       [](world& in, const std::string& id) {
         claim_one(in);
         REQUIRE(remove(in, id).code == errc::none);
       }},
      {"lost", parent_end::failed,
       [](world& in, const std::string&) {
         claim_one(in);
         lose_all(in, 30s, 1);
       }},
      {"unmet itself", parent_end::deleted,
       [](world& in, const std::string&) { REQUIRE(remove(in, "before").code == errc::none); }},
      {"did not start in time", parent_end::deleted, time_passes, starts_in_time},
      {"waited beyond its deadline", parent_end::failed, time_passes, ends_in_time},
      {"given back beyond its deadline", parent_end::failed,
       [&](world& in, const std::string& id) {
         const auto run = claim_one(in);
         time_passes(in, id);
         REQUIRE(settle(in, run, how::given_back) == errc::none);
         work_off(in);
       },
       ends_in_time},
      {"would be retried beyond its deadline", parent_end::failed,
       [](world& in, const std::string&) { REQUIRE(settle(in, claim_one(in), how::retry, 10s) == errc::none); },
       ends_in_time},
      {"stopped at its deadline", parent_end::failed,
       [&](world& in, const std::string& id) {
         const auto run = claim_one(in);
         time_passes(in, id);
         REQUIRE(settle(in, run, how::retry) == errc::none);
       },
       ends_in_time},
      {"succeeded beyond its deadline", parent_end::succeeded,
       [&](world& in, const std::string& id) {
         const auto run = claim_one(in);
         time_passes(in, id);
         REQUIRE(settle(in, run) == errc::none);
       },
       ends_in_time},
      {"cancelled as it waited", parent_end::deleted,
       [](world& in, const std::string& id) { REQUIRE(cancel(in, id).code == errc::none); }},
      {"cancelled as it ran, and failed", parent_end::deleted,
       [&](world& in, const std::string& id) { REQUIRE(settle(in, asked_to_end(in, id), how::failed) == errc::none); }},
      {"cancelled as it ran, and succeeded", parent_end::succeeded,
       [&](world& in, const std::string& id) { REQUIRE(settle(in, asked_to_end(in, id)) == errc::none); }},
      {"cancelled as it ran, and lost", parent_end::deleted,
       [&](world& in, const std::string& id) {
         asked_to_end(in, id);
         lose_all(in);
       }},
      {"replaced", parent_end::deleted,
       [](world& in, const std::string& id) {
         const auto twin = changed({.id = "twin-of-" + id}, [](prepared_job& j) {
           flow_of(j).unique_key = "key";
           flow_of(j).unique.then = when_taken::replace;
         });
         REQUIRE(report(put_jobs(in, std::vector{twin})) == "replaced " + id);
         REQUIRE(remove(in, twin.id.value).code == errc::none);
       },
       [](flow_options& flow) { flow.unique_key = "key"; }},
  };
  int n = 0;
  for (const auto& ending : endings)
    for (const auto on : {parent_end::succeeded, parent_end::failed, parent_end::deleted, parent_end::finished,
                          parent_end::succeeded | parent_end::deleted})
      for (const auto unless : {when_unmet::remove, when_unmet::run, when_unmet::keep})
        for (const auto* child_is : {"awaiting", "deleted", "requeued", "not there yet"}) {
          const auto suffix = std::to_string(++n);
          const auto p = "p" + suffix, c = "c" + suffix;
          CAPTURE(ending.name, static_cast<int>(on), static_cast<int>(unless), child_is);
          const bool is_child_itself = std::string(ending.name) == "unmet itself";
          if (is_child_itself) {
            REQUIRE(put(w, {.id = "before"}) == errc::none);
            put_child(w, p, {.parents = {"before"}});
          } else {
            const auto parent = changed({.id = p}, [&](prepared_job& j) {
              if (ending.of) ending.of(flow_of(j));
            });
            REQUIRE(put_jobs(w, std::vector{parent}).each.at(0) == errc::none);
          }
          const after_words words{.parents = {p}, .on = on, .unless = unless};
          const std::string as = child_is;
          if (as != "not there yet") put_child(w, c, words);
          if (as == "deleted") REQUIRE(remove(w, c).code == errc::none);
          if (as == "requeued") REQUIRE(requeue(w, c).code == errc::none);  // stands behind its parent
          ending.carry_out(w, p);
          REQUIRE(is_final(state(w, p)));
          if (as == "not there yet") put_child(w, c, words);
          const bool is_met = (static_cast<unsigned>(on) & static_cast<unsigned>(ending.as)) != 0;
          const auto wanted = as == "deleted"                       ? job_state::deleted
                              : as == "requeued"                    ? job_state::enqueued
                              : is_met || unless == when_unmet::run ? job_state::enqueued
                              : unless == when_unmet::keep          ? job_state::awaiting
                                                                    : job_state::deleted;
          CHECK(state(w, c) == wanted);
          for (const auto& id : {p, c})
            if (!is_final(state(w, id))) REQUIRE(remove(w, id).code == errc::none);
          if (is_child_itself) {
            storage::prune_request all;
            all.retention.deleted.count = 0;
            all.retention.failed.count = 0;
            all.retention.succeeded.count = 0;
            w.clock.advance(1s);
            ask(w, all);
          }
        }
  audit(w);
}

ON_EACH_STORE("con-11 An unmet child of two in one call is told of once, and nothing is owed of it") {
  put_all(w, {"p"});
  REQUIRE(put_after(w, {.id = "a"}, {.parents = {"p"}}).each.at(0) == errc::none);
  REQUIRE(put_after(w, {.id = "b"}, {.parents = {"a", "p"}}).each.at(0) == errc::none);
  REQUIRE(remove(w, "p").code == errc::none);
  w.clock.advance(1min);
  storage::prune_request prune;
  prune.retention.deleted.age = 1s;
  ask(w, prune);
  audit(w);
  CHECK_FALSE(promote(w).next_in.has_value());
}

ON_EACH_STORE("con-11 What is stored later under the id of a removed parent is nothing to its unmet child") {
  put_all(w, {"p"});
  put_child(w, "c", {.parents = {"p"}});
  end(w, "p", how::failed);
  w.clock.advance(48h);
  storage::prune_request prune;
  prune.retention.failed.age = 24h;
  prune.retention.deleted.age.reset();
  prune.retention.deleted.count.reset();
  CHECK(ask(w, prune).removed == 1);
  put_all(w, {"p"});
  REQUIRE(requeue(w, "c").code == errc::none);
  audit(w);
}

ON_EACH_STORE(
    "con-11 What comes under the id of a parent that was removed with many unmet children is nothing to any") {
  put_all(w, {"p", "q"});
  std::vector<prepared_job> children;
  for (int i = 0; i < 100; ++i)  // more than a step tells of the removal
    children.push_back(child({.id = "c" + std::to_string(i)}, {.parents = {"p", "q"}}));
  put_jobs(w, std::move(children));
  end(w, "p", how::failed);
  work_off(w);
  REQUIRE(counts(w).deleted == 100);
  w.clock.advance(48h);
  storage::prune_request prune;
  prune.retention.failed.age = 24h;
  prune.retention.deleted = {};
  REQUIRE(ask(w, prune).removed == 1);
  put_all(w, {"p"});
  for (int i = 0; i < 100; ++i)
    REQUIRE(requeue(w, "c" + std::to_string(i)).code == errc::none);
  audit(w);
}

ON_EACH_STORE("What an end owes to children that have gone meanwhile is not owed for ever") {
  put_all(w, {"p"});
  for (int part = 0; part < 3; ++part) {
    std::vector<prepared_job> some;
    for (int i = 0; i < 100; ++i)
      some.push_back(child({.id = cat("c", part, "-", i)}, {.parents = {"p"}, .on = parent_end::finished}));
    put_jobs(w, some);
  }
  end(w, "p");  // some of them are released
  for (const auto& j : list(w))
    if (j.id.value != "p") REQUIRE(remove(w, j.id.value).code == errc::none);
  work_off(w);
  CHECK(promote(w).next_in == std::nullopt);
  audit(w);
}

ON_EACH_STORE("Nothing is still to be done of a parent that is pruned when its children have gone") {
  put_all(w, {"p"});
  for (int i = 0; i < 100; ++i)
    put_child(w, cat("c", i), {.parents = {"p"}, .on = parent_end::finished});
  end(w, "p");  // some of them are released
  for (const auto& j : list(w))
    if (j.id.value != "p") REQUIRE(remove(w, j.id.value).code == errc::none);
  storage::prune_request prune;
  prune.retention.succeeded.count = 0;
  CHECK(ask(w, prune).removed == 1);
  audit(w);
}
