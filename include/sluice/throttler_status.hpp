/// How a throttler stands, for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sluice/throttling.hpp>
#include <sluice/types.hpp>

namespace sluice {

/// How full a window is for one key.
struct limiter_view {
  std::string key;
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
  std::optional<time_point> next{};  ///< When the next run fits, when none does now.
};

/// Who has a permit.
struct throttler_holder {
  job_id id;
  sluice::fence fence;    ///< Of the run that has it; 0: the job does not run.
  bool reserved = false;  ///< Promised to a job that was woken and has not begun yet.
  time_point since{};
};

struct throttler_status {
  throttler_kind kind = throttler_kind::mutex;
  std::string resource{};                   ///< "KIND:NAME", in lower case.
  std::optional<throttler> definition{};    ///< None: a mutex that needs none, or one that only your code knows.
  std::optional<std::uint64_t> limit{};     ///< None: nothing is limited, each key has its own, or your code says.
  std::uint64_t held = 0;                   ///< Permits, promised ones included. Windows: what counts now. custom: 0.
  std::uint64_t waiting = 0;                ///< Jobs in its line, or in those of its keys.
  std::optional<time_point> next_at{};      ///< Windows: when it can next let somebody in, if not now.
  std::vector<limiter_view> keys{};         ///< dynamic: each key that counts something.
  std::vector<throttler_holder> holders{};  ///< The oldest 20.
  std::vector<job_id> waiters{};            ///< The first 20.
};

/// What became of a definition that was set.
struct throttler_change {
  std::string resource{};   ///< "KIND:NAME", in lower case.
  bool is_new = false;      ///< The store had no definition of it.
  std::string changes{};    ///< As "limit 8 → 16"; of a new one all that it says, as "limit 16"; empty: nothing.
  std::uint64_t woken = 0;  ///< Jobs that waited for a permit and go on now. Servers wake those that wait for a slot.
};

struct holder_page {
  std::vector<throttler_holder> holders;
  std::string next;  ///< Empty: this was the last page.
};
struct waiter_page {
  std::vector<job_id> waiters;
  std::string next;  ///< Empty: this was the last page.
};

}  // namespace sluice
