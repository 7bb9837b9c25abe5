// How many jobs a queue claims next. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "core/clock.hpp"

namespace sluice::execution {

// What a claim is planned from: how much a pool holds.
struct pool_load {
  std::uint32_t workers = 0;
  std::uint32_t running = 0;
  std::uint32_t ending = 0;     // the filters have their say: the worker is not free, nor is any permit given back
  std::uint32_t at_actors = 0;  // of those that run: actors of the host make them, without a thread
  std::uint32_t queued = 0;
  std::uint32_t awaiting_admission = 0;
  std::uint32_t ended = 0;      // and not yet taken
  duration typical_handler{0};  // how long a handler ran of late
  bool measured = false;        // false: nothing ran yet
};

struct claim_size {
  std::uint32_t free = 0;   // for workers that can start at once
  std::uint32_t ahead = 0;  // beyond those
  bool empty() const { return free + ahead == 0; }
};

// A pool works ahead of its free workers by what it runs in this time, and not at all when one handler takes longer: a
// job waits behind a slow one in the store, where others can take it.
inline constexpr duration ahead_time = std::chrono::milliseconds(5);

inline std::uint32_t max_ahead(const pool_load& load, std::uint32_t prefetch) {
  if (!load.measured || load.typical_handler >= ahead_time) return 0;
  const auto runs =
      static_cast<std::uint64_t>(load.workers) *
      static_cast<std::uint64_t>(ahead_time.count() / std::max<std::int64_t>(1, load.typical_handler.count()));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(prefetch, runs));
}

// Jobs that a pool has, or that claims have asked for (`coming`) as if they had got them all.
inline std::uint32_t jobs_in(const pool_load& load, std::uint32_t coming) {
  return load.running + load.ending + load.queued + load.awaiting_admission + coming;
}

// The threads for these.
inline std::uint32_t threads_for(const pool_load& load, std::uint32_t coming) {
  return std::min(load.workers, jobs_in(load, coming)) - std::min(load.workers, load.at_actors);
}

inline claim_size plan_claim(const pool_load& load, std::uint32_t prefetch, std::uint32_t coming) {
  const auto taken = jobs_in(load, coming);
  claim_size size;
  size.free = load.workers > taken ? load.workers - taken : 0;
  const auto wanted = max_ahead(load, prefetch);
  const auto waiting = taken > load.workers ? taken - load.workers : 0;
  size.ahead = wanted > waiting ? wanted - waiting : 0;
  return size;
}

inline constexpr duration longer_than_a_request = std::chrono::milliseconds(1);

// How two requests at a time share what a pool can hold.
struct request_shares {
  std::size_t least = 1;  // ends that are worth a request beside one that is under way
  std::size_t most = 1;   // ends in one request, so that the rest travels while the store is at these
};

// None where jobs are to run one after the other, since two requests may be carried out in any order, nor where a pool
// holds too few.
inline std::optional<request_shares> shares_of(const pool_load& load, std::uint32_t prefetch) {
  constexpr std::size_t least = 8;
  if (load.workers < 2) return std::nullopt;
  // What runs longer than a request travels ends one by one: to wait for the other would leave a worker idle.
  if (load.measured && load.typical_handler >= longer_than_a_request) return request_shares{1, SIZE_MAX};
  const std::size_t all = load.workers + max_ahead(load, prefetch);
  if (all < 2 * least) return std::nullopt;
  return request_shares{std::max(least, all / 4), std::max(least, all / 3)};
}

// How long the pool needs for what it has claimed, when that is less than a request to the store takes and so not worth
// one of its own.
inline std::optional<duration> drain_time(const pool_load& load, duration round_trip) {
  constexpr std::int64_t thread_change_us = 3, longest_us = 1'000;
  const auto side_by_side = std::max(1u, std::min(load.workers, std::thread::hardware_concurrency()));
  const auto us = (load.typical_handler.count() + thread_change_us) * load.queued / side_by_side;
  const bool soon = us > 0 && us <= longest_us && us < round_trip.count();
  return load.measured && soon ? std::optional<duration>(duration(us)) : std::nullopt;
}

}  // namespace sluice::execution
