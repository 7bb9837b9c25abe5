// What becomes of a schedule: pure functions of how it stands, whose answers are carried out by one update of the
// store.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/job.hpp>
#include <sluice/recurring.hpp>

#include "core/pipeline.hpp"
#include "storage/schedules.hpp"

namespace sluice::scheduler {

// Nothing when nothing is to be changed.
using planned_update = result<std::optional<storage::update_schedule_request>>;
using schedule_change = std::function<planned_update(const storage::schedule_answer&)>;
// The enqueue pipeline of whoever enqueues.
using preparation = std::function<result<prepared_job>(new_job)>;
// `zones`, below, is time_zone_version(): by these files is planned.

// Adds or changes. With `config` (the text of a configuration) only when that is another than last time. What changes
// when it runs is planned from now on; else missed occurrences stay missed.
schedule_change putting(recurring definition, std::string zones, std::string config = {});
// Fine when there is none.
schedule_change removing(std::string name);
// not_found. Nothing is caught up of what fell into a pause. invalid_argument: resumed where its zone is not known.
schedule_change pausing(std::string name, bool paused, std::string zones);
// Enqueues one job now, under `id`, also while it is paused and whatever runs. not_found, damaged_record, and what
// the pipeline says.
schedule_change triggering(std::string name, job_id id, preparation prepare);

// What a server does about a schedule that is due. One that cannot be read is never due again; one of which no job can
// be made now says why, and is looked at again. One whose zone is not known here stays due for a minute, so that
// servers that have its files fire it.
struct fired_schedule {
  std::optional<storage::update_schedule_request> update{};
  std::string problem{};                         // empty: all is well
  std::optional<duration> left_to_others_for{};  // with no update: then it is looked at again
};
fired_schedule firing(const storage::schedule_row& due, time_point now, const std::string& zones,
                      const preparation& prepare);
// One that was planned by other zone files is planned anew.
std::optional<storage::update_schedule_request> planning_anew(const storage::schedule_row& row,
                                                              const std::string& zones);

recurring_status status_of(const storage::schedule_row& row);
// When it runs next, as recurring_outlook says it.
std::vector<time_point> next_instants(const storage::schedule_row& row, time_point now, std::size_t most);
error no_schedule(const std::string& name);
// Whether it is of a configuration.
bool is_configured(const storage::schedule_row& row);

}  // namespace sluice::scheduler
