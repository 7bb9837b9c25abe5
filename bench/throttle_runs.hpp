// What the cases of throttle_bench share: a semaphore, and when jobs ran.
#pragma once

#include <utility>

#include "bench/stores.hpp"

namespace bench {

inline void must_do(const sluice::result<void>& r) {
  if (!r) die(sluice::to_string(r.error()));
}

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

// The handler that all of these jobs have.
inline void work(run_log& log, std::chrono::microseconds length) {
  const auto begin = monotonic_us();
  if (length.count() > 0) std::this_thread::sleep_for(length);
  log.note(begin, monotonic_us());
}

}  // namespace bench
