#include <cstdlib>

#include "config/loading.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using config::source;
using test::options_of;

namespace {

const std::string text = R"({"lease": "30s", "special_queue_workers": 2,
                             "queues": {"default": {"workers": 4}, "game-cache-queue": {"workers": 1}}})";

std::vector<config::fault> faults_of(source from) { return test::load(std::move(from)).faults; }

}  // namespace

TEST_CASE("the environment overrides a key of the file") {
  const auto o = options_of(source{text, {{"SLUICE_LEASE", "45s"}, {"SLUICE_QUEUES__DEFAULT__WORKERS", "8"}}, {}});
  CHECK(o.lease == 45s);
  CHECK(o.queues.at("default").workers == 8);
  CHECK(o.queues.at("game-cache-queue").workers == 1);
}

TEST_CASE("the environment finds a queue whose name it cannot spell") {
  const auto o = options_of(source{text, {{"SLUICE_QUEUES__GAME_CACHE_QUEUE__WORKERS", "8"}}, {}});
  CHECK(o.queues.at("game-cache-queue").workers == 8);
  CHECK(o.queues.size() == 2);
}

TEST_CASE("the environment adds what the file does not say") {
  const auto o = options_of(source{"{}",
                                   {{"SLUICE_ALLOW_EXEC", "true"},
                                    {"SLUICE_SERVER_NAME", "web-2"},
                                    {"SLUICE_RETRY__DELAY", "3s"},
                                    {"SLUICE_RETRY__JITTER", "0.25"},
                                    {"SLUICE_QUEUES__MAILS__WORKERS", "3"}},
                                   {}});
  CHECK(o.allow_exec);
  CHECK(o.server_name == "web-2");
  CHECK(o.retry.delay == duration(3s));
  CHECK(o.retry.jitter == 0.25);
  CHECK(o.queues.at("mails").workers == 3);
}

TEST_CASE("a flag overrides the file and the environment") {
  const auto o = options_of(source{text,
                                   {{"SLUICE_LEASE", "45s"}, {"SLUICE_QUEUES__DEFAULT__WORKERS", "8"}},
                                   {"/lease=50s", "/queues/default/workers=16"}});
  CHECK(o.lease == 50s);
  CHECK(o.queues.at("default").workers == 16);
}

TEST_CASE("of two flags for one key the last wins") {
  CHECK(options_of(source{text, {}, {"/lease=40s", "/lease=50s"}}).lease == 50s);
}

TEST_CASE("a flag adds what the file does not say") {
  const auto o =
      options_of(source{text, {}, {"/queues/new-queue={}", "/queues/x*/prefetch=0", "/jobs/t/queue=default"}});
  CHECK(o.queues.at("new-queue").workers == 2);
  CHECK(o.queues.at("x*").prefetch == 0);
  CHECK(o.jobs.at("t").queue == queue_name("default"));
  CHECK(o.queues.size() == 4);
}

TEST_CASE("the value of a flag may hold equal signs") {
  CHECK(options_of(source{"{}", {}, {"/storage=sqlite:a.db?max_pages=100"}}).storage == "sqlite:a.db?max_pages=100");
}

TEST_CASE("a store may be given as a whole by the environment") {
  CHECK(options_of(source{"{}", {{"SLUICE_STORAGE", "sqlite::memory:"}}, {}}).storage == "sqlite::memory:");
}

TEST_CASE("an override is held to the same limits as the file") {
  const auto by_environment = faults_of({text, {{"SLUICE_QUEUES__DEFAULT__WORKERS", "0"}}, {}});
  REQUIRE(by_environment.size() == 1);
  CHECK(by_environment[0].pointer == "/queues/default/workers");
  const auto by_flag = faults_of({text, {}, {"/lease=2h"}});
  REQUIRE(by_flag.size() == 1);
  CHECK(by_flag[0].pointer == "/lease");
}

TEST_CASE("an override of an unknown key is a fault with the key that was meant") {
  const auto by_environment = faults_of({text, {{"SLUICE_LAESE", "45s"}}, {}});
  REQUIRE(by_environment.size() == 1);
  CHECK(by_environment[0].pointer == "/laese");
  CHECK(by_environment[0].problem.find("'lease'") != std::string::npos);
  const auto by_flag = faults_of({text, {}, {"/queues/default/worker=2"}});
  REQUIRE(by_flag.size() == 1);
  CHECK(by_flag[0].pointer == "/queues/default/worker");
  CHECK(by_flag[0].problem.find("'workers'") != std::string::npos);
}

TEST_CASE("a variable that is like no setting is another program's: a warning that names it") {
  // As Kubernetes sets them beside a service of the name `sluice`.
  for (const auto* name : {"SLUICE_PORT", "SLUICE_SERVICE_HOST", "SLUICE_PORT_6379_TCP_ADDR", "SLUICE_HOME"}) {
    const auto got = test::load({text, {{name, "tcp://10.0.0.1:6379"}}, {}});
    CHECK(got.faults.empty());
    REQUIRE(got.warnings.size() == 1);
    CHECK(got.warnings[0].find(name) != std::string::npos);
  }
}

TEST_CASE("a fault of what a variable has set names the variable") {
  for (const auto* name : {"SLUICE_LAESE", "SLUICE_QUEUES__GAME_CACHE_QUEUE__WORKER", "SLUICE_GRACE"}) {
    const auto faults = faults_of({text, {{name, "2h"}}, {}});
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].problem.find(name) != std::string::npos);
  }
}

TEST_CASE("that the environment takes a server to another store than its file's is a warning") {
  const source from{R"({"storage": "sqlite:a.db"})", {{"SLUICE_STORAGE", "sqlite:b.db"}}, {}};
  const auto got = test::load(from);
  CHECK(got.options.storage == "sqlite:b.db");
  REQUIRE(got.warnings.size() == 1);
  CHECK(got.warnings[0].find("sqlite:b.db") != std::string::npos);
  CHECK(got.warnings[0].find("sqlite:a.db") != std::string::npos);
  CHECK(test::load({R"({"storage": "sqlite:b.db"})", from.environment, {}}).warnings.empty());
  CHECK(test::load({"{}", from.environment, {}}).warnings.empty());
}

TEST_CASE("an override inside of something that is no object is a fault") {
  CHECK(faults_of({text, {{"SLUICE_LEASE__MOST", "1"}}, {}}).size() == 1);
  CHECK(faults_of({text, {}, {"/lease/most=1"}}).size() == 1);
}

TEST_CASE("a flag that is no pointer and value is a fault") {
  const auto set = GENERATE(as<std::string>{}, "", "lease=1s", "/lease", "=", "--lease");
  CAPTURE(set);
  const auto faults = faults_of({text, {}, {set}});
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].problem.find("--set") != std::string::npos);
}

TEST_CASE("strange overrides do no harm") {
  for (const auto* name : {"SLUICE_", "SLUICE__", "SLUICE____", "SLUICE_QUEUES__", "SLUICE_QUEUES____WORKERS"}) {
    const auto got = test::load({text, {{name, "1"}}, {}});
    CHECK(got.faults.size() + got.warnings.size() > 0);
  }
  for (const auto* set : {"/=1", "//=1", "/queues/=1", "/queues/~2/workers=1"})
    CHECK_FALSE(faults_of({text, {}, {set}}).empty());
  CHECK_FALSE(faults_of({text, {{"SLUICE_QUEUES", std::string(100'000, '[')}}, {}}).empty());
}

TEST_CASE("only variables of this program are taken from the environment") {
  ::setenv("SLUICE_LEASE", "45s=", 1);
  ::setenv("SLUICE_", "nameless", 1);
  ::setenv("NOT_SLUICE_LEASE", "1s", 1);
  const auto found = config::environment();
  ::unsetenv("SLUICE_LEASE");
  ::unsetenv("SLUICE_");
  ::unsetenv("NOT_SLUICE_LEASE");
  CHECK(std::count(found.begin(), found.end(), std::pair<std::string, std::string>("SLUICE_LEASE", "45s=")) == 1);
  for (const auto& [name, value] : found) {
    CHECK(name.starts_with("SLUICE_"));
    CHECK(name.size() > 7);
  }
}
