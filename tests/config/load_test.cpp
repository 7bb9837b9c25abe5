#include "config/loading.hpp"
#include "support/places.hpp"
#include "support/process.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using test::options_of;

namespace {

const std::string example = R"({
  "storage": "sqlite:sluice.db",               // or "redis://127.0.0.1:6379/0"
  "server_name": "web-1",                      // default: host name and pid
  "lease": "30s", "grace": "25s", "max_losses": 3,
  "retention": {"succeeded": {"age": "24h", "count": 100000}, "failed": {"age": "30d"}},
  "allow_exec": false,
  "special_queue_workers": 1,                  // for queues named *-queue without a worker count of their own
  "queues": {
    "default": {},                             // workers: the number of processors
    "game-cache-queue": {"workers": 1, "retry": {"attempts": 3, "delay": "10s", "then": "delete"}}
  },
  "throttlers": {
    "provider-api": {"kind": "semaphore", "limit": 4},
    "github":       {"kind": "fixed_window", "limit": 5000, "interval": "1h"},
    "dropbox":      {"kind": "sliding_window", "limit": 4, "interval": "1h", "buckets": 3},
    "newsletter":   {"kind": "dynamic_window", "key": "tenant:{tenant_id}", "capacity": 20, "min_limit": 2,
                     "max_limit": 20, "interval": "1h", "buckets": 60}
  },
  "jobs": {
    "casino_cache":  {"queue": "game-cache-queue", "throttle": ["semaphore:provider-api"]},
    "process_order": {"throttle": ["mutex:order:{order_id}"], "when_throttled": "wait", "strict": true, "timeout": "5m"}
  }
})";

}  // namespace

TEST_CASE("the example of the design is read right") {
  const auto o = options_of(example);
  CHECK(o.storage == "sqlite:sluice.db");
  CHECK(o.server_name == "web-1");
  CHECK(o.lease == 30s);
  CHECK(o.grace == 25s);
  CHECK(o.max_losses == 3);
  CHECK(o.retention.succeeded.age == duration(24h));
  CHECK(o.retention.succeeded.count == 100'000U);
  CHECK(o.retention.failed.age == duration(720h));
  CHECK_FALSE(o.retention.failed.count);
  CHECK_FALSE(o.allow_exec);
  CHECK(o.special_queue_workers == 1);
  REQUIRE(o.queues.size() == 2);
  CHECK(o.queues.at("default").workers == test::processors());
  const auto& cache = o.queues.at("game-cache-queue");
  CHECK(cache.workers == 1);
  CHECK(cache.retry.attempts == 3U);
  CHECK(cache.retry.delay == duration(10s));
  CHECK(cache.retry.then == when_exhausted::remove);
  CHECK_FALSE(cache.retry.backoff);
  REQUIRE(o.jobs.size() == 2);
  CHECK(o.jobs.at("casino_cache").queue == queue_name("game-cache-queue"));
  CHECK(o.jobs.at("process_order").queue.empty());
  CHECK(o.jobs.at("process_order").timeout == duration(5min));
}

TEST_CASE("the throttlers of the design's example are read right") {
  const auto o = options_of(example);
  throttler newsletter{throttler_kind::dynamic_window, "newsletter", 0, 1h, 60, false, "tenant:{tenant_id}", 20, 2, 20};
  const std::vector<throttler> wanted{{throttler_kind::sliding_window, "dropbox", 4, 1h, 3},
                                      {throttler_kind::fixed_window, "github", 5000, 1h},
                                      newsletter,
                                      {throttler_kind::semaphore, "provider-api", 4}};
  CHECK((o.throttlers == wanted));
  const auto& cache = o.jobs.at("casino_cache");
  CHECK(cache.throttle == std::vector<std::string>{"semaphore:provider-api"});
  CHECK(cache.when_throttled == throttle_action::wait);
  CHECK(cache.throttle_delay == 1min);
  CHECK_FALSE(cache.strict);
  const auto& order = o.jobs.at("process_order");
  CHECK(order.throttle == std::vector<std::string>{"mutex:order:{order_id}"});
  CHECK(order.when_throttled == throttle_action::wait);
  CHECK(order.strict);
}

TEST_CASE("the rarer keys of throttlers are read too") {
  const auto o = options_of(R"({
    "throttlers": {
      "A": {"kind": "sliding_window", "limit": 1000000000, "interval": "366d", "buckets": 1000, "compatible": true},
      "a": {"kind": "mutex", "mode": "release"},
      "b": {"kind": "custom", "mode": "acquire_and_release"},
      "Straße 1 - {x}": {"kind": "dynamic_window", "key": "{k}", "limit": 1, "capacity": 2, "interval": "1s", "buckets": 1}
    },
    "jobs": {"a": {"when_throttled": "retry", "throttle_delay": "15s", "throttle": []},
             "b": {"when_throttled": "delete", "throttle_delay": "1d", "strict": false,
                   "throttle": ["custom:b", "sliding_window:a", "mutex:{x.0}", "fixed_window:elsewhere", "semaphore:e",
                                "dynamic_window:Straße 1 - {{x}}", "mutex:7", "mutex:8"]}}
  })");
  REQUIRE(o.throttlers.size() == 4);
  CHECK((o.throttlers[0] == throttler{throttler_kind::sliding_window, "A", 1'000'000'000, 366 * 24h, 1000, true}));
  CHECK(o.throttlers[1].name == "Straße 1 - {x}");
  CHECK(o.throttlers[1].limit == 1);
  CHECK((o.throttlers[2] ==
         throttler{throttler_kind::mutex, "a", 0, {}, 0, false, "", 0, 0, 0, throttler_mode::release}));
  CHECK((o.throttlers[3] == throttler{throttler_kind::custom, "b"}));
  CHECK(o.jobs.at("a").when_throttled == throttle_action::retry);
  CHECK(o.jobs.at("a").throttle_delay == 15s);
  CHECK(o.jobs.at("b").when_throttled == throttle_action::remove);
  CHECK(o.jobs.at("b").throttle_delay == 24h);
  CHECK(o.jobs.at("b").throttle.size() == 8);
}

TEST_CASE("a throttler can be turned by an override") {
  const auto o = options_of({R"({"throttlers": {"provider-api": {"kind": "semaphore", "limit": 4}}})",
                             {{"SLUICE_THROTTLERS__PROVIDER_API__LIMIT", "5"}},
                             {"/jobs/t/throttle=[\"semaphore:provider-api\"]"}});
  CHECK(o.throttlers.at(0).limit == 5);
  CHECK(o.jobs.at("t").throttle == std::vector<std::string>{"semaphore:provider-api"});
}

TEST_CASE("the example of the manual is read without faults") {
  const auto manual = test::read_file(test::source_path("docs/configuration.md"));
  const auto from = manual.find("```jsonc\n");
  REQUIRE(from != std::string::npos);
  const auto o = options_of(manual.substr(from + 9, manual.find("```", from + 9) - from - 9));
  CHECK_FALSE(o.throttlers.empty());
}

TEST_CASE("the manual has every key of throttlers, and every word") {
  const auto manual = test::read_file(test::source_path("docs/configuration.md"));
  for (const std::string word :
       {"throttlers", "kind",     "limit",          "interval",       "buckets",        "compatible",
        "key",        "capacity", "min_limit",      "max_limit",      "mode",           "acquire_and_release",
        "release",    "mutex",    "semaphore",      "fixed_window",   "sliding_window", "dynamic_window",
        "custom",     "throttle", "when_throttled", "throttle_delay", "strict",         "wait",
        "retry",      "delete"}) {
    INFO(word);
    CHECK(manual.find("`" + word + "`") != std::string::npos);
  }
}

TEST_CASE("an empty object means the defaults") {
  const auto o = options_of("{}");
  CHECK(o.storage == "sqlite:sluice.db");
  CHECK(o.server_name.empty());
  CHECK(o.lease == 30s);
  CHECK(o.renew_every == 0s);
  CHECK(o.grace == 25s);
  CHECK(o.max_losses == 3);
  CHECK(o.sweep_interval == 5s);
  CHECK(o.special_queue_workers == 1);
  CHECK_FALSE(o.timeout);
  CHECK(o.retry == retry_policy{});
  CHECK(o.retention.succeeded.age == duration(24h));
  CHECK(o.retention.succeeded.count == 100'000U);
  CHECK(o.retention.failed.age == duration(720h));
  CHECK(o.retention.deleted.count == 100'000U);
  CHECK(o.retention.bytes == 268'435'456U);
  CHECK(o.require_durability == durability::volatile_);
  CHECK_FALSE(o.allow_exec);
  CHECK(o.jobs.empty());
  CHECK(o.throttlers.empty());
  REQUIRE(o.queues.size() == 1);
  CHECK(o.queues.at("default").workers == test::processors());
  CHECK(o.queues.at("default").prefetch == 256);
}

TEST_CASE("every key is read") {
  const auto o = options_of(R"({
    "storage": "sqlite::memory:", "server_name": "a", "lease": "1m", "renew_every": "30s", "grace": "0s",
    "max_losses": 100, "sweep_interval": "100ms", "special_queue_workers": 7, "threads": 300,
    "timeout": "1h",
    "retry": {"attempts": 0, "backoff": "exponential", "delay": "1s", "max_delay": "2d", "jitter": 0.5, "then": "fail"},
    "retention": {"succeeded": {"count": 0}, "failed": {"age": "1s", "count": 5}, "deleted": {"age": "1d"},
                  "bytes": 5000000},
    "require_durability": "crash_safe", "wait_replicas": 0, "allow_exec": true, "exec": {"key_file": "exec.key"},
    "queues": {"q": {"workers": 1000, "prefetch": 0, "retry": {"backoff": "polynomial"}, "timeout": "1ms"}},
    "jobs": {"t": {"queue": "q", "retry": {"backoff": "fixed"}, "timeout": "30d"}}
  })");
  CHECK(o.storage == "sqlite::memory:");
  CHECK(o.server_name == "a");
  CHECK(o.lease == 1min);
  CHECK(o.renew_every == 30s);
  CHECK(o.grace == 0s);
  CHECK(o.max_losses == 100);
  CHECK(o.sweep_interval == 100ms);
  CHECK(o.special_queue_workers == 7);
  CHECK(o.threads == 300);
  CHECK(o.timeout == duration(1h));
  CHECK(o.retry == retry_policy{0, backoff::exponential, duration(1s), duration(48h), 0.5, when_exhausted::fail});
  CHECK_FALSE(o.retention.succeeded.age);
  CHECK(o.retention.succeeded.count == 0U);
  CHECK(o.retention.failed.count == 5U);
  CHECK_FALSE(o.retention.deleted.count);
  CHECK(o.retention.bytes == 5'000'000U);
  CHECK(o.require_durability == durability::crash_safe);
  CHECK(o.allow_exec);
  CHECK(o.exec.key_file == "exec.key");
  CHECK(o.queues.at("q").workers == 1000);
  CHECK(o.queues.at("q").prefetch == 0);
  CHECK(o.queues.at("q").retry.backoff == backoff::polynomial);
  CHECK(o.queues.at("q").timeout == duration(1ms));
  CHECK(o.jobs.at("t").retry.backoff == backoff::fixed);
  CHECK(o.jobs.at("t").timeout == duration(720h));
}

TEST_CASE("a dashboard is configured, and nothing listens without it") {
  CHECK_FALSE(test::load("{}").options.dashboard);
  CHECK(test::load(R"({"dashboard": {}})").options.dashboard->listen == "localhost:8080");
  const auto got = test::load(R"({"dashboard": {"listen": "10.0.0.1:80", "hosts": ["jobs.example.org"],
    "allow_changes": true, "allow_exec": true, "proxy_secret_file": "/p", "behind_tls_proxy": true, "user_header": "X-User", "proxies": ["10.0.0.2"],
    "hide_args": true, "store_metrics": false, "metrics_token_file": "/t",
    "users": {"anna": {"role": "admin", "secret_file": "/a"}, "otto": {"role": "operator", "secret_variable": "OTTO"}}}})");
  REQUIRE(got.faults.empty());
  const auto& o = *got.options.dashboard;
  CHECK(o.listen == "10.0.0.1:80");
  CHECK(o.hosts == std::vector<std::string>{"jobs.example.org"});
  CHECK((o.allow_changes && o.allow_exec && o.behind_tls_proxy && o.hide_args && !o.store_metrics));
  CHECK(o.user_header == "X-User");
  CHECK(o.proxies == std::vector<std::string>{"10.0.0.2"});
  CHECK(o.proxy_secret_file == "/p");
  CHECK(o.metrics_token_file == "/t");
  REQUIRE(o.users.size() == 2);
  CHECK(o.users[0].role == dashboard_role::admin);
  CHECK(o.users[0].secret_file == "/a");
  CHECK(o.users[1].role == dashboard_role::operator_);
  CHECK(o.users[1].secret_variable == "OTTO");
}

TEST_CASE("a dashboard that lets others run commands, or name users, is warned of") {
  const auto warnings = [](const std::string& more, const std::string& dashboard) {
    return test::load("{" + more + "\"dashboard\": {" + dashboard + "}}").warnings;
  };
  const std::string with_exec = "\"allow_changes\": true, \"allow_exec\": true";
  CHECK(warnings("", with_exec).empty());
  CHECK(warnings("\"allow_exec\": true, \"exec\": {\"key_file\": \"/k\"}, ", with_exec).empty());
  const auto runs = warnings("\"allow_exec\": true, ", with_exec);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].find("run commands as this server") != std::string::npos);
  const std::string behind = "\"user_header\": \"X-User\", \"proxies\": [\"127.0.0.1\"]";
  CHECK(warnings("", behind + ", \"proxy_secret_file\": \"/p\"").empty());
  const auto names = warnings("", behind);
  REQUIRE(names.size() == 1);
  CHECK(names[0].find("every program of this machine can name any user in X-User") != std::string::npos);
}

TEST_CASE("a dashboard that allows changes to viewers alone is warned of") {
  const auto warnings = [](const std::string& role) {
    return test::load(R"({"dashboard": {"allow_changes": true, "users": {"anna": {"role": ")" + role +
                      R"(", "secret_file": "/a"}}}})")
        .warnings;
  };
  CHECK(warnings("operator").empty());
  CHECK(warnings("viewer") ==
        std::vector<std::string>{"dashboard.allow_changes has no effect: each of its users is a viewer"});
}

TEST_CASE("a type may be without overlap as a whole or by its args") {
  const auto o = options_of(R"({"jobs": {"a": {"without_overlap": true}, "b": {"without_overlap": "{customer_id}"},
                                        "c": {"without_overlap": false}, "d": {}}})");
  CHECK(o.jobs.at("a").without_overlap == "");
  CHECK(o.jobs.at("b").without_overlap == "{customer_id}");
  CHECK_FALSE(o.jobs.at("c").without_overlap);
  CHECK_FALSE(o.jobs.at("d").without_overlap);
}

TEST_CASE("each durability has its word") {
  CHECK(options_of(R"({"require_durability": "volatile"})").require_durability == durability::volatile_);
  CHECK(options_of(R"({"require_durability": "power_safe"})").require_durability == durability::power_safe);
}

TEST_CASE("a special queue without workers gets the special number wherever that stands") {
  const auto text =
      GENERATE(as<std::string>{},
               R"({"special_queue_workers": 3, "queues": {"a-queue": {}, "b-queue": {"workers": 9}, "c": {}}})",
               R"({"queues": {"a-queue": {}, "b-queue": {"workers": 9}, "c": {}}, "special_queue_workers": 3})");
  const auto o = options_of(text);
  CHECK(o.queues.at("a-queue").workers == 3);
  CHECK(o.queues.at("b-queue").workers == 9);
  CHECK(o.queues.at("c").workers == test::processors());
}

TEST_CASE("only the end of a name makes a queue special") {
  const auto o = options_of(R"({"special_queue_workers": 999,
                                "queues": {"queue": {}, "a-queues": {}, "my_queue": {}, "-queue-b": {}, "-queue": {}}})");
  for (const auto* name : {"queue", "a-queues", "my_queue", "-queue-b"})
    CHECK(o.queues.at(name).workers == test::processors());
  CHECK(o.queues.at("-queue").workers == 999);
}

TEST_CASE("a pattern is a queue like any other") {
  const auto o = options_of(R"({"special_queue_workers": 5, "queues": {"tenant-*-queue": {}, "*": {"workers": 2}}})");
  REQUIRE(o.queues.size() == 2);
  CHECK(o.queues.at("tenant-*-queue").workers == 5);
  CHECK(o.queues.at("*").workers == 2);
}

TEST_CASE("named queues replace the default one") {
  const auto o = options_of(R"({"queues": {"only": {}}})");
  CHECK(o.queues.size() == 1);
  CHECK(o.queues.count("default") == 0);
}

TEST_CASE("a retention rule that is given replaces its default as a whole") {
  const auto o = options_of(R"({"retention": {"succeeded": {"age": "1h"}}})");
  CHECK(o.retention.succeeded.age == duration(1h));
  CHECK_FALSE(o.retention.succeeded.count);
  CHECK(o.retention.deleted.count == 100'000U);
  CHECK(o.retention.bytes == 268'435'456U);
}

TEST_CASE("comments of both kinds are allowed") {
  const auto o = options_of("// first\n{ /* \"lease\": \"1s\", */ \"lease\": \"2s\" // last\n}\n/* end */");
  CHECK(o.lease == 2s);
}

TEST_CASE("lengths of time at their limits are accepted") {
  CHECK(options_of(R"({"lease": "1s"})").lease == 1s);
  CHECK(options_of(R"({"lease": "1h"})").lease == 1h);
  CHECK(options_of(R"({"lease": "60m"})").lease == 1h);
  CHECK(options_of(R"({"lease": "2s", "renew_every": "1s"})").renew_every == 1s);
  CHECK(options_of(R"({"sweep_interval": "1m"})").sweep_interval == 1min);
}
