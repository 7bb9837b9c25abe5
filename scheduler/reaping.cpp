#include "scheduler/reaping.hpp"

#include <algorithm>

namespace sluice::scheduler {

duration reaper::patience_with(const storage::expired_lease& lease) const {
  return lease.clock_went_back ? 2 * lease.lease : std::max(second_look_after_, lease.lease * 11 / 20);
}

std::vector<storage::expired_lease> reaper::look(const std::vector<storage::expired_lease>& expired, steady_point now) {
  std::vector<storage::expired_lease> lost;
  std::unordered_map<sluice::fence, first_look> still;
  for (const auto& lease : expired) {
    const auto before = seen_.find(lease.run.fence);
    if (before == seen_.end() || before->second.renewals != lease.renewals) {
      still[lease.run.fence] = {lease.renewals, now + patience_with(lease)};
    } else {
      if (now >= before->second.due) lost.push_back(lease);
      still.insert(*before);  // kept until the store shows it no more, so that a failed reap is tried again
    }
  }
  seen_ = std::move(still);
  return lost;
}

std::optional<steady_point> reaper::next() const {
  const auto first = std::min_element(seen_.begin(), seen_.end(),
                                      [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
  return first == seen_.end() ? std::nullopt : std::optional(first->second.due);
}

}  // namespace sluice::scheduler
