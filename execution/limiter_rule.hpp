// What decides at a limiter of the store: as its throttler is defined there, or a limiter of the user's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/throttlers.hpp"
#include "execution/limiter_steps.hpp"

namespace sluice::execution {

// The limiters of the user's, by resource.
using custom_limiters = std::map<std::string, std::shared_ptr<const limiter>, std::less<>>;

class limiter_rule {
public:
  explicit limiter_rule(std::string resource = {}) : resource_(std::move(resource)) {}

  // As the store tells of it now.
  void read(const std::string& stored, const custom_limiters& custom);
  bool is_defined() const { return by_ != nullptr; }
  // The line in which such a job waits; the error says what of its args does not fit.
  result<std::string> line_of(const job& about) const;
  // Needs a rule that is defined. One that throws, or decides for another time than now, lets nobody in, and the log is
  // told.
  limiter_update plan(const storage::limiter_record& seen, time_point now, std::span<const limiter_ask> asks);

private:
  std::string resource_;
  std::string text_;  // of the definition
  std::optional<args_template> key_;
  std::shared_ptr<const limiter> by_;
  std::shared_ptr<const limiter> decided_oddly_;  // told of once
};

// The last who waited was woken or deleted.
storage::update_limiter_request no_next_check(const std::string& limiter, const storage::limiter_record& seen);

}  // namespace sluice::execution
