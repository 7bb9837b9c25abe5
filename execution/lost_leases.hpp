// Which jobs are taken back, since whoever ran them does not renew their leases: what to ask of the store, and what its
// answers mean. Used by one thread at a time.
#pragma once

#include "execution/execution_context.hpp"
#include "scheduler/reaping.hpp"

namespace sluice::execution {

class lost_leases {
public:
  explicit lost_leases(execution_context& of);

  // What to take back of these, in requests of a bounded size; their answers come in the same order.
  std::vector<storage::request> look(std::vector<storage::expired_lease> expired, steady_point now);
  // When the next second look is due, if any is.
  std::optional<steady_point> next_look() const { return reaper_.next(); }
  void answered(const storage::reap_answer& reaped);
  // The store refused something: nobody could renew, and what was seen counts no more.
  void forget();

private:
  execution_context& of_;
  scheduler::reaper reaper_;
  std::uint64_t refused_renewals_ = 0;                      // as the reaper knows of them
  std::vector<std::vector<storage::expired_lease>> asked_;  // a part for each request that is not answered
};

}  // namespace sluice::execution
