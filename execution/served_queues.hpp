// The queues that a server serves: a pool and a dispatcher for each, made once and kept until the server ends.
// Thread-safe.
#pragma once

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
  // Made when missing.
  served_queue of(const std::string& queue, const queue_options& how,
                  const std::shared_ptr<execution_context>& context);
  // Null when it is not served.
  std::shared_ptr<dispatcher> dispatcher_of(std::string_view queue) const;
  std::vector<std::string> names() const;
  std::vector<std::shared_ptr<pool>> pools() const;
  std::vector<std::shared_ptr<dispatcher>> dispatchers() const;
  // Whether its throttlers have not judged this run yet.
  bool awaits_admission(const run_ptr& run) const;
  // Whether a run is with a pool of this server, be it only its end that is not stored yet.
  bool hold(sluice::fence f) const;

private:
  mutable mutex lock_;
  std::map<std::string, served_queue, std::less<>> all_ SLUICE_GUARDED_BY(lock_);
};

}  // namespace sluice::execution
