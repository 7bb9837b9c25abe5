// What a store owes an enqueuer.
#include "core/codec.hpp"
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

ON_EACH_STORE("A new job waits in its queue with all that its enqueuer said") {
  new_job said;
  said.id = job_id("a");
  said.type = job_type("mail");
  said.queue = queue_name("post");
  said.args = R"({ "to" : "ünï\u0000",  "n":1e300 })";
  said.headers = {{"trace", std::string("nul \0 and \x1b[2J", 14)}, {"empty", ""}};
  said.retry.attempts = 4;
  said.retry.delay = 3s;
  said.retry.then = when_exhausted::remove;
  said.timeout = 7s;
  const auto ready = enqueue_pipeline({}, {}).prepare(said, from_micros(1'779'999'999'123'456));
  REQUIRE(ready.ok());
  CHECK(ask(w, storage::enqueue_request{{*ready}}).each == std::vector{errc::none});
  CHECK(w.store().made_work());

  const auto found = get(w, "a");
  CHECK(found.type == said.type);
  CHECK(found.queue == said.queue);
  CHECK(found.args == said.args);
  CHECK(found.headers == said.headers);
  CHECK(found.retry == said.retry);
  CHECK(found.timeout == said.timeout);
  CHECK(found.created_at == from_micros(1'779'999'999'123'456));
  CHECK(found.state == job_state::enqueued);
  CHECK(found.attempt == 0);
  CHECK(found.losses == 0);
  CHECK(found.fence.value == 0);
  CHECK(found.line.empty());
  CHECK(found.history.empty());
  CHECK(counts(w, "post").enqueued == 1);
  audit(w);
}

ON_EACH_STORE("Many jobs of one request are stored in order, and each answers for itself") {
  REQUIRE(put(w, {.id = "taken", .args = "1"}) == errc::none);
  storage::enqueue_request r;
  r.jobs = {prepared({.id = "a"}), prepared({.id = "taken", .args = "2"}), prepared({.id = "b"}),
            prepared({.id = "a"}), prepared({.id = "b", .args = "2"}),     prepared({.id = "c"})};
  CHECK(ask(w, r).each ==
        std::vector{errc::none, errc::id_conflict, errc::none, errc::none, errc::id_conflict, errc::none});
  CHECK(ids(claim(w, {.free = 9})) == names{"taken", "a", "b", "c"});
  CHECK(get(w, "taken").args == "1");
  CHECK(get(w, "b").args == "{}");
  audit(w);
}

ON_EACH_STORE("A job alone is stored as one among others, in a new minute and in one that has begun") {
  const auto alone = [&](const std::string& id) {
    CHECK(put(w, {.id = id}) == errc::none);
    CHECK(w.store().made_work().queues == std::set<std::string, std::less<>>{"default"});
    CHECK(put(w, {.id = id}) == errc::none);  // is there
    CHECK_FALSE(w.store().made_work());
    CHECK(put(w, {.id = id, .args = "2"}) == errc::id_conflict);
  };
  alone("a");
  alone("b");
  CHECK(ask(w, storage::enqueue_request{{prepared({.id = "c"}), prepared({.id = "d"})}}).each ==
        std::vector{errc::none, errc::none});
  alone("e");
  CHECK(put(w, {.id = "later", .delay = 1h}) == errc::none);
  w.clock.advance(1min);
  alone("f");
  alone("g");
  CHECK(put(w, {.id = "o", .queue = "other"}) == errc::none);
  const totals_query of_queue{.queue = queue_name("default")};
  const auto told = w.ask<storage::totals_answer>(storage::totals_request{of_queue});
  CHECK(told.report.ever.enqueued == 8);
  audit(w);
  CHECK(ids(claim(w, {.free = 9})) == names{"a", "b", "c", "d", "e", "f", "g"});
}

ON_EACH_STORE("The same id with the same content is one job, whatever has become of it") {
  const job_words same{.id = "a", .args = "[1]", .headers = {{"k", "v"}}};
  REQUIRE(put(w, same) == errc::none);
  REQUIRE(put(w, same) == errc::none);
  CHECK_FALSE(w.store().made_work());
  CHECK(counts(w).enqueued == 1);
  auto later = same;
  later.delay = 1h;  // when it runs is not what it is
  CHECK(put(w, later) == errc::none);
  CHECK(get(w, "a").state == job_state::enqueued);

  const auto running = claim_one(w);
  CHECK(put(w, same) == errc::none);
  CHECK(get(w, "a").state == job_state::processing);
  REQUIRE(settle(w, running) == errc::none);
  CHECK(put(w, same) == errc::none);
  CHECK(get(w, "a").state == job_state::succeeded);
  CHECK(claim(w).jobs.empty());
  audit(w);
}

ON_EACH_STORE("An id with other content is refused, and nothing changes") {
  const job_words first{.id = "a", .args = "[1]", .headers = {{"k", "v"}}};
  REQUIRE(put(w, first) == errc::none);
  const auto before = portrait(w);
  std::vector<job_words> others(4, first);
  others[0].type = "other";
  others[1].queue = "other";
  others[2].args = "[2]";
  others[3].headers = {{"k", "w"}};
  for (const auto& other : others)
    CHECK(put(w, other) == errc::id_conflict);
  CHECK_FALSE(w.store().made_work());
  CHECK(portrait(w) == before);
  CHECK(counts(w, "other").enqueued == 0);
  audit(w);
}

ON_EACH_STORE("Who is refused an id is told what differs") {
  const job_words first{.id = "a", .args = "[1]", .headers = {{"k", "v"}}};
  REQUIRE(put(w, first) == errc::none);
  std::vector<std::pair<job_words, std::string>> table(5, {first, {}});
  table[0].first.type = "other";
  table[0].second = "its type differs;";
  table[1].first.queue = "other";
  table[1].second = "its queue differs;";
  table[2].first.args = "[2]";
  table[2].second = "its args differ;";
  table[3].first.headers = {};
  table[3].second = "its headers differ;";
  table[4].first = {.id = "a", .type = "other", .args = "{}"};
  table[4].second = "its type, args and headers differ;";
  for (const auto& [words, told] : table) {
    CAPTURE(told);
    auto one = prepared(words);
    const auto plain = ask(w, storage::enqueue_request{{one}});
    CHECK(storage::report_of(one.id, plain, 0).error().message.find(told) != std::string::npos);
    flow_of(one).start_within = 1h;
    const auto with_a_time = ask(w, storage::enqueue_request{{one}});
    CHECK(storage::report_of(one.id, with_a_time, 0).error().message.find(told) != std::string::npos);
    const auto with_another = ask(w, storage::enqueue_request{{prepared({.id = "new"}), one}, true});
    CHECK(storage::report_of(one.id, with_another, 1).error().message.find(told) != std::string::npos);
  }
  audit(w);
}

ON_EACH_STORE("Headers that filters add make no other job, and those of the enqueuer do") {
  const job_words first{.id = "a", .headers = {{"trace", "1"}, {"tenant", "x"}}};
  REQUIRE(put(w, first) == errc::none);
  auto again = prepared({.id = "a", .headers = {{"trace", "2"}, {"tenant", "x"}}});
  CHECK(ask(w, storage::enqueue_request{{again}}).each.at(0) == errc::id_conflict);
  again.headers_of_filters = {"trace"};
  CHECK(ask(w, storage::enqueue_request{{again}}).each.at(0) == errc::none);
  CHECK(get(w, "a").headers == first.headers);
  again.headers_of_filters = {"tenant"};
  CHECK(ask(w, storage::enqueue_request{{again}}).each.at(0) == errc::id_conflict);
  audit(w);
}

ON_EACH_STORE("A delayed job is scheduled and not claimed") {
  REQUIRE(put(w, {.id = "later", .delay = 5s}) == errc::none);
  const auto found = get(w, "later");
  CHECK(found.state == job_state::scheduled);
  CHECK(found.due_at == w.clock.now() + 5s);
  CHECK(counts(w).scheduled == 1);
  w.clock.advance(6s);
  CHECK(claim(w).jobs.empty());  // until it is promoted
  audit(w);
}

ON_EACH_STORE("A batch is carried out in order, and each request sees the ones before it") {
  const storage::get_request look_at_a{job_id("a")};
  const std::vector<storage::request> batch = {
      look_at_a,
      storage::enqueue_request{{prepared({.id = "a"}), prepared({.id = "b"})}},
      look_at_a,
      claiming({}),
      look_at_a,
      removing(job_id("a")),
      look_at_a,
      claiming({.free = 5}),
      storage::queues_request{},
  };
  const auto answers = w.store().apply(batch);
  REQUIRE(answers.size() == batch.size());
  CHECK(std::get<storage::get_answer>(answers[0]).code == errc::not_found);
  CHECK(std::get<storage::get_answer>(answers[2]).found->state == job_state::enqueued);
  CHECK(ids(std::get<storage::claim_answer>(answers[3])) == names{"a"});
  CHECK(std::get<storage::get_answer>(answers[4]).found->state == job_state::processing);
  CHECK(std::get<storage::get_answer>(answers[6]).found->state == job_state::deleted);
  CHECK(ids(std::get<storage::claim_answer>(answers[7])) == names{"b"});
  CHECK(w.store().apply({}).empty());
  audit(w);
}

ON_EACH_STORE("Counts told in a batch hold what the batch has done so far") {
  const std::vector<storage::request> batch = {storage::enqueue_request{{prepared({.id = "a"}), prepared({.id = "b"})}},
                                               claiming({}), storage::queues_request{}, storage::list_request{}};
  const auto answers = w.store().apply(batch);
  const auto& told = std::get<storage::queues_answer>(answers.at(2)).queues;
  REQUIRE(told.size() == 1);
  CHECK(told[0].enqueued == 1);
  CHECK(told[0].processing == 1);
  CHECK(std::get<storage::list_answer>(answers.at(3)).page.jobs.size() == 2);
}

ON_EACH_STORE("What is written in names and args is data to the store") {
  // The doors refuse such names; a store that is handed them all the same keeps them as they are.
  const names odd = {"x'); DROP TABLE jobs; --", "%s%n", "../../etc/passwd", "{x}:type:woken", "\xff\xfe", "a b\n"};
  storage::enqueue_request r;
  for (const auto& name : odd) {
    prepared_job ready;
    ready.id.value = name;
    ready.queue.value = name;
    ready.record = encode(ready.id, job_content{job_type(name), ready.queue, name, {}, {}, {}, {}});
    r.jobs.push_back(ready);
  }
  for (const auto code : ask(w, r).each)
    CHECK(code == errc::none);
  for (const auto& name : odd) {
    CHECK(get(w, name).args == name);
    claim(w, {.queue = name});  // puts it aside in its type's line
    CHECK(get(w, name).line == "type:" + name);
    auto request = claiming({.queue = name});
    request.types =
        std::make_shared<const std::set<std::string, std::less<>>>(std::initializer_list<std::string>{name});
    CHECK(ids(ask(w, request)) == names{name});
    CHECK(counts(w, name).processing == 1);
  }
  audit(w);
}

ON_EACH_STORE("The largest args that are allowed come back byte for byte") {
  const auto args = '"' + std::string(max_args_bytes - 2, 'x') + '"';
  REQUIRE(put(w, {.id = "big", .args = args}) == errc::none);
  CHECK(get(w, "big").args == args);
  CHECK(claim_one(w).args == args);
}
