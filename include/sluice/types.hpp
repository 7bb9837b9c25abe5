/// Names and times. Names of different kinds are different types: a job id is no queue name.
#pragma once

#include <chrono>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sluice/version.hpp>

namespace sluice {

/// 1 to 200 bytes of [A-Za-z0-9_.:-].
constexpr bool valid_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 200) return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
          c == ':' || c == '-'))
      return false;
  return true;
}

/// A text that does not stand there in quotes, so that who reads the line does not see what it is.
template <class T>
concept text_variable = std::convertible_to<T, std::string_view> &&
    !(std::is_array_v<std::remove_reference_t<T>> && std::is_const_v<std::remove_reference_t<T>>);
/// The same, and preferred where both fit.
template <class T>
concept named_text_variable = text_variable<T> && true;

/// A text with a meaning; `valid_name` says what may stand in it. That is checked where jobs and configuration enter,
/// and when it is compiled where it is written `"slow"_queue`. A literal becomes one by itself; of any other text its
/// meaning is said: `queue_name(text)`.
template <class Tag>
struct strong_text {
  std::string value;

  strong_text() = default;
  explicit strong_text(std::string text) : value(std::move(text)) {}
  template <std::size_t N>
  strong_text(const char (&literal)[N]) : value(literal) {}
  template <named_text_variable T>
  explicit strong_text(T&& text) : value(std::string_view(text)) {}  // NOLINT(bugprone-forwarding-reference-overload)
  /// Meets only those who leave out the meaning: no explicit constructor counts for them.
  template <text_variable T>
  strong_text(T&&) {  // NOLINT(bugprone-forwarding-reference-overload): neither takes what is no text
    static_assert(
        !text_variable<T>,
        "say what this text is: write sluice::queue_name(text), job_type(text), job_id(text), group_name(text) or "
        "server_id(text)");
  }

  bool empty() const noexcept { return value.empty(); }
  auto operator<=>(const strong_text&) const = default;  // NOLINT(modernize-use-nullptr): of the generated code
};

using job_id = strong_text<struct job_id_tag>;          ///< One job. Chosen by the enqueuer.
using job_type = strong_text<struct job_type_tag>;      ///< The name a handler is registered under.
using queue_name = strong_text<struct queue_name_tag>;  ///< A named line of ready jobs.
using server_id = strong_text<struct server_id_tag>;    ///< One start of one server process.
using group_name = strong_text<struct group_name_tag>;  ///< Jobs that are counted together. Chosen by whoever makes it.

/// `"slow"_queue`, `"report"_type`, `"order-7"_id`, `"pages"_group`. One that is no name does not compile.
inline namespace literals {

template <std::size_t N>
struct literal_name {
  char text[N]{};
  consteval literal_name(const char (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i)
      text[i] = literal[i];
  }
  constexpr bool valid() const { return valid_name({text, N - 1}); }
};

template <literal_name Name>
queue_name operator""_queue() {
  static_assert(Name.valid(), "the name of a queue must be 1 to 200 characters of A-Z a-z 0-9 _ . : -");
  return Name.text;
}
template <literal_name Name>
job_type operator""_type() {
  static_assert(Name.valid(), "the name of a job type must be 1 to 200 characters of A-Z a-z 0-9 _ . : -");
  return Name.text;
}
template <literal_name Name>
job_id operator""_id() {
  static_assert(Name.valid(), "the id of a job must be 1 to 200 characters of A-Z a-z 0-9 _ . : -");
  return Name.text;
}
template <literal_name Name>
group_name operator""_group() {
  static_assert(Name.valid(), "the name of a group must be 1 to 200 characters of A-Z a-z 0-9 _ . : -");
  return Name.text;
}

}  // namespace literals

/// Grows with every run of any job of a store; below 2^52. 0 means "never ran".
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
