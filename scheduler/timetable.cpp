#include "scheduler/timetable.hpp"

#include <algorithm>

namespace sluice::scheduler {

duration renewal_interval(const server_options& options) {
  return options.renew_every > duration::zero() ? options.renew_every : options.lease / 3;
}

timetable::timetable(const server_options& options, steady_point now) {
  const auto plan = [&](duty d, duration every) { entries_[static_cast<std::size_t>(d)] = {now, every}; };
  // The store says when the next job is due and the next lease ends; the sweep interval only covers what
  // changed since without a hint. One interval for all, so that an idle server wakes once for them.
  plan(duty::promote, options.sweep_interval);
  plan(duty::find_lost, options.sweep_interval);
  plan(duty::prune, prune_every);
  plan(duty::heartbeat, heartbeat_every);
  plan(duty::sweep, options.sweep_interval);
  plan(duty::fire, fire_every);
  plan(duty::zones, zones_every);
}

timetable::timetable() {
  constexpr std::chrono::hours never(24 * 365 * 50);
  entries_.fill({steady_point::max(), never});
}

std::vector<duty> timetable::take_due(steady_point now) {
  std::vector<duty> due;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].when > now) continue;
    due.push_back(static_cast<duty>(i));
    entries_[i].when = now + entries_[i].every;
  }
  return due;
}

void timetable::at(duty d, steady_point when) {
  auto& planned = entries_[static_cast<std::size_t>(d)].when;
  planned = std::min(planned, when);
}

steady_point timetable::next() const {
  return std::min_element(entries_.begin(), entries_.end(),
                          [](const auto& a, const auto& b) { return a.when < b.when; })
      ->when;
}

}  // namespace sluice::scheduler
