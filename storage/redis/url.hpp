// The URLs of Redis stores, taken apart.
#pragma once

#include <cstdint>
#include <optional>
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

// Who logs in. A password in a file or a variable is read at each connect, so it may be changed there.
struct credentials {
  std::string user;
  std::string password;
  std::string password_file;  // one of these three
  std::string password_variable;

  bool empty() const { return user.empty() && password.empty() && password_file.empty() && password_variable.empty(); }
};
// storage_unavailable names the file or the variable.
result<std::string> password_of(const credentials& who);

// Files are PEM.
struct tls_options {
  std::string ca;    // whom to trust; empty: the authorities of the system
  std::string cert;  // of the client, with its key; both or none
  std::string key;
  std::string name;  // what the server's certificate must be for; empty: the host
};

struct location {
  std::vector<address> at;  // the server; or the sentinels to ask for it
  std::string master;       // the name under which the sentinels know it; empty: `at` is the server
  credentials server;
  credentials sentinel;
  std::optional<tls_options> tls;  // to the server and to the sentinels
  std::uint32_t db = 0;
  std::string prefix = "sluice";
  std::uint32_t wait_replicas = 0;  // replicas that must have a write before it is acknowledged
};

// redis://[user:password@]host[:port][/db], redis+unix://[user:password@]/path and
// redis+sentinel://[user:password@]host[:port],host[:port]/name[/db]; rediss:// and rediss+sentinel:// with TLS. Each
// has the options of docs/configuration.md. invalid_argument says what is wrong and what is allowed, and shows no
// password.
result<location> parse_url(const std::string& url);

}  // namespace sluice::storage::redis
