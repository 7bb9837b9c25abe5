// Which jobs are meant, in the words of people: options of commands and parameters of the API are these.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/job.hpp>

namespace sluice::wire {

struct query_words {
  std::string state, queue, type, id_begins, server, since, until, match, error;  // each may be empty
  std::vector<std::string> headers;                                               // NAME=VALUE
};
// invalid_argument names the word, with `prefix` before it, and what it takes.
result<job_query> query_of(const query_words& words, std::string_view prefix);

// By name, of texts as NAME=VALUE.
result<std::map<std::string, std::string>> headers_of(const std::vector<std::string>& texts, std::string_view prefix);

// What --since and --until say, where they say something. invalid_argument: nothing can be between them, or nothing is
// `ahead` and they ask for what is.
result<void> read_times(const std::string& since, const std::string& until, std::string_view prefix, bool ahead,
                        std::optional<time_point>& from, std::optional<time_point>& to);

// A time ago, as "2h", or an instant.
std::optional<time_point> parse_since(const std::string& text);
// "customer.id=42": what stands before the first equals sign, and all behind it.
std::optional<std::pair<std::string, std::string>> parse_pair(const std::string& text);
error bad_since(std::string_view word, std::string_view got);
error bad_word(std::string_view word, std::string_view takes, std::string_view got);

}  // namespace sluice::wire
