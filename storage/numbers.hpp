// What this process has asked of its stores, counted for metrics: how many jobs came, started and ended, how long they
// ran and waited, what the store took. Counted once, where every request passes (storage/shared_store.cpp), in
// handfuls; the numbers only grow, until the process ends.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/job.hpp>

#include "storage/store.hpp"

namespace sluice::storage {

using namespace std::chrono_literals;

// Upper bounds, each inclusive. They never change: what was measured with others could not be added up.
inline constexpr std::array<duration, 17> run_bounds{1ms,    5ms, 10ms, 25ms, 50ms, 100ms, 250ms, 500ms, 1s,
                                                     2500ms, 5s,  10s,  30s,  1min, 5min,  15min, 1h};
inline constexpr std::array<duration, 19> wait_bounds{1ms, 5ms, 10ms, 25ms, 50ms, 100ms, 250ms, 500ms, 1s, 2500ms,
                                                      5s,  10s, 30s,  1min, 5min, 15min, 1h,    3h,    6h};
inline constexpr std::array<duration, 13> short_bounds{100us, 250us, 500us, 1ms,   2500us, 5ms, 10ms,
                                                       25ms,  50ms,  100ms, 500ms, 1s,     5s};

class histogram {
public:
  explicit histogram(std::span<const duration> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void add(duration value, std::uint64_t times = 1);

  struct seen {
    std::span<const duration> bounds;
    std::vector<std::uint64_t> counts;  // one more than bounds: beyond the last
    double seconds = 0;                 // of all together
  };
  seen look() const;

private:
  std::span<const duration> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<std::int64_t> sum_{0};  // microseconds
};

using tally = std::atomic<std::uint64_t>;

// How starts ended, by `name_of(run_end)`, for which given up is failed.
inline constexpr std::array end_kinds{run_end::succeeded,  run_end::failed,  run_end::retry,
                                      run_end::given_back, run_end::removed, run_end::deferred};

struct queue_numbers {
  tally enqueued{0}, started{0};
  std::array<tally, end_kinds.size()> ended{};
  histogram ran{run_bounds};
  // From when a job was ready until its run was claimed. Those of one claim count as the first of them, who waited
  // longest.
  histogram waited{wait_bounds};
};

// Runs that were given back have no part in these: most of them never began, and are of no type's doing.
struct type_numbers {
  std::array<tally, end_kinds.size()> ended{};
  histogram ran{run_bounds};
};

inline constexpr std::size_t max_queues_counted = 40, max_types_counted = 40;

// By name, up to so many, the first that came; others together as "other". What was answered lives as long as this.
template <class Numbers>
class by_name {
public:
  explicit by_name(std::size_t most) : most_(most) {}

  Numbers& of(const std::string& name);
  std::vector<std::pair<std::string, const Numbers*>> all() const;
  bool has_others() const;

private:
  std::size_t most_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Numbers>, std::less<>> known_;
  bool has_others_ = false;  // something may be called "other", too
};
extern template class by_name<queue_numbers>;
extern template class by_name<type_numbers>;

class numbers {
public:
  // Of this process.
  static numbers& here();

  // What was asked and answered in one commit, and how long that took.
  void note(std::span<const request> asked, std::span<const answer> got, duration took);

  by_name<queue_numbers> queues{max_queues_counted};
  by_name<type_numbers> types{max_types_counted};  // of jobs

  std::vector<std::pair<std::string_view, std::uint64_t>> requests() const;  // by their names
  std::map<std::string, std::uint64_t> errors() const;                       // by code

  tally stale_fences{0}, leases_lost{0};
  tally parked_for_permits{0}, parked_for_windows{0};
  histogram commits{short_bounds};
  tally requests_in_commits{0};
  histogram occurrence_delay{wait_bounds};

private:
  void note_one(const request& asked, const answer& got);
  void note_claim(const claim_request& asked, const claim_answer& got);
  void note_ends(const settle_request& asked, const settle_answer& got);

  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> errors_;
  std::array<tally, std::variant_size_v<request::variant>> requests_{};
};

}  // namespace sluice::storage
