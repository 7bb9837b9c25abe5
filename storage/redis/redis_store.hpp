// The store on Redis 7.0 or newer, or Valkey: the calls of a batch are one write.
#pragma once

#include "storage/machine/library.hpp"
#include "storage/redis/url.hpp"
#include "storage/store.hpp"

namespace sluice::storage::redis {

// Connects at once; a store that cannot be reached, or that may throw jobs away, is an error.
// `mode`: a store is there when its layout stands under the prefix.
result<std::unique_ptr<store>> open(location where, const clock* time, open_mode mode, const machine::library& known);

// As storage::other_libraries.
result<std::vector<std::string>> other_libraries(const location& where, bool remove, const machine::library& known);

// As storage::raise_layout.
result<raising> raise_layout(location where, const clock* time, const machine::library& known);

}  // namespace sluice::storage::redis
