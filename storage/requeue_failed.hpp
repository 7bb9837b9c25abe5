// The members of a group that have failed, run once more: the one way of clients and of a host's actors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/async_store.hpp"

namespace sluice::storage {

struct requeued_members {
  std::vector<std::string> ids{};      // were requeued
  std::optional<error> refused{};      // why another was not
  std::optional<error> ended_early{};  // by the store

  result<std::uint64_t> count() const {
    if (ended_early) return *ended_early;
    if (ids.empty() && refused) return *refused;
    return ids.size();
  }
};

// In parts; the members of groups in it are left alone. As client::requeue_failed.
void requeue_failed(const async_store& store, const group_name& name, const author& by,
                    const callback<requeued_members>& then);

}  // namespace sluice::storage
