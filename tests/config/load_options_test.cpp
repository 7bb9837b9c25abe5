#include <sluice/config.hpp>

#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {

TEST_CASE("options are read from a file, and what is set by hand overrides it") {
  temp_dir folder;
  const auto path = (folder.path() / "sluice.json").string();
  write_file(path, R"({"queues": {"default": {"workers": 3}}, // a comment
                       "jobs": {"casino": {"queue": "slow-queue"}}, "storage": "sqlite:x.db"})");
  const auto read = load_options(path, {"/lease=\"7s\""});
  REQUIRE(read.ok());
  CHECK(read->queues.at("default").workers == 3);
  CHECK(read->lease == 7s);
  const auto access = client_of(*read);
  CHECK(access.storage == "sqlite:x.db");
  CHECK(access.jobs.at("casino").queue == queue_name("slow-queue"));
}

TEST_CASE("all faults of a file come as one error, a line each with its place") {
  temp_dir folder;
  const auto path = (folder.path() / "sluice.json").string();
  write_file(path, R"({"lease": "0s", "queus": {}, "storage": "mongodb://x"})");
  const auto read = load_options(path);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == errc::invalid_config);
  for (const auto* part : {"/lease", "/queus", "/storage"})
    CHECK(read.error().message.find(part) != std::string::npos);
  CHECK(std::count(read.error().message.begin(), read.error().message.end(), '\n') >= 2);
}

TEST_CASE("a folder is no configuration, and says so") {
  temp_dir folder;
  const auto read = load_options(folder.path().string());
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == errc::io_error);
}

TEST_CASE("a file that is not there is an error that names it") {
  const auto read = load_options("/nonexistent/sluice.json");
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == errc::io_error);
  CHECK(read.error().message.find("/nonexistent/sluice.json") != std::string::npos);
}

}  // namespace sluice::test
