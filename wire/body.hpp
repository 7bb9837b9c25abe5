// Reads a JSON object, as the body of a request or a line of a file, key by key, noting every fault with its pointer.
// Only the values that are asked for become trees, so that none takes long, however many keys are in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/faults.hpp"

namespace sluice::wire {

// An object's keys, each with its value as it stands in the text.
using json_members = std::vector<std::pair<std::string, std::string_view>>;

class body_reader {
public:
  // `at`: where it stands in the body, for pointers.
  explicit body_reader(std::string text, std::string at = {});
  body_reader(const body_reader&) = delete;

  std::optional<std::string> text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::uint64_t> number(std::string_view key, std::uint64_t most);
  // A list of texts.
  std::optional<std::vector<std::string>> texts(std::string_view key, std::size_t most);
  // An object whose values are texts.
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view key);
  // A list of values, each as it stands there.
  std::optional<std::vector<std::string>> values(std::string_view key, std::size_t most);
  // Whatever stands there, byte for byte; nothing for null.
  std::optional<std::string> raw_text(std::string_view key);
  void fault(std::string_view key, std::string problem);
  // Once all keys have been asked for: what is wrong, unknown keys included.
  const std::vector<body_fault>& faults();

private:
  friend struct body_with_args with_exact_args(const std::string& body);
  std::optional<std::string_view> find(std::string_view key);

  const std::string at_, text_;
  json_members members_;
  std::vector<std::string> asked_;
  std::vector<body_fault> faults_;
};

// The body of a definition with `args`, `args_text` or, as one is shown, both. `text` has instead of them the exact
// args as a text, under "args".
struct body_with_args {
  std::string text{};
  bool has_args = false;
  std::vector<body_fault> faults{};
};
body_with_args with_exact_args(const std::string& body);

}  // namespace sluice::wire
