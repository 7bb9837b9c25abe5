// When a server's time-driven duties are due. Pure: the caller brings the time and does the duties.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include <sluice/options.hpp>

#include "core/clock.hpp"

namespace sluice::scheduler {

enum class duty : std::uint8_t {
  promote,    // at the instant the next scheduled job is due
  find_lost,  // when the next lease known ends, and every sweep interval
  prune,      // every minute
  heartbeat,  // every ten seconds, well within the time after which a server counts as silent
  sweep,      // every sweep interval: look for work whose hint was lost
  fire,       // at the instant the next schedule is due, which a promotion tells
  zones,      // every ten minutes: plan anew what the zone files have changed
};
inline constexpr std::size_t duty_count = 7;

inline constexpr duration prune_every = std::chrono::minutes(1);
inline constexpr duration heartbeat_every = std::chrono::seconds(10);
inline constexpr duration fire_every = std::chrono::minutes(1);
inline constexpr duration zones_every = std::chrono::minutes(10);
inline constexpr duration server_silent_after = std::chrono::minutes(5);

// A third of the lease unless the operator said otherwise.
duration renewal_interval(const server_options& options);

class timetable {
public:
  // Everything is due at once in the beginning.
  timetable(const server_options& options, steady_point now);

  // Nothing is due by itself: only what `at` plans.
  timetable();

  // The duties due now. Each is put off by its interval; `at` may bring it forward again.
  std::vector<duty> take_due(steady_point now);

  // Brings a duty forward to `when`, if that is earlier than planned.
  void at(duty d, steady_point when);

  // The instant of the next duty; of this one.
  steady_point next() const;
  steady_point next(duty d) const { return entries_[static_cast<std::size_t>(d)].when; }

private:
  struct entry {
    steady_point when;
    duration every;
  };
  std::array<entry, duty_count> entries_;
};

}  // namespace sluice::scheduler
