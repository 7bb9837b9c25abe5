// The threads of a server that run handlers. A worker has one for as long as it finds work; idle ones wait here for
// whichever worker needs one next, so that queues without work cost none. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "core/clock.hpp"

namespace sluice::execution {

class thread_borrower {
public:
  // Called on a lent thread, which goes back when this returns. A handler may end the thread inside.
  virtual void use_thread(std::uint64_t number) = 0;

protected:
  ~thread_borrower() = default;
};

class thread_cache {
public:
  // At most so many threads at once.
  explicit thread_cache(std::uint32_t most);
  // As `close`, with a moment for those that are on their way back.
  ~thread_cache();
  thread_cache(const thread_cache&) = delete;

  // Calls `by->use_thread(number)` on an idle thread, or on a new one. When `most` are lent, or none can be made, on
  // the first that comes back: in the order in which they were asked for.
  void lend(std::shared_ptr<thread_borrower> by, std::uint64_t number);
  // A lent thread may never come back: there may be one more until it does.
  void write_off();
  void came_back();
  // Makes threads for those who wait, where none could be made before.
  void try_again();
  // Nobody gets a thread any more. Joins those that come back by `deadline`, and leaves the others behind.
  void close(steady_point deadline);

  // How many there are, lent and idle.
  std::uint32_t size() const;

private:
  struct state;
  const std::shared_ptr<state> state_;
};

}  // namespace sluice::execution
