// Lists of jobs by what they are: which are found, and how much one request looks at.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

job_page page_of(world& w, const job_query& query) { return ask(w, storage::list_request{query}).page; }

names found(world& w, const job_query& query) { return ids(list(w, query)); }

}  // namespace

ON_EACH_STORE("Jobs are found by type, id, header and a value in their arguments") {
  REQUIRE(put(w, {.id = "a1", .type = "mail", .args = R"({"to":{"id":42},"tags":["x","y"]})"}) == errc::none);
  REQUIRE(put(w, {.id = "a2", .type = "work", .args = R"({"to":{"id":"42"},"on":true,"off":null,"at":1.50})"}) ==
          errc::none);
  REQUIRE(put(w, {.id = "b1",
                  .type = "mail",
                  .args = R"({"to":{"id":421},"big":12345678901234567890123})",
                  .headers = {{"tenant", "north"}, {"trace", "t1"}}}) == errc::none);
  job_query by;
  by.type = job_type("mail");
  CHECK(found(w, by) == names{"a1", "b1"});
  by = {};
  by.id_begins = "a";
  CHECK(found(w, by) == names{"a1", "a2"});
  by.type = job_type("work");
  CHECK(found(w, by) == names{"a2"});
  by = {};
  by.headers = {{"tenant", "north"}};
  CHECK(found(w, by) == names{"b1"});
  by.headers = {{"tenant", "north"}, {"trace", ""}};
  CHECK(found(w, by).empty());

  const auto with = [&](const char* path, const char* value) {
    job_query q;
    q.argument = {path, value};
    q.with_args = false;
    const auto jobs = list(w, q);
    for (const auto& j : jobs)
      CHECK(j.args.empty());
    return ids(jobs);
  };
  CHECK(with("to.id", "42") == names{"a1", "a2"});
  CHECK(with("tags.1", "y") == names{"a1"});
  CHECK(with("on", "true") == names{"a2"});
  CHECK(with("off", "null") == names{"a2"});
  CHECK(with("at", "1.50") == names{"a2"});
  CHECK(with("big", "12345678901234567890123") == names{"b1"});
  CHECK(with("to", "").empty());
  CHECK(with("nowhere", "").empty());
  by = {};
  by.argument = {"to..id", "42"};
  CHECK(refusal(w, storage::list_request{by}) == errc::invalid_argument);
  audit(w);
}

ON_EACH_STORE("A list without args may tell their first bytes, and no part of a character") {
  const std::string letters(100, 'x'), two_bytes = "\u00e9";
  REQUIRE(put(w, {.id = "short", .args = R"({"n":1})"}) == errc::none);
  REQUIRE(put(w, {.id = "long", .args = cat(R"({"abc":")", letters, two_bytes, letters, "\"}")}) == errc::none);
  const auto told = [&](std::uint32_t first, bool by_argument) {
    job_query q;
    q.with_args = false;
    q.first_of_args = first;
    if (by_argument) q.argument = {"n", "1"};
    names all;
    for (const auto& j : list(w, q)) {
      all.push_back(j.args);
      CHECK(j.result.empty());
    }
    return all;
  };
  const auto begin = cat(R"({"abc":")", letters);
  CHECK(told(0, false) == names{"", ""});
  CHECK(told(4, false) == names{R"({"n")", R"({"ab)"});
  CHECK(told(109, false) == names{R"({"n":1})", begin});
  CHECK(told(110, false) == names{R"({"n":1})", begin + two_bytes});
  CHECK(told(120, false) == names{R"({"n":1})", cat(begin, two_bytes, std::string(10, 'x'))});
  CHECK(told(4, true) == names{R"({"n")"});
  job_query more;
  more.first_of_args = 121;
  CHECK(refusal(w, storage::list_request{more}) == errc::invalid_argument);
  audit(w);
}

ON_EACH_STORE("Jobs are found by the words of an error and by the server that runs them, or ran them last") {
  put_all(w, {"a", "b", "c"});
  const auto mine = claim_one(w, {.server = "web-1:token"});
  claim_one(w, {.server = "web-10:token"});
  job_query by;
  by.server = "web-1";
  CHECK(found(w, by) == names{"a"});
  by.server = "web-10:token";
  CHECK(found(w, by) == names{"b"});
  auto end = ended(mine, how::failed);
  end.text = "Connection refused by peer";
  end.reason = "gave up";
  REQUIRE(settle(w, end) == errc::none);
  by.server = "web-1";
  CHECK(found(w, by) == names{"a"});
  by = {};
  by.error = "connection REFUSED";
  CHECK(found(w, by) == names{"a"});
  by.error = "gave up";
  CHECK(found(w, by) == names{"a"});
  by.error = "timeout";
  CHECK(found(w, by).empty());
}

ON_EACH_STORE("Jobs are found from one instant and before another") {
  const auto start = w.clock.now();
  put_all(w, {"early"});
  REQUIRE(settle(w, claim_one(w), how::failed) == errc::none);
  w.clock.advance(1h);
  put_all(w, {"late"});
  REQUIRE(settle(w, claim_one(w), how::failed) == errc::none);
  put_all(w, {"running"});
  claim_one(w);
  put_all(w, {"waiting"});
  REQUIRE(put(w, {.id = "due", .delay = 2h}) == errc::none);

  job_query by;
  by.from = start + 1h;
  CHECK(found(w, by) == names{"running", "due", "late"});  // what waits was created by the enqueuer's clock
  by.from = start + 1min;
  by.state = job_state::failed;
  CHECK(found(w, by) == names{"late"});
  by.from.reset();
  by.to = start + 1h;
  CHECK(found(w, by) == names{"early"});
  by.from = start;
  CHECK(found(w, by) == names{"early"});
  by = {};
  by.state = job_state::scheduled;
  by.to = start + 3h;
  CHECK(found(w, by).empty());
  by.to = start + 3h + 1us;
  CHECK(found(w, by) == names{"due"});
}

ON_EACH_STORE("A list that looks inside jobs looks at so many a request, says so and goes on") {
  storage::enqueue_request r;
  for (int i = 0; i < 1'100; ++i)
    r.jobs.push_back(prepared({.id = cat("j", 10'000 + i), .type = i % 350 == 349 ? "rare" : "work"}));
  ask(w, r);
  job_query by;
  by.type = job_type("rare");
  auto page = page_of(w, by);
  CHECK(ids(page.jobs) == names{"j10349"});
  CHECK(page.records_read == storage::max_records_read);
  by.after = page.next;
  page = page_of(w, by);
  CHECK(ids(page.jobs) == names{"j10699"});
  by.after = page.next;
  page = page_of(w, by);
  CHECK(ids(page.jobs) == names{"j11049"});
  CHECK(page.records_read == 1'100 - 2 * storage::max_records_read);
  CHECK(page.next.empty());

  by = {};
  by.type = job_type("work");
  by.limit = 3;
  page = page_of(w, by);
  CHECK(page.jobs.size() == 3);
  CHECK(page.records_read == 3);
  by.after = page.next;
  CHECK(page_of(w, by).jobs.front().id.value == "j10003");
}

ON_EACH_STORE("A list of many queues is in one order, page by page") {
  names all;
  for (int i = 0; i < 60; ++i) {
    all.push_back(cat("j", 100 + i));
    REQUIRE(put(w, {.id = all.back(), .queue = cat("q", i * 7 % 20)}) == errc::none);
    w.clock.advance(1ms);
  }
  job_query by;
  by.limit = GENERATE(1u, 7u, 59u, 60u, 200u);
  CHECK(found(w, by) == all);
  for (int i = 0; i < 60; ++i) {
    REQUIRE(settle(w, claim_one(w, {.queue = cat("q", i * 7 % 20)})) == errc::none);
    if (i % 3 == 0) w.clock.advance(1ms);
  }
  const auto newest = found(w, by);
  CHECK(newest == names(all.rbegin(), all.rend()));
}

ON_EACH_STORE("A queue says how many wait for a server that knows their types, and of which types the most") {
  const auto unknown = [&] {
    auto text = std::string();
    for (const auto& q : w.ask<storage::queues_answer>(storage::queues_request{}).unknown) {
      text += cat(q.queue.value, ' ', q.jobs, " of ", q.types);
      for (const auto& [type, count] : q.most)
        text += cat(' ', type.value, ':', count);
    }
    return text;
  };
  const auto put_of = [&](const char* id, const char* type) {
    REQUIRE(put(w, {.id = id, .type = type, .queue = "q"}) == errc::none);
  };
  put_of("a", "x");
  CHECK(unknown().empty());
  for (const auto& [id, type] : {std::pair("b", "y"), {"c", "y"}, {"d", "Z"}, {"e", "w"}})
    put_of(id, type);
  REQUIRE(claim(w, {.queue = "q", .types = "other"}).jobs.empty());
  CHECK(unknown() == "q 5 of 4 y:2 Z:1 w:1");
  CHECK(ids(claim(w, {.free = 5, .queue = "q", .types = "y"})) == names{"b", "c"});
  CHECK(unknown() == "q 3 of 3 Z:1 w:1 x:1");
  CHECK(queues(w).size() == 1);
}

ON_EACH_STORE("A queue says since when its first waiting job has been ready") {
  CHECK(!counts(w).oldest_ready);
  const auto start = w.clock.now();
  put_all(w, {"a"});
  w.clock.advance(1min);
  put_all(w, {"b"});
  REQUIRE(put(w, {.id = "later", .delay = 1h}) == errc::none);
  REQUIRE(counts(w).oldest_ready);
  CHECK(*counts(w).oldest_ready - start < 1s);
  claim_one(w);
  CHECK(*counts(w).oldest_ready - start >= 1min);
  claim_one(w);
  CHECK(!counts(w).oldest_ready);
}
