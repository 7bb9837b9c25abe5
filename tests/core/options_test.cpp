#include <algorithm>
#include <functional>

#include "core/ranges.hpp"
#include "support/catch.hpp"

namespace sluice::test {

using namespace std::chrono_literals;

TEST_CASE("the default options are within their ranges") { CHECK(check(server_options{}).ok()); }

TEST_CASE("throttlers of two kinds may have one name") {
  server_options o;
  o.throttlers = {{throttler_kind::semaphore, "a", 4}, {throttler_kind::mutex, "A"}};
  o.jobs["mail"].throttle = {"semaphore:a", "mutex:a", "mutex:a:{id}", "custom:elsewhere"};
  CHECK(check(o).ok());
}

TEST_CASE("an option that is out of its range is named, wherever it stands") {
  const std::vector<std::pair<std::string, std::function<void(server_options&)>>> wrong{
      {"lease", [](auto& o) { o.lease = 999ms; }},
      {"lease", [](auto& o) { o.lease = 1h + 1us; }},
      {"renew_every", [](auto& o) { o.renew_every = 16s; }},
      {"renew_every", [](auto& o) { o.renew_every = 99ms; }},
      {"renew_every", [](auto& o) { o.renew_every = -1s; }},
      {"grace", [](auto& o) { o.grace = -1us; }},
      {"max_losses", [](auto& o) { o.max_losses = 0; }},
      {"sweep_interval", [](auto& o) { o.sweep_interval = 0s; }},
      {"special_queue_workers", [](auto& o) { o.special_queue_workers = 1001; }},
      {"threads", [](auto& o) { o.threads = 10'001; }},
      {"timeout", [](auto& o) { o.timeout = 0s; }},
      {"retry.attempts", [](auto& o) { o.retry.attempts = 1001; }},
      {"server_name", [](auto& o) { o.server_name = "two words"; }},
      {"queues", [](auto& o) { o.queues.clear(); }},
      {"queue 'a b' must be 1 to 200 characters", [](auto& o) { o.queues["a b"] = {}; }},
      {"queue '' must be 1 to 200 characters", [](auto& o) { o.queues[""] = {}; }},
      {"queue x: workers", [](auto& o) { o.queues["x"].workers = 1001; }},
      {"queue x: prefetch", [](auto& o) { o.queues["x"].prefetch = 1001; }},
      {"queue x: retry.jitter", [](auto& o) { o.queues["x"].retry.jitter = 1.5; }},
      {"queue x: timeout", [](auto& o) { o.queues["x"].timeout = 24h * 31; }},
      {"jobs.mail.retry.delay", [](auto& o) { o.jobs["mail"].retry.delay = -1s; }},
      {"jobs.mail.timeout", [](auto& o) { o.jobs["mail"].timeout = 1us; }},
      {"jobs.mail.throttle_delay", [](auto& o) { o.jobs["mail"].throttle_delay = 14s; }},
      {"jobs.mail.throttle_delay", [](auto& o) { o.jobs["mail"].throttle_delay = 24h + 1us; }},
      {"jobs.mail.throttle: their number", [](auto& o) { o.jobs["mail"].throttle.assign(9, "mutex:a"); }},
      {"jobs.mail.throttle[1] 'mutex:A' is named twice",
       [](auto& o) {
         o.jobs["mail"].throttle = {"mutex:a", "mutex:A"};
       }},
      {"jobs.mail.throttle[0] must begin with", [](auto& o) { o.jobs["mail"].throttle = {"banana:a"}; }},
      {"jobs.mail.throttle[0] must begin with",  // also beside another fault
       [](auto& o) {
         o.jobs["mail"].start_within = -1s;
         o.jobs["mail"].throttle = {"banana:a"};
       }},
      {"jobs.mail.throttle[0] only a mutex", [](auto& o) { o.jobs["mail"].throttle = {"semaphore:{a}"}; }},
      {"semaphore '': name must have 1 to 100 bytes",
       [](auto& o) {
         o.throttlers.push_back({throttler_kind::semaphore, ""});
       }},
      {"semaphore 'a\\x0ab'",
       [](auto& o) {
         o.throttlers.push_back({throttler_kind::semaphore, "a\nb"});
       }},
      {"semaphore 'a': limit",
       [](auto& o) {
         o.throttlers = {{throttler_kind::semaphore, "a", 1'000'000'001}};
       }},
      {"fixed window 'a': interval",
       [](auto& o) {
         o.throttlers = {{throttler_kind::fixed_window, "a", 1, 999ms}};
       }},
      {"fixed window 'a': interval",
       [](auto& o) {
         o.throttlers = {{throttler_kind::fixed_window, "a", 1, -1s}};
       }},
      {"sliding window 'a': buckets",
       [](auto& o) {
         o.throttlers = {{throttler_kind::sliding_window, "a", 1, 1h, 1001}};
       }},
      {"dynamic window 'a': key",
       [](auto& o) {
         o.throttlers = {{throttler_kind::dynamic_window, "a", 1, 1h, 1, false, "{"}};
       }},
      {"mutex 'a': limit is nothing that a mutex has",
       [](auto& o) {
         o.throttlers = {{throttler_kind::mutex, "a", 1}};
       }},
      {"semaphore 'a': interval is nothing",
       [](auto& o) {
         o.throttlers = {{throttler_kind::semaphore, "a", 1, 1h}};
       }},
      {"fixed window 'a': compatible is nothing",
       [](auto& o) {
         o.throttlers = {{throttler_kind::fixed_window, "a", 1, 1h, 0, true}};
       }},
      {"throttler A: another mutex",
       [](auto& o) {
         o.throttlers = {{throttler_kind::mutex, "a"}, {throttler_kind::mutex, "A"}};
       }},
  };
  for (const auto& [name, spoil] : wrong) {
    server_options o;
    spoil(o);
    const auto checked = check(o);
    INFO(name);
    REQUIRE_FALSE(checked.ok());
    CHECK(checked.error().code == errc::invalid_argument);
    CHECK(checked.error().message.find(name) != std::string::npos);
  }
}

TEST_CASE("all options that are out of their ranges are told, a line each") {
  server_options o;
  o.lease = 0s;
  o.max_losses = 0;
  o.retry.jitter = 2;
  o.queues["x"] = {.workers = 1001, .prefetch = 1001};
  o.jobs["mail"].throttle = {"banana:a", "semaphore:{a}"};
  o.throttlers = {{throttler_kind::mutex, "a", 1}, {throttler_kind::semaphore, ""}};
  const auto checked = check(o);
  REQUIRE_FALSE(checked.ok());
  const auto& all = checked.error().message;
  for (const auto* fault : {"lease must", "\nmax_losses must", "\nretry.jitter must", "\nqueue x: workers must",
                            "\nqueue x: prefetch must", "\njobs.mail.throttle[0] must", "\njobs.mail.throttle[1] only",
                            "\nmutex 'a': limit is nothing", "\nsemaphore '': name must"}) {
    INFO(fault << " in\n" << all);
    CHECK(all.find(fault) != std::string::npos);
  }
  CHECK(std::count(all.begin(), all.end(), '\n') == 8);
}

}  // namespace sluice::test
