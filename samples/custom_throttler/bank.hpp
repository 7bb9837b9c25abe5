// The bank that the jobs call: it bears six calls at once and, when it is ill, two transfers. And where jobs meet.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <vector>

#include <sluice/types.hpp>

#include "common/work.hpp"

namespace sample {

class bank {
public:
  static constexpr unsigned calls_at_once = 6;
  static constexpr unsigned transfers_when_ill = 2;

  // Throws when the bank has too many of them.
  void transfer(unsigned number);
  std::uint64_t statement(unsigned number);

  bool is_ill() const;
  unsigned peak() const { return callers_.peak(); }
  unsigned booked() const;   // transfers, each once
  unsigned refused() const;  // calls
  std::vector<sluice::time_point> statements() const;

private:
  crowd callers_, transferers_;
  mutable std::mutex mutex_;
  std::set<unsigned> booked_;
  unsigned refused_ = 0;
  std::vector<sluice::time_point> statements_;
};

// Ends for each who comes when all are there; false: not all of them came in time.
class meeting {
public:
  explicit meeting(unsigned members) : missing_(members) {}
  bool wait(std::chrono::seconds timeout);

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned missing_;
};

}  // namespace sample
