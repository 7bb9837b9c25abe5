// Listens on its own connection for hints that others made work. A hint may be lost; the sweep is the truth.
#pragma once

#include "storage/redis/url.hpp"
#include "storage/store.hpp"

namespace sluice::storage::redis {

// Calls `told` for what others than `token` made, and for everybody whenever it listens again after it could not.
std::unique_ptr<watch> listen(location where, std::string token, std::function<void(const hint&)> callback);

}  // namespace sluice::storage::redis
