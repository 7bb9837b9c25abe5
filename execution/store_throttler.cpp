#include "execution/store_throttler.hpp"

#include "core/text.hpp"
#include "execution/election.hpp"
#include "execution/limiter_throttler.hpp"
#include "execution/permits_throttler.hpp"

namespace sluice::execution {

std::unique_ptr<store_throttler> make_store_throttler(const std::string& resource,
                                                      std::shared_ptr<const execution_config> config,
                                                      undefined_reason why_undefined) {
  if (resource == all_permits) return std::make_unique<permits_throttler>(std::move(config), std::move(why_undefined));
  return std::make_unique<limiter_throttler>(resource, std::move(config), std::move(why_undefined));
}

throttle_verdict undecided(std::string why) { return {admission::undecided, postpone_for, std::move(why), {}}; }

throttle_verdict undecided_by_store(const error& why) {
  return undecided(cat("the store refuses to say whether it may run (", to_string(why), ")"));
}

}  // namespace sluice::execution
