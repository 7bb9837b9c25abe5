// Time is a parameter: the wall clock to persist, the steady clock to measure. Tests hand in their own.
#pragma once

#include <sluice/types.hpp>

namespace sluice {

using steady_point = std::chrono::steady_clock::time_point;

class clock {
public:
  virtual ~clock() = default;
  virtual time_point now() const = 0;
  virtual steady_point steady_now() const { return std::chrono::steady_clock::now(); }
};

class system_clock final : public clock {
public:
  time_point now() const override { return std::chrono::time_point_cast<duration>(std::chrono::system_clock::now()); }
};

inline std::int64_t micros(time_point at) { return at.time_since_epoch().count(); }
inline time_point from_micros(std::int64_t us) { return time_point(duration(us)); }

}  // namespace sluice
