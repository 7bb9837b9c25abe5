// What the jobs of the small samples do, who was inside at once, and how to wait for what is seen.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <sluice/client.hpp>

#include "common/words.hpp"

namespace sample {

// A chain of FNV-1a hashes, each of the one before: work that takes a processor's time and can be checked.
inline std::uint64_t checksum_chain(std::string_view text, std::uint32_t links) {
  std::uint64_t h = 14695981039346656037ULL;
  for (std::uint32_t i = 0; i < links; ++i)
    for (const unsigned char c : text)
      h = (h ^ c) * 1099511628211ULL;
  return h;
}

// How many are inside, and the most that ever were.
class crowd {
public:
  class member {
  public:
    explicit member(crowd& of) : of_(of) {
      std::lock_guard hold(of_.mutex_);
      of_.peak_ = std::max(of_.peak_, count_ = ++of_.now_);
    }
    ~member() {
      std::lock_guard hold(of_.mutex_);
      --of_.now_;
    }
    member(const member&) = delete;
    unsigned count() const { return count_; }  // when it came in, itself included

  private:
    crowd& of_;
    unsigned count_ = 0;
  };

  unsigned peak() const {
    std::lock_guard hold(mutex_);
    return peak_;
  }

private:
  mutable std::mutex mutex_;
  unsigned now_ = 0, peak_ = 0;
};

// Looks again and again, for so long at most. Answers whether it came true.
template <class F>
bool until(F&& true_now, std::chrono::seconds timeout) {
  const auto last = std::chrono::steady_clock::now() + timeout;
  while (!true_now()) {
    if (std::chrono::steady_clock::now() >= last) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// Until every job of the store is final. A job that enqueues others does so before it ends, so nothing is missed.
inline bool wait_for_all(sluice::client& client, std::chrono::seconds timeout) {
  const auto is_idle = [&] {
    const auto queues = must(client.queues());
    return std::all_of(queues.begin(), queues.end(), [](const sluice::queue_counts& q) {
      return q.enqueued + q.scheduled + q.awaiting + q.throttled + q.processing == 0;
    });
  };
  return until(is_idle, timeout);
}

}  // namespace sample
