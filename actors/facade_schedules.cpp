#include <sluice/cron.hpp>

#include "actors/facade_parts.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "operations/schedules.hpp"

namespace sluice::actors::facade_schedules {
namespace {

using told = result<storage::update_schedule_answer>;

caf::result<recurring_status> change_and_tell(facade_store& store, const std::string& which,
                                              const scheduler::schedule_change& how) {
  return store.promise<recurring_status>([&](const storage::callback<recurring_status>& then) {
    operations::change_schedule(store.async_store(), which, how, [then](const told& done) {
      if (!done) then(done.error());
      else then(done->row ? scheduler::status_of(*done->row) : recurring_status());
    });
  });
}

}  // namespace

caf::result<recurring_status> set(facade_store& store, const recurring& definition, const server_context& e) {
  return change_and_tell(store, definition.name, scheduler::putting(definition, e.zones.version()));
}

caf::result<recurring_status> pause(facade_store& store, const std::string& which, bool paused,
                                    const server_context& e) {
  return change_and_tell(store, which, scheduler::pausing(which, paused, e.zones.version()));
}

caf::result<bool> remove(facade_store& store, const std::string& which) {
  return store.promise<bool>([&](const storage::callback<bool>& then) {
    operations::change_schedule(store.async_store(), which, scheduler::removing(which), [then](const told& done) {
      if (done) then(done->updated);
      else then(done.error());
    });
  });
}

caf::result<job_id> trigger(facade_store& store, const std::string& which, const enqueue_pipeline& pipeline,
                            const server_context_ptr& e) {
  const auto id = triggered_id(which, e->store->now());
  const auto prepare = [&pipeline, e](new_job job) { return pipeline.prepare(std::move(job), e->store->now()); };
  return store.promise<job_id>([&](const storage::callback<job_id>& then) {
    operations::change_schedule(store.async_store(), which, scheduler::triggering(which, id, prepare),
                                [then, id](const told& done) {
                                  if (done) then(id);
                                  else then(done.error());
                                });
  });
}

caf::result<std::vector<recurring_status>> all(facade_store& store) {
  return store.promise<std::vector<recurring_status>>(
      [&](const storage::callback<std::vector<recurring_status>>& then) {
        operations::all_schedules(store.async_store(), [then](const result<std::vector<storage::schedule_row>>& rows) {
          if (!rows) return then(rows.error());
          std::vector<recurring_status> all;
          for (const auto& row : *rows)
            all.push_back(scheduler::status_of(row));
          then(std::move(all));
        });
      });
}

}  // namespace sluice::actors::facade_schedules
