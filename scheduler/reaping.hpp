// Who has lost a lease. A lease that is past its time is taken away only when its renewal count has
// not moved until a second look by our own steady clock, later than any server may leave its renewal
// (half of the lease): a live server loses nothing when the clock jumps ahead. One that the clock left far in the
// future (it was set back) is taken away after two leases without a renewal.
#pragma once

#include <unordered_map>
#include <vector>

#include "storage/store.hpp"

namespace sluice::scheduler {

class reaper {
public:
  explicit reaper(duration second_look_after) : second_look_after_(second_look_after) {}

  // What the store shows now; answers the starts to take away. Forgets whoever renewed or settled.
  std::vector<storage::expired_lease> look(const std::vector<storage::expired_lease>& expired, steady_point now);

  // What was seen counts no more: nobody could renew meanwhile, or a reap was refused.
  void forget() { seen_.clear(); }

  // When the next second look is due, if any is.
  std::optional<steady_point> next() const;

private:
  duration patience_with(const storage::expired_lease& lease) const;

  struct first_look {
    std::uint64_t renewals;
    steady_point due;
  };
  duration second_look_after_;
  std::unordered_map<sluice::fence, first_look> seen_;
};

}  // namespace sluice::scheduler
