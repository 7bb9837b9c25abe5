// Answers of the API that say what went wrong: RFC 9457, with the name of our code, by which programs go.
#pragma once

#include <string_view>
#include <vector>

#include <sluice/error.hpp>

#include "dashboard/http.hpp"
#include "wire/faults.hpp"

namespace sluice::web {

http_response problem(const error& why);
http_response problem(errc code, std::string_view detail);
// What HTTP itself has a word for.
http_response problem(unsigned status, std::string_view detail);
// A body that is wrong at one place, as "/limit".
http_response wrong_body(std::string_view pointer, std::string_view detail);

// The same of the first of several places.
http_response wrong_body(const std::vector<wire::body_fault>& faults);

unsigned status_of(errc code);

}  // namespace sluice::web
