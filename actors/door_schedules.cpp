#include <sluice/cron.hpp>

#include "actors/door_parts.hpp"
#include "core/text.hpp"
#include "scheduler/schedules.hpp"

namespace sluice::actors::door_schedules {
namespace {

using row = std::optional<storage::schedule_row>;
// Whether something was changed, and how it stands.
using changed = std::function<void(const result<bool>&, const row&)>;

// Reads, changes and swaps; again when another was first.
void change(door_store& store, const std::string& which, const scheduler::schedule_change& how, const changed& told,
            int tries = 0) {
  if (tries == scheduler::most_tries) return told(scheduler::too_many_tries(which), {});
  store.ask(storage::schedule_request{which}, [&store, which, how, told, tries](storage::answer& read) {
    auto* seen = std::get_if<storage::schedule_answer>(&read);
    if (!seen) return told(std::get<error>(read), {});
    auto wanted = how(*seen);
    if (!wanted) return told(wanted.error(), {});
    if (!*wanted) return told(false, seen->row);
    store.ask(std::move(**wanted), [&store, which, how, told, tries](storage::answer& said) {
      auto* swapped = std::get_if<storage::swap_schedule_answer>(&said);
      if (!swapped) told(std::get<error>(said), {});
      else if (swapped->swapped) told(true, swapped->row);
      else change(store, which, how, told, tries + 1);
    });
  });
}

caf::result<recurring_status> change_and_tell(door_store& store, const std::string& which,
                                              const scheduler::schedule_change& how) {
  return store.promise<recurring_status>([&](const storage::told<recurring_status>& then) {
    change(store, which, how, [then](const result<bool>& done, const row& now) {
      if (!done) then(done.error());
      else then(now ? scheduler::status_of(*now) : recurring_status());
    });
  });
}

void read(door_store& store, const std::string& after, std::vector<recurring_status> before,
          const storage::told<std::vector<recurring_status>>& then) {
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

caf::result<recurring_status> set(door_store& store, const recurring& definition, const engine& e) {
  return change_and_tell(store, definition.name, scheduler::putting(definition, e.zones()));
}

caf::result<recurring_status> pause(door_store& store, const std::string& which, bool paused, const engine& e) {
  return change_and_tell(store, which, scheduler::pausing(which, paused, e.zones()));
}

caf::result<bool> remove(door_store& store, const std::string& which) {
  return store.promise<bool>([&](const storage::told<bool>& then) {
    change(store, which, scheduler::removing(which), [then](const result<bool>& done, const row&) { then(done); });
  });
}

caf::result<job_id> trigger(door_store& store, const std::string& which, const enqueue_pipeline& pipeline,
                            const engine_ptr& e) {
  const auto id = make_job_id(e->runner->now());
  const auto prepare = [&pipeline, e](new_job job) { return pipeline.prepare(std::move(job), e->runner->now()); };
  return store.promise<job_id>([&](const storage::told<job_id>& then) {
    change(store, which, scheduler::triggering(which, id, prepare), [then, id](const result<bool>& done, const row&) {
      if (done) then(id);
      else then(done.error());
    });
  });
}

caf::result<std::vector<recurring_status>> all(door_store& store) {
  return store.promise<std::vector<recurring_status>>(
      [&](const storage::told<std::vector<recurring_status>>& then) { read(store, {}, {}, then); });
}

}  // namespace sluice::actors::door_schedules
