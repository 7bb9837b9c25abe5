#include "core/ranges.hpp"
#include "support/catch.hpp"
#include "throttling/support.hpp"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::Equals;

namespace {

throttler made(throttler_kind kind) { return {.kind = kind, .name = "mail"}; }

std::string fault(const throttler& t) {
  const auto checked = check(t);
  if (checked) return "";
  CHECK(checked.error().code == errc::invalid_argument);
  return checked.error().message;
}

throttler semaphore(std::uint64_t limit) {
  auto t = made(throttler_kind::semaphore);
  t.limit = limit;
  return t;
}

}  // namespace

TEST_CASE("each kind of throttler can be defined by what it uses") {
  for (const auto& t : {made(throttler_kind::mutex), semaphore(1), semaphore(1'000'000'000), fixed(4, 1s),
                        fixed(1, 366 * 24h), sliding(4, 1h, 3), sliding(4, 1000s, 1000, true), dynamic(20, 4, 1h, 1),
                        dynamic(0, 4, 1h, 4), balanced(20, 2, 20, 1h, 4), made(throttler_kind::custom)})
    CHECK(fault(t).empty());
  auto draining = semaphore(1);
  draining.mode = throttler_mode::release;
  CHECK(fault(draining).empty());
}

TEST_CASE("a throttler has a name of 1 to 100 bytes that can be printed") {
  auto t = semaphore(1);
  t.name = std::string(100, 'x');
  CHECK(fault(t).empty());
  t.name = "Größe / 大";
  CHECK(fault(t).empty());
  t.name = "";
  CHECK_THAT(fault(t), Equals("semaphore '': name must have 1 to 100 bytes, not 0"));
  t.name = std::string(101, 'x');
  CHECK(fault(t).find("name must have 1 to 100 bytes, not 101") != std::string::npos);
  for (const auto* name : {"a\nb", "a\x7f", "\xc2\x85", "\xff", "\xc3"}) {
    t.name = name;
    CHECK(fault(t).find("must be UTF-8 without control characters") != std::string::npos);
  }
}

TEST_CASE("a limit is 1 to a billion") {
  for (const auto kind : {0, 1, 2}) {
    auto t = kind == 0 ? semaphore(0) : kind == 1 ? fixed(0, 1h) : sliding(0, 1h, 4);
    CHECK(fault(t).find("limit must be given: a number of 1 to 1000000000") != std::string::npos);
    t.limit = 1'000'000'001;
    CHECK(fault(t).find("limit must be 1 to 1000000000, not 1000000001") != std::string::npos);
  }
}

TEST_CASE("an interval is a second to 366 days") {
  for (const duration wrong : {duration(999'999), duration(-1), duration(366 * 24h) + 1us})
    CHECK(fault(fixed(1, wrong)).find("interval must be 1s to 366d, not ") != std::string::npos);
  CHECK(fault(fixed(1, duration(0))).find("interval must be given: a time of 1s to 366d") != std::string::npos);
}

TEST_CASE("buckets are 1 to 1000 of a second or longer") {
  CHECK(fault(sliding(1, 1h, 0)).find("buckets must be given: a number of 1 to 1000") != std::string::npos);
  CHECK(fault(sliding(1, 1h, 1001)).find("buckets must be 1 to 1000, not 1001") != std::string::npos);
  CHECK_THAT(fault(sliding(1, 1min, 61)),
             Equals("sliding window 'w': buckets must be 1s or longer each: in an interval of 1m at most 60, not 61"));
  CHECK(fault(sliding(1, 1min, 60)).empty());
}

TEST_CASE("a dynamic window shares a capacity or has a limit for each key") {
  CHECK(fault(dynamic(0, 0, 1h, 4)).find("limit (or min_limit and max_limit) must be given: ") != std::string::npos);
  CHECK(fault(dynamic(3, 4, 1h, 4)).find("capacity, if there is one, must be 4 to ") != std::string::npos);
  CHECK(fault(balanced(0, 2, 20, 1h, 4)).find("capacity must be given: a number of 1 to 1000000000") !=
        std::string::npos);
  CHECK(fault(balanced(20, 2, 21, 1h, 4)).find("max_limit must be 1 to 20, not 21") != std::string::npos);
  CHECK(fault(balanced(20, 2, 0, 1h, 4)).find("max_limit must be given: a number of 1 to 20") != std::string::npos);
  CHECK(fault(balanced(20, 9, 8, 1h, 4)).find("min_limit must be 1 to 8, not 9") != std::string::npos);
  CHECK(fault(balanced(20, 0, 8, 1h, 4)).find("min_limit must be given: a number of 1 to 8") != std::string::npos);
  auto both = balanced(20, 2, 8, 1h, 4);
  both.limit = 3;
  CHECK(fault(both).find("leave out one or the other") != std::string::npos);
  auto keyless = dynamic(20, 4, 1h, 4);
  keyless.key = "";
  CHECK(fault(keyless).find("key must be a template over args") != std::string::npos);
}

TEST_CASE("all faults of a throttler are told, each with its field") {
  const auto fields = [](const throttler& t) {
    std::vector<std::string> all;
    for (const auto& one : faults_of(t)) {
      CHECK(one.problem.starts_with(one.field));
      all.push_back(one.field);
    }
    return all;
  };
  using names = std::vector<std::string>;
  CHECK(fields(fixed(4, 1h)).empty());
  CHECK(fields(made(throttler_kind::sliding_window)) == names{"interval", "buckets", "limit"});
  CHECK(fields(made(throttler_kind::dynamic_window)) == names{"interval", "buckets", "key", "limit"});
  auto t = fixed(0, duration(0));
  t.name = "a/b";
  t.buckets = 3;
  CHECK(fields(t) == names{"name", "buckets", "interval", "limit"});
  CHECK(fault(t).find("must not hold a '/'") != std::string::npos);
  CHECK(told_of(t, {"limit", "limit is wrong"}) == "fixed window 'a/b': limit is wrong");
}

TEST_CASE("what a kind of throttler does not use is refused by its name") {
  struct row {
    const char* field;
    void (*set)(throttler&);
    std::string_view used_by;
  };
  const row rows[] = {
      {"limit", [](throttler& t) { t.limit = 4; }, "SFLD"},
      {"interval", [](throttler& t) { t.interval = 1h; }, "FLD"},
      {"buckets", [](throttler& t) { t.buckets = 4; }, "LD"},
      {"compatible", [](throttler& t) { t.compatible = true; }, "LD"},
      {"key", [](throttler& t) { t.key = "{a}"; }, "D"},
      {"capacity", [](throttler& t) { t.capacity = 4; }, "D"},
      {"min_limit", [](throttler& t) { t.min_limit = 4; }, "D"},
      {"max_limit", [](throttler& t) { t.max_limit = 4; }, "D"},
  };
  const std::pair<char, throttler> kinds[] = {
      {'M', made(throttler_kind::mutex)}, {'S', semaphore(1)},          {'F', fixed(4, 1h)},
      {'L', sliding(4, 1h, 4)},           {'D', dynamic(20, 4, 1h, 4)}, {'C', made(throttler_kind::custom)}};
  for (const auto& [letter, plain] : kinds)
    for (const auto& [field, set, used_by] : rows) {
      CAPTURE(letter, field);
      auto t = plain;
      set(t);
      const auto refused = fault(t).find(std::string(field) + " is nothing that a ") != std::string::npos;
      CHECK(refused == (used_by.find(letter) == std::string_view::npos));
    }
  auto t = semaphore(4);
  t.interval = 1h;
  CHECK_THAT(fault(t), Equals("semaphore 'mail': interval is nothing that a semaphore has; remove it"));
}
