// Locks, which code outside of any job may hold too. A part of the contract in storage/store.hpp.
//
// A lock is held from its take until its lease is over, by the store's clock. Fences are drawn from the store's one
// growing number. Only the fence that holds a lock can renew or release it: also when the lease is over, as long as
// nobody has taken it and no prune has forgotten it, which one does a day later. A lease that ends later than its
// length allows (the clock was set back) is given its length anew by the next who asks for the lock.
#pragma once

#include <optional>
#include <string>

#include <sluice/error.hpp>
#include <sluice/lock.hpp>

#include "core/describe.hpp"

namespace sluice::storage {

struct lock_request {
  static constexpr std::string_view request_name = "lock";
  enum class verb : std::uint8_t { take, renew, release, read } what = verb::read;
  std::string resource;
  std::string holder{};   // take: for people
  std::string token{};    // take: as long as its lock is held, asking again with it is the same lock
  sluice::fence fence{};  // renew, release
  duration lease{0};      // take, renew
};
constexpr std::array<std::string_view, 4> words_of(lock_request::verb) { return {"take", "renew", "release", "read"}; }
void describe(auto& v, described<lock_request> auto& r) {
  v("what", r.what)("resource", r.resource)("holder", r.holder)("token", r.token)("fence", r.fence)("lease", r.lease);
}
// none: it is yours; or you do not hold it any more, when you release it, also when you did not before. lock_held:
// take. stale_fence: renew, and release when another holds it; nothing was changed.
struct lock_answer {
  errc code = errc::none;
  std::optional<lock_holder> now;  // who has it afterwards
};
void describe(auto& v, described<lock_answer> auto& a) { v("code", a.code)("now", a.now); }

// Those that are held, by the end of their leases.
struct locks_request {
  static constexpr std::string_view request_name = "locks";
  std::uint32_t limit = 200;  // 1 to 200
  std::string after{};

  std::size_t weight() const { return 1 + limit; }
};
void describe(auto& v, described<locks_request> auto& r) { v("limit", r.limit)("after", r.after); }
struct locks_answer {
  lock_page page;
};
void describe(auto& v, described<locks_answer> auto& a) { v("page", a.page); }

}  // namespace sluice::storage
