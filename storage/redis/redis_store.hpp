// The store on Redis 6.2 or newer, or Valkey: the scripts of the machine, those of a batch in one write.
#pragma once

#include "storage/machine/script.hpp"
#include "storage/redis/url.hpp"
#include "storage/store.hpp"

namespace sluice::storage::redis {

// Connects at once; a store that cannot be reached, or that may throw jobs away, is an error.
// `mode`: a store is there when its layout stands under the prefix.
result<std::unique_ptr<store>> open(location where, const clock* time, open_mode mode, const machine::edition& known);

// As storage::raise_layout.
result<raising> raise_layout(location where, const clock* time, const machine::edition& known);

}  // namespace sluice::storage::redis
