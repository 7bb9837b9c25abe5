// What people and programs do to throttlers. What each means, and its errors, stand in <sluice/client.hpp>.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sluice/throttler_status.hpp>

#include "core/unresolved.hpp"
#include "storage/async_store.hpp"

namespace sluice::operations {

using storage::async_store;
using storage::callback;

void set_throttler(const async_store& store, const throttler& definition, const callback<throttler_change>& then);
// Tells "KIND:name", by which the store knew it.
void remove_throttler(const async_store& store, throttler_kind kind, const std::string& name,
                      const callback<std::string>& then);
// How those of some rows stand; a row of a key counts for its window where that is among them.
void throttlers_of(const async_store& store, std::vector<storage::throttler_row> rows,
                   const callback<std::vector<throttler_status>>& then);
void all_throttlers(const async_store& store, const callback<std::vector<throttler_status>>& then);
void one_throttler(const async_store& store, throttler_kind kind, const std::string& name,
                   const callback<throttler_status>& then);
// Those of them that the store defines are fine; not_found names the others, and says what to do.
result<void> require_defined(std::vector<undefined_throttler> all,
                             const std::function<storage::answer(const storage::request&)>& ask);

// How a definition in the store differs from that of a configuration, as texts, and `which_counts`; empty: in nothing.
inline constexpr std::string_view the_store_holds =
    "the store's value holds, since somebody set it, until the configuration changes";
std::string difference_of(const std::string& resource, std::string_view stored, std::string_view configured,
                          std::string_view which_counts);
// Of all that a configuration defines, before a start with it.
std::vector<std::string> differences(const std::vector<throttler>& configured, const storage::asker& ask);

}  // namespace sluice::operations
