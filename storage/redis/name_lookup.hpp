// Names of hosts, looked up by a deadline: getaddrinfo has none, and a resolver may be silent for minutes.
#pragma once

#include <string>

#include <sluice/error.hpp>

#include "core/clock.hpp"
#include "storage/redis/stop_signal.hpp"

namespace sluice::storage::redis {

// The address of the host in digits, an IPv4 one if it has any. storage_unavailable says why there is none. A look-up
// that takes longer goes on beside: who asks for the same name again waits for it, or has what it said for some
// seconds.
result<std::string> ip_of(const std::string& host, steady_point deadline, const stop_signal& stop);

}  // namespace sluice::storage::redis
