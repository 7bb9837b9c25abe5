// What people ask about jobs and tell them: get, list, queues, servers, requeue, remove.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

names listed(world& w, std::optional<job_state> state, const std::string& queue = "", std::uint32_t limit = 50) {
  job_query query;
  query.state = state;
  query.queue.value = queue;
  query.limit = limit;
  return ids(list(w, query));
}

// One job in each state that can be reached: "enqueued", "scheduled", "processing", …
void one_of_each(world& w) {
  for (const auto& [id, end] :
       {std::pair("succeeded", how::succeeded), {"failed", how::failed}, {"deleted", how::removed}}) {
    REQUIRE(put(w, {.id = id}) == errc::none);
    REQUIRE(settle(w, claim_one(w), end) == errc::none);
  }
  put_all(w, {"processing"});
  claim_one(w);
  put_all(w, {"enqueued"});
  REQUIRE(put(w, {.id = "scheduled", .delay = 1h}) == errc::none);
}

}  // namespace

ON_EACH_STORE("A requeued final job starts afresh at the tail") {
  put_suspect(w, "a");
  REQUIRE(settle(w, claim_one(w, {.allow_suspect = true}), how::retry) == errc::none);
  const auto last = claim_one(w, {.allow_suspect = true});
  REQUIRE(settle(w, last, GENERATE(how::succeeded, how::failed, how::removed)) == errc::none);
  put_all(w, {"b"});
  REQUIRE(requeue(w, "a").code == errc::none);
  CHECK(w.store().made_work());
  const auto back = get(w, "a");
  CHECK(back.state == job_state::enqueued);
  CHECK(back.attempt == 0);
  CHECK(back.losses == 0);
  CHECK(back.line.empty());
  CHECK(back.result.empty());
  CHECK(back.history.size() == 5);  // what was is not forgotten, and who requeued it neither
  CHECK_FALSE(back.finished_at.has_value());
  const auto got = claim(w, {.free = 2});
  REQUIRE(ids(got) == names{"b", "a"});
  CHECK(got.jobs.at(1).failures == 0);
  CHECK(got.jobs[1].job.attempt == 1);
  CHECK(got.jobs[1].job.fence > last.fence);
  audit(w);
}

ON_EACH_STORE("A requeued scheduled job is ready now and keeps what it has used") {
  put_all(w, {"a"});
  REQUIRE(settle(w, claim_one(w), how::retry, 1h) == errc::none);
  REQUIRE(requeue(w, "a").code == errc::none);
  const auto got = claim(w);
  REQUIRE(ids(got) == names{"a"});
  CHECK(got.jobs[0].job.attempt == 2);
  CHECK(got.jobs.at(0).failures == 1);
  CHECK_FALSE(promote(w).next_in.has_value());
  audit(w);
}

ON_EACH_STORE("To requeue a job that is enqueued already is fine and changes nothing, wherever it waits") {
  put_suspect(w, "suspect");
  put_all(w, {"woken", "last"});
  REQUIRE(put(w, {.id = "aside", .type = "mail"}) == errc::none);
  REQUIRE(settle(w, claim_one(w), how::given_back) == errc::none);
  const auto last = claim(w, {.free = 2});
  REQUIRE(ids(last) == names{"woken", "last"});
  REQUIRE(claim(w).jobs.empty());  // meets the one that it does not know
  REQUIRE(settle(w, last.jobs[1].job, how::failed) == errc::none);
  REQUIRE(settle(w, last.jobs[0].job, how::given_back) == errc::none);
  REQUIRE(requeue(w, "last").code == errc::none);
  put_all(w, {"new"});
  const auto before = portrait(w);
  for (const auto* id : {"suspect", "woken", "aside", "last", "new"}) {
    const auto same = requeue(w, id);
    CHECK(same.code == errc::none);
    CHECK_FALSE(same.changed);
    CHECK_FALSE(w.store().made_work());
  }
  CHECK(portrait(w) == before);
  CHECK(ids(claim(w, {.free = 9, .allow_suspect = true, .types = "work mail"})) ==
        names{"woken", "suspect", "aside", "last", "new"});
  audit(w);
}

ON_EACH_STORE("A requeue of a job that runs is refused, and changes nothing") {
  one_of_each(w);
  const auto before = portrait(w);
  const auto refused = requeue(w, "processing");
  CHECK(refused.code == errc::illegal_transition);
  CHECK(refused.message.find("processing") != std::string::npos);
  CHECK(requeue(w, "nobody").code == errc::not_found);
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  audit(w);
}

ON_EACH_STORE("A job that has left the state in which it was to be changed is left alone") {
  put_all(w, {"a", "b"});
  const auto a = claim_one(w);
  const auto refused = change(w, removing(a.id, job_state::enqueued));
  CHECK(refused.code == errc::illegal_transition);
  CHECK(refused.message == "job a is processing by now, and was left so");
  CHECK(get(w, "a").state == job_state::processing);
  CHECK(change(w, removing(job_id("b"), job_state::enqueued)).code == errc::none);
  REQUIRE(settle(w, a) == errc::none);
  CHECK(change(w, requeuing(a.id, job_state::failed)).code == errc::illegal_transition);
  CHECK(change(w, requeuing(a.id, job_state::succeeded)).code == errc::none);
  audit(w);
}

ON_EACH_STORE("Any job can be removed, and removing it again is fine") {
  one_of_each(w);
  for (const auto* id : {"enqueued", "scheduled", "processing", "succeeded", "failed", "deleted"}) {
    CHECK(remove(w, id).changed == (std::string_view(id) != "deleted"));
    const auto gone = get(w, id);
    CHECK(gone.state == job_state::deleted);
    CHECK(gone.finished_at.has_value());
    const auto before = portrait(w);
    const auto again = remove(w, id);
    CHECK(again.code == errc::none);
    CHECK_FALSE(again.changed);
    CHECK(portrait(w) == before);
    audit(w);
  }
  CHECK(remove(w, "nobody").code == errc::not_found);
  CHECK(counts(w).deleted == 6);
  CHECK(claim(w, {.free = 9}).jobs.empty());
}

ON_EACH_STORE("Jobs in side lines can be removed and counted") {
  put_suspect(w, "suspect");
  put_all(w, {"woken"});
  REQUIRE(settle(w, claim_one(w), how::given_back) == errc::none);
  REQUIRE(put(w, {.id = "aside", .type = "mail"}) == errc::none);
  REQUIRE(claim(w).jobs.size() == 1);
  REQUIRE(claim(w).jobs.empty());
  REQUIRE(settle(w, get(w, "woken"), how::given_back) == errc::none);
  CHECK(counts(w).enqueued == 3);
  audit(w);
  for (const auto* id : {"suspect", "woken", "aside"}) {
    CHECK_FALSE(get(w, id).line.empty());
    CHECK(remove(w, id).code == errc::none);
    CHECK(get(w, id).line.empty());
    audit(w);
  }
}

ON_EACH_STORE("The outcome of a removed job is refused") {
  put_all(w, {"a"});
  const auto running = claim_one(w);
  REQUIRE(remove(w, "a").code == errc::none);
  CHECK(get(w, "a").history.back().fence == running.fence);
  const auto before = portrait(w);
  CHECK(settle(w, running) == errc::stale_fence);
  CHECK(renew(w, running) == errc::stale_fence);
  CHECK(portrait(w) == before);
  REQUIRE(requeue(w, "a").code == errc::none);
  CHECK(settle(w, running) == errc::stale_fence);
  CHECK(claim_one(w).fence > running.fence);
  CHECK(settle(w, running) == errc::stale_fence);
  audit(w);
}

ON_EACH_STORE("A job that is not there is not found") {
  for (const auto* id : {"a", "", "%", "' OR 1=1 --"}) {
    CHECK(look(w, id).code == errc::not_found);
    CHECK_FALSE(look(w, id).found.has_value());
  }
}

ON_EACH_STORE("All jobs are listed state after state, page by page") {
  one_of_each(w);
  REQUIRE(put(w, {.id = "o", .queue = "other"}) == errc::none);
  const names expected = {"processing", "enqueued", "o", "scheduled", "failed", "succeeded", "deleted"};
  for (const std::uint32_t limit : {1u, 2u, 3u, 6u, 7u, 200u})
    CHECK(listed(w, {}, "", limit) == expected);
  CHECK(listed(w, {}, "other") == names{"o"});
  CHECK(listed(w, {}, "nobody").empty());
  CHECK(listed(w, {}, "default", 4) == names{"processing", "enqueued", "scheduled", "failed", "succeeded", "deleted"});
  for (const auto& j : list(w))
    CHECK(portrait(j) == portrait(get(w, j.id.value)));
}

ON_EACH_STORE("Jobs of a state are listed page by page, over all lines and queues") {
  put_all(w, {"a", "b", "c"});
  REQUIRE(put(w, {.id = "m", .type = "mail"}) == errc::none);
  REQUIRE(put(w, {.id = "o", .queue = "other"}) == errc::none);
  const auto got = claim(w, {.free = 9});
  REQUIRE(ids(got) == names{"a", "b", "c"});
  CHECK(listed(w, job_state::processing).size() == 3);
  for (const std::uint32_t limit : {1u, 2u, 3u, 200u}) {
    CHECK(listed(w, job_state::enqueued, "", limit) == names{"m", "o"});
    CHECK(listed(w, job_state::enqueued, "other", limit) == names{"o"});
  }
  for (const auto& j : jobs_of(got)) {  // all end in the same instant
    REQUIRE(settle(w, j) == errc::none);
  }
  REQUIRE(settle(w, claim_one(w, {.queue = "other"})) == errc::none);
  for (const std::uint32_t limit : {1u, 2u, 3u, 200u})
    CHECK(listed(w, job_state::succeeded, "", limit).size() == 4);
  w.clock.advance(1s);
  REQUIRE(settle(w, claim_one(w, {.types = "mail"})) == errc::none);
  CHECK(listed(w, job_state::succeeded, "", 2).front() == "m");  // newest first
  CHECK(listed(w, job_state::failed).empty());
  audit(w);
}

ON_EACH_STORE("A page has 1 to 200 jobs, and the last one says so") {
  storage::enqueue_request r;
  for (int i = 0; i < 201; ++i)
    r.jobs.push_back(prepared({.id = "j" + std::to_string(i)}));
  ask(w, r);
  job_query query;
  query.limit = 1'000'000;
  auto page = ask(w, storage::list_request{query}).page;
  CHECK(page.jobs.size() == 200);
  query.after = page.next;
  page = ask(w, storage::list_request{query}).page;
  CHECK(page.jobs.size() == 1);
  CHECK(page.next.empty());
  query = {};
  query.limit = 0;
  CHECK(ask(w, storage::list_request{query}).page.jobs.size() == 1);
  for (const auto* nonsense :
       {"x", "-", "9-", "enqueued:", "enqueued:1", "enqueued:1x-a", "enqueued:nan-a", "ready:1-a"}) {
    query.after = nonsense;
    CHECK(refusal(w, storage::list_request{query}) == errc::invalid_argument);
  }
  query.after = "enqueued:1-a";
  query.state = job_state::failed;  // of another list
  CHECK(refusal(w, storage::list_request{query}) == errc::invalid_argument);
}

ON_EACH_STORE("A list goes on where it was although jobs came and went") {
  put_all(w, {"a", "b", "c", "d"});
  job_query query;
  query.limit = 2;
  const auto first = ask(w, storage::list_request{query}).page;
  query.limit = 4;
  REQUIRE(ids(first.jobs) == names{"a", "b"});
  put_all(w, {"e"});
  REQUIRE(remove(w, "b").code == errc::none);
  query.after = first.next;
  CHECK(ids(ask(w, storage::list_request{query}).page.jobs) == names{"c", "d", "e", "b"});
}

ON_EACH_STORE("Queues are told of with their counts, also empty and paused ones") {
  CHECK(queues(w).empty());
  one_of_each(w);
  pause(w, "empty");
  const auto told = queues(w);
  REQUIRE(told.size() == 2);
  CHECK(told[0].queue == queue_name("default"));
  CHECK_FALSE(told[0].paused);
  for (int n = 1; n <= 8; ++n) {
    const auto state = static_cast<job_state>(n);
    const bool reachable = state != job_state::awaiting && state != job_state::throttled;
    CHECK(count_of(told[0], state) == (reachable ? 1 : 0));
  }
  CHECK(told[1].queue == queue_name("empty"));
  CHECK(told[1].paused);
  audit(w);
}

ON_EACH_STORE("A queue that nobody knows is not made by resuming it") {
  pause(w, "nobody", false);
  CHECK(queues(w).empty());
  CHECK(pause(w, "later"));
  CHECK_FALSE(pause(w, "later"));
  CHECK(pause(w, "later", false));
  CHECK_FALSE(pause(w, "later", false));
  REQUIRE(queues(w).size() == 1);
  CHECK_FALSE(queues(w)[0].paused);
}

ON_EACH_STORE("A server lives from its first word to its last") {
  server_info info;
  info.id.value = "s1";
  info.name = "web";
  info.host = "host";
  info.pid = 4711;
  info.queues = {"default:4", "mail:1"};
  CHECK(servers(w).empty());
  const auto began = w.clock.now();
  beat(w, info);
  w.clock.advance(5s);
  info.running = 3;
  beat(w, info);
  const auto told = servers(w);
  REQUIRE(told.size() == 1);
  CHECK(told[0].id == info.id);
  CHECK(told[0].name == "web");
  CHECK(told[0].host == "host");
  CHECK(told[0].pid == 4711);
  CHECK(told[0].queues == info.queues);
  CHECK(told[0].running == 3);
  CHECK(told[0].started_at == began);
  CHECK(told[0].heartbeat_at == w.clock.now());
  CHECK_FALSE(told[0].has_filters);
  info.has_filters = true;
  beat(w, info);
  CHECK(servers(w).at(0).has_filters);
  CHECK(servers(w).at(0).throttled.empty());
  info.throttled = {{job_type("mail"), {"mutex:user:{id}", "semaphore:smtp"}}};
  beat(w, info);
  REQUIRE(servers(w).at(0).throttled.size() == 1);
  CHECK(servers(w).at(0).throttled[0].type == job_type("mail"));
  CHECK(servers(w).at(0).throttled[0].throttlers == names{"mutex:user:{id}", "semaphore:smtp"});
  CHECK(servers(w).at(0).types.empty());
  CHECK_FALSE(servers(w).at(0).all_types);
  info.types = {job_type("mail"), job_type("order.ship")};
  info.all_types = true;
  beat(w, info);
  CHECK(servers(w).at(0).types == info.types);
  CHECK(servers(w).at(0).all_types);
  CHECK(servers(w).at(0).queues == info.queues);
  audit(w);
  leave(w, server_id("nobody"));
  CHECK(servers(w).size() == 1);
  leave(w, info.id);
  CHECK(servers(w).empty());
}

ON_EACH_STORE("A queue counts as served no more when the last server that serves it has left") {
  put_all(w, {"a"});
  REQUIRE(put(w, {.id = "b", .queue = "other"}) == errc::none);
  beat(w, serving("s1", {"default:2", "other:1"}));
  beat(w, serving("s2", {"default:2"}));
  w.clock.advance(1s);
  beat(w, serving("silent", {"other:1"}));
  leave(w, server_id("nobody"));
  CHECK(explain(w, "b").served);
  leave(w, server_id("silent"));
  CHECK(explain(w, "b").served);
  leave(w, server_id("s1"));
  CHECK_FALSE(explain(w, "b").served);
  CHECK(explain(w, "a").served);
  leave(w, server_id("s2"));
  CHECK_FALSE(explain(w, "a").served);
  claim(w, {.server = "s3"});
  CHECK(explain(w, "a").served);
  audit(w);
}

ON_EACH_STORE("Jobs that are changed together are changed one after the other, and each is answered for itself") {
  put_all(w, {"a", "b", "runs"});
  REQUIRE(settle(w, claim_one(w), how::failed) == errc::none);
  REQUIRE(settle(w, claim_one(w)) == errc::none);
  claim_one(w);
  storage::change_jobs_request wanted{storage::job_change::requeue, {}};
  for (const auto* id : {"a", "nobody", "runs", "a", "b"})
    wanted.ids.emplace_back(id);
  const auto told = w.ask<storage::change_jobs_answer>(wanted).each;
  REQUIRE(told.size() == 5);
  CHECK((told[0].code == errc::none && told[0].changed));
  CHECK(told[1].code == errc::not_found);
  CHECK(told[1].message == "there is no job nobody");
  CHECK(told[1].subject == error_subject::job);
  CHECK(told[2].code == errc::illegal_transition);
  CHECK((told[3].code == errc::none && !told[3].changed));  // by the first of these
  CHECK((told[4].code == errc::none && told[4].changed));
  CHECK(w.store().made_work().has_work());
  CHECK(ids(claim(w, {.free = 5})) == names{"a", "b"});
  audit(w);
}

ON_EACH_STORE("So many jobs are changed by one request and no more") {
  storage::change_jobs_request all{storage::job_change::remove, {}};
  for (std::size_t i = 0; i < storage::max_changed; ++i) {
    all.ids.emplace_back(cat("j", i));
    REQUIRE(put(w, {.id = all.ids.back().value}) == errc::none);
  }
  auto one_more = all;
  one_more.ids.emplace_back("another");
  CHECK(refusal(w, one_more) == errc::invalid_argument);
  CHECK(get(w, "j0").state == job_state::enqueued);
  const auto told = w.ask<storage::change_jobs_answer>(all).each;
  CHECK(std::count_if(told.begin(), told.end(), [](const auto& one) { return one.changed; }) == 100);
  CHECK(get(w, "j99").state == job_state::deleted);
  CHECK(w.ask<storage::change_jobs_answer>(storage::change_jobs_request{}).each.empty());
  audit(w);
}
