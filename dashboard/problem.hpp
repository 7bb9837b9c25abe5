// Answers of the API that say what went wrong: RFC 9457, with the name of our code, by which programs go.
#pragma once

#include <string_view>

#include <sluice/error.hpp>

#include "dashboard/http.hpp"

namespace sluice::web {

// What clients are told of an error. What failed in the store or the system may name files, SQL or addresses: of that
// it is the sentence of its code alone.
std::string told_of(const error& why);

http_response problem(const error& why);
http_response problem(errc code, std::string_view detail);
// What HTTP itself has a word for.
http_response problem(unsigned status, std::string_view detail);
// A body that is wrong at one place, as "/limit".
http_response wrong_body(std::string_view pointer, std::string_view detail);

// The same of the first of several places; more would help nobody.
inline constexpr std::size_t max_faults_told = 20;
struct body_fault {
  std::string pointer;
  std::string problem;
};
http_response wrong_body(const std::vector<body_fault>& faults);

unsigned status_of(errc code);

}  // namespace sluice::web
