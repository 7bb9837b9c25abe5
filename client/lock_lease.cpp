#include "client/lock_lease.hpp"

#include <utility>

namespace sluice {
namespace {

constexpr int renewals = 3;      // within a lease
constexpr int margin_part = 10;  // of a lease, for clocks that run apart

}  // namespace

lock_lease::lock_lease(std::string resource, sluice::fence fence, duration ttl, steady_point asked)
    : resource_(std::move(resource)), fence_(fence), ttl_(ttl) {
  count_from(asked);
}

void lock_lease::count_from(steady_point asked) {
  held_until_ = asked + ttl_ - ttl_ / margin_part;
  renew_at_ = asked + ttl_ / renewals;
}

bool lock_lease::held(steady_point now) const {
  std::lock_guard hold(mutex_);
  return held_locked(now);
}

lock_lease::step lock_lease::look(steady_point now) {
  std::lock_guard hold(mutex_);
  if (ended_) return step::forget;
  if (!held_locked(now)) {
    ended_ = true;
    return step::lose;
  }
  if (asked_ || now < renew_at_) return step::nothing;
  asked_ = true;
  return step::renew;
}

steady_point lock_lease::next_check() const {
  std::lock_guard hold(mutex_);
  if (ended_ || refused_) return steady_point::min();
  return asked_ ? held_until_ : std::min(renew_at_, held_until_);
}

// What was not renewed in time stays lost, though the store knows of nobody else.
void lock_lease::renewed(steady_point asked, steady_point now) {
  std::lock_guard hold(mutex_);
  asked_ = false;
  if (held_locked(now)) count_from(asked);
}

void lock_lease::refused() {
  std::lock_guard hold(mutex_);
  asked_ = false;
  refused_ = true;
}

void lock_lease::failed(steady_point now) {
  std::lock_guard hold(mutex_);
  asked_ = false;
  renew_at_ = now + ttl_ / (renewals * margin_part);
}

void lock_lease::end() {
  std::lock_guard hold(mutex_);
  ended_ = true;
}

}  // namespace sluice
