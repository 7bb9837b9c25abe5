// The part that runs the jobs: a sluice server with a handler for each type that the configuration's schedules name. It
// fires these schedules too. Any number of processes may have one.
#pragma once

#include <atomic>
#include <string>

#include <sluice/server.hpp>

#include "cache_refresh/cache.hpp"

namespace sample {

class worker {
public:
  worker(const sluice::server_options& served, const std::string& provider_url);

  sluice::result<void> start() { return server_.start(); }
  void stop() { server_.stop(); }
  bool broken() const { return broken_; }  // it cannot go on

private:
  const cache entries_{".run/cache"};
  std::atomic<bool> broken_ = false;
  sluice::server server_;
};

}  // namespace sample
