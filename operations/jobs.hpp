// What people and programs do to jobs. What each means, and its errors, stand in <sluice/client.hpp>.
#pragma once

#include <functional>
#include <vector>

#include <sluice/explanation.hpp>
#include <sluice/job.hpp>

#include "core/pipeline.hpp"
#include "storage/async_store.hpp"

namespace sluice::operations {

using storage::async_store;
using storage::callback;

// Stores all in one step, or none. Tells their ids, or why none was stored: the first job that is at fault.
void enqueue_all(const async_store& store, const enqueue_pipeline& pipeline, std::vector<new_job> jobs, time_point now,
                 const callback<std::vector<job_id>>& then);

// What a store told of a job, asked by a get_request: the job, or why not.
result<job> job_of(const job_id& id, storage::answer& told);

void find_job(const async_store& store, const job_id& id, const callback<job>& then);

// `now`: the store's clock, looked at when the answer is there.
void explain_job(const async_store& store, const job_id& id, const std::function<time_point()>& now,
                 const callback<explanation>& then);

// What came of each. An error: the store did not carry it out.
using changes = std::vector<result<storage::change_answer>>;
// In parts, one after the other, until the store fails in a way that may pass: then no more is asked of it. Where
// something that is damaged ends a part, each of its jobs is asked for by itself; one that is so already counts as
// changed then, since the part may have changed it.
void change_jobs(const async_store& store, storage::change_jobs_request wanted, const callback<changes>& then);

}  // namespace sluice::operations
