// Ends that were refused together are told apart: one that the store cannot take must cost the others nothing. Both
// stores answer for a whole request, so this stands above them.
#pragma once

#include "storage/store.hpp"

namespace sluice::storage {

// The store cannot take this end as it is, or its room or harm was met on the way to it: another may well be taken.
inline bool concerns_one_end(errc code) { return code == errc::storage_full || code == errc::storage_damaged; }

// Tries that may be refused before the rest is put off.
inline constexpr int max_refused_tries = 16;

struct settled_in_parts {
  // As for `settle_request`; an error when nobody can say.
  answer told;
  hint made_work;  // a store's `made_work`, of all of it
};

// For a request that the store has refused as a whole with `why`, which concerns one end. What it did in part is
// answered as then.
settled_in_parts settle_in_parts(store& in, const settle_request& refused, const error& why);

}  // namespace sluice::storage
