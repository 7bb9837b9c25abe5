// Instants and local times as tests write them.
#pragma once

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include <sluice/cron.hpp>

#include "support/catch.hpp"

namespace sluice::test {

// "2026-03-08T07:00:00Z", or with an offset, "2026-03-08T03:00:00-04:00".
inline time_point instant_of(const std::string& text) {
  std::tm t{};
  int hours = 0, minutes = 0, end = 0;
  char sign = 'Z';
  const int read = std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%d%n%c%d:%d", &t.tm_year, &t.tm_mon, &t.tm_mday,
                               &t.tm_hour, &t.tm_min, &t.tm_sec, &end, &sign, &hours, &minutes);
  REQUIRE((read == 7 || read == 9));
  t.tm_year -= 1900;
  t.tm_mon -= 1;
  const auto ahead = (sign == '-' ? -1 : 1) * (hours * 60 + minutes) * 60;
  return time_point(std::chrono::seconds(::timegm(&t) - ahead));
}

inline std::string written(time_point at, const time_zone& zone) {
  const auto offset = zone.offset_at(at);
  const std::time_t local = std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch() + offset).count();
  std::tm t{};
  ::gmtime_r(&local, &t);
  char text[48];
  const auto used = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
  if (zone.name() == "UTC") return std::string(text, used) + "Z";
  const auto minutes = std::abs(offset.count()) / 60;
  char tail[16];
  std::snprintf(tail, sizeof tail, "%c%02d:%02d", offset.count() < 0 ? '-' : '+', static_cast<int>(minutes / 60),
                static_cast<int>(minutes % 60));
  return std::string(text, used) + tail;
}

inline time_zone zone_named(const std::string& name) {
  auto found = time_zone::find(name);
  INFO(name << (found ? "" : ": " + found.error().message));
  REQUIRE(found);
  return *found;
}

inline cron parsed(const std::string& text, const std::string& name = {}, unsigned second = 0) {
  auto c = cron::parse(text, name, second);
  INFO(text << (c ? "" : ": " + c.error().message));
  REQUIRE(c);
  return *c;
}

using texts = std::vector<std::string>;

// The first occurrences after `from`, in the zone's local time.
inline texts occurrences(const cron& c, const std::string& zone_name, const std::string& from, std::size_t count) {
  const auto zone = zone_named(zone_name);
  texts all;
  for (auto at = c.next(instant_of(from), zone); at && all.size() < count; at = c.next(*at, zone))
    all.push_back(written(*at, zone));
  return all;
}

inline texts occurrences(const std::string& text, const std::string& zone, const std::string& from, std::size_t count) {
  return occurrences(parsed(text), zone, from, count);
}

}  // namespace sluice::test
