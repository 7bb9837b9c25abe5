#include "support/fault_proxy.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

namespace sluice::test {
namespace {

using std::chrono::steady_clock;
using time_point = steady_clock::time_point;
using namespace std::chrono_literals;

constexpr std::size_t chunk_size = 256 * 1024;
// What one direction may hold before it reads no more: with a delay, as much as a fast line has on its way.
constexpr std::size_t held_at_most = 512 * 1024;
constexpr std::size_t held_when_delayed = 64 * 1024 * 1024;

struct direction_faults {
  std::chrono::nanoseconds delay{};
  std::size_t drip_bytes = 0;
  std::chrono::nanoseconds drip_every{};
  std::optional<std::uint64_t> cut;  // bytes still let through
};

struct chunk {
  time_point came;
  std::vector<char> bytes;
};

// One direction of one connection.
struct flow {
  direction way;
  int from;
  int to;
  std::deque<chunk> held{};
  std::size_t held_bytes = 0;
  std::size_t done_of_first = 0;
  std::optional<time_point> ended{};  // `from` will say no more
  bool by_reset = false;              // and that is how it ended
  bool end_passed = false;
  bool clogged = false;  // `to` takes no more just now
  bool useless = false;  // `to` is gone
  time_point next_drip{};
};

enum class life { open, cutting, over };

struct connection {
  connection(int from_client, int from_server)
      : client(from_client),
        server(from_server),
        up{direction::to_server, client, server},
        down{direction::to_client, server, client} {}

  int client;
  int server;
  flow up;
  flow down;
  life state = life::open;
  int cut_to = -1;  // while cutting: who must still get what was passed to it
  time_point cut_timeout{};
};

void reset(int socket) {
  const linger now{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(socket);
}

void reset(connection& c) {
  if (c.state == life::over) return;  // its numbers may be somebody else's by now
  reset(c.client);
  reset(c.server);
  c.state = life::over;
}

// A reset takes back what the kernel has not sent yet. What is sent on loopback is in the other's hands.
bool all_sent(int socket) {
  int waiting = 0;
  return ::ioctl(socket, SIOCOUTQNSD, &waiting) != 0 || waiting == 0;
}

}  // namespace

// Lives on the proxy's thread alone, but for `put_in_line`.
class fault_proxy::engine {
public:
  engine(address server, std::string unix_socket) : server_(std::move(server)), unix_socket_(std::move(unix_socket)) {
    listening_.push_back(listen_on(local_at(0)));
    port = port_of(listening_[0]);
    if (!unix_socket_.empty()) listening_.push_back(listen_on(unix_at(unix_socket_)));
  }
  ~engine() {
    for (const int socket : listening_)
      ::close(socket);
    if (!unix_socket_.empty()) ::unlink(unix_socket_.c_str());
    ::close(bell_);
  }

  int port = 0;
  std::array<direction_faults, 2> faults;
  bool black_hole = false;
  bool refuse = false;
  bool stop = false;
  int connections = 0;
  int refused = 0;
  int cuts = 0;
  std::array<std::uint64_t, 2> bytes{};

  direction_faults& of(direction way) { return faults[static_cast<std::size_t>(way)]; }
  void point_to(address server) { server_ = std::move(server); }

  void put_in_line(std::function<void(engine&)> change) {
    const std::lock_guard hold(lock_);
    line_.push_back(std::move(change));
    ::eventfd_write(bell_, 1);
  }

  void drip(direction way, std::size_t size, std::chrono::nanoseconds every) {
    of(way).drip_bytes = size;
    of(way).drip_every = every;
    for (auto& c : all_)
      (way == direction::to_server ? c.up : c.down).next_drip = {};
  }

  void cut_all() {
    for (auto& c : all_)
      reset(c);
    all_.clear();
  }

  void run() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // the default lets a sleeper oversleep by 50 us
    while (!stop) {
      wake_at_ = time_point::max();
      for (auto& c : all_)
        advance(c);
      all_.remove_if([](const connection& c) { return c.state == life::over; });
      wait();
      take_orders();
    }
    cut_all();
  }

private:
  void wake_by(time_point when) { wake_at_ = std::min(wake_at_, when); }

  void take_orders() {
    if (!(polled_[0].revents & POLLIN)) return;
    eventfd_t rung = 0;
    ::eventfd_read(bell_, &rung);
    std::vector<std::function<void(engine&)>> orders;
    {
      const std::lock_guard hold(lock_);
      orders.swap(line_);
    }
    for (const auto& order : orders)
      order(*this);
  }

  // Sleeps until a socket or the bell wants something, or the next byte is due; then reads whatever came.
  void wait() {
    polled_.clear();
    polled_.push_back({bell_, POLLIN, 0});
    for (const int socket : listening_)
      polled_.push_back({socket, POLLIN, 0});
    for (const auto& c : all_) {
      want(c, c.client, c.up, c.down);
      want(c, c.server, c.down, c.up);
    }
    const auto left = std::max<std::chrono::nanoseconds>(wake_at_ - steady_clock::now(), 0ns);
    const timespec limit{left / 1s, (left % 1s).count()};
    if (::ppoll(polled_.data(), polled_.size(), wake_at_ == time_point::max() ? nullptr : &limit, nullptr) < 0) return;

    const auto known = all_.size();  // those taken now were not polled
    for (std::size_t i = 0; i < listening_.size(); ++i)
      if (polled_[1 + i].revents) accept_from(listening_[i]);
    auto c = all_.begin();
    for (std::size_t i = 0; i < known; ++i, ++c) {
      const auto at = 1 + listening_.size() + 2 * i;
      heard(*c, polled_[at].revents, c->up, c->down);
      heard(*c, polled_[at + 1].revents, c->down, c->up);
    }
  }

  bool reads(const flow& f) {
    return !f.ended && !f.useless && f.held_bytes < (of(f.way).delay > 0ns ? held_when_delayed : held_at_most);
  }

  // One of whom nothing is wanted is not polled at all: that it has hung up would be told again and again.
  void want(const connection& c, int socket, const flow& out_of, const flow& into) {
    short events = 0;
    if (!black_hole && c.state == life::open) {
      if (reads(out_of)) events |= POLLIN;
      if (into.clogged) events |= POLLOUT;
    }
    polled_.push_back({events ? socket : -1, events, 0});
  }

  void heard(connection& c, short events, flow& out_of, flow& into) {
    if (c.state != life::open) return;
    if (events & (POLLOUT | POLLERR | POLLHUP)) into.clogged = false;
    if ((events & (POLLIN | POLLERR | POLLHUP)) && reads(out_of)) read_once(c, out_of);
  }

  void accept_from(int listening) {
    for (int client = 0; (client = ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;)
      take(client);
  }

  void take(int client) {
    const int on = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (refuse) {
      ++refused;
      return reset(client);
    }
    ++connections;
    try {
      all_.emplace_back(client, connect_to(server_));
    } catch (const std::runtime_error&) {
      reset(client);  // the server is not there
    }
  }

  void read_once(connection& c, flow& f) {
    const auto got = ::recv(f.from, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const auto now = steady_clock::now();
    if (got <= 0) {
      f.ended = now;
      f.by_reset |= got < 0;
      return;
    }
    const auto size = static_cast<std::size_t>(got);
    // Straight on when nothing is before it and no delay holds it.
    const bool at_once = f.held.empty() && of(f.way).delay == 0ns;
    const auto passed = at_once ? pass(c, f, buffer_.data(), size, now) : 0;
    if (passed == size || f.useless || c.state != life::open) return;
    f.held.push_back({now, {buffer_.data() + passed, buffer_.data() + size}});
    f.held_bytes += size - passed;
  }

  // Everything of a connection that is due.
  void advance(connection& c) {
    if (c.state == life::cutting) return finish_cut(c);
    if (black_hole) return;
    drain(c, c.up);
    drain(c, c.down);
    if (c.state != life::open || !c.up.end_passed || !c.down.end_passed) return;
    ::close(c.client);
    ::close(c.server);
    c.state = life::over;
  }

  void drain(connection& c, flow& f) {
    if (c.state != life::open) return;
    const auto now = steady_clock::now();
    while (!f.held.empty() && !f.clogged && !f.useless) {
      const auto& first = f.held.front();
      if (const auto due = first.came + of(f.way).delay; due > now) return wake_by(due);
      const auto left = first.bytes.size() - f.done_of_first;
      const auto passed = pass(c, f, first.bytes.data() + f.done_of_first, left, now);
      if (c.state != life::open) return;
      f.held_bytes -= passed;
      f.done_of_first += passed;
      if (passed < left) break;  // it is clogged or dripping
      f.held.pop_front();
      f.done_of_first = 0;
    }
    if (!f.held.empty() && !f.useless) {
      if (!f.clogged) wake_by(f.next_drip);
      return;
    }
    if (!f.ended) return;
    if (const auto due = *f.ended + of(f.way).delay; due > now) return wake_by(due);
    if (f.by_reset) return reset(c);
    if (f.end_passed) return;
    ::shutdown(f.to, SHUT_WR);
    f.end_passed = true;
  }

  // Writes what may go now; answers how much went. Afterwards the connection may be at its end.
  std::size_t pass(connection& c, flow& f, const char* from, std::size_t size, time_point now) {
    auto& fault = of(f.way);
    std::size_t may = size;
    if (fault.drip_bytes > 0) may = now < f.next_drip ? 0 : std::min(may, fault.drip_bytes);
    if (fault.cut) may = static_cast<std::size_t>(std::min<std::uint64_t>(may, *fault.cut));
    std::size_t done = 0;
    while (done < may) {
      const auto wrote = ::send(f.to, from + done, may - done, MSG_NOSIGNAL);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0 && errno == EAGAIN) {
        f.clogged = true;
        break;
      }
      if (wrote < 0) {
        // What it said before it went is still to be passed, and then that it went.
        f.useless = true;
        (f.way == direction::to_server ? c.down : c.up).by_reset = true;
        break;
      }
      done += static_cast<std::size_t>(wrote);
    }
    bytes[static_cast<std::size_t>(f.way)] += done;
    if (fault.drip_bytes > 0 && done > 0) f.next_drip = now + fault.drip_every;
    if (!fault.cut) return done;
    *fault.cut -= done;
    if (*fault.cut == 0) begin_cut(c, f);
    return done;
  }

  void begin_cut(connection& c, const flow& f) {
    of(f.way).cut.reset();
    c.state = life::cutting;
    c.cut_to = f.to;
    c.cut_timeout = steady_clock::now() + 10s;  // for one that does not read
    finish_cut(c);
    ++cuts;
  }

  void finish_cut(connection& c) {
    if (all_sent(c.cut_to) || steady_clock::now() >= c.cut_timeout) return reset(c);
    wake_by(steady_clock::now() + 100us);
  }

  address server_;
  std::string unix_socket_;
  std::vector<int> listening_;
  int bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::list<connection> all_;
  std::vector<pollfd> polled_;
  time_point wake_at_{};
  std::vector<char> buffer_ = std::vector<char>(chunk_size);
  std::mutex lock_;
  std::vector<std::function<void(engine&)>> line_;
};

fault_proxy::fault_proxy(address server, std::string unix_socket)
    : socket_(std::move(unix_socket)),
      engine_(std::make_unique<engine>(std::move(server), socket_)),
      port_(engine_->port) {
  thread_ = std::thread([this] { engine_->run(); });
}

fault_proxy::~fault_proxy() {
  tell([](engine& e) { e.stop = true; });
  thread_.join();
}

// The engine is the thread's own, so a change is made there, between two looks.
void fault_proxy::tell(std::function<void(engine&)> change) const {
  const auto made = std::make_shared<std::promise<void>>();  // the thread may be in it when this call is over
  engine_->put_in_line([&change, made](engine& e) {
    change(e);
    made->set_value();
  });
  made->get_future().wait();
}

void fault_proxy::delay(direction way, nanoseconds by) {
  tell([&](engine& e) { e.of(way).delay = by; });
}

void fault_proxy::delay(nanoseconds both_connections) {
  tell([&](engine& e) { e.of(direction::to_server).delay = e.of(direction::to_client).delay = both_connections; });
}

void fault_proxy::cut_after(direction way, std::uint64_t k) {
  tell([&](engine& e) { e.of(way).cut = k; });
}

void fault_proxy::drip(direction way, std::size_t bytes, nanoseconds every) {
  tell([&](engine& e) { e.drip(way, bytes, every); });
}

void fault_proxy::black_hole(bool on) {
  tell([&](engine& e) { e.black_hole = on; });
}

void fault_proxy::refuse(bool on) {
  tell([&](engine& e) { e.refuse = on; });
}

void fault_proxy::cut_all() {
  tell([](engine& e) { e.cut_all(); });
}

void fault_proxy::heal() {
  tell([](engine& e) {
    e.faults = {};
    e.black_hole = e.refuse = false;
  });
}

void fault_proxy::point_to(address server) {
  tell([&](engine& e) { e.point_to(std::move(server)); });
}

// Asked of the thread too: who was answered through the proxy finds the answer counted.
int fault_proxy::connections() const {
  int found = 0;
  tell([&](engine& e) { found = e.connections; });
  return found;
}

int fault_proxy::refused() const {
  int found = 0;
  tell([&](engine& e) { found = e.refused; });
  return found;
}

int fault_proxy::cuts() const {
  int found = 0;
  tell([&](engine& e) { found = e.cuts; });
  return found;
}

std::uint64_t fault_proxy::bytes(direction way) const {
  std::uint64_t found = 0;
  tell([&](engine& e) { found = e.bytes[static_cast<std::size_t>(way)]; });
  return found;
}

}  // namespace sluice::test
