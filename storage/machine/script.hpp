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

// The whole text, as a store is given it.
std::string text_of(script s);

// It changes nothing, so its answer may be lost without harm.
bool only_looks(script s);
// Whoever asked for it takes the answer for a promise.
bool is_promise(script s);

}  // namespace sluice::storage::machine
