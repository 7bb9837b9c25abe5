// The rules of a store as a library of Lua functions: Redis keeps it and runs it by FCALL, LuaJIT runs it in the
// embedded store. Its files are storage/rules; they are made part of the program when it is built.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::storage::machine {

// What a store is asked. Where it depends on the arguments whether something new is stored, one function has several
// names here, so that a store that is full, or only looked at, can be asked for the rest.
enum class verb : std::uint8_t {
  open,
  enqueue,
  enqueue_flow,
  claim,
  settle,
  settle_with_jobs,
  renew,
  progress,
  promote,
  expired,
  reap,
  prune,
  change_jobs,
  pause,
  heartbeat,
  deregister,
  servers,
  get,
  parents,
  change_group,
  cancel_group,
  groups,
  failed_members,
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
  keep_lock,
  look_at_lock,
  locks,
  quarantined,
  quarantined_job,
  drop_quarantined,
  schedules,
  schedule,
  due_schedules,
  update_schedule,
  remove_schedule,
  totals,
  log_action,
  operator_log,
  raise,
  audit,
  repair,  // the last
};
inline constexpr std::size_t verb_count = static_cast<std::size_t>(verb::repair) + 1;

// What a call does to what is stored.
enum class effect : std::uint8_t {
  reads,  // changes nothing, so its answer may be lost without harm
  writes,
  may_find_nothing,  // writes, but often finds nothing to do, and changes nothing then
  promises,          // writes, and whoever asked takes the answer for a promise
};

// Whether a store that is full refuses it.
enum class when_full : std::uint8_t { refused, goes_on };

struct known_verb {
  std::string_view name;
  effect does = effect::reads;
  when_full full = when_full::goes_on;
  std::string_view function = name;  // of `calls` in storage/rules/calls
};
const known_verb& about(verb v);

inline bool is_read_only(verb v) { return about(v).does == effect::reads; }
inline bool may_find_nothing(verb v) { return about(v).does == effect::may_find_nothing; }
inline bool is_promise(verb v) { return about(v).does == effect::promises; }
inline bool needs_room(verb v) { return about(v).full == when_full::refused; }

// Of what is stored: the keys and the values (docs/store_layout.md). Every call begins with a look at it.
inline constexpr std::uint64_t layout = 5;
// The first that is raised; stores of those before it are refused.
inline constexpr std::uint64_t first_layout = 4;

// The rules of one version of Sluice. There is one, but in tests of how two get on.
class library {
public:
  // `text` defines library.entry(NAME), which answers the function of that name, or nil when it has none.
  library(std::uint64_t layout, std::string text);

  std::uint64_t layout() const { return layout_; }
  // For LuaJIT: answers library.entry.
  std::string for_embedded() const { return text_ + "return library.entry\n"; }
  // For Redis: FUNCTION LOAD takes this. `loaded_as`: letters and digits that are in the functions' names, so that
  // those of one load are not taken for those of the next.
  std::string for_redis(std::string_view loaded_as) const;
  // On Redis, of this text: other versions have others.
  const std::string& name() const { return name_; }
  std::string name_of(verb v, std::string_view loaded_as) const;
  // The file and the line of what Lua calls "user_function:N" or "rules:N" in an error, in its place.
  std::string with_places(std::string_view error) const;

private:
  std::uint64_t layout_;
  std::string text_;
  std::string name_;
};

const library& current_library();
// The text of the current one, for versions that differ in something.
std::string current_text();

// Hashes whose fields are ids of jobs. A store that keeps together what belongs to one name finds a job in one place.
// The first is long, and hardly ever changes.
inline constexpr std::array<std::string_view, 4> hashes_by_job = {"jobs", "history", "runs", "admission"};

}  // namespace sluice::storage::machine
