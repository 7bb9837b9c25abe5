// The jobs of samples/cache_refresh, run one by one against a real provider.
#include <atomic>
#include <functional>

#include <sluice/testing.hpp>

#include "samples/cache_refresh/refresh.hpp"
#include "samples/common/fetch.hpp"
#include "samples/provider/provider.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace sample;

namespace {

struct refresh_world {
  sluice::test::temp_dir folder;
  curl_library curl;
  cache entries{folder.file("cache.db")};
  std::function<void()> while_it_is_asked;  // by the provider, before it answers
  std::atomic<int> asked = 0;
  provider asks{0, [this](const std::string&) {
                  ++asked;
                  if (while_it_is_asked) while_it_is_asked();
                }};
  sluice::testing::world jobs{{}, refresh_handlers(schedules(), asks.url(), entries)};

  static std::vector<sluice::recurring> schedules() {
    std::vector<sluice::recurring> all(2);
    all[0].job = sluice::job_type("Country");
    all[1].job = sluice::job_type("ChessCache");
    return all;
  }
};

}  // namespace

TEST_CASE_METHOD(refresh_world, "a light job puts one document into the cache") {
  const auto done = jobs.run("Country", refresh{"/documents/country"});
  CHECK(done.state == sluice::job_state::succeeded);
  CHECK(asked == 1);
  CHECK(nlohmann::json::parse(entries.read("Country")).at("name") == "country");
}

TEST_CASE_METHOD(refresh_world, "a heavy job puts the games of all forty pages into the cache") {
  const auto done = jobs.run("ChessCache", refresh{"/catalogues/chess"});
  CHECK(done.state == sluice::job_state::succeeded);
  CHECK(asked == 40);
  const auto games = nlohmann::json::parse(entries.read("ChessCache"));
  CHECK(games.size() >= 40 * 50);
  CHECK(games.back().at("id") == games.size());
}

TEST_CASE_METHOD(refresh_world, "a job that ends after a later run of its entry leaves what that one wrote") {
  while_it_is_asked = [&] { entries.write("Country", {UINT32_MAX * 4'000'000ULL}, "of the later run"); };
  const auto done = jobs.run("Country", refresh{"/documents/country"});
  CHECK(done.state == sluice::job_state::succeeded);
  CHECK(done.result == "not written: a later run was quicker");
  CHECK(entries.read("Country") == "of the later run");
}

TEST_CASE_METHOD(refresh_world, "a job whose server is lost runs again and writes again") {
  REQUIRE(jobs.client().enqueue("Country", refresh{"/documents/country"}));
  REQUIRE(jobs.lose_next());
  CHECK(jobs.drain().succeeded == 1);
  CHECK(asked == 2);
  CHECK_FALSE(entries.read("Country").empty());
}

TEST_CASE_METHOD(refresh_world, "a job that the provider refuses is tried again and its entry stays") {
  REQUIRE(entries.write("Country", {1}, "old"));
  const auto refused = jobs.run("Country", refresh{"/nothing"});
  CHECK(refused.state == sluice::job_state::scheduled);
  CHECK(refused.history.back().error.find("404") != std::string::npos);
  CHECK(entries.read("Country") == "old");
}
