// What can be done about jobs that could not be read, and that what is kept of them is told of.
#include <sluice/client.hpp>

#include "storage/flow_words.hpp"
#include "storage/harms.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

client opened(const world& w) {
  auto client = client::open({.storage = w.url(), .by = {"anna", "test"}});
  if (!client) throw std::runtime_error(to_string(client.error()));
  return std::move(*client);
}

// Harms the record of a job and comes upon it; answers what it was.
template <class World>
std::string put_aside(World& w, const std::string& id) {
  const auto record = w.command({"HGET", "jobs", id});
  auto harmed = record;
  harmed.at(harmed.size() / 2) = static_cast<char>(harmed[harmed.size() / 2] ^ 0x20);
  w.command({"HSET", "jobs", id, harmed});
  REQUIRE(look(w, id).code == errc::damaged_record);
  return record;
}

// As an upgrade would that reads it.
template <class World>
void mend(World& w, const std::string& id, const std::string& record) {
  w.command({"HSET", "quarantine", id, cat(record.size(), ':', record, "0:0:")});
}

names noted(client& store) {
  names all;
  const auto page = store.operator_log();
  for (const auto& act : page.value().actions)
    all.push_back(cat(act.what, ' ', act.about.at(0)));
  return all;
}

}  // namespace

ON_HARMED_STORES("One that is in quarantine is told with its queue, its bytes and what is wrong with them") {
  TestType w;
  REQUIRE(put(w, job_words{.id = "a", .queue = "other"}) == errc::none);
  const auto run = claim_one(w, {.queue = "other"});
  REQUIRE(settle(w, run, how::retry) == errc::none);
  put_aside(w, "a");
  const auto store = opened(w).quarantined(job_id("a"));
  REQUIRE(store.ok());
  CHECK(store->queue.value == "other");
  CHECK(store->since == w.clock.now());
  CHECK(store->record.find("work") != std::string::npos);
  CHECK(store->history.find("it broke") != std::string::npos);
  CHECK(store->run.empty());
  CHECK_FALSE(store->readable);
  CHECK(store->wrong == "its record has another form or another checksum than Sluice wrote");
  CHECK(opened(w).quarantined(job_id("b")).error().code == errc::not_found);
}

ON_HARMED_STORES("What of a job in quarantine has lost its form is told apart") {
  TestType w;
  put_all(w, {"a", "b", "c"});
  REQUIRE(settle(w, claim_one(w), how::retry) == errc::none);
  w.command({"HSET", "history", "a", "nonsense"});
  CHECK(look(w, "a").code == errc::damaged_record);
  put_aside(w, "b");
  w.command({"HSET", "quarantine", "b", "no texts"});
  claim_one(w);
  w.command({"HSET", "runs", "c", "nonsense"});
  w.clock.advance(31s);
  expired(w);
  auto store = opened(w);
  CHECK(store.quarantined(job_id("a"))->wrong == "its history has lost its form");
  CHECK(store.quarantined(job_id("a"))->readable);
  CHECK(store.quarantined(job_id("b"))->record == "no texts");
  CHECK(store.quarantined(job_id("b"))->wrong.starts_with("what is kept of it has lost its form"));
  CHECK(store.quarantined(job_id("c"))->wrong == "its run has lost its form");
}

ON_HARMED_STORES("A job in quarantine whose record can be read by now is enqueued as what it was, once") {
  TestType w;
  REQUIRE(put(w, {.id = "a", .queue = "other", .args = "[1,2]", .headers = {{"n", "1"}}}) == errc::none);
  const auto before = portrait(get(w, "a"));
  const auto record = put_aside(w, "a");
  auto store = opened(w);
  const auto refused = store.requeue_quarantined({job_id("a")}).front();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == errc::damaged_record);
  CHECK(refused.error().message.find("job a still cannot be read") != std::string::npos);
  CHECK(counts(w, "other").quarantined == 1);

  mend(w, "a", record);
  CHECK(store.requeue_quarantined({job_id("a")}).front().ok());
  CHECK(portrait(get(w, "a")) == before);
  CHECK(counts(w, "other").quarantined == 0);
  CHECK(store.requeue_quarantined({job_id("a")}).front().error().code == errc::not_found);
  CHECK(ids(claim(w, {.free = 9, .queue = "other"})) == names{"a"});
  CHECK(noted(store) == names{"quarantine requeue a"});
  audit(w);
}

ON_HARMED_STORES("A requeue from quarantine that was cut off after its enqueue makes no second job") {
  TestType w;
  put_all(w, {"a"});
  const auto record = put_aside(w, "a");
  mend(w, "a", record);
  put_all(w, {"a"});
  REQUIRE(settle(w, claim_one(w)) == errc::none);
  CHECK(opened(w).requeue_quarantined({job_id("a")}).front().ok());
  CHECK(get(w, "a").state == job_state::succeeded);
  CHECK(counts(w).quarantined == 0);
  audit(w);
}

ON_HARMED_STORES("A job in quarantine whose id another has by now stays there") {
  TestType w;
  put_all(w, {"a", "b"});
  const auto record = put_aside(w, "a");
  mend(w, "a", record);
  REQUIRE(put(w, job_words{.id = "a", .args = "[9]"}) == errc::none);
  auto store = opened(w);
  CHECK(store.requeue_quarantined({job_id("a")}).front().error().code == errc::id_conflict);
  CHECK(store.quarantined(job_id("a")).ok());
  CHECK(get(w, "a").args == "[9]");
}

ON_HARMED_STORES("What is dropped from quarantine is gone for good, and nothing else") {
  TestType w;
  put_all(w, {"a", "b", "c"});
  put_aside(w, "a");
  put_aside(w, "b");
  auto store = opened(w);
  const auto each = store.drop_quarantined({job_id("a"), job_id("c"), job_id("ghost")});
  CHECK(each[0].ok());
  CHECK(each[1].error().code == errc::not_found);
  CHECK(each[2].error().message == "there is no job ghost in quarantine");
  CHECK(look(w, "a").code == errc::not_found);
  CHECK(look(w, "b").code == errc::damaged_record);
  CHECK(look(w, "c").code == errc::none);
  CHECK(counts(w).quarantined == 1);
  CHECK(noted(store) == names{"quarantine drop a"});
  audit(w);
}

ON_HARMED_STORES("What was put aside after it was told of is not dropped in its place") {
  TestType w;
  put_all(w, {"a"});
  put_aside(w, "a");
  const auto told = w.template ask<storage::quarantined_job_answer>(storage::quarantined_job_request{job_id("a")});
  w.clock.advance(1s);
  put_all(w, {"a"});
  put_aside(w, "a");
  const storage::drop_quarantined_request drop{job_id("a"), told.found->since};
  CHECK_FALSE(w.template ask<storage::change_answer>(drop).changed);
  CHECK(counts(w).quarantined == 1);
  audit(w);
}

ON_HARMED_STORES("A parent that comes back from quarantine ends for the children that it was not told of") {
  TestType w;
  put_all(w, {"p"});
  auto child = prepared({.id = "c"});
  flow_of(child).after.parents = {job_id("p")};
  REQUIRE(ask(w, storage::enqueue_request{{child}}).each.at(0) == errc::none);
  const auto record = put_aside(w, "p");
  mend(w, "p", record);
  auto store = opened(w);
  SECTION("before they were told of its end") {
    CHECK(store.requeue_quarantined({job_id("p")}).front().ok());
    work_off(w);
    CHECK(state(w, "c") == job_state::awaiting);
    end(w, "p");
    CHECK(state(w, "c") == job_state::enqueued);
  }
  SECTION("afterwards they have ended") {
    work_off(w);
    CHECK(state(w, "c") == job_state::deleted);
    CHECK(store.requeue_quarantined({job_id("p")}).front().ok());
    end(w, "p");
  }
  SECTION("it can be dropped once they have ended") {
    const auto refused = store.drop_quarantined({job_id("p")}).front();
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == errc::illegal_transition);
    CHECK(store.quarantined(job_id("p")).ok());
    work_off(w);
    CHECK(state(w, "c") == job_state::deleted);
    CHECK(store.drop_quarantined({job_id("p")}).front().ok());
  }
  work_off(w);
  audit(w);
}

ON_HARMED_STORES("A member of a group counts as failed before it can be dropped from quarantine") {
  TestType w;
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a", "b"});
  put_aside(w, "a");
  auto store = opened(w);
  CHECK(store.drop_quarantined({job_id("a")}).front().error().code == errc::illegal_transition);
  work_off(w);
  CHECK(store.drop_quarantined({job_id("a")}).front().ok());
  const auto g = store.group(group_name("g"));
  CHECK(g.value().failed == 1);
  CHECK(g.value().open == 1);
  audit(w);
}

ON_HARMED_STORES("A prune removes nothing that is in quarantine, and tells how much that is") {
  TestType w;
  REQUIRE(put(w, job_words{.id = "a", .args = "\"" + std::string(100'000, 'x') + "\""}) == errc::none);
  put_all(w, {"b"});
  put_aside(w, "a");
  put_aside(w, "b");
  storage::prune_request r;
  r.retention = {{{}, 0}, {{}, 0}, {{}, 0}, 1};
  w.clock.advance(24h * 365);
  const auto told = ask(w, r);
  CHECK(told.quarantined == 2);
  CHECK(told.quarantined_bytes > 100'000);
  CHECK(told.quarantined_bytes < 101'000);
  REQUIRE(opened(w).drop_quarantined({job_id("a")}).front().ok());
  CHECK(ask(w, r).quarantined_bytes < 1'000);
  audit(w);
}

// Two queues: what keeps the jobs of one from quarantine must not keep those of the other, nor leave half of a step.
ON_HARMED_STORES("A line of quarantine of another type is looked at before anything is written") {
  TestType w;
  put_all(w, {"a", "b"});
  REQUIRE(put(w, job_words{.id = "o", .queue = "other"}) == errc::none);
  SECTION("of records that a list came upon") {
    for (const auto* id : {"a", "b", "o"})
      w.command({"HSET", "jobs", id, "nonsense"});
    w.command({"HSET", "quarantined:default", "not", "sorted"});
    job_query all;
    all.with_args = true;
    list(w, all);
    CHECK(w.command({"HGET", "jobs", "a"}) == "nonsense");
    CHECK(w.command({"ZSCORE", "ready:default", "a"}) != "");
    CHECK(w.command({"HEXISTS", "quarantine", "a"}) == "0");
    CHECK(w.command({"HEXISTS", "quarantine", "o"}) == "1");
  }
  SECTION("of runs that a look for lost leases came upon") {
    claim_one(w);
    claim_one(w, {.queue = "other"});
    const auto before = w.command({"ZSCORE", "ending", "other"});
    w.clock.advance(10s);
    REQUIRE(renew(w, get(w, "o")) == errc::none);  // `ending` is behind by that
    w.command({"HSET", "runs", "a", "nonsense"});
    w.command({"HSET", "quarantined:default", "not", "sorted"});
    w.clock.advance(21s);
    CHECK(refusal(w, storage::expired_request{}) == errc::storage_damaged);
    CHECK(w.command({"ZSCORE", "ending", "other"}) == before);
    CHECK(w.command({"HGET", "runs", "a"}) == "nonsense");
    CHECK(w.command({"ZSCORE", "processing:default", "a"}) != "");
  }
}
