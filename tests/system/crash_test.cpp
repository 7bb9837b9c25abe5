// What survives when a `sluice work` is killed, stopped or told to end.
#include <fstream>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

// True while a process is inside a transaction.
bool is_locked(const work_world& w) {
  return run({"flock", "-n", w.folder.file("jobs.db.lock"), "true"}, w.folder.path().string()).exit_code == 1;
}

}  // namespace

TEST_CASE("after kill -9 a second server finishes every job and only what was running ran twice") {
  work_world w;
  const auto ran_file = w.folder.file("ran");
  const auto mark = "mark-" + w.folder.path().filename().string();
  std::vector<new_job> jobs;
  constexpr int count = 200;
  for (int i = 0; i < count; ++i)
    jobs.push_back(work_world::exec("echo job" + std::to_string(i) + " >> " + ran_file + "; sleep 0.02 # " + mark,
                                    "job" + std::to_string(i)));
  w.enqueue(std::move(jobs));

  auto first = w.work("first.log");
  REQUIRE(eventually([&] { return w.counts().succeeded >= 40; }));
  first.signal(SIGKILL);
  REQUIRE(first.exit_code(5s) == -SIGKILL);
  CHECK(eventually([&] { return processes_with(mark) == 0; }, 2s));  // no child survives it
  std::set<std::string> running;
  for (const auto& j : w.all(job_state::processing))
    running.insert(j.id.value);
  CHECK(running.size() <= 4);

  auto second = w.work("second.log");
  REQUIRE(eventually([&] { return w.counts().succeeded == count; }, 30s));
  const auto ran = lines_of(ran_file);
  for (int i = 0; i < count; ++i) {
    const auto id = "job" + std::to_string(i);
    const auto found = ran.find(id);
    REQUIRE(found != ran.end());
    if (found->second > 1) CHECK(running.count(id) == 1);
    CHECK(found->second <= 2);
  }
  for (const auto& id : running)
    CHECK(w.get(id).losses == 1);
}

TEST_CASE("a server that was stopped past its lease cannot end what another has run since") {
  work_world w;
  std::vector<new_job> jobs;
  for (int i = 0; i < 4; ++i)
    jobs.push_back(
        work_world::exec("until [ -e " + w.folder.file("go") + " ]; do sleep 0.05; done", "job" + std::to_string(i)));
  w.enqueue(std::move(jobs));
  auto first = w.work("first.log");
  REQUIRE(eventually([&] { return w.counts().processing == 4; }));
  // Not inside a transaction: that is another test.
  REQUIRE(eventually([&] {
    REQUIRE(first.stop());
    if (!is_locked(w)) return true;
    first.signal(SIGCONT);
    return false;
  }));
  auto second = w.work("second.log");
  std::ofstream(w.folder.file("go"));
  REQUIRE(eventually([&] { return w.counts().succeeded == 4; }, 30s));
  first.signal(SIGCONT);
  CHECK(eventually([&] { return first.log().find("was refused") != std::string::npos; }));
  for (int i = 0; i < 4; ++i) {
    const auto j = w.get("job" + std::to_string(i));
    CHECK(j.state == job_state::succeeded);
    REQUIRE(j.history.size() == 2);
    CHECK(j.history[0].cause == "lost");
    CHECK(j.history[1].cause == "succeeded");
    CHECK(j.history[0].fence < j.history[1].fence);
  }
}

TEST_CASE("a process stopped inside a transaction makes others wait and say so and nothing is lost") {
  work_world w(nlohmann::json{{"queues", {{"default", {{"workers", 4}}}}}});
  std::vector<new_job> jobs(20'000);
  for (auto& j : jobs)
    j.type = job_type("noop");
  w.enqueue(std::move(jobs));
  auto busy = w.work("busy.log");
  // Stop it again and again until it is stopped while it holds the lock.
  bool inside = false;
  for (int tries = 0; tries < 500 && !inside && w.counts().enqueued > 100; ++tries) {
    REQUIRE(busy.stop());
    inside = is_locked(w);
    if (!inside) busy.signal(SIGCONT);
  }
  REQUIRE(inside);
  CHECK(w.sluice({"queues"}).exit_code == 0);  // looking needs no lock
  const auto refused = w.sluice({"enqueue", "default", "noop", "{}", "--id", "waited"});
  CHECK(refused.exit_code == 1);
  CHECK(refused.err.find("storage_busy") != std::string::npos);
  CHECK(refused.err.find(std::to_string(busy.pid())) != std::string::npos);
  busy.signal(SIGCONT);
  CHECK(w.sluice({"enqueue", "default", "noop", "{}", "--id", "waited"}).exit_code == 0);
  CHECK(eventually([&] { return w.counts().succeeded == 20'001; }, 60s));
}

TEST_CASE("SIGTERM gives back what runs and what waits with no attempt used") {
  work_world w(nlohmann::json{{"grace", "3s"}, {"queues", {{"default", {{"workers", 6}}}}}});
  const auto mark = "mark-" + w.folder.path().filename().string();
  std::vector<new_job> jobs;
  for (int i = 0; i < 26; ++i)
    jobs.push_back(work_world::exec("sleep 60 # " + mark, "job" + std::to_string(i)));
  w.enqueue(std::move(jobs));
  auto p = w.work();
  REQUIRE(eventually([&] { return w.counts().processing == 6; }));
  p.signal(SIGTERM);
  CHECK(p.exit_code(5s) == 0);
  CHECK(processes_with(mark) == 0);
  CHECK(w.counts().enqueued == 26);
  for (int i = 0; i < 26; ++i)
    CHECK(w.get("job" + std::to_string(i)).attempt == 0);
  CHECK(w.client->servers()->empty());
}

TEST_CASE("a command that ignores SIGTERM is killed within the grace") {
  work_world w(nlohmann::json{{"grace", "4s"}});
  const auto mark = "mark-" + w.folder.path().filename().string();
  w.enqueue({work_world::exec("trap '' TERM; : > " + w.folder.file("trapped") + "; while :; do sleep 1; done # " + mark,
                              "stubborn")});
  auto p = w.work();
  REQUIRE(eventually([&] { return std::filesystem::exists(w.folder.file("trapped")); }));
  p.signal(SIGTERM);
  CHECK(p.exit_code(6s) == 0);
  CHECK(w.get("stubborn").state == job_state::enqueued);
  CHECK(processes_with(mark) == 0);
}

TEST_CASE("SIGTERM that is sent twice at once is one request to stop") {
  work_world w(nlohmann::json{{"grace", "3s"}});
  w.enqueue({work_world::exec("sleep 60", "long")});
  auto p = w.work();
  REQUIRE(eventually([&] { return w.counts().processing == 1; }));
  p.signal(SIGTERM);
  p.signal(SIGTERM);
  CHECK(p.exit_code(5s) == 0);
  CHECK(w.get("long").state == job_state::enqueued);
  CHECK(w.get("long").attempt == 0);
}

TEST_CASE("a second signal leaves at once and the children go too") {
  work_world w;
  const auto mark = "mark-" + w.folder.path().filename().string();
  w.enqueue({work_world::exec("trap '' TERM; : > " + w.folder.file("trapped") + "; while :; do sleep 1; done # " + mark,
                              "stubborn")});
  auto p = w.work();
  REQUIRE(eventually([&] { return std::filesystem::exists(w.folder.file("trapped")); }));
  p.signal(SIGTERM);
  REQUIRE(eventually([&] { return p.log().find("stopping") != std::string::npos; }));
  // Within half a second it would be the same request, sent twice.
  CHECK(eventually(
      [&] {
        p.signal(SIGINT);
        return !p.alive();
      },
      10s));
  CHECK(p.exit_code(5s) == 128 + SIGINT);
  CHECK(eventually([&] { return processes_with(mark) == 0; }, 2s));
}

TEST_CASE("a job that kills its server is failed as lost after three losses and costs the others two at most") {
  work_world w(nlohmann::json{{"lease", "2s"}, {"sweep_interval", "200ms"}});
  std::vector<new_job> jobs{work_world::exec("kill -9 $PPID", "killer")};
  for (int i = 0; i < 40; ++i)
    jobs.push_back(work_world::exec("sleep 0.01", "job" + std::to_string(i)));
  w.enqueue(std::move(jobs));
  int deaths = 0;
  auto p = std::make_unique<process>(w.work());
  const bool over = eventually(
      [&] {
        if (!p->alive()) {
          ++deaths;
          p = std::make_unique<process>(
              std::vector<std::string>{program_path("sluice"), "work", w.folder.file("sluice.json")},
              w.folder.file("work.log"));
        }
        const auto c = w.counts();
        return c.failed == 1 && c.succeeded == 40;
      },
      60s);
  REQUIRE(over);
  CHECK(deaths == 3);
  const auto killer = w.get("killer");
  CHECK(killer.losses == 3);
  CHECK(killer.history.back().cause == "lost");
  CHECK(killer.reason.find("lost") != std::string::npos);
  for (int i = 0; i < 40; ++i)
    CHECK(w.get("job" + std::to_string(i)).losses <= 2);
}

TEST_CASE("a server that is stopped for less than its lease loses nothing") {
  work_world w(nlohmann::json{{"lease", "6s"}, {"sweep_interval", "200ms"}});
  std::vector<new_job> jobs;
  for (int i = 0; i < 4; ++i)
    jobs.push_back(work_world::exec("sleep 2", "job" + std::to_string(i)));
  w.enqueue(std::move(jobs));
  auto first = w.work("first.log");
  REQUIRE(eventually([&] { return w.counts().processing == 4; }));
  auto second = w.work("second.log");
  REQUIRE(eventually([&] {
    REQUIRE(first.stop());
    if (!is_locked(w)) return true;
    first.signal(SIGCONT);
    return false;
  }));
  const auto from = std::chrono::steady_clock::now();
  eventually([&] { return std::chrono::steady_clock::now() - from >= 2s; });  // it stands still meanwhile
  first.signal(SIGCONT);
  REQUIRE(eventually([&] { return w.counts().succeeded == 4; }, 30s));
  for (int i = 0; i < 4; ++i) {
    const auto j = w.get("job" + std::to_string(i));
    CHECK(j.losses == 0);
    CHECK(j.history.size() == 1);
  }
}

TEST_CASE("SIGHUP and SIGPIPE change nothing for a server and SIGINT stops it") {
  work_world w(nlohmann::json{{"grace", "3s"}});
  auto p = w.work();
  for (const int signal : {SIGHUP, SIGPIPE, SIGHUP})
    p.signal(signal);
  w.enqueue({work_world::exec("true", "after")});
  CHECK(eventually([&] { return w.counts().succeeded == 1; }));
  CHECK(p.alive());
  p.signal(SIGINT);
  CHECK(p.exit_code(5s) == 0);
}

}  // namespace sluice::test
