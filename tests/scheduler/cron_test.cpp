#include "scheduler/cron_times.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* new_york = "America/New_York";

std::string refusal(const std::string& text, const std::string& name = {}, unsigned second = 0) {
  const auto c = cron::parse(text, name, second);
  if (c) return "was accepted as " + c->text();
  CHECK(c.error().code == errc::invalid_argument);
  return c.error().message;
}

std::string canonical(const std::string& text, const std::string& name = {}) { return parsed(text, name).text(); }

// After 2026-01-01 in UTC.
texts in_2026(const std::string& text, std::size_t count) {
  return occurrences(text, "UTC", "2026-01-01T00:00:00Z", count);
}

}  // namespace

TEST_CASE("an expression of five fields runs at second 0 or the one that is given") {
  CHECK(in_2026("*/10 * * * *", 2) == texts{"2026-01-01T00:10:00Z", "2026-01-01T00:20:00Z"});
  const auto c = parsed("*/10 * * * *", "casino", 17);
  CHECK(occurrences(c, "UTC", "2026-01-01T00:00:16Z", 2) == texts{"2026-01-01T00:00:17Z", "2026-01-01T00:10:17Z"});
  CHECK_FALSE(c.has_seconds());
  CHECK(c.text() == "17 */10 * * * *");
  CHECK(parsed(c.text()) == c);
  CHECK(parsed("30 */10 * * * *", "casino", 17).text() == "30 */10 * * * *");
  CHECK(refusal("* * * * *", {}, 60).find("the second 60 is out of range; it is 0 to 59") != std::string::npos);
}

TEST_CASE("numbers and names and ranges and steps and lists are one language") {
  CHECK(canonical("0 9 * jan,MAR Mon-fri") == "0 9 * 1,3 1-5");
  CHECK(canonical("0 22-2 * NOV-FEB FRI-MON") == "0 0-2,22,23 * 1,2,11,12 0,1,5,6");
  CHECK(canonical("5/20 8-18/2 1,15,20-25 */3 ?") == "5/20 8-18/2 1,15,20-25 */3 *");
  CHECK(canonical("*/2 23-3/2 * * 7") == "*/2 1,3,23 * * 0");
  CHECK(canonical("0 0 * * 5-7") == "0 0 * * 0,5,6");
  CHECK(canonical("0 0 * * 1/2") == "0 0 * * 0,1,3,5");
  CHECK(canonical("0 0 * * 7-2") == "0 0 * * 0-2");
  CHECK(canonical(" 0\t0  * * 7-7 ") == "0 0 * * 0");
  CHECK(canonical("0 0 * * 0-7") == "0 0 * * *");
  CHECK(canonical("*/1 * * * *") == "* * * * *");
}

TEST_CASE("macros stand for expressions in any case") {
  CHECK(canonical("@every_second") == "* * * * * *");
  CHECK(parsed("@every_second").has_seconds());
  CHECK(canonical("@Every_Minute") == "* * * * *");
  CHECK(canonical("@HOURLY") == "0 * * * *");
  CHECK(canonical("@daily") == "0 0 * * *");
  CHECK(canonical("@midnight") == "0 0 * * *");
  CHECK(canonical("@weekly") == "0 0 * * 0");
  CHECK(canonical("@monthly") == "0 0 1 * *");
  CHECK(canonical("@yearly") == "0 0 1 1 *");
  CHECK(canonical("@annually") == "0 0 1 1 *");
}

TEST_CASE("both day fields must match") {
  CHECK(in_2026("0 0 13 * FRI", 3) == texts{"2026-02-13T00:00:00Z", "2026-03-13T00:00:00Z", "2026-11-13T00:00:00Z"});
  CHECK(in_2026("0 0 29 2 MON", 2) == texts{"2044-02-29T00:00:00Z", "2072-02-29T00:00:00Z"});
}

TEST_CASE("L counts from the end of the month") {
  CHECK(in_2026("0 0 L * *", 2) == texts{"2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"});
  CHECK(in_2026("0 0 L-2 * *", 2) == texts{"2026-01-29T00:00:00Z", "2026-02-26T00:00:00Z"});
  CHECK(in_2026("0 0 L-30 * *", 2) == texts{"2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z"});
  CHECK(in_2026("0 0 L 2 *", 3) == texts{"2026-02-28T00:00:00Z", "2027-02-28T00:00:00Z", "2028-02-29T00:00:00Z"});
}

TEST_CASE("W is the nearest weekday and stays in the month") {
  // 2026-02-01 is a Sunday, 2026-08-01 a Saturday; 2026-02-28 a Saturday, 2026-05-31 a Sunday.
  CHECK(in_2026("0 0 1W 2,8 *", 2) == texts{"2026-02-02T00:00:00Z", "2026-08-03T00:00:00Z"});
  CHECK(in_2026("0 0 LW 2,5 *", 2) == texts{"2026-02-27T00:00:00Z", "2026-05-29T00:00:00Z"});
  CHECK(in_2026("0 0 15W 8,11 *", 2) == texts{"2026-08-14T00:00:00Z", "2026-11-16T00:00:00Z"});
  CHECK(in_2026("0 0 L-1W 2 *", 1) == texts{"2026-02-27T00:00:00Z"});
  CHECK(in_2026("0 0 31W * *", 2) == texts{"2026-01-30T00:00:00Z", "2026-03-31T00:00:00Z"});
}

TEST_CASE("a weekday may be one of the month") {
  CHECK(in_2026("0 0 * * 6#3", 2) == texts{"2026-01-17T00:00:00Z", "2026-02-21T00:00:00Z"});
  CHECK(in_2026("0 0 * * FRI#5", 2) == texts{"2026-01-30T00:00:00Z", "2026-05-29T00:00:00Z"});
  CHECK(in_2026("0 0 * * 5L", 2) == texts{"2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"});
  CHECK(in_2026("0 0 * * sunL", 2) == texts{"2026-01-25T00:00:00Z", "2026-02-22T00:00:00Z"});
  CHECK(canonical("0 0 * * 7#1") == "0 0 * * 0#1");
}

TEST_CASE("H is the same for a name for ever and differs between names and fields") {
  CHECK(canonical("H H * * *", "casino_cache") == canonical("h h * * *", "casino_cache"));
  CHECK(canonical("H H H H H H", "casino_cache") == "42 1 21 6 6 1");
  CHECK(canonical("H/15 * * * *", "casino_cache") == "1/15 * * * *");
  CHECK(canonical("H(0-29)/10 H(22-3) * * *", "casino_cache") == "1-21/10 1 * * *");
  std::vector<int> minutes(60);
  for (int i = 0; i < 6000; ++i)
    ++minutes[std::stoul(canonical("H * * * *", "tenant-" + std::to_string(i)))];
  for (const int n : minutes)
    CHECK((n > 50 && n < 160));
}

TEST_CASE("H in a field stays in what each month has") {
  for (int i = 0; i < 200; ++i) {
    const auto name = "report-" + std::to_string(i);
    CHECK(std::stoi(canonical("0 0 H * *", name).substr(4)) <= 28);
    const auto hours = canonical("0 H(22-3) * * *", name);
    CHECK((hours == "0 22 * * *" || hours == "0 23 * * *" || hours == "0 0 * * *" || hours == "0 1 * * *" ||
           hours == "0 2 * * *" || hours == "0 3 * * *"));
    const auto c = parsed("H/20 * * * *", name);
    CHECK(occurrences(c, "UTC", "2025-12-31T23:59:59Z", 9).size() == 9);
  }
}

TEST_CASE("what is printed is read as the same") {
  for (const auto* text : {"0,1,2,3 4,5 * * *", "5-5 3 * * *", "5,9-9 3 * * *", "0 */5 * * *", "1 2 3 4 5",
                           "10-40/10 0 L-3W 2-11/3 *", "* * * * * *", "0 0 0 1 1 *", "59 23 * * 1-5/2", "0 0 ? ? 2L"}) {
    const auto c = parsed(text);
    INFO(text << " is printed as " << c.text());
    CHECK(parsed(c.text()) == c);
    CHECK(parsed(c.text()).text() == c.text());
  }
  CHECK_FALSE(parsed("5-5 3 * * *") == parsed("5 3 * * *"));  // one runs in both passes of an overlap
  CHECK(parsed("0 0 3 * * *") == parsed("0 3 * * *"));
}

TEST_CASE("an error names the field and the position and what is allowed") {
  CHECK(refusal("61 * * * *") == "cron '61 * * * *': minute, position 1: 61 is out of range; allowed are 0 to 59");
  CHECK(refusal("0 24 * * *") == "cron '0 24 * * *': hour, position 3: 24 is out of range; allowed are 0 to 23");
  CHECK(
      refusal("0 0 0 * *") ==
      "cron '0 0 0 * *': day of month, position 5: 0 is out of range; allowed are 1 to 31, L, L-0 to L-30, 1W to 31W, "
      "LW");
  CHECK(refusal("0 0 * FOO *") ==
        "cron '0 0 * FOO *': month, position 7: 'FOO' is not known; allowed are 1 to 12, JAN to DEC");
  CHECK(refusal("0 0 * * 8") ==
        "cron '0 0 * * 8': day of week, position 9: 8 is out of range; allowed are 0 to 7, SUN to SAT, 5L (the last), "
        "6#3 (the third)");
  CHECK(refusal("*/0 * * * *") == "cron '*/0 * * * *': minute, position 3: 0 is out of range; a step is 1 to 59");
  CHECK(refusal("1,,2 * * * *") ==
        "cron '1,,2 * * * *': minute, position 3: ',' is not expected here; allowed are *, H, 0 to 59, ranges as a-b, "
        "steps as */n, lists as a,b");
  CHECK(refusal("*,5 * * * *") ==
        "cron '*,5 * * * *': minute, position 1: *, ?, L, W and # stand alone, not in a list");
  CHECK(refusal("0 0 1,L * *").find("day of month, position 7: *, ?, L, W and #") != std::string::npos);
  CHECK(refusal("0 0 * * 1#6").find("day of week, position 11: 6 is out of range; the week of the month is 1 to 5") !=
        std::string::npos);
  CHECK(refusal("0 0 L-31 * *").find("day of month, position 7: 31 is out of range; before L stand 0 to 30 days") !=
        std::string::npos);
  CHECK(refusal("H * * * *").find("minute, position 1: H is a hash of the schedule's name, and no name was given") !=
        std::string::npos);
  CHECK(refusal("* * * *").find("it has 4 fields; 5 are needed") != std::string::npos);
  CHECK(refusal("").find("it has 0 fields; 5 are needed") != std::string::npos);
  CHECK(refusal("* * * * * * *").find("it has 7 fields") != std::string::npos);
  CHECK(refusal("@dayly").find("no such macro; known are @every_second") != std::string::npos);
  CHECK(refusal("@dayly").find("did you mean '@daily'?") != std::string::npos);
  CHECK(refusal("@every 5m").find("leave cron out and write every=5m, or in a file \"every\": \"5m\"") !=
        std::string::npos);
  CHECK(refusal("@Every 1h30m").find("write every=90m,") != std::string::npos);
  CHECK(refusal("@every  1h 30m").find("write every=90m,") != std::string::npos);
  CHECK(refusal("@every").find("write every=5m,") != std::string::npos);
  CHECK(refusal("TZ=Asia/Tokyo 30 4 * * *").find("write zone=Asia/Tokyo beside it") != std::string::npos);
  CHECK(refusal("CRON_TZ=Asia/Tokyo 30 4 * * *").find("\"zone\": \"Asia/Tokyo\"") != std::string::npos);
  CHECK(refusal("CRON_TZ=UTC @daily").find("--zone UTC") != std::string::npos);
  CHECK(refusal("@reboot").find("no such macro; known are @every_second") != std::string::npos);
  CHECK(refusal("\x1b[2J * * * *").find('\x1b') == std::string::npos);
  CHECK(refusal(std::string(2000, '1')).find("it has 2000 characters; at most 1000 are allowed") != std::string::npos);
  CHECK(refusal("99999999999999999999 * * * *").find("99999999999999999999 is out of range") != std::string::npos);
}

TEST_CASE("an expression that never matches is refused") {
  for (const auto* text : {"30 2 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 MON", "0 0 L-30 4 *", "0 0 8 * 1#1",
                           "0 0 1 * 2L", "0 0 LW * SAT", "0 0 31W 2 *"})
    CHECK(refusal(text).find("never matches") != std::string::npos);
  CHECK(canonical("0 0 29 2 *") == "0 0 29 2 *");
}

TEST_CASE("what falls into a gap runs once at the first instant after it") {
  const auto* before = "2026-03-08T01:00:00-05:00";
  CHECK(occurrences("30 2 * * *", new_york, before, 2) ==
        texts{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"});
  CHECK(occurrences("0 2,3 * * *", new_york, before, 2) ==
        texts{"2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"});
  CHECK(occurrences("*/30 * * * *", new_york, before, 3) ==
        texts{"2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"});
  CHECK(occurrences("15 0 6 10 *", "America/Asuncion", "2024-01-01T00:00:00Z", 1) ==
        texts{"2024-10-06T01:00:00-03:00"});  // the gap begins at midnight
}

TEST_CASE("in an overlap an expression with a range or step or star runs twice and any other once") {
  const auto* before = "2026-11-01T01:00:00-04:00";
  CHECK(occurrences("30 1 * * *", new_york, before, 2) ==
        texts{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"});
  CHECK(occurrences("*/30 1 * * *", new_york, before, 4) ==
        texts{"2026-11-01T01:30:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00",
              "2026-11-02T01:00:00-05:00"});
  CHECK(occurrences("0,30 1 * * *", new_york, before, 2) ==
        texts{"2026-11-01T01:30:00-04:00", "2026-11-02T01:00:00-05:00"});
  CHECK(occurrences("30 * * * *", new_york, before, 2) ==
        texts{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00"});
  // Half an hour, as nobody else has it.
  CHECK(occurrences("*/15 1 * * *", "Australia/Lord_Howe", "2026-04-05T01:29:00+11:00", 6) ==
        texts{"2026-04-05T01:30:00+11:00", "2026-04-05T01:45:00+11:00", "2026-04-05T01:30:00+10:30",
              "2026-04-05T01:45:00+10:30", "2026-04-06T01:00:00+10:30", "2026-04-06T01:15:00+10:30"});
  // From within the second pass a fixed time has been.
  CHECK(occurrences("30 1 * * *", new_york, "2026-11-01T01:10:00-05:00", 1) == texts{"2026-11-02T01:30:00-05:00"});
}

TEST_CASE("a day that a zone left out runs at the first instant after it") {
  CHECK(occurrences("0 12 30 12 *", "Pacific/Apia", "2011-01-01T00:00:00Z", 2) ==
        texts{"2011-12-31T00:00:00+14:00", "2012-12-30T12:00:00+14:00"});
  CHECK(occurrences("0 6 * * *", "Pacific/Apia", "2011-12-29T05:00:00-10:00", 3) ==
        texts{"2011-12-29T06:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T06:00:00+14:00"});
}

TEST_CASE("zones go on by their rule after 2037") {
  CHECK(occurrences("30 2 * 3 SUN#2", new_york, "2069-01-01T00:00:00Z", 1) == texts{"2069-03-10T03:00:00-04:00"});
  CHECK(occurrences("30 12 1 7 *", "Europe/London", "2150-01-01T00:00:00Z", 1) == texts{"2150-07-01T12:30:00+01:00"});
}

TEST_CASE("previous is the last that is not later") {
  const auto zone = zone_named(new_york);
  const auto before = [&](const std::string& text, const std::string& at) {
    const auto found = parsed(text).previous(instant_of(at), zone);
    return found ? written(*found, zone) : "none";
  };
  CHECK(before("30 2 * * *", "2026-03-08T03:00:00-04:00") == "2026-03-08T03:00:00-04:00");
  CHECK(before("30 2 * * *", "2026-03-08T02:59:59-04:00") == "2026-03-07T02:30:00-05:00");
  CHECK(before("30 1 * * *", "2026-11-01T01:45:00-05:00") == "2026-11-01T01:30:00-04:00");
  CHECK(before("*/30 1 * * *", "2026-11-01T01:45:00-05:00") == "2026-11-01T01:30:00-05:00");
  CHECK(before("*/30 1 * * *", "2026-11-01T01:15:00-05:00") == "2026-11-01T01:00:00-05:00");
}

TEST_CASE("occurrences are searched for from 1900 to 2199 and parts of a second do not count") {
  const auto c = parsed("0 0 1 1 *");
  const auto utc = time_zone::utc();
  CHECK(c.next(time_point::min(), utc) == instant_of("1900-01-01T00:00:00Z"));
  CHECK(c.previous(time_point::max(), utc) == instant_of("2199-01-01T00:00:00Z"));
  CHECK_FALSE(c.next(instant_of("2199-01-01T00:00:00Z"), utc));
  CHECK_FALSE(c.next(time_point::max(), utc));
  CHECK_FALSE(c.previous(time_point::min(), utc));
  CHECK_FALSE(c.previous(instant_of("1900-01-01T00:00:00Z") - 1us, utc));
  const auto then = instant_of("2026-01-01T00:00:00Z");
  CHECK(c.next(then - 1us, utc) == then);
  CHECK(c.next(then + 1us, utc) == instant_of("2027-01-01T00:00:00Z"));
  CHECK(c.previous(then - 1us, utc) == instant_of("2025-01-01T00:00:00Z"));
  CHECK(c.previous(then + 1us, utc) == then);
}
