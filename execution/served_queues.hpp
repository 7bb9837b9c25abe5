// The queues that a server serves. Each has a pool and a dispatcher; one that a pattern names has them while there is
// work, and is served all the time. Thread-safe.
#pragma once

#include <atomic>
#include <map>

#include "core/mutex.hpp"
#include "execution/pool.hpp"

namespace sluice::execution {

class dispatcher;
struct execution_context;

struct served_queue {
  std::shared_ptr<execution::pool> pool;
  std::shared_ptr<execution::dispatcher> dispatcher;
};

class served_queues {
public:
  // It is served from now on, by so many workers once there is work. False: it was before.
  bool add(const std::string& queue, std::uint32_t workers);
  // Made when missing.
  served_queue of(const std::string& queue, const queue_options& how,
                  const std::shared_ptr<execution_context>& context);
  // Its pool has ended: the queue has none until there is work.
  void forget(const std::string& queue);
  // Null when it has none.
  std::shared_ptr<dispatcher> dispatcher_of(std::string_view queue) const;
  // Of all: NAME:WORKERS.
  std::vector<std::string> served() const;
  // Of those with pools.
  std::vector<std::string> names() const;
  std::vector<std::shared_ptr<pool>> pools() const;
  std::vector<std::shared_ptr<dispatcher>> dispatchers() const;
  // Never the same: a queue's pool may be made anew, and the store knows claims by their numbers.
  std::uint64_t next_request() { return ++last_request_; }
  // Whether its throttlers have not judged this run yet.
  bool awaits_admission(const run_ptr& run) const;
  // Whether a run is with a pool of this server, be it only its end that is not stored yet.
  bool hold(sluice::fence f) const;

  duration pool_lasts = std::chrono::minutes(1);  // of a queue of a pattern, without work

private:
  std::atomic<std::uint64_t> last_request_{0};
  mutable mutex lock_;
  std::map<std::string, std::uint32_t, std::less<>> workers_ SLUICE_GUARDED_BY(lock_);  // of all that are served
  std::map<std::string, served_queue, std::less<>> all_ SLUICE_GUARDED_BY(lock_);       // that have pools
};

}  // namespace sluice::execution
