// What throttlers cost and how full they keep what they limit: how busy a semaphore is, how full each interval of a
// window, how soon a waiter starts when a permit comes back, and what a limit costs that never binds.
//
//   throttle_bench [--store redis|sqlite] [--only semaphore|window|line|free] [--pairs 7]
#include <cstring>
#include <map>
#include <memory>

#include <sluice/client.hpp>
#include <sluice/log.hpp>
#include <sluice/server.hpp>

#include "bench/measure.hpp"
#include "tests/support/redis_server.hpp"

namespace {

using namespace bench;
using sluice::test::redis_server;

// A store of its own, empty at each `url()`.
class stores {
public:
  explicit stores(bool redis) {
    if (redis) redis_ = std::make_unique<redis_server>();
    else folder_ = fs::temp_directory_path() / ("throttle_bench-" + std::to_string(::getpid()));
  }
  ~stores() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  std::string url() {
    if (!redis_) return "sqlite:" + fresh(folder_, "bench.db");
    redis_->command({"FLUSHALL"});
    return redis_->url();
  }

private:
  std::unique_ptr<redis_server> redis_;
  fs::path folder_;
};

sluice::throttler semaphore(const char* name, std::uint64_t limit) {
  sluice::throttler t;
  t.kind = sluice::throttler_kind::semaphore;
  t.name = name;
  t.limit = limit;
  return t;
}

struct run_times {
  std::vector<std::int64_t> began, ended;  // microseconds, sorted
  double cpu = 0;                          // seconds of this process
  double span() const { return static_cast<double>(ended.back() - began.front()) / 1e6; }
};

// Runs `jobs` jobs of `length` under this throttler. `all_wait`: the first holds it until all others wait.
run_times run(const std::string& url, int jobs, unsigned workers, std::chrono::microseconds length,
              const sluice::throttler* by, const std::string& ref, bool all_wait = false) {
  enqueue_many(url, jobs);
  auto options = options_for(url, workers, 256);
  if (by) options.throttlers = {*by};
  if (!ref.empty()) options.jobs["noop"].throttle = {ref};
  std::mutex mutex;
  run_times times;
  std::atomic<int> ran{0};
  std::atomic<bool> go{!all_wait};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) {
    go.wait(false);
    const auto begin = monotonic_us();
    if (length.count() > 0) std::this_thread::sleep_for(length);
    const auto end = monotonic_us();
    {
      std::lock_guard hold(mutex);
      times.began.push_back(begin);
      times.ended.push_back(end);
    }
    if (ran.fetch_add(1) + 1 == jobs) ran.notify_one();
  });
  const auto cpu = own_cpu_seconds();
  sluice::server server(options, handlers);
  if (const auto started = server.start(); !started) die(sluice::to_string(started.error()));
  if (all_wait) {
    auto client = open_client(url);
    while (must(client.queues()).at(0).throttled + 1 < static_cast<std::uint64_t>(jobs))
      std::this_thread::sleep_for(10ms);
    go = true;
    go.notify_all();
  }
  for (int seen = 0; (seen = ran.load()) < jobs;)
    ran.wait(seen);
  times.cpu = own_cpu_seconds() - cpu;
  server.stop();
  std::sort(times.began.begin(), times.began.end());
  std::sort(times.ended.begin(), times.ended.end());
  return times;
}

// From each end to the start of the one that takes its place.
pick_up wake_ups(const run_times& t, std::size_t limit) {
  std::vector<double> ms;
  for (std::size_t i = 0; i + limit < t.began.size(); ++i)
    ms.push_back(static_cast<double>(t.began[i + limit] - t.ended[i]) / 1000);
  return summarize(std::move(ms));
}

void busy_semaphore(stores& on, int jobs) {
  constexpr std::uint64_t limit = 8;
  const auto by = semaphore("api", limit);
  const auto t = run(on.url(), jobs, 32, 5ms, &by, "semaphore:api");
  double inside = 0;
  for (std::size_t i = 0; i < t.began.size(); ++i)
    inside += static_cast<double>(t.ended[i] - t.began[i]) / 1e6;
  std::printf("%-44s %12.1f %%\n", "semaphore 8, bodies of 5 ms, 32 workers: busy", 100 * inside / (limit * t.span()));
  show("release to the next start, p50 / p99 / max", wake_ups(t, limit));
}

void full_window(stores& on, int jobs) {
  sluice::throttler by;
  by.kind = sluice::throttler_kind::fixed_window;
  by.name = "api";
  by.limit = 500;
  by.interval = 1s;
  const auto skew =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count() -
      monotonic_us();
  const auto t = run(on.url(), jobs, 32, 0us, &by, "fixed_window:api");
  std::map<std::int64_t, int> seconds;
  for (const auto began : t.began)
    ++seconds[(began + skew) / 1'000'000];
  int least = 500, most = 0;
  for (auto at = std::next(seconds.begin()); at != std::prev(seconds.end()); ++at) {
    least = std::min(least, at->second);
    most = std::max(most, at->second);
  }
  std::printf("%-44s %12d to %d\n", "fixed window of 500 a second: starts in each", least, most);
  std::printf("%-44s %12.1f %% of a core\n", "processor time of the server", 100 * t.cpu / t.span());
}

// One mutex, its line short and long: jobs a second through it.
void long_line(stores& on) {
  for (const int waiting : {100, 1'000, 10'000, 100'000}) {
    const auto url = on.url();
    const auto t = run(url, waiting, 8, 0us, nullptr, "mutex:one", true);
    // The first of the line, while it is long.
    const std::size_t from = 1, to = std::min<std::size_t>(900, t.began.size() - 1);
    const auto us = static_cast<double>(t.began[to] - t.began[from]) / static_cast<double>(to - from);
    std::printf("one mutex, %7d jobs: from one start to the next %8.0f us\n", waiting, us);
    std::fflush(stdout);
  }
}

double rate(const run_times& t) { return static_cast<double>(t.began.size()) / t.span(); }

void never_binding(stores& on, int pairs, int jobs) {
  const auto by = semaphore("wide", 1'000'000);
  std::vector<double> ratios;
  double plain = 0;
  for (int i = 0; i < pairs; ++i) {
    const auto without = rate(run(on.url(), jobs, 64, 0us, nullptr, ""));
    const auto with = rate(run(on.url(), jobs, 64, 0us, &by, "semaphore:wide"));
    ratios.push_back(with / without);
    plain = std::max(plain, without);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%-44s %12.2f of the rate without (%.2f to %.2f; at best %.0f jobs/s)\n", "a semaphore that never binds",
              ratios[ratios.size() / 2], ratios.front(), ratios.back(), plain);
}

}  // namespace

int main(int argc, char** argv) {
  bool redis = true;
  std::string only;
  int pairs = 7;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--store") == 0) redis = std::strcmp(argv[i + 1], "sqlite") != 0;
    else if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    else if (std::strcmp(argv[i], "--pairs") == 0) pairs = std::max(1, std::atoi(argv[i + 1]));
    else die(std::string("unknown option ") + argv[i]);
  }
  stores on(redis);
  std::printf("%s; %u processors\n\n", redis ? "Redis" : "SQLite", std::thread::hardware_concurrency());
  if (only.empty() || only == "semaphore") busy_semaphore(on, 10'000);
  if (only.empty() || only == "window") full_window(on, 5'000);
  if (only.empty() || only == "line") long_line(on);
  if (only.empty() || only == "free") never_binding(on, pairs, 100'000);
}
