// What descriptions are made of (core/describe.hpp): what is said of a member besides its name, and what kinds of
// members there are.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// For those who show the member. Stores go by names alone.
struct field {
  std::string_view says{};                    // what it is, for people
  std::span<const std::string_view> words{};  // those that a text may be
  bool is_content = false;                    // what jobs are about: shown as empty to those who may not see that,
  std::string_view in_place{};                // or, a text, as this
  bool is_detail = false;                     // shown of one thing alone, not in lists
  std::optional<bool> is_given{};             // it may be left out, and is when this is false
};

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_text = std::same_as<T, std::string> || std::same_as<T, std::string_view>;
// A name, or a fence.
template <class T>
concept has_one_value = requires(T& one) {
  one.value;
}
&&!is_optional<T>;

}  // namespace sluice
