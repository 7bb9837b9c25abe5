// The transitions as Lua, one file each in lua/, made part of the program when it is built.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::storage::machine {

enum class script : std::uint8_t {
  open,
  enqueue,
  enqueue_flow,
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
  heartbeat,
  deregister,
  servers,
  get,
  parents,
  change_group,
  groups,
  members,
  list,
  queues,
  queue_names,
  ready,
  move_to_quarantine,
  mark,
  acquire_permits,
  read_limiter,
  update_limiter,
  define,
  undefine,
  throttlers,
  throttler,
  holders,
  waiters,
  reconcile,
  explain,
  lock,
  locks,
  quarantined,
  quarantined_job,
  drop_quarantined,
  schedules,
  schedule,
  due_schedules,
  update_schedule,
  totals,
  log_action,
  operator_log,
  raise,
  audit,
  repair,  // the last
};
inline constexpr std::size_t script_count = static_cast<std::size_t>(script::repair) + 1;

// What a script does to what is stored, as the first line of its file says.
enum class effect : std::uint8_t {
  reads,  // changes nothing, so its answer may be lost without harm
  writes,
  may_find_nothing,  // writes, but often finds nothing to do, and changes nothing then
  promises,          // writes, and whoever asked takes the answer for a promise
};

// Of what is stored: the keys and the values (docs/store_layout.md). Every script begins with a look at it.
inline constexpr std::uint64_t layout = 4;
// The first that was released: those before it are not raised.
inline constexpr std::uint64_t first_layout = 4;

// Made when the program is built: cmake/lua_scripts.cmake.
struct linked_script {
  std::string_view name;  // of its file
  effect does = effect::reads;
  std::string_view hash;  // SHA-1 of the text, by which Redis knows it
  std::string_view text;
};

// What one version of Sluice knows. There is one, but in tests of how two get on.
struct edition {
  std::uint64_t layout = 0;
  std::array<linked_script, script_count> scripts{};

  const linked_script& of(script s) const { return scripts[static_cast<std::size_t>(s)]; }
};
const edition& current_edition();
inline const linked_script& of(script s) { return current_edition().of(s); }

inline bool is_read_only(script s) { return of(s).does == effect::reads; }
inline bool may_find_nothing(script s) { return of(s).does == effect::may_find_nothing; }
inline bool is_promise(script s) { return of(s).does == effect::promises; }

// Hashes whose fields are ids of jobs. A store that keeps together what belongs to one name finds a job in one place.
// The first is long, and hardly ever changes.
inline constexpr std::array<std::string_view, 4> hashes_by_job = {"jobs", "history", "runs", "admission"};

}  // namespace sluice::storage::machine
