// Which jobs a query asks for, as far as no line says it.
#pragma once

#include <sluice/error.hpp>
#include <sluice/job.hpp>

namespace sluice::storage {

// invalid_argument when nothing could ever be found.
result<void> check_query(const job_query& query);
// Something is asked for that only the job itself says.
bool reads_records(const job_query& query);
bool matches(const job_query& query, const job& found);

}  // namespace sluice::storage
