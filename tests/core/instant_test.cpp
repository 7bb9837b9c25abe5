#include "core/instant.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"

using namespace sluice;

TEST_CASE("an instant is read as it is written") {
  for (const auto* text : {"2026-03-08T07:00:00.000Z", "1970-01-01T00:00:00.001Z", "1900-01-01T00:00:00.000Z",
                           "2199-12-31T23:59:59.999Z", "2028-02-29T12:30:45.678Z"}) {
    const auto at = parse_time(text);
    REQUIRE(at);
    CHECK(format_time(*at) == text);
  }
  CHECK(parse_time("1970-01-01T00:00:01Z") == from_micros(1'000'000));
  CHECK(parse_time("1970-01-01T00:01Z") == from_micros(60'000'000));
  CHECK(parse_time("1970-01-01T00:00:01.5Z") == from_micros(1'500'000));
  CHECK(parse_time("1970-01-01T00:00:01.000001Z") == from_micros(1'000'001));
}

TEST_CASE("an instant is read as people write it, by whatever clock") {
  for (const auto* text : {"2026-03-08T07:00Z", "2026-03-08t07:00:00z", "2026-03-08 07:00Z", "2026-03-08T08:00+01:00",
                           "2026-03-08T12:30:00.000+05:30", "2026-03-07T23:00:00-08:00", "2026-03-08T07:00:00+00:00"}) {
    CAPTURE(text);
    CHECK(parse_time(text) == parse_time("2026-03-08T07:00:00Z"));
  }
}

TEST_CASE("what is no time or instant is told with what is missing") {
  CHECK(no_instant("2026-12-01").find("needs a time of day: midnight in UTC is 2026-12-01T00:00Z") == 0);
  CHECK(no_instant("2026-12-01T09:30").find("needs an offset: in UTC it is 2026-12-01T09:30Z") == 0);
  CHECK(no_instant("2026-13-01").find("must be an instant of 1900 to 2199") == 0);
  CHECK(no_time("5", ranges::timeout) == "needs a unit: 5s, 5m, 5h or 5d; it is a time of 1ms to 30d");
  CHECK(no_time("11y", ranges::seal_within) ==
        "must be a time of 1s to 3650d, as 30s (units: us ms s m h d), not '11y'");
  CHECK(no_time("1h30m", ranges::seal_within) ==
        "needs one number with one unit, for units cannot be joined: write 90m for '1h30m'; it is a time of 1s to "
        "3650d");
  CHECK(no_since("1d12h") == "needs one number with one unit, for units cannot be joined: write 36h for '1d12h'");
  CHECK(no_since("2").find("needs a unit: 2s") == 0);
  CHECK(no_since("2026-12-01").find("needs a time of day") == 0);
  CHECK(no_since("soon\n") == "must be a time, as 2h, or an instant, as 2026-03-08T07:00Z, not 'soon\\x0a'");
}

TEST_CASE("what is no instant is not read as one") {
  for (const auto* text : {"",
                           "Z",
                           "now",
                           "2026-03-08",
                           "2026-03-08T07:00:00",
                           "2026-03-08T07:00:00+1:00",
                           "2026-03-08T07:00:00+0100",
                           "2026-03-08T07:00:00+01",
                           "2026-03-08T07:00:00+24:00",
                           "2026-03-08T07:00:00+01:00Z",
                           "2026-03-08  07:00:00Z",
                           "2026-03-08_07:00:00Z",
                           "2026-02-29T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-01-00T00:00:00Z",
                           "2026-01-01T24:00:00Z",
                           "2026-01-01T00:60:00Z",
                           "2026-01-01T00:00:60Z",
                           "1899-12-31T23:59:59Z",
                           "2200-01-01T00:00:00Z",
                           "2026-01-01T00:00:00.Z",
                           "2026-01-01T00:00:00.1234567Z",
                           "2026-01-01T00:00:00,5Z",
                           "2026-01-01T00:00:00.5xZ",
                           "2026-01-01T00:00:00ZZ",
                           "-026-01-01T00:00:00Z",
                           "2026-01-01T00:00:00\x00Z"}) {
    INFO(text);
    CHECK_FALSE(parse_time(text));
  }
}
