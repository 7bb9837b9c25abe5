#include <random>

#include "core/retry.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

constexpr double last_roll = 0.9999999;

duration delay_of(const retry_policy& policy, std::uint32_t failures, double roll) {
  const auto decision = decide_retry(policy, failures, roll);
  REQUIRE(decision.again);
  return decision.delay;
}

retry_policy exponential(duration delay, double jitter) {
  retry_policy policy;
  policy.attempts = 1000;
  policy.backoff = backoff::exponential;
  policy.delay = delay;
  policy.jitter = jitter;
  return policy;
}

}  // namespace

TEST_CASE("the default delays are those of Hangfire") {
  struct row {
    std::uint32_t failures;
    duration least;
    duration most;
  };
  for (const auto& [failures, least, most] :
       {row{1, 15s, 44s}, row{2, 16s, 74s}, row{3, 31s, 118s}, row{4, 96s, 212s}, row{10, 6576s, 6866s}}) {
    CAPTURE(failures);
    CHECK(delay_of({}, failures, 0) == least);
    CHECK(delay_of({}, failures, last_roll) == most);
  }
}

TEST_CASE("every roll of a default delay stays within its bounds") {
  std::mt19937 random(3);
  for (std::uint32_t failures = 1; failures <= 10; ++failures) {
    const auto least = delay_of({}, failures, 0);
    const auto most = delay_of({}, failures, last_roll);
    for (int i = 0; i < 200; ++i) {
      const auto delay = delay_of({}, failures, std::uniform_real_distribution<>(0, 1)(random));
      CHECK(delay >= least);
      CHECK(delay <= most);
      CHECK(delay % 1s == 0s);
    }
  }
}

TEST_CASE("without a policy a job is retried ten times and then failed") {
  for (std::uint32_t failures = 1; failures <= 10; ++failures)
    CHECK(decide_retry({}, failures, 0.5).again);
  const auto last = decide_retry({}, 11, 0.5);
  CHECK_FALSE(last.again);
  CHECK(last.otherwise == when_exhausted::fail);
  CHECK(last.attempts == 10);
}

TEST_CASE("attempts allow that many retries after the first run") {
  retry_policy policy;
  policy.attempts = 3;
  CHECK(decide_retry(policy, 1, 0).again);
  CHECK(decide_retry(policy, 3, 0).again);
  CHECK_FALSE(decide_retry(policy, 4, 0).again);
  CHECK(decide_retry(policy, 1, 0).attempts == 3);
}

TEST_CASE("no attempts mean no retry") {
  retry_policy policy;
  policy.attempts = 0;
  CHECK_FALSE(decide_retry(policy, 1, 0).again);
}

TEST_CASE("a job whose attempts are used up ends as its policy says") {
  retry_policy policy;
  policy.attempts = 1;
  policy.then = GENERATE(when_exhausted::fail, when_exhausted::remove);
  const auto last = decide_retry(policy, 2, 0);
  CHECK_FALSE(last.again);
  CHECK(last.otherwise == *policy.then);
}

TEST_CASE("a fixed delay is the same each time") {
  retry_policy policy;
  policy.backoff = backoff::fixed;
  policy.delay = 10s;
  for (std::uint32_t failures = 1; failures <= 10; ++failures)
    for (const double roll : {0.0, 0.5, last_roll})
      CHECK(delay_of(policy, failures, roll) == 10s);
}

TEST_CASE("a delay alone means a fixed delay") {
  retry_policy policy;
  policy.delay = 7s;
  CHECK(delay_of(policy, 1, 0.9) == 7s);
  CHECK(delay_of(policy, 9, 0.1) == 7s);
  policy.delay = 0s;
  CHECK(delay_of(policy, 9, 0.1) == 0s);
}

TEST_CASE("an exponential delay doubles") {
  const auto policy = exponential(2s, 0);
  CHECK(delay_of(policy, 1, 0.5) == 2s);
  CHECK(delay_of(policy, 2, 0.5) == 4s);
  CHECK(delay_of(policy, 3, 0.5) == 8s);
  CHECK(delay_of(policy, 10, 0.5) == 1024s);
}

TEST_CASE("an exponential delay stops growing at an hour") {
  const auto policy = exponential(2s, 0);
  CHECK(delay_of(policy, 11, 0) == 2048s);
  CHECK(delay_of(policy, 12, 0) == 1h);
  CHECK(delay_of(policy, 1000, 0) == 1h);
}

TEST_CASE("an exponential delay stops growing at its own cap") {
  auto policy = exponential(2s, 0);
  policy.max_delay = 5s;
  CHECK(delay_of(policy, 2, 0) == 4s);
  CHECK(delay_of(policy, 3, 0) == 5s);
  policy.max_delay = 24h;
  CHECK(delay_of(policy, 100, 0) == 24h);
}

TEST_CASE("jitter takes away at most its part of the delay") {
  auto policy = exponential(10s, 0.2);
  CHECK(delay_of(policy, 1, 0) == 10s);
  CHECK(delay_of(policy, 1, 0.5) == 9s);
  CHECK(delay_of(policy, 1, last_roll) >= 8s);
  policy.jitter = 1;
  CHECK(delay_of(policy, 1, last_roll) >= 0s);
  policy.jitter = std::nullopt;  // a tenth
  CHECK(delay_of(policy, 1, 0) == 10s);
  CHECK(delay_of(policy, 1, last_roll) >= 9s);
  CHECK(delay_of(policy, 1, last_roll) < 9001ms);
}

TEST_CASE("jitter also spreads delays that reached the cap") {
  const auto policy = exponential(2s, 0.5);
  CHECK(delay_of(policy, 50, 0.5) == 45min);
}

TEST_CASE("a cap holds for every kind of backoff") {
  retry_policy policy;
  policy.attempts = 1000;
  policy.max_delay = 20s;
  CHECK(delay_of(policy, 10, 0.5) == 20s);
  CHECK(delay_of(policy, 1, 0) == 15s);
  policy.backoff = backoff::fixed;
  policy.delay = 1h;
  CHECK(delay_of(policy, 1, 0) == 20s);
}

TEST_CASE("no delay exceeds a year however often a job failed") {
  retry_policy policy;
  policy.attempts = 4'000'000'000U;
  for (const auto kind : {backoff::polynomial, backoff::fixed, backoff::exponential}) {
    policy.backoff = kind;
    for (const std::uint32_t failures : {1'000U, 1'000'000U, 4'000'000'000U}) {
      const auto delay = delay_of(policy, failures, last_roll);
      CHECK(delay > 0s);
      CHECK(delay <= 24h * 365);
    }
  }
}

TEST_CASE("the narrowest policy wins field by field") {
  retry_policy job;
  job.attempts = 1;
  retry_policy type;
  type.attempts = 2;
  type.max_delay = 1min;
  type.then = when_exhausted::remove;
  retry_policy queue;
  queue.attempts = 3;
  queue.max_delay = 2min;
  queue.jitter = 0.3;
  queue.backoff = backoff::exponential;
  queue.delay = 4s;
  const auto merged = narrowest({&job, &type, &queue});
  CHECK(merged.attempts == 1U);
  CHECK(merged.max_delay == duration(1min));
  CHECK(merged.then == when_exhausted::remove);
  CHECK(merged.jitter == 0.3);
  CHECK(merged.backoff == backoff::exponential);
  CHECK(merged.delay == duration(4s));
}

TEST_CASE("what no policy says stays unsaid") {
  const retry_policy nothing;
  CHECK(narrowest({}) == nothing);
  CHECK(narrowest({&nothing, &nothing}) == nothing);
}

TEST_CASE("a narrower delay alone is not grown by a wider backoff") {
  retry_policy job;
  job.delay = 10s;
  retry_policy queue;
  queue.backoff = backoff::exponential;
  queue.delay = 1s;
  CHECK(delay_of(narrowest({&job, &queue}), 5, 0) == 10s);
}

TEST_CASE("a narrower backoff grows a wider delay") {
  retry_policy job;
  job.backoff = backoff::exponential;
  retry_policy queue;
  queue.delay = 1s;
  queue.backoff = backoff::fixed;
  CHECK(delay_of(narrowest({&job, &queue}), 5, 0) == 16s);
}
