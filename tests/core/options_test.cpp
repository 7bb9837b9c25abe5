#include <functional>

#include "core/ranges.hpp"
#include "support/catch.hpp"

namespace sluice::test {

using namespace std::chrono_literals;

TEST_CASE("the default options are within their ranges") { CHECK(check(server_options{}).ok()); }

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
      {"timeout", [](auto& o) { o.timeout = 0s; }},
      {"retry.attempts", [](auto& o) { o.retry.attempts = 1001; }},
      {"server_name", [](auto& o) { o.server_name = "two words"; }},
      {"queues", [](auto& o) { o.queues.clear(); }},
      {"no queue name", [](auto& o) { o.queues["a b"] = {}; }},
      {"no queue name", [](auto& o) { o.queues[""] = {}; }},
      {"queue x: workers", [](auto& o) { o.queues["x"].workers = 1001; }},
      {"queue x: prefetch", [](auto& o) { o.queues["x"].prefetch = 1001; }},
      {"queue x: retry.jitter", [](auto& o) { o.queues["x"].retry.jitter = 1.5; }},
      {"queue x: timeout", [](auto& o) { o.queues["x"].timeout = 24h * 31; }},
      {"jobs.mail.retry.delay", [](auto& o) { o.jobs["mail"].retry.delay = -1s; }},
      {"jobs.mail.timeout", [](auto& o) { o.jobs["mail"].timeout = 1us; }},
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

}  // namespace sluice::test
