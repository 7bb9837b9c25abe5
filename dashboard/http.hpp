// One request and its answer, as every part of this room sees them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::web {

struct http_request {
  std::string method;
  std::string target;                                       // as it came
  std::vector<std::string> path;                            // its segments, decoded each on its own
  std::vector<std::pair<std::string, std::string>> query;   // decoded
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;
  std::string peer;  // its address

  std::string_view header(std::string_view name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
};

struct http_response {
  unsigned status = 200;
  std::string body{};
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};
  bool close = false;     // the connection, afterwards
  std::string defined{};  // the definition in the body, for which If-Match asks
};

// Adds what tells a browser to trust nothing but this site: every answer has it.
void add_safety(http_response& to);

// The path and query of a target. Nothing when it is no path, or an escape in it is bad or stands for a NUL.
struct http_target {
  std::vector<std::string> path;
  std::vector<std::pair<std::string, std::string>> query;
};
std::optional<http_target> parse_target(std::string_view target);
// A short mark of a text, by which it is known again.
std::string digest(std::string_view text);
// By which an answer is known again: its ETag.
std::string tag_of(const http_response& said);
// Whether a list of tags, as If-Match has it, names an answer with the same definition, whatever else is in it.
bool names_definition(std::string_view tags, std::string_view defined);
// A text as one segment of a path.
std::string path_segment(std::string_view text);

}  // namespace sluice::web
