#include "execution/lost_leases.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "scheduler/timetable.hpp"

namespace sluice::execution {
namespace {

constexpr std::ptrdiff_t max_reaped = 1'000;  // in one step of the store

}  // namespace

lost_leases::lost_leases(execution_context& of) : of_(of), reaper_(scheduler::renewal_interval(of.options)) {}

// A server never takes back what it holds itself: it lives, and its renewals or ends were refused. What was seen before
// a refused renewal shows nothing, since nobody may have been able to renew.
std::vector<storage::request> lost_leases::look(std::vector<storage::expired_lease> expired, steady_point now) {
  const auto refused = of_.refused_renewals.load();
  if (std::exchange(refused_renewals_, refused) != refused) reaper_.forget();
  std::erase_if(expired, [&](const auto& lease) { return of_.queues.hold(lease.run.fence); });
  const auto lost = reaper_.look(expired, now);
  std::vector<storage::request> requests;
  for (auto from = lost.begin(); from != lost.end();) {
    const auto to = from + std::min(max_reaped, lost.end() - from);
    asked_.emplace_back(from, to);
    requests.emplace_back(storage::reap_request{{from, to}, of_.options.max_losses});
    from = to;
  }
  return requests;
}

void lost_leases::answered(const storage::reap_answer& reaped) {
  if (asked_.empty()) return;
  for (std::size_t n = 0; n < reaped.each.size(); ++n)
    if (reaped.each[n] == errc::none)
      log::warn("job ", asked_.front()[n].run.id.value, ": its lease ran out; it is taken back");
  for (const auto& id : reaped.failed)
    log::error("job ", id.value, " has failed: its lease ran out ", of_.options.max_losses, " times");
  for (const auto& id : reaped.cancelled)
    log::warn("job ", id.value, " is deleted: it was asked to end, and its lease ran out");
  asked_.erase(asked_.begin());
}

void lost_leases::forget() {
  reaper_.forget();
  asked_.clear();
}

}  // namespace sluice::execution
