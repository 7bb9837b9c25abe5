// What is wrong, first of all; and how much there is.
#pragma once

#include <map>

#include "dashboard/snapshot.hpp"

namespace sluice::web {

// A server that has said nothing for so long is probably gone.
inline constexpr duration silent_after = std::chrono::minutes(1);
// A schedule whose time has passed by so much is late.
inline constexpr duration late_after = std::chrono::seconds(30);

struct trouble {
  std::string kind;   // one word for programs, as "unserved_queue"
  std::string about;  // the name of the queue, server, throttler or schedule; empty: the store as a whole
  std::string text;   // the whole of it, for people
};
// The worst first. Without content: no error texts.
std::vector<trouble> troubles_of(const known_store& known, bool with_content = true);

bool is_silent(const server_info& server, const known_store& known);

// Workers of the servers that are alive, by queue.
std::map<std::string, std::uint64_t> workers_of(const known_store& known);

std::string json_of(const known_store& known, bool with_content = true);  // as of /api/v1/overview

}  // namespace sluice::web
