// How exact time is: delayed jobs, recurring jobs, and what 100,000 jobs that become due at one instant cost others.
//
//   time_bench [--store redis|sqlite] [--only delayed|recurring|burst]
#include <cstring>

#include <sluice/client.hpp>
#include <sluice/log.hpp>
#include <sluice/server.hpp>

#include "bench/stores.hpp"

namespace {

using namespace bench;

std::int64_t wall_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// How late each handler began, by the wall clock of this machine.
class lateness {
public:
  void note(std::int64_t due_us) {
    const auto late = static_cast<double>(wall_us() - due_us) / 1000;
    std::lock_guard hold(mutex_);
    ms_.push_back(late);
  }
  std::size_t count() {
    std::lock_guard hold(mutex_);
    return ms_.size();
  }
  void tell(const char* what) {
    std::lock_guard hold(mutex_);
    const auto early = std::count_if(ms_.begin(), ms_.end(), [](double ms) { return ms < 0; });
    show(what, summarize(ms_));
    if (early > 0) std::printf("%-44s %8lld\n", "  of these early", static_cast<long long>(early));
  }

private:
  std::mutex mutex_;
  std::vector<double> ms_;
};

template <class F>
void wait_for(const F& true_now) {
  while (!true_now())
    std::this_thread::sleep_for(10ms);
}

// The store stamps a due time when it carries the enqueue out: after this call began, before it ended.
void delayed(stores& on, int jobs, std::chrono::seconds over) {
  const auto url = on.url();
  lateness seen;
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context& c) { seen.note(std::stoll(c.args())); });
  sluice::server server(options_for(url, 8, 256), handlers);
  if (const auto up = server.start(); !up) die(sluice::to_string(up.error()));
  auto client = open_client(url);
  const auto begin = wall_us() + 2'000'000;
  const auto step = std::chrono::duration_cast<std::chrono::microseconds>(over).count() / jobs;
  for (int from = 0; from < jobs; from += 100) {
    std::vector<sluice::new_job> some;
    for (int i = from; i < from + 100; ++i) {
      auto job = noop();
      const auto due = begin + i * step;
      job.args = std::to_string(due);
      job.delay = std::chrono::microseconds(due - wall_us());
      some.push_back(std::move(job));
    }
    for (auto& r : client.enqueue(std::move(some)))
      must(std::move(r));
  }
  wait_for([&] { return seen.count() == static_cast<std::size_t>(jobs); });
  seen.tell("delayed jobs begun late, p50 / p99 / max");
}

void recurring(stores& on, int schedules, std::chrono::seconds length) {
  const auto url = on.url();
  lateness seen;
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) { seen.note(wall_us() / 1'000'000 * 1'000'000); });
  auto options = options_for(url, 8, 256);
  for (int i = 0; i < schedules; ++i) {
    sluice::recurring r;
    r.name = "s" + std::to_string(i);
    r.job = sluice::job_type("noop");
    r.cron = "* * * * * *";
    options.recurring.push_back(r);
  }
  sluice::server server(options, handlers);
  if (const auto up = server.start(); !up) die(sluice::to_string(up.error()));
  std::this_thread::sleep_for(length);
  server.stop();
  std::printf("%-44s %8zu\n", "occurrences", seen.count());
  seen.tell("of schedules begun late, p50 / p99 / max");
}

// Enqueues of others while very many jobs become due at once.
void burst(stores& on, int jobs) {
  const auto url = on.url();
  std::atomic<int> ran{0};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) { ++ran; });
  handlers.handle("other", [](sluice::job_context&) {});
  auto client = open_client(url);
  const auto due = wall_us() + 6'000'000;
  for (int from = 0; from < jobs; from += 1000) {
    std::vector<sluice::new_job> some;
    for (int i = 0; i < 1000; ++i) {
      auto job = noop();
      job.delay = std::chrono::microseconds(std::max<std::int64_t>(1, due - wall_us()));
      some.push_back(std::move(job));
    }
    for (auto& r : client.enqueue(std::move(some)))
      must(std::move(r));
  }
  sluice::server server(options_for(url, 8, 256), handlers);
  if (const auto up = server.start(); !up) die(sluice::to_string(up.error()));
  std::this_thread::sleep_for(std::chrono::microseconds(std::max<std::int64_t>(0, due - wall_us())));
  std::vector<double> ms;
  const auto begin = steady::now();
  while (must(client.queues()).at(0).scheduled > 0) {
    auto job = noop();
    job.type = sluice::job_type("other");
    const auto asked = monotonic_us();
    must(client.enqueue(std::move(job)));
    ms.push_back(static_cast<double>(monotonic_us() - asked) / 1000);
  }
  row("jobs due at one instant, promoted", jobs / seconds_since(begin), "jobs/s");
  show("enqueues of others meanwhile, p50 / p99 / max", summarize(std::move(ms)));
  wait_for([&] { return ran.load() >= jobs; });
}

}  // namespace

int main(int argc, char** argv) {
  bench::help(argc, argv, "time_bench [--store redis|sqlite] [--only delayed|recurring|burst]");
  bool redis = true;
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--store") == 0) redis = std::strcmp(argv[i + 1], "sqlite") != 0;
    else if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    else die(std::string("unknown option ") + argv[i]);
  }
  stores on(redis);
  std::printf("%s; %u processors\n\n", redis ? "Redis" : "SQLite", std::thread::hardware_concurrency());
  if (only.empty() || only == "delayed") delayed(on, 10'000, 10s);
  if (only.empty() || only == "recurring") recurring(on, 50, 10s);
  if (only.empty() || only == "burst") burst(on, 100'000);
}
