// How many jobs of a type share one permit. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "core/clock.hpp"

namespace sluice::execution {

// How long a permit stays with one chain of jobs: others wait so long for theirs, and one body.
inline constexpr duration chain_slice = std::chrono::milliseconds(50);
inline constexpr std::uint32_t max_chain = 50;

// How long the last handlers of a type ran.
class recent_times {
public:
  void note(duration ran) { last_[count_++ % last_.size()] = ran; }

  // As many as all but the slowest tenth of them fit into a slice; one while nothing is known.
  std::uint32_t chain_length() const {
    auto known = last_;
    const auto n = std::min(count_, known.size());
    if (n == 0) return 1;
    const auto at = known.begin() + static_cast<std::ptrdiff_t>((n * 9 - 1) / 10);
    std::nth_element(known.begin(), at, known.begin() + static_cast<std::ptrdiff_t>(n));
    const auto fit = chain_slice.count() / std::max<duration::rep>(1, at->count());
    return static_cast<std::uint32_t>(std::clamp<duration::rep>(fit, 1, max_chain));
  }

private:
  std::array<duration, 100> last_{};
  std::size_t count_ = 0;
};

}  // namespace sluice::execution
