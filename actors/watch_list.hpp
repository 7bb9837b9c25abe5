// The jobs whose end somebody in this process waits for. Thread-safe; costs nothing while nobody does.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_set>

#include <sluice/types.hpp>

namespace sluice::actors {

class watch_list {
public:
  // `told` is called, from any thread, when a watched job has ended here.
  void on_end(std::function<void(const job_id&)> told) {
    std::lock_guard hold(mutex_);
    told_ = std::move(told);
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
    if (told_ && ids_.contains(id)) told_(id);
  }

private:
  std::atomic<std::size_t> size_{0};
  std::mutex mutex_;
  std::unordered_set<job_id> ids_;
  std::function<void(const job_id&)> told_;
};

}  // namespace sluice::actors
