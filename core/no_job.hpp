// What a store says of a job that it does not hand out, or did not take, in words that name the job. For clients and
// actors.
#pragma once

#include <sluice/error.hpp>
#include <sluice/types.hpp>

#include "core/text.hpp"

namespace sluice {

inline error no_job(const job_id& id, errc code) {
  return {code, cat("job ", printable(id.value, 200), ": ", describe(code))};
}

}  // namespace sluice
