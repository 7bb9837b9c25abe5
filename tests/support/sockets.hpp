// Where a test's servers listen, and the few socket calls that they share.
#pragma once

#include <string>

namespace sluice::test {

// A Unix socket when `path` is set, else TCP.
struct address {
  std::string host = "127.0.0.1";
  int port = 0;
  std::string path = {};
};

inline address unix_at(std::string path) { return {{}, 0, std::move(path)}; }
inline address local_at(int port) { return {"127.0.0.1", port, {}}; }

// How a store's configuration names it: redis+unix:///run/redis.sock?db=1, redis://127.0.0.1:6379/1. A password goes in
// as it is, so it must be of letters and digits.
std::string redis_url(const address& at, int db = 0, const std::string& password = {});

// A loopback port where nobody listens, and that no outgoing connection is given: with one of those, a client that
// keeps trying while its server is down may be connected to itself.
int free_port();

// A non-blocking socket, not inherited by child processes; Nagle's delay is off. It listens on `at` (port 0: any), or
// is connected or about to be. Both throw when that fails at once.
int listen_on(const address& at);
int connect_to(const address& at);

// What a listening socket was given.
int port_of(int listening);

}  // namespace sluice::test
