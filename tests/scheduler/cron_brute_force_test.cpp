// next() and previous() beside a look at the clock every second, over random expressions.
//   unit_tests "[.long]"   more of it, over more zones
#include "scheduler/cron_brute_force.hpp"

#include <algorithm>

#include "scheduler/cron_times.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::vector<std::string> zones{
    "Africa/Cairo",        "Africa/Casablanca", "Africa/El_Aaiun",     "Africa/Juba",          "Africa/Monrovia",
    "Africa/Windhoek",     "America/Adak",      "America/Anchorage",   "America/Asuncion",     "America/Caracas",
    "America/Chicago",     "America/Havana",    "America/Los_Angeles", "America/Montevideo",   "America/New_York",
    "America/Nuuk",        "America/Santiago",  "America/Sao_Paulo",   "America/Scoresbysund", "America/St_Johns",
    "Antarctica/Troll",    "Asia/Amman",        "Asia/Beirut",         "Asia/Colombo",         "Asia/Damascus",
    "Asia/Famagusta",      "Asia/Gaza",         "Asia/Jerusalem",      "Asia/Kathmandu",       "Asia/Kolkata",
    "Asia/Pyongyang",      "Asia/Sakhalin",     "Asia/Tehran",         "Asia/Tokyo",           "Australia/Adelaide",
    "Australia/Lord_Howe", "Australia/Sydney",  "Europe/Dublin",       "Europe/Istanbul",      "Europe/Lisbon",
    "Europe/London",       "Europe/Moscow",     "Europe/Volgograd",    "Pacific/Apia",         "Pacific/Auckland",
    "Pacific/Chatham",     "Pacific/Easter",    "Pacific/Fakaofo",     "Pacific/Kiritimati",   "Pacific/Kwajalein",
    "Pacific/Norfolk",     "Pacific/Tongatapu",
};

constexpr std::int64_t hour = 3600, day = 86400;
constexpr std::int64_t before_change = 3 * hour;  // of a zone's clock, where a comparison begins
const std::int64_t year_1970 = 0;
const std::int64_t year_2071 = 3'187'296'000;

struct amounts {
  int changes;      // of each zone's clock; all of them if it has fewer
  int expressions;  // at each change
  int years;        // whole ones, of each zone
  int in_a_year;    // expressions
  std::int64_t stride;
};

std::int64_t seconds_of(time_point at) {
  return std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
}
time_point at_second(std::int64_t s) { return time_point(std::chrono::seconds(s)); }

// Compares what `c` says from `from` to before `to` with `wanted`; answers the first difference.
std::string difference(const cron& c, const time_zone& zone, const std::vector<std::int64_t>& wanted, std::int64_t from,
                       std::int64_t to, random_numbers& r) {
  constexpr std::size_t most = 300;  // in a row
  const auto utc = time_zone::utc();
  const auto told = [&](const char* what, std::int64_t asked, std::optional<time_point> got, const std::int64_t* want) {
    return c.text() + " in " + zone.name() + ": " + what + "(" + written(at_second(asked), utc) + ") is " +
           (got ? written(*got, utc) : "none") + ", not " + (want ? written(at_second(*want), utc) : "beyond");
  };
  const auto check_next = [&](std::int64_t asked, std::size_t want) {
    const auto got = c.next(at_second(asked) + duration(r.below(1'000'000)), zone);
    const bool same = want < wanted.size() ? got && *got == at_second(wanted[want]) : !got || *got >= at_second(to);
    return same ? "" : told("next", asked, got, want < wanted.size() ? &wanted[want] : nullptr);
  };
  const auto check_previous = [&](std::int64_t asked, std::size_t after) {  // wanted[after - 1], if any
    const auto got = c.previous(at_second(asked) + duration(r.below(1'000'000)), zone);
    const bool same = after > 0 ? got && *got == at_second(wanted[after - 1]) : !got || seconds_of(*got) < from;
    return same ? "" : told("previous", asked, got, after > 0 ? &wanted[after - 1] : nullptr);
  };
  for (std::size_t i = 0; i <= std::min(wanted.size(), most); ++i)
    if (auto d = check_next(i == 0 ? from - 1 : wanted[i - 1], i); !d.empty()) return d;
  for (std::size_t i = 0; i <= std::min(wanted.size(), most); ++i) {
    const auto after = wanted.size() - i;
    if (auto d = check_previous(i == 0 ? to - 1 : wanted[after] - 1, after); !d.empty()) return d;
  }
  for (int n = 0; n < 50; ++n) {
    // Also from each side of the change of the clock.
    const auto asked = n < 4 ? from + before_change - 2 + n : from + r.below(static_cast<int>(to - from));
    const auto after = std::upper_bound(wanted.begin(), wanted.end(), asked) - wanted.begin();
    if (auto d = check_next(asked, static_cast<std::size_t>(after)); !d.empty()) return d;
    if (auto d = check_previous(asked, static_cast<std::size_t>(after)); !d.empty()) return d;
  }
  return {};
}

struct outcome {
  std::size_t compared = 0, occurrences = 0;
  std::string wrong;
};

// One expression, if it is one (some never match), between two instants.
void compare(outcome& o, const std::string& zone, const c_library_zone& as_told, std::int64_t from, std::int64_t to,
             bool seconds, int step, random_numbers& r) {
  const made_expression e(r, seconds);
  const int second_of = seconds ? 0 : r.once_in(2) ? 0 : r.below(60);
  const auto c = cron::parse(e.text, {}, static_cast<unsigned>(second_of));
  const auto wanted = by_brute_force(e, as_told, from, to, second_of, step);
  if (!c) {
    if (!wanted.empty() || c.error().message.find("never matches") == std::string::npos)
      o.wrong = e.text + ": " + c.error().message;
    return;
  }
  ++o.compared;
  o.occurrences += wanted.size();
  o.wrong = difference(*c, zone_named(zone), wanted, from, to, r);
  if (!o.wrong.empty()) o.wrong = e.text + ": " + o.wrong;
}

bool whole_minutes(const c_library_zone& zone, std::int64_t from, std::int64_t to) {
  const auto& all = zone.pieces();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].begin < to && (i + 1 == all.size() || all[i + 1].begin > from) &&
        ((all[i].begin > from && all[i].begin % 60 != 0) || all[i].offset % 60 != 0))
      return false;
  return true;
}

// Those of another size than an hour first, each kind in a random order.
std::vector<std::int64_t> changes_of(const c_library_zone& zone, random_numbers& r) {
  std::vector<std::pair<int, std::int64_t>> all;
  for (std::size_t i = 1; i < zone.pieces().size(); ++i) {
    const bool hourly = std::abs(zone.pieces()[i].offset - zone.pieces()[i - 1].offset) == hour;
    all.emplace_back(r.below(1'000'000) + (hourly ? 1'000'000 : 0), zone.pieces()[i].begin);
  }
  std::sort(all.begin(), all.end());
  std::vector<std::int64_t> instants;
  for (const auto& [order, at] : all)
    instants.push_back(at);
  return instants;
}

outcome compare_zone(const std::string& zone, const amounts& many, std::uint64_t seed) {
  random_numbers r(seed);
  outcome o;
  const c_library_zone told(zone, year_1970 - 10 * day, year_2071, many.stride);
  // Around a change of the clock, every second.
  auto changes = changes_of(told, r);
  while (static_cast<int>(changes.size()) > many.changes)
    changes.pop_back();
  for (const auto at : changes)
    for (int n = 0; n < many.expressions && o.wrong.empty(); ++n)
      compare(o, zone, told, at - before_change, at + 27 * hour, r.once_in(4), 1, r);
  // A whole year, every minute.
  for (int n = 0; n < many.years; ++n) {
    const auto from = r.between(0, 99) * 365 * day + day;
    if (!whole_minutes(told, from - 2 * day, from + 366 * day)) continue;
    for (int i = 0; i < many.in_a_year && o.wrong.empty(); ++i)
      compare(o, zone, told, from, from + 366 * day, false, 60, r);
  }
  return o;
}

std::string compare_zones(const std::vector<std::string>& names, const amounts& many, std::uint64_t seed) {
  std::size_t compared = 0, occurrences = 0;
  for (const auto& zone : names) {
    const auto o = compare_zone(zone, many, ++seed);
    INFO("seed " << seed);
    REQUIRE(o.wrong == "");
    compared += o.compared;
    occurrences += o.occurrences;
  }
  // Most windows must have something in them, or nothing was compared.
  CHECK(occurrences > 10 * compared);
  return std::to_string(compared) + " expressions, " + std::to_string(occurrences) + " occurrences";
}

}  // namespace

TEST_CASE("in fifty zones next and previous are what a look at the clock every second finds") {
  INFO(compare_zones(zones, {6, 6, 1, 4, 6 * hour}, 20260308));
}

TEST_CASE("in fifty zones next and previous are what the clock shows at each of its changes", "[.long]") {
  for (std::uint64_t round = 0; round < 2; ++round)
    WARN(compare_zones(zones, {1000, 4, 3, 10, hour}, 77'000 + 100 * round));
}

TEST_CASE("days that are rare are found over a hundred years") {
  random_numbers r(29022044);
  std::vector<calendar_day> calendar;
  for (std::int64_t n = 0; n < 47'482; ++n)  // 1970 to 2099
    calendar.push_back(calendar_day::of(n));
  int rare = 0, refused = 0;
  for (int n = 0; n < 1'500; ++n) {
    const made_expression e(r, false, true);
    INFO(e.text);
    std::vector<std::int64_t> days;
    for (std::size_t d = 0; d < calendar.size(); ++d)
      if (e.matches_day(calendar[d])) days.push_back(static_cast<std::int64_t>(d));
    const auto c = cron::parse(e.text);
    if (!c) {
      ++refused;
      REQUIRE(days.empty());
      continue;
    }
    rare += days.size() < 40;
    auto at = at_second(-1);
    for (const auto d : days) {
      const auto got = c->next(at, time_zone::utc());
      REQUIRE(got);
      REQUIRE(seconds_of(*got) / day == d);
      at = at_second((d + 1) * day - 1);
    }
  }
  CHECK(rare > 100);
  CHECK(refused > 10);
}
