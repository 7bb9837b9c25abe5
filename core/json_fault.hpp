// Why a text is no JSON, for people: what the library says of it, without the library's own codes.
#pragma once

#include <string>

#include "core/text.hpp"

namespace sluice {

inline std::string json_fault(std::size_t byte, std::string_view said) {
  constexpr auto nowhere = std::string_view::npos;
  const auto column = said.find("column ");
  const auto reason = column == nowhere ? nowhere : said.find(": ", column);
  // "parse error at line 2, column 7: ..."; of one line the byte says all.
  const auto line = said.find("line ");
  const bool is_of_many = line < column && !said.substr(line).starts_with("line 1,") && reason != nowhere;
  const auto place = is_of_many ? cat(" (", said.substr(line, reason - line), ")") : std::string();
  return cat("is not JSON at byte ", byte, place, ": ",
             printable(reason == nowhere ? said : said.substr(reason + 2), 300));
}

}  // namespace sluice
