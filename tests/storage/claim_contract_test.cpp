// Who gets which job, and in what order.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

ON_EACH_STORE("Jobs are claimed in the order they were stored") {
  put_all(w, {"a", "b", "c"});
  put_all(w, {"d"});
  CHECK(ids(claim(w, {.free = 2})) == names{"a", "b"});
  CHECK(ids(claim(w, {.free = 1, .ahead = 5})) == names{"c", "d"});
  CHECK(claim(w).jobs.empty());
  CHECK(claim(w, {.free = 0}).jobs.empty());
  audit(w);
}

ON_EACH_STORE("The order of a line holds when the clock is set back") {
  put_all(w, {"a"});
  w.clock.advance(-1h);
  put_all(w, {"b"});
  w.clock.advance(2h);
  put_all(w, {"c"});
  CHECK(ids(claim(w, {.free = 3})) == names{"a", "b", "c"});
}

ON_EACH_STORE("A claimed job is processing, with a fence, an attempt and a lease") {
  put_all(w, {"a", "b"});
  const auto got = claim(w, {.free = 2, .server = "srv", .lease = 20s});
  REQUIRE(ids(got) == names{"a", "b"});
  CHECK(failures(got) == std::vector<std::uint32_t>{0, 0});
  CHECK(got.jobs[1].job.fence > got.jobs[0].job.fence);
  for (const auto& j : jobs_of(got)) {
    CHECK(j.state == job_state::processing);
    CHECK(j.attempt == 1);
    CHECK(j.server == "srv");
    CHECK(j.fence.value >= static_cast<std::uint64_t>(micros(w.clock.now())));
    CHECK(j.fence.value < (1ULL << 53));
    CHECK(j.started_at == w.clock.now());
    CHECK(j.lease_until == w.clock.now() + 20s);
    CHECK(portrait(j) == portrait(get(w, j.id.value)));
  }
  audit(w);
}

ON_EACH_STORE("A claim takes from its own queue only") {
  REQUIRE(put(w, {.id = "a", .queue = "one"}) == errc::none);
  REQUIRE(put(w, {.id = "b", .queue = "two"}) == errc::none);
  CHECK(ids(claim(w, {.free = 9, .queue = "two"})) == names{"b"});
  CHECK(claim(w, {.free = 9, .queue = "nobody"}).jobs.empty());
  CHECK(get(w, "a").state == job_state::enqueued);
  audit(w);
}

ON_EACH_STORE("The front line goes first") {
  put_all(w, {"a", "b", "c", "d"});
  const auto first = claim(w, {.free = 3});
  REQUIRE(settle(w, first.jobs[2].job, how::given_back) == errc::none);
  REQUIRE(settle(w, first.jobs[0].job, how::given_back) == errc::none);
  CHECK(get(w, "c").line == "front");
  CHECK(ids(claim(w, {.free = 9})) == names{"c", "a", "d"});
  audit(w);
}

ON_EACH_STORE_AND_FILE("A claim asked again answers as the first time") {
  put_all(w, {"a", "b", "c", "d"});
  const auto request = claiming({.free = 2});
  const auto first = ask(w, request);
  const auto before = portrait(w);
  for (int i = 0; i < 2; ++i) {
    const auto again = ask(w, request);
    REQUIRE(ids(again) == names{"a", "b"});
    CHECK(again.jobs[0].job.fence == first.jobs[0].job.fence);
    CHECK(again.jobs[1].job.fence == first.jobs[1].job.fence);
    CHECK(failures(again) == failures(first));
    CHECK(portrait(w) == before);
    if (w.survives_reopen) w.reopen();
  }
  SECTION("with what is still held of it") {
    REQUIRE(settle(w, first.jobs[0].job) == errc::none);
    CHECK(ids(ask(w, request)) == names{"b"});
  }
  SECTION("also after a newer claim") {
    REQUIRE(ids(claim(w)) == names{"c"});
    CHECK(ids(ask(w, request)) == names{"a", "b"});
  }
  SECTION("while its queue is paused") {
    pause(w, "default");
    CHECK(ids(ask(w, request)) == names{"a", "b"});
  }
  SECTION("but not with a run that somebody else has now") {
    lose_all(w);
    REQUIRE(claim(w, {.free = 4, .allow_suspect = true, .server = "s2"}).jobs.size() == 4);
    for (const auto& j : jobs_of(ask(w, request)))
      CHECK(j.server == "s1");
  }
  audit(w);
}

ON_EACH_STORE("The same number of another server or queue is another claim") {
  put_all(w, {"a", "b"});
  REQUIRE(put(w, {.id = "c", .queue = "other"}) == errc::none);
  CHECK(ids(claim(w, {.server = "s1", .op = 7})) == names{"a"});
  CHECK(ids(claim(w, {.server = "s2", .op = 7})) == names{"b"});
  CHECK(ids(claim(w, {.queue = "other", .server = "s1", .op = 7})) == names{"c"});
  CHECK(ids(claim(w, {.free = 9, .server = "s1", .op = 7})) == names{"a"});
}

ON_EACH_STORE_AND_FILE("Two requests of one server and queue under way at a time claim each for itself") {
  put_all(w, {"a", "b", "c", "d"});
  const auto first = claiming({.op = 7, .slot = 0}), second = claiming({.op = 8, .slot = 1});
  // The later is carried out before the earlier.
  REQUIRE(ids(ask(w, second)) == names{"a"});
  REQUIRE(ids(ask(w, first)) == names{"b"});
  const auto before = portrait(w);
  for (int i = 0; i < 2; ++i) {
    CHECK(ids(ask(w, first)) == names{"b"});
    CHECK(ids(ask(w, second)) == names{"a"});
    CHECK(portrait(w) == before);
    if (w.survives_reopen) w.reopen();
  }
  // The older claim of one is still a repeat when the other has gone on.
  REQUIRE(ids(claim(w, {.op = 9, .slot = 1})) == names{"c"});
  CHECK(ids(ask(w, first)) == names{"b"});
  CHECK(ids(ask(w, second)) == names{"a"});
  CHECK(ids(claim(w, {.op = 10, .slot = 0})) == names{"d"});
  w.template ask<storage::done_answer>(storage::deregister_request{server_id("s1")});
  put_all(w, {"e", "f"});
  CHECK(ids(claim(w, {.op = 1, .slot = 0})) == names{"e"});
  CHECK(ids(claim(w, {.op = 2, .slot = 1})) == names{"f"});
  audit(w);
}

ON_EACH_STORE("A job of an unknown type is put aside once, for whoever knows it") {
  REQUIRE(put(w, {.id = "m1", .type = "mail"}) == errc::none);
  put_all(w, {"a"});
  REQUIRE(put(w, {.id = "m2", .type = "mail"}) == errc::none);
  put_all(w, {"b"});
  CHECK(ids(claim(w, {.free = 2})) == names{"a", "b"});
  CHECK(w.store().made_work());  // who knows the type should look
  const auto aside = get(w, "m1");
  CHECK(aside.line == "type:mail");
  CHECK(aside.state == job_state::enqueued);
  CHECK(aside.attempt == 0);
  CHECK(aside.history.empty());
  CHECK_FALSE(aside.reason.empty());
  CHECK(counts(w).enqueued == 2);
  audit(w);

  const auto before = portrait(w);
  CHECK(claim(w, {.free = 9}).jobs.empty());
  CHECK_FALSE(w.store().made_work());  // and it is not moved again and again
  CHECK(portrait(w) == before);

  put_all(w, {"c"});
  CHECK(ids(claim(w, {.free = 9, .types = "mail work"})) == names{"m1", "m2", "c"});  // by age
  audit(w);
}

ON_EACH_STORE("A server that knows no type takes nothing") {
  put_all(w, {"a"});
  auto request = claiming({.free = 5});
  request.types = nullptr;
  CHECK(ask(w, request).jobs.empty());
  CHECK(ids(claim(w)) == names{"a"});
}

ON_EACH_STORE("A given-back job of an unknown type is put aside too") {
  REQUIRE(put(w, {.id = "m", .type = "mail"}) == errc::none);
  REQUIRE(settle(w, claim_one(w, {.types = "mail"}), how::given_back) == errc::none);
  put_all(w, {"a"});
  CHECK(ids(claim(w)) == names{"a"});
  CHECK(get(w, "m").line == "type:mail");
  CHECK(ids(claim(w, {.types = "mail"})) == names{"m"});
  audit(w);
}

ON_EACH_STORE("More jobs of unknown types than one claim moves hold up nobody for long") {
  storage::enqueue_request r;
  for (int i = 0; i < 2'500; ++i)
    r.jobs.push_back(prepared({.id = "m" + std::to_string(i), .type = "mail"}));
  ask(w, r);
  put_all(w, {"a"});
  names got;
  for (int i = 0; i < 5 && got.empty(); ++i) {
    got = ids(claim(w, {.free = 4}));
    if (got.empty()) CHECK(w.store().made_work());  // so that the asker looks again
  }
  CHECK(got == names{"a"});
  CHECK(counts(w).enqueued == 2'500);
}

ON_EACH_STORE("A suspect is claimed only when one may be") {
  put_suspect(w, "x");
  CHECK(get(w, "x").line == "suspect");
  put_all(w, {"a", "b"});
  CHECK(ids(claim(w, {.free = 9})) == names{"a", "b"});
  CHECK_FALSE(get(w, "x").state == job_state::processing);
  const auto got = claim(w, {.free = 9, .allow_suspect = true});
  REQUIRE(ids(got) == names{"x"});
  CHECK(got.jobs[0].job.losses == 2);
  CHECK(got.jobs[0].job.attempt == 1);  // the lost ones did not count
  audit(w);
}

ON_EACH_STORE("A job that was lost once is claimed like any other") {
  put_all(w, {"a", "b", "c"});
  REQUIRE(claim(w, {.free = 3}).jobs.size() == 3);
  lose_all(w);
  put_all(w, {"d"});
  CHECK(get(w, "a").losses == 1);
  const auto got = claim(w, {.free = 1, .ahead = 3});
  CHECK(ids(got) == names{"a", "b", "c", "d"});
  CHECK_FALSE(got.has_waiting_suspect);
  audit(w);
}

ON_EACH_STORE("A claim tells that a suspect waits which it did not take") {
  put_suspect(w, "x");
  SECTION("when it may take none and finds nothing") { CHECK(claim(w).has_waiting_suspect); }
  SECTION("when it may take none and finds others") {
    put_all(w, {"a"});
    CHECK(claim(w).has_waiting_suspect);
  }
  SECTION("when it took another") {
    put_suspect(w, "y");
    CHECK(claim(w, {.free = 9, .allow_suspect = true}).has_waiting_suspect);
  }
  SECTION("when it is asked again") {
    put_all(w, {"a"});
    const auto request = claiming({});
    REQUIRE(ask(w, request).has_waiting_suspect);
    CHECK(ask(w, request).has_waiting_suspect);
  }
  SECTION("and not when it took it") { CHECK_FALSE(claim(w, {.allow_suspect = true}).has_waiting_suspect); }
  SECTION("and not in another queue") {
    REQUIRE(put(w, {.id = "o", .queue = "other"}) == errc::none);
    CHECK_FALSE(claim(w, {.queue = "other"}).has_waiting_suspect);
  }
  audit(w);
}

ON_EACH_STORE("One claim takes at most one suspect, in its turn") {
  put_all(w, {"x", "y"});
  lose_twice(w, {.free = 2});
  put_all(w, {"a", "b"});
  CHECK(ids(claim(w, {.free = 9, .allow_suspect = true})) == names{"x", "a", "b"});
  CHECK(ids(claim(w, {.free = 9, .allow_suspect = true})) == names{"y"});
  audit(w);
}

ON_EACH_STORE("A suspect is never claimed ahead") {
  SECTION("when nobody is free") {
    put_suspect(w, "x");
    CHECK(claim(w, {.free = 0, .ahead = 9, .allow_suspect = true}).jobs.empty());
  }
  SECTION("when those before it take the free places") {
    put_all(w, {"x"});
    claim_one(w);
    lose_all(w);
    claim_one(w);
    put_all(w, {"a"});
    lose_all(w);
    CHECK(ids(claim(w, {.free = 1, .ahead = 9, .allow_suspect = true})) == names{"a"});
  }
  SECTION("while others are, behind it") {
    put_suspect(w, "x");
    put_all(w, {"a", "b"});
    CHECK(ids(claim(w, {.free = 1, .ahead = 9, .allow_suspect = true})) == names{"x", "a", "b"});
  }
  audit(w);
}

ON_EACH_STORE("Suspects of an unknown type keep the rules in their type's line") {
  for (const auto* id : {"x", "y"})
    REQUIRE(put(w, {.id = id, .type = "mail"}) == errc::none);
  lose_twice(w, {.free = 2, .types = "mail"});
  REQUIRE(put(w, {.id = "m", .type = "mail"}) == errc::none);
  CHECK(claim(w, {.free = 9, .allow_suspect = true}).jobs.empty());
  CHECK(get(w, "x").line == "type:mail");
  CHECK(get(w, "y").line == "type:mail");
  const auto passed = claim(w, {.free = 9, .types = "mail"});
  CHECK(ids(passed) == names{"m"});
  CHECK(passed.has_waiting_suspect);
  CHECK(ids(claim(w, {.free = 9, .allow_suspect = true, .types = "mail"})) == names{"x"});
  CHECK(claim(w, {.free = 0, .ahead = 9, .allow_suspect = true, .types = "mail"}).jobs.empty());
  CHECK(ids(claim(w, {.free = 9, .allow_suspect = true, .types = "mail"})) == names{"y"});
  audit(w);
}

ON_EACH_STORE("A type that starts at once is never claimed ahead") {
  const claim_words known{.types = "work exec", .no_prefetch = "exec"};
  for (const auto* id : {"e1", "e2", "e3"})
    REQUIRE(put(w, {.id = id, .type = "exec"}) == errc::none);
  put_all(w, {"a"});
  auto words = known;
  words.free = 0;
  words.ahead = 9;
  CHECK(claim(w, words).jobs.empty());
  words = known;
  words.free = 2;
  words.ahead = 9;
  CHECK(ids(claim(w, words)) == names{"e1", "e2"});  // "a" keeps its place behind e3
  CHECK(ids(claim(w, words)) == names{"e3", "a"});
  audit(w);
}

ON_EACH_STORE_AND_FILE("A paused queue takes jobs and starts none; running ones go on") {
  put_all(w, {"a", "b"});
  REQUIRE(put(w, {.id = "o", .queue = "other"}) == errc::none);
  const auto running = claim_one(w);
  pause(w, "default");
  CHECK(claim(w, {.free = 9}).jobs.empty());
  CHECK(ids(claim(w, {.queue = "other"})) == names{"o"});
  put_all(w, {"c"});
  CHECK(renew(w, running) == errc::none);
  CHECK(settle(w, running) == errc::none);
  if (w.survives_reopen) w.reopen();
  CHECK(counts(w).paused);
  CHECK(claim(w).jobs.empty());
  pause(w, "default", false);
  CHECK(w.store().made_work());
  CHECK(ids(claim(w, {.free = 9})) == names{"b", "c"});
  audit(w);
}

ON_EACH_STORE("Looking for work where there is none says that none was made") {
  put_all(w, {"a"});
  CHECK(w.store().made_work());
  claim(w, {.free = 9});
  CHECK_FALSE(w.store().made_work());
  claim(w, {.free = 9});
  CHECK_FALSE(w.store().made_work());
}
