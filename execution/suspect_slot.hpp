// The one place for a suspect in a server: a job that may kill it runs beside no other such job. Who wanted it in vain
// is told of by whoever gives it back. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::execution {

class suspect_slot {
public:
  bool take() { return change(state::free, state::taken, state::wanted); }
  // True when it is free now; else it is wanted from now on.
  bool is_free() { return change(state::free, state::free, state::wanted); }
  // True: somebody wanted it meanwhile.
  bool give_back() { return at_.exchange(state::free) == state::wanted; }

private:
  enum class state : std::uint8_t { free, taken, wanted };
  bool change(state from, state to, state otherwise) {
    auto seen = at_.load();
    while (!at_.compare_exchange_weak(seen, seen == from ? to : otherwise))
      continue;
    return seen == from;
  }
  std::atomic<state> at_{state::free};
};

}  // namespace sluice::execution
