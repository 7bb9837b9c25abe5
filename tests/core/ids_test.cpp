#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t some_day = 1'780'000'000'000'000;

}  // namespace

TEST_CASE("a job id is a valid name of 26 characters") {
  const auto id = make_job_id(from_micros(some_day));
  CHECK(id.value.size() == 26);
  CHECK(valid_name(id.value));
}

TEST_CASE("job ids sort by the time they were made") {
  job_id before;
  for (auto at = from_micros(some_day); at < from_micros(some_day) + 200ms; at += 1ms) {
    auto id = make_job_id(at);
    CHECK(before < id);
    before = std::move(id);
  }
  CHECK(make_job_id(from_micros(0)) < make_job_id(from_micros(some_day)));
  CHECK(make_job_id(from_micros(some_day)) < make_job_id(from_micros(some_day) + 24h * 365 * 100));
}

TEST_CASE("a job id tells the millisecond it was made in, and no other id tells any") {
  CHECK(milliseconds_of(make_job_id(from_micros(some_day))) == some_day / 1000);
  CHECK(milliseconds_of(make_job_id(from_micros(some_day + 999))) == some_day / 1000);
  CHECK(milliseconds_of(make_job_id(from_micros(0))) == 0);
  CHECK_FALSE(milliseconds_of(job_id("order-7")));
  CHECK_FALSE(milliseconds_of(job_id(std::string(25, '0'))));
  CHECK_FALSE(milliseconds_of(job_id(std::string(26, 'u'))));  // is not in the alphabet
  CHECK_FALSE(milliseconds_of(job_id(std::string(26, 'A'))));
  CHECK_FALSE(milliseconds_of(job_id("")));
}

TEST_CASE("job ids of one instant are all different") {
  std::set<job_id> ids;
  for (int i = 0; i < 50'000; ++i)
    ids.insert(make_job_id(from_micros(some_day)));
  CHECK(ids.size() == 50'000);
}

TEST_CASE("job ids made by several threads are all different") {
  std::array<std::vector<job_id>, 4> made;
  {
    std::vector<std::jthread> threads;
    for (auto& mine : made)
      threads.emplace_back([&mine] {
        for (int i = 0; i < 10'000; ++i)
          mine.push_back(make_job_id(from_micros(some_day)));
      });
  }
  std::set<job_id> all;
  for (const auto& mine : made)
    all.insert(mine.begin(), mine.end());
  CHECK(all.size() == 40'000);
}

TEST_CASE("a random token is 16 hex digits and never the same") {
  std::set<std::string> tokens;
  for (int i = 0; i < 1'000; ++i) {
    const auto token = random_token();
    CHECK(token.size() == 16);
    CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
    tokens.insert(token);
  }
  CHECK(tokens.size() == 1'000);
}
