// Groups of jobs, and cancelling, for the host's actors.
#include "actors/facade_parts.hpp"
#include "core/no_job.hpp"
#include "core/ranges.hpp"
#include "storage/requeue_failed.hpp"

namespace sluice::actors {
namespace {

using what = storage::change_group_request::what;

void tell(facade_store& store, const group_name& name, const storage::callback<group_status>& then) {
  store.ask(storage::groups_request{name, 1}, [name, then](storage::answer& answer) {
    auto* got = std::get_if<storage::groups_answer>(&answer);
    if (!got) then(std::get<error>(answer));
    else if (got->page.groups.empty()) then(no_group(name.value));
    else then(std::move(got->page.groups.front()));
  });
}

}  // namespace

caf::result<group_status> facade_groups::change(facade_store& store, what change, const new_group& group) {
  return store.promise<group_status>([&](const storage::callback<group_status>& then) {
    if (auto fine = check(group); !fine) return then(fine.error());
    store.ask(storage::change_group_request{change, group}, [&store, group, then](storage::answer& answer) {
      auto* got = std::get_if<storage::change_answer>(&answer);
      if (!got) then(std::get<error>(answer));
      else if (got->code != errc::none) then(error{got->code, std::move(got->message)});
      else tell(store, group.name, then);
    });
  });
}

caf::result<group_status> facade_groups::describe(facade_store& store, const group_name& name) {
  return store.promise<group_status>([&](const storage::callback<group_status>& then) { tell(store, name, then); });
}

caf::result<std::uint64_t> facade_groups::requeue_failed(facade_store& store, const group_name& name) {
  return store.promise<std::uint64_t>([&](const storage::callback<std::uint64_t>& then) {
    storage::requeue_failed(store.async_store(), name, {}, [then](const result<storage::requeued_members>& came) {
      then(came ? came->count() : came.error());
    });
  });
}

caf::result<job_id> facade_jobs::cancel(const job_id& id) {
  return store_.promise<job_id>([&](const storage::callback<job_id>& then) {
    store_.ask(storage::cancel_request{id}, [this, id, then](storage::answer& answer) {
      auto* got = std::get_if<storage::change_answer>(&answer);
      if (!got) return then(std::get<error>(answer));
      if (got->code != errc::none) return then(error{got->code, std::move(got->message)});
      check_jobs({id});  // it may have ended by that
      then(id);
    });
  });
}

}  // namespace sluice::actors
