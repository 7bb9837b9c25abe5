// Why a text is no JSON, for people: what the library says of it, without the library's own codes.
#pragma once

#include <string>

#include "core/text.hpp"

namespace sluice {

inline std::string json_fault(std::size_t byte, std::string_view said) {
  constexpr auto nowhere = std::string_view::npos;
  const auto column = said.find("column ");
  const auto reason = column == nowhere ? nowhere : said.find(": ", column);
  return cat("is not JSON at byte ", byte, ": ", printable(reason == nowhere ? said : said.substr(reason + 2), 300));
}

}  // namespace sluice
