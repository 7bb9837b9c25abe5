// What a killed server ran comes back: at once, within 1.6 leases, in every queue, and whatever else is taken back. A
// sweep comes too late to help: only what a server knows by itself can be in time.
#include <memory>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "system/worker_world.hpp"

namespace sluice::test {
namespace {

constexpr auto lease = 2s;
constexpr auto taken_back = lease * 16 / 10;
constexpr auto slack = 10s;  // a machine may be busy; the next sweep is 30 s away

const std::vector<std::string> queue_names = {"red", "green", "blue"};

json three_queues(int workers) {
  json queues;
  for (const auto& name : queue_names)
    queues[name] = {{"workers", workers}};
  return {{"lease", "2s"}, {"sweep_interval", "30s"}, {"queues", queues}};
}

// On SQLite, or on a Redis of its own.
struct recovery_world {
  std::unique_ptr<redis_server> redis;
  worker_world w;
  recovery_world(const std::string& store, const json& settings)
      : redis(store == "Redis" ? std::make_unique<redis_server>() : nullptr),
        w(settings, redis ? redis->url() : std::string()) {}
};

std::vector<new_job> jobs_of_round(int round, int each) {
  std::vector<new_job> jobs;
  for (const auto& queue : queue_names)
    for (int i = 0; i < each; ++i)
      jobs.push_back(noop(queue + std::to_string(round) + "-" + std::to_string(i), {{"until_told", true}}, queue));
  return jobs;
}

bool all_run(worker_world& w, const std::vector<std::string>& by, int count, std::chrono::milliseconds timeout) {
  return eventually([&] { return w.noted("begin", by) == count; }, timeout);
}

// Two servers are killed at once, and the one that has their jobs then: each time they are taken back while nothing
// else goes on. After the second loss they come one by one, over all queues.
void kill_twice(recovery_world& own, int round) {
  auto& w = own.w;
  const auto name = [&](const std::string& who) { return who + std::to_string(round); };
  constexpr int each = 2, all = 6;
  std::optional<process> first(w.worker(name("first"))), second(w.worker(name("second")));
  w.enqueue(jobs_of_round(round, each));
  REQUIRE(all_run(w, {name("first"), name("second")}, all, 20s));
  auto third = w.worker(name("third"));
  for (auto* victim : {&first, &second}) {
    (*victim)->signal(SIGKILL);
    REQUIRE((*victim)->exit_code(5s) == -SIGKILL);
  }
  REQUIRE(all_run(w, {name("third")}, all, taken_back + slack));
  auto last = w.worker(name("last"));
  w.tell(name("last"));
  third.signal(SIGKILL);
  REQUIRE(third.exit_code(5s) == -SIGKILL);
  const bool over = eventually([&] { return w.noted("end", {name("last")}) == all; }, taken_back + slack);
  CAPTURE(last.log());
  REQUIRE(over);
  REQUIRE(eventually([&] {
    std::uint64_t succeeded = 0;
    for (const auto& queue : queue_names)
      succeeded += w.counts(queue).succeeded;
    return succeeded == static_cast<std::uint64_t>((round + 1) * all);
  }));
  const auto runs = w.runs({name("last")});
  std::optional<steady_time> before;
  std::vector<std::pair<steady_time, steady_time>> spans;
  for (const auto& [fence, run] : runs)
    spans.emplace_back(run.begin, *run.end);
  std::sort(spans.begin(), spans.end());
  for (const auto& [begin, end] : spans) {
    if (before) CHECK(begin >= *before);  // suspects never run beside each other
    before = end;
  }
  last.signal(SIGTERM);
  REQUIRE(last.exit_code(10s) == 0);
  CHECK(w.sluice({"audit"}).out == "nothing is wrong\n");
}

}  // namespace

TEST_CASE("what killed servers ran comes back in every queue while nothing else goes on") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  recovery_world own(store, three_queues(4));
  for (int round = 0; round < 2; ++round)
    kill_twice(own, round);
}

TEST_CASE("what killed servers ran comes back twenty times in a row", "[.long]") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  recovery_world own(store, three_queues(4));
  for (int round = 0; round < 20; ++round)
    kill_twice(own, round);
}

TEST_CASE("the 64 running jobs of a killed server run again all at once") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  recovery_world own(store, {{"lease", "2s"}, {"sweep_interval", "30s"}, {"queues", {{"default", {{"workers", 64}}}}}});
  auto victim = own.w.worker("victim");
  own.w.enqueue(noops(64, {{"until_told", true}}));
  const bool begun = all_run(own.w, {"victim"}, 64, 20s);
  const auto now = own.w.counts();
  INFO(own.w.noted("begin", {"victim"}) << " began, " << now.processing << " claimed, " << now.enqueued << " wait");
  REQUIRE(begun);
  auto other = own.w.worker("other");
  victim.signal(SIGKILL);
  CHECK(all_run(own.w, {"other"}, 64, taken_back + slack));
  own.w.tell("other");
  CHECK(eventually([&] { return own.w.all_succeeded(64); }));
}

TEST_CASE("two jobs that kill their server are failed as lost and twenty others beside them succeed") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  recovery_world own(store,
                     {{"lease", "2s"}, {"sweep_interval", "200ms"}, {"queues", {{"default", {{"workers", 24}}}}}});
  auto& w = own.w;
  std::vector<new_job> jobs{work_world::exec("sleep 0.1; kill -9 $PPID", "killer0"),
                            work_world::exec("sleep 0.1; kill -9 $PPID", "killer1")};
  for (int i = 0; i < 20; ++i)
    jobs.push_back(work_world::exec("sleep 0.2", "job" + std::to_string(i)));
  w.enqueue(std::move(jobs));
  std::optional<process> server;
  const bool over = eventually(
      [&] {
        if (!server || !server->alive())
          server.emplace(std::vector<std::string>{program_path("sluice"), "work", w.folder.file("sluice.json")},
                         w.folder.file("work.log"));
        return w.counts().failed == 2 && w.counts().succeeded == 20;
      },
      90s);
  REQUIRE(over);
  for (const auto* id : {"killer0", "killer1"})
    CHECK(w.get(id).history.back().cause == "lost");
  for (int i = 0; i < 20; ++i)
    CHECK(w.get("job" + std::to_string(i)).losses <= 2);
}

TEST_CASE("jobs are enqueued and run once each while their Redis loses its functions again and again") {
  recovery_world own("Redis", {{"queues", {{"default", {{"workers", 4}}}}}});
  auto& w = own.w;
  auto first = w.work(), second = w.work();
  constexpr int jobs = 400;
  for (int i = 0; i < jobs; ++i) {
    if (i % 20 == 0) REQUIRE_FALSE(own.redis->command({"FUNCTION", "FLUSH"}).is_error());
    w.enqueue({noop("n" + std::to_string(i))});
  }
  REQUIRE(eventually([&] { return w.counts().succeeded == jobs; }, 30s));
  for (int i = 0; i < jobs; ++i)
    CHECK(w.get("n" + std::to_string(i)).history.size() == 1);
  CHECK(w.sluice({"audit"}).exit_code == 0);
}

TEST_CASE("a running server stores its throttlers and schedules again when its Redis came back empty") {
  recovery_world own("Redis", {{"queues", {{"default", {{"workers", 2}}}}},
                               {"throttlers", {{"api", {{"kind", "semaphore"}, {"limit", 2}}}}},
                               {"jobs", {{"noop", {{"throttle", {"semaphore:api"}}}}}},
                               {"recurring", {{"nightly", {{"job", "noop"}, {"cron", "0 3 * * *"}}}}}});
  auto& w = own.w;
  auto server = w.work();
  const auto is_configured = [&] {
    return w.sluice({"throttlers"}).out.find("semaphore:api") != std::string::npos &&
           w.sluice({"recurring", "list"}).out.find("nightly") != std::string::npos;
  };
  REQUIRE(eventually(is_configured, 20s));
  SECTION("restarted without its file") { own.redis->restart(); }
  SECTION("flushed beside open connections") { REQUIRE_FALSE(own.redis->command({"FLUSHALL"}).is_error()); }
  CHECK(eventually(is_configured, 20s));
  CHECK(server.log().find("does not know this server any more") != std::string::npos);
  CHECK(w.sluice({"enqueue", "default", "noop", "{}", "--id", "after"}).exit_code == 0);
  CHECK(eventually([&] { return w.get("after").state == job_state::succeeded; }, 30s));
}

}  // namespace sluice::test
