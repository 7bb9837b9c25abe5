// What all routes share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include <sluice/client.hpp>

#include "client/snapshot.hpp"
#include "dashboard/access.hpp"
#include "dashboard/http_numbers.hpp"
#include "dashboard/http_server.hpp"
#include "dashboard/shared_reads.hpp"

namespace sluice::web {

// So many requests are in the store at a time, and one waits; so threads are left for what is answered from memory.
class store_places {
public:
  bool take() {
    std::unique_lock hold(mutex_);
    if (free_ == 0 && waiting_ == max_waiting) return false;
    ++waiting_;
    const bool has_place = freed_.wait_for(hold, timeout, [this] { return free_ > 0; });
    --waiting_;
    if (has_place) --free_;
    return has_place;
  }
  void give_back() {
    {
      std::lock_guard hold(mutex_);
      ++free_;
    }
    freed_.notify_one();
  }

private:
  static constexpr unsigned places = 2, max_waiting = 1;
  static constexpr auto timeout = std::chrono::milliseconds(500);
  static_assert(places + max_waiting + shared_reads::max_waiting + snapshot::max_waiting <= max_blocked_threads);
  std::mutex mutex_;
  std::condition_variable freed_;
  unsigned free_ = places, waiting_ = 0;
};

struct board {
  client store;
  dashboard_options options;
  std::unique_ptr<access_rules> access;
  std::shared_ptr<storage::shared_store> shared_store;
  std::unique_ptr<snapshot> known;
  std::function<bool()> is_ready;  // may be empty
  std::string backend;             // sqlite or redis
  shared_reads reads{options.reads_a_second};
  store_places places{};
  std::mutex defining{};  // held from the look that If-Match asks for to the change
  http_numbers numbers{};
  // After it no change is begun any more: the socket of who asks is shut soon after.
  std::chrono::steady_clock::duration time_for_changes = std::chrono::seconds(3);
};

}  // namespace sluice::web
