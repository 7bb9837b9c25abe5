// Looks at all that is stored, slice by slice, each slice in one step: nothing that moves meanwhile looks wrong.
#pragma once

#include "storage/redis/exchange.hpp"

namespace sluice::storage::redis {

result<std::vector<std::string>> audit(connection& c, const exchange::shas& scripts, const std::string& prefix);

}  // namespace sluice::storage::redis
