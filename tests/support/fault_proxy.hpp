// A proxy on a thread of its own in front of a server, with faults that a test turns on and off while bytes flow.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "support/sockets.hpp"

namespace sluice::test {

enum class direction { to_server, to_client };

// Any thread may call anything. A fault is in force when its call returns, for old connections too and for the bytes
// that wait in the proxy. A peer that closes, half or wholly or by a reset, is passed on so, in line with its bytes.
class fault_proxy {
public:
  using nanoseconds = std::chrono::nanoseconds;

  // Listens on a free loopback port and, when one is named, on a Unix socket.
  explicit fault_proxy(address server, std::string unix_socket = {});
  // Cuts all.
  ~fault_proxy();
  fault_proxy(const fault_proxy&) = delete;

  int port() const { return port_; }
  std::string tcp_url(int db = 0) const { return redis_url(local_at(port_), db); }
  std::string url(int db = 0) const { return redis_url(unix_at(socket_), db); }  // of its Unix socket

  // Latency: every chunk goes on so long after it came, whatever else is on its way. Zero: none.
  void delay(direction way, nanoseconds by);
  void delay(nanoseconds both_connections);
  // Lets the next k bytes through, counted over all connections, and resets the connection of the k-th at once, both
  // sides: what follows it, and whatever comes back, is lost. With 0, the connection of the next byte. Once only.
  void cut_after(direction way, std::uint64_t k);
  // At most so many bytes each time, for each connection, the first of them now. Zero bytes: as they come.
  void drip(direction way, std::size_t bytes, nanoseconds every);
  // Connections are taken, and nothing is read, passed or closed.
  void black_hole(bool on);
  // New connections are reset at once; old ones go on.
  void refuse(bool on);
  // Resets every connection there is: they are gone when this returns.
  void cut_all();
  // No fault is left; what was held back goes on.
  void heal();
  // Where later connections go, as after a failover.
  void point_to(address server);

  int connections() const;  // taken so far, without refused ones
  int refused() const;
  int cuts() const;                          // how often cut_after came to its byte
  std::uint64_t bytes(direction way) const;  // passed so far

private:
  class engine;
  void tell(std::function<void(engine&)> change) const;

  std::string socket_;
  std::unique_ptr<engine> engine_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace sluice::test
