// Whatever an answer says, the store's own words too: what two stores that run the same scripts must say alike.
#pragma once

#include "storage/contract.hpp"

namespace sluice::test {

// Not of servers and schedules, which programs do not ask about.
std::string in_full(const storage::answer& a);

}  // namespace sluice::test
