/// Why a job does not run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/types.hpp>

namespace sluice {

/// The one thing that keeps a job from running; whoever removes it may meet the next.
enum class explain_reason : std::uint8_t {
  running,           ///< Nothing: a server has it.
  final_,            ///< It has ended.
  paused,            ///< Its queue is.
  unserved,          ///< No server that is alive serves its queue.
  unknown_type,      ///< None of those that do knows its type.
  queued_behind,     ///< Others of its queue go first.
  no_worker,         ///< It is next, and every worker of its queue is busy.
  waits_for_permit,  ///< For a permit of a mutex or semaphore.
  waits_for_slot,    ///< For a window, or a throttler of your own.
  due,               ///< Its time has not come.
  retry,             ///< Nor has that of its next try.
  deferred,          ///< A throttler deferred it, and is asked again then.
  awaiting,          ///< It runs after others, and they have not ended.
};

/// As written in JSON: running, final, paused and so on.
std::string_view name_of(explain_reason reason) noexcept;

struct explanation {
  explain_reason reason = explain_reason::running;
  std::string text{};                ///< The whole of it in one sentence.
  std::string resource{};            ///< Of the throttler, if it is one.
  std::optional<time_point> when{};  ///< When that ends, if it is known; running: since when; final: since when.
  std::uint64_t before = 0;          ///< Jobs of its line that go first; 10,001: more than 10,000.
  std::vector<job_id> holders{};     ///< The first who have what it waits for, or that it runs after.
  std::string without_content{};     ///< `text` without what the job, or who changed it, said.
};

}  // namespace sluice
