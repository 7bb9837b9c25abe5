// What people and programs do to groups of jobs. What each means, and its errors, stand in <sluice/client.hpp>.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sluice/job.hpp>

#include "storage/async_store.hpp"

namespace sluice::operations {

using storage::async_store;
using storage::callback;
using group_change = storage::change_group_request::what;

// Tells whether it was changed, or was so already.
void change_group(const async_store& store, group_change change, const new_group& group, const callback<bool>& then);
void find_group(const async_store& store, const group_name& name, const callback<group_status>& then);

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
// The members that have failed run once more. In parts; the members of groups in it are left alone.
void requeue_failed(const async_store& store, const group_name& name, const author& by,
                    const callback<requeued_members>& then);

}  // namespace sluice::operations
