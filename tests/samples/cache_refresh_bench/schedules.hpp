// The configuration's schedules, in the store for as long as a measurement lasts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sluice/client.hpp>

namespace sample {

// What belongs to one run: the store keeps the jobs of earlier ones.
struct run_plan {
  struct schedule {
    sluice::duration every{0};  // zero: it goes by a cron expression
    sluice::time_point first;   // its first occurrence of the run
  };
  sluice::time_point start;                   // no job of the run is older
  sluice::time_point end;                     // occurrences from then on are none of the run's
  std::map<std::string, schedule> schedules;  // by name
};

// Whether a job or a schedule with these args reads a catalogue of 40 pages instead of one document.
bool is_heavy(const std::string& args);

// Lets the schedules fire. Servers have stored them, or will; those that none has stored yet are. What a server asks
// for from `start` on, since its cache is empty, belongs to the run too. sluice::error of the first call that fails.
sluice::result<run_plan> begin_run(sluice::client& client, const std::vector<sluice::recurring>& schedules,
                                   sluice::time_point start);

// Whether every occurrence before the plan's end has been enqueued.
sluice::result<bool> has_fired(sluice::client& client, const run_plan& plan);

// From here on they rest. What falls into a pause is never caught up, so that the next run begins with none of it.
sluice::result<void> end_run(sluice::client& client, const run_plan& plan);

// How many of them start in one second, at most, were each due in each minute: without staggering, by name, evenly.
struct minute_peaks {
  int off = 0, by_name = 0, even = 0;
};
sluice::result<minute_peaks> peaks_of_a_minute(const std::vector<sluice::recurring>& schedules);

}  // namespace sample
