// The chains of a pool: runs that share one permit and so begin one after the other (storage::claim_request::chains).
// Not thread-safe: it is reached through pool::lock alone.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "execution/chain_length.hpp"
#include "execution/claimed_run.hpp"

namespace sluice::execution {

class run_chains {
public:
  using runs = std::deque<run_ptr>;
  using wanted = decltype(storage::claim_request::chains);

  // `types`: those whose jobs may share a permit.
  explicit run_chains(const std::vector<std::string>& types) {
    for (const auto& type : types)
      types_.try_emplace(type);
  }
  // Null: its jobs share none.
  chaining_type* find_type(const std::string& type) {
    const auto its = types_.find(type);
    return its == types_.end() ? nullptr : &its->second;
  }

  // Whether it is its turn at once; else it waits here.
  bool add(const run_ptr& run, steady_point now) {
    const auto [at, is_first] = all_.try_emplace(run->chain);
    auto& its = at->second;
    if (is_first) {
      its.type = run->about.type.value;
      its.turn = run->about.fence;
    } else {
      its.waiting.push_back(run);
      if (its.over != steady_point::max()) its.over = now + chain_slice;  // it grows, since nobody else wants a turn
    }
    return is_first;
  }

  // Its handler begins: the slice of its chain too, when it is the first.
  void begins(const claimed_run& run, steady_point now) {
    if (auto* its = of_turn(run); its && its->over == steady_point::max()) its->over = now + chain_slice;
  }

  // The turn of this run is over, if it was its turn. Whose it is now; null: nobody waits behind it.
  run_ptr end_turn(const claimed_run& run) {
    auto* its = of_turn(run);
    if (!its) return nullptr;
    if (its->waiting.empty()) {
      all_.erase(run.chain);
      return nullptr;
    }
    auto next = std::move(its->waiting.front());
    its->waiting.pop_front();
    its->turn = next->about.fence;
    its->asked = false;
    return next;
  }

  // For a claim, of each type. The store is asked once a turn to let those grow that are nearly through.
  wanted ask(bool may_grow) {
    wanted asked;
    for (const auto& [type, its] : types_) {
      const auto length = its.times.chain_length();
      auto& of_type = asked[type];
      of_type = {length, its.held == 0, {}};
      if (!may_grow || length <= 2) continue;
      for (auto& [first, one] : all_)
        if (one.type == type && one.waiting.size() <= 1 && !std::exchange(one.asked, true))
          of_type.growing.push_back({first, length - 1 - static_cast<std::uint32_t>(one.waiting.size())});
    }
    return asked;
  }

  // Those that wait behind a run whose turn it is.
  runs take_waiting(const claimed_run& run) {
    auto* its = of_turn(run);
    return its ? std::exchange(its->waiting, {}) : runs();
  }
  // Those that wait in chains whose slices are over.
  runs take_late(steady_point now) {
    runs late;
    for (auto& [first, its] : all_)
      if (its.over <= now)
        for (auto& run : std::exchange(its.waiting, {}))
          late.push_back(std::move(run));
    return late;
  }
  // When to look for late ones again.
  steady_point next_late(steady_point now) const {
    auto next = steady_point::max();
    for (const auto& [first, its] : all_)
      if (!its.waiting.empty()) next = std::min({next, its.over, now + chain_slice});
    return next;
  }

private:
  struct chain {
    std::string type;
    sluice::fence turn{};
    runs waiting;
    steady_point over = steady_point::max();
    bool asked = false;
  };
  chain* of_turn(const claimed_run& run) {
    const auto at = all_.find(run.chain);
    return at != all_.end() && at->second.turn == run.about.fence ? &at->second : nullptr;
  }

  std::map<std::string, chaining_type, std::less<>> types_;
  std::unordered_map<sluice::fence, chain> all_;  // by their first
};

}  // namespace sluice::execution
