// What is told to Prometheus.
#include <algorithm>
#include <sstream>

#include <sluice/server.hpp>

#include "core/text.hpp"
#include "dashboard/dashboard_world.hpp"
#include "storage/numbers.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"

namespace sluice::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

// The value of one series, or nothing.
std::optional<double> value_of(const std::string& text, const std::string& series) {
  for (const auto& line : lines_of(text))
    if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
  return std::nullopt;
}

}  // namespace

TEST_CASE("metrics are well formed: all lines of a name together, each once, behind its help and type") {
  dashboard_world w;
  w.enqueue({dashboard_world::job("a"), dashboard_world::job("b", "other")});
  eventually([&] { return w.get("/api/v1/overview").at("queues") == 2; });
  const auto said = w.ask("GET", "/metrics");
  REQUIRE(said.status == 200);
  CHECK(said.type == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(said.body.ends_with('\n'));
  std::set<std::string> names, series;
  std::string name, type;
  for (const auto& line : lines_of(said.body)) {
    CAPTURE(line);
    if (line.starts_with("# HELP ")) {
      name = line.substr(7, line.find(' ', 7) - 7);
      CHECK(names.insert(name).second);
      CHECK((name.starts_with("sluice_") || name.starts_with("process_")));
      continue;
    }
    if (line.starts_with("# TYPE ")) {
      type = line.substr(line.rfind(' ') + 1);
      if (type == "counter") CHECK(name.ends_with("_total"));
      continue;
    }
    const auto own = line.substr(0, line.find_first_of(" {"));
    CHECK((own == name ||
           (type == "histogram" && (own == name + "_bucket" || own == name + "_sum" || own == name + "_count"))));
    CHECK(series.insert(line.substr(0, line.rfind(' '))).second);
  }
  CHECK(value_of(said.body, "sluice_up") == 1);
  CHECK(value_of(said.body, "sluice_jobs{queue=\"default\",state=\"enqueued\"}") == 1);
  CHECK(value_of(said.body, "sluice_queue_paused{queue=\"other\"}") == 0);
  CHECK(*value_of(said.body, "sluice_queue_oldest_ready_timestamp_seconds{queue=\"default\"}") > 1.7e9);
}

TEST_CASE("promtool finds nothing wrong with the metrics") {
  if (!is_here("promtool")) return;
  dashboard_world w;
  w.enqueue({dashboard_world::job("a"), dashboard_world::job("b", "other")});
  eventually([&] { return w.get("/api/v1/overview").at("queues") == 2; });
  write_file(w.folder.file("metrics"), w.ask("GET", "/metrics").body);
  const auto checked =
      run({"sh", "-c", "promtool check metrics < " + w.folder.file("metrics")}, w.folder.path().string());
  CAPTURE(checked.out, checked.err);
  CHECK(checked.exit_code == 0);
}

TEST_CASE("what a server does is counted by queue, and how long it waited and ran") {
  dashboard_world w;
  const std::string queue = "counted-" + random_token();
  server_options options;
  options.storage = w.url;
  options.queues = {{queue, {}}};
  options.retry.attempts = 0;
  server s(options);
  s.handle("noop", [](job_context&) {});
  s.handle("bad", [](job_context&) -> void { throw std::runtime_error("no"); });
  REQUIRE(s.start());
  auto bad = dashboard_world::job("bad", queue);
  bad.type = job_type("bad");
  w.enqueue({dashboard_world::job("a", queue), dashboard_world::job("b", queue), bad});
  for (const auto* id : {"a", "b", "bad"})
    REQUIRE(w.store().wait(job_id(id), std::chrono::seconds(20)));
  s.stop();
  const auto text = w.ask("GET", "/metrics").body;
  const auto of = [&](const std::string& name, const std::string& more = {}) {
    return value_of(text, cat(name, "{queue=\"", queue, "\"", more, "}"));
  };
  CHECK(of("sluice_enqueued_total") == 3);
  CHECK(of("sluice_claimed_total") == 3);
  CHECK(of("sluice_ends_total", ",outcome=\"succeeded\"") == 2);
  CHECK(of("sluice_ends_total", ",outcome=\"failed\"") == 1);
  CHECK(of("sluice_run_duration_seconds_count") == 3);
  CHECK(of("sluice_run_duration_seconds_bucket", ",le=\"+Inf\"") == 3);
  CHECK(of("sluice_wait_duration_seconds_count") == 3);
  CHECK(*of("sluice_wait_duration_seconds_sum") >= 0);
  CHECK(*value_of(text, "sluice_store_commit_duration_seconds_count") > 0);
  CHECK(*value_of(text, "sluice_store_requests_total{request=\"enqueue\"}") > 0);
}

TEST_CASE("how runs end, and how long they ran, is counted by type of job too") {
  dashboard_world w;
  const auto token = random_token();
  const std::string good = cat("good-", token), bad = cat("bad-", token);
  server_options options;
  options.storage = w.url;
  options.queues = {{"default", {}}};
  options.retry.attempts = 1;
  options.retry.delay = std::chrono::milliseconds(1);
  server s(options);
  s.handle(good, [](job_context&) {});
  s.handle(bad, [](job_context&) -> void { throw std::runtime_error("no"); });
  REQUIRE(s.start());
  const auto job_of = [](const std::string& id, const std::string& type) {
    auto job = dashboard_world::job(id);
    job.type = job_type(type);
    return job;
  };
  w.enqueue({job_of("a", good), job_of("b", good), job_of("bad", bad)});
  for (const auto* id : {"a", "b", "bad"})
    REQUIRE(w.store().wait(job_id(id), std::chrono::seconds(20)));
  s.stop();
  const auto text = w.ask("GET", "/metrics").body;
  const auto ends = [&](const std::string& type, const std::string& outcome) {
    return value_of(text, cat("sluice_type_ends_total{type=\"", type, "\",outcome=\"", outcome, "\"}"));
  };
  CHECK(ends(good, "succeeded") == 2);
  CHECK(ends(good, "failed") == 0);
  CHECK(ends(bad, "retry") == 1);
  CHECK(ends(bad, "failed") == 1);
  CHECK_FALSE(ends(good, "given_back"));
  CHECK(value_of(text, cat("sluice_type_run_duration_seconds_count{type=\"", good, "\"}")) == 2);
  CHECK(value_of(text, cat("sluice_type_run_duration_seconds_bucket{type=\"", bad, "\",le=\"+Inf\"}")) == 2);
}

TEST_CASE("labels are bounded: ten thousand keys of mutexes and five thousand queues make less than 6,000 lines") {
  dashboard_world w;
  server_options options;
  options.storage = w.url;
  options.queues = {{"locked", {8, 64, {}, {}}}};
  options.jobs["locked"].throttle = {"mutex:order:{order_id}"};
  server s(options);
  s.handle("locked", [](job_context&) {});
  REQUIRE(s.start());
  std::vector<new_job> locked, others;
  for (int i = 0; i < 10'000; ++i) {
    locked.push_back(dashboard_world::job(cat("l-", i), "locked"));
    locked.back().type = job_type("locked");
    locked.back().args = cat("{\"order_id\":\"key-", i, "\"}");
  }
  w.enqueue(locked);
  const bool all_ran = eventually(
      [&] {
        CHECK(w.ask("GET", "/metrics").body.find("key-") == std::string::npos);  // while they are held, too
        return w.store().queues()->at(0).succeeded == 10'000;
      },
      std::chrono::seconds(300));
  REQUIRE(all_ran);
  s.stop();
  for (int i = 0; i < 5000; ++i)
    others.push_back(dashboard_world::job(cat("q-", i), cat("queue-", i)));
  w.enqueue(others);
  for (int i = 0; i < 300; ++i) {
    throttler t;
    t.kind = throttler_kind::semaphore;
    t.name = cat("semaphore-", i);
    t.limit = 2;
    REQUIRE(w.store().set_throttler(t));
  }
  for (int i = 0; i < 300; ++i) {
    recurring r;
    r.name = cat("schedule-", i);
    r.job = job_type("noop");
    r.every = std::chrono::hours(24);
    REQUIRE(w.store().set_recurring(r));
  }
  const bool is_known = eventually([&] {
    const auto known = w.get("/api/v1/overview");
    return known.at("throttlers") == 300 && known.at("schedules") == 300;
  });
  REQUIRE(is_known);
  for (const auto& route : web::routes())
    for (const unsigned status : {200U, 304U, 400U, 403U, 404U, 412U, 429U, 503U})
      w.on->numbers.note(route.pattern, status, duration(1));
  for (int i = 0; i < 300; ++i)
    storage::numbers::here().types.of(cat("type-", i));
  const auto said = w.ask("GET", "/metrics");
  CHECK(lines_of(said.body).size() < 6000);
  CHECK(said.body.find("key-") == std::string::npos);
  CHECK(*value_of(said.body, "sluice_jobs{queue=\"other\",state=\"enqueued\"}") > 4000);
  CHECK(value_of(said.body, "sluice_throttler_limit{kind=\"semaphore\",name=\"other\"}") == 180 * 2);
  CHECK(*value_of(said.body, "sluice_label_overflow{metric=\"sluice_jobs\"}") > 4000);
}

TEST_CASE("a dashboard beside others may leave the store's metrics to them") {
  auto options = dashboard_world::changing();
  options.store_metrics = false;
  dashboard_world w{options};
  const auto text = w.ask("GET", "/metrics").body;
  CHECK_FALSE(value_of(text, "sluice_up"));
  CHECK(text.find("sluice_jobs{") == std::string::npos);
  CHECK(value_of(text, "sluice_build_info{version=\"0.1.0\"}") == 1);
}

}  // namespace sluice::test
