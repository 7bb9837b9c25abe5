#include "operations/locks.hpp"

#include "core/locks.hpp"
#include "core/text.hpp"

namespace sluice::operations {

result<storage::lock_request> checked(storage::lock_request asked) {
  using act = storage::lock_request::verb;
  const bool has_lease = asked.what == act::take || asked.what == act::renew;
  if (auto fine = check_lock(asked.resource, has_lease ? asked.lease : usual_lock_ttl); !fine) return fine.error();
  if (asked.what == act::take)
    if (auto fine = check_lock_holder(asked.holder); !fine) return fine.error();
  return asked;
}

result<std::optional<lock_holder>> holder_after(const std::string& resource, const storage::lock_answer& got) {
  if (got.code == errc::none) return got.now;
  return error{got.code, got.now ? held_by(resource, *got.now) : cat("nobody holds lock ", printable(resource, 200))};
}

}  // namespace sluice::operations
