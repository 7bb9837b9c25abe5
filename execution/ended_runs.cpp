#include "execution/ended_runs.hpp"

#include <utility>

namespace sluice::execution {

std::vector<ended_run> ended_runs::take(std::size_t at_least, std::size_t at_most) {
  is_told_ = is_new_ = false;
  if (ends_.size() < at_least) {
    notify_at_ = at_least;
    return {};
  }
  notify_at_ = 1;
  std::size_t some = 0, bytes = 0;
  for (; some < ends_.size() && some < at_most; ++some) {
    bytes += storage::bytes_of(*ends_[some].settlement);
    if (some > 0 && bytes > max_bytes_of_ends) break;
  }
  if (some == ends_.size()) return std::exchange(ends_, {});
  const auto end = ends_.begin() + static_cast<std::ptrdiff_t>(some);
  std::vector<ended_run> first(std::make_move_iterator(ends_.begin()), std::make_move_iterator(end));
  ends_.erase(ends_.begin(), end);
  return first;
}

}  // namespace sluice::execution
