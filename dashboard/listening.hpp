// Where an address in words listens.
#pragma once

#include <string>
#include <vector>

#include <sys/socket.h>

#include <sluice/error.hpp>

namespace sluice::web {

struct listening_socket {
  int fd = -1;
  bool is_loopback = false;
};

// "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080"; "localhost:8080" is both loopback addresses.
struct listening_words {
  std::string host;
  unsigned port = 0;
  bool is_loopback = false;
};
result<listening_words> parse_listen(const std::string& text);

// Sockets that listen, one for each address, all on one port; port 0 takes a free one and says which. io_error names
// the address and the cause.
struct listening {
  std::vector<listening_socket> sockets;
  unsigned port = 0;
};
result<listening> listen_at(const listening_words& where);
void close_all(const listening& at);

// Whose connection it is, as an address in words; and an address as it is in these words, empty for what is none.
std::string words_of_peer(const sockaddr* from);
std::string as_peer(const std::string& address);

}  // namespace sluice::web
