// What the cases of throttle_bench share: stores, a semaphore, and when jobs ran.
#pragma once

#include <memory>
#include <utility>

#include "bench/measure.hpp"
#include "bench/parkings.hpp"
#include "tests/support/redis_server.hpp"

namespace bench {

inline void must_do(const sluice::result<void>& r) {
  if (!r) die(sluice::to_string(r.error()));
}

// A store of its own, empty at each `url()`.
class stores {
public:
  explicit stores(bool redis) {
    if (redis) redis_ = std::make_unique<sluice::test::redis_server>();
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
  // Of this process and of its Redis.
  double cpu_seconds() const { return own_cpu_seconds() + (redis_ ? redis_->cpu_seconds() : 0); }
  // Others beside it, empty as well.
  std::string beside(const std::string& name) {
    if (!redis_) return "sqlite:" + fresh(folder_, (name + ".db").c_str());
    return redis_->url() + "&prefix=" + name;
  }
  // Of what the last `url()` named.
  std::unique_ptr<parkings> count_parkings() {
    if (redis_) return std::make_unique<redis_parkings>(*redis_);
    return std::make_unique<sqlite_parkings>((folder_ / "bench.db").string());
  }
  std::string file(const std::string& name) {
    if (!folder_.empty()) return (folder_ / name).string();
    return redis_->socket() + "." + name;
  }

private:
  std::unique_ptr<sluice::test::redis_server> redis_;
  fs::path folder_;
};

inline sluice::throttler semaphore(const char* name, std::uint64_t limit) {
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
  void sort() {
    std::sort(began.begin(), began.end());
    std::sort(ended.begin(), ended.end());
  }
};

// What handlers note of their runs.
class run_log {
public:
  void note(std::int64_t begin, std::int64_t end) {
    {
      std::lock_guard hold(mutex_);
      times_.began.push_back(begin);
      times_.ended.push_back(end);
    }
    ran_.fetch_add(1);
    ran_.notify_one();
  }
  void wait_for(int jobs) {
    for (int seen = 0; (seen = ran_.load()) < jobs;)
      ran_.wait(seen);
  }
  // What was noted since the last time; once nobody notes any more.
  run_times take() {
    times_.sort();
    ran_ = 0;
    return std::exchange(times_, {});
  }

private:
  std::mutex mutex_;
  run_times times_;
  std::atomic<int> ran_{0};
};

// The body that all of these jobs have.
inline void work(run_log& log, std::chrono::microseconds length) {
  const auto begin = monotonic_us();
  if (length.count() > 0) std::this_thread::sleep_for(length);
  log.note(begin, monotonic_us());
}

}  // namespace bench
