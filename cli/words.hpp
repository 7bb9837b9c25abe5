// What the words of a command mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/client.hpp>
#include <sluice/error.hpp>
#include <sluice/job.hpp>

#include "cli/command_line.hpp"

namespace sluice::cli {

// Of the store that a command names, for what it may do there, in the name of whoever typed it.
client_options options_of(const command& c);

// "hour, minute"
std::string joined(const std::vector<std::string>& words, std::string_view between);

// Which headers, and which jobs, the options of a command say. invalid_argument names the option and what it takes.
result<std::map<std::string, std::string>> headers_of(const command& c);
result<job_query> query_of(const command& c);
// Which time --since and --until say.
result<void> read_time(const command& c, std::optional<time_point>& from, std::optional<time_point>& to);

// As a whole; io_error names it and the cause.
result<std::string> read_file(const std::string& path);

}  // namespace sluice::cli
