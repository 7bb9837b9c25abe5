// What the holder of a lock knows of it, by the monotonic clock of its machine. Decides, and asks nobody. Thread-safe:
// it is looked at by its holder, by the keeper's thread, and told of answers on the store's.
#pragma once

#include <mutex>
#include <stop_token>
#include <string>

#include <sluice/types.hpp>

#include "core/clock.hpp"

namespace sluice {

class lock_lease {
public:
  // `asked`: just before the store was asked for it. The store's lease began later, so it is over later.
  lock_lease(std::string resource, sluice::fence fence, duration ttl, steady_point asked);

  const std::string& resource() const { return resource_; }
  sluice::fence fence() const { return fence_; }
  duration ttl() const { return ttl_; }

  // Once false, never true again.
  bool held(steady_point now) const;
  std::stop_source& lost() { return lost_; }

  enum class step : std::uint8_t {
    nothing,
    renew,   // ask the store now; until it has answered, nothing more is asked
    lose,    // told of once: it is lost
    forget,  // it has ended
  };
  step look(steady_point now);
  steady_point next_check() const;

  // The store's answers to a renewal that was asked at `asked`.
  void renewed(steady_point asked, steady_point now);
  void refused();
  void failed(steady_point now);

  // The holder gives it up.
  void end();

private:
  bool held_locked(steady_point now) const { return !ended_ && !refused_ && now < held_until_; }
  void count_from(steady_point asked);

  const std::string resource_;
  const sluice::fence fence_;
  const duration ttl_;
  std::stop_source lost_;
  mutable std::mutex mutex_;
  steady_point held_until_{};
  steady_point renew_at_{};
  bool asked_ = false;  // a renewal is under way
  bool refused_ = false;
  bool ended_ = false;
};

}  // namespace sluice
