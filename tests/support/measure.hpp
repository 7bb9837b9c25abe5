// What a fault costs: processor time, patience, log lines.
#pragma once

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "core/log.hpp"

namespace sluice::test {

// Of this process, all threads.
inline double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

inline double seconds_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

// Counts what is logged while it lives.
class log_counter {
public:
  log_counter() {
    set_log_sink([n = lines_](log_level, std::string_view) { ++*n; });
    set_log_level(log_level::info);
  }
  ~log_counter() {
    set_log_level(log_level::off);
    written();
    set_log_sink({});
  }
  log_counter(const log_counter&) = delete;
  int lines() const { return written(), *lines_; }

private:
  static void written() { log::flush(std::chrono::seconds(10)); }

  std::shared_ptr<std::atomic<int>> lines_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace sluice::test
