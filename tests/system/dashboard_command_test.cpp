// What is answered over HTTP by the `sluice` command, beside what the command itself says.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <sluice/lock.hpp>

#include "core/text.hpp"
#include "dashboard/raw_client.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using json = nlohmann::ordered_json;

// `sluice dashboard` beside the store of a world.
class dashboard_process {
public:
  dashboard_process(const std::string& url, const std::string& log, std::vector<std::string> more = {})
      : process_(words(url, std::move(more)), log) {
    const bool is_up = eventually([&] { return !address().empty() || !process_.alive(); });
    if (!is_up || !process_.alive()) throw std::runtime_error("the dashboard did not start: " + process_.log());
    port_ = static_cast<unsigned>(std::stoul(address().substr(address().rfind(':') + 1)));
  }

  std::string ask(const std::string& method, const std::string& target, const std::string& body = {}) const {
    raw_client c(port_);
    c.write(cat(method, " ", target, " HTTP/1.1\r\nHost: localhost:", port_,
                "\r\nContent-Type: application/json\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
    return c.read_answer();
  }
  std::string get(const std::string& target) const {
    std::string said;
    // Lists are answered some times a second.
    eventually([&] {
      said = ask("GET", target);
      return !said.starts_with("HTTP/1.1 429");
    });
    return body_of(said);
  }
  std::string post(const std::string& target, const json& body) const {
    return body_of(ask("POST", target, body.dump()));
  }
  process& itself() { return process_; }
  std::string url() const { return cat("http://localhost:", port_); }

private:
  static std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
  static std::vector<std::string> words(const std::string& url, std::vector<std::string> more) {
    std::vector<std::string> all{program_path("sluice"), "dashboard", "--store", url, "--listen", "localhost:0"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string address() {
    const auto said = process_.log();
    const auto at = said.find("http://");
    return at == std::string::npos || said.find('\n', at) == std::string::npos
               ? ""
               : said.substr(at, said.find_first_of(" \n,", at) - at);
  }

  process process_;
  unsigned port_ = 0;
};

// Numbers of the sockets that a process has.
std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(cat("/proc/", pid, "/fd"), gone)) {
    const auto name = std::filesystem::read_symlink(entry.path(), gone).string();
    if (name.starts_with("socket:[")) found.insert(name.substr(8, name.size() - 9));
  }
  return found;
}

// The addresses at which a process listens, but for what it may have from this one.
std::vector<std::string> listening(pid_t pid) {
  std::vector<std::string> found;
  const auto its = sockets_of(pid), ours = sockets_of(::getpid());
  for (const auto* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string place, local, remote, state, queues, timer, retransmits, uid, timeout, number;
      words >> place >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> number;
      if (state == "0A" && its.contains(number) && !ours.contains(number)) found.push_back(local);
    }
  }
  return found;
}

void end(process& p) {
  p.signal(SIGTERM);
  CHECK(p.exit_code(20s) == 0);
}

}  // namespace

TEST_CASE("the API and `sluice --json` say the same in the same text") {
  work_world w(json{{"throttlers", {{"gate", {{"kind", "semaphore"}, {"limit", 1}}}}},
                    {"jobs", {{"exec", {{"throttle", {"semaphore:gate"}}}}}}});
  auto server = w.work();
  auto fails = work_world::exec("exit 3", "fails");
  fails.retry.attempts = 0;
  w.enqueue({fails});
  REQUIRE(w.client->wait(job_id("fails"), 20s));
  const auto go = w.folder.file("go");
  w.enqueue({work_world::exec("while [ ! -e " + go + " ]; do sleep 0.02; done", "holds")});
  REQUIRE(eventually([&] { return w.get("holds").state == job_state::processing; }));
  w.enqueue({work_world::exec("exit 0", "waits-for-it")});
  REQUIRE(eventually([&] { return w.get("waits-for-it").state == job_state::throttled; }));
  auto locks = lock_manager::open({w.url, 20s, {}});
  REQUIRE(locks);
  const auto held = locks->take("a-lock", 1h);
  REQUIRE(held);
  w.enqueue({work_world::exec("exit 0", "harmed", "unserved")});
  w.run_sql("UPDATE members SET field1=x'00' WHERE name=CAST('harmed' AS BLOB)");
  CHECK_FALSE(w.client->get(job_id("harmed")));
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{\"a\": 1.50}", "--id", "done", "--header", "x=y"}).exit_code == 0);
  REQUIRE(w.client->wait(job_id("done"), 20s));
  REQUIRE(w.sluice({"enqueue", "later", "noop", "{}", "--id", "waits"}).exit_code == 0);
  REQUIRE(w.sluice({"throttler", "set", "semaphore:api", "limit=4"}).exit_code == 0);
  REQUIRE(w.sluice({"recurring", "set", "nightly", "job=noop", "cron=0 3 * * *"}).exit_code == 0);
  REQUIRE(w.sluice({"delete", "waits"}).exit_code == 0);
  dashboard_process d(w.url, w.folder.file("dashboard.log"), {"--allow-changes"});

  const auto lines = [&](std::vector<std::string> words) {
    words.push_back("--json");
    std::vector<std::string> all;
    std::istringstream in(w.sluice(std::move(words)).out);
    for (std::string line; std::getline(in, line);)
      all.push_back(line);
    return all;
  };
  const auto one = [&](std::vector<std::string> words, const std::string& target) {
    const auto said = lines(std::move(words));
    REQUIRE(said.size() == 1);
    CHECK(said[0] == d.get(target));
  };
  const auto list = [&](const std::vector<std::string>& words, const std::string& target) {
    CAPTURE(target);
    std::string all, said;
    // Leases are renewed, and servers beat, between the two.
    CHECK(eventually([&] {
      all.clear();
      for (const auto& line : lines(words))
        all += (all.empty() ? "" : ",") + line;
      said = d.get(target);
      return !all.empty() && said.find("[" + all + "],\"next\":\"\"") != std::string::npos;
    }));
    CAPTURE(all, said);
    CHECK_FALSE(all.empty());
  };
  one({"show", "done"}, "/api/v1/jobs/done");
  CHECK(json::parse(d.get("/api/v1/jobs/holds")).at("permits") == json::array({"semaphore:gate"}));
  CHECK(w.sluice({"show", "holds"}).out.find("semaphore:gate") != std::string::npos);
  one({"explain", "done"}, "/api/v1/jobs/done/explanation");
  one({"recurring", "show", "nightly"}, "/api/v1/schedules/nightly");
  one({"throttler", "show", "semaphore:api"}, "/api/v1/throttlers/semaphore/api");
  list({"jobs"}, "/api/v1/jobs");
  list({"jobs", "--state", "deleted"}, "/api/v1/jobs?state=deleted");
  list({"errors"}, "/api/v1/errors");
  list({"throttlers"}, "/api/v1/throttlers");
  list({"recurring", "list"}, "/api/v1/schedules");
  list({"queues"}, "/api/v1/queues");
  one({"queues", "default"}, "/api/v1/queues/default");
  list({"totals"}, "/api/v1/totals");
  list({"log"}, "/api/v1/log");
  list({"servers"}, "/api/v1/servers");
  list({"locks"}, "/api/v1/locks");
  list({"quarantine", "list"}, "/api/v1/quarantine");
  list({"throttler", "holders", "semaphore:gate"}, "/api/v1/throttlers/semaphore/gate/holders");
  list({"throttler", "waiters", "semaphore:gate"}, "/api/v1/throttlers/semaphore/gate/waiters");

  // What is there already stays as it is, so that both can be asked for the same change.
  const auto change = [&](std::vector<std::string> words, const json& body) {
    const auto said = lines(std::move(words));
    REQUIRE(said.size() == 1);
    CHECK(said[0] == d.post("/api/v1/jobs/actions", body));
    return json::parse(said[0]);
  };
  REQUIRE(w.sluice({"enqueue", "later", "noop", "{}", "--id", "stays"}).exit_code == 0);
  const auto some = change({"requeue", "stays", "nobody"}, {{"action", "requeue"}, {"ids", {"stays", "nobody"}}});
  CHECK(some.at("failed")[0].at("code") == "not_found");
  const auto all =
      change({"requeue", "--all", "--yes", "--state", "enqueued", "--queue", "later"},
             {{"action", "requeue"}, {"filter", {{"state", "enqueued"}, {"queue", "later"}}}, {"expected_count", 100}});
  CHECK(all.at("done") == 0);
  CHECK(all.at("unchanged") == 1);
  const std::string trigger = "/api/v1/schedules/nightly/trigger";
  CHECK(lines({"recurring", "trigger", "nightly", "--id", "by-hand"}).at(0) == d.post(trigger, {{"id", "by-hand"}}));
  write_file(go, "");
  end(server);
}

TEST_CASE("the sample clients in Python and JavaScript store a job and see its end") {
  work_world w;
  auto server = w.work();
  dashboard_process d(w.url, w.folder.file("dashboard.log"), {"--allow-changes"});
  const auto clients = source_path("samples/http_clients/");
  for (const auto* program : {"python3", "node"}) {
    if (!is_here(program)) continue;
    const auto file = clients + (program == std::string("node") ? "sluice_client.mjs" : "sluice_client.py");
    const auto said = run({program, file, "--url", d.url()}, w.folder.path().string());
    CAPTURE(said.out, said.err);
    CHECK(said.exit_code == 0);
    CHECK(said.out.ends_with(" succeeded\n"));
  }
  const auto said =
      run({"python3", "-B", "-c",
           cat("import sys; sys.path.insert(0, '", clients, "')\nimport sluice_client as s\nc = s.Sluice('", d.url(),
               "')\nfor _ in range(2): print(c.enqueue('noop', {}, id='same'))\n"
               "print(sorted(j['queue'] for j in c.jobs(id_begins='same')))\n"
               "try: c.enqueue('noop', {'other': 1}, id='same')\nexcept s.SluiceError as e: print(e.code)")},
          w.folder.path().string());
  CAPTURE(said.err);
  CHECK(said.out == "same\nsame\n['default']\nid_conflict\n");
  end(server);
}

TEST_CASE("a producer in Python makes a group of 200 over HTTP, and the job at its end runs once all have ended") {
  work_world w;
  auto server = w.work();
  dashboard_process d(w.url, w.folder.file("dashboard.log"), {"--allow-changes"});
  const auto said = run({"python3", "-B", "-c",
                         cat("import sys; sys.path.insert(0, '", source_path("samples/http_clients/"),
                             "')\nimport sluice_client as s\nc = s.Sluice('", d.url(),
                             "')\nlast = c.enqueue_group('pages', [('noop', {})] * 200, ('noop', {}))\n"
                             "print(c.wait(last)['state'])\ng = c.ask('GET', '/groups/pages')\n"
                             "print(g['succeeded'], g['open'], g['ended_as'])")},
                        w.folder.path().string());
  CAPTURE(said.out, said.err);
  CHECK(said.out == "succeeded\n200 0 succeeded\n");
  const auto last = w.client->get(job_id("pages-then"));
  const auto group = w.client->group(group_name("pages"));
  REQUIRE((last.ok() && group.ok()));
  CHECK(last->history.back().ended >= *group->finished_at);
  end(server);
}

TEST_CASE("without a dashboard in its configuration a server listens nowhere, with one it answers until it stops") {
  work_world w;
  {
    auto plain = w.work();
    CHECK(listening(plain.pid()).empty());
    end(plain);
  }
  w.configure("answering.json", {{"dashboard", {{"listen", "localhost:0"}}}});
  auto answering = w.work("answering.log", "answering.json");
  REQUIRE(eventually(
      [&] { return answering.log().find("the dashboard listens at http://localhost:") != std::string::npos; }));
  const auto addresses = listening(answering.pid());
  CHECK_FALSE(addresses.empty());
  for (const auto& address : addresses)  // as in /proc/net/tcp: 127.0.0.1 and ::1
    CHECK((address.starts_with("0100007F:") || address.starts_with("00000000000000000000000001000000:")));
  const auto log = answering.log();
  const auto at = log.find("http://localhost:") + 17;
  const auto port = static_cast<unsigned>(std::stoul(log.substr(at)));
  raw_client c(port);
  c.write("GET /health/ready HTTP/1.1\r\nHost: any\r\n\r\n");
  CHECK(c.read_answer().starts_with("HTTP/1.1 "));
  end(answering);
  CHECK_THROWS(raw_client(port));
}

TEST_CASE("a server ends within its grace time with fifty requests to its dashboard under way") {
  work_world w;
  w.configure("answering.json", {{"dashboard", {{"listen", "localhost:0"}, {"allow_changes", true}}}, {"grace", "2s"}});
  auto answering = w.work("answering.log", "answering.json");
  const std::string where = "the dashboard listens at http://localhost:";
  REQUIRE(eventually([&] { return answering.log().find(where) != std::string::npos; }));
  const auto log = answering.log();
  const auto port = static_cast<unsigned>(std::stoul(log.substr(log.find(where) + where.size())));
  std::vector<raw_client> asking;
  for (int i = 0; i < 50; ++i) {
    asking.emplace_back(port);
    asking.back().write(cat(i % 2 ? "GET /api/v1/overview" : "POST /api/v1/jobs", " HTTP/1.1\r\nHost: localhost:", port,
                            "\r\nContent-Type: application/json\r\n", i % 2 ? "\r\n" : "Content-Length: 9\r\n\r\n{"));
  }
  const auto began = std::chrono::steady_clock::now();
  end(answering);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(7));
  for (std::size_t i = 0; i < asking.size(); i += 2)
    CHECK(asking[i].read_answer() == "");  // its body was still to come
}

TEST_CASE("what would be wrong with a dashboard is found by `sluice check`, at its place") {
  work_world w;
  const auto check = [&](const nlohmann::json& dashboard) {
    w.configure("wrong.json", {{"dashboard", dashboard}});
    return run({program_path("sluice"), "check", w.folder.file("wrong.json")}, w.folder.path().string());
  };
  for (const auto& [dashboard, fault] :
       {std::pair(nlohmann::json{{"listen", "0.0.0.0:80"}}, "/dashboard/listen: the dashboard would be open"),
        {nlohmann::json{{"listen", "example.org:80"}}, "/dashboard/listen: where to listen must be ADDRESS:PORT"},
        {nlohmann::json{{"users", {{"anna", {{"role", "admin"}}}}}}, "/dashboard/users/anna: needs a secret_file"},
        {nlohmann::json{{"user_header", "X-User"}}, "/dashboard/user_header: needs proxies"}}) {
    const auto said = check(dashboard);
    CAPTURE(fault, said.err);
    CHECK(said.exit_code == 1);
    CHECK(said.err.find(fault) != std::string::npos);
  }
  CHECK(check({{"listen", "localhost:0"}}).exit_code == 0);
}

TEST_CASE("a server whose dashboard finds its port taken claims no job") {
  work_world w;
  dashboard_process first(w.url, w.folder.file("first.log"));
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", "a"}).exit_code == 0);
  const auto port = first.url().substr(first.url().rfind(':'));
  w.configure("second.json", {{"dashboard", {{"listen", "localhost" + port}}}});
  const auto said = run({program_path("sluice"), "work", w.folder.file("second.json")}, w.folder.path().string());
  CHECK(said.exit_code == 1);
  CHECK(said.err.find("cannot start the dashboard") != std::string::npos);
  CHECK(said.err.find("working on") == std::string::npos);
  CHECK(w.get("a").state == job_state::enqueued);
  CHECK(w.get("a").history.empty());
  end(first.itself());
}

TEST_CASE("every answer on the wire tells a browser to trust nothing but this site, refusals too") {
  work_world w;
  dashboard_process d(w.url, w.folder.file("dashboard.log"));
  const auto port = d.url().substr(d.url().rfind(':') + 1);
  const auto say = [&](const std::string& bytes) {
    raw_client c(static_cast<unsigned>(std::stoul(port)));
    c.write(bytes);
    return c.read_answer();
  };
  const auto host = cat("Host: localhost:", port, "\r\n");
  for (const auto& bytes :
       {cat("GET /api/v1 HTTP/1.1\r\n", host, "\r\n"), cat("GET /nothing HTTP/1.1\r\n", host, "\r\n"),
        std::string("GET /api/v1 HTTP/1.1\r\nHost: evil.test\r\n\r\n"),
        cat("DELETE /api/v1/jobs/a HTTP/1.1\r\n", host, "\r\n"), cat("OPTIONS /api/v1/jobs HTTP/1.1\r\n", host, "\r\n"),
        cat("GET /api/v1/jobs/a%00b HTTP/1.1\r\n", host, "\r\n"),
        cat("POST /api/v1/jobs HTTP/1.1\r\n", host, "Transfer-Encoding: chunked\r\n\r\n"),
        cat("POST /api/v1/jobs HTTP/1.1\r\n", host, "Content-Length: 2147483648\r\n\r\n")}) {
    const auto said = say(bytes);
    CAPTURE(bytes, said);
    for (const auto* header :
         {"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
          "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n",
          "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
          "Cross-Origin-Opener-Policy: same-origin\r\n", "Cross-Origin-Resource-Policy: same-origin\r\n"})
      CHECK(said.find(header) != std::string::npos);
    CHECK(said.find("\r\nServer:") == std::string::npos);
    CHECK(said.find("\r\nSet-Cookie:") == std::string::npos);
    CHECK(said.find("\r\nAccess-Control") == std::string::npos);
  }
  end(d.itself());
}

TEST_CASE("`sluice dashboard` only looks unless it is told otherwise, and ends by a signal") {
  work_world w;
  REQUIRE(w.sluice({"enqueue", "default", "noop", "{}", "--id", "a"}).exit_code == 0);
  {
    dashboard_process d(w.url, w.folder.file("looks.log"));
    CHECK(d.ask("DELETE", "/api/v1/jobs/a").starts_with("HTTP/1.1 403"));
    end(d.itself());
  }
  dashboard_process d(w.url, w.folder.file("changes.log"), {"--allow-changes"});
  CHECK(d.ask("DELETE", "/api/v1/jobs/a").starts_with("HTTP/1.1 200"));
  CHECK(w.get("a").state == job_state::deleted);
  CHECK(eventually([&] { return d.itself().log().find("DELETE /api/v1/jobs/a -> 200 a") != std::string::npos; }));
  CHECK(w.sluice({"dashboard", "--listen", "0.0.0.0:0"}).err.find("name users, or listen on localhost") !=
        std::string::npos);
}

TEST_CASE("`sluice top` tells once, when it is no terminal, what is wrong and what each queue does") {
  work_world w;
  REQUIRE(w.sluice({"enqueue", "lonely", "noop", "{}", "--id", "a"}).exit_code == 0);
  const auto said = w.sluice({"top"});
  CHECK(said.exit_code == 0);
  CHECK(said.out.find("! 1 job waits in queue lonely, which no server that is alive serves") != std::string::npos);
  CHECK(said.out.find("lonely") != std::string::npos);
  CHECK(said.out.find('\x1b') == std::string::npos);
  CHECK(said.out.find("0       0        0\n") != std::string::npos);  // the last is a rate, of two looks
  const auto as_json = json::parse(w.sluice({"top", "--json"}).out);
  CHECK(as_json.at("overview").at("troubles")[0].at("kind") == "unserved_queue");
  CHECK(as_json.at("throttlers").empty());
  auto queue = as_json.at("queues").at(0);
  CHECK(queue.at("workers") == 0);
  CHECK(queue.at("ended_a_second") == 0.0);
  queue.erase("workers");
  queue.erase("ended_a_second");
  CHECK(queue.dump() + "\n" == w.sluice({"queues", "lonely", "--json"}).out);
}

TEST_CASE("`sluice top` tells how many jobs wait whose type no server of their queue knows, and what lists them") {
  work_world w(json{{"allow_exec", false}});
  auto server = w.work();
  const auto of_type = [](const std::string& id, const char* type) {
    new_job job;
    job.id = job_id(id);
    job.type = job_type(type);
    return job;
  };
  const auto are_aside = [&](const std::vector<std::string>& ids) {
    return eventually([&] {
      return std::all_of(ids.begin(), ids.end(), [&](const auto& id) { return w.get(id).line.starts_with("type:"); });
    });
  };
  w.enqueue({of_type("a", "nop"), of_type("b", "nop")});
  REQUIRE(are_aside({"a", "b"}));
  const auto said = w.sluice({"top"});
  CAPTURE(said.out);
  CHECK(said.out.find("all is well") == std::string::npos);
  CHECK(said.out.find("! 2 jobs wait in queue default for a server that knows type nop\n"
                      "  sluice jobs --state enqueued --queue default --type nop --store ") != std::string::npos);
  CHECK(said.out.find("  (lists those of type nop)\n") != std::string::npos);
  const auto trouble = json::parse(w.sluice({"top", "--json"}).out).at("overview").at("troubles").at(0);
  CHECK(trouble.at("kind") == "unknown_type");
  CHECK(trouble.at("about") == "default");

  w.enqueue({of_type("c", "exec"), of_type("d", "mail"), of_type("e", "x"), of_type("f", "y")});
  REQUIRE(are_aside({"c", "d", "e", "f"}));
  CHECK(w.sluice({"top"}).out.find("! 6 jobs wait in queue default for a server that knows their types: 2 of type nop, "
                                   "1 of type exec, 1 of type "
                                   "mail and 2 of other types; a server takes exec jobs only when its configuration "
                                   "has \"allow_exec\": true\n") != std::string::npos);
  REQUIRE(w.sluice({"delete", "a", "b", "c", "d", "e", "f"}).exit_code == 0);
  CHECK(w.sluice({"top"}).out.find("all is well") != std::string::npos);
}

TEST_CASE("`sluice top` tells by type of job how many run and failed of late") {
  work_world w;
  auto server = w.work();
  CHECK(json::parse(w.sluice({"top", "--json"}).out).at("types").empty());
  const std::string go = w.folder.file("go");
  std::vector<new_job> jobs;
  for (const auto* id : {"a", "b"})
    jobs.push_back(work_world::exec(cat("until [ -e ", go, " ]; do sleep 0.05; done"), id));
  jobs.push_back(work_world::exec("exit 1", "fails"));
  jobs.back().retry.attempts = 0;
  w.enqueue(jobs);
  for (const auto* id : {"a", "b"})
    REQUIRE(eventually([&] { return w.get(id).state == job_state::processing; }));
  REQUIRE(eventually([&] { return w.get("fails").state == job_state::failed; }));
  const auto told = json::parse(w.sluice({"top", "--json"}).out);
  const auto types = told.at("types");
  REQUIRE(types.size() == 1);
  CHECK(types[0].at("type") == "exec");
  CHECK(types[0].at("running") == 2);
  CHECK(types[0].at("failed_last_hour") == 1);
  CHECK(types[0].at("running_since").is_string());
  CHECK(told.at("types_cut") == false);
  CHECK(w.sluice({"top"}).out.find("\nTYPE") != std::string::npos);
  write_file(go, "");
}

TEST_CASE("`sluice top` names forty types, and adds the others up") {
  work_world w(json{{"allow_exec", false}});
  auto server = w.work();
  std::vector<new_job> jobs;
  for (int i = 0; i < 43; ++i) {
    jobs.emplace_back();
    jobs.back().type = job_type(cat("type-", i));
    jobs.back().finish_within = 100ms;  // then it has failed, though no server knows its type
  }
  w.enqueue(jobs);
  const bool all_failed = eventually([&] {
    const auto queues = w.client->queues();
    return queues && !queues->empty() && queues->front().failed == 43;
  });
  REQUIRE(all_failed);
  const auto types = json::parse(w.sluice({"top", "--json"}).out).at("types");
  REQUIRE(types.size() == 41);
  CHECK(types[40].at("type") == "other");
  CHECK(types[40].at("failed_last_hour") == 3);
  CHECK(types[40].at("running_since").is_null());
}

TEST_CASE("SIGINT ends `sluice top` also while the store is away") {
  if (!is_here("script")) return;
  redis_server redis;
  work_world w(json::object(), redis.url());
  REQUIRE(w.sluice({"enqueue", "lonely", "noop", "{}"}).exit_code == 0);
  const auto pid = w.folder.file("pid"), shown = w.folder.file("shown");
  process terminal(
      {"script", "-qefc", cat("echo $$ > ", pid, "; exec ", program_path("sluice"), " top --store ", w.url), shown},
      w.folder.file("terminal.log"));
  REQUIRE(eventually([&] { return read_file(shown).find("lonely") != std::string::npos; }));
  redis.stop_process();
  CHECK(eventually([&] { return read_file(shown).find("the store does not answer") != std::string::npos; }));
  ::kill(std::stoi(read_file(pid)), SIGINT);
  CHECK(terminal.exit_code(3s) == 0);
  redis.continue_process();
}

}  // namespace sluice::test
