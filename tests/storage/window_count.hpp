// The starts that one window let in, by the book: what its definition promises is counted anew from all of them.
#pragma once

#include <map>

#include <sluice/throttling.hpp>

namespace sluice::test {

class window_count {
public:
  // The store carried out a step: these were let in, by key. Throws when that breaks the promise of `by`, and when
  // somebody was deferred (`denied`) though there was room; of a dynamic window that depends on who else waits.
  void step(const throttler& by, time_point now, const std::map<std::string, std::uint64_t>& let_in, bool denied);

private:
  struct start {
    std::int64_t bucket = 0;
    std::string key;
    std::uint64_t count = 0;
  };
  std::uint64_t summed(std::int64_t first_bucket, const std::string* key) const;

  std::vector<start> all_;
  std::optional<std::int64_t> newest_;      // the latest bucket: a clock that was set back is taken to stand there
  std::optional<std::int64_t> full_until_;  // in microseconds
};

}  // namespace sluice::test
