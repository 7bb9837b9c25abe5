// The transitions as Lua, one file each in lua/, made part of the program when it is built.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::storage::machine {

enum class script : std::uint8_t {
  open,
  enqueue,
  claim,
  settle,
  renew,
  progress,
  promote,
  expired,
  reap,
  prune,
  change,
  pause,
  beat,
  leave,
  servers,
  get,
  list,
  queues,
  put_aside,
  mark,
  take,
  cell,
  swap,
  define,
  undefine,
  throttlers,
  throttler,
  rouse,
  explain,
  lock,
  schedules,
  schedule,
  due_schedules,
  swap_schedule,
  audit,  // the last
};
inline constexpr std::size_t script_count = static_cast<std::size_t>(script::audit) + 1;

// As its file.
std::string_view name_of(script s);

// Hashes whose fields are ids of jobs. A store that keeps together what belongs to one name finds a job in one place.
// The first is long, and hardly ever changes.
inline constexpr std::array<std::string_view, 4> hashes_by_job = {"jobs", "past", "starts", "admission"};

// The whole text, as a store is given it.
std::string text_of(script s);

// It changes nothing, so its answer may be lost without harm.
bool only_looks(script s);
// It often finds nothing to do, and changes nothing then.
bool may_find_nothing(script s);
// Whoever asked for it takes the answer for a promise.
bool is_promise(script s);

}  // namespace sluice::storage::machine
