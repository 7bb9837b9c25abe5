// What the benchmarks share: a store of their own, noop jobs, and how a rate is read and shown.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/client.hpp>
#include <sluice/options.hpp>
#include <sluice/server.hpp>

namespace bench {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
namespace fs = std::filesystem;

// What `--help` says; the program ends then.
inline void help(int argc, char** argv, const char* usage) {
  if (argc < 2 || std::string_view(argv[1]) != "--help") return;
  std::printf("usage: %s\n", usage);
  std::exit(0);
}

inline double seconds_since(steady::time_point begin) {
  return std::chrono::duration<double>(steady::now() - begin).count();
}

inline std::int64_t monotonic_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(steady::now().time_since_epoch()).count();
}

[[noreturn]] inline void die(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

template <class T>
T must(sluice::result<T> r) {
  if (!r) die(sluice::to_string(r.error()));
  return std::move(*r);
}

inline void must(const sluice::result<void>& r) {
  if (!r) die(sluice::to_string(r.error()));
}

inline std::string fresh(const fs::path& dir, const char* name) {
  fs::create_directories(dir);
  for (const char* end : {"", "-wal", "-shm", ".lock", ".turn"})
    fs::remove(dir / (std::string(name) + end));
  return (dir / name).string();
}

inline sluice::client open_client(const std::string& url) {
  sluice::client_options options;
  options.storage = url;
  options.deadline = 60s;
  return must(sluice::client::open(options));
}

inline sluice::new_job noop() {
  sluice::new_job job;
  job.type = sluice::job_type("noop");
  return job;
}

inline double enqueue_many(const std::string& url, int jobs, const sluice::new_job& each = noop()) {
  auto client = open_client(url);
  const auto begin = steady::now();
  for (int n = 0; n < jobs; n += 1000)
    for (auto& r : client.enqueue(std::vector<sluice::new_job>(1000, each)))
      must(std::move(r));
  return jobs / seconds_since(begin);
}

inline sluice::server_options options_for(const std::string& url, unsigned workers, unsigned prefetch) {
  sluice::server_options options;
  options.storage = url;
  options.queues = {{"default", {workers, prefetch, {}, {}}}};
  return options;
}

// Jobs a second from the first settle to the last, by the store's own record of them.
inline double settled_rate(const std::string& path, int jobs) {
  sqlite3* db = nullptr;
  sqlite3_stmt* q = nullptr;
  sqlite3_open(path.c_str(), &db);
  sqlite3_prepare_v2(db,
                     "SELECT count(*), max(score)-min(score) FROM scores WHERE key="
                     "(SELECT id FROM keys WHERE name=CAST('{sluice}:succeeded:default' AS BLOB))",
                     -1, &q, nullptr);
  sqlite3_step(q);
  const auto settled = sqlite3_column_int(q, 0);
  const double us = sqlite3_column_double(q, 1);
  sqlite3_finalize(q);
  sqlite3_close(db);
  if (settled != jobs) die("only " + std::to_string(settled) + " of " + std::to_string(jobs) + " were settled");
  return jobs * 1e6 / us;
}

struct pick_up {
  double p50 = 0, p99 = 0, most = 0;
};

inline pick_up summarize(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double q) {
    return ms[std::min(ms.size() - 1, static_cast<std::size_t>(q * static_cast<double>(ms.size())))];
  };
  return {at(0.5), at(0.99), ms.back()};
}

inline void row(const char* what, double value, const char* unit, double limit = 0) {
  if (limit > 0) std::printf("%-44s %12.0f %-8s %.2f of the limit\n", what, value, unit, value / limit);
  else if (value < 100) std::printf("%-44s %12.2f %s\n", what, value, unit);
  else std::printf("%-44s %12.0f %s\n", what, value, unit);
  std::fflush(stdout);
}

inline double enqueue_one_by_one(const std::string& url, double seconds) {
  auto client = open_client(url);
  int n = 0;
  const auto begin = steady::now();
  for (; seconds_since(begin) < seconds; ++n)
    must(client.enqueue(noop()));
  return n / seconds_since(begin);
}

// Jobs that come one by one, and how long the handler of each takes.
struct arrivals {
  int jobs = 0;
  int a_second = 200;
  sluice::duration body{0};
};

// The other process of the pick-up test, started as "--produce URL JOBS A_SECOND": each job carries the instant before
// its enqueue.
inline int produce(char** words) {
  const std::string url = words[2];
  const int jobs = std::stoi(words[3]);
  const auto every = std::chrono::nanoseconds(1s) / std::stoi(words[4]);
  auto client = open_client(url);
  auto next = steady::now();
  for (int i = 0; i < jobs; ++i) {
    std::this_thread::sleep_until(next += every);
    auto job = noop();
    job.args = std::to_string(monotonic_us());
    must(client.enqueue(std::move(job)));
  }
  return 0;
}

inline pick_up measure_pick_up(const std::string& self, const std::string& url, unsigned workers, unsigned prefetch,
                               const arrivals& coming) {
  std::mutex mutex;
  std::vector<double> ms;
  std::atomic<int> ran{0};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context& c) {
    const auto now = monotonic_us();
    const double waited = static_cast<double>(now - std::stoll(c.args())) / 1000;
    {
      std::lock_guard hold(mutex);
      ms.push_back(waited);
    }
    if (coming.body > 0us) std::this_thread::sleep_for(coming.body);
    ran.fetch_add(1);
    ran.notify_one();
  });
  sluice::server server(options_for(url, workers, prefetch), handlers);
  if (const auto started = server.start(); !started) die(sluice::to_string(started.error()));
  const pid_t child = ::fork();
  if (child == 0) {
    const auto jobs = std::to_string(coming.jobs), a_second = std::to_string(coming.a_second);
    ::execl(self.c_str(), self.c_str(), "--produce", url.c_str(), jobs.c_str(), a_second.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) die("the producing process failed");
  for (int seen = 0; (seen = ran.load()) < coming.jobs;)
    ran.wait(seen);
  server.stop();
  return summarize(std::move(ms));
}

inline double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  long total = 0, resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident * ::sysconf(_SC_PAGESIZE)) / (1024 * 1024);
}

inline double own_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

inline void show(const char* what, const pick_up& p) {
  std::printf("%-44s %8.2f / %.2f / %.2f ms\n", what, p.p50, p.p99, p.most);
  std::fflush(stdout);
}

}  // namespace bench
