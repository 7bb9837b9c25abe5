// How the values that the rules write are read (rules/values.lua says what they look like). Any bytes are read
// without harm; nothing is answered when they are not what was written.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/job.hpp>

#include "core/clock.hpp"
#include "storage/machine/reply.hpp"
#include "storage/store.hpp"

namespace sluice::storage::machine {

// "length:bytes".
std::string counted(std::string_view text);

// How a run ended, as it stands at the end of its row in a history. `waited`: from its claim until its handler began.
std::string write_ended(std::string_view cause, std::string_view error, duration waited);
std::string write_ended(const settlement& end);

// A report as it is kept, and read again.
std::string write_report(const progress_report& said);
std::optional<progress_report> read_report(std::string_view text);

// The values by which the rules tell of a job. `run` is the admission of one that is throttled.
struct job_values {
  std::string_view id, kind, score, record, history, run;
};
inline constexpr std::size_t job_values_size = 6;
job_values job_values_at(const item& reply, std::size_t from);

// The state of a job by the kind of its line; none: that is no line of a job.
std::optional<job_state> state_of(std::string_view kind);

struct stored_job {
  job about;
  std::uint32_t failures = 0;
  std::vector<std::string> inline_permits;  // permits that the claim of its run took, by name
  sluice::fence chain{};                    // the first of the chain that took it, if one did
};
std::optional<stored_job> read_job(const job_values& told);
// Of a record that was told with the first bytes of its args and without its checksum.
std::optional<stored_job> read_job_with_first_args(const job_values& told);

// What is kept of a job in quarantine, "record, history and run", each as text; without its queue and since when.
quarantined_record read_quarantined(const job_id& id, std::string_view bytes);

// What it has permits of, by name: what its claim took, and what its admission, which may be empty, says.
std::vector<std::string> permits_of(const stored_job& known, std::string_view admission);

struct stored_run {
  std::uint64_t fence = 0;
  std::uint32_t attempt = 0;
  std::int64_t started = 0;
  std::int64_t lease = 0;
  std::uint64_t renewals = 0;
  std::vector<std::string> inline_permits;
  std::uint64_t chain = 0;  // the first of the chain that took them, if one did
  std::string server;
};
std::optional<stored_run> read_run(std::string_view row);

// What claimed jobs have of throttlers already, by place in the answer, from 1.
std::map<std::size_t, std::vector<std::string>> read_admitted(std::string_view told);

}  // namespace sluice::storage::machine
