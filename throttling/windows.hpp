// The built-in limiters over time: fixed, sliding and dynamic windows. They are one: starts are counted per aligned
// bucket and key, and summed over the present bucket and some before it.
#pragma once

#include <memory>

#include <sluice/throttler_status.hpp>

namespace sluice::throttling {

class window : public limiter {
public:
  // Each key that counts something now.
  virtual std::vector<limiter_view> describe(std::string_view state, time_point now) const = 0;
};

// Of a definition that `check` accepts; null for the kinds that need no limiter: mutex, semaphore and custom. The mode
// is not looked at.
//
// - fixed_window: only the present bucket counts. sliding_window: as many before it as an interval has, so that no
//   interval of the full length, aligned or not, holds more than the limit; `compatible`: one fewer.
// - Each run counts in the bucket of its grant until that one is no longer summed, and nothing is given back.
// - A step may be carried out until the present bucket ends. `next` is the first instant at which something would be
//   granted if nothing is meanwhile and the same keys wait.
//
// dynamic_window: a key is active while it counts something or waits. Active keys have places, at most capacity / min
// of them (capacity / limit; 1000 without a capacity): first those that count something, as they were first granted,
// then those that only wait, in the order of the requests. The share of the i-th of n places is capacity / n, one more
// for the first capacity % n, but at least min and at most max. A key without a place gets nothing, leaves nothing in
// the state, and is told when the first place may be free. All keys together never count more than the capacity. A key
// whose share has shrunk below what it counts gets nothing until it counts less.
std::shared_ptr<const window> make_limiter(const throttler& definition);

}  // namespace sluice::throttling
