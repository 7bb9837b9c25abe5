// The OpenAPI schemas of all that is shown (wire/shown.hpp), as members of an object: `"Job": {...}, ..., `.
#pragma once

#include <string>

namespace sluice::wire {

std::string schemas();

}  // namespace sluice::wire
