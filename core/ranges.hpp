// What may be said of jobs and servers: one table for files, for options made in code, and for new jobs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/job.hpp>
#include <sluice/options.hpp>
#include <sluice/throttling.hpp>

namespace sluice::ranges {

template <class T>
struct range {
  T least, most;
  constexpr bool contains(T value) const { return value >= least && value <= most; }
};

inline constexpr duration day = 24h;

inline constexpr range<duration> lease{1s, 1h};
inline constexpr range<duration> renew_every{100ms, 30min};  // and at most half of the lease
inline constexpr range<duration> grace{0s, 1h};
inline constexpr range<duration> sweep_interval{100ms, 1min};
inline constexpr range<duration> timeout{1ms, 30 * day};
inline constexpr range<duration> processor_time{1s, 30 * day};  // of an exec job
inline constexpr range<std::uint64_t> exec_limit{1, 1'000'000};
inline constexpr range<std::uint64_t> exec_files{16, 1'000'000};
inline constexpr range<duration> retry_delay{0s, 365 * day};
inline constexpr range<duration> kept_for{1s, 10 * 365 * day};
inline constexpr range<duration> enqueue_delay{0s, 10 * 365 * day};
inline constexpr range<duration> start_within{0s, 10 * 365 * day};    // also finish_within
inline constexpr range<duration> within_of_all{1ms, 10 * 365 * day};  // of a queue or type: 0 would end each job
inline constexpr range<duration> unique_period{1ms, 10 * 365 * day};
inline constexpr range<duration> seal_within{1s, 10 * 365 * day};
inline constexpr range<std::uint64_t> attempts{0, 1000};
inline constexpr range<std::uint64_t> max_losses{1, 100};
inline constexpr range<std::uint64_t> workers{1, 1000};
inline constexpr range<std::uint64_t> threads{1, 10'000};
inline constexpr range<std::uint64_t> prefetch{0, 1000};
inline constexpr range<std::uint64_t> kept_count{0, 1'000'000'000};
inline constexpr range<std::uint64_t> kept_bytes{1'000'000, 1'000'000'000'000'000};
inline constexpr range<std::uint64_t> throttle_limit{1, 1'000'000'000};  // also capacity, and the least and the most
inline constexpr range<duration> throttle_interval{1s, 366 * day};
inline constexpr range<std::uint64_t> throttle_buckets{1, 1000};
inline constexpr range<duration> lock_ttl{100ms, day};
inline constexpr range<duration> throttle_delay{15s, day};
inline constexpr range<std::uint64_t> throttlers_of_type{0, 8};
inline constexpr range<duration> recurring_every{1s, 366 * day};
inline constexpr range<std::uint64_t> catch_up_max{1, 1000};

}  // namespace sluice::ranges

namespace sluice {

// What a name of a queue, type, job, group, server or user must be (`valid_name`).
inline constexpr std::string_view name_rule = "must be 1 to 200 characters of A-Z a-z 0-9 _ . : -";
// invalid_argument: "queue 'a b' must be ...".
result<void> check_name(std::string_view what, std::string_view name);

// invalid_argument names what is out of its range, as `where` calls it.
result<void> check(const retry_policy& retry, const std::string& where);
result<void> check(const unique_rule& rule, const std::string& where);
result<void> check_timeout(const std::optional<duration>& timeout, const std::string& where);
result<void> check(const new_group& group);
// Names the first field that is out of its range, missing, or not of this kind, and what to do.
result<void> check(const throttler& definition);

// All that is wrong of a definition: which field it is of, and words that begin with its name.
struct throttler_fault {
  std::string field, problem;
};
std::vector<throttler_fault> faults_of(const throttler& definition);
// In the words of `check`: "semaphore 'x': limit must be given: ...".
std::string told_of(const throttler& definition, const throttler_fault& fault);
result<void> check(const server_options& options);

}  // namespace sluice
