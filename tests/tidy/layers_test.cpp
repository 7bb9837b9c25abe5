#include <regex>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "tidy/house.hpp"

using namespace sluice::tidy;

namespace {

bool allowed(std::string file, std::string target, bool quoted = true) {
  return !complaint({std::move(file), std::move(target), quoted});
}

bool allowed_outside(std::string file, std::string target) {
  return allowed(std::move(file), std::move(target), false);
}

const std::vector<include>& tree() {
  static const auto all = includes_of_tree(sluice::test::source_path());
  return all;
}

}  // namespace

TEST_CASE("every include of the tree points down") {
  REQUIRE(tree().size() > 100);
  for (const auto& i : tree()) {
    const auto wrong = complaint(i);
    INFO(wrong.value_or(""));
    CHECK_FALSE(wrong);
  }
}

TEST_CASE("the command line knows nothing of the dashboard but its public header") {
  for (const auto& i : tree()) {
    CAPTURE(i.file, i.target);
    CHECK_FALSE((i.file.starts_with("cli/") && i.target.starts_with("dashboard/")));
  }
}

TEST_CASE("every quoted include of the tree is a file under the root") {
  const std::filesystem::path root = sluice::test::source_path();
  for (const auto& i : tree()) {
    if (i.target == "storage/machine/rule_files.hpp" || i.target == "dashboard/openapi_text.hpp" || !i.quoted)
      continue;  // the build makes these
    CAPTURE(i.file, i.target);
    CHECK(std::filesystem::exists(root / i.target));
  }
}

TEST_CASE("public headers show no outside library") {
  for (const auto& i : tree()) {
    if (!i.file.starts_with("include/sluice/")) continue;
    CAPTURE(i.file, i.target);
    CHECK_FALSE(i.quoted);
    for (const auto* library : {"caf/", "hiredis", "spdlog/", "fmt/", "sqlite3", "CLI/"})
      CHECK((!i.target.starts_with(library) ||
             (i.file == "include/sluice/actors.hpp" && std::string_view(library) == "caf/")));
    CHECK((i.target.starts_with("sluice/") || i.target.find('/') == std::string::npos ||
           i.file == "include/sluice/actors.hpp" || i.file == "include/sluice/json.hpp"));
  }
}

TEST_CASE("a room may include itself and what is below") {
  CHECK(allowed("core/a.cpp", "core/b.hpp"));
  CHECK(allowed("core/a.cpp", "sluice/job.hpp", false));
  CHECK(allowed("include/sluice/a.hpp", "sluice/job.hpp", false));
  CHECK(allowed("storage/sqlite/a.cpp", "core/b.hpp"));
  CHECK(allowed("scheduler/a.cpp", "storage/store.hpp"));
  CHECK(allowed("throttling/a.cpp", "core/b.hpp"));
  CHECK(allowed("execution/a.cpp", "throttling/b.hpp"));
  CHECK(allowed("actors/a.cpp", "execution/b.hpp"));
  CHECK(allowed("cli/exec/a.cpp", "actors/spawn.hpp"));
  CHECK(allowed("tests/core/a.cpp", "tests/support/catch.hpp"));
}

TEST_CASE("a room may not include what is above or beside it") {
  CHECK_FALSE(allowed("core/a.cpp", "storage/store.hpp"));
  CHECK_FALSE(allowed("include/sluice/a.hpp", "core/b.hpp"));
  CHECK_FALSE(allowed("config/a.cpp", "storage/store.hpp"));
  CHECK_FALSE(allowed("storage/a.cpp", "config/load.hpp"));
  CHECK_FALSE(allowed("scheduler/a.cpp", "throttling/b.hpp"));
  CHECK_FALSE(allowed("throttling/a.cpp", "scheduler/b.hpp"));
  CHECK_FALSE(allowed("config/a.cpp", "throttling/b.hpp"));
  CHECK_FALSE(allowed("client/a.cpp", "actors/b.hpp"));
  CHECK_FALSE(allowed("execution/a.cpp", "actors/b.hpp"));
  CHECK_FALSE(allowed("actors/a.cpp", "client/b.hpp"));
  CHECK(allowed("bench/a.cpp", "tests/support/b.hpp"));
  CHECK_FALSE(allowed("bench/a.cpp", "tests/storage/b.hpp"));
  CHECK(allowed("tests/samples/a.cpp", "samples/b/c.hpp"));
  CHECK_FALSE(allowed("tests/actors/a.cpp", "samples/b/c.hpp"));
  CHECK_FALSE(allowed("dashboard/a.cpp", "cli/b.hpp"));
  CHECK_FALSE(allowed("wire/a.cpp", "client/b.hpp"));
  CHECK_FALSE(allowed("wire/a.cpp", "dashboard/b.hpp"));
  CHECK(allowed("client/a.cpp", "wire/b.hpp"));
  CHECK(allowed("actors/a.cpp", "operations/b.hpp"));
  CHECK(allowed("execution/a.cpp", "operations/b.hpp"));
  CHECK_FALSE(allowed("operations/a.cpp", "client/b.hpp"));
  CHECK_FALSE(allowed("operations/a.cpp", "execution/b.hpp"));
  CHECK_FALSE(allowed("scheduler/a.cpp", "operations/b.hpp"));
}

TEST_CASE("what the stores share knows none of them, and none knows another") {
  CHECK(allowed("storage/redis/a.cpp", "storage/machine/b.hpp"));
  CHECK(allowed("storage/sqlite/a.cpp", "storage/machine/b.hpp"));
  CHECK_FALSE(allowed("storage/machine/a.cpp", "storage/redis/b.hpp"));
  CHECK_FALSE(allowed("storage/machine/a.cpp", "storage/sqlite/b.hpp"));
  CHECK_FALSE(allowed("storage/redis/a.cpp", "storage/sqlite/b.hpp"));
  CHECK_FALSE(allowed("storage/sqlite/a.cpp", "storage/redis/b.hpp"));
}

TEST_CASE("paths never go up and never stand outside of the rooms") {
  CHECK_FALSE(allowed("core/a.cpp", "../core/b.hpp"));
  CHECK_FALSE(allowed("core/a.cpp", "core/../core/b.hpp"));
  CHECK_FALSE(allowed("core/a.cpp", "b.hpp"));
  CHECK_FALSE(allowed("core/a.cpp", "corex/b.hpp"));
  CHECK_FALSE(allowed("core/a.cpp", "support/catch.hpp"));
}

TEST_CASE("an outside library is seen in its place only") {
  CHECK(allowed_outside("actors/a.cpp", "caf/all.hpp"));
  CHECK(allowed_outside("include/sluice/actors.hpp", "caf/all.hpp"));
  CHECK_FALSE(allowed_outside("include/sluice/server.hpp", "caf/all.hpp"));
  CHECK_FALSE(allowed_outside("scheduler/a.cpp", "caf/all.hpp"));
  CHECK_FALSE(allowed_outside("execution/a.cpp", "caf/all.hpp"));
  CHECK(allowed_outside("storage/sqlite/a.cpp", "sqlite3.h"));
  CHECK(allowed_outside("bench/a.cpp", "sqlite3.h"));
  CHECK(allowed_outside("tests/storage/a.cpp", "sqlite3.h"));
  CHECK_FALSE(allowed_outside("storage/open_store.cpp", "sqlite3.h"));
  CHECK(allowed_outside("storage/redis/a.cpp", "hiredis/hiredis.h"));
  CHECK(allowed_outside("tests/support/a.cpp", "hiredis/hiredis.h"));
  CHECK_FALSE(allowed_outside("storage/sqlite/a.cpp", "hiredis/hiredis.h"));
  CHECK_FALSE(allowed_outside("storage/machine/a.cpp", "hiredis/hiredis.h"));
  CHECK_FALSE(allowed_outside("storage/machine/a.cpp", "sqlite3.h"));
  CHECK(allowed_outside("core/log.cpp", "spdlog/spdlog.h"));
  CHECK_FALSE(allowed_outside("core/text.cpp", "spdlog/spdlog.h"));
  CHECK(allowed_outside("cli/a.cpp", "CLI/CLI.hpp"));
  CHECK_FALSE(allowed_outside("config/a.cpp", "CLI/CLI.hpp"));
  CHECK(allowed_outside("tests/support/catch.hpp", "catch2/catch.hpp"));
  CHECK_FALSE(allowed_outside("tests/core/a_test.cpp", "catch2/catch.hpp"));
  CHECK(allowed_outside("core/text.cpp", "nlohmann/json.hpp"));
  CHECK_FALSE(allowed_outside("core/codec.cpp", "nlohmann/json.hpp"));
  CHECK_FALSE(allowed_outside("storage/a.cpp", "nlohmann/json.hpp"));
}

TEST_CASE("the embedded store knows keys, and nothing of jobs") {
  const std::regex of_jobs(
      R"(\b(enqueued|scheduled|throttled|processing|succeeded|failed_jobs|suspects?|woken|permits?|)"
      R"(windows?|schedules?|leases?|fences?)\b)");
  for (const auto& entry : std::filesystem::directory_iterator(sluice::test::source_path("storage/sqlite"))) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      INFO(entry.path().filename() << ": " << line);
      CHECK_FALSE(std::regex_search(line, of_jobs));
    }
  }
}
