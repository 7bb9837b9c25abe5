// How many runs each queue of a server may have at work, so that all of them have threads: a queue that wants more than
// there are waits for its turn before it claims, since what is claimed keeps a lease and a place that others could use.
// Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "core/log.hpp"
#include "core/mutex.hpp"
#include "core/text.hpp"

namespace sluice::execution {

class thread_shares {
public:
  // What one queue has of them. Its `turn_came` may be called from any thread, without a lock.
  class share {
  public:
    explicit share(std::function<void()> turn_came) : turn_came_(std::move(turn_came)) {}
    share(const share&) = delete;

  private:
    friend class thread_shares;
    const std::function<void()> turn_came_;
    std::uint32_t has_ = 0;
    std::uint32_t of_turns_ = 0;  // that it was called for, and has not used yet
    bool waits_ = false;
  };

  explicit thread_shares(std::uint32_t all) : all_(all), free_(all) {}

  // The queue keeps `needs`, for what it holds, and what it was called for and has not used. Answers how many of `more`
  // it gets beside; what it had else goes to those that wait, who come first. When it gets none it waits too, and is
  // called when its turn has come. With some it need not: when its claim brings as many jobs, it asks for more.
  std::uint32_t use(const std::shared_ptr<share>& by, std::uint32_t needs, std::uint32_t more) {
    mutex_lock held(lock_);
    auto got = std::min(by->of_turns_, more);
    by->of_turns_ -= got;
    if (by->has_ == needs + by->of_turns_ && more == 0) return 0;
    // What it holds may need more than it has, for a moment: nobody else gets a thread before.
    set(*by, needs + by->of_turns_ + got);
    for (; free_ > 0 && !waiting_.empty(); waiting_.pop_front()) {
      auto& next = waiting_.front();
      next->waits_ = false;
      if (next == by && got < more) {
        ++got;
      } else {
        ++next->of_turns_;
        called_.push_back(next);
      }
      set(*next, next->has_ + 1);
    }
    const auto others = static_cast<std::uint32_t>(std::clamp<std::int64_t>(free_, 0, more - got));
    set(*by, by->has_ + others);
    got += others;
    if (got == 0 && more > 0) {
      if (!std::exchange(by->waits_, true)) waiting_.push_back(by);
      if (!std::exchange(is_told_, true))
        log::warn("all ", all_,
                  " threads are at work: queues claim no more until it is their turn for one (`threads`)");
    }
    is_short_ = !waiting_.empty();
    call(held);
    return got;
  }

  // The queue was called and has made its claim: what it did not use is the next one's.
  void forgo(const std::shared_ptr<share>& by) {
    std::uint32_t left = 0;
    {
      const mutex_lock held(lock_);
      left = by->has_ - std::exchange(by->of_turns_, 0);
    }
    use(by, left, 0);
  }

  // The queue ends: what it has and waits for is others'.
  void leave(const std::shared_ptr<share>& by) {
    {
      const mutex_lock held(lock_);
      std::erase(waiting_, by);
      is_short_ = !waiting_.empty();
      by->waits_ = false;
      by->of_turns_ = 0;
    }
    use(by, 0, 0);
  }

  bool somebody_waits() const { return is_short_; }

private:
  void set(share& of, std::uint32_t has) SLUICE_REQUIRES(lock_) {
    free_ += std::int64_t{of.has_} - has;
    of.has_ = has;
  }
  // One that is called may not need its turn, and come here: it must not call the next one inside.
  void call(mutex_lock& held) SLUICE_CHECKED_BY_CLANG(no_thread_safety_analysis) {
    if (std::exchange(is_calling_, true)) return;
    while (!called_.empty()) {
      const auto next = std::move(called_.front());
      called_.pop_front();
      held.unlock();
      try {
        next->turn_came_();
      } catch (const std::exception& e) {
        log::error("a queue's turn for a thread is lost: ", message_of(e));
      }
      held.lock();
    }
    is_calling_ = false;
  }

  const std::uint32_t all_;
  mutex lock_{};
  std::int64_t free_ SLUICE_GUARDED_BY(lock_);
  std::deque<std::shared_ptr<share>> waiting_ SLUICE_GUARDED_BY(lock_){};  // in the order in which they are served
  std::deque<std::shared_ptr<share>> called_ SLUICE_GUARDED_BY(lock_){};   // whose turn has come
  bool is_calling_ SLUICE_GUARDED_BY(lock_) = false;
  std::atomic<bool> is_short_{false};
  bool is_told_ SLUICE_GUARDED_BY(lock_) = false;
};

}  // namespace sluice::execution
