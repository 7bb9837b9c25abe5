// One server: the two-level cache, and many threads that all read at the instant when an entry
// expires.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/types.hpp>

#include "samples/two_level_cache/two_level_cache.hpp"

namespace sample {

// Of every entry of these runs. A list takes 1.6 s to load, a document 40 ms.
inline const cache_times times_of_servers{
    .state = std::chrono::seconds(2), .data = std::chrono::minutes(1), .lock = std::chrono::seconds(5)};

struct server_entry {
  std::string name;
  std::string resource;  // where the provider has it
};
// The entries that are read: three values and a list.
const std::vector<server_entry>& entries_of_servers();

// All instants are microseconds of the wall clock, since all processes of a run are on one machine.
using micros = std::int64_t;

// How readers met one end of a state's time: what the first reading of each was after it.
struct expiry_tally {
  std::uint32_t old_values = 0, new_values = 0, nothing = 0, loads = 0;
  std::uint32_t at_once = 0;  // of all these, who asked within 100 ms of the instant
  micros slowest = 0;         // how long the slowest of them that did not load waited for its answer
  std::uint32_t readers() const { return old_values + new_values + nothing + loads; }
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(expiry_tally, old_values, new_values, nothing, loads, at_once, slowest)

// Of a resource of the provider, which is a value or a page of a list.
struct resource_tally {
  std::string entry;
  micros first_value = 0;   // when the first reading ended that had a value; 0: none did
  micros last_nothing = 0;  // when the last reading began that had none; 0: all had one
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(resource_tally, entry, first_value, last_nothing)

struct server_tally {
  std::map<std::string, resource_tally> resources;
  std::map<std::string, std::map<micros, expiry_tally>> expiries;  // by entry and instant; also those not met yet
  std::uint64_t readings = 0;
  std::vector<std::string> failures;  // the first few
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(server_tally, resources, expiries, readings, failures)

struct server_words {
  std::string provider_url;
  std::string lock_store;
  std::string cache_file;
  std::uint32_t readers = 0;
  micros end = 0;
};

// Reads until the end. Throws std::runtime_error when it cannot begin.
server_tally read_until_the_end(const server_words& words);

}  // namespace sample
