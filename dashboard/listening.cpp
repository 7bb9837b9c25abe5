#include "dashboard/listening.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/text.hpp"

namespace sluice::web {
namespace {

constexpr int backlog = 128;
constexpr int max_tries = 20;  // for a free port that both loopback addresses have

struct address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

std::optional<address> address_of(const std::string& host, unsigned port) {
  address made;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&made.bytes);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&made.bytes);
  if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    made.size = sizeof *v4;
    return made;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    made.size = sizeof *v6;
    return made;
  }
  return std::nullopt;
}

bool is_loopback(const address& a) {
  if (a.bytes.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&a.bytes)->sin6_addr);
  return ntohl(reinterpret_cast<const sockaddr_in*>(&a.bytes)->sin_addr.s_addr) >> 24 == 127;
}

// Answers errno.
int open_one(const address& a, int& fd) {
  fd = ::socket(a.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (a.bytes.ss_family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&a.bytes), a.size) == 0 && ::listen(fd, backlog) == 0) return 0;
  const int why = errno;
  ::close(fd);
  return why;
}

unsigned port_of(int fd) {
  address bound;
  bound.size = sizeof bound.bytes;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size);
  return ntohs(bound.bytes.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound.bytes)->sin6_port
                                                 : reinterpret_cast<sockaddr_in*>(&bound.bytes)->sin_port);
}

error cannot(const std::string& host, unsigned port, int why) {
  return {errc::io_error, cat("the dashboard cannot listen on ", host, " port ", port, ": ", std::strerror(why),
                              why == EADDRINUSE ? "; name another port, or stop who has it" : "")};
}

}  // namespace

result<listening_words> parse_listen(const std::string& text) {
  const error wrong{errc::invalid_argument,
                    cat("where to listen must be ADDRESS:PORT, as 127.0.0.1:8080, [::1]:8080 or localhost:8080; not '",
                        printable(text, 100), "'")};
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong;
  listening_words read;
  read.host = text.substr(0, colon);
  const auto* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data() + colon + 1, end, read.port);
  if (number.ec != std::errc{} || number.ptr != end || read.port > 65535) return wrong;
  if (read.host == "localhost") {
    read.is_loopback = true;
    return read;
  }
  const bool in_brackets = read.host.front() == '[' && read.host.back() == ']';
  if (in_brackets) read.host = read.host.substr(1, read.host.size() - 2);
  const auto known = address_of(read.host, read.port);
  if (!known || in_brackets != (known->bytes.ss_family == AF_INET6)) return wrong;
  read.is_loopback = is_loopback(*known);
  return read;
}

result<listening> listen_at(const listening_words& where) {
  if (where.host != "localhost") {
    const auto at = address_of(where.host, where.port);
    if (!at) return cannot(where.host, where.port, EINVAL);
    listening_socket one{-1, where.is_loopback};
    if (const int why = open_one(*at, one.fd)) return cannot(where.host, where.port, why);
    return listening{{one}, port_of(one.fd)};
  }
  int why = 0;
  for (int tries = 0; tries < max_tries; ++tries) {
    listening_socket v4{-1, true}, v6{-1, true};
    why = open_one(*address_of("127.0.0.1", where.port), v4.fd);
    if (why != 0) return cannot("127.0.0.1", where.port, why);
    const auto port = port_of(v4.fd);
    why = open_one(*address_of("::1", port), v6.fd);
    if (why == 0) return listening{{v4, v6}, port};
    if (why == EAFNOSUPPORT || why == EADDRNOTAVAIL) return listening{{v4}, port};  // a machine without IPv6
    ::close(v4.fd);
    if (where.port != 0) return cannot("::1", where.port, why);
  }
  return cannot("localhost", where.port, why);
}

void close_all(const listening& at) {
  for (const auto& one : at.sockets)
    ::close(one.fd);
}

std::string words_of_peer(const sockaddr* from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from && from->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(from)->sin_addr, text, sizeof text);
  else if (from && from->sa_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(from)->sin6_addr, text, sizeof text);
  return text;
}

std::string as_peer(const std::string& address) {
  const auto known = address_of(address, 0);
  return words_of_peer(known ? reinterpret_cast<const sockaddr*>(&known->bytes) : nullptr);
}

}  // namespace sluice::web
