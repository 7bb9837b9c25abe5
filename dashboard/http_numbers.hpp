// What was asked over HTTP, for the metrics.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include <sluice/types.hpp>

#include "storage/numbers.hpp"

namespace sluice::web {

class http_numbers {
public:
  // `pattern`: of the route; of a closed list, so that nobody's paths become labels.
  void note(std::string_view pattern, unsigned status, duration took) {
    std::lock_guard hold(mutex_);
    ++answered_[{std::string(pattern), status}];
    if (took > duration::zero()) took_.add(took);
  }
  void note_refused(std::string_view reason) {
    std::lock_guard hold(mutex_);
    ++refused_[std::string(reason)];
  }

  struct seen {
    std::map<std::pair<std::string, unsigned>, std::uint64_t> answered;
    std::map<std::string, std::uint64_t> refused;
  };
  seen look() const {
    std::lock_guard hold(mutex_);
    return {answered_, refused_};
  }
  const storage::histogram& took() const { return took_; }

private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, unsigned>, std::uint64_t> answered_;
  std::map<std::string, std::uint64_t> refused_;  // what was no request that a route could answer
  storage::histogram took_{storage::short_bounds};
};

}  // namespace sluice::web
