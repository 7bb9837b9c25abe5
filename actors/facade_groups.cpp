#include "actors/facade_parts.hpp"
#include "operations/groups.hpp"

namespace sluice::actors::facade_groups {

using storage::callback;

caf::result<group_status> change(facade_store& store, storage::change_group_request::what change,
                                 const new_group& group) {
  return store.promise<group_status>([&](const callback<group_status>& then) {
    operations::change_group(store.async_store(), change, group, [&store, name = group.name, then](result<bool> done) {
      if (done) operations::find_group(store.async_store(), name, then);
      else then(done.error());
    });
  });
}

caf::result<group_status> describe(facade_store& store, const group_name& name) {
  return store.promise<group_status>(
      [&](const callback<group_status>& then) { operations::find_group(store.async_store(), name, then); });
}

caf::result<std::uint64_t> requeue_failed(facade_store& store, const group_name& name) {
  return store.promise<std::uint64_t>([&](const callback<std::uint64_t>& then) {
    operations::requeue_failed(store.async_store(), name, {}, [then](const result<operations::requeued_members>& came) {
      then(came ? came->count() : came.error());
    });
  });
}

}  // namespace sluice::actors::facade_groups
