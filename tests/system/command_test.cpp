// The `sluice` command as its users meet it.
#include <signal.h>
#include <sqlite3.h>

#include <sstream>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;

std::vector<json> objects(const std::string& lines) {
  std::vector<json> found;
  for (std::size_t at = 0, end = 0; (end = lines.find('\n', at)) != std::string::npos; at = end + 1)
    found.push_back(json::parse(lines.substr(at, end - at)));
  return found;
}

double voluntary_switches(pid_t pid) {
  double sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    const auto status = read_file((task.path() / "status").string());
    const std::string key = "\nvoluntary_ctxt_switches:";
    if (const auto at = status.find(key); at != std::string::npos) sum += std::stod(status.substr(at + key.size()));
  }
  return sum;
}

// As another version would leave it.
void raise_by_hand(const std::string& file, int layout) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  sqlite3_busy_timeout(db, 10'000);
  const auto number = std::to_string(layout);
  const auto sql = "BEGIN IMMEDIATE; UPDATE keys SET text=CAST('" + number +
                   "' AS BLOB) WHERE name=CAST('{sluice}:schema' AS BLOB); PRAGMA user_version=" + number + "; COMMIT";
  CHECK(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

}  // namespace

TEST_CASE("audit --repair mends what others tell of a job, says what it did, and exits 1 when something is left") {
  redis_server redis;
  work_world w(json::object(), redis.url() + "&prefix=w");
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", "first"}).exit_code == 0);
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", "second", "--after", "first"}).exit_code == 0);
  CHECK_FALSE(redis.command({"ZREM", "{w}:after:first", "second"}).is_error());
  CHECK(w.sluice({"audit"}).exit_code == 1);
  const auto mended = w.sluice({"audit", "--repair"});
  CHECK(mended.exit_code == 0);
  CHECK(mended.out.find("job second is not among the children of first as it should be; repaired: it is\n") !=
        std::string::npos);
  CHECK(w.sluice({"audit"}).out == "nothing is wrong\n");
  CHECK(w.sluice({"audit", "--repair"}).out == "nothing is wrong\n");
  CHECK(w.sluice({"log"}).out.find("repair") != std::string::npos);

  CHECK_FALSE(redis.command({"ZREM", "{w}:after:first", "second"}).is_error());
  CHECK_FALSE(redis.command({"HSET", "{w}:history", "ghost", "x"}).is_error());
  const auto told = w.sluice({"audit", "--repair", "--json"});
  CHECK(told.exit_code == 1);
  const auto all = objects(told.out);
  REQUIRE(all.size() == 3);
  CHECK(all[0].at("repaired").is_string());
  CHECK(all[2].at("finding") == "there is a history of job ghost, which does not exist");
  CHECK(all[2].at("repaired").is_null());
  const auto left = w.sluice({"audit", "--repair"});
  CHECK(left.exit_code == 1);
  CHECK(left.out == "there is a history of job ghost, which does not exist; left as it is\n");
}

TEST_CASE("a job runs after those that it names, and explain says whom it waits for") {
  work_world w;
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", "first", "--in", "1h"}).exit_code == 0);
  const auto stored = w.sluice({"enqueue", "default", "noop", "{}", "--id", "second", "--after", "first"});
  REQUIRE(stored.exit_code == 0);
  CHECK(json::parse(w.sluice({"show", "second", "--json"}).out).at("state") == "awaiting");
  const auto why = w.sluice({"explain", "second"});
  CHECK(why.out.find("awaits first") != std::string::npos);
  CHECK(json::parse(w.sluice({"explain", "second", "--json"}).out).at("reason") == "awaiting");
  const auto refused = w.sluice({"enqueue", "default", "noop", "{}", "--after", "first,nobody"});
  CHECK(refused.exit_code == 1);
  CHECK(refused.err.find("its parent nobody is not in the store") != std::string::npos);
  CHECK(w.sluice({"enqueue", "default", "noop", "{}", "--after", "first", "--on", "won"}).exit_code == 2);
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", "third", "--after", "first,second", "--on",
                    "failed,deleted", "--need", "1"})
              .exit_code == 0);
  REQUIRE(w.sluice({"delete", "first"}).exit_code == 0);
  const auto gone = json::parse(w.sluice({"show", "second", "--json"}).out);
  CHECK(gone.at("state") == "deleted");
  CHECK(gone.at("reason") == "its parent first ended as deleted");
  CHECK(json::parse(w.sluice({"show", "third", "--json"}).out).at("state") == "enqueued");
}

TEST_CASE("what a job has to do with others is shown, and explain says what keeps a group open") {
  work_world w;
  REQUIRE(w.sluice({"group", "create", "pages", "--seal-within", "1h"}).exit_code == 0);
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", "page", "--group", "pages", "--unique-by", "*"})
              .exit_code == 0);
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", "report", "--after", "page", "--after-group", "pages",
                    "--finish-within", "1h"})
              .exit_code == 0);
  const auto page = json::parse(w.sluice({"show", "page", "--json"}).out);
  CHECK(page.at("group") == "pages");
  CHECK(page.at("unique_key").get<std::string>().starts_with("noop/"));
  CHECK(page.at("parents").empty());
  const auto report = json::parse(w.sluice({"show", "report", "--json"}).out);
  CHECK(report.at("group").is_null());
  CHECK(report.at("finish_by").is_string());
  REQUIRE(report.at("parents").size() == 2);
  CHECK(report.at("parents")[0] == json{{"id", "page"}, {"group", nullptr}, {"met", nullptr}});
  CHECK(report.at("parents")[1].at("group") == "pages");
  const auto text = w.sluice({"show", "report"}).out;
  CHECK(text.find("group pages, which has not ended") != std::string::npos);
  const auto sealed_by = json::parse(w.sluice({"group", "show", "pages", "--json"}).out).at("seal_by");
  CHECK(w.sluice({"explain", "report"})
            .out.find("group pages is not sealed, and cannot end before: seal it, or it is cancelled at " +
                      sealed_by.get<std::string>()) != std::string::npos);
  REQUIRE(w.sluice({"group", "seal", "pages"}).exit_code == 0);
  CHECK(w.sluice({"explain", "report"}).out.find("sealed") == std::string::npos);
  REQUIRE(w.sluice({"delete", "page"}).exit_code == 0);
  const auto ended = json::parse(w.sluice({"group", "show", "pages", "--json"}).out);
  CHECK(ended.at("ended_as") == "deleted");
  CHECK(ended.at("seal_by").is_null());
  CHECK(w.sluice({"group", "show", "pages"}).out.find(" deleted ") != std::string::npos);
}

TEST_CASE("an enqueue that gave its delay to another says so") {
  work_world w;
  const auto enqueue = [&](const std::string& in) {
    return w.sluice({"enqueue", "default", "noop", "{}", "--in", in, "--unique-by", "*", "--then", "extend"});
  };
  const auto first = enqueue("1h");
  const auto due_first = *w.get(first.out.substr(0, first.out.size() - 1)).due_at;
  const auto second = enqueue("2h");
  CHECK(second.out == first.out);
  CHECK(second.err.find("that one was given this delay") != std::string::npos);
  CHECK(*w.get(first.out.substr(0, first.out.size() - 1)).due_at > due_first + 30min);
}

TEST_CASE("enqueue prints an id that show and jobs and queues know") {
  work_world w;
  const auto stored = w.sluice({"enqueue", "default", "noop", "{\"a\":1}", "--json"});
  REQUIRE(stored.exit_code == 0);
  const std::string id = json::parse(stored.out).at("id");
  const auto shown = json::parse(w.sluice({"show", id, "--json"}).out);
  CHECK(shown.at("id") == id);
  CHECK(shown.at("type") == "noop");
  CHECK(shown.at("queue") == "default");
  CHECK(shown.at("state") == "enqueued");
  CHECK(shown.at("attempt") == 0);
  CHECK(shown.at("losses") == 0);
  CHECK(shown.contains("created_at"));
  CHECK(shown.contains("reason"));
  CHECK(shown.at("args") == json{{"a", 1}});
  CHECK(shown.at("args_text") == "{\"a\":1}");
  CHECK(shown.at("result").is_null());
  CHECK(shown.at("result_text") == "");
  const auto jobs =
      objects(w.sluice({"--json", "jobs", "--state", "enqueued", "--queue", "default", "--limit", "5"}).out);
  REQUIRE(jobs.size() == 1);
  const auto queues = objects(w.sluice({"queues", "--json"}).out);
  REQUIRE(queues.size() == 1);
  for (const char* key :
       {"queue", "paused", "enqueued", "scheduled", "throttled", "processing", "succeeded", "failed", "deleted"})
    CHECK(queues[0].contains(key));
  CHECK(queues[0].at("enqueued") == 1);
  CHECK(w.sluice({"jobs"}).out.find(id) != std::string::npos);
}

TEST_CASE("options may stand before or after the words") {
  work_world w;
  const auto url = w.folder.url();
  const auto at = w.folder.path().string();
  CHECK(run({program_path("sluice"), "--store", url, "enqueue", "--id", "a", "default", "noop", "{}"}, at).out ==
        "a\n");
  CHECK(run({program_path("sluice"), "enqueue", "default", "noop", "{}", "--in", "1h", "--id", "b", "--store", url}, at)
            .out == "b\n");
  CHECK(w.get("b").state == job_state::scheduled);
  CHECK(w.sluice({"enqueue", "default", "noop", "{}", "--id", "a"}).exit_code == 0);
  CHECK(w.sluice({"enqueue", "default", "noop", "[]", "--id", "a"}).exit_code == 1);
}

TEST_CASE("wrong words are exit 2 and refusals are exit 1 with the reason on stderr") {
  work_world w;
  CHECK(w.sluice({}).exit_code == 2);
  CHECK(w.sluice({"enqueu"}).exit_code == 2);
  CHECK(w.sluice({"enqueue", "default"}).exit_code == 2);
  CHECK(w.sluice({"jobs", "--state", "running"}).exit_code == 2);
  CHECK(w.sluice({"enqueue", "default", "noop", "{}", "--in", "soon"}).exit_code == 2);
  CHECK(run({program_path("sluice"), "jobs"}, w.folder.path().string()).exit_code == 2);
  const auto bad = w.sluice({"enqueue", "default", "noop", "{not json"});
  CHECK(bad.exit_code == 1);
  CHECK(bad.err.find("args") != std::string::npos);
  CHECK(bad.out.empty());
  CHECK(w.sluice({"show", "nobody"}).exit_code == 1);
  CHECK(w.sluice({"enqueue", "a b", "noop", "{}"}).exit_code == 1);
  CHECK(run({program_path("sluice"), "queues", "--store", "mysql://x"}, w.folder.path().string()).exit_code == 1);
  CHECK(w.sluice({"--help"}).exit_code == 0);
  for (const std::vector<std::string>& empty : {std::vector<std::string>{"enqueue", "", "noop", "{}"},
                                                {"enqueue", "default", "noop", "{}", "--id", ""},
                                                {"enqueue", "default", "noop", "{}", "--in", ""},
                                                {"jobs", "--state", ""},
                                                {"jobs", "--queue", ""},
                                                {"pause", ""}})
    CHECK(w.sluice(empty).exit_code == 2);
}

TEST_CASE("a delay beyond its range is refused with the range") {
  work_world w;
  CHECK(w.sluice({"enqueue", "default", "noop", "{}", "--in", "3650d"}).exit_code == 0);
  const auto said = w.sluice({"enqueue", "default", "noop", "{}", "--in", "3651d"});
  CHECK(said.exit_code == 2);
  CHECK(said.err.find("0s to 3650d") != std::string::npos);
}

TEST_CASE("a queue that nobody knows cannot be resumed and is not made by it") {
  work_world w;
  const auto said = w.sluice({"resume", "nosuch"});
  CHECK(said.exit_code == 1);
  CHECK(said.err.find("there is no queue nosuch") != std::string::npos);
  CHECK(w.sluice({"queues", "--json"}).out.empty());
  CHECK(w.sluice({"pause", "later"}).exit_code == 0);  // before its first job
  CHECK(w.sluice({"resume", "later"}).exit_code == 0);
}

TEST_CASE("output that cannot be written is exit 1") {
  work_world w;
  const auto to_full = program_path("sluice") + " enqueue default noop '{}' --store " + w.folder.url() + " > /dev/full";
  const auto said = run({"sh", "-c", to_full}, w.folder.path().string());
  CHECK(said.exit_code == 1);
  CHECK(said.err.find("output") != std::string::npos);
}

TEST_CASE("one file has one lock whatever name leads to it") {
  work_world w;
  std::filesystem::create_symlink(w.folder.file("jobs.db"), w.folder.file("link.db"));
  CHECK(run({program_path("sluice"), "enqueue", "default", "noop", "{}", "--store", w.folder.url("link.db")},
            w.folder.path().string())
            .exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(w.folder.file("link.db.lock")));
  CHECK(w.counts().enqueued == 1);
}

TEST_CASE("commands side by side without a server wait for each other") {
  work_world w;
  w.client.reset();
  const auto loop = "for i in $(seq 150); do " + program_path("sluice") + " enqueue default noop '{}' --store " +
                    w.folder.url() + " >/dev/null || exit 1; done";
  process one({"sh", "-c", loop}, w.folder.file("one.log"));
  process two({"sh", "-c", loop}, w.folder.file("two.log"));
  CHECK(one.exit_code(60s) == 0);
  CHECK(two.exit_code(60s) == 0);
  CHECK(one.log() + two.log() == "");
}

TEST_CASE("requeue and delete and pause and resume do what they say") {
  work_world w;
  w.enqueue({work_world::exec("exit 0", "a"), work_world::exec("exit 0", "b")});
  CHECK(w.sluice({"delete", "a"}).exit_code == 0);
  CHECK(w.get("a").state == job_state::deleted);
  for (const auto* id : {"a", "a", "b"}) {  // fine also for a job that is enqueued already
    const auto said = w.sluice({"requeue", id});
    CHECK(said.exit_code == 0);
    CHECK(said.out == std::string(id) + " enqueued\n");
  }
  CHECK(w.sluice({"requeue", "nobody"}).exit_code == 1);
  CHECK(w.sluice({"pause", "default"}).exit_code == 0);
  auto p = w.work();
  CHECK(w.sluice({"servers"}).out.find(std::to_string(p.pid())) != std::string::npos);
  CHECK(w.counts().enqueued == 2);
  CHECK(w.sluice({"resume", "default"}).exit_code == 0);
  CHECK(eventually([&] { return w.counts().succeeded == 2; }));
}

TEST_CASE("cancel deletes what waits and asks what runs to end") {
  work_world w;
  w.enqueue({work_world::exec("sleep 60", "runs"), work_world::exec("exit 0", "ends")});
  auto p = w.work();
  REQUIRE(eventually([&] { return w.get("ends").state == job_state::succeeded && !w.get("runs").server.empty(); }));
  const auto said = w.sluice({"cancel", "runs"});
  CHECK(said.exit_code == 0);
  CHECK(said.out == "runs asked to stop\n");
  CHECK(eventually([&] { return w.get("runs").state == job_state::deleted; }));  // long before its lease is renewed
  CHECK(w.get("runs").reason.starts_with("cancelled by "));
  CHECK(w.sluice({"cancel", "runs"}).out == "runs was deleted already\n");
  const auto late = w.sluice({"cancel", "ends"});
  CHECK(late.exit_code == 1);
  CHECK(late.err.find("has already ended as succeeded") != std::string::npos);
  CHECK(w.sluice({"cancel", "nobody"}).exit_code == 1);
}

TEST_CASE("cancel with all for which something holds says how many") {
  work_world w;
  w.enqueue({work_world::exec("exit 0", "a"), work_world::exec("exit 0", "b")});
  const auto said = w.sluice({"cancel", "--all", "--yes", "--state", "enqueued", "--type", "exec"});
  CHECK(said.exit_code == 0);
  CHECK(said.out == "2 cancelled\n");
  CHECK(w.get("b").state == job_state::deleted);
}

TEST_CASE("check names every fault with its pointer and work starts nothing") {
  temp_dir folder;
  const auto file = folder.file("broken.json");
  write_file(
      file,
      R"({"storage": "mysql://x", "lease": "soon", "queues": {"": {}, "a": {"workers": 0, "worker": 2, "worker": 2}}, "graze": "1s"})");
  for (const char* command : {"check", "work"}) {
    const auto said = run({program_path("sluice"), command, file}, folder.path().string());
    CHECK(said.exit_code == 1);
    for (const char* pointer :
         {"/storage: ", "/lease: ", "/queues/: ", "/queues/a/workers: ", "/queues/a/worker: ", "/graze: "})
      CHECK(said.err.find(pointer) != std::string::npos);
    CHECK(said.err.find("grace") != std::string::npos);
  }
  CHECK(run({program_path("sluice"), "check", folder.file("missing.json")}, folder.path().string()).exit_code == 1);
  write_file(file, R"({"storage": "sqlite:x.db" /* fine */})");
  CHECK(run({program_path("sluice"), "check", file, "--set", "/queues/default/workers=3"}, folder.path().string())
            .out.find("default: 3") != std::string::npos);
}

TEST_CASE("what another process enqueues starts within a quarter of a second") {
  work_world w(nlohmann::json{{"sweep_interval", "60s"}});
  auto p = w.work();
  std::vector<duration> took;
  for (int i = 0; i < 20; ++i) {
    const auto id = "quick" + std::to_string(i);
    REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", id}).exit_code == 0);
    REQUIRE(eventually([&] { return w.get(id).state == job_state::succeeded; }));
    const auto j = w.get(id);
    took.push_back(j.history.front().started - j.created_at);
  }
  std::sort(took.begin(), took.end());
  CHECK(took[took.size() / 2] < 250ms);
  CHECK(took.back() < 10s);  // a machine that is busy with something else
}

TEST_CASE("two servers on one file share the jobs and run none twice") {
  work_world w(nlohmann::json{{"queues", {{"default", {{"workers", 2}, {"prefetch", 16}}}}}});
  auto first = w.work("first.log");
  auto second = w.work("second.log");
  const auto ran_file = w.folder.file("ran");
  std::vector<new_job> jobs;
  constexpr int noops = 1900, commands = 100;
  for (int i = 0; i < noops + commands; ++i) {
    if (i % 20 == 0) {
      jobs.push_back(work_world::exec(until_two_share(ran_file)));
    } else {
      jobs.emplace_back();
      jobs.back().type = job_type("noop");
    }
  }
  w.enqueue(std::move(jobs));
  REQUIRE(eventually([&] { return w.counts().succeeded == noops + commands; }, 60s));
  CHECK(lines_of(ran_file).size() == 2);
  int runs = 0;
  for (const auto& [pid, n] : lines_of(ran_file))
    runs += n;
  CHECK(runs == commands);
  for (const auto& j : w.all(job_state::succeeded))
    CHECK(j.history.size() == 1);
}

TEST_CASE("a server that lacks descriptors for commands gives them back, and fails none") {
  work_world w(nlohmann::json{{"queues", {{"default", {{"workers", 30}, {"prefetch", 0}}}}}});
  std::vector<new_job> jobs;
  for (int i = 0; i < 60; ++i)
    jobs.push_back(work_world::exec("sleep 0.3", "job" + std::to_string(i)));
  w.enqueue(std::move(jobs));
  auto p =
      w.serve({"sh", "-c", "ulimit -n 64; exec " + program_path("sluice") + " work " + w.folder.file("sluice.json")},
              "work.log");
  REQUIRE(eventually([&] { return w.counts().succeeded == 60; }, 60s));
  CHECK(p.log().find("no command can be started") != std::string::npos);
  for (const auto& j : w.all(job_state::succeeded)) {
    CHECK(j.attempt == 1);
    for (const auto& run : j.history)
      CHECK((run.cause == "succeeded" || run.cause == "given_back"));
  }
}

TEST_CASE("a server opens as many files as it may at all, and its commands as many as it was started with") {
  work_world w(nlohmann::json{{"queues", {{"default", {{"workers", 30}, {"prefetch", 0}}}}}});
  std::vector<new_job> jobs{work_world::exec("ulimit -Sn; ulimit -Hn", "limits")};
  for (int i = 0; i < 60; ++i)
    jobs.push_back(work_world::exec("sleep 0.3", "job" + std::to_string(i)));
  w.enqueue(std::move(jobs));
  auto p = w.serve(
      {"sh", "-c",
       "ulimit -Sn 64; ulimit -Hn 1000; exec " + program_path("sluice") + " work " + w.folder.file("sluice.json")},
      "work.log");
  REQUIRE(eventually([&] { return w.counts().succeeded == 61; }, 60s));
  CHECK(p.log().find("no command can be started") == std::string::npos);
  CHECK(w.get("limits").result == "64\n1000\n");
}

TEST_CASE("a server of many workers that may open few files says so as it starts") {
  work_world w(nlohmann::json{{"queues", {{"default", {{"workers", 30}}}}}});
  auto p =
      w.serve({"sh", "-c", "ulimit -n 200; exec " + program_path("sluice") + " work " + w.folder.file("sluice.json")},
              "work.log");
  CHECK(p.log().find("this server may open 200 files, and where all of its workers run commands it needs 380") !=
        std::string::npos);
}

TEST_CASE("a guard of commands that was killed is started anew, and a command's server ends with all of them") {
  work_world w;
  auto p = w.work();
  const auto pid_file = w.folder.file("pid");
  w.enqueue({work_world::exec(cat("echo $$ > ", pid_file, ".new; mv ", pid_file, ".new ", pid_file, "; sleep 1000"),
                              "long")});
  REQUIRE(eventually([&] { return !read_file(pid_file).empty(); }));
  const auto command = static_cast<pid_t>(std::stol(read_file(pid_file)));
  std::istringstream children(read_file(cat("/proc/", p.pid(), "/task/", p.pid(), "/children")));
  pid_t guard = 0;
  children >> guard;
  REQUIRE(guard != command);
  REQUIRE(::kill(guard, SIGKILL) == 0);
  w.enqueue({work_world::exec("exit 0", "one")});
  REQUIRE(eventually([&] { return w.get("one").state == job_state::succeeded; }));
  CHECK(w.get("one").attempt == 1);
  CHECK(p.log().find("it is started anew") != std::string::npos);
  p.signal(SIGKILL);
  CHECK(p.exit_code(20s) == -SIGKILL);
  CHECK(eventually([&] {
    return ::kill(command, 0) != 0 || read_file(cat("/proc/", command, "/stat")).find(") Z") != std::string::npos;
  }));
}

TEST_CASE("a command gains no rights by programs of other users, unless the configuration lets it") {
  for (const bool may : {false, true}) {
    CAPTURE(may);
    work_world w(nlohmann::json{{"exec", {{"new_privileges", may}}}});
    auto p = w.work();
    w.enqueue({work_world::exec("grep NoNewPrivs /proc/self/status", "one")});
    REQUIRE(eventually([&] { return w.get("one").state == job_state::succeeded; }));
    CHECK(w.get("one").result == (may ? "NoNewPrivs:\t0\n" : "NoNewPrivs:\t1\n"));
  }
}

TEST_CASE("an idle server hardly wakes") {
  work_world w(nlohmann::json{{"lease", "30s"}});  // as by default: ends of leases are looked for
  auto p = w.work();
  w.enqueue({work_world::exec("exit 0", "one")});
  REQUIRE(eventually([&] { return w.counts().succeeded == 1; }));
  // Five seconds are what is measured, not waited for. The first ones are busy: a server reads the time zones' files.
  const auto wakes_a_second = [&] {
    const auto before = voluntary_switches(p.pid());
    REQUIRE(before > 0);
    const auto begin = std::chrono::steady_clock::now();
    eventually([] { return false; }, 5s);
    const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return (voluntary_switches(p.pid()) - before) / seconds;
  };
  CHECK(eventually([&] { return wakes_a_second() < 5; }, 30s));
}

TEST_CASE("a failing job comes back with its queue's delay and attempts and ends as configured") {
  work_world w(
      nlohmann::json{{"queues",
                      {{"default", {{"workers", 2}, {"retry", {{"attempts", 2}, {"delay", "300ms"}}}}},
                       {"drop-queue", {{"retry", {{"attempts", 1}, {"delay", "50ms"}, {"then", "delete"}}}}}}}});
  auto p = w.work();
  w.enqueue({work_world::exec("echo why >&2; exit 7", "fails"), work_world::exec("exit 1", "drops", "drop-queue")});
  REQUIRE(eventually([&] { return w.get("fails").state == job_state::failed; }));
  const auto fails = w.get("fails");
  CHECK(fails.queue.value == "default");
  REQUIRE(fails.history.size() == 3);
  CHECK(fails.history[0].error == "exit 7: why\n");
  for (int i = 1; i < 3; ++i)
    CHECK(fails.history[i].started - fails.history[i - 1].ended >= 300ms);
  REQUIRE(eventually([&] { return w.get("drops").state == job_state::deleted; }));
  CHECK(w.get("drops").history.size() == 2);
}

TEST_CASE("exec refuses what cannot run and kills what runs too long") {
  work_world w;
  auto p = w.work();
  const auto mark = "mark-" + w.folder.path().filename().string();
  auto slow = work_world::exec("sleep 60 # " + mark, "slow");
  slow.args = json{{"argv", {"sh", "-c", "sleep 60 # " + mark}}, {"timeout", "200ms"}, {"env", {{"A", "b"}}}}.dump();
  slow.retry.attempts = 0;
  auto missing = work_world::exec("", "missing");
  missing.args = R"({"argv": ["/no/such/program"]})";
  auto wrong = work_world::exec("", "wrong");
  wrong.args = R"({"arg": []})";
  auto loud = work_world::exec("head -c 1000000 /dev/zero | tr '\\0' x", "loud");
  auto env = work_world::exec("", "env");
  env.args = R"({"argv": ["sh", "-c", "echo $WORD"], "env": {"WORD": "heard"}})";
  w.enqueue({slow, missing, wrong, loud, env});
  REQUIRE(eventually([&] { return w.get("slow").state == job_state::failed; }));
  CHECK(w.get("slow").history.back().cause == "timed_out");
  CHECK(processes_with(mark) == 0);
  REQUIRE(eventually(
      [&] { return w.get("missing").state == job_state::failed && w.get("wrong").state == job_state::failed; }));
  CHECK(w.get("missing").attempt == 1);
  REQUIRE(eventually(
      [&] { return w.get("loud").state == job_state::succeeded && w.get("env").state == job_state::succeeded; }));
  CHECK(w.get("loud").result == std::string(64 * 1024, 'x') + "... (truncated)");
  CHECK(w.get("env").result == "heard\n");
}

TEST_CASE("exec gives up at once what cannot be passed to any program, and says why") {
  work_world w;
  auto p = w.work();
  const auto with = [&](const std::string& id, const json& args) {
    auto j = work_world::exec("", id);
    j.args = args.dump();
    w.enqueue({j});
    REQUIRE(eventually([&] { return w.get(id).attempt > 0 && w.get(id).state != job_state::processing; }));
    const auto ended = w.get(id);
    CAPTURE(id, ended.reason);
    CHECK(ended.state == job_state::failed);
    CHECK(ended.attempt == 1);
    return ended.history.back().error;
  };
  const std::string nul("a\0b", 3);
  const std::string cannot = "exec: a NUL cannot be passed to a program: ";
  CHECK(with("value", {{"argv", {"env"}}, {"env", {{"X", nul}}}}) ==
        cannot + "the variable X of \"env\" holds one; take it out");
  CHECK(with("name", {{"argv", {"env"}}, {"env", {{nul, "x"}}}}) ==
        cannot + "the variable a\\x00b of \"env\" holds one; take it out");
  CHECK(with("argv", {{"argv", {"echo", nul}}}) == cannot + "a text of \"argv\" holds one; take it out");
  CHECK(with("equals", {{"argv", {"env"}}, {"env", {{"A=B", "x"}}}}).find("'A=B'") != std::string::npos);
  CHECK(with("number", {{"argv", {"echo", 7}}}) == "exec: \"argv\" must hold texts only");
  const auto long_text = with("long", {{"argv", {"true", std::string(200'000, 'x')}}});
  CHECK(long_text.find("Argument list too long; write what is long in its argv and env into a file") !=
        std::string::npos);
}

TEST_CASE("what a command says is kept to its last byte, or has a mark where it is cut") {
  work_world w;
  auto p = w.work();
  w.enqueue({work_world::exec("printf 'f\\374r 100%% ?\\377?\\n'", "latin1"),
             work_world::exec("head -c 65536 /dev/zero | tr '\\0' x", "fits"),
             work_world::exec("head -c 65537 /dev/zero | tr '\\0' x", "cut"),
             work_world::exec("head -c 20000 /dev/zero | tr '\\0' '\\377'", "binary")});
  for (const auto* id : {"latin1", "fits", "cut", "binary"})
    REQUIRE(eventually([&] { return w.get(id).state == job_state::succeeded; }));
  const std::string mark = "... (truncated)", whole(65536, 'x');
  CHECK(w.get("latin1").result == "f\\xfcr 100% ?\\xff?\n");
  CHECK(w.get("fits").result == whole);
  CHECK(w.get("cut").result == whole + mark);
  const auto binary = w.get("binary").result;
  CHECK(binary.size() == 65536 + mark.size());
  CHECK(binary.starts_with("\\xff\\xff"));
  CHECK(binary.ends_with("\\xff" + mark));
}

TEST_CASE("enqueue obeys what a configuration says of a type when it is given one") {
  const nlohmann::json report{{"queue", "slow"}, {"unique", {{"by", "{n}"}}}, {"timeout", "7s"}};
  work_world w(nlohmann::json{{"jobs", {{"report", report}}}});
  const auto config = w.folder.file("sluice.json");
  const auto enqueue = [&](const std::string& queue, const std::string& id) {
    return run({program_path("sluice"), "enqueue", queue, "report", R"({"n": 1})", "--id", id, "--config", config},
               w.folder.path().string());
  };
  CHECK(enqueue("-", "first").out == "first\n");
  CHECK(w.client->get(job_id("first"))->queue.value == "slow");
  const auto again = enqueue("default", "second");
  CHECK(again.out == "first\n");
  CHECK(again.err.find("has its unique key") != std::string::npos);
  CHECK_FALSE(w.client->get(job_id("second")).ok());
  const auto without = w.sluice({"enqueue", "-", "report", R"({"n": 1})", "--id", "third"});
  CHECK(without.out == "third\n");
  CHECK(w.client->get(job_id("third"))->queue.value == "default");
  const auto both = run({program_path("sluice"), "enqueue", "-", "report", "{}", "--config", config, "--store", w.url},
                        w.folder.path().string());
  CHECK(both.exit_code == 2);
  CHECK(both.err.find("the store is named in the configuration") != std::string::npos);
  const auto none =
      run({program_path("sluice"), "enqueue", "-", "report", "{}", "--config", "no.json"}, w.folder.path().string());
  CHECK(none.err.find("cannot read no.json") != std::string::npos);
}

TEST_CASE("exec runs what is allowed, where and within what is said, and tells no command the server's secrets") {
  const temp_dir folder;
  ::setenv("SLUICE_LEASE", "2s", 1);
  ::setenv("API_SECRET", "hunter2", 1);
  work_world w(
      json{{"exec", {{"allow", {"/bin/sh", "/usr/bin/env"}}, {"folder", folder.path().string()}, {"open_files", 77}}}});
  auto p = w.work();
  ::unsetenv("SLUICE_LEASE");
  ::unsetenv("API_SECRET");
  const auto with = [](const std::string& id, const json& argv) {
    auto j = work_world::exec("", id);
    j.args = json{{"argv", argv}}.dump();
    return j;
  };
  auto loads = work_world::exec("", "loads");
  loads.args = R"({"argv": ["env"], "env": {"LD_PRELOAD": "/tmp/evil.so"}})";
  w.enqueue({with("env", {"env"}), with("where", {"/bin/sh", "-c", "pwd; ulimit -n"}), with("other", {"/bin/date"}),
             with("lookalike", {"/tmp/sh"}), loads});
  for (const auto* id : {"env", "where", "other", "lookalike", "loads"})
    REQUIRE(
        eventually([&] { return w.get(id).state == job_state::succeeded || w.get(id).state == job_state::failed; }));
  CHECK(w.get("env").result.find("PATH=") != std::string::npos);
  CHECK(w.get("env").result.find("SLUICE_") == std::string::npos);
  CHECK(w.get("env").result.find("hunter2") == std::string::npos);
  CHECK(w.get("where").result == folder.path().string() + "\n77\n");
  for (const auto* id : {"other", "lookalike"}) {
    CHECK(w.get(id).attempt == 1);
    CHECK(w.get(id).history.back().error.find("/exec/allow") != std::string::npos);
  }
  CHECK(w.get("loads").history.back().error.find("LD_PRELOAD") != std::string::npos);
}

TEST_CASE("programs that are not there and schedules whose commands cannot run are told by check and the start") {
  const auto schedule = [](const json& args) { return json{{"job", "exec"}, {"every", "1h"}, {"args", args}}; };
  work_world w(json{{"exec", {{"allow", {"/bin/sh", "/usr/bin/dtae"}}}},
                    {"recurring",
                     {{"fine", schedule({{"argv", {"sh", "-c", "true"}}})},
                      {"other", schedule({{"argv", {"ls"}}})},
                      {"typo", schedule({{"argb", {"sh"}}})}}}});
  const auto checked = run({program_path("sluice"), "check", w.folder.file("sluice.json")}, w.folder.path().string());
  CHECK(checked.exit_code == 0);
  auto server = w.work();
  for (const auto* told : {"exec.allow: /usr/bin/dtae cannot be run here: No such file or directory",
                           "schedule other makes jobs that fail: exec: ls is not among the programs",
                           "schedule typo makes jobs that fail: exec: unknown key \"argb\""}) {
    CHECK(checked.err.find(std::string("warning: ") + told) != std::string::npos);
    CHECK(eventually([&] { return server.log().find(told) != std::string::npos; }));
  }
  CHECK(checked.err.find("schedule fine") == std::string::npos);
}

TEST_CASE("a user of exec jobs that cannot be fails the start, and says why") {
  work_world w(json{{"exec", {{"user", "nobody-of-that-name"}}}});
  process p({program_path("sluice"), "work", w.folder.file("sluice.json")}, w.folder.file("work.log"));
  CHECK(p.exit_code(20s) == 1);
  CHECK(p.log().find("/exec/user") != std::string::npos);
}

TEST_CASE("a root server runs exec jobs as the user that is said", "[root]") {
  if (::geteuid() != 0) return;
  work_world w(json{{"exec", {{"user", "nobody"}, {"folder", "/"}}}});
  auto p = w.work();
  w.enqueue({work_world::exec("id -un; id -Gn; echo $USER; test ! -w /etc/passwd", "who")});
  REQUIRE(eventually([&] { return w.get("who").state == job_state::succeeded; }));
  CHECK(w.get("who").result == "nobody\nnogroup\nnobody\n");
}

TEST_CASE("the words of a server that ps shows hold no password") {
  redis_server server({.password = "hunter2hunter2"});
  work_world w(json::object(), server.url());
  write_file(w.folder.file("other.json"), R"({"queues": {"default": {}}})");
  auto p = w.serve({program_path("sluice"), "work", w.folder.file("other.json"), "--set", "/storage=" + server.url()},
                   "work.log");
  const auto words = read_file("/proc/" + std::to_string(p.pid()) + "/cmdline");
  CHECK(words.find("redis.sock") != std::string::npos);
  CHECK(words.find("hunter2") == std::string::npos);
  CHECK(p.log().find("hunter2") == std::string::npos);
}

TEST_CASE("without allow_exec a server leaves exec jobs in a line for one that may") {
  work_world w(nlohmann::json{{"allow_exec", false}});
  auto p = w.work();
  w.enqueue({work_world::exec("exit 0", "no")});
  REQUIRE(eventually([&] { return w.get("no").line == "type:exec"; }));
  CHECK(w.get("no").state == job_state::enqueued);
  const std::string why = R"(no server of the queue takes exec jobs ("allow_exec": true))";
  CHECK(w.get("no").reason == why);
  CHECK(w.sluice({"jobs"}).out.find(why) != std::string::npos);  // not cut off
  CHECK(w.sluice({"explain", "no"}).out ==
        "no server that serves queue default knows its type exec; a server takes exec jobs only when its configuration "
        "has \"allow_exec\": true\n");
}

TEST_CASE("a server whose store is removed says so and ends with exit 1") {
  work_world w(nlohmann::json{{"sweep_interval", "200ms"}, {"grace", "0s"}});
  auto p = w.work();
  std::filesystem::remove(w.folder.file("jobs.db"));
  write_file(w.folder.file("jobs.db"), "");
  std::filesystem::remove(w.folder.file("jobs.db.lock"));
  CHECK(p.exit_code(20s) == 1);
  CHECK(p.log().find("storage_lost") != std::string::npos);
}

TEST_CASE("a server whose file turns out to be damaged says so and ends with exit 1") {
  work_world w(nlohmann::json{{"sweep_interval", "200ms"}, {"grace", "0s"}});
  {
    sqlite3* db = nullptr;
    REQUIRE(sqlite3_open(w.folder.file("jobs.db").c_str(), &db) == SQLITE_OK);
    // A page that belongs to nothing: only who looks at everything finds it.
    CHECK(sqlite3_exec(db,
                       "CREATE TABLE extra(x); INSERT INTO extra VALUES(1); PRAGMA writable_schema=ON; "
                       "DELETE FROM sqlite_master WHERE name='extra'",
                       nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(db);
  }
  process p({program_path("sluice"), "work", w.folder.file("sluice.json")}, w.folder.file("work.log"));
  CHECK(p.exit_code(30s) == 1);
  CHECK(p.log().find("storage_damaged") != std::string::npos);
  CHECK(p.log().find("never used") != std::string::npos);
}

TEST_CASE("a server whose store is raised by a newer version says so and ends with exit 1") {
  work_world w(nlohmann::json{{"sweep_interval", "200ms"}, {"grace", "0s"}});
  auto p = w.work();
  raise_by_hand(w.folder.file("jobs.db"), 6);
  CHECK(p.exit_code(20s) == 1);
  CHECK(p.log().find("storage_newer") != std::string::npos);
  CHECK(p.log().find("has layout 6") != std::string::npos);
}

TEST_CASE("upgrade tells which layout a store has and leaves one alone that it cannot raise") {
  work_world w;
  w.enqueue({work_world::exec("exit 0", "a")});
  const auto fine = w.sluice({"upgrade"});
  CHECK(fine.exit_code == 0);
  CHECK(fine.out == "the store has layout 5 already\n");
  CHECK(w.sluice({"upgrade", "--json"}).out == "{\"from\":5,\"to\":5,\"other_libraries\":[],\"deleted\":false}\n");
  raise_by_hand(w.folder.file("jobs.db"), 3);
  const auto older = w.sluice({"upgrade"});
  CHECK(older.exit_code == 1);
  CHECK(older.err.find("storage_older") != std::string::npos);
  raise_by_hand(w.folder.file("jobs.db"), 6);
  for (const auto& words : {std::vector<std::string>{"upgrade"}, {"jobs"}, {"enqueue", "default", "noop", "{}"}}) {
    const auto newer = w.sluice(words);
    CHECK(newer.exit_code == 1);
    CHECK(newer.err.find("storage_newer") != std::string::npos);
  }
  raise_by_hand(w.folder.file("jobs.db"), 5);
  CHECK(w.get("a").state == job_state::enqueued);
}

}  // namespace sluice::test
