// Schedules of recurring jobs, as a client changes them and looks at them.
#include <sluice/cron.hpp>

#include "client/parts.hpp"
#include "scheduler/schedules.hpp"

namespace sluice {

result<void> client::parts::change_schedule(std::string_view what, const std::string& name,
                                            const scheduler::schedule_change& change) {
  const auto done = scheduler::carry_out(name, change, [this](const storage::request& r) { return ask(r); });
  if (!done) return done.error();
  if (*done) note(what, {name});
  return {};
}

result<void> client::set_recurring(const recurring& definition) {
  return parts_->change_schedule("set schedule", definition.name, scheduler::putting(definition, time_zone_version()));
}

result<void> client::remove_recurring(const std::string& name) {
  return parts_->change_schedule("remove schedule", name, scheduler::removing(name));
}

result<void> client::pause_recurring(const std::string& name) {
  return parts_->change_schedule("pause schedule", name, scheduler::pausing(name, true, {}));
}

result<void> client::resume_recurring(const std::string& name) {
  return parts_->change_schedule("resume schedule", name, scheduler::pausing(name, false, time_zone_version()));
}

result<job_id> client::trigger_recurring(const std::string& name) {
  const auto id = make_job_id(parts_->runner->now());
  const auto prepare = [this](new_job job) { return parts_->pipeline.prepare(std::move(job), parts_->runner->now()); };
  const auto done = parts_->change_schedule("trigger schedule", name, scheduler::triggering(name, id, prepare));
  if (!done) return done.error();
  return id;
}

result<std::vector<recurring_status>> client::recurring_jobs() {
  const auto rows = scheduler::all_schedules([this](const storage::request& r) { return parts_->ask(r); });
  if (!rows) return rows.error();
  std::vector<recurring_status> all;
  for (const auto& row : *rows)
    all.push_back(scheduler::status_of(row));
  return all;
}

}  // namespace sluice
