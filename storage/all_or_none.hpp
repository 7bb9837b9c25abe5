// Jobs that are stored in one step, or none of them: the one way of clients and of a host's actors.
#pragma once

#include <vector>

#include <sluice/job.hpp>

#include "core/pipeline.hpp"
#include "storage/async_store.hpp"

namespace sluice::storage {

// Tells their ids, or why none was stored: the first job that is at fault. As client::enqueue_all.
void enqueue_all(const async_store& store, const enqueue_pipeline& pipeline, std::vector<new_job> jobs, time_point now,
                 const callback<std::vector<job_id>>& then);

}  // namespace sluice::storage
