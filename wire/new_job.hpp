// What a JSON object says of a new job: a body of the API, or a line of `sluice enqueue-all`.
#pragma once

#include <sluice/job.hpp>

#include "wire/body.hpp"

namespace sluice::wire {

// Faults are noted in the reader.
new_job read_new_job(body_reader& body);

}  // namespace sluice::wire
