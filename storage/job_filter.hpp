// Which jobs a query asks for, as far as no line says it.
#pragma once

#include <cstdint>

#include <sluice/error.hpp>
#include <sluice/job.hpp>

namespace sluice::storage {

inline constexpr std::uint32_t max_first_of_args = 120;  // whose length has one byte in a record

// invalid_argument when nothing could ever be found.
result<void> check_query(const job_query& query);
// Something is asked for that only the job itself says.
bool reads_records(const job_query& query);
bool matches(const job_query& query, const job& found);

}  // namespace sluice::storage
