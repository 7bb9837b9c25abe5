// How many jobs a supervisor claims next. Pure.
#pragma once

#include "actors/pool.hpp"

namespace sluice::actors {

struct claim_size {
  std::uint32_t free = 0;   // for workers that can start at once
  std::uint32_t ahead = 0;  // beyond those
};

// A pool works ahead of its free workers by what it runs in this time, and not at all when one body
// takes longer: a job waits behind a slow one in the store, where others can take it.
inline constexpr duration ahead_time = std::chrono::milliseconds(5);

inline std::uint32_t most_ahead(const pool_load& load, std::uint32_t prefetch) {
  if (!load.measured || load.typical_body >= ahead_time) return 0;
  const auto runs =
      static_cast<std::uint64_t>(load.workers) *
      static_cast<std::uint64_t>(ahead_time.count() / std::max<std::int64_t>(1, load.typical_body.count()));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(prefetch, runs));
}

// `coming`: what another claim has asked for, as if it had got all of it.
inline claim_size plan_claim(const pool_load& load, std::uint32_t prefetch, std::uint32_t coming) {
  const auto taken = load.running + load.queued + load.admitting + coming;
  claim_size size;
  size.free = load.workers > taken ? load.workers - taken : 0;
  const auto wanted = most_ahead(load, prefetch);
  const auto waiting = taken > load.workers ? taken - load.workers : 0;
  size.ahead = wanted > waiting ? wanted - waiting : 0;
  return size;
}

inline constexpr duration longer_than_an_order = std::chrono::milliseconds(1);

// How two orders at a time share what a pool can hold.
struct order_shares {
  std::size_t least = 1;  // ends that are worth an order beside one that is open
  std::size_t most = 1;   // ends in one order, so that the rest travels while the store is at these
};

// None where jobs are to run one after the other, since two orders may be carried out in any order, nor where a pool
// holds too few.
inline std::optional<order_shares> shares_of(const pool_load& load, std::uint32_t prefetch) {
  constexpr std::size_t least = 8;
  if (load.workers < 2) return std::nullopt;
  // What runs longer than an order travels ends one by one: to wait for the open order would leave a worker idle.
  if (load.measured && load.typical_body >= longer_than_an_order) return order_shares{1, SIZE_MAX};
  const std::size_t all = load.workers + most_ahead(load, prefetch);
  if (all < 2 * least) return std::nullopt;
  return order_shares{std::max(least, all / 4), std::max(least, all / 3)};
}

// How long the pool needs for what it has claimed, when that is less than an order to the store takes and so not worth
// one of its own.
inline std::optional<duration> through_in(const pool_load& load, duration round_trip) {
  constexpr std::int64_t hand_over_us = 3, longest_us = 1'000;
  const auto side_by_side = std::max(1u, std::min(load.workers, std::thread::hardware_concurrency()));
  const auto us = (load.typical_body.count() + hand_over_us) * load.queued / side_by_side;
  const bool soon = us > 0 && us <= longest_us && us < round_trip.count();
  return load.measured && soon ? std::optional<duration>(duration(us)) : std::nullopt;
}

}  // namespace sluice::actors
