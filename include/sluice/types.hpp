/// Names and times. Two strings never stand side by side in an interface: a job id is no queue name.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// A text with a meaning. Names are 1 to 200 bytes of [A-Za-z0-9_.:-]; checked where jobs and
/// configuration enter, not here.
template <class Tag>
struct strong_text {
  std::string value;

  strong_text() = default;
  explicit strong_text(std::string text) : value(std::move(text)) {}

  bool empty() const noexcept { return value.empty(); }
  auto operator<=>(const strong_text&) const = default;  // NOLINT(modernize-use-nullptr): of the generated code
};

using job_id = strong_text<struct job_id_tag>;          ///< One job. Chosen by the enqueuer.
using job_type = strong_text<struct job_type_tag>;      ///< The name a handler is registered under.
using queue_name = strong_text<struct queue_name_tag>;  ///< A named line of ready jobs.
using server_id = strong_text<struct server_id_tag>;    ///< One start of one server process.

/// Grows with every start of any job of a store; below 2^53. 0 means "never started".
struct fence {
  std::uint64_t value = 0;
  auto operator<=>(const fence&) const = default;
};

/// All durations and instants are microseconds inside, milliseconds in output.
using duration = std::chrono::microseconds;
using time_point = std::chrono::time_point<std::chrono::system_clock, duration>;

/// What a store keeps.
enum class durability : std::uint8_t {
  volatile_,   ///< Lost when the store's process ends: SQLite in memory, Redis without an append-only file.
  crash_safe,  ///< Survives kill -9 of every process: Redis with appendfsync everysec.
  power_safe,  ///< Survives power loss, when the disk honours fsync: SQLite's file, Redis with appendfsync always.
};

/// As in configuration: volatile, crash_safe, power_safe.
constexpr std::string_view name_of(durability d) noexcept {
  switch (d) {
    case durability::volatile_: return "volatile";
    case durability::crash_safe: return "crash_safe";
    case durability::power_safe: return "power_safe";
  }
  return "volatile";
}

}  // namespace sluice

template <class Tag>
struct std::hash<sluice::strong_text<Tag>> {
  std::size_t operator()(const sluice::strong_text<Tag>& text) const noexcept {
    return std::hash<std::string>{}(text.value);
  }
};

template <>
struct std::hash<sluice::fence> {
  std::size_t operator()(const sluice::fence& f) const noexcept { return std::hash<std::uint64_t>{}(f.value); }
};
