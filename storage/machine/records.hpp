// How the values that the scripts write are read (lua/shared/records.lua says what they look like). Any bytes are read
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

// How a start ended, as it stands at the end of its row in a past. `waited`: from its claim until its body began.
std::string write_ended(std::string_view cause, std::string_view error, duration waited);
std::string write_ended(const settlement& end);

// A report as it is kept, and read again.
std::string write_report(const progress_report& said);
std::optional<progress_report> read_report(std::string_view text);

// The values by which the scripts tell of a job. `start` is the admission of one that is throttled.
struct told_job {
  std::string_view id, kind, score, record, past, start;
};
inline constexpr std::size_t told_size = 6;
told_job told_at(const item& reply, std::size_t from);

struct known_job {
  job about;
  std::uint32_t failures = 0;
  std::vector<std::string> took;  // permits that the claim of its start took, by name
};
std::optional<known_job> read_job(const told_job& told);
// Of a record that was told with empty args and without its checksum.
std::optional<known_job> read_job_without_args(const told_job& told);

// What it has permits of, by name: what its claim took, and what its admission, which may be empty, says.
std::vector<std::string> permits_of(const known_job& known, std::string_view admission);

struct known_start {
  std::uint64_t fence = 0;
  std::uint32_t attempt = 0;
  std::int64_t started = 0;
  std::int64_t lease = 0;
  std::uint64_t renewals = 0;
  std::vector<std::string> took;
  std::string server;
};
std::optional<known_start> read_start(std::string_view row);

// What claimed jobs have of throttlers already, by place in the answer, from 1.
std::map<std::size_t, std::vector<std::string>> read_admitted(std::string_view told);

std::optional<server_info> read_server(std::string_view id, std::string_view said);

std::optional<act> read_act(std::string_view value);

}  // namespace sluice::storage::machine
