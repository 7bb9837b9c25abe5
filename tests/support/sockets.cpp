#include "support/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>

namespace sluice::test {
namespace {

struct socket_name {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

socket_name name_of(const address& at) {
  socket_name name;
  if (!at.path.empty()) {
    sockaddr_un local{};
    if (at.path.size() >= sizeof local.sun_path) throw std::runtime_error("too long for a Unix socket: " + at.path);
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path, at.path.data(), at.path.size());
    std::memcpy(&name.bytes, &local, name.size = sizeof local);
    return name;
  }
  sockaddr_in net{};
  net.sin_family = AF_INET;
  net.sin_port = htons(static_cast<std::uint16_t>(at.port));
  if (::inet_pton(AF_INET, at.host.c_str(), &net.sin_addr) != 1)
    throw std::runtime_error("not an IPv4 address: " + at.host);
  std::memcpy(&name.bytes, &net, name.size = sizeof net);
  return name;
}

[[noreturn]] void give_up(int socket, const std::string& doing, const address& at) {
  const int why = errno;
  if (socket >= 0) ::close(socket);
  throw std::runtime_error("cannot " + doing + " " +
                           (at.path.empty() ? at.host + ":" + std::to_string(at.port) : at.path) + ": " +
                           std::strerror(why));
}

int new_socket(const address& at) {
  const int family = at.path.empty() ? AF_INET : AF_UNIX;
  const int made = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) give_up(made, "make a socket for", at);
  const int on = 1;
  if (family == AF_INET) ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

bool is_free(int port) {
  try {
    ::close(listen_on(local_at(port)));
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

std::string redis_url(const address& at, int db, const std::string& password) {
  const auto secret = password.empty() ? "" : ":" + password + "@";
  if (!at.path.empty()) return "redis+unix://" + secret + at.path + "?db=" + std::to_string(db);
  return "redis://" + secret + at.host + ":" + std::to_string(at.port) + "/" + std::to_string(db);
}

int free_port() {
  int first_outgoing = 32768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_outgoing;
  const int end = std::max(first_outgoing, 12'000);
  std::random_device any;
  for (int tries = 0; tries < 1000; ++tries) {
    const int port = std::uniform_int_distribution<int>(std::max(end - 16'000, 2'000), end - 1)(any);
    if (is_free(port)) return port;
  }
  throw std::runtime_error("no free port");
}

int listen_on(const address& at) {
  const auto name = name_of(at);
  const int made = new_socket(at);
  const int on = 1;
  ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(made, name.get(), name.size) != 0 || ::listen(made, 511) != 0) give_up(made, "listen on", at);
  return made;
}

int connect_to(const address& at) {
  const auto name = name_of(at);
  const int made = new_socket(at);
  if (::connect(made, name.get(), name.size) != 0 && errno != EINPROGRESS) give_up(made, "connect to", at);
  return made;
}

int port_of(int listening) {
  sockaddr_in net{};
  socklen_t size = sizeof net;
  ::getsockname(listening, reinterpret_cast<sockaddr*>(&net), &size);
  return ntohs(net.sin_port);
}

}  // namespace sluice::test
