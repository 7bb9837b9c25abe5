#include <limits>

#include "core/pipeline.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

struct limit {
  std::string thing;  // that the message must name
  errc code;
  std::function<void(new_job&)> break_it;
};

result<prepared_job> prepare(const std::function<void(new_job&)>& change) {
  new_job job;
  job.type = job_type("mail");
  change(job);
  return enqueue_pipeline({}, {}).prepare(std::move(job), time_point{});
}

std::string brackets(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

std::string text_of(std::size_t bytes) { return '"' + std::string(bytes - 2, 'x') + '"'; }

}  // namespace

TEST_CASE("a job beyond a limit is refused with the name of the limit") {
  const auto invalid = errc::invalid_argument;
  const std::vector<limit> limits{
      {"job type is missing", invalid, [](auto& job) { job.type = {}; }},
      {"job type", invalid, [](auto& job) { job.type = job_type("a b"); }},
      {"job type", invalid, [](auto& job) { job.type = job_type(std::string(201, 'x')); }},
      {"queue", invalid, [](auto& job) { job.queue = queue_name("a/b"); }},
      {"queue", invalid, [](auto& job) { job.queue = queue_name("tenant-*"); }},
      {"queue", invalid, [](auto& job) { job.queue = queue_name(std::string(201, 'x')); }},
      {"job id", invalid, [](auto& job) { job.id = job_id("a\nb"); }},
      {"job id", invalid, [](auto& job) { job.id = job_id(std::string(201, 'x')); }},
      {"args", invalid, [](auto& job) { job.args = ""; }},
      {"args", invalid, [](auto& job) { job.args = "{\"a\":}"; }},
      {"args", invalid, [](auto& job) { job.args = "\"\xff\""; }},
      {"args", invalid, [](auto& job) { job.args = brackets(65); }},
      {"args", invalid, [](auto& job) { job.args = std::string(100'000, '['); }},
      {"args", errc::too_large, [](auto& job) { job.args = text_of(1024 * 1024 + 1); }},
      {"header", invalid, [](auto& job) { job.headers[""] = "v"; }},
      {"header", invalid, [](auto& job) { job.headers["a b"] = "v"; }},
      {"headers", errc::too_large, [](auto& job) { job.headers["h"] = std::string(64 * 1024, 'x'); }},
      {"delay", invalid, [](auto& job) { job.delay = -1us; }},
      {"delay", invalid, [](auto& job) { job.delay = 24h * 365 * 10 + 1us; }},
      {"delay", invalid, [](auto& job) { job.delay = duration::max(); }},
      {"timeout", invalid, [](auto& job) { job.timeout = 0s; }},
      {"timeout", invalid, [](auto& job) { job.timeout = -1s; }},
      {"timeout", invalid, [](auto& job) { job.timeout = 24h * 30 + 1us; }},
      {"attempts", invalid, [](auto& job) { job.retry.attempts = 1001; }},
      {"jitter", invalid, [](auto& job) { job.retry.jitter = 1.01; }},
      {"jitter", invalid, [](auto& job) { job.retry.jitter = -0.01; }},
      {"jitter", invalid, [](auto& job) { job.retry.jitter = std::numeric_limits<double>::quiet_NaN(); }},
      {"retry.delay", invalid, [](auto& job) { job.retry.delay = -1us; }},
      {"retry.max_delay", invalid, [](auto& job) { job.retry.max_delay = 24h * 365 + 1us; }},
  };
  for (std::size_t row = 0; row < limits.size(); ++row) {
    CAPTURE(row, limits[row].thing);
    const auto ready = prepare(limits[row].break_it);
    REQUIRE_FALSE(ready);
    CAPTURE(ready.error().message);
    CHECK(ready.error().code == limits[row].code);
    CHECK(ready.error().message.find(limits[row].thing) != std::string::npos);
  }
}

TEST_CASE("a job at its limits is accepted") {
  const std::vector<std::function<void(new_job&)>> changes{
      [](auto& job) { job.type = job_type(std::string(200, 'x')); },
      [](auto& job) { job.queue = queue_name(std::string(200, 'x')); },
      [](auto& job) { job.id = job_id(std::string(200, 'x')); },
      [](auto& job) { job.args = text_of(1024 * 1024); },
      [](auto& job) { job.args = brackets(64); },
      [](auto& job) { job.headers["h"] = std::string(64 * 1024 - 1, 'x'); },
      [](auto& job) { job.headers["h"] = std::string("\0\xff", 2); },
      [](auto& job) { job.delay = 24h * 365 * 10; },
      [](auto& job) { job.timeout = 1ms; },
      [](auto& job) { job.timeout = 24h * 30; },
      [](auto& job) { job.retry = {1000, backoff::fixed, 24h * 365, 0s, 1.0, when_exhausted::remove}; },
  };
  for (std::size_t row = 0; row < changes.size(); ++row) {
    CAPTURE(row);
    CHECK(prepare(changes[row]).ok());
  }
}

TEST_CASE("the message about a bad name shows it short and escaped") {
  const auto ready = prepare([](auto& job) { job.type = job_type("\x1b[2J" + std::string(10'000, 'x')); });
  REQUIRE_FALSE(ready);
  CHECK(ready.error().message.size() < 300);
  CHECK(ready.error().message.find('\x1b') == std::string::npos);
  CHECK(ready.error().message.find("\\x1b[2J") != std::string::npos);
}

TEST_CASE("the message about bad args does not repeat them") {
  const auto ready = prepare([](auto& job) { job.args = '"' + std::string(100'000, 'x'); });
  REQUIRE_FALSE(ready);
  CHECK(ready.error().message.size() < 500);
}
