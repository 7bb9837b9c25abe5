// What a fault costs: processor time, patience, log lines.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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

// What is logged while it lives.
class log_lines {
public:
  log_lines() {
    set_log_sink([all = all_](log_level, std::string_view line) {
      const std::lock_guard hold(all->mutex);
      all->lines.emplace_back(line);
    });
    set_log_level(log_level::info);
  }
  ~log_lines() {
    set_log_level(log_level::off);
    log::flush(std::chrono::seconds(10));
    set_log_sink({});
  }
  log_lines(const log_lines&) = delete;

  std::vector<std::string> lines() const {
    log::flush(std::chrono::seconds(10));
    const std::lock_guard hold(all_->mutex);
    return all_->lines;
  }
  bool has(const std::string& part) const {
    const auto all = lines();
    return std::any_of(all.begin(), all.end(), [&](const auto& l) { return l.find(part) != std::string::npos; });
  }

private:
  struct kept {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  std::shared_ptr<kept> all_ = std::make_shared<kept>();
};

}  // namespace sluice::test
