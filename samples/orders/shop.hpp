// What the jobs work on: the orders of a shop, and a payment provider that bears few calls at once. Both watch that
// nobody breaks the rules, which is Sluice's work and not theirs.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <sluice/types.hpp>

#include "common/work.hpp"

namespace sample {

using instant = sluice::time_point;

inline instant now() { return std::chrono::time_point_cast<sluice::duration>(std::chrono::system_clock::now()); }

enum class standing { unknown, open, paid, cancelled };

// A stretch of time of one order, for the picture.
struct stretch {
  std::uint32_t order;
  char what;  // c create, P process, w waits for its retry, x cancel, ! cancel dropped, $ a call of the provider
  instant begin, end;
};

class shop {
public:
  // Of a customer who orders twice nothing is lost: opening again changes nothing.
  void open(std::uint32_t order);
  standing of(std::uint32_t order) const;
  void set(std::uint32_t order, standing to);
  std::map<std::uint32_t, standing> all() const;

  // A job has an order in its hands from `begin` until `end`; when it is to be retried, until the end of its last run.
  void begin(std::uint32_t order, const sluice::job_id& by);
  void end(std::uint32_t order, const sluice::job_id& by, bool finished);
  std::uint32_t clashes() const;  // how often a job began while another had its order

  void note(const stretch& seen);
  std::vector<stretch> stretches() const;

private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, standing> orders_;
  std::map<std::uint32_t, sluice::job_id> in_hands_of_;
  std::map<std::uint32_t, instant> left_;  // by a job that will come again
  std::uint32_t clashes_ = 0;
  std::vector<stretch> stretches_;
};

class payment_provider {
public:
  static constexpr unsigned calls_at_once = 3;

  // Takes a while, as calls over a network do. Throws when it is asked too much at once, and now and then because
  // the network fails; then nothing was charged.
  void charge(shop& for_whom, std::uint32_t order, std::uint32_t attempt);

  unsigned peak() const { return callers_.peak(); }
  std::map<std::uint32_t, unsigned> charges() const;  // how often each order was charged

private:
  crowd callers_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, unsigned> charges_;
};

// Which jobs ran beside which: a line for each of these orders, and one for the provider.
std::string picture_of(const shop& seen, std::uint32_t first, std::uint32_t last);

}  // namespace sample
