// `sluice cron` as an operator meets it.
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {
namespace {

ran sluice_cron(std::vector<std::string> words) {
  words.insert(words.begin(), {program_path("sluice"), "cron"});
  const temp_dir folder;
  return run(words, folder.path());
}

}  // namespace

TEST_CASE("cron shows when an expression runs in a zone and needs no store") {
  const auto said =
      sluice_cron({"30 2 * * *", "--zone", "America/New_York", "--from", "2026-03-07T00:00:00Z", "--count", "3"});
  CHECK(said.exit_code == 0);
  CHECK(said.err.empty());
  CHECK(said.out ==
        "UTC                   LOCAL\n"
        "2026-03-07T07:30:00Z  2026-03-07T02:30:00-05:00\n"
        "2026-03-08T07:00:00Z  2026-03-08T03:00:00-04:00\n"
        "2026-03-09T06:30:00Z  2026-03-09T02:30:00-04:00\n");
}

TEST_CASE("cron answers one object a line and takes the schedule's name") {
  const auto said = sluice_cron(
      {"--json", "*/20 1 * * *", "--zone", "Europe/London", "--from", "2026-10-25T00:20:00Z", "--count", "3"});
  CHECK(said.exit_code == 0);
  CHECK(said.out ==
        "{\"utc\":\"2026-10-25T00:40:00Z\",\"local\":\"2026-10-25T01:40:00+01:00\"}\n"
        "{\"utc\":\"2026-10-25T01:00:00Z\",\"local\":\"2026-10-25T01:00:00+00:00\"}\n"
        "{\"utc\":\"2026-10-25T01:20:00Z\",\"local\":\"2026-10-25T01:20:00+00:00\"}\n");
  const auto hashed = sluice_cron(
      {"H H H * * *", "--name", "casino_cache", "--json", "--from", "2026-01-01T00:00:00Z", "--count", "1"});
  CHECK(hashed.out == "{\"utc\":\"2026-01-01T21:01:42Z\",\"local\":\"2026-01-01T21:01:42+00:00\"}\n");
}

TEST_CASE("cron shows what there is until the end of the years it knows") {
  const auto said = sluice_cron({"@yearly", "--from", "2197-06-01T00:00:00Z", "--json", "--count", "9"});
  CHECK(said.exit_code == 0);
  CHECK(said.out ==
        "{\"utc\":\"2198-01-01T00:00:00Z\",\"local\":\"2198-01-01T00:00:00+00:00\"}\n"
        "{\"utc\":\"2199-01-01T00:00:00Z\",\"local\":\"2199-01-01T00:00:00+00:00\"}\n");
  const auto now = sluice_cron({"@every_second", "--json", "--count", "1"});
  CHECK(now.out.substr(0, 10) == "{\"utc\":\"20");
}

TEST_CASE("cron fails with what is wrong with the expression or the zone") {
  const auto wrong = sluice_cron({"61 * * * *", "--json"});
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.out.empty());
  CHECK(wrong.err.find("cron '61 * * * *': minute, position 1: 61 is out of range; allowed are 0 to 59") !=
        std::string::npos);
  const auto nowhere = sluice_cron({"@daily", "--zone", "Europe/Londn"});
  CHECK(nowhere.exit_code == 1);
  CHECK(nowhere.err.find("there is no time zone 'Europe/Londn'; did you mean 'Europe/London'?") != std::string::npos);
  CHECK(sluice_cron({"30 2 30 2 *"}).err.find("never matches") != std::string::npos);
  CHECK(sluice_cron({"@daily", "--from", "tomorrow"}).exit_code == 2);
  CHECK(sluice_cron({}).exit_code == 2);
}

}  // namespace sluice::test
