#include "actors/door_parts.hpp"
#include "throttling/managing.hpp"

namespace sluice::actors::door_throttlers {

using storage::told;

caf::result<std::string> set(door_store& store, const throttler& definition) {
  return store.promise<std::string>(
      [&](const told<std::string>& then) { throttling::set_throttler(store.courier(), definition, then); });
}

caf::result<std::string> remove(door_store& store, const throttler_name& which) {
  return store.promise<std::string>([&](const told<std::string>& then) {
    throttling::remove_throttler(store.courier(), which.kind, which.name, then);
  });
}

caf::result<throttler_status> describe(door_store& store, const throttler_name& which) {
  return store.promise<throttler_status>([&](const told<throttler_status>& then) {
    throttling::one_throttler(store.courier(), which.kind, which.name, then);
  });
}

caf::result<std::vector<throttler_status>> all(door_store& store) {
  return store.promise<std::vector<throttler_status>>(
      [&](const told<std::vector<throttler_status>>& then) { throttling::all_throttlers(store.courier(), then); });
}

}  // namespace sluice::actors::door_throttlers
