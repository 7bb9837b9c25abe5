#include "actors/facade_parts.hpp"
#include "operations/throttlers.hpp"

namespace sluice::actors::facade_throttlers {

using storage::callback;

caf::result<std::string> set(facade_store& store, const throttler& definition) {
  return store.promise<std::string>([&](const callback<std::string>& then) {
    operations::set_throttler(store.async_store(), definition, [then](const result<throttler_change>& set) {
      then(set.transform([](const throttler_change& change) { return change.resource; }));
    });
  });
}

caf::result<std::string> remove(facade_store& store, const throttler_name& which) {
  return store.promise<std::string>([&](const callback<std::string>& then) {
    operations::remove_throttler(store.async_store(), which.kind, which.name, then);
  });
}

caf::result<throttler_status> describe(facade_store& store, const throttler_name& which) {
  return store.promise<throttler_status>([&](const callback<throttler_status>& then) {
    operations::one_throttler(store.async_store(), which.kind, which.name, then);
  });
}

caf::result<std::vector<throttler_status>> all(facade_store& store) {
  return store.promise<std::vector<throttler_status>>([&](const callback<std::vector<throttler_status>>& then) {
    operations::all_throttlers(store.async_store(), then);
  });
}

}  // namespace sluice::actors::facade_throttlers
