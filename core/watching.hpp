// What runs have watched, for people.
#pragma once

#include <string>
#include <vector>

#include <sluice/job.hpp>

namespace sluice {

// "REDIS Save_TradingSession 12.3ms (3 times, 1 failed, longest 8ms), ..."
std::string in_words(const watched_part& part);
std::string in_words(const std::vector<watched_part>& parts);

}  // namespace sluice
