// What servers tell of what was just stored from here: that nobody takes or uses it, or that they would have said more
// of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <sluice/client.hpp>

namespace sluice::cli {

// How many jobs were stored of each queue and type; none: a schedule was. A queue that nobody named is empty or "-".
using stored_kinds = std::map<std::pair<std::string, std::string>, std::uint64_t>;

// All that there is to say of jobs; servers are asked once.
void note_servers(client& store, const stored_kinds& stored);
// Which servers have filters that did not see the jobs.
void note_uncalled_filters(client& store);
// Whether somebody takes the jobs of a schedule.
void note_takers(client& store, const std::string& queue, const std::string& type);
// Of a throttler that was just defined: it may be before anybody uses it, but who mistyped a name must not think that
// the other is limited so.
void note_unused(client& store, throttler_kind of, const std::string& name);

}  // namespace sluice::cli
