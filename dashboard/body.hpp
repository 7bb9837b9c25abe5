// Reads the JSON body of a request key by key, noting every fault with its pointer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "dashboard/problem.hpp"

namespace sluice::web {

class body_reader {
public:
  using json = nlohmann::ordered_json;

  // `at`: where it stands in the body, for pointers.
  explicit body_reader(const std::string& text, std::string at = {});

  std::optional<std::string> text(std::string_view key);
  std::optional<std::uint64_t> number(std::string_view key, std::uint64_t most);
  // A list of texts.
  std::optional<std::vector<std::string>> texts(std::string_view key, std::size_t most);
  // An object whose values are texts.
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view key);
  // Whatever stands there, or null.
  const json* any(std::string_view key);
  void fault(std::string_view key, std::string problem);
  // Once all keys have been asked for: what is wrong, unknown keys included; nothing when all is right.
  std::optional<http_response> wrong();

private:
  std::string at_;
  json tree_;
  std::vector<std::string> asked_;
  std::vector<body_fault> faults_;
};

}  // namespace sluice::web
