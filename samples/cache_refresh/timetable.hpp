// The loop that enqueues each job every so many minutes, until recurring schedules exist.
#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include <sluice/client.hpp>

#include "cache_refresh/jobs.hpp"

namespace sample {

// One run of the sample: from `start`, so many minutes of this length.
struct run_plan {
  sluice::time_point start;
  sluice::duration minute;
  std::uint32_t minutes;

  // Everything that is due in this minute. An occurrence has one id, so enqueueing it again is the same job; the run's
  // start is part of the id, since the store keeps the jobs of earlier runs.
  std::vector<sluice::new_job> due_in(std::uint32_t minute_number) const;

  // When the job was due; nothing when it is none of this run's.
  std::optional<sluice::time_point> due_of(const sluice::job& about) const;
};

class timetable {
public:
  // Begins at once, on a thread of its own. `client` must outlive it.
  timetable(sluice::client& client, run_plan plan);

  // Nothing is enqueued once it has returned.
  void stop() { thread_ = {}; }
  std::uint64_t stored() const { return stored_; }    // jobs
  std::uint64_t refused() const { return refused_; }  // jobs that could not be stored

private:
  void enqueue(std::uint32_t minute);

  sluice::client& client_;
  const run_plan plan_;
  std::atomic<std::uint64_t> stored_ = 0, refused_ = 0;
  std::jthread thread_;
};

}  // namespace sample
