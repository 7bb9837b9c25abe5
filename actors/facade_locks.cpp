#include "actors/facade_parts.hpp"
#include "core/locks.hpp"
#include "core/text.hpp"

namespace sluice::actors::facade_locks {
namespace {

using act = storage::lock_request::verb;

// `told` makes an answer of the store's, which is no failure of the request as a whole.
template <class Answer>
caf::result<Answer> ask(facade_store& store, const storage::lock_request& asked, const result<void>& fine,
                        const std::function<result<Answer>(const storage::lock_answer&)>& told) {
  return store.promise<Answer>([&](const storage::callback<Answer>& then) {
    if (!fine) return then(fine.error());
    storage::ask_for<storage::lock_answer>(store.async_store(), asked,
                                           [told, then](const result<storage::lock_answer>& got) {
                                             if (got) then(told(*got));
                                             else then(got.error());
                                           });
  });
}

error no_longer(const std::string& resource, const storage::lock_answer& got) {
  return {got.code, got.now ? held_by(resource, *got.now) : cat("nobody holds lock ", printable(resource, 200))};
}

}  // namespace

caf::result<lock_verdict> take(facade_store& store, take_lock wish) {
  if (wish.holder.empty()) wish.holder = this_process();
  auto fine = check_lock(wish.resource, wish.ttl);
  if (fine) fine = check_lock_holder(wish.holder);
  const storage::lock_request r{.what = act::take,
                                .resource = std::move(wish.resource),
                                .holder = std::move(wish.holder),
                                .token = random_token(),
                                .lease = wish.ttl};
  return ask<lock_verdict>(store, r, fine, [](const storage::lock_answer& got) {
    return lock_verdict{got.code == errc::none, got.now.value_or(lock_holder())};
  });
}

caf::result<lock_holder> renew(facade_store& store, const renew_lock& wish) {
  const storage::lock_request r{.what = act::renew, .resource = wish.resource, .fence = wish.fence, .lease = wish.ttl};
  return ask<lock_holder>(store, r, check_lock(wish.resource, wish.ttl),
                          [resource = wish.resource](const storage::lock_answer& got) -> result<lock_holder> {
                            if (got.code != errc::none) return no_longer(resource, got);
                            return got.now.value_or(lock_holder());
                          });
}

caf::result<fence> release(facade_store& store, const release_lock& wish) {
  const storage::lock_request r{.what = act::release, .resource = wish.resource, .fence = wish.fence};
  return ask<fence>(store, r, check_lock(wish.resource, usual_lock_ttl),
                    [wish](const storage::lock_answer& got) -> result<fence> {
                      if (got.code != errc::none) return no_longer(wish.resource, got);
                      return wish.fence;
                    });
}

}  // namespace sluice::actors::facade_locks
