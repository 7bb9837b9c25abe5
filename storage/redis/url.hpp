// The URLs of Redis stores, taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/error.hpp>

namespace sluice::storage::redis {

struct address {
  std::string host;
  std::uint16_t port = 0;
  std::string path;  // of a Unix socket; then there is no host
};
std::string to_string(const address& a);

struct location {
  std::vector<address> at;  // the server; or the sentinels to ask for it
  std::string master;       // the name under which the sentinels know it; empty: `at` is the server
  std::string user;
  std::string password;
  std::uint32_t db = 0;
  std::string prefix = "sluice";
  std::uint32_t wait_replicas = 0;  // replicas that must have a write before it is acknowledged
};

// redis://[user:password@]host[:port][/db], redis+unix://[user:password@]/path and
// redis+sentinel://[user:password@]host[:port],host[:port]/name[/db], each with ?prefix=, ?db= and ?wait_replicas=.
// invalid_argument says what is wrong and what is allowed; rediss:// what to do instead.
result<location> parse_url(const std::string& url);

}  // namespace sluice::storage::redis
