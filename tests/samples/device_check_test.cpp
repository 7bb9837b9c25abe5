// The grants of samples/device_check, with each of its processes killed between each two steps.
#include <memory>
#include <regex>

#include "dashboard/raw_client.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "support/sockets.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

constexpr int is_killed = -SIGKILL;
constexpr int is_refused = 3;

using words = std::vector<std::string>;

// The roles of the sample as processes on one store, an SQLite file or a Redis of its own.
struct grants_world {
  std::unique_ptr<redis_server> redis;
  work_world w;
  std::set<std::string> handed_out{};

  explicit grants_world(const std::string& store)
      : redis(store == "Redis" ? std::make_unique<redis_server>() : nullptr),
        w(json::object(), redis ? redis->url() : std::string()) {}
  using json = nlohmann::json;

  words role(const std::string& name, const words& options, const std::string& halt_after) const {
    words all{program_path("device_check"), "--role", name, "--store", w.url};
    all.insert(all.end(), options.begin(), options.end());
    if (!halt_after.empty()) all.insert(all.end(), {"--halt-after", halt_after});
    return all;
  }
  ran as(const std::string& name, const words& options, const std::string& halt_after = {}) const {
    return run(role(name, options, halt_after), w.folder.path().string());
  }
  process worker(const std::string& halt_after = {}) {
    const auto argv = role("worker", {"--journal", w.folder.file("journal")}, halt_after);
    // One that is to die may have done so before anybody saw it.
    return halt_after.empty() ? w.serve(argv, "worker.log") : process(argv, w.folder.file("worker.log"));
  }

  int hand_out(const std::string& id, const std::string& life, const std::string& halt_after = {}) {
    handed_out.insert(id);
    return as("backend", {"--grant", id, "--life", life}, halt_after).exit_code;
  }
  int redeem(const std::string& id, const std::string& device, const std::string& halt_after = {}) const {
    return as("device", {"--grant", id, "--device", device}, halt_after).exit_code;
  }
  std::string poll(const std::string& id) const { return as("poll", {"--grant", id, "--patience", "60"}).out; }
  void die(process worker) { REQUIRE(worker.exit_code(30s) == is_killed); }

  // What a device does that looked in time, and redeems late.
  result<job_id> redeem_without_a_look(const std::string& id, const std::string& device) const {
    new_job j;
    j.type = job_type("end_grant");
    j.id = job_id("grant:" + id);
    j.args = json{{"grant", id}, {"outcome", "redeemed"}, {"device", device}}.dump();
    return w.client->enqueue(std::move(j));
  }

  // By the journal, which is outside of the store.
  std::map<std::string, int> checks() const {
    std::map<std::string, int> counts;
    sqlite3* db = nullptr;
    sqlite3_open(w.folder.file("journal").c_str(), &db);
    const auto count = [](void* to, int, char** cells, char**) {
      return ++(*static_cast<std::map<std::string, int>*>(to))[cells[0]], 0;
    };
    const bool is_read = sqlite3_exec(db, "SELECT grant_id FROM checks", +count, &counts, nullptr) == SQLITE_OK;
    sqlite3_close(db);
    if (!is_read) throw std::runtime_error("the journal cannot be read");
    return counts;
  }

  // Sentences about grants that were lost or redeemed twice, by the store and the journal.
  words faults() {
    words found;
    std::map<std::string, std::vector<job>> ends;
    for (auto& j : w.all(job_state::succeeded))
      if (j.type.value == "end_grant") ends[json::parse(j.args).at("grant")].push_back(j);
    const auto checked = checks();
    for (const auto& id : handed_out) {
      const auto& of_it = ends[id];
      if (of_it.size() != 1) found.push_back(id + " has " + std::to_string(of_it.size()) + " ends");
      const bool is_answered = !of_it.empty() && json::parse(of_it[0].args).at("outcome") == "redeemed";
      const int times = checked.contains(id) ? checked.at(id) : 0;
      if (times != (is_answered ? 1 : 0)) found.push_back(id + " was checked " + std::to_string(times) + " times");
    }
    if (ends.size() != handed_out.size()) found.push_back("there are ends of grants that nobody handed out");
    return found;
  }
};

const words none;

// A grant that is redeemed in time; one process on its way is killed at this step, and started again.
void redeem_with_a_kill_at(grants_world& g, const std::string& step) {
  CAPTURE(step);
  const auto id = "killed-at-" + step;
  if (step == "handed_out") REQUIRE(g.hand_out(id, "600", step) == is_killed);
  CHECK(g.hand_out(id, "600") == 0);
  if (step == "looked" || step == "redeemed") REQUIRE(g.redeem(id, "tablet-1", step) == is_killed);
  CHECK(g.redeem(id, "tablet-1") == 0);
  CHECK(g.redeem(id, "tablet-2") == is_refused);
  if (step == "claimed" || step == "checked") g.die(g.worker(step));
  auto worker = g.worker();
  REQUIRE(eventually([&] { return g.w.get("grant:" + id).state == job_state::succeeded; }, 30s));
  worker.signal(SIGKILL);
  g.die(std::move(worker));
  if (step == "polled") REQUIRE(g.as("poll", {"--grant", id}, step).exit_code == is_killed);
  CHECK(g.poll(id).starts_with(id + " answered by tablet-1: battery is sound"));
  CHECK(g.redeem(id, "tablet-1") == 0);  // it never heard
  CHECK(g.redeem(id, "tablet-2") == is_refused);
}

// A grant that nobody redeems in time, and the worker that ends it is killed at this step. `meanwhile` is called when
// no worker is there. What a poller reads at last.
std::string end_with_a_kill_at(grants_world& g, const std::string& id, const std::string& step, auto meanwhile) {
  CAPTURE(id, step);
  CHECK(g.hand_out(id, "1") == 0);
  g.die(g.worker(step));
  CHECK(g.redeem(id, "tablet-1") == is_refused);
  meanwhile();
  auto worker = g.worker();
  const auto end = g.poll(id);
  // Else the next worker to be killed might be killed for this one.
  CHECK(eventually([&] { return g.w.get("expiry:" + id).state == job_state::succeeded; }, 30s));
  worker.signal(SIGKILL);
  g.die(std::move(worker));
  CHECK(g.redeem(id, "tablet-1") == is_refused);
  return end;
}

}  // namespace

TEST_CASE("device_check: a grant that is redeemed is checked once, whoever is killed at whatever step") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  grants_world g(store);
  for (const auto* step : {"handed_out", "looked", "redeemed", "claimed", "checked", "settled", "polled"})
    redeem_with_a_kill_at(g, step);
  CHECK(g.faults() == none);
}

TEST_CASE("device_check: a grant ends or is redeemed, never both, whoever is killed at whatever step") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  grants_world g(store);
  CHECK(end_with_a_kill_at(g, "unwanted", "due", [] {}) == "unwanted expired\n");
  const auto decided = end_with_a_kill_at(g, "too-late", "expired", [&] {
    const auto conflict = g.redeem_without_a_look("too-late", "tablet-2");
    REQUIRE_FALSE(conflict);
    CHECK(conflict.error().code == errc::id_conflict);
  });
  CHECK(decided == "too-late expired\n");
  // It was first, if only just.
  const auto first = end_with_a_kill_at(g, "late", "due", [&] { CHECK(g.redeem_without_a_look("late", "tablet-2")); });
  CHECK(first.starts_with("late answered by tablet-2"));
  CHECK(g.w.get("expiry:late").result == "was redeemed");
  CHECK(g.faults() == none);
}

TEST_CASE("device_check: while all workers are away a grant stays open, whatever a device's clock says") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  grants_world g(store);
  CHECK(g.hand_out("overdue", "1") == 0);
  const auto due_at = g.w.get("expiry:overdue").due_at;
  REQUIRE(due_at);
  REQUIRE(eventually([&] { return std::chrono::system_clock::now() > *due_at; }));
  CHECK(g.redeem("overdue", "tablet-1") == 0);
  CHECK(g.redeem("overdue", "tablet-2") == is_refused);
  const auto worker = g.worker();
  CHECK(g.poll("overdue").starts_with("overdue answered by tablet-1"));
  CHECK(eventually([&] { return g.w.get("expiry:overdue").result == "was redeemed"; }, 30s));
  CHECK(g.faults() == none);
}

TEST_CASE("device_check: a poller and the demonstration end at a signal, and say that nothing is decided") {
  const auto signal = GENERATE(SIGINT, SIGTERM);
  CAPTURE(signal);
  grants_world g("SQLite");
  CHECK(g.hand_out("unwanted", "600") == 0);
  process poller(g.role("poll", {"--grant", "unwanted", "--patience", "600"}, {}), g.w.folder.file("poll.log"));
  const auto status = "/proc/" + std::to_string(poller.pid()) + "/status";
  const std::regex takes_both("\nSigCgt:\\s*[0-9a-f]*4002\n");
  REQUIRE(eventually([&] { return std::regex_search(read_file(status), takes_both); }));
  poller.signal(signal);
  CHECK(poller.exit_code(30s) == 1);
  CHECK(poller.log() == "unwanted open\n");

  process program({program_path("device_check"), "--life", "600", "--page", "0"}, g.w.folder.file("log"));
  REQUIRE(eventually([&] { return program.log().find("The grants are shown") != std::string::npos; }));
  program.signal(signal);
  CHECK(program.exit_code(30s) == 1);
  CHECK(program.log().find("Stopped before the end") != std::string::npos);
}

TEST_CASE("device_check: of many devices at once one redeems the grant, and nobody one that was not handed out") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  grants_world g(store);
  CHECK(g.redeem("wanted", "tablet-0") == is_refused);
  CHECK(g.hand_out("wanted", "600") == 0);
  std::vector<process> devices;
  for (int i = 0; i < 8; ++i) {
    const auto name = "tablet-" + std::to_string(i);
    devices.emplace_back(g.role("device", {"--grant", "wanted", "--device", name}, {}), g.w.folder.file(name + ".log"));
  }
  int redeemed = 0, refused = 0;
  for (auto& device : devices) {
    const auto code = device.exit_code(30s);
    redeemed += code == 0;
    refused += code == is_refused;
  }
  CHECK(redeemed == 1);
  CHECK(refused == 7);
  const auto worker = g.worker();
  CHECK(g.poll("wanted").starts_with("wanted answered by tablet-"));
  CHECK(g.faults() == none);
}

TEST_CASE("device_check: its page shows three files and the jobs, and nothing else to nobody else") {
  temp_dir folder;
  process program({program_path("device_check"), "--page", "0"}, folder.file("log"));
  std::smatch found;
  std::string log;
  REQUIRE(eventually([&] {
    log = program.log();
    return std::regex_search(log, found, std::regex("http://(127.0.0.1:([0-9]+))\n"));
  }));
  const std::string host = found[1];
  const auto port = static_cast<unsigned>(std::stoul(found[2]));
  const auto ask = [&](const std::string& what, const std::string& of) {
    raw_client c(port);
    c.write(what + " HTTP/1.1\r\nHost: " + of + "\r\nConnection: close\r\n\r\n");
    return c.read_answer();
  };
  const auto status = [&](const std::string& what, const std::string& of) { return ask(what, of).substr(9, 3); };
  const std::string sources = source_path("samples/device_check/page/");
  for (const auto& [path, file] :
       std::map<std::string, std::string>{{"/", "index.html"}, {"/page.js", "page.js"}, {"/page.css", "page.css"}}) {
    const auto answer = ask("GET " + path, host);
    CHECK(answer.starts_with("HTTP/1.1 200"));
    CHECK(answer.find("Content-Security-Policy: default-src 'self'\r\n") != std::string::npos);
    CHECK(answer.ends_with("\r\n\r\n" + read_file(sources + file)));
  }
  CHECK(eventually([&] {
    return ask("GET /api/v1/jobs?id_begins=expiry:", host).find("\"type\":\"expire_grant\"") != std::string::npos;
  }));
  CHECK(ask("GET /api/v1/jobs?id_begins=nothing%26state%3Dnone", host).find("\"jobs\":[]") != std::string::npos);
  CHECK(status("GET /api/v1/queues", host) == "404");
  CHECK(status("GET /../device_check", host) == "404");
  CHECK(status("POST /api/v1/jobs", host) == "405");
  CHECK(status("GET /", "example.org") == "421");
  CHECK(status("GET /api/v1/jobs", "example.org") == "421");
  REQUIRE(eventually([&] { return program.log().find("The page stays") != std::string::npos; }));
  program.signal(SIGINT);
  CHECK(program.exit_code(30s) == 0);
}

TEST_CASE("device_check: a page that cannot listen says why") {
  temp_dir folder;
  const int taken = listen_on(local_at(0));
  const auto port = std::to_string(port_of(taken));
  const auto program = run({program_path("device_check"), "--page", port}, folder.path().string());
  CHECK(program.exit_code == 1);
  const auto why = "\nthe page cannot listen on port " + port + " of 127.0.0.1: Address already in use;";
  CHECK(program.err.find(why) != std::string::npos);
  ::close(taken);
}

}  // namespace sluice::test
