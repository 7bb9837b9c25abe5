// A socket on which a test writes what it likes, and reads what comes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace sluice::test {

class raw_client {
public:
  explicit raw_client(unsigned port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!is_connected(::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at)))
      throw std::runtime_error(std::string("cannot connect: ") + std::strerror(errno));
  }
  ~raw_client() {
    if (fd_ >= 0) ::close(fd_);
  }
  raw_client(raw_client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  raw_client(const raw_client&) = delete;

  // False when the other side has closed.
  bool write(const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      const auto n = again([&] { return ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL); });
      if (n <= 0) return false;
      sent += static_cast<std::size_t>(n);
    }
    return true;
  }

  // Tells the other side that no more will come.
  void end_of_writing() { ::shutdown(fd_, SHUT_WR); }
  // The connection is broken off when this ends, and leaves no trace in the kernel's tables.
  void reset_at_end() {
    const linger none{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  }

  // Whatever comes until the other side closes, or has said nothing for so long.
  std::string read_all(std::chrono::milliseconds timeout = std::chrono::seconds(25)) {
    std::string got;
    while (readable(timeout)) {
      char some[16 * 1024];
      const auto n = again([&] { return ::recv(fd_, some, sizeof some, 0); });
      if (n <= 0) break;
      got.append(some, static_cast<std::size_t>(n));
    }
    return got;
  }
  // One answer, by its Content-Length; empty when none came.
  std::string read_answer(std::chrono::milliseconds timeout = std::chrono::seconds(25)) {
    std::string got;
    std::size_t wanted = std::string::npos;
    while (got.size() < wanted && readable(timeout)) {
      char some[16 * 1024];
      const auto n = again([&] { return ::recv(fd_, some, sizeof some, 0); });
      if (n <= 0) break;
      got.append(some, static_cast<std::size_t>(n));
      const auto head = got.find("\r\n\r\n");
      if (head == std::string::npos || wanted != std::string::npos) continue;
      const auto length = got.find("Content-Length: ");
      wanted = head + 4 + (length < head ? std::stoul(got.substr(length + 16)) : 0);
    }
    return got;
  }
  bool is_closed(std::chrono::milliseconds timeout) {
    if (!readable(timeout)) return false;
    char one = 0;
    return again([&] { return ::recv(fd_, &one, 1, MSG_PEEK); }) <= 0;
  }

private:
  // libFuzzer's timer interrupts what waits.
  template <class Call>
  static ssize_t again(const Call& call) {
    ssize_t n = call();
    while (n < 0 && errno == EINTR)
      n = call();
    return n;
  }
  // A call that was interrupted goes on behind.
  bool is_connected(int answer) const {
    if (answer == 0 || errno != EINTR) return answer == 0;
    pollfd p{fd_, POLLOUT, 0};
    again([&] { return ::poll(&p, 1, -1); });
    int why = 0;
    socklen_t size = sizeof why;
    ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &why, &size);
    errno = why;
    return why == 0;
  }
  bool readable(std::chrono::milliseconds timeout) const {
    pollfd p{fd_, POLLIN, 0};
    return again([&] { return ::poll(&p, 1, static_cast<int>(timeout.count())); }) == 1;
  }
  int fd_;
};

}  // namespace sluice::test
