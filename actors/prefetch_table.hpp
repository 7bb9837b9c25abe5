// Which job types are not claimed ahead of free workers now: those that said so, and those whose permits are scarce,
// since a job that waits in a pool keeps its permits from others. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "actors/bodies.hpp"

namespace sluice::actors {

class prefetch_table {
public:
  using names = std::shared_ptr<const std::set<std::string, std::less<>>>;

  explicit prefetch_table(std::shared_ptr<const bodies> of) : bodies_(std::move(of)) { refresh(); }

  names at_once() const {
    std::lock_guard hold(mutex_);
    return at_once_;
  }

  // How full resources are. Half of each must be free.
  void note(const std::vector<storage::take_answer::room>& rooms) {
    std::lock_guard hold(mutex_);
    bool changed = false;
    for (const auto& room : rooms) {
      const bool half_free = room.held <= room.limit / 2;
      changed = (half_free ? roomy_.insert(room.resource).second : roomy_.erase(room.resource) > 0) || changed;
    }
    if (changed) refresh();
  }

private:
  void refresh() {
    auto now = std::make_shared<std::set<std::string, std::less<>>>(*bodies_->at_once);
    for (const auto& [type, plan] : bodies_->throttles) {
      bool scarce = !plan.mutexes.empty();
      for (const auto& permit : plan.permits)
        scarce = scarce || !roomy_.contains(permit);
      if (scarce) now->insert(type);
    }
    at_once_ = std::move(now);
  }

  const std::shared_ptr<const bodies> bodies_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> roomy_;
  names at_once_;
};

}  // namespace sluice::actors
