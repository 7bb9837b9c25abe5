// What the next occurrence costs, beside a walk from minute to minute through local time as the C library tells it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include <sluice/cron.hpp>

namespace {

using steady = std::chrono::steady_clock;
using sluice::cron;
using sluice::time_point;
using sluice::time_zone;

template <class T>
T must(sluice::result<T> r) {
  if (r) return std::move(*r);
  std::fprintf(stderr, "bench: %s\n", sluice::to_string(r.error()).c_str());
  std::exit(1);
}

// Median of one call, in microseconds; a reading of the clock is taken off.
template <class Call>
double median_us(int calls, Call call) {
  std::vector<double> all;
  for (int n = 0; n < calls; ++n) {
    const auto begin = steady::now();
    call(n);
    const auto between = steady::now();
    all.push_back(std::chrono::duration<double, std::micro>(between - begin - (steady::now() - between)).count());
  }
  std::nth_element(all.begin(), all.begin() + calls / 2, all.end());
  return all[static_cast<std::size_t>(calls / 2)];
}

time_point instant(int n) { return time_point(std::chrono::seconds(1'767'225'600 + 7'919LL * n)); }  // from 2026

using matches = bool (*)(const std::tm&);

std::time_t minute_walk(std::time_t after, matches m) {
  for (auto at = after / 60 * 60 + 60;; at += 60) {
    std::tm t{};
    ::localtime_r(&at, &t);
    if (m(t)) return at;
  }
}

void compare(const char* text, matches m, const char* zone_name, int walks) {
  const auto c = must(cron::parse(text));
  const auto zone = must(time_zone::find(zone_name));
  ::setenv("TZ", (std::string(":") + zone_name).c_str(), 1);
  ::tzset();
  const auto next = median_us(20'000, [&](int n) {
    if (!c.next(instant(n), zone)) std::abort();
  });
  const auto previous = median_us(20'000, [&](int n) {
    if (!c.previous(instant(n), zone)) std::abort();
  });
  const auto walk = median_us(walks, [&](int n) {
    const auto from = std::chrono::floor<std::chrono::seconds>(instant(n).time_since_epoch()).count();
    const auto found = c.next(instant(n), zone);
    if (time_point(std::chrono::seconds(minute_walk(from, m))) != found) std::abort();
  });
  std::printf("%-18s %-16s next %7.3f us   previous %7.3f us   minute walk %12.3f us\n", text, zone_name, next,
              previous, walk);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--help")
    return std::puts("usage: cron_bench    (no options; prints what it takes to find when an expression runs next)"), 0;
  const auto every_ten = [](const std::tm& t) { return t.tm_min % 10 == 0; };
  const auto leap_monday = [](const std::tm& t) {
    return t.tm_min == 0 && t.tm_hour == 0 && t.tm_mday == 29 && t.tm_mon == 1 && t.tm_wday == 1;
  };
  const auto workdays = [](const std::tm& t) {
    return t.tm_min == 30 && t.tm_hour == 9 && t.tm_wday >= 1 && t.tm_wday <= 5;
  };
  for (const auto* zone : {"UTC", "Europe/London"}) {
    compare("*/10 * * * *", every_ten, zone, 1'000);
    compare("30 9 * * MON-FRI", workdays, zone, 100);
    compare("0 0 29 2 MON", leap_monday, zone, 3);
  }
  std::printf("%-35s %7.3f us\n", "parse 30 9 * * MON-FRI",
              median_us(20'000, [](int) { (void)must(cron::parse("30 9 * * MON-FRI")); }));
  std::printf("%-35s %7.3f us\n", "find Europe/London again",
              median_us(20'000, [](int) { (void)must(time_zone::find("Europe/London")); }));
  std::printf("%-35s %7.0f us\n", "time_zone_version", median_us(20, [](int) { (void)sluice::time_zone_version(); }));
}
