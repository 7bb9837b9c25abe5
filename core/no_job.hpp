// What a store says of a job that it does not hand out, or did not take, and of a group that is not there, in words
// that name it. For clients and actors.
#pragma once

#include <sluice/error.hpp>
#include <sluice/types.hpp>

#include "core/text.hpp"

namespace sluice {

inline error no_group(std::string_view name) {
  return {errc::not_found, cat("there is no group ", printable(name, 200))};
}

inline error no_job(const job_id& id, errc code) {
  return {code, cat("job ", printable(id.value, 200), ": ", describe(code))};
}

}  // namespace sluice
