// Recurring jobs over several server processes: each occurrence once, none missing, whatever is killed or stopped.
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

#include "core/clock.hpp"
#include "core/instant.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;

constexpr int schedules = 50;

json each_second(const char* catch_up = "last") {
  return {{"job", "noop"}, {"args", json::object()}, {"cron", "* * * * * *"}, {"catch_up", catch_up}};
}

json fifty() {
  json all;
  for (int i = 0; i < schedules; ++i)
    all[cat("s", i)] = each_second();
  return all;
}

struct fired_job {
  time_point instant;
  double late_ms = 0;  // until it was begun, by the store's clock
};
// By schedule, in the order of the instants.
using fired_jobs = std::map<std::string, std::vector<fired_job>>;

// The instant behind "NAME:".
time_point instant_of(const std::string& id) {
  const auto at = parse_time(id.substr(id.find(':') + 1));
  if (!at) throw std::runtime_error("no occurrence: " + id);
  return *at;
}

fired_jobs fired(work_world& w) {
  fired_jobs found;
  for (const auto state : {job_state::succeeded, job_state::processing, job_state::enqueued})
    for (const auto& j : w.all(state)) {
      const auto at = instant_of(j.id.value);
      const auto begun = j.history.empty() ? j.started_at.value_or(at) : j.history.front().started;
      found[j.id.value.substr(0, j.id.value.find(':'))].push_back(
          {at, static_cast<double>((begun - at).count()) / 1000});
    }
  for (auto& [name, all] : found)
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.instant < b.instant; });
  return found;
}

// Sentences about what is missing or double: from the first occurrence of each on there must be one each second.
std::vector<std::string> faults_of(const fired_jobs& all, time_point until) {
  std::vector<std::string> faults;
  for (const auto& [name, jobs] : all) {
    for (std::size_t i = 1; i < jobs.size(); ++i)
      if (jobs[i].instant != jobs[i - 1].instant + 1s)
        faults.push_back(
            cat(name, ": after ", format_time(jobs[i - 1].instant), " came ", format_time(jobs[i].instant)));
    if (jobs.back().instant < until - 1s) faults.push_back(cat(name, ": ended at ", format_time(jobs.back().instant)));
  }
  return faults;
}

void tell_lateness(const char* when, const fired_jobs& all, time_point from, time_point to) {
  std::vector<double> late;
  for (const auto& [name, jobs] : all)
    for (const auto& j : jobs)
      if (j.instant >= from && j.instant < to) late.push_back(j.late_ms);
  if (late.empty()) return;
  std::sort(late.begin(), late.end());
  std::printf("%s: %zu occurrences, begun p50 %.2f ms, p99 %.2f ms, max %.2f ms late\n", when, late.size(),
              late[late.size() / 2], late[late.size() * 99 / 100], late.back());
  CHECK(late.front() >= 0);  // never early
}

time_point now() { return system_clock().now(); }

bool until(time_point when) {
  return eventually([&] { return now() >= when; }, 120s);
}

const std::vector<std::string> none;

// One process is killed and one stopped for a while, with so many on one Redis.
void kill_and_stop(int processes, std::chrono::seconds how_long) {
  CAPTURE(processes);
  redis_server redis;
  work_world w(json{{"recurring", fifty()}, {"queues", {{"default", {{"workers", 2}}}}}}, redis.url());
  std::vector<process> servers;
  for (int i = 0; i < processes; ++i)
    servers.push_back(w.work(cat("server", i, ".log")));
  const auto begin = now() + 1s;
  const auto end = begin + how_long;
  const auto third = (end - begin) / 3;

  REQUIRE(until(begin + third));
  servers[0].signal(SIGKILL);
  REQUIRE(servers[0].exit_code(5s) == -SIGKILL);
  REQUIRE(until(begin + third + 1s));
  auto again = w.work("again.log");
  REQUIRE(servers[1].stop());
  REQUIRE(until(begin + 2 * third));
  servers[1].signal(SIGCONT);
  REQUIRE(until(end));
  REQUIRE(eventually([&] { return w.counts().processing + w.counts().enqueued == 0; }, 30s));

  const auto all = fired(w);
  CHECK(all.size() == schedules);
  CHECK(faults_of(all, end) == none);
  tell_lateness(cat(processes, " processes, before any fault").c_str(), all, begin, begin + third - 100ms);
  tell_lateness(cat(processes, " processes, all in all").c_str(), all, begin, end);
  CHECK(w.sluice({"audit"}).out == "nothing is wrong\n");
}

// The schedules of samples/cache_refresh by name, each in each minute.
json thirty(const json& stagger) {
  const auto config =
      json::parse(read_file(source_path("samples/cache_refresh/cache_refresh.json")), nullptr, true, true);
  json all;
  for (const auto& [name, of_sample] : config.at("recurring").items())
    all[name] = {{"job", "noop"}, {"cron", "* * * * *"}, {"stagger", stagger}};
  return all;
}

// Which millisecond of its minute each schedule has, by its next run.
using parts = std::map<std::string, std::int64_t>;

parts parts_of_the_minute(work_world& w) {
  parts found;
  std::istringstream lines(w.sluice({"recurring", "list", "--json"}).out);
  for (std::string line; std::getline(lines, line);) {
    const auto schedule = json::parse(line);
    const auto next = parse_time(schedule.at("next_at").get<std::string>());
    if (next) found[schedule.at("name")] = next->time_since_epoch() % 1min / 1ms;
  }
  return found;
}

int max_in_one_second(const parts& all) {
  std::map<std::int64_t, int> starts;
  int most = 0;
  for (const auto& [name, ms] : all)
    most = std::max(most, ++starts[ms / 1000]);
  return most;
}

// A server is killed and comes back with one schedule more and other args of one of the thirty.
void restart_with_one_more(const json& stagger, const std::string& store) {
  CAPTURE(stagger.dump(), store);
  work_world w(json{{"recurring", thirty(stagger)}}, store);
  auto first = w.work("first.log");
  parts before, after;
  REQUIRE(eventually([&] { return (before = parts_of_the_minute(w)).size() == 30; }));
  CHECK(max_in_one_second(before) == (stagger == "even" ? 1 : stagger == true ? 3 : 30));
  first.signal(SIGKILL);
  REQUIRE(first.exit_code(5s) == -SIGKILL);

  auto more = thirty(stagger);
  more["Added"] = more.at("Jackpot");
  more["Jackpot"]["args"] = {{"force", true}};
  w.configure("sluice.json", json{{"recurring", more}});
  auto second = w.work("second.log");
  const auto args_of_jackpot = [&] {
    const auto all = w.client->recurring_jobs();
    for (const auto& status : all.value())
      if (status.name == "Jackpot" && status.definition) return status.definition->args;
    return std::string();
  };
  REQUIRE(eventually([&] { return args_of_jackpot() == "{\"force\":true}"; }));
  REQUIRE(eventually([&] { return (after = parts_of_the_minute(w)).size() == 31; }));
  if (stagger == "even") CHECK(max_in_one_second(after) == 1);
  after.erase("Added");
  CHECK(after == before);
}

}  // namespace

TEST_CASE("a killed server that comes back with one schedule more leaves the others their seconds") {
  const auto* stagger = GENERATE("false", "true", "\"even\"");
  SECTION("on an SQLite file") { restart_with_one_more(json::parse(stagger), {}); }
  SECTION("on Redis") {
    redis_server redis;
    restart_with_one_more(json::parse(stagger), redis.url());
  }
}

TEST_CASE("servers that are killed and stopped fire each occurrence of fifty schedules once") {
  kill_and_stop(GENERATE(2, 4), 10s);
}

TEST_CASE("servers that are killed and stopped fire each occurrence of fifty schedules once for a minute", "[.long]") {
  kill_and_stop(GENERATE(2, 4), 60s);
}

TEST_CASE("after a server on SQLite was away each schedule catches up as it says") {
  work_world w(
      json{{"recurring", {{"all", each_second("all")}, {"last", each_second("last")}, {"none", each_second("none")}}}});
  auto server = w.work("first.log");
  REQUIRE(eventually([&] { return w.counts().succeeded >= 6; }));
  server.signal(SIGKILL);
  REQUIRE(server.exit_code(5s) == -SIGKILL);
  const auto killed = now();
  REQUIRE(until(killed + 8s));  // longer than what counts as on time
  const auto back = now();
  auto second = w.work("second.log");
  REQUIRE(until(now() + 2s));
  second.signal(SIGTERM);
  REQUIRE(second.exit_code(20s) == 0);

  const auto runs = fired(w);
  CHECK(faults_of({{"all", runs.at("all")}}, back + 1s) == none);
  for (const auto* name : {"last", "none"}) {
    int gaps = 0;
    const auto& jobs = runs.at(name);
    for (std::size_t i = 1; i < jobs.size(); ++i) {
      if (jobs[i].instant == jobs[i - 1].instant + 1s) continue;
      ++gaps;
      CHECK(jobs[i - 1].instant <= killed);
      CHECK(jobs[i].instant >= back - 5s);  // on time, as are those behind it
    }
    CAPTURE(name);
    CHECK(gaps == 1);
  }
  CHECK(w.sluice({"audit"}).out == "nothing is wrong\n");
}

TEST_CASE("schedules are set listed triggered paused and removed from the shell") {
  work_world w;
  CHECK(w.sluice({"recurring", "list"}).out == "NAME  JOB  WHEN  NEXT  LAST  LAST JOB  REMARK\n");
  const auto set = w.sluice({"recurring", "set", "nightly", "job=noop", "cron=0 3 * * *", "zone=Europe/London",
                             "stagger=false", "args={\"a\": 1}"});
  CHECK(set.out == "nightly set\n");
  CHECK(set.exit_code == 0);
  auto listed = w.sluice({"recurring", "list"}).out;
  CHECK(listed.find("nightly  noop  0 3 * * * Europe/London  ") != std::string::npos);
  const auto triggered = w.sluice({"recurring", "trigger", "nightly"});
  REQUIRE(triggered.exit_code == 0);
  const auto id = triggered.out.substr(0, triggered.out.size() - 1);
  CHECK(w.get(id).args == "{\"a\":1}");
  CHECK(w.get(id).headers.at("recurring") == "nightly");
  CHECK(w.sluice({"recurring", "pause", "nightly", "--json"}).out == "{\"name\":\"nightly\",\"done\":\"paused\"}\n");
  const auto line = json::parse(w.sluice({"recurring", "list", "--json"}).out);
  CHECK(line.at("paused") == true);
  CHECK(line.at("next_at") == nullptr);
  CHECK(line.at("last_job") == id);
  CHECK(line.at("definition").at("cron") == "0 3 * * *");
  CHECK(w.sluice({"recurring", "resume", "nightly"}).out == "nightly resumed\n");
  CHECK(w.sluice({"recurring", "remove", "nightly"}).out == "nightly removed\n");
  CHECK(w.sluice({"recurring", "list", "--json"}).out.empty());
  CHECK(w.sluice({"recurring", "remove", "nightly"}).out == "nightly was not there\n");

  const auto wrong = w.sluice({"recurring", "set", "x", "job=noop", "cron=0 25 * * *"});
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.err.find("x: cron '0 25") != std::string::npos);
  const auto missing = w.sluice({"recurring", "trigger", "x"});
  CHECK(missing.exit_code == 1);
  CHECK(missing.err.find("there is no schedule x") != std::string::npos);
}

}  // namespace sluice::test
