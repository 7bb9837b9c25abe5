// Server processes on one Redis: what runs and how often, whatever is killed, stopped or not heard.
#include <algorithm>
#include <cstdio>

#include "core/instant.hpp"
#include "support/catch.hpp"
#include "support/fault_proxy.hpp"
#include "support/places.hpp"
#include "system/worker_world.hpp"

namespace sluice::test {

TEST_CASE("two processes on one Redis run each of 20,000 jobs once") {
  constexpr int count = 20'000;
  redis_work_world w;
  auto one = w.worker("one");
  auto two = w.worker("two");
  w.enqueue(noops(count));
  REQUIRE(eventually([&] { return w.all_succeeded(count); }, 60s));
  const auto runs = w.runs({"one", "two"});
  CHECK(runs.size() == count);
  CHECK(runs_of_each(runs).size() == count);
  CHECK(w.noted("begin", {"one"}) > 0);
  CHECK(w.noted("begin", {"two"}) > 0);
  CHECK(faults_of(w, runs) == none);
  const auto audit = w.sluice({"audit"});
  CHECK(audit.out == "nothing is wrong\n");
  CHECK(audit.exit_code == 0);
}

TEST_CASE("two sluice work processes on one Redis run each command once") {
  constexpr int count = 200;
  redis_work_world w(json{{"queues", {{"default", {{"workers", 4}, {"prefetch", 0}}}}}});
  auto one = w.work("one.log");
  auto two = w.work("two.log");
  std::vector<new_job> jobs;
  for (int i = 0; i < count; ++i)
    jobs.push_back(work_world::exec("echo " + std::to_string(i) + " >> " + w.folder.file("ran") + "; " +
                                    until_two_share(w.folder.file("guards"))));
  w.enqueue(std::move(jobs));
  REQUIRE(eventually([&] { return w.all_succeeded(count); }, 60s));
  const auto ran = lines_of(w.folder.file("ran"));
  CHECK(ran.size() == count);
  for (const auto& [job, times] : ran)
    CHECK(times == 1);
  CHECK(lines_of(w.folder.file("guards")).size() == 2);
  CHECK(w.sluice({"audit"}).exit_code == 0);
}

// Allowed: a job runs a second time if the process held it when it was killed or stopped, that is, if a run of it
// that this process had was lost. What it had begun and not ended by then must be among these. Nobody else loses a
// run. In time: two leases after the process fell silent, or after the other jobs were done, since what was lost
// waits behind them.
TEST_CASE(
    "when one of two processes falls silent the other runs what it held, within two leases and nothing else twice") {
  constexpr int count = 20'000;
  constexpr auto lease = 2s;
  constexpr int workers = 8, prefetch = 256;
  redis_work_world w(json{{"sweep_interval", "200ms"}, {"queues", {{"default", {{"workers", workers}}}}}});
  auto other = w.worker("other");
  auto victim = w.worker("victim");
  const int how = GENERATE(SIGKILL, SIGSTOP);
  CAPTURE(how);
  w.enqueue(noops(count, {{"ms", 1}}));
  REQUIRE(eventually([&] { return w.noted("end", {"victim"}) > count / 10; }));
  const auto silent = steady_clock::now();
  if (how == SIGSTOP) REQUIRE(victim.stop());
  else {
    victim.signal(SIGKILL);
    REQUIRE(victim.exit_code(5s) == -SIGKILL);
  }
  REQUIRE(w.noted("end", {"other", "victim"}) < count);
  const auto begun = w.runs({"victim"});
  REQUIRE(eventually([&] { return w.all_succeeded(count); }, 60s));

  // What it says when it goes on is refused, or it would not be known as lost below.
  if (how == SIGSTOP) {
    victim.signal(SIGCONT);
    victim.signal(SIGTERM);
    CHECK(victim.exit_code(20s) == 0);
  }
  const auto runs = w.runs({"other", "victim"});
  CHECK(faults_of(w, runs) == none);
  CHECK(w.sluice({"audit"}).out == "nothing is wrong\n");

  std::set<std::string> held;
  for (const auto& j : w.all(job_state::succeeded)) {
    CHECK(j.losses <= 1);
    for (const auto& start : j.history)
      if (start.cause == "lost") {
        CHECK(was_on(start, "victim"));
        held.insert(j.id.value);
      }
  }
  CHECK(held.size() <= workers + prefetch);
  int unfinished = 0, doubles = 0;
  for (const auto& [fence, run] : begun)
    if (!run.end) {
      ++unfinished;
      CHECK(held.contains(run.id));
    }
  const auto times = runs_of_each(runs);
  CHECK(times.size() == count);
  for (const auto& [id, n] : times)
    if (n > 1) {
      ++doubles;
      CHECK(n == 2);
      CHECK(held.contains(id));
    }

  steady_time others_done = silent, all_done = silent;
  for (const auto& [fence, run] : runs) {
    if (run.by != "other") continue;
    all_done = std::max(all_done, *run.end);
    if (!held.contains(run.id)) others_done = std::max(others_done, *run.end);
  }
  CHECK(all_done - others_done < 2 * lease);
  const auto seconds = [&](steady_time t) { return std::chrono::duration<double>(t - silent).count(); };
  std::printf(
      "signal %d: held %zu, begun and not ended %d, run twice %d; the others' jobs done after %.2f s, its after %.2f "
      "s\n",
      how, held.size(), unfinished, doubles, seconds(others_done), seconds(all_done));
}

TEST_CASE("the ends that a process tells after it was stopped past its leases are refused, and it works on") {
  redis_work_world w;
  constexpr int held = 4;
  auto stopped = w.worker("stopped");
  w.enqueue(noops(held, {{"until_told", true}}));
  REQUIRE(eventually([&] { return w.noted("begin", {"stopped"}) == held; }));
  REQUIRE(stopped.stop());
  auto other = w.worker("other");
  REQUIRE(eventually([&] { return w.noted("begin", {"other"}) == held; }));  // so the late ends meet newer starts
  w.tell("stopped");
  stopped.signal(SIGCONT);
  const auto refused = [&](const std::string& id) {
    return stopped.log().find("the end (succeeded) of job " + id + " was refused") != std::string::npos;
  };
  for (int i = 0; i < held; ++i)
    CHECK(eventually([&] { return refused("job" + std::to_string(i)); }));
  for (int i = 0; i < held; ++i) {
    CHECK(w.get("job" + std::to_string(i)).state == job_state::processing);
    CHECK(was_on(w.get("job" + std::to_string(i)), "other"));
  }
  CHECK(w.sluice({"audit"}).out == "nothing is wrong\n");
  w.tell("other");
  REQUIRE(eventually([&] { return w.all_succeeded(held); }));
  for (int i = 0; i < held; ++i) {
    const auto history = w.get("job" + std::to_string(i)).history;
    REQUIRE(history.size() == 2);
    CHECK(history[0].cause == "lost");
    CHECK(was_on(history[0], "stopped"));
    CHECK(history[1].cause == "succeeded");
    CHECK(history[0].fence < history[1].fence);
  }
  CHECK(faults_of(w, w.runs({"stopped", "other"})) == none);
  CHECK(w.sluice({"audit"}).out == "nothing is wrong\n");

  other.signal(SIGTERM);
  REQUIRE(other.exit_code(10s) == 0);
  w.enqueue({noop("later")});
  REQUIRE(eventually([&] { return w.get("later").state == job_state::succeeded; }));
  CHECK(was_on(w.get("later").history.front(), "stopped"));
}

TEST_CASE("a job that runs for longer than its lease stays with its process while another looks for lost ones") {
  redis_work_world w(json{{"lease", "2s"}, {"sweep_interval", "100ms"}});
  auto one = w.worker("one");
  auto two = w.worker("two");
  w.enqueue(noops(4, {{"ms", 5000}}));
  REQUIRE(eventually([&] { return w.all_succeeded(4); }));
  const auto runs = w.runs({"one", "two"});
  CHECK(runs.size() == 4);
  CHECK(faults_of(w, runs) == none);
}

TEST_CASE("audit names what was harmed by hand, and exits 1") {
  redis_server redis;
  struct harm {
    std::string what;
    std::vector<std::string> command;  // with the prefix in the place of P
    std::string finding;
  };
  const std::vector<harm> harms{
      {"out of its line", {"ZREM", "P:ready:default", "a"}, "job a is in no line"},
      {"in two lines",
       {"ZADD", "P:failed:default", "1", "a"},
       "job a is in several lines: failed of default, ready of default"},
      {"in two queues",
       {"ZADD", "P:ready:heavy-queue", "1", "late"},
       "job late is in P:ready:heavy-queue, which is not of its queue"},
      {"a run of nobody", {"HSET", "P:runs", "ghost", "x"}, "there is a run of job ghost, which does not exist"},
      {"a history of nobody",
       {"HSET", "P:history", "ghost", "x"},
       "there is a history of job ghost, which does not exist"},
      {"a place of nobody",
       {"ZADD", "P:ready:default", "1", "ghost"},
       "job ghost is in P:ready:default but does not exist"},
      {"a key of nobody", {"SET", "P:orphan", "x"}, "key P:orphan belongs to nobody"},
      {"a start and no lease", {"HSET", "P:runs", "a", "x"}, "job a has a run but is ready"},
      {"a lease and no start", {"HDEL", "P:runs", "running"}, "job running is processing without a run"},
      {"a broken start", {"HSET", "P:runs", "running", "x"}, "job running has a run that cannot be read"},
      {"a broken record", {"HSET", "P:jobs", "a", ""}, "job a has a record that cannot be read"},
      {"a broken history", {"HSET", "P:history", "a", "x"}, "job a has a history that cannot be read"},
      {"a number that is none", {"SET", "P:number", "x"}, "P:number leaves no number to draw, or is none"},
      {"leases not looked at", {"DEL", "P:ending"}, "queue default has leases that nobody looks at"},
      {"due jobs not looked at", {"DEL", "P:due"}, "queue default has due jobs that nobody looks at"}};
  int stores = 0;
  for (const auto& h : harms) {
    INFO(h.what);
    const auto prefix = "w" + std::to_string(++stores);
    work_world w(json::object(), redis.url() + "&prefix=" + prefix);
    const auto in_keys = [&](std::string text) {
      for (auto at = text.find("P:"); at != std::string::npos; at = text.find("P:", at + 1))
        text.replace(at, 1, "{" + prefix + "}");
      return text;
    };
    auto late = noop("late");
    late.delay = 1h;
    w.enqueue(
        {work_world::exec("sleep 60", "running"), noop("elsewhere", json::object(), "heavy-queue"), std::move(late)});
    auto p = w.work();
    REQUIRE(eventually([&] { return w.get("running").state == job_state::processing; }));
    p.signal(SIGKILL);
    REQUIRE(p.exit_code(5s) == -SIGKILL);
    w.enqueue({noop("a")});
    const auto before = w.sluice({"audit"});
    CHECK(before.out == "nothing is wrong\n");
    CHECK(before.exit_code == 0);
    std::vector<std::string> words;
    for (const auto& word : h.command)
      words.push_back(in_keys(word));
    CHECK_FALSE(redis.command(words).is_error());
    const auto after = w.sluice({"audit"});
    CHECK(after.out == in_keys(h.finding) + "\n");
    CHECK(after.exit_code == 1);
  }
}

namespace {

// From the call of enqueue to the handler's first line.
double milliseconds_to_start(redis_work_world& w, const std::string& id, std::chrono::milliseconds timeout) {
  const auto asked = steady_clock::now();
  w.enqueue({noop(id)});
  double found = -1;
  const bool began = eventually(
      [&] {
        for (const auto& [fence, run] : w.runs({"worker"}))
          if (run.id == id) found = std::chrono::duration<double, std::milli>(run.begin - asked).count();
        return found >= 0;
      },
      timeout);
  if (!began) throw std::runtime_error(id + " does not start");
  return found;
}

}  // namespace

TEST_CASE("what another process enqueues starts at once, and long before the next sweep") {
  redis_work_world w(json{{"sweep_interval", "60s"}});
  auto worker = w.worker("worker");
  std::vector<double> took;
  for (int i = 0; i < 100; ++i)
    took.push_back(milliseconds_to_start(w, "quick" + std::to_string(i), 50s));
  std::sort(took.begin(), took.end());
  std::printf("enqueue to start, ms: p50 %.2f, p99 %.2f, max %.2f\n", took[50], took[98], took[99]);
  CHECK(took.back() < 10'000);
}

TEST_CASE("a job whose hint nobody heard starts within 5 s") {
  redis_work_world w;
  fault_proxy proxy(unix_at(w.redis.socket()));
  const auto listeners = [&] { return w.redis.command({"PUBSUB", "NUMSUB", "{sluice}:work"}).elements.at(1).integer; };
  // Its requests go on; only where it listens is cut, and stays cut until the proxy takes connections again.
  const auto deafen = [&] {
    REQUIRE(eventually([&] { return listeners() == 1; }));
    proxy.refuse(true);
    w.redis.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    REQUIRE(eventually([&] { return proxy.refused() > 0; }));
    REQUIRE(listeners() == 0);
  };

  SECTION("as soon as the process listens again, however rarely it sweeps") {
    auto worker = w.worker("worker", {{"storage", proxy.tcp_url()}, {"sweep_interval", "60s"}});
    deafen();
    const auto asked = steady_clock::now();
    w.enqueue({noop("unheard")});
    REQUIRE(listeners() == 0);
    proxy.heal();
    REQUIRE(eventually([&] { return w.noted("begin", {"worker"}) == 1; }, 10s));
    CHECK(w.runs({"worker"}).begin()->second.begin - asked < 5s);
  }
  SECTION("with its next sweep, when it cannot listen") {
    auto worker = w.worker("worker", {{"storage", proxy.tcp_url()}, {"sweep_interval", "2s"}});
    deafen();
    CHECK(milliseconds_to_start(w, "unheard", 10s) < 5000);
    CHECK(listeners() == 0);
  }
  SECTION("wherever between a cut and the next listening it is told") {
    auto worker = w.worker("worker", {{"sweep_interval", "60s"}});
    double longest = 0;
    for (int i = 0; i < 40; ++i) {
      REQUIRE(eventually([&] { return listeners() == 1; }));
      const auto cut = steady_clock::now();
      REQUIRE(w.redis.command({"CLIENT", "KILL", "TYPE", "pubsub"}).integer == 1);
      // It listens again after some 50 ms: all moments before, at and after that.
      eventually([&] { return steady_clock::now() - cut > i * 2ms; });
      longest = std::max(longest, milliseconds_to_start(w, "job" + std::to_string(i), 10s));
    }
    std::printf("enqueue to start around a cut of the hints, ms: max %.2f\n", longest);
    CHECK(longest < 5000);
  }
}

TEST_CASE("a server takes jobs of the queues it serves only, and all tell how durable their Redis is") {
  constexpr int count = 50;
  redis_options everysec;
  everysec.appendonly = "everysec";
  redis_work_world w(json::object(), everysec);
  auto light = w.worker("light");
  auto heavy = w.worker("heavy", {{"queues", {{"heavy-queue", {{"workers", 1}}}}}});
  std::vector<new_job> jobs;
  for (int i = 0; i < count; ++i) {
    jobs.push_back(noop("light" + std::to_string(i)));
    jobs.push_back(noop("heavy" + std::to_string(i), json::object(), "heavy-queue"));
  }
  w.enqueue(std::move(jobs));
  REQUIRE(eventually([&] { return w.all_succeeded(count) && w.counts("heavy-queue").succeeded == count; }));
  const auto runs = w.runs({"light", "heavy"});
  CHECK(runs.size() == 2 * count);
  for (const auto& [fence, run] : runs)
    CHECK(run.id.starts_with(run.by));
  CHECK(faults_of(w, runs) == none);

  std::map<std::string, json> told;
  std::istringstream lines(w.sluice({"servers", "--json"}).out);
  for (std::string line; std::getline(lines, line);) {
    const auto server = json::parse(line);
    told[server.at("name")] = server;
  }
  REQUIRE(told.size() == 2);
  CHECK(told["light"].at("queues") == json{"default:4"});
  CHECK(told["heavy"].at("queues") == json{"heavy-queue:1"});
  for (const auto& [name, server] : told)
    CHECK(server.at("store") == "crash_safe");
  const auto table = w.sluice({"servers"}).out;
  for (const char* word : {"light", "heavy", "default:4", "heavy-queue:1", "crash_safe"})
    CHECK(table.find(word) != std::string::npos);
}

TEST_CASE("SIGTERM ends a server within its grace though its Redis is gone") {
  redis_work_world w(json{{"grace", "2s"}}, {.appendonly = "always"});
  w.enqueue({work_world::exec("sleep 60", "long")});
  auto p = w.work();
  REQUIRE(eventually([&] { return w.counts().processing == 1; }));
  w.redis.kill();
  p.signal(SIGTERM);
  CHECK(p.exit_code(20s) == 0);  // past its grace and 5 s it would leave with 1
  w.redis.start();
  auto next = w.work("next.log");
  CHECK(eventually([&] { return w.get("long").losses == 1; }, 30s));  // what could not be given back was lost
}

TEST_CASE("SIGTERM and SIGINT end a server that waits for its Redis at its start") {
  const int signal = GENERATE(SIGTERM, SIGINT);
  redis_work_world w;
  w.redis.kill();
  process p({program_path("sluice"), "work", w.folder.file("sluice.json")}, w.folder.file("work.log"));
  REQUIRE(eventually([&] { return p.log().find("the server cannot begin yet") != std::string::npos; }));
  p.signal(signal);
  CHECK(p.exit_code(5s) == 0);  // it would wait for 10 s
  CHECK(p.log().find("stopped") != std::string::npos);
}

TEST_CASE("a command whose store is away says so at once") {
  redis_work_world w;
  w.redis.kill();
  const auto from = steady_clock::now();
  for (const auto& words : std::vector<std::vector<std::string>>{{"jobs"}, {"throttlers"}, {"recurring", "list"}}) {
    const auto told = w.sluice(words);
    CHECK(told.exit_code == 1);
    CHECK(told.err.find("storage_unavailable") != std::string::npos);
  }
  CHECK(steady_clock::now() - from < 9s);  // one that waits takes 10 s
}

TEST_CASE("a server and an enqueuer whose clocks are a day ahead or behind change nothing on Redis") {
  redis_work_world w;
  const auto shift = GENERATE(as<std::string>(), "86400", "-86400");
  CAPTURE(shift);
  const auto shifted = [&](std::vector<std::string> argv) {
    argv.insert(argv.begin(), {"env", "LD_PRELOAD=" + program_path("libshifted_clock.so"), "TEST_CLOCK_SHIFT=" + shift,
                               program_path("sluice")});
    return argv;
  };
  auto right = w.work("right.log");
  process wrong(shifted({"work", w.folder.file("sluice.json")}), w.folder.file("wrong.log"));
  REQUIRE(eventually([&] {
    const auto all = w.client->servers();
    return all && all->size() == 2;
  }));
  // Its clock is wrong: it dates what it logs by that.
  const auto first_line_at = [&](const std::string& log) {
    std::optional<time_point> at;
    REQUIRE(eventually([&] {
      const auto lines = read_file(w.folder.file(log));
      at = parse_time(lines.substr(0, lines.find(' ')));
      return at.has_value();
    }));
    return *at;
  };
  const auto ahead = std::chrono::round<std::chrono::hours>(first_line_at("wrong.log") - first_line_at("right.log"));
  REQUIRE(ahead == std::chrono::seconds(std::stoi(shift)));
  const auto enqueue = [&](const std::string& id, const std::string& in) {
    const auto done = run(shifted({"enqueue", "default", "noop", "{}", "--in", in, "--id", id, "--store", w.url}),
                          w.folder.path().string());
    CHECK(done.exit_code == 0);
  };
  enqueue("late", "1h");
  enqueue("soon", "1s");
  std::vector<new_job> jobs;
  for (int i = 0; i < 8; ++i)
    jobs.push_back(work_world::exec("sleep 4", "job" + std::to_string(i)));  // for two leases, on both
  w.enqueue(std::move(jobs));
  REQUIRE(eventually([&] { return w.counts().succeeded == 9; }, 30s));
  CHECK(w.get("soon").state == job_state::succeeded);
  CHECK(w.get("late").state == job_state::scheduled);
  for (int i = 0; i < 8; ++i) {
    const auto j = w.get("job" + std::to_string(i));
    CHECK(j.losses == 0);
    CHECK(j.history.size() == 1);
  }
  CHECK(w.sluice({"audit"}).exit_code == 0);
}

}  // namespace sluice::test
