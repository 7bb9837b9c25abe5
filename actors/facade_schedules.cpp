#include <sluice/cron.hpp>

#include "actors/facade_parts.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "scheduler/schedules.hpp"

namespace sluice::actors::facade_schedules {
namespace {

using row = std::optional<storage::schedule_row>;
// Whether something was changed, and how it stands.
using changed = std::function<void(const result<bool>&, const row&)>;

// Reads, changes and swaps; again when another was first.
void change(facade_store& store, const std::string& which, const scheduler::schedule_change& how,
            const changed& callback, int tries = 0) {
  if (tries == scheduler::max_tries) return callback(scheduler::too_many_tries(which), {});
  store.ask(storage::schedule_request{which}, [&store, which, how, callback, tries](storage::answer& read) {
    auto* seen = std::get_if<storage::schedule_answer>(&read);
    if (!seen) return callback(std::get<error>(read), {});
    auto wanted = how(*seen);
    if (!wanted) return callback(wanted.error(), {});
    if (!*wanted) return callback(false, seen->row);
    store.ask(std::move(**wanted), [&store, which, how, callback, tries](storage::answer& said) {
      auto* updated = std::get_if<storage::update_schedule_answer>(&said);
      if (!updated) callback(std::get<error>(said), {});
      else if (updated->updated) callback(true, updated->row);
      else change(store, which, how, callback, tries + 1);
    });
  });
}

caf::result<recurring_status> change_and_tell(facade_store& store, const std::string& which,
                                              const scheduler::schedule_change& how) {
  return store.promise<recurring_status>([&](const storage::callback<recurring_status>& then) {
    change(store, which, how, [then](const result<bool>& done, const row& now) {
      if (!done) then(done.error());
      else then(now ? scheduler::status_of(*now) : recurring_status());
    });
  });
}

void read(facade_store& store, const std::string& after, std::vector<recurring_status> before,
          const storage::callback<std::vector<recurring_status>>& then) {
  storage::schedules_request page;
  page.after = after;
  store.ask(std::move(page), [&store, before = std::move(before), then](storage::answer& answer) mutable {
    auto* got = std::get_if<storage::schedules_answer>(&answer);
    if (!got) return then(std::get<error>(answer));
    for (const auto& r : got->rows)
      before.push_back(scheduler::status_of(r));
    if (got->next.empty()) then(std::move(before));
    else read(store, got->next, std::move(before), then);
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
    change(store, which, scheduler::removing(which), [then](const result<bool>& done, const row&) { then(done); });
  });
}

caf::result<job_id> trigger(facade_store& store, const std::string& which, const enqueue_pipeline& pipeline,
                            const server_context_ptr& e) {
  const auto id = triggered_id(which, e->store->now());
  const auto prepare = [&pipeline, e](new_job job) { return pipeline.prepare(std::move(job), e->store->now()); };
  return store.promise<job_id>([&](const storage::callback<job_id>& then) {
    change(store, which, scheduler::triggering(which, id, prepare), [then, id](const result<bool>& done, const row&) {
      if (done) then(id);
      else then(done.error());
    });
  });
}

caf::result<std::vector<recurring_status>> all(facade_store& store) {
  return store.promise<std::vector<recurring_status>>(
      [&](const storage::callback<std::vector<recurring_status>>& then) { read(store, {}, {}, then); });
}

}  // namespace sluice::actors::facade_schedules
