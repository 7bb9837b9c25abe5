// A queue's pool: the runs that it holds, its worker threads, and the ends that go back. The server owns it and not the
// queue's supervisor: a supervisor that dies is replaced and finds everything here.
//
// Its parts share one lock. What is called back (an end is there, a worker is given a run that an actor makes) is told
// of in worker_table.hpp and ended_runs.hpp.
#pragma once

#include "execution/run_exchange.hpp"
#include "execution/run_watch.hpp"
#include "execution/worker_threads.hpp"

namespace sluice::execution {

class pool : public std::enable_shared_from_this<pool> {
public:
  pool(queue_name name, queue_options how, std::shared_ptr<const execution_config> config)
      : queue(name), options(how), core_(std::move(name), std::move(config)) {}

  const queue_name queue;
  const queue_options options;

private:
  pool_core core_;

public:
  run_exchange runs{core_};
  worker_threads workers{core_, *this};
  run_watch watch{core_};
};

}  // namespace sluice::execution
