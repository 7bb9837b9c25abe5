// What the benchmarks share: a store of their own, noop jobs, and how a rate is read and shown.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <sqlite3.h>

#include <sluice/client.hpp>
#include <sluice/options.hpp>

namespace bench {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
namespace fs = std::filesystem;

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

inline double enqueue_many(const std::string& url, int jobs) {
  auto client = open_client(url);
  const auto begin = steady::now();
  for (int n = 0; n < jobs; n += 1000)
    for (auto& r : client.enqueue(std::vector<sluice::new_job>(1000, noop())))
      must(std::move(r));
  return jobs / seconds_since(begin);
}

inline sluice::server_options options_for(const std::string& url, unsigned workers, unsigned prefetch) {
  sluice::server_options options;
  options.storage = url;
  options.queues = {{"default", {workers, prefetch, {}, {}}}};
  return options;
}

// Jobs a second from the first claim to the last settle, by the store's own record of them.
inline double settled_rate(const std::string& path, int jobs) {
  sqlite3* db = nullptr;
  sqlite3_stmt* q = nullptr;
  sqlite3_open(path.c_str(), &db);
  sqlite3_prepare_v2(db, "SELECT count(*), max(pos)-min(started) FROM jobs WHERE state=6", -1, &q, nullptr);
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

}  // namespace bench
