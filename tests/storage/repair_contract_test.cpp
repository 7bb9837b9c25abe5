// What the audit tells of jobs that have to do with others and with time, and of when queues are looked at; and that
// the repair mends it by what the rest of the store tells, and the jobs go on.
#include <atomic>

#include "storage/harms.hpp"
#include "storage/machine/audit.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

void with_child(world& w) {
  put_all(w, {"a"});
  const auto child = changed({.id = "b"}, [](prepared_job& j) { flow_of(j).after.parents = {job_id("a")}; });
  REQUIRE(report(put_jobs(w, {child})) == "stored");
}
void in_group(world& w) {
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a"});
}
void in_ended_group(world& w) {
  in_group(w);
  REQUIRE(report(put_jobs(w, {behind("b", "g", parent_end::succeeded)})) == "stored");
  REQUIRE(seal(w, "g").code == errc::none);
  end(w, "a");
}
void in_cancelled_group(world& w) {
  in_group(w);
  REQUIRE(cancel_group(w, "g").code == errc::none);
}
void put_keyed(world& w, unique_until until) {
  const auto keyed = changed({.id = "a"}, [&](prepared_job& j) {
    flow_of(j).unique_key = "work/k";
    flow_of(j).unique.until = until;
    if (until == unique_until::period) flow_of(j).unique.period = 1h;
  });
  REQUIRE(report(put_jobs(w, {keyed})) == "stored");
}
void with_key(world& w) { put_keyed(w, unique_until::end); }
void with_key_until_start(world& w) { put_keyed(w, unique_until::start); }
void with_key_for_period(world& w) { put_keyed(w, unique_until::period); }
void ended_with_key(world& w) {
  with_key(w);
  end(w, "a");
}
void with_time(world& w) {
  const auto timed = changed({.id = "a"}, [](prepared_job& j) { flow_of(j).start_within = 1h; });
  REQUIRE(report(put_jobs(w, {timed})) == "stored");
}

// What holds when it was mended.
void runs_behind_a(world& w) {
  CHECK(state(w, "b") == job_state::awaiting);
  end(w, "a");
  CHECK(state(w, "b") == job_state::enqueued);
}
void is_released(world& w) {
  work_off(w);
  CHECK(state(w, "b") == job_state::enqueued);
}
void is_deleted_for_its_parent(world& w) {
  CHECK(state(w, "b") == job_state::deleted);
  CHECK(get(w, "b").reason == "its parent a is not there");
}
void group_ends_with_a(world& w) {
  REQUIRE(seal(w, "g").code == errc::none);
  CHECK(group_in_words(w, "g") == "1 open, 0 succeeded, 0 failed, 0 deleted, sealed");
  end(w, "a");
  CHECK(group_in_words(w, "g") == "0 open, 1 succeeded, 0 failed, 0 deleted, sealed, finished");
}
void group_has_ended(world& w) {
  work_off(w);
  CHECK(group_in_words(w, "g") == "0 open, 1 succeeded, 0 failed, 0 deleted, sealed, finished");
  CHECK(state(w, "b") == job_state::enqueued);
}
void group_ends_as_cancelled(world& w) {
  work_off(w);
  CHECK(group_in_words(w, "g") == "0 open, 0 succeeded, 0 failed, 1 deleted, cancelled, finished");
}
void key_is_its_own(world& w) {
  const auto twin = changed({.id = "b"}, [](prepared_job& j) { flow_of(j).unique_key = "work/k"; });
  CHECK(report(put_jobs(w, {twin})) == "duplicate a");
  end(w, "a");
  CHECK(report(put_jobs(w, {twin})) == "stored");
}
void key_is_its_own_until_its_start(world& w) {
  const auto twin = changed({.id = "b"}, [](prepared_job& j) { flow_of(j).unique_key = "work/k"; });
  CHECK(report(put_jobs(w, {twin})) == "duplicate a");
  claim_one(w);
  CHECK(report(put_jobs(w, {twin})) == "stored");
}
void key_is_free(world& w) {
  CHECK(report(put_jobs(w, {changed({.id = "b"}, [](prepared_job& j) { flow_of(j).unique_key = "work/k"; })})) ==
        "stored");
}
void key_is_free_in_time(world& w) {
  w.clock.advance(1h);
  work_off(w);
  key_is_free(w);
}
void is_over_in_time(world& w) {
  w.clock.advance(1h);
  work_off(w);
  CHECK(state(w, "a") == job_state::deleted);
}
void a_runs(world& w) { end(w, "a"); }
void is_due_in_time(world& w) {
  w.clock.advance(1h);
  work_off(w);
  CHECK(state(w, "a") == job_state::enqueued);
}
void starts_again_when_its_lease_is_over(world& w) {
  const auto over = w.ask<storage::expired_answer>(storage::expired_request{}).leases;
  REQUIRE(over.size() == 1);
  reap(w, over);
  CHECK(get(w, "a").losses == 1);
  end(w, "a");
}
void permit_is_free(world& w) {
  put_all(w, {"next"});
  CHECK(take(w, claim_one(w), {"mutex:m"}) == "granted");
}
void ended(world& w) {
  put_all(w, {"a"});
  end(w, "a");
}
void to_be_retried(world& w) {
  put_all(w, {"a"});
  end(w, "a", how::retry);
}
void lease_is_looked_at(world& w) { CHECK(w.ask<storage::expired_answer>(storage::expired_request{}).next_in); }

// What the repair tells.
template <class World>
std::vector<storage::repaired_finding> repaired(World& w) {
  std::vector<storage::repaired_finding> all;
  const auto gone = w.store().repair([&](const storage::repaired_finding& one) { all.push_back(one); });
  REQUIRE(gone.ok());
  return all;
}
bool is_mended(const storage::repaired_finding& one) { return !one.done.empty(); }

// Something that is wrong again whenever it was mended.
class never_right {
public:
  // In this repair of it the store goes away.
  int goes_away_at = 0;

  // As scripts answer: a cursor, what is wrong, where to look besides, and what was done.
  result<void> operator()(const storage::machine::call& c,
                          const std::function<void(const storage::machine::item&)>& read) {
    const bool repairs = c.what() == storage::machine::verb::repair;
    storage::machine::reply said;
    const auto at = said.set_list(0, 4);
    said.set_text(at, "0");
    const auto add = [&](std::size_t place, std::initializer_list<const char*> words) {
      auto next = said.set_list(at + place, words.size());
      for (const auto* word : words)
        said.set_text(next++, word);
    };
    if (repairs) add(1, {"it is wrong"}), add(3, {"it was mended"});
    else add(2, {"queues", "P:queues"});
    read(said.root());
    if (repairs && ++repairs_ == goes_away_at) return error{errc::storage_unavailable, "away"};
    return {};
  }

private:
  int repairs_ = 0;
};

// Of what jobs have to do with others, and with time, which can be mended.
std::vector<harm> mended_harms() {
  const names mark{"SET", "flow_mark", "1"};
  const std::string since = "1780000000000000";
  return {
      {"a child whose row cannot be read",
       with_child,
       {{"HSET", "flow", "b", "x"}},
       {"job b is among the children of a and does not name it", "job b is awaiting and names no parents",
        "what job b has to do with others cannot be read"},
       runs_behind_a},
      {"a child whose row has something behind it",
       with_child,
       {{"HSET", "flow", "b", "0 1 0 0 s d 1 01:a0"}},
       {"job b is among the children of a and does not name it", "job b is awaiting and names no parents",
        "what job b has to do with others cannot be read"},
       runs_behind_a},
      {"a child that needs less than no parent",
       with_child,
       {{"HSET", "flow", "b", "0 -1 0 0 s d 1 01:a"}},
       {"job b is among the children of a and does not name it", "job b is awaiting and names no parents",
        "what job b has to do with others cannot be read"},
       runs_behind_a},
      {"a child that needs more parents than it names",
       with_child,
       {{"HSET", "flow", "b", "0 9 0 0 s d 1 01:a"}},
       {"what job b has to do with others cannot be read"},
       runs_behind_a},
      {"a child that was left without all of its parents",
       with_child,
       {{"HSET", "flow", "b", "0 1 0 0 s u 1 01:a"}},
       {"job b is awaiting, and not all of its parents are known"},
       runs_behind_a},
      {"a child without a row",
       with_child,
       {{"HDEL", "flow", "b"}},
       {"job b is among the children of a and does not name it", "job b is awaiting and names no parents"},
       runs_behind_a},
      {"a parent without a row",
       with_child,
       {{"HDEL", "flow", "a"}},
       {"job a has children and is not said to have any"},
       runs_behind_a},
      {"a child that its parent does not know of",
       with_child,
       {{"ZREM", "after:a", "b"}},
       {"job a is said to have children and has none", "job b is not among the children of a as it should be"},
       runs_behind_a},
      {"a child to which its parent's end is not open",
       with_child,
       {{"ZADD", "after:a", "1", "b"}},
       {"job b is not among the children of a as it should be"},
       runs_behind_a},
      {"a child that is nobody",
       with_child,
       {{"ZADD", "after:a", "0", "ghost"}},
       {"job ghost is among the children of a and does not name it"},
       runs_behind_a},
      {"a parent that is nobody",
       with_child,
       {{"ZADD", "after:ghost", "0", "b"}},
       {"job b is among the children of ghost and does not name it",
        "job ghost has children and is not said to have any"},
       runs_behind_a},
      {"a child that was not told of an end",
       with_child,
       {{"ZREM", "ready:default", "a"}, {"ZADD", "succeeded:default", since, "a"}},
       {"job b waits for a, which has ended"},
       is_released},
      {"a child whose parent is lost",
       with_child,
       {{"ZREM", "ready:default", "a"}, {"HDEL", "jobs", "a"}},
       {"job b waits for a, which does not exist", "there is something of others for job a, which does not exist"},
       is_deleted_for_its_parent},
      {"a child that awaits nobody any more",
       with_child,
       {{"HSET", "flow", "b", "0 1 0 0 s d 1 11:a"}},
       {"job b is awaiting, and its parents have ended", "job b is not among the children of a as it should be"},
       is_released},
      {"a job that awaits nobody",
       waiting,
       {{"ZREM", "ready:default", "a"}, {"ZADD", "awaiting:default", "1", "a"}},
       {"job a is awaiting and names no parents"},
       a_runs},
      {"a job that says it has children",
       waiting,
       {mark, {"HSET", "flow", "a", "1"}},
       {"job a is said to have children and has none"},
       a_runs},
      {"something of others for nobody",
       waiting,
       {mark, {"HSET", "flow", "ghost", "1"}},
       {"there is something of others for job ghost, which does not exist"}},
      {"children, and no mark that there are any",
       with_child,
       {{"DEL", "flow_mark"}},
       {"P:flow_mark is not there, and jobs wait for others"},
       runs_behind_a},

      {"a child that its parent does not know of, and no mark",
       with_child,
       {{"DEL", "flow_mark"}, {"ZREM", "after:a", "b"}},
       {"P:flow_mark is not there, and jobs wait for others", "job a is said to have children and has none",
        "job b is not among the children of a as it should be"},
       runs_behind_a},

      {"a group that cannot be read",
       in_group,
       {{"HSET", "groups", "g", "x"}},
       {"group g cannot be read", "job a is in group g, which does not exist",
        "something is still to be done of job @g, which does not exist"},
       group_ends_with_a},
      {"a group that is lost",
       in_group,
       {{"HDEL", "groups", "g"}},
       {"job a is in group g, which does not exist", "something is still to be done of job @g, which does not exist"},
       group_ends_with_a},
      {"a group that counts more than it has open",
       in_group,
       {{"HSET", "groups", "g", "o 7 0 0 0 " + since + " 0"}},
       {"group g has 1 open members and counts 7"},
       group_ends_with_a},
      {"a group that counts less than have ended",
       in_ended_group,
       {{"HSET", "groups", "g", "s 0 0 0 0 " + since + " " + since}},
       {"group g has more members than it counts"},
       group_has_ended},
      {"a group that has ended and does not say so",
       in_ended_group,
       {{"HSET", "groups", "g", "s 0 1 0 0 " + since + " 0"}},
       {"group g does not say rightly whether it has ended"},
       group_has_ended},
      {"a group that has not ended and says so",
       in_group,
       {{"HSET", "groups", "g", "o 1 0 0 0 " + since + " " + since}},
       {"group g does not say rightly whether it has ended"},
       group_ends_with_a},
      {"a group that is not sealed, for ever",
       in_group,
       {{"ZREM", "agenda", "seal - @g"}},
       {"group g is not sealed, and nobody looks at that"},
       group_ends_with_a},
      {"a group that has ended, and stays for ever",
       in_ended_group,
       {{"ZREM", "agenda", "forget - @g"}},
       {"group g has ended, and nobody forgets it"},
       group_has_ended},
      {"a cancelled group whose members go on",
       in_cancelled_group,
       {{"ZREM", "agenda", "cancel - @g"}},
       {"group g was cancelled, and nobody ends its members"},
       group_ends_as_cancelled},
      {"a member that its group does not know of",
       in_group,
       {{"ZREM", "members:g", "a"}},
       {"group g has 0 open members and counts 1", "job a is not among the members of g as it should be"},
       group_ends_with_a},
      {"an open member that stands as ended",
       in_group,
       {{"ZADD", "members:g", "1", "a"}},
       {"group g has 0 open members and counts 1", "group g has more members than it counts",
        "job a is not among the members of g as it should be"},
       group_ends_with_a},
      {"an open member that counts as ended",
       in_group,
       {{"HSET", "flow", "a", "0 gs1:g"},
        {"ZADD", "members:g", "1", "a"},
        {"HSET", "groups", "g", "o 0 1 0 0 " + since + " 0"}},
       {"job a has not ended and does not count as open in g"},
       group_ends_with_a},
      {"a member that has ended and counts as open",
       in_ended_group,
       {{"HSET", "flow", "a", "0 g-1:g"},
        {"ZADD", "members:g", "0", "a"},
        {"HSET", "groups", "g", "s 1 0 0 0 " + since + " 0"},
        {"ZREM", "agenda", "forget - @g"}},
       {"job a has ended and counts as open in g"},
       group_has_ended},
      {"a member that is nobody",
       in_group,
       {{"ZADD", "members:g", "0", "ghost"}},
       {"group g has 2 open members and counts 1", "job ghost is among the members of g and does not know of it"},
       group_ends_with_a},
      {"a member without a row",
       in_group,
       {{"HDEL", "flow", "a"}},
       {"job a is among the members of g and does not know of it"},
       group_ends_with_a},

      {"a key of which cannot be read who has it",
       with_key,
       {{"HSET", "keys", "work/k", "x"}},
       {"job a does not have its key work/k", "who has key work/k cannot be read"},
       key_is_its_own},
      {"a key that its job does not have",
       with_key,
       {{"HDEL", "keys", "work/k"}},
       {"job a does not have its key work/k"},
       key_is_its_own},
      {"a key that its job, which is to have it until its start, does not have",
       with_key_until_start,
       {{"HDEL", "keys", "work/k"}},
       {"job a does not have its key work/k"},
       key_is_its_own_until_its_start},
      {"a key of a job that has another",
       with_key,
       {{"HSET", "keys", "work/other", "e " + since + " 0 1:a"}},
       {"job a has key work/other and does not know of it"},
       key_is_its_own},
      {"a job without a row that has a key",
       with_key,
       {{"HDEL", "flow", "a"}},
       {"job a has key work/k and does not know of it"},
       key_is_its_own},
      {"a key of a job that has ended",
       ended_with_key,
       {{"HSET", "keys", "work/k", "e " + since + " 0 1:a"}},
       {"job a has ended and has its key work/k", "job a has key work/k, and has ended"},
       key_is_free},
      {"a period that never ends",
       with_key_for_period,
       {{"ZREM", "agenda", "key - work/k"}},
       {"key work/k is held for a period, and nobody looks at its end"},
       key_is_free_in_time},

      {"a time that nobody looks at",
       with_time,
       {{"ZREM", "agenda", "expire - a"}},
       {"job a has a time to be over, and nobody looks at it"},
       is_over_in_time},
      {"a time that is looked at at no instant",
       with_time,
       {{"ZADD", "agenda", "inf", "expire - a"}},
       {"what is to be done of job a is to be done at no instant"},
       is_over_in_time},
      {"something to be done that cannot be read",
       waiting,
       {mark, {"ZADD", "agenda", "1", "nonsense"}},
       {"what is still to be done of nonsense cannot be read"}},
      {"a period of no key",
       waiting,
       {mark, {"ZADD", "agenda", "1", "key - work/k"}},
       {"the end of a period is to be looked at of key work/k, which has none"}},
      {"something to be done of nobody",
       waiting,
       {mark, {"ZADD", "agenda", "1", "edges s ghost"}},
       {"something is still to be done of job ghost, which does not exist"}},
      {"something to be done, and no mark that there is",
       waiting,
       {{"ZADD", "agenda", "1", "expire - a"}},
       {"P:flow_mark is not there, and something is still to be done"},
       a_runs},

      {"leases that nobody looks at",
       running,
       {{"ZREM", "ending", "default"}},
       {"queue default has leases that nobody looks at"},
       lease_is_looked_at},
      {"leases that are looked at too late",
       running,
       {{"ZADD", "ending", never_drawn, "default"}},
       {"queue default has leases that nobody looks at"},
       lease_is_looked_at},
      {"due jobs that nobody looks at",
       scheduled,
       {{"ZREM", "due", "default"}},
       {"queue default has due jobs that nobody looks at"},
       is_due_in_time},
      {"due jobs that are looked at too late",
       scheduled,
       {{"ZADD", "due", never_drawn, "default"}},
       {"queue default has due jobs that nobody looks at"},
       is_due_in_time},
      {"a queue with nothing due",
       waiting,
       {{"ZADD", "due", "1", "default"}},
       {"queue default is listed as due and has nothing scheduled"},
       a_runs},

      {"a job in no line that was never started",
       waiting,
       {{"ZREM", "ready:default", "a"}},
       {"job a is in no line"},
       a_runs},
      {"a job in no line that awaits others",
       with_child,
       {{"ZREM", "awaiting:default", "b"}},
       {"job b is in no line"},
       runs_behind_a},
      {"a job in no line whose parents have ended",
       with_child,
       {{"ZREM", "awaiting:default", "b"},
        {"ZREM", "ready:default", "a"},
        {"ZADD", "succeeded:default", since, "a"},
        {"ZADD", "agenda", "0", "edges s a"}},
       {"job b is in no line"},
       is_released},
      {"a job in no line that is running",
       running,
       {{"ZREM", "processing:default", "a"}},
       {"job a is in no line"},
       starts_again_when_its_lease_is_over},
      {"a job in no line that was to be retried",
       to_be_retried,
       {{"ZREM", "ready:default", "a"}},
       {"job a is in no line"},
       a_runs},
      {"a permit of a job that has ended",
       ended,
       {{"HSET", "holders:mutex:m", "a", "held 1 1"}, {"ZADD", "busy", "0", "mutex:m"}},
       {"mutex:m is held by job a as held 1 1, which it has no right to",
        "mutex:m is held by job a, of which it is not known"},
       permit_is_free},
      {"a permit of a job that does not exist",
       waiting,
       {{"HSET", "holders:mutex:m", "ghost", "held 1 1"}, {"ZADD", "busy", "0", "mutex:m"}},
       {"mutex:m is held by job ghost, which does not exist"},
       permit_is_free},
      {"a permit that claims are said to have",
       ended,
       {{"HSET", "claim_permits", "mutex:m", "1"}, {"ZADD", "busy", "0", "mutex:m"}},
       {"mutex:m is counted as held by the claims of 1 runs, and 0 have it"},
       permit_is_free},
  };
}

}  // namespace

ON_HARMED_STORES("The audit names each harm that can be mended, the repair mends it, and the jobs go on") {
  for (const auto& h : mended_harms()) {
    INFO(h.rule);
    TestType w;
    harm_by(w, h);
    CHECK(told(w) == h.findings);
    auto left = h.findings;
    const auto found = repaired(w);
    CHECK_FALSE(found.empty());
    for (const auto& one : found) {
      INFO(one.finding);
      CHECK(is_mended(one));
      // What a row that is made anew waits for, until all of its parents are known.
      if (one.finding == "job b is awaiting, and not all of its parents are known" && h.findings.size() > 1) continue;
      CHECK(std::erase(left, without_prefix(w, one.finding)) == 1);
    }
    CHECK(told(w) == names{});
    if (h.then) h.then(w);
    CHECK(told(w) == names{});
  }
}

ON_HARMED_STORES("The repair makes a lost group anew, which then ends and tells those that wait for it") {
  TestType w;
  in_ended_group(w);
  w.command({"HDEL", "groups", "g"});
  w.command({"HSET", "flow", "b", "0 1 0 0 s d 1 02:@g"});
  w.command({"ZADD", "after:@g", "0", "b"});
  w.command({"ZREM", "ready:default", "b"});
  w.command({"ZADD", "awaiting:default", "1", "b"});
  CHECK(told(w) == names{"job a is in group g, which does not exist", "job b waits for @g, which does not exist",
                         "something is still to be done of job @g, which does not exist",
                         "there is something of others for job @g, which does not exist"});
  repaired(w);
  CHECK(told(w) == names{});
  group_has_ended(w);
}

ON_HARMED_STORES("The repair tells of a first failure as of one, not as of an end that is not wanted") {
  TestType w;
  REQUIRE(create(w, "g").code == errc::none);
  put_members(w, "g", {"a", "b"});
  REQUIRE(put_jobs(w, {behind("told", "g", parent_end::first_failure)}).each.at(0) == errc::none);
  w.command({"ZREM", "after:@g", "told"});
  end(w, "a", how::given_up);
  CHECK_FALSE(told(w).empty());
  repaired(w);
  CHECK(told(w) == names{});
  work_off(w);
  CHECK(state(w, "told") == job_state::enqueued);
  CHECK(told(w) == names{});
}

ON_HARMED_STORES("The repair makes a lost row of two parents anew, which needs both") {
  TestType w;
  put_all(w, {"a", "b"});
  auto child = changed({.id = "c"}, [](prepared_job& j) { flow_of(j).after.parents = {job_id("a"), job_id("b")}; });
  REQUIRE(put_jobs(w, {child}).each.at(0) == errc::none);
  w.command({"HDEL", "flow", "c"});
  repaired(w);
  CHECK(told(w) == names{});
  end(w, "a");
  CHECK(state(w, "c") == job_state::awaiting);
  end(w, "b");
  CHECK(state(w, "c") == job_state::enqueued);
  CHECK(told(w) == names{});
}

ON_HARMED_STORES("The repair leaves the rest as it is, and says so") {
  TestType w;
  scheduled(w);
  w.command({"ZREM", "due", "default"});
  w.command({"HSET", "history", "ghost", "x"});
  const auto found = repaired(w);
  REQUIRE(found.size() == 2);
  CHECK(found[0].finding == "queue default has due jobs that nobody looks at");
  CHECK(found[0].done == "it is listed as it should be");
  CHECK(found[1].finding == "there is a history of job ghost, which does not exist");
  CHECK(found[1].done == "");
  CHECK(told(w) == names{"there is a history of job ghost, which does not exist"});
}

ON_HARMED_STORES("The repair mends all of a parent's children and all members of a group, however many") {
  TestType w;
  REQUIRE(create(w, "g").code == errc::none);
  put_all(w, {"a"});
  constexpr int many = 700;
  std::vector<prepared_job> jobs;
  for (int i = 0; i < many; ++i)
    jobs.push_back(changed({.id = cat("b", i)}, [](prepared_job& j) {
      flow_of(j).after.parents = {job_id("a")};
      flow_of(j).group = group_name("g");
    }));
  for (const auto code : put_jobs(w, std::move(jobs)).each)
    REQUIRE(code == errc::none);
  for (const auto* key : {"after:a", "members:g", "groups", "flow_mark"})
    w.command({"DEL", key});
  const auto found = repaired(w);
  CHECK(found.size() > many);
  CHECK(std::all_of(found.begin(), found.end(), is_mended));
  CHECK(told(w) == names{});
  CHECK(group_in_words(w, "g") == cat(many, " open, 0 succeeded, 0 failed, 0 deleted"));
  end(w, "a");
  work_off(w);
  for (int i = 0; i < many; ++i)
    CHECK(state(w, cat("b", i)) == job_state::enqueued);
  CHECK(told(w) == names{});
}

ON_HARMED_STORES("However much cannot be mended, the repair mends the rest, and tells 1,000 of what it leaves") {
  TestType w;
  scheduled(w);
  for (int i = 0; i < 1'200; ++i)
    w.command({"HSET", "history", cat("ghost", i), "x"});
  w.command({"ZREM", "due", "default"});
  const auto found = repaired(w);
  REQUIRE(found.size() == 1'002);
  CHECK(found.front().finding == "queue default has due jobs that nobody looks at");
  CHECK(std::count_if(found.begin(), found.end(), is_mended) == 1);
  CHECK(found.back().finding == "there is more that cannot be mended");
  w.clock.advance(1h);
  CHECK(promote(w).moved == 1);
}

ON_HARMED_STORES("Servers that wait hear of instants that were mended") {
  for (const auto* key : {"due", "ending"}) {
    INFO(key);
    TestType w;
    scheduled(w);
    started(w, "b");
    w.command({"DEL", key});
    std::atomic<bool> is_told = false;
    const auto watch =
        w.store().watch_others([&](const storage::hint& one) { is_told = is_told.load() || one.timers; });
    REQUIRE(watch);
    if constexpr (std::is_base_of_v<redis_world, TestType>) {  // it listens
      REQUIRE(eventually([&] { return is_told.exchange(false); }));
    }
    world other(w.url());
    CHECK(repaired(other).size() == 1);
    CHECK(eventually([&] { return is_told.load(); }));
  }
}

ON_HARMED_STORES("A child that needs more parents than it names needs all of them") {
  TestType w;
  put_all(w, {"a", "b"});
  auto child = changed({.id = "c"}, [](prepared_job& j) { flow_of(j).after.parents = {job_id("a"), job_id("b")}; });
  REQUIRE(put_jobs(w, {child}).each.at(0) == errc::none);
  w.command({"HSET", "flow", "c", "0 3 0 0 s d 2 01:a01:b"});
  end(w, "a");
  CHECK(state(w, "c") == job_state::awaiting);
  end(w, "b");
  CHECK(state(w, "c") == job_state::enqueued);
  CHECK(told(w) == names{});
}

ON_HARMED_STORES("Who lost his key to another as his start came to nothing is not accused") {
  for (const bool is_parked : {false, true}) {
    TestType w;
    holding(w, "holder", {"mutex:m"});
    with_key_until_start(w);
    const auto a = claim_one(w);
    const auto twin = changed({.id = "b", .queue = "other"}, [](prepared_job& j) {
      flow_of(j).unique_key = "work/k";
      flow_of(j).unique.until = unique_until::start;
    });
    REQUIRE(report(put_jobs(w, {twin})) == "stored");
    if (is_parked) REQUIRE(take(w, a, {"mutex:m"}).starts_with("parked "));
    else REQUIRE(settle(w, a, how::given_back) == errc::none);
    claim_one(w, {.queue = "other"});
    CHECK(state(w, "a") == (is_parked ? job_state::throttled : job_state::enqueued));
    CHECK(told(w) == names{});
  }
}

TEST_CASE("A repair that finds something in each pass ends, and says that there may be more") {
  std::vector<storage::repaired_finding> all;
  const auto gone = storage::machine::repair(never_right(), [&](const auto& one) { all.push_back(one); });
  REQUIRE(gone.ok());
  REQUIRE(all.size() == storage::machine::max_passes + 1);
  CHECK(std::count_if(all.begin(), all.end(), is_mended) == storage::machine::max_passes);
  CHECK(all.back().finding == "there may be more to mend; the last pass still found something");
}

TEST_CASE("What was mended is told when the store goes away behind it, and what may not have been is not") {
  never_right store;
  store.goes_away_at = 3;
  std::vector<storage::repaired_finding> all;
  const auto gone = storage::machine::repair(store, [&](const auto& one) { all.push_back(one); });
  REQUIRE_FALSE(gone.ok());
  CHECK(gone.error().code == errc::storage_unavailable);
  CHECK(all.size() == 2);
  CHECK(std::all_of(all.begin(), all.end(), is_mended));
}
