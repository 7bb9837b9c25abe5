// What the words of a command mean.
#pragma once

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
// At once, or never: whoever typed a command is told now that the store is away, and types it again.
result<client> open_at_once(client_options options);

// The first sentence of a help text, without what it announces.
std::string summary(const std::string& help);

// Of words as they were typed: a line for a shell, with the passwords of URLs hidden.
std::string shell_line(const std::vector<std::string>& typed);

// Which headers, and which jobs, the options of a command say. invalid_argument names the option and what it takes.
result<std::map<std::string, std::string>> headers_of(const command& c);
result<job_query> query_of(const command& c);

// For who found nothing of a queue: not_found, with the names of those there are, when there is none of that name.
result<void> check_queue(client& store, const std::string& name);
// The same for who found no job. A type of which there is none is told of, with one of the first jobs' that is much
// like it: it is no error, since a type has no jobs while they have all ended and gone.
result<void> check_found_none(client& store, const command& c);

// The key that was typed is read, whether or not something is `signed_by_it`; else it says so.
result<void> check_key(const command& c, bool signed_by_it);

// As a whole; io_error names it and the cause.
result<std::string> read_file(const std::string& path);

}  // namespace sluice::cli
