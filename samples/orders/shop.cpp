#include "orders/shop.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace sample {
namespace {

using namespace std::chrono_literals;

constexpr auto call_time = 80ms;
constexpr std::size_t columns = 72;

}  // namespace

void shop::open(std::uint32_t order) {
  std::lock_guard hold(mutex_);
  orders_.try_emplace(order, standing::open);
}

standing shop::of(std::uint32_t order) const {
  std::lock_guard hold(mutex_);
  const auto found = orders_.find(order);
  return found == orders_.end() ? standing::unknown : found->second;
}

void shop::set(std::uint32_t order, standing to) {
  std::lock_guard hold(mutex_);
  orders_[order] = to;
}

std::map<std::uint32_t, standing> shop::all() const {
  std::lock_guard hold(mutex_);
  return orders_;
}

void shop::begin(std::uint32_t order, const sluice::job_id& by) {
  std::lock_guard hold(mutex_);
  const auto [holder, free] = in_hands_of_.try_emplace(order, by);
  if (!free && holder->second != by) ++clashes_;
  const auto left = left_.find(order);
  if (left == left_.end() || holder->second != by) return;
  stretches_.push_back({order, 'w', left->second, now()});
  left_.erase(left);
}

void shop::end(std::uint32_t order, const sluice::job_id& by, bool finished) {
  std::lock_guard hold(mutex_);
  const auto holder = in_hands_of_.find(order);
  if (holder == in_hands_of_.end() || holder->second != by) return;
  if (finished) in_hands_of_.erase(holder);
  else left_[order] = now();
}

std::uint32_t shop::clashes() const {
  std::lock_guard hold(mutex_);
  return clashes_;
}

void shop::note(const stretch& seen) {
  std::lock_guard hold(mutex_);
  stretches_.push_back(seen);
}

std::vector<stretch> shop::stretches() const {
  std::lock_guard hold(mutex_);
  return stretches_;
}

void payment_provider::charge(shop& for_whom, std::uint32_t order, std::uint32_t attempt) {
  const auto begin = now();
  const crowd::member call(callers_);
  if (call.count() > calls_at_once) throw std::runtime_error("the provider refuses a fourth call");
  std::this_thread::sleep_for(call_time);  // stands for the network and the bank
  for_whom.note({order, '$', begin, now()});
  if (order % 5 == 2 && attempt == 1) throw std::runtime_error("the card network gave no answer");
  std::lock_guard hold(mutex_);
  ++charges_[order];
}

std::map<std::uint32_t, unsigned> payment_provider::charges() const {
  std::lock_guard hold(mutex_);
  return charges_;
}

std::string picture_of(const shop& seen, std::uint32_t first, std::uint32_t last) {
  auto all = seen.stretches();
  std::erase_if(all, [&](const stretch& s) { return s.what != '$' && (s.order < first || s.order > last); });
  instant begin = instant::max(), end = instant::min();
  for (const auto& s : all)
    if (s.order >= first && s.order <= last) begin = std::min(begin, s.begin), end = std::max(end, s.end);
  if (begin >= end) return {};
  const auto length = end - begin;
  const auto column = [&](instant t) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>((t - begin) * static_cast<std::int64_t>(columns) / length,
                                                             0, static_cast<std::int64_t>(columns) - 1));
  };
  std::map<std::uint32_t, std::string> lines;
  std::vector<unsigned> calls(columns);
  // The shortest last, so that nothing hides them.
  std::sort(all.begin(), all.end(),
            [](const stretch& a, const stretch& b) { return a.end - a.begin > b.end - b.begin; });
  for (const auto& s : all) {
    if (s.what != '$') {
      auto& line = lines.try_emplace(s.order, columns, '.').first->second;
      const auto at = column(s.begin);
      line.replace(at, column(s.end) - at + 1, column(s.end) - at + 1, s.what);
      continue;
    }
    if (s.end < begin || s.begin > end) continue;
    for (std::size_t i = 0; i < columns; ++i) {  // those at the column's middle
      const auto middle =
          begin + length * static_cast<std::int64_t>(2 * i + 1) / static_cast<std::int64_t>(2 * columns);
      calls[i] += s.begin <= middle && middle < s.end ? 1 : 0;
    }
  }
  std::string text =
      "c create, P process, w waits for its retry and keeps its mutex, x cancel, ! a cancel is dropped\n";
  for (const auto& [order, line] : lines)
    text += "order " + std::string(order < 10 ? " " : "") + std::to_string(order) + "  " + line + "\n";
  text += "provider  ";
  for (const auto n : calls)
    text += n == 0 ? '.' : static_cast<char>('0' + std::min(n, 9u));
  return text + "\n";
}

}  // namespace sample
