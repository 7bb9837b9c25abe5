// What people and programs do to schedules: read, planned (scheduler/schedules.hpp), and swapped for what was read.
#pragma once

#include <string>
#include <vector>

#include <sluice/recurring.hpp>

#include "scheduler/schedules.hpp"
#include "storage/async_store.hpp"

namespace sluice::operations {

using storage::async_store;
using storage::callback;

// Plans again when another was first. Tells how it stands then; `updated` is false when nothing was to be changed. Of
// one that is not there: which was meant, or which there are.
void change_schedule(const async_store& store, const std::string& name, const scheduler::schedule_change& how,
                     const callback<storage::update_schedule_answer>& then);
// The same error, of one that somebody looked for.
void tell_missing_schedule(const async_store& store, const std::string& name, const std::function<void(error)>& then);
// All, by name.
void all_schedules(const async_store& store, const callback<std::vector<storage::schedule_row>>& then);

// What a configuration says, if all of it makes sense: each is put; with `prune` those of an earlier configuration that
// it does not name any more are removed. Tells the log what it changed.
result<void> apply_configuration(const std::vector<recurring>& all, bool prune, const storage::asker& ask);

}  // namespace sluice::operations
