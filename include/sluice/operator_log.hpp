/// What people did: a log in the store of who changed jobs, queues, throttlers and schedules, and through what. The
/// store keeps the newest 1,000 actions. Each is at most about 4.5 kB, so that all of them are about 4 MiB at most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/types.hpp>

namespace sluice {

/// Who changes something. Of each text 100 bytes are kept, whatever characters it has: whoever shows them escapes them.
struct author {
  std::string name{};     ///< As "anna"; empty: nothing is recorded.
  std::string through{};  ///< As "dashboard".

  bool operator==(const author&) const = default;
};

/// What one person did of one kind within a minute, while fewer than ten other actions came between.
struct operator_action {
  time_point at{};     ///< When it began, by the store's clock.
  time_point until{};  ///< When it was last done.
  author by{};
  /// requeue, delete, cancel, pause, resume, set throttler, remove throttler; set, remove, pause, resume or trigger
  /// schedule.
  std::string what{};
  std::uint64_t count = 0;  ///< To how many it was done; to one twice is two.
  /// The first 20 ids or names of these, of each 200 bytes. With a throttler that was set stands what changed, as
  /// "semaphore:api: limit 8 → 16".
  std::vector<std::string> about{};
};

struct operator_log_page {
  /// May be fewer than were asked for, since one that cannot be read is left out.
  std::vector<operator_action> actions;
  std::string next;  ///< Empty: this was the last page.
};

}  // namespace sluice
