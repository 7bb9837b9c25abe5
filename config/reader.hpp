// Reads one object of the tree key by key, noting what is wrong instead of stopping there.
#pragma once

#include <optional>
#include <string_view>

#include "config/document.hpp"
#include "core/ranges.hpp"

namespace sluice::config {

// What was given and is right replaces the default.
template <class T, class Got>
void keep(T& field, Got&& got) {
  if (got) field = static_cast<T>(*got);
}
template <class T, class Got>
void keep(std::optional<T>& field, Got&& got) {
  if (got) field = static_cast<T>(*got);
}

// Whether a field is missing since it is misspelt, which is told.
bool is_misspelt(const json& value, const std::string& field);

class reader {
public:
  // A value that is no object is one fault and reads as empty.
  reader(const json& value, std::string pointer, std::vector<fault>& faults);
  // Keys that nobody asked for are faults, with the nearest one that could have been meant.
  ~reader();
  reader(const reader&) = delete;

  std::optional<std::string> text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::uint64_t> number(std::string_view key, ranges::range<std::uint64_t> allowed);
  std::optional<double> fraction(std::string_view key);  // 0 to 1
  std::optional<duration> time(std::string_view key, ranges::range<duration> allowed);
  // One of `words`; answers its place.
  std::optional<std::size_t> choice(std::string_view key, const std::vector<std::string>& words);
  // A list of texts, none of them empty.
  std::vector<std::string> texts(std::string_view key);
  // Whatever stands there, or null.
  const json* any(std::string_view key);

  std::string pointer(std::string_view key) const;
  // All keys that were asked for.
  const std::vector<std::string>& known() const { return asked_; }
  void fault_at(std::string_view key, std::string problem);
  std::vector<fault>& faults() { return faults_; }

private:
  const json* find(std::string_view key);
  const json* wrong_type(std::string_view key, const json& value, std::string_view wanted);

  const json& value_;
  std::string pointer_;
  std::vector<fault>& faults_;
  std::vector<std::string> asked_;
};

}  // namespace sluice::config
