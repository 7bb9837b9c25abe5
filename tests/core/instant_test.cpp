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

TEST_CASE("what is no instant is not read as one") {
  for (const auto* text : {"",
                           "Z",
                           "now",
                           "2026-03-08",
                           "2026-03-08T07:00:00",
                           "2026-03-08T07:00:00+01:00",
                           "2026-03-08 07:00:00Z",
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
