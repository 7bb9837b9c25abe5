// What staggering does to the thirty schedules of samples/cache_refresh: the figures of docs/recurring.md.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "scheduler/recurrence.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace sluice;
using namespace sluice::scheduler;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> names() {
  std::ifstream file(test::source_path("samples/cache_refresh/cache_refresh.json"));
  std::vector<std::string> found;
  const auto config = nlohmann::json::parse(file, nullptr, true, true);
  for (const auto& [name, schedule] : config.at("recurring").items())
    found.push_back(name);
  return found;
}

using histogram = std::map<std::int64_t, int>;  // second of the minute -> starts

histogram seconds(stagger_rule rule) {
  const time_point minute{std::chrono::sys_days{std::chrono::year{2026} / 6 / 1}};
  histogram found;
  std::vector<storage::schedule_place> taken;
  for (const auto& name : names()) {
    recurring r;
    r.name = name;
    r.cron = "* * * * *";
    r.stagger = rule;
    std::optional<storage::schedule_place> place;
    if (rule == stagger_rule::even) {
      place = {middle_of_largest_gap(taken, 1min), 1min, 0};
      taken.push_back(*place);
    }
    ++found[(*recurrence::of(r, place)->next(minute) - minute) % 1min / 1s];
  }
  return found;
}

int peak(const histogram& all) {
  int most = 0;
  for (const auto& [second, n] : all)
    most = std::max(most, n);
  return most;
}

}  // namespace

TEST_CASE("thirty schedules of one minute start thirty at once or few or one at a time") {
  REQUIRE(names().size() == 30);
  CHECK(peak(seconds(stagger_rule::off)) == 30);
  CHECK(peak(seconds(stagger_rule::by_name)) == 3);
  CHECK(seconds(stagger_rule::by_name).size() == 23);
  CHECK(peak(seconds(stagger_rule::even)) == 1);
  CHECK(seconds(stagger_rule::by_name) == seconds(stagger_rule::by_name));
}
