// The jobs whose end somebody in this process waits for. Thread-safe; costs nothing while nobody does.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_set>

#include <sluice/types.hpp>

namespace sluice::execution {

class watch_list {
public:
  // `callback` is called, from any thread, when a watched job has ended here.
  void on_end(std::function<void(const job_id&)> callback) {
    std::lock_guard hold(mutex_);
    callback_ = std::move(callback);
  }
  void add(const job_id& id) {
    std::lock_guard hold(mutex_);
    ids_.insert(id);
    size_ = ids_.size();
  }
  void remove(const job_id& id) {
    std::lock_guard hold(mutex_);
    ids_.erase(id);
    size_ = ids_.size();
  }
  void ended(const job_id& id) {
    if (size_ == 0) return;
    std::lock_guard hold(mutex_);
    if (callback_ && ids_.contains(id)) callback_(id);
  }

private:
  std::atomic<std::size_t> size_{0};
  std::mutex mutex_;
  std::unordered_set<job_id> ids_;
  std::function<void(const job_id&)> callback_;
};

}  // namespace sluice::execution
