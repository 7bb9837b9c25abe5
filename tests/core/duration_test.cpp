#include "core/text.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;

TEST_CASE("a duration is a number with a unit") {
  const std::vector<std::pair<std::string, duration>> table{
      {"250ms", 250ms}, {"30s", 30s}, {"5m", 5min},    {"24h", 24h}, {"30d", 720h}, {"1.5s", 1500ms},  {"0.5h", 30min},
      {"7us", 7us},     {"0s", 0s},   {"0.001s", 1ms}, {"1m", 1min}, {"1ms", 1ms},  {"3650d", 87600h}, {"0.1us", 0us},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    const auto read = parse_duration(text);
    REQUIRE(read);
    CHECK(*read == expected);
  }
}

TEST_CASE("what is no duration is refused") {
  const auto text = GENERATE(as<std::string>{}, "", "5", "s", "ms", "-5s", "- 5s", " 5s", "5s ", "5 s", "5S",
                             "5 minutes", "5sec", "1h30m", "5,5s", "0x5s", "+5s", "nans", "infs", "inf", "1e300d",
                             "3651d", "5ss", "s5", ".s", "five seconds", "\n5s");
  CAPTURE(text);
  CHECK_FALSE(parse_duration(text));
}

TEST_CASE("a duration with a NUL byte in it is refused") {
  CHECK_FALSE(parse_duration(std::string("5s\0", 3)));
  CHECK_FALSE(parse_duration(std::string("\0", 1)));
}

TEST_CASE("a time of joined units is told as one number with one unit") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"1h30m", "90m"},      {"1h 30m", "90m"},   {"1m30s", "90s"}, {"1d12h", "36h"},
      {"2s500ms", "2500ms"}, {"1h0m5s", "3605s"}, {"1.5h30m", "2h"}};
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    CHECK(in_one_unit(text) == expected);
    CHECK(parse_duration(expected));
  }
  const auto other = GENERATE(as<std::string>{}, "", "90m", "1h30", "h30m", "1h30x", "1h-30m", "1h,30m", " ", "1h30m!",
                              "3650d1h", "soon", "1e5h1m", "1 h 30 m");
  CAPTURE(other);
  CHECK_FALSE(in_one_unit(other));
}

TEST_CASE("a duration is written in its shortest exact form") {
  CHECK(format_duration(0s) == "0s");
  CHECK(format_duration(1500ms) == "1500ms");
  CHECK(format_duration(30s) == "30s");
  CHECK(format_duration(90s) == "90s");
  CHECK(format_duration(60s) == "1m");
  CHECK(format_duration(24h) == "24h");
  CHECK(format_duration(720h) == "720h");
  CHECK(format_duration(1us) == "1us");
  CHECK(format_duration(1001us) == "1001us");
}

TEST_CASE("every duration reads back as it was written") {
  const std::vector<duration> table{0s, 1us,   999us, 1ms, 1001us, 1500ms, 59s,          1min,          61s,
                                    1h, 3601s, 24h,   25h, 8760h,  87600h, 87600h - 1us, 123456789012us};
  for (const auto d : table) {
    CAPTURE(d.count());
    const auto read = parse_duration(format_duration(d));
    REQUIRE(read);
    CHECK(*read == d);
  }
}

TEST_CASE("an instant is written in UTC with milliseconds") {
  CHECK(format_time(time_point{}) == "1970-01-01T00:00:00.000Z");
  CHECK(format_time(time_point(duration(1'772'953'200'000'000))) == "2026-03-08T07:00:00.000Z");
  CHECK(format_time(time_point(duration(1'772'953'200'045'999))) == "2026-03-08T07:00:00.045Z");
  CHECK(format_time(time_point(duration(951'782'400'000'000))) == "2000-02-29T00:00:00.000Z");
  CHECK(format_time(time_point(duration(253'402'300'799'999'000))) == "9999-12-31T23:59:59.999Z");
}

TEST_CASE("an instant before 1970 is written right") {
  CHECK(format_time(time_point(duration(-1'000))) == "1969-12-31T23:59:59.999Z");
  CHECK(format_time(time_point(duration(-1'000'000))) == "1969-12-31T23:59:59.000Z");
}

TEST_CASE("written instants sort as the instants do") {
  std::string before;
  for (std::int64_t us = 1'000'000; us < 4'000'000'000'000'000; us = us * 3 + 1'000) {
    const auto text = format_time(time_point(duration(us)));
    CHECK(before < text);
    before = text;
  }
}
