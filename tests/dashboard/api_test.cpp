// What the API answers, and what it changes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <sluice/server.hpp>

#include "core/text.hpp"
#include "dashboard/dashboard_world.hpp"
#include "storage/raw_store.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "wire/json.hpp"
#include "wire/overview.hpp"

namespace sluice::test {
namespace {

using json = nlohmann::ordered_json;

std::vector<std::string> ids_of(const json& page) {
  std::vector<std::string> ids;
  for (const auto& one : page.at("jobs"))
    ids.push_back(one.at("id"));
  return ids;
}

using names = std::vector<std::string>;

std::string code_of(const web::http_response& said) { return json::parse(said.body).value("code", ""); }

std::vector<new_job> some_jobs(int count, const std::string& prefix = "job") {
  std::vector<new_job> jobs;
  for (int i = 0; i < count; ++i)
    jobs.push_back(dashboard_world::job(cat(prefix, "-", i)));
  return jobs;
}

}  // namespace

TEST_CASE("a job is made once under its id, and is told with its arguments byte for byte") {
  dashboard_world w;
  const json body{{"type", "mail"},
                  {"queue", "orders"},
                  {"id", "m-1"},
                  {"args_text", "{\"n\": 12345678901234567890}"},
                  {"headers", {{"tenant", "north"}}},
                  {"timeout_ms", 30000},
                  {"retries", 2}};
  const auto first = w.ask("POST", "/api/v1/jobs", body);
  CHECK(first.status == 201);
  CHECK(first.body == "{\"id\":\"m-1\"}");
  CHECK(header_of(first, "Location") == "/api/v1/jobs/m-1");
  CHECK(w.ask("POST", "/api/v1/jobs", body).status == 200);
  auto other = body;
  other["args_text"] = "{}";
  const auto conflict = w.ask("POST", "/api/v1/jobs", other);
  CHECK(conflict.status == 409);
  CHECK(code_of(conflict) == "id_conflict");
  CHECK(conflict.type == "application/problem+json");

  const auto shown = w.get("/api/v1/jobs/m-1");
  CHECK(shown.at("args_text") == "{\"n\": 12345678901234567890}");
  CHECK(shown.at("headers") == json{{"tenant", "north"}});
  CHECK(shown.at("state") == "enqueued");
  const auto stored = w.store().get(job_id("m-1"));
  REQUIRE(stored);
  CHECK(stored->timeout == duration(std::chrono::seconds(30)));
  CHECK(stored->retry.attempts == 2u);
  const auto bytes = w.ask("GET", "/api/v1/jobs/m-1/args");
  CHECK(bytes.body == "{\"n\": 12345678901234567890}");
  CHECK(bytes.type == "application/octet-stream");
  CHECK(header_of(bytes, "Content-Disposition").starts_with("attachment"));

  const auto made = w.ask("POST", "/api/v1/jobs", {{"type", "mail"}, {"args", {{"to", "a"}}}, {"in_ms", 60000}});
  CHECK(made.status == 201);
  const auto id = json::parse(made.body).at("id").get<std::string>();
  CHECK(w.get("/api/v1/jobs/" + id).at("state") == "scheduled");
  CHECK(w.get("/api/v1/jobs/" + id).at("args_text") == "{\"to\":\"a\"}");
}

TEST_CASE("a body that is wrong is told with the place of each fault, and nothing is stored") {
  dashboard_world w;
  const auto said =
      w.ask("POST", "/api/v1/jobs",
            {{"typ", "mail"}, {"queue", 7}, {"args", json::object()}, {"args_text", "{}"}, {"in_ms", -1}});
  CHECK(said.status == 400);
  CHECK(code_of(said) == "invalid_argument");
  std::map<std::string, std::string> faults;
  const auto read = json::parse(said.body);
  for (const auto& f : read.at("errors"))
    faults[f.at("pointer")] = f.at("detail");
  CHECK(faults["/typ"] == "is not known; did you mean 'type'?");
  CHECK(faults["/type"] == "must be given");
  CHECK(faults["/queue"] == "must be a text");
  CHECK(faults["/args_text"] == "stands for args: give one of them");
  CHECK(faults["/in_ms"].starts_with("must be a whole number"));
  for (const auto* text : {"", "[]", "{", "\"a\"", "nonsense"})
    CHECK(w.ask(dashboard_world::request("POST", "/api/v1/jobs", text)).status == 400);
  std::string deep;
  for (int i = 0; i < 100; ++i)
    deep += "{\"a\":";
  CHECK(w.ask(dashboard_world::request("POST", "/api/v1/jobs", deep)).status == 400);
  CHECK(ids_of(w.get("/api/v1/jobs")).empty());
}

TEST_CASE("jobs are found by every word, a page at a time") {
  dashboard_world w;
  auto jobs = some_jobs(5);
  jobs[1].type = job_type("mail");
  jobs[2].args = "{\"customer\":{\"id\":42}}";
  jobs[3].headers = {{"tenant", "north"}};
  jobs[4].queue = queue_name("other");
  w.enqueue(jobs);
  const auto find = [&](const std::string& words) { return ids_of(w.get("/api/v1/jobs?" + words)); };
  CHECK(find("type=mail") == names{"job-1"});
  CHECK(find("match=customer.id%3D42") == names{"job-2"});
  CHECK(find("header=tenant%3Dnorth") == names{"job-3"});
  CHECK(find("queue=other") == names{"job-4"});
  CHECK(find("id_begins=job-3") == names{"job-3"});
  CHECK(find("state=failed").empty());
  CHECK(find("since=1h").size() == 5);
  CHECK(find("until=1h").empty());

  const auto first = w.get("/api/v1/jobs?state=enqueued&queue=default&limit=3");
  CHECK(ids_of(first).size() == 3);
  const auto rest = w.get("/api/v1/jobs?state=enqueued&queue=default&limit=3&after=" +
                          web::path_segment(first.at("next").get<std::string>()));
  CHECK(ids_of(rest) == names{"job-3"});
  CHECK(rest.at("next") == "");
  CHECK(w.get("/api/v1/jobs?with_args=false").at("jobs")[2].at("args_text") == "");
  CHECK(w.get("/api/v1/jobs?with_args=first").at("jobs")[2].at("args_text") ==
        w.get("/api/v1/jobs").at("jobs")[2].at("args_text"));

  const auto wrong = [&](const std::string& words) { return w.ask("GET", "/api/v1/jobs?" + words); };
  for (const auto* words : {"state=faild", "limit=0", "limit=201", "limit=x", "since=soon", "match=1", "header=a",
                            "since=1h&until=2h", "state=failed&since=2190-01-01T00:00Z", "after=yesterday",
                            "with_args=1", "limit=1&limit=2", "state=failed&state=failed"}) {
    CAPTURE(words);
    CHECK(wrong(words).status == 400);
  }
  CHECK(json::parse(wrong("stat=failed").body).at("detail") == "there is no parameter 'stat'; did you mean 'state'?");
}

TEST_CASE("a rare job is found though the store looks at few at a time") {
  dashboard_world w;
  auto jobs = some_jobs(1500);
  jobs[1400].args = "{\"n\":7}";
  w.enqueue(jobs);
  std::string after;
  names found;
  std::uint64_t records_read = 0;
  do {
    const auto page = w.get("/api/v1/jobs?match=n%3D7&after=" + web::path_segment(after));
    for (const auto& id : ids_of(page))
      found.push_back(id);
    records_read += page.at("records_read").get<std::uint64_t>();
    after = page.at("next");
  } while (!after.empty());
  CHECK(found == names{"job-1400"});
  CHECK(records_read == 1500);
}

TEST_CASE("failed jobs are counted by type and by error, whose numbers and later lines do not matter") {
  dashboard_world w;
  server_options options;
  options.storage = w.url;
  options.queues["default"].workers = 1;
  options.queues["other"].workers = 1;
  server s(options);
  for (const auto* type : {"mail", "report"})
    s.handle(type, [](job_context& context) {
      throw std::runtime_error(json::parse(context.args()).get<std::string>() + "\nand a stack of " +
                               context.id().value);
    });
  REQUIRE(s.start());
  const auto fail = [&](const std::string& id, const std::string& type, const std::string& error,
                        const std::string& queue = "default") {
    auto made = dashboard_world::job(id, queue);
    made.type = job_type(type);
    made.args = json(error).dump();
    made.retry.attempts = 0;
    REQUIRE(w.store().enqueue(made));
    REQUIRE(w.store().wait(job_id(id), std::chrono::seconds(20)));
  };
  fail("a", "mail", "timeout after 5012 ms");
  fail("b", "mail", "timeout after 4998 ms");
  fail("c", "mail", "no such address");
  fail("d", "report", "timeout after 1 ms", "other");
  w.enqueue({dashboard_world::job("waits", "unserved")});
  const auto said = w.get("/api/v1/errors");
  CHECK(said.at("next") == "");
  CHECK(said.at("records_read") == 4);
  const auto& errors = said.at("errors");
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].at("type") == "mail");
  CHECK(errors[0].at("error") == "timeout after # ms");
  CHECK(errors[0].at("count") == 2);
  CHECK(errors[0].at("last_id") == "b");
  CHECK(errors[0].at("first_at") == w.get("/api/v1/jobs/a").at("finished_at"));
  CHECK(errors[0].at("last_at") == w.get("/api/v1/jobs/b").at("finished_at"));
  CHECK(errors[1].at("error") == "no such address");
  CHECK(errors[2].at("type") == "report");
  CHECK(w.get("/api/v1/errors?queue=other").at("errors") == json::array({errors[2]}));
  CHECK(w.get("/api/v1/errors?type=report&since=1h").at("errors") == json::array({errors[2]}));
  CHECK(w.get("/api/v1/errors?until=1h").at("errors").empty());
  for (const auto* words : {"state=failed", "since=soon", "after=yesterday", "limit=3"})
    CHECK(w.ask("GET", std::string("/api/v1/errors?") + words).status == 400);
}

TEST_CASE("kinds of errors have no numbers, one line and few bytes") {
  const auto kind = [](const std::string& error) {
    job failed;
    failed.reason = "failed: nothing was said";
    failed.history.emplace_back().fence.value = 1;
    failed.history.back().error = error;
    return wire::kind_of_error(failed);
  };
  CHECK(kind("12 of 3.50 at x86") == "# of #.# at x#");
  CHECK(kind("  \n first\r\nsecond") == "first");
  CHECK(kind("") == "failed: nothing was said");
  CHECK(kind("\n\n").empty());
  std::string umlauts = "x";
  for (int i = 0; i < 200; ++i)
    umlauts += "\xc3\xa4";
  CHECK(kind(umlauts) == umlauts.substr(0, 199));
  CHECK(kind(std::string(300, '7') + std::string(199, 'x')) == "#" + std::string(199, 'x'));
}

TEST_CASE("why many jobs failed is told in slices, each job once") {
  dashboard_world w;
  server_options options;
  options.storage = w.url;
  options.retry.attempts = 0;
  server s(options);
  s.handle("noop", [](job_context& context) {
    auto letters = context.id().value;  // a kind of its own
    for (auto& c : letters)
      if (c >= '0' && c <= '9') c = static_cast<char>(c - '0' + 'a');
    throw std::runtime_error(letters);
  });
  REQUIRE(s.start());
  w.enqueue(some_jobs(1500));
  REQUIRE(eventually([&] {
    const auto all = w.store().queues();
    return all && !all->empty() && all->at(0).failed == 1500;
  }));
  s.stop();
  std::string after;
  std::uint64_t count = 0, records_read = 0, slices = 0;
  do {
    const auto slice = w.get("/api/v1/errors?after=" + web::path_segment(after));
    for (const auto& group : slice.at("errors"))
      count += group.at("count").get<std::uint64_t>();
    records_read += slice.at("records_read").get<std::uint64_t>();
    after = slice.at("next");
    ++slices;
  } while (!after.empty());
  CHECK(count == 1500);
  CHECK(records_read == 1500);
  CHECK(slices >= 2);
}

TEST_CASE("a job is requeued, explained and deleted, in the name of who asked") {
  dashboard_world w;
  w.enqueue({dashboard_world::job("a")});
  CHECK(w.ask("DELETE", "/api/v1/jobs/a").body == "{\"id\":\"a\",\"done\":\"deleted\"}");
  CHECK(w.get("/api/v1/jobs/a").at("reason") == "deleted by somebody at 127.0.0.1 through dashboard");
  CHECK(w.ask("POST", "/api/v1/jobs/a/requeue", json::object()).body == "{\"id\":\"a\",\"done\":\"enqueued\"}");
  CHECK(w.get("/api/v1/jobs/a").at("reason") == "requeued by somebody at 127.0.0.1 through dashboard");
  CHECK(w.get("/api/v1/jobs/a/explanation").at("reason") == "unserved");
  const auto none = w.ask("GET", "/api/v1/jobs/nothing");
  CHECK(none.status == 404);
  CHECK(code_of(none) == "not_found");
  const auto actions = w.get("/api/v1/log").at("actions");
  REQUIRE(actions.size() == 2);
  CHECK(actions[0].at("what") == "requeue");
  CHECK(actions[0].at("by") == "somebody at 127.0.0.1");
  CHECK(actions[0].at("through") == "dashboard");
  CHECK(actions[0].at("about") == json{"a"});
  CHECK(actions[1].at("what") == "delete");
}

TEST_CASE("jobs are cancelled one by one and by what holds for them") {
  dashboard_world w;
  w.enqueue(some_jobs(3));
  CHECK(w.ask("POST", "/api/v1/jobs/job-0/cancel", json::object()).body == "{\"id\":\"job-0\",\"done\":\"cancelled\"}");
  CHECK(w.get("/api/v1/jobs/job-0").at("reason") == "cancelled by somebody at 127.0.0.1 through dashboard");
  CHECK(w.ask("POST", "/api/v1/jobs/job-0/cancel", json::object()).body ==
        "{\"id\":\"job-0\",\"done\":\"was deleted already\"}");
  CHECK(w.ask("POST", "/api/v1/jobs/nothing/cancel", json::object()).status == 404);
  const auto said = w.ask("POST", "/api/v1/jobs/actions",
                          {{"action", "cancel"}, {"filter", {{"state", "enqueued"}}}, {"expected_count", 2}});
  CHECK(json::parse(said.body).at("done") == 2);
  CHECK(w.get("/api/v1/jobs/job-2").at("state") == "deleted");
  CHECK(w.get("/api/v1/log").at("actions")[0].at("what") == "cancel");
}

TEST_CASE("a job tells its group, its key, its times and its parents, and hides the key with the arguments") {
  dashboard_world w;
  REQUIRE(w.store().create_group({group_name("g")}));
  w.enqueue({dashboard_world::job("first")});
  const json said{{"type", "noop"},
                  {"id", "a"},
                  {"group", "g"},
                  {"after", {"first"}},
                  {"unique_by", "*"},
                  {"args", {{"to", "ann"}}},
                  {"finish_within_ms", 3'600'000}};
  REQUIRE(w.ask("POST", "/api/v1/jobs", said).status == 201);
  const auto told = w.get("/api/v1/jobs/a");
  CHECK(told.at("group") == "g");
  CHECK(told.at("unique_key").get<std::string>().starts_with("noop/"));
  CHECK(told.at("start_by").is_null());
  CHECK(told.at("finish_by").is_string());
  CHECK(told.at("parents") == json{{{"id", "first"}, {"group", nullptr}, {"met", nullptr}}});
  CHECK(w.get("/api/v1/jobs/first").at("group").is_null());
}

TEST_CASE("words of a unique key without one, and words that there are not, are faults of the body") {
  dashboard_world w;
  const auto faults = [&](json said) {
    said["type"] = "noop";
    const auto refused = w.ask("POST", "/api/v1/jobs", said);
    CHECK(refused.status == 400);
    return refused.body;
  };
  CHECK(faults({{"then", "skip"}}).find("give unique_by, too") != std::string::npos);
  CHECK(faults({{"unique_by", "*"}, {"then", "leap"}}).find("must be one of skip, refuse, replace, extend, coalesce") !=
        std::string::npos);
  CHECK(faults({{"after", {"a"}}, {"on", {"won"}}})
            .find("must be of succeeded, failed, deleted, finished, first-failure") != std::string::npos);
}

TEST_CASE("a unique key is of one queue, and is extended so far, as its rule says") {
  dashboard_world w;
  const auto store = [&](json said) {
    said["type"] = "noop";
    said["unique_by"] = "*";
    return w.ask("POST", "/api/v1/jobs", said);
  };
  const auto come = [&](json said) { return json::parse(store(std::move(said)).body).value("came", "stored"); };
  CHECK(come({{"queue", "a"}, {"per_queue", true}}) == "stored");
  CHECK(come({{"queue", "b"}, {"per_queue", true}}) == "stored");
  CHECK(come({{"queue", "b"}, {"per_queue", true}}) == "duplicate");

  const json delayed{{"id", "late"}, {"in_ms", 60'000}, {"then", "extend"}, {"at_most_ms", 120'000}};
  REQUIRE(come(delayed) == "stored");
  CHECK(come({{"in_ms", 3'600'000}, {"then", "extend"}, {"at_most_ms", 120'000}}) == "extended");
  const auto late = w.store().get(job_id("late")).value();
  CHECK(late.due_at.value() - late.created_at < 121s);

  CHECK(store({{"at_most_ms", 120'000}}).body.find("at_most is of extend") != std::string::npos);
  CHECK(store({{"per_queue", 1}}).body.find("must be true or false") != std::string::npos);
  for (const auto* key : {"per_queue", "at_most_ms"})
    CHECK(
        w.ask("POST", "/api/v1/jobs", {{"type", "noop"}, {key, key == std::string("per_queue") ? json(true) : json(1)}})
            .body.find("give unique_by, too") != std::string::npos);
}

TEST_CASE("jobs that run after each other are stored all or none") {
  dashboard_world w;
  const auto store = [&](const json& jobs) { return w.ask("POST", "/api/v1/jobs/all-or-none", {{"jobs", jobs}}); };
  const json fetch{{"type", "noop"}, {"id", "fetch"}, {"args", {{"list", {1, 2}}, {"text", "],}"}}}};
  const json graph{fetch, {{"type", "noop"}, {"id", "parse"}, {"after", {"fetch"}}}};
  for (int i = 0; i < 2; ++i) {  // the same graph again is the same
    const auto said = store(graph);
    CHECK(said.status == 200);
    CHECK(said.body == R"({"jobs":[{"id":"fetch"},{"id":"parse"}]})");
  }
  CHECK(w.get("/api/v1/jobs/fetch").at("args") == fetch.at("args"));
  CHECK(w.get("/api/v1/jobs/parse").at("state") == "awaiting");
  CHECK(w.get("/api/v1/jobs/parse").at("parents")[0].at("id") == "fetch");

  const json fine{{"type", "noop"}, {"id", "fine"}};
  const auto refused = store({fine, {{"type", "noop"}, {"id", "lost"}, {"after", {"nobody"}}}});
  CHECK(refused.status == 404);
  CHECK(json::parse(refused.body).at("detail") ==
        "job lost was not stored: its parent nobody is not in the store; none of these was stored");
  const auto wrong = store({fine, {{"type", "no name"}}});
  CHECK(wrong.status == 400);
  CHECK(wrong.body.find("job 2 of these: job type 'no name'") != std::string::npos);
  const auto unreadable = store({fine, {{"type", "noop"}, {"need", "two"}}, 7});
  CHECK(json::parse(unreadable.body).at("errors")[0].at("pointer") == "/jobs/1/need");
  CHECK(store({fine, 7}).body.find("/jobs/1: must be a JSON object") != std::string::npos);
  CHECK(store(json::array()).body.find("must be a list of 1 to 1000 values") != std::string::npos);
  CHECK(w.ask("POST", "/api/v1/jobs/all-or-none", json::object()).body.find("must be given") != std::string::npos);
  CHECK(w.ask("GET", "/api/v1/jobs/fine").status == 404);
}

TEST_CASE("names with slashes and odd letters are one segment of a path") {
  dashboard_world w;
  const std::string name = "a/b.c d%\xC3\xA9";
  CHECK(w.ask("PUT", "/api/v1/throttlers/semaphore/" + web::path_segment(name), {{"limit", 4}}).status == 200);
  CHECK(w.get("/api/v1/throttlers/semaphore/" + web::path_segment(name)).at("resource") == "semaphore:" + name);
  CHECK(w.ask("GET", "/api/v1/throttlers/semaphore/a/b").status == 404);
}

TEST_CASE("some jobs are changed by id, each alone") {
  dashboard_world w;
  w.enqueue(some_jobs(3));
  const auto said =
      w.ask("POST", "/api/v1/jobs/actions", {{"action", "delete"}, {"ids", {"job-0", "nothing", "job-2"}}});
  CHECK(said.status == 200);
  const auto read = json::parse(said.body);
  CHECK(read.at("done") == 2);
  REQUIRE(read.at("failed").size() == 1);
  CHECK(read.at("failed")[0].at("id") == "nothing");
  CHECK(read.at("failed")[0].at("code") == "not_found");
  CHECK(ids_of(w.get("/api/v1/jobs?state=deleted")).size() == 2);
  for (const auto& wrong : {json{{"action", "delete"}}, json{{"action", "burn"}, {"ids", {"a"}}},
                            json{{"action", "delete"}, {"ids", json::array()}},
                            json{{"action", "delete"}, {"ids", {"a"}}, {"filter", json::object()}},
                            json{{"action", "delete"}, {"filter", {{"state", "enqueued"}}}},
                            json{{"action", "delete"}, {"filter", {{"queue", "default"}}}, {"expected_count", 1}},
                            json{{"action", "delete"}, {"filter", {{"stat", "enqueued"}}}, {"expected_count", 1}}})
    CHECK(w.ask("POST", "/api/v1/jobs/actions", wrong).status == 400);
}

TEST_CASE("all that a filter finds is changed in slices, and never more than were agreed to") {
  dashboard_world w;
  w.enqueue(some_jobs(2500));
  const json filter{{"state", "enqueued"}, {"queue", "default"}};
  std::uint64_t done = 0;
  int slices = 0;
  std::string after;
  const auto slice = [&](std::uint64_t expected) {
    const auto said = w.ask("POST", "/api/v1/jobs/actions",
                            {{"action", "delete"}, {"filter", filter}, {"expected_count", expected}, {"after", after}});
    REQUIRE(said.status == 200);
    const auto read = json::parse(said.body);
    after = read.at("next");
    return read.at("done").get<std::uint64_t>();
  };
  do {
    const auto some = slice(2200 - done);
    CHECK(some <= 1000);
    done += some;
    ++slices;
  } while (done < 2200);
  CHECK(slices > 1);
  CHECK(done == 2200);
  CHECK_FALSE(after.empty());  // there are more than were agreed to
  CHECK(w.store().queues()->at(0).deleted == 2200);
  after.clear();
  CHECK(slice(1000) == 300);
  CHECK(after.empty());
  const auto actions = w.get("/api/v1/log").at("actions");
  REQUIRE(actions.size() == 1);  // within a minute
  CHECK(actions[0].at("count") == 2500);
}

TEST_CASE("a queue is paused and resumed, and saying it twice is the same") {
  dashboard_world w;
  w.enqueue({dashboard_world::job("a")});
  for (int i = 0; i < 2; ++i)
    CHECK(w.ask("PUT", "/api/v1/queues/default/pause").body == "{\"queue\":\"default\",\"done\":\"paused\"}");
  CHECK(w.store().queues()->at(0).paused);
  for (int i = 0; i < 2; ++i)
    CHECK(w.ask("DELETE", "/api/v1/queues/default/pause").status == 200);
  CHECK_FALSE(w.store().queues()->at(0).paused);
  CHECK(w.ask("DELETE", "/api/v1/queues/nothing/pause").status == 404);
}

TEST_CASE("a throttler is defined, looked at, and changed only as it was looked at") {
  dashboard_world w;
  const std::string target = "/api/v1/throttlers/fixed_window/api";
  CHECK(w.ask("PUT", target, {{"limit", 5}, {"interval", "1h"}}).body ==
        "{\"resource\":\"fixed_window:api\",\"done\":\"set\"}");
  const auto shown = w.ask("GET", target);
  CHECK(json::parse(shown.body).at("limit") == 5);
  const auto tag = header_of(shown, "ETag");
  CHECK(w.ask("PUT", target, {{"limit", 6}, {"interval", "1h"}}, {{"if-match", tag}}).status == 200);
  CHECK(w.ask("PUT", target, {{"limit", 7}, {"interval", "1h"}}, {{"if-match", tag}}).status == 412);
  CHECK(w.get(target).at("limit") == 6);
  CHECK(w.get("/api/v1/log").at("actions")[0].at("about") ==
        json{"fixed_window:api: limit 5, interval 1h", "fixed_window:api: limit 5 → 6"});
  const auto wrong = w.ask("PUT", target, {{"limit", 0}, {"intervall", "1h"}});
  CHECK(wrong.status == 400);
  CHECK(json::parse(wrong.body).at("errors").size() >= 2);
  CHECK(w.ask("PUT", "/api/v1/throttlers/semafore/x", {{"limit", 1}}).status == 404);
  CHECK(w.ask("DELETE", target).status == 200);
  CHECK(w.ask("GET", target).status == 404);
}

TEST_CASE("a schedule is defined, paused, triggered and removed") {
  dashboard_world w;
  const std::string target = "/api/v1/schedules/nightly";
  CHECK(w.ask("PUT", target, {{"job", "noop"}, {"cron", "0 3 * * *"}}).status == 200);
  CHECK(w.get(target).at("definition").at("cron") == "0 3 * * *");
  const auto tag = header_of(w.ask("GET", target), "ETag");
  CHECK(w.ask("PUT", target + "/pause").status == 200);
  CHECK(w.get(target).at("paused") == true);
  CHECK(w.ask("DELETE", target + "/pause").status == 200);
  const auto made = w.ask("POST", target + "/trigger", json::object());
  CHECK(made.status == 201);
  const auto id = json::parse(made.body).at("id").get<std::string>();
  CHECK(w.get("/api/v1/jobs/" + id).at("headers").at("recurring") == "nightly");
  for (const auto status : {201u, 200u})  // again with the same id is the same job
    CHECK(w.ask("POST", target + "/trigger", {{"id", "by-hand"}}).status == status);
  CHECK(w.ask("POST", target + "/trigger", {{"id", 7}}).status == 400);
  // It was paused and ran, but it is defined as it was looked at.
  CHECK(w.ask("PUT", target, {{"job", "noop"}, {"cron", "0 4 * * *"}}, {{"if-match", tag}}).status == 200);
  CHECK(w.ask("PUT", target, {{"job", "noop"}, {"cron", "0 5 * * *"}}, {{"if-match", tag}}).status == 412);
  CHECK(w.ask("PUT", target, {{"job", "noop"}, {"cron", "0 3 * *"}}).status == 400);
  CHECK(w.ask("DELETE", target).status == 200);
  CHECK(w.ask("GET", target).status == 404);
  CHECK(w.get("/api/v1/schedules").at("schedules").empty());
}

TEST_CASE("a definition as it is shown may be said again") {
  dashboard_world w;
  const std::string window = "/api/v1/throttlers/fixed_window/api", schedule = "/api/v1/schedules/nightly";
  REQUIRE(w.ask("PUT", window, {{"limit", 5}, {"interval", "1h"}}).status == 200);
  REQUIRE(w.ask("PUT", schedule, {{"job", "noop"}, {"cron", "0 3 * * *"}, {"args", {{"a", 1}}}, {"stagger", false}})
              .status == 200);
  CHECK(w.get(schedule).at("definition").at("args") == json{{"a", 1}});
  CHECK(w.get(schedule).at("definition").at("args_text") == "{\"a\":1}");
  CHECK(w.get("/api/v1/schedules").at("schedules")[0].at("definition").at("args") == json{{"a", 1}});
  for (const auto& target : {window, schedule}) {
    const auto shown = w.get(target).at("definition");
    CAPTURE(target, shown.dump());
    CHECK(w.ask("PUT", target, shown).status == 200);
    CHECK(w.get(target).at("definition") == shown);
  }
  auto changed = w.get(schedule).at("definition");
  changed["args"]["a"] = 2;
  const auto differs = w.ask("PUT", schedule, changed);
  CHECK(differs.status == 400);
  CHECK(json::parse(differs.body).at("errors")[0].at("pointer") == "/args_text");
  changed.erase("args_text");
  CHECK(w.ask("PUT", schedule, changed).status == 200);
  CHECK(w.get(schedule).at("definition").at("args_text") == "{\"a\":2}");
  changed.erase("args");
  changed["args_text"] = "{\"b\":3}";
  CHECK(w.ask("PUT", schedule, changed).status == 200);
  CHECK(w.get(schedule).at("definition").at("args") == json{{"b", 3}});
  changed["args_text"] = "{\"b\":";
  CHECK(w.ask("PUT", schedule, changed).status == 400);
  const auto gone = w.ask("DELETE", "/api/v1/schedules/nothing");
  CHECK(gone.body == "{\"name\":\"nothing\",\"done\":\"was not there\"}");
}

TEST_CASE("it is known how many jobs come and end, to which searches give way") {
  dashboard_world w;
  w.enqueue({dashboard_world::job("first")});
  const auto rate = [&] {
    w.on->known->expire();
    return w.on->known->look()->jobs_a_second;
  };
  REQUIRE(eventually([&] { return !w.on->known->look()->queues.empty(); }));
  CHECK(rate() == 0);
  w.enqueue(some_jobs(500));
  CHECK(eventually([&] { return rate() > 0; }));
  CHECK(eventually([&] { return rate() == 0; }));
}

TEST_CASE("what has not changed is told in few bytes") {
  dashboard_world w;
  w.enqueue({dashboard_world::job("a")});
  const auto first = w.ask("GET", "/api/v1/jobs/a");
  const auto tag = header_of(first, "ETag");
  REQUIRE_FALSE(tag.empty());
  const auto again = w.ask("GET", "/api/v1/jobs/a", nullptr, {{"if-none-match", tag}});
  CHECK(again.status == 304);
  CHECK(again.body.empty());
  CHECK(header_of(again, "ETag") == tag);
  CHECK(w.ask("GET", "/api/v1/jobs/a", nullptr, {{"if-none-match", "\"x\", W/" + tag}}).status == 304);
  CHECK(w.ask("GET", "/api/v1/jobs/a", nullptr, {{"if-none-match", "\"x\""}}).status == 200);
  CHECK(w.ask("GET", "/api/v1/jobs/a", nullptr, {{"if-none-match", "*"}}).status == 304);
  CHECK(w.ask("GET", "/api/v1/jobs/b", nullptr, {{"if-none-match", "*"}}).status == 404);
}

TEST_CASE("a dashboard that hides arguments tells them nowhere") {
  auto options = dashboard_world::changing();
  options.hide_args = true;
  dashboard_world w{options};
  const std::string secret = "4111-1111";
  server_options serving;
  serving.storage = w.url;
  serving.retry.attempts = 0;
  server s(serving);
  s.handle("paid", [&](job_context& job) {
    job.progress(0.5, secret);
    job.watched("CARDS", "charge " + secret, duration(1), false);
    return "{\"card\":\"" + secret + "\"}";
  });
  s.handle("refused", [&](job_context&) -> void { throw std::runtime_error("no money on: " + secret); });
  s.handle("later", [&](job_context& job) { job.retry_in(std::chrono::hours(1), "busy: " + secret); });
  REQUIRE(s.start());
  std::vector<new_job> jobs;
  for (const auto* type : {"paid", "refused", "later"}) {
    jobs.push_back(dashboard_world::job(type));
    jobs.back().type = job_type(type);
    jobs.back().args = "{\"card\":\"" + secret + "\"}";
    jobs.back().headers = {{"token", secret}};
  }
  w.enqueue(jobs);
  REQUIRE(eventually([&] {
    const auto all = w.store().queues();
    return all && !all->empty() && all->at(0).succeeded == 1 && all->at(0).failed == 1 && all->at(0).scheduled == 1;
  }));
  s.stop();
  REQUIRE(w.store().get(job_id("refused"))->reason.find(secret) != std::string::npos);
  REQUIRE(w.store().explain(job_id("refused"))->text.find(secret) != std::string::npos);
  REQUIRE(w.store().explain(job_id("later"))->text.find(secret) != std::string::npos);
  REQUIRE(w.store().get(job_id("paid"))->result.find(secret) != std::string::npos);

  REQUIRE(
      w.ask("PUT", "/api/v1/schedules/paid", {{"job", "noop"}, {"every", "1h"}, {"args", {{"card", secret}}}}).status ==
      200);
  for (const auto& route : web::routes()) {
    if (route.method != "GET") continue;
    for (const auto* id : {"paid", "refused", "later"}) {
      std::string target(route.pattern);
      for (const auto* name : {"{id}", "{name}"})
        if (const auto at = target.find(name); at != std::string::npos) target.replace(at, std::strlen(name), id);
      if (target.find('{') != std::string::npos) continue;
      CAPTURE(target);
      CHECK(w.ask("GET", target).body.find(secret) == std::string::npos);
    }
  }
  CHECK(w.get("/api/v1/jobs/refused/explanation").at("text") == "is failed");
  CHECK(w.get("/api/v1/jobs/later/explanation").at("text").get<std::string>().starts_with("again at "));
  CHECK(w.ask("GET", "/api/v1/jobs/paid/args").status == 403);
  CHECK(w.ask("GET", "/api/v1/jobs?match=card%3D4111-1111").status == 403);
  CHECK(w.ask("GET", "/api/v1/errors").status == 403);

  wire::known_store known;
  known.schedules.push_back({});
  known.schedules.back().name = "paid";
  known.schedules.back().problem = "refused: card " + secret;
  CHECK(wire::json_of(wire::overview_of(known)).find(secret) != std::string::npos);
  CHECK(wire::json_of(wire::overview_of(known, false)).find(secret) == std::string::npos);
  CHECK(wire::json_of(known.schedules.back(), false).find(secret) == std::string::npos);
}

TEST_CASE("a schedule whose arguments are hidden keeps them when it is said again without any") {
  auto options = dashboard_world::changing();
  options.hide_args = true;
  dashboard_world w{options};
  const std::string target = "/api/v1/schedules/paid";
  REQUIRE(w.ask("PUT", target,
                {{"job", "noop"}, {"every", "1h"}, {"args", {{"card", 1}}}, {"headers", {{"token", "secret"}}}})
              .status == 200);
  auto shown = w.get(target).at("definition");
  CHECK_FALSE(shown.contains("args"));
  CHECK_FALSE(shown.contains("headers"));
  CHECK(w.ask("GET", "/api/v1/schedules").body.find("secret") == std::string::npos);
  shown["every"] = "2h";
  CHECK(w.ask("PUT", target, shown).status == 200);
  const auto stored = w.store().recurring_job("paid");
  REQUIRE(stored);
  CHECK(stored->status.definition->args == "{\"card\":1}");
  CHECK(stored->status.definition->every == std::chrono::hours(2));
  CHECK(stored->status.definition->headers.at("token") == "secret");
  shown["args"] = json::object();
  CHECK(w.ask("PUT", target, shown).status == 200);
  CHECK(w.store().recurring_job("paid")->status.definition->args == "{}");
}

TEST_CASE("arguments are stored as they were sent, and told number by number") {
  dashboard_world w;
  const std::string args = R"({"n": 123456789012345678901234567890, "b":1.50,  "a":[ "x\"y\\", " "], "b2":1e2})";
  const auto said = w.ask(
      dashboard_world::request("POST", "/api/v1/jobs", cat(R"({"type":"noop", "args" : )", args, R"( ,"id":"a"})")));
  REQUIRE(said.status == 201);
  CHECK(w.store().get(job_id("a"))->args == args);
  const auto told = w.ask("GET", "/api/v1/jobs/a").body;
  CHECK(told.find(R"("args":{"n":123456789012345678901234567890,"b":1.50,"a":["x\"y\\"," "],"b2":1e2},"args_text":)") !=
        std::string::npos);
  CHECK(json::parse(told).at("args_text") == args);
}

TEST_CASE("very many keys cost no time, in arguments or anywhere in a body") {
  dashboard_world w;
  std::string many = "{\"k\":0";
  for (int i = 0; i < 80'000; ++i)
    many += cat(",\"k", i, "\":", i % 10);
  many += "}";
  const auto began = std::chrono::steady_clock::now();
  const auto post = [&](const std::string& body) {
    return w.ask(dashboard_world::request("POST", "/api/v1/jobs", body));
  };
  CHECK(post(cat(R"({"type":"noop","id":"a","args":)", many, "}")).status == 201);
  const auto told = w.ask("GET", "/api/v1/jobs").body;
  CHECK(told.find(many) != std::string::npos);
  const auto unknown = post(many);
  CHECK(unknown.status == 400);
  CHECK(json::parse(unknown.body).at("errors").size() == 20);
  CHECK(post(cat(R"({"type":"noop","headers":)", many, "}")).status == 400);
  CHECK(w.ask(dashboard_world::request("POST", "/api/v1/jobs/actions",
                                       cat(R"({"action":"delete","expected_count":1,"filter":)", many, "}")))
            .status == 400);
  CHECK(w.ask(dashboard_world::request("PUT", "/api/v1/throttlers/semaphore/a", many)).status == 400);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(30));
  CHECK(post(R"({"type":"noop","type":"other"})").status == 400);
}

TEST_CASE("what failed is told without paths, SQL, stacks or addresses, alone and in bulk") {
  changed_page some;
  for (const auto code : {errc::io_error, errc::storage_unavailable, errc::storage_damaged, errc::unknown_outcome,
                          errc::storage_lost, errc::storage_full}) {
    const error why{code, "SELECT x FROM /var/lib/sluice.db at redis://:hunter22@10.0.0.1 #0 0x7f"};
    some.failed.emplace_back(job_id("a"), why);
    CHECK(json::parse(web::problem(why).body).at("detail") == describe(code));
  }
  const error wrong{errc::invalid_argument, "cannot ask redis://:hunter22@10.0.0.1"};
  some.failed.emplace_back(job_id("a"), wrong);
  const auto told = wire::json_of(wire::told_changes{some, some.failed.size()});
  const auto alone = web::problem(wrong).body;
  CHECK(alone.find("cannot ask redis://") != std::string::npos);
  for (const auto* part : {"hunter22", "SELECT", "/var/lib", "0x7f"}) {
    CHECK(told.find(part) == std::string::npos);
    CHECK(alone.find(part) == std::string::npos);
  }
}

TEST_CASE("the password of a store stands in no answer, whether it is there or away") {
  redis_options with_password;
  with_password.password = "hunter22hunter22";
  redis_server redis(with_password);
  dashboard_world w{dashboard_world::changing(), redis.url()};
  w.enqueue({dashboard_world::job("a")});
  const auto check_all = [&](bool changes_too) {
    for (const auto& route : web::routes()) {
      if (route.method != "GET" && !changes_too) continue;
      std::string target(route.pattern);
      for (const auto& [name, value] : {std::pair("{id}", "a"), {"{name}", "a"}, {"{kind}", "semaphore"}})
        if (const auto at = target.find(name); at != std::string::npos) target.replace(at, std::strlen(name), value);
      const auto said = w.ask(std::string(route.method), target, route.method == "GET" ? json() : json::object());
      CAPTURE(route.method, target);
      CHECK(said.body.find("hunter22") == std::string::npos);
      CHECK(said.body.find(redis.socket()) == std::string::npos);
    }
    const auto some = w.ask("POST", "/api/v1/jobs/actions", {{"action", "requeue"}, {"ids", {"a", "b"}}}).body;
    CHECK(some.find("hunter22") == std::string::npos);
    CHECK(some.find(redis.socket()) == std::string::npos);
    return json::parse(some);
  };
  check_all(true);
  w.be_impatient();
  redis.kill();
  CHECK(check_all(false).at("failed").size() == 2);
}

TEST_CASE("a definition is changed and removed only as it was looked at, and not when nobody can look") {
  redis_server redis;
  dashboard_world w{dashboard_world::changing(), redis.url()};
  const std::string window = "/api/v1/throttlers/fixed_window/api", schedule = "/api/v1/schedules/nightly";
  const json limits{{"limit", 5}, {"interval", "1h"}}, runs{{"job", "noop"}, {"cron", "0 3 * * *"}};
  for (const auto& [target, definition] : {std::pair(window, limits), {schedule, runs}}) {
    CAPTURE(target);
    REQUIRE(w.ask("PUT", target, definition).status == 200);
    const auto tag = header_of(w.ask("GET", target), "ETag");
    CHECK(w.ask("DELETE", target, nullptr, {{"if-match", "\"other\""}}).status == 412);
    CHECK(w.ask("DELETE", target, nullptr, {{"if-match", tag}}).status == 200);
    CHECK(w.ask("DELETE", target, nullptr, {{"if-match", tag}}).status == 412);
    CHECK(w.ask("PUT", target, definition, {{"if-match", "*"}}).status == 412);
    CHECK(w.ask("PUT", target, definition).status == 200);
    CHECK(w.ask("PUT", target, definition, {{"if-match", "*"}}).status == 200);
  }
  w.be_impatient();
  redis.kill();
  for (const auto& [target, definition] : {std::pair(window, limits), {schedule, runs}}) {
    const auto said = w.ask("PUT", target, definition, {{"if-match", "\"x\""}});
    CHECK((said.status == 503 || said.status == 504));
  }
}

TEST_CASE("queues, servers and throttlers are told page by page, each once") {
  dashboard_world w;
  std::vector<new_job> jobs;
  for (int i = 0; i < 12; ++i)  // of those that metrics count by queue the process has a few only
    jobs.push_back(dashboard_world::job(cat("j-", i), cat("queue-", 1000 + i)));
  w.enqueue(jobs);
  for (int i = 0; i < 120; ++i) {
    throttler t;
    t.kind = i % 2 == 0 ? throttler_kind::semaphore : throttler_kind::fixed_window;
    t.name = cat("t-", 1000 + i);
    t.limit = 2;
    if (t.kind == throttler_kind::fixed_window) t.interval = std::chrono::hours(1);
    REQUIRE(w.store().set_throttler(t));
  }
  REQUIRE(eventually([&] { return w.get("/api/v1/overview").at("queues") == 12; }));
  for (const auto& [path, key, limit] : {std::tuple("queues", "queue", 5U), {"throttlers", "resource", 50U}}) {
    CAPTURE(path);
    names found;
    std::string after;
    int pages = 0;
    do {
      const auto page = w.get(cat("/api/v1/", path, "?limit=", limit, "&after=", web::path_segment(after)));
      CHECK(page.at(path).size() <= limit);
      for (const auto& one : page.at(path))
        found.push_back(one.at(key));
      after = page.at("next");
      ++pages;
    } while (!after.empty());
    CHECK(pages == 3);
    CHECK(found.size() == (limit == 5 ? 12 : 120));
    CHECK(std::is_sorted(found.begin(), found.end()));
    CHECK(std::adjacent_find(found.begin(), found.end()) == found.end());
    CHECK(w.ask("GET", cat("/api/v1/", path, "?limit=0")).status == 400);
  }
  CHECK(w.get("/api/v1/throttlers").at("throttlers").size() == 50);
  const auto all = w.store().throttlers();
  REQUIRE(all);
  const auto told = w.ask("GET", "/api/v1/throttlers?limit=200").body;
  for (const auto& t : *all)
    CHECK(told.find(wire::json_of(t)) != std::string::npos);
  CHECK(w.get("/api/v1/servers?limit=1").at("next") == "");
}

TEST_CASE("a page of large jobs ends early, and the next goes on behind it") {
  dashboard_world w;
  auto jobs = some_jobs(6);
  for (auto& job : jobs)
    job.args = "{\"text\":\"" + std::string(900'000, 'x') + "\"}";
  w.enqueue(jobs);
  names found;
  std::string after;
  int pages = 0;
  do {
    const auto said = w.ask("GET", "/api/v1/jobs?limit=200&after=" + web::path_segment(after));
    REQUIRE(said.status == 200);
    CHECK(said.body.size() < 4'200'000);
    const auto page = json::parse(said.body);
    for (const auto& id : ids_of(page))
      found.push_back(id);
    after = page.at("next");
    ++pages;
  } while (!after.empty());
  CHECK(pages == 3);
  std::sort(found.begin(), found.end());
  CHECK(found.size() == 6);
  CHECK(std::adjacent_find(found.begin(), found.end()) == found.end());
}

TEST_CASE("a change that takes long ends in time, and says of whom it did not get to") {
  dashboard_world w;
  w.enqueue(some_jobs(700));
  w.on->time_for_changes = {};
  names ids;
  for (int i = 0; i < 450; ++i)
    ids.push_back(cat("job-", i));
  const auto some = json::parse(w.ask("POST", "/api/v1/jobs/actions", {{"action", "delete"}, {"ids", ids}}).body);
  CHECK(some.at("done") == 200);
  REQUIRE(some.at("failed").size() == 250);
  CHECK(some.at("failed")[0].at("id") == "job-200");
  CHECK(some.at("failed")[0].at("code") == "timed_out");
  const auto slice = json::parse(
      w.ask("POST", "/api/v1/jobs/actions",
            {{"action", "delete"}, {"filter", {{"state", "enqueued"}, {"queue", "default"}}}, {"expected_count", 500}})
          .body);
  CHECK(slice.at("done") == 200);
  CHECK(slice.at("next") != "");
  CHECK(w.store().queues()->at(0).deleted == 400);
}

TEST_CASE("a store that is away is said, and what was known is shown with its age") {
  redis_server redis;
  dashboard_world w{dashboard_world::changing(), redis.url()};
  w.enqueue({dashboard_world::job("a")});
  CHECK(w.get("/api/v1/overview").at("reachable") == true);
  redis.kill();
  const bool is_told = eventually([&] { return w.get("/api/v1/overview").at("reachable") == false; });
  CHECK(is_told);
  const auto shown = w.get("/api/v1/overview");
  CHECK(shown.at("troubles")[0].at("kind") == "store_away");
  CHECK(shown.at("jobs").at("enqueued") == 1);
  CHECK(w.get("/api/v1/queues").at("queues")[0].at("queue") == "default");
  const auto refused = w.ask("GET", "/api/v1/jobs");
  CHECK((refused.status == 503 || refused.status == 504));
  CHECK(refused.body.find(redis.url()) == std::string::npos);
  CHECK(eventually([&] { return w.ask("GET", "/health/ready").status == 503; }));
  CHECK(w.ask("GET", "/health/live").status == 200);
}

TEST_CASE("the overview says first what is wrong") {
  dashboard_world w;
  w.enqueue({dashboard_world::job("a", "lonely")});
  REQUIRE(w.store().pause(queue_name("lonely")));
  const auto kinds = [&] {
    names found;
    const auto overview = w.get("/api/v1/overview");
    for (const auto& t : overview.at("troubles"))
      found.push_back(t.at("kind"));
    return found;
  };
  eventually([&] { return kinds().size() == 2; });
  CHECK(kinds() == names{"unserved_queue", "paused_queue"});
}

TEST_CASE("twenty who poll cost the store as much as one") {
  std::atomic<int> refused{0};
  dashboard_world w;
  w.enqueue({dashboard_world::job("a")});
  const auto asked = [](std::string_view what) {
    std::uint64_t n = 0;
    for (const auto& [name, count] : storage::numbers::here().requests())
      if (name == what) n = count;
    return n;
  };
  const std::vector<std::string> targets = {"/api/v1/overview", "/api/v1/queues", "/metrics",
                                            "/api/v1/jobs?state=enqueued"};
  for (const auto& target : targets)
    w.ask("GET", target);
  const auto snapshots = asked("queues"), lists = asked("list");
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> clients;
  for (int i = 0; i < 20; ++i)
    clients.emplace_back([&] {
      while (std::chrono::steady_clock::now() < began + std::chrono::seconds(3)) {
        for (const auto& target : targets)
          if (w.site->answer(dashboard_world::request("GET", target)).status != 200) ++refused;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  for (auto& one : clients)
    one.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto most = static_cast<std::uint64_t>(took.count()) + 2;  // one a second, and what was begun
  CHECK(asked("queues") - snapshots <= most);
  CHECK(asked("list") - lists <= most);
  CHECK(refused == 0);
}

TEST_CASE("the first look at a store has all of its schedules and what counts at its windows") {
  dashboard_world w;
  for (int i = 0; i < 250; ++i)
    w.ask("PUT", cat("/api/v1/schedules/s", i), {{"cron", "0 0 1 1 *"}, {"job", "noop"}});
  w.ask("PUT", "/api/v1/throttlers/fixed_window/api", {{"limit", 5}, {"interval", "1h"}});
  const auto overview = w.get("/api/v1/overview");
  CHECK(overview.at("schedules") == 250);
  CHECK(overview.at("throttlers") == 1);
}

TEST_CASE("changes without an end cost no more than a few looks a second, and each is seen") {
  dashboard_world w;
  const auto looks = [] {
    for (const auto& [name, count] : storage::numbers::here().requests())
      if (name == "queues") return count;
    return std::uint64_t{0};
  };
  w.get("/api/v1/overview");
  const auto before = looks();
  const auto began = std::chrono::steady_clock::now();
  int made = 0;
  while (std::chrono::steady_clock::now() < began + std::chrono::seconds(2)) {
    w.ask("POST", "/api/v1/jobs", {{"type", "noop"}, {"queue", "q"}});
    ++made;
    CHECK(w.get("/api/v1/overview").at("jobs").at("enqueued") == made);
  }
  CHECK(looks() - before <= 10);
}

TEST_CASE("what is in quarantine is shown in base64, enqueued when it can be read, and dropped") {
  dashboard_world w;
  w.enqueue({dashboard_world::job("mended"), dashboard_world::job("lost")});
  raw_store raw(w.folder.file("jobs.db"));
  raw.command({"HSET", "history", "mended", "bad"});
  raw.command({"HSET", "jobs", "lost", "bad"});
  for (const auto* id : {"mended", "lost"})
    CHECK(w.store().get(job_id(id)).error().code == errc::damaged_record);
  const auto shown = w.get("/api/v1/quarantine/mended");
  CHECK(shown.at("wrong") == "its history has lost its form");
  CHECK(shown.at("history") == "YmFk");
  CHECK(shown.at("readable") == true);
  auto hiding = dashboard_world::changing();
  hiding.hide_args = true;
  CHECK(dashboard_world(hiding, w.url).get("/api/v1/quarantine/mended").at("history") == "");
  CHECK(w.ask("POST", "/api/v1/quarantine/mended/requeue").status == 200);
  CHECK(w.store().get(job_id("mended")).value().state == job_state::enqueued);
  const auto refused = w.ask("POST", "/api/v1/quarantine/lost/requeue");
  CHECK(refused.status == 404);
  CHECK(refused.body.find("job lost still cannot be read") != std::string::npos);
  CHECK(w.ask("DELETE", "/api/v1/quarantine/lost").status == 200);
  CHECK(w.ask("GET", "/api/v1/quarantine/lost").status == 404);
  CHECK(w.ask("DELETE", "/api/v1/quarantine/lost").status == 404);
}

TEST_CASE("while one reads anew others are told the answer before") {
  web::shared_reads reads(100);
  std::atomic<bool> may_end{true}, is_reading{false};
  std::atomic<int> asked{0};
  const auto read = [&] {
    is_reading = true;
    eventually([&] { return may_end.load(); });
    return web::json_answer(std::to_string(++asked));
  };
  CHECK(reads.get("same", "anna", read).body == "1");
  may_end = is_reading = false;
  std::thread renewing([&] {
    while (asked < 2)
      reads.get("same", "anna", read);  // once it is old
  });
  CHECK(eventually([&] { return is_reading.load(); }));
  for (int i = 0; i < 20; ++i)
    CHECK(reads.get("same", "otto", [] { return web::json_answer("mine"); }).body == "1");
  may_end = true;
  renewing.join();
}

TEST_CASE("what one asks again within a second, or too often, costs the store nothing") {
  web::shared_reads reads(4);
  int asked = 0;
  const auto read = [&] {
    ++asked;
    return web::json_answer("{}");
  };
  for (int i = 0; i < 100; ++i)
    CHECK(reads.get("same", "anna", read).status == 200);
  CHECK(asked == 1);
  int refused = 0;
  for (int i = 0; i < 100; ++i)
    if (const auto said = reads.get(cat("other ", i), "anna", read); said.status == 429) {
      ++refused;
      CHECK(header_of(said, "Retry-After") == "1");
    }
  CHECK(asked <= 6);
  CHECK(refused >= 94);
  // Another has his share all the same, and no more.
  int given = 0;
  for (int i = 0; i < 100; ++i)
    given += reads.get(cat("of another ", i), "otto", read).status == 200 ? 1 : 0;
  CHECK(given >= 2);
  CHECK(given <= 6);
  web::shared_reads strict(1);
  for (int i = 0; i < 3; ++i)  // a wrong question takes nobody's place
    CHECK(strict.get(cat("wrong ", i), "anna", [] { return web::problem(400, ""); }).status == 400);
  CHECK(strict.get("right", "anna", read).status == 200);
}

}  // namespace sluice::test
