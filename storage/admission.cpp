#include "storage/admission.hpp"

#include "core/throttlers.hpp"

namespace sluice::storage {

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
