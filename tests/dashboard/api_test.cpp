// What the API answers, and what it changes.
#include <atomic>
#include <chrono>
#include <thread>

#include "core/text.hpp"
#include "dashboard/dashboard_world.hpp"
#include "dashboard/json.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"

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

  const auto wrong = [&](const std::string& words) { return w.ask("GET", "/api/v1/jobs?" + words); };
  for (const auto* words : {"state=faild", "limit=0", "limit=201", "limit=x", "since=soon", "match=1", "header=a",
                            "after=yesterday", "with_args=1"}) {
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
  std::uint64_t looked_at = 0;
  do {
    const auto page = w.get("/api/v1/jobs?match=n%3D7&after=" + web::path_segment(after));
    for (const auto& id : ids_of(page))
      found.push_back(id);
    looked_at += page.at("looked_at").get<std::uint64_t>();
    after = page.at("next");
  } while (!after.empty());
  CHECK(found == names{"job-1400"});
  CHECK(looked_at == 1500);
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
  const auto acts = w.get("/api/v1/log").at("acts");
  REQUIRE(acts.size() == 2);
  CHECK(acts[0].at("what") == "requeue");
  CHECK(acts[0].at("by") == "somebody at 127.0.0.1");
  CHECK(acts[0].at("through") == "dashboard");
  CHECK(acts[0].at("about") == json{"a"});
  CHECK(acts[1].at("what") == "delete");
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
    CHECK(some <= 1200);
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
  const auto acts = w.get("/api/v1/log").at("acts");
  REQUIRE(acts.size() == 1);  // within a minute
  CHECK(acts[0].at("count") == 2500);
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
  for (const auto& target : {window, schedule}) {
    const auto shown = w.get(target).at("definition");
    CAPTURE(target, shown.dump());
    CHECK(w.ask("PUT", target, shown).status == 200);
    CHECK(w.get(target).at("definition") == shown);
  }
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
}

TEST_CASE("a dashboard that hides arguments tells them nowhere") {
  auto options = dashboard_world::changing();
  options.hide_args = true;
  dashboard_world w{options};
  auto job = dashboard_world::job("a");
  job.args = "{\"card\":\"4111-1111\"}";
  job.headers = {{"token", "4111-1111"}};
  w.enqueue({job});
  REQUIRE(w.ask("PUT", "/api/v1/schedules/paid", {{"job", "noop"}, {"every", "1h"}, {"args", {{"card", "4111-1111"}}}})
              .status == 200);
  CHECK(w.ask("GET", "/api/v1/schedules/paid").body.find("4111-1111") == std::string::npos);
  for (const auto& route : web::routes()) {
    if (route.method != "GET") continue;
    std::string target(route.pattern);
    if (const auto at = target.find("{id}"); at != std::string::npos) target.replace(at, 4, "a");
    if (target.find('{') != std::string::npos) continue;
    CAPTURE(target);
    CHECK(w.ask("GET", target).body.find("4111-1111") == std::string::npos);
  }
  CHECK(w.ask("GET", "/api/v1/jobs/a/args").status == 403);
  CHECK(w.ask("GET", "/api/v1/jobs?match=card%3D4111-1111").status == 403);
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
  std::atomic<int> refused{0};
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

TEST_CASE("while one reads anew others are told the answer before") {
  web::shared_reads reads(100);
  std::atomic<bool> may_end{true}, is_reading{false};
  std::atomic<int> asked{0};
  const auto read = [&] {
    is_reading = true;
    eventually([&] { return may_end.load(); });
    return web::json_answer(std::to_string(++asked));
  };
  CHECK(reads.get("same", read).body == "1");
  may_end = is_reading = false;
  std::thread renewing([&] {
    while (asked < 2)
      reads.get("same", read);  // once it is old
  });
  CHECK(eventually([&] { return is_reading.load(); }));
  for (int i = 0; i < 20; ++i)
    CHECK(reads.get("same", [] { return web::json_answer("mine"); }).body == "1");
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
    CHECK(reads.get("same", read).status == 200);
  CHECK(asked == 1);
  int refused = 0;
  for (int i = 0; i < 100; ++i)
    if (const auto said = reads.get(cat("other ", i), read); said.status == 429) {
      ++refused;
      CHECK(header_of(said, "Retry-After") == "1");
    }
  CHECK(asked <= 6);
  CHECK(refused >= 94);
}

}  // namespace sluice::test
