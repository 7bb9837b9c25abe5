// What may be said of a lock, for clients and actors.
#pragma once

#include <string>

#include <sluice/error.hpp>
#include <sluice/lock.hpp>

namespace sluice {

// invalid_argument says what is allowed.
result<void> check_lock(const std::string& resource, duration ttl);
result<void> check_lock_holder(const std::string& holder);

// By whom a lock is held, in words.
std::string held_by(const std::string& resource, const lock_holder& now);

// Host name and pid.
std::string this_process();

}  // namespace sluice
