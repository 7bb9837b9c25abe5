#include "storage/admission.hpp"

#include <algorithm>

#include "core/throttlers.hpp"

namespace sluice::storage {

std::vector<std::string> all_of(std::vector<std::string> some, const std::vector<std::string>& others) {
  if (others.empty()) return some;
  some.insert(some.end(), others.begin(), others.end());
  std::sort(some.begin(), some.end());
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

define_request to_define(const throttler& definition) {
  define_request r;
  r.resource = resource_of(definition.kind, definition.name);
  r.text = write_throttler(definition);
  const bool free = definition.mode == throttler_mode::release;
  if (definition.kind == throttler_kind::semaphore) r.permits = free ? unlimited_permits : definition.limit;
  if (definition.kind == throttler_kind::mutex) r.permits = free ? unlimited_permits : 1;
  return r;
}

}  // namespace sluice::storage
