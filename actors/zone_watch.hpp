// The version of the zone files by which schedules are planned, as it was read last. Thread-safe.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include <sluice/cron.hpp>

#include "core/mutex.hpp"

namespace sluice::actors {

class zone_watch {
public:
  std::string version() const {
    const mutex_lock held(lock_);
    return version_;
  }
  // Reads the files anew, on a thread of its own: their folder may be slow. Nothing while that goes on.
  void read_again();

private:
  mutable mutex lock_;
  std::string version_ SLUICE_GUARDED_BY(lock_) = time_zone_version();
  std::atomic<bool> reading_{false};
  std::jthread reader_;
};

}  // namespace sluice::actors
