#include "actors/facade_parts.hpp"
#include "core/locks.hpp"
#include "core/text.hpp"
#include "operations/locks.hpp"

namespace sluice::actors::facade_locks {
namespace {

using act = storage::lock_request::verb;

// `told` makes an answer of the store's, which is no failure of the request as a whole.
template <class Answer>
caf::result<Answer> ask(facade_store& store, storage::lock_request wanted,
                        const std::function<result<Answer>(const storage::lock_answer&)>& told) {
  return store.promise<Answer>([&](const storage::callback<Answer>& then) {
    const auto asked = operations::checked(std::move(wanted));
    if (!asked) return then(asked.error());
    storage::ask_for<storage::lock_answer>(store.async_store(), *asked,
                                           [told, then](const result<storage::lock_answer>& got) {
                                             if (got) then(told(*got));
                                             else then(got.error());
                                           });
  });
}

}  // namespace

caf::result<lock_verdict> take(facade_store& store, take_lock wish) {
  if (wish.holder.empty()) wish.holder = this_process();
  storage::lock_request wanted{.what = act::take,
                               .resource = std::move(wish.resource),
                               .holder = std::move(wish.holder),
                               .token = random_token(),
                               .lease = wish.ttl};
  return ask<lock_verdict>(store, std::move(wanted), [](const storage::lock_answer& got) {
    return lock_verdict{got.code == errc::none, got.now.value_or(lock_holder())};
  });
}

caf::result<lock_holder> renew(facade_store& store, const renew_lock& wish) {
  return ask<lock_holder>(store,
                          {.what = act::renew, .resource = wish.resource, .fence = wish.fence, .lease = wish.ttl},
                          [resource = wish.resource](const storage::lock_answer& got) -> result<lock_holder> {
                            const auto now = operations::holder_after(resource, got);
                            return now ? result<lock_holder>(now->value_or(lock_holder())) : now.error();
                          });
}

caf::result<fence> release(facade_store& store, const release_lock& wish) {
  return ask<fence>(store, {.what = act::release, .resource = wish.resource, .fence = wish.fence},
                    [wish](const storage::lock_answer& got) -> result<fence> {
                      const auto now = operations::holder_after(wish.resource, got);
                      return now ? result<fence>(wish.fence) : now.error();
                    });
}

}  // namespace sluice::actors::facade_locks
