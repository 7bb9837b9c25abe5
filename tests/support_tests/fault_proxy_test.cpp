#include "support/fault_proxy.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"

using namespace sluice::test;
using std::chrono::steady_clock;

namespace {

enum class ending { none, closed, reset };

std::chrono::milliseconds until(steady_clock::time_point when) {
  return std::chrono::ceil<std::chrono::milliseconds>(when - steady_clock::now());
}

// One end of a connection; whatever it waits for comes within `patience` or not at all.
class peer {
public:
  explicit peer(int socket) : socket_(socket) {}
  explicit peer(const address& at) : peer(connect_to(at)) {}
  ~peer() { close(); }
  peer(const peer&) = delete;

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void say_no_more() { ::shutdown(socket_, SHUT_WR); }

  // How much was taken: less only when the connection ended, or nobody took it in time.
  std::size_t send(const std::string& bytes, std::chrono::milliseconds timeout = 10s) {
    const auto deadline = steady_clock::now() + timeout;
    std::size_t done = 0;
    while (done < bytes.size()) {
      const auto wrote = ::send(socket_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (wrote > 0) done += static_cast<std::size_t>(wrote);
      if (wrote < 0 && errno != EAGAIN) end_ = ending::reset;  // told once: later looks find a mere end
      if (wrote < 0 && (end_ != ending::none || !wait(POLLOUT, deadline))) break;
    }
    return done;
  }

  // What comes until there are `size` bytes, the end, or no more patience.
  std::string receive(std::size_t size, std::chrono::milliseconds timeout = 10s) {
    const auto deadline = steady_clock::now() + timeout;
    std::string all;
    while (all.size() < size && end_ == ending::none) {
      const auto once = receive_once(size - all.size());
      all += once;
      if (once.empty() && end_ == ending::none && !wait(POLLIN, deadline)) break;
    }
    return all;
  }

  // What one look finds.
  std::string receive_once(std::size_t at_most = std::string::npos) {
    std::string some(std::min<std::size_t>(at_most, 1 << 18), '\0');
    const auto got = ::recv(socket_, some.data(), some.size(), 0);
    if (got == 0) end_ = ending::closed;
    if (got < 0 && errno != EAGAIN) end_ = ending::reset;
    some.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return some;
  }

  bool wait(short events, steady_clock::time_point deadline) const {
    pollfd me{socket_, events, 0};
    return ::poll(&me, 1, std::max(0, static_cast<int>(until(deadline).count()))) > 0;
  }

  // How it ended, once everything was received.
  ending end(std::chrono::milliseconds timeout = 10s) {
    receive(std::string::npos, timeout);
    return end_;
  }

private:
  int socket_;
  ending end_ = ending::none;
};

class listener {
public:
  explicit listener(const address& at = local_at(0)) : socket_(listen_on(at)), at_(at) {
    if (at.path.empty()) at_ = local_at(port_of(socket_));
  }
  ~listener() { ::close(socket_); }
  listener(const listener&) = delete;

  const address& at() const { return at_; }
  peer take() const {
    pollfd me{socket_, POLLIN, 0};
    ::poll(&me, 1, 10'000);
    return peer(::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  }

private:
  int socket_;
  address at_;
};

// A client and a server with the proxy between them.
struct wire {
  listener back;
  fault_proxy proxy{back.at()};
  peer client{local_at(proxy.port())};
  peer server{back.take()};

  peer& from(direction way) { return way == direction::to_server ? client : server; }
  peer& to(direction way) { return way == direction::to_server ? server : client; }
};

std::string some_bytes(std::size_t size) {
  std::string all(size, '\0');
  unsigned last = 1;
  for (auto& c : all)
    c = static_cast<char>((last = last * 1664525 + 1013904223) >> 24);
  return all;
}

double ms(steady_clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace

TEST_CASE("Bytes go through both ways unchanged") {
  wire w;
  const auto bytes = some_bytes(3'000'000);
  for (const auto way : {direction::to_server, direction::to_client}) {
    std::thread sender([&] { w.from(way).send(bytes); });
    CHECK(w.to(way).receive(bytes.size()) == bytes);
    sender.join();
    CHECK(w.proxy.bytes(way) == bytes.size());
  }
  CHECK(w.proxy.connections() == 1);
}

TEST_CASE("An end is passed on behind the bytes, half as half") {
  wire w;
  w.proxy.delay(5ms);
  w.client.send("last words");
  w.client.say_no_more();
  CHECK(w.server.receive(100) == "last words");
  CHECK(w.server.end() == ending::closed);
  w.server.send("answer");
  CHECK(w.client.receive(6) == "answer");
  w.server.close();
  CHECK(w.client.end() == ending::closed);
}

TEST_CASE("What a server said before it broke off comes before the reset") {
  wire w;
  w.proxy.delay(direction::to_client, 5ms);
  w.client.send("unread");
  REQUIRE(eventually([&] { return w.proxy.bytes(direction::to_server) == 6; }));
  w.server.send("answer");
  REQUIRE(w.server.wait(POLLIN, steady_clock::now() + 10s));
  w.server.close();  // with bytes unread: a reset
  CHECK(w.client.receive(6) == "answer");
  CHECK(w.client.end() == ending::reset);
}

TEST_CASE("A client of a server that is not there is reset") {
  auto nobody = std::make_unique<listener>();
  const fault_proxy proxy(nobody->at());
  nobody.reset();
  peer client(local_at(proxy.port()));
  CHECK(client.end() == ending::reset);
}

TEST_CASE("A cut after k bytes lets exactly k bytes through") {
  const auto way = GENERATE(direction::to_server, direction::to_client);
  const auto k = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{4'096}, std::size_t{1'000'003});
  wire w;
  const auto bytes = some_bytes(3'000'000);
  w.proxy.cut_after(way, k);
  CHECK(w.proxy.cuts() == 0);
  std::thread sender([&] { w.from(way).send(bytes); });
  CHECK(w.to(way).receive(bytes.size()) == bytes.substr(0, k));
  sender.join();
  CHECK(w.client.end() == ending::reset);
  CHECK(w.server.end() == ending::reset);
  CHECK(w.proxy.bytes(way) == k);
  CHECK(w.proxy.cuts() == 1);
}

TEST_CASE("A cut counts over all connections, and happens once") {
  wire w;
  peer second(local_at(w.proxy.port()));
  peer second_server(w.back.take());
  w.proxy.cut_after(direction::to_server, 5);
  w.client.send("abc");
  CHECK(w.server.receive(3) == "abc");
  second.send("defg");
  CHECK(second_server.receive(4) == "de");
  CHECK(second.end() == ending::reset);
  w.client.send("hi");
  CHECK(w.server.receive(2) == "hi");
}

TEST_CASE("A cut behind a request loses its answer and not its effect") {
  redis_server server;
  fault_proxy proxy(unix_at(server.socket()));
  const redis_caller through{local_at(proxy.port())};
  REQUIRE(through({"INCR", "n"}).integer == 1);
  proxy.cut_after(direction::to_client, 0);
  CHECK_THROWS_AS(through({"INCR", "n"}), std::runtime_error);
  CHECK(server.command({"GET", "n"}).text == "2");
  proxy.cut_after(direction::to_server, 0);
  CHECK_THROWS_AS(through({"INCR", "n"}), std::runtime_error);
  CHECK(server.command({"GET", "n"}).text == "2");
  CHECK(through({"INCR", "n"}).integer == 3);
}

TEST_CASE("A delay is a latency and no bandwidth") {
  wire w;
  w.proxy.delay(direction::to_server, 50ms);
  // Twenty chunks over some 20 ms: each comes after its 50 ms, not after those of all before it.
  std::vector<steady_clock::time_point> sent;
  std::vector<double> took;
  for (int i = 0; i < 20; ++i) {
    sent.push_back(steady_clock::now());
    w.client.send(std::string(1000, 'a'));
    w.client.wait(POLLIN, steady_clock::now() + 1ms);  // nothing comes this way: the next one is a chunk of its own
  }
  for (const auto& when : sent) {
    REQUIRE(w.server.receive(1000).size() == 1000);
    took.push_back(ms(steady_clock::now() - when));
  }
  for (const auto t : took) {
    CHECK(t >= 50);
    CHECK(t < 500);  // one after the other the last would take 1,000
  }
  // The other way has none.
  w.proxy.delay(direction::to_server, 1h);
  w.server.send("x");
  CHECK(w.client.receive(1) == "x");
}

TEST_CASE("Much data goes through a delay at once") {
  wire w;
  w.proxy.delay(direction::to_server, 50ms);
  const auto bytes = some_bytes(20'000'000);
  const auto began = steady_clock::now();
  std::thread sender([&] { w.client.send(bytes); });
  CHECK(w.server.receive(bytes.size()) == bytes);
  sender.join();
  const auto took = ms(steady_clock::now() - began);
  CHECK(took >= 50);
  CHECK(took < 2'000);  // 80 chunks of 256 KiB one after the other would be 4 s
}

TEST_CASE("A drip passes so many bytes each time") {
  wire w;
  const auto passed_now = [&] {
    auto some = w.client.receive(1);
    some += w.client.receive_once();  // the proxy writes them at once
    CHECK_FALSE(w.client.wait(POLLIN, steady_clock::now() + 20ms));
    return some;
  };
  w.proxy.drip(direction::to_client, 3, 1h);
  w.server.send("abcdefghij");
  CHECK(passed_now() == "abc");
  w.proxy.drip(direction::to_client, 4, 1h);  // a new drip begins at once
  CHECK(passed_now() == "defg");
  w.proxy.drip(direction::to_client, 0, 0ms);
  CHECK(passed_now() == "hij");
}

TEST_CASE("A drip goes on by itself") {
  wire w;
  w.proxy.drip(direction::to_server, 2, 3ms);
  const auto began = steady_clock::now();
  w.client.send("abcdefghij");
  CHECK(w.server.receive(10) == "abcdefghij");
  CHECK(steady_clock::now() - began >= 12ms);
}

TEST_CASE("A black hole says nothing and does not close") {
  wire w;
  w.proxy.black_hole(true);
  w.client.send("lost?");
  w.server.close();
  peer second(local_at(w.proxy.port()));
  second.send("me too");
  CHECK_FALSE(w.client.wait(POLLIN | POLLRDHUP, steady_clock::now() + 50ms));
  CHECK_FALSE(second.wait(POLLIN | POLLRDHUP, steady_clock::now()));
  CHECK(w.proxy.bytes(direction::to_server) == 0);
  w.proxy.heal();
  peer second_server(w.back.take());
  CHECK(second_server.receive(6) == "me too");
  CHECK(w.client.end() != ending::none);
}

TEST_CASE("A black hole costs no processor time") {
  wire w;
  w.proxy.black_hole(true);
  w.client.send("x");
  w.server.close();
  const auto before = std::clock();
  w.client.wait(POLLIN, steady_clock::now() + 100ms);
  CHECK(std::clock() - before < CLOCKS_PER_SEC / 20);
}

TEST_CASE("Refused is who comes, not who is there") {
  wire w;
  w.proxy.refuse(true);
  peer late(local_at(w.proxy.port()));
  CHECK(late.end() == ending::reset);
  w.client.send("still here");
  CHECK(w.server.receive(10) == "still here");
  CHECK(w.proxy.refused() == 1);
  CHECK(w.proxy.connections() == 1);
  w.proxy.refuse(false);
  peer later(local_at(w.proxy.port()));
  later.send("hello");
  CHECK(w.back.take().receive(5) == "hello");
}

TEST_CASE("All are cut at once, and later ones are served") {
  wire w;
  w.proxy.cut_all();
  CHECK(w.client.end() == ending::reset);
  CHECK(w.server.end() == ending::reset);
  peer next(local_at(w.proxy.port()));
  next.send("hello");
  CHECK(w.back.take().receive(5) == "hello");
}

TEST_CASE("Healed, nothing is held back") {
  wire w;
  w.proxy.delay(10s);
  w.proxy.drip(direction::to_server, 1, 10s);
  w.proxy.cut_after(direction::to_server, 2);
  w.client.send("hello");
  w.proxy.heal();
  CHECK(w.server.receive(5) == "hello");
  w.server.send("hello");
  CHECK(w.client.receive(5) == "hello");
}

TEST_CASE("A proxy between Unix sockets carries a server's commands") {
  redis_server server;
  const temp_dir folder;
  fault_proxy proxy(unix_at(server.socket()), folder.file("proxy.sock"));
  CHECK(proxy.url(2) == "redis+unix://" + folder.file("proxy.sock") + "?db=2");
  CHECK(redis_caller{unix_at(folder.file("proxy.sock")), 2}({"SET", "a", "1"}).text == "OK");
  CHECK(server.command({"GET", "a"}, 2).text == "1");
  proxy.cut_after(direction::to_client, 1);
  CHECK_THROWS_AS(redis_caller{unix_at(folder.file("proxy.sock"))}({"PING"}), std::runtime_error);
}

TEST_CASE("Later connections go where the proxy is pointed") {
  wire w;
  const listener other;
  w.proxy.point_to(other.at());
  peer client(local_at(w.proxy.port()));
  client.send("hello");
  CHECK(other.take().receive(5) == "hello");
  w.client.send("still");
  CHECK(w.server.receive(5) == "still");
}

// Not a promise but a measurement: ./support_tests "[.figures]"
TEST_CASE("How exact the proxy is, and how fast", "[.figures]") {
  const auto round_trips = [](wire& w, const std::string& what) {
    std::vector<double> took;
    for (int i = 0; i < 1000; ++i) {
      const auto began = steady_clock::now();
      w.client.send("x");
      w.server.receive(1);
      took.push_back(ms(steady_clock::now() - began));
    }
    std::sort(took.begin(), took.end());
    WARN(what << ", one way in ms: p50 " << took[500] << " p90 " << took[900] << " p99 " << took[990]);
  };
  wire w;
  round_trips(w, "no delay");
  for (const auto by : {200us, 1000us, 5000us}) {
    w.proxy.delay(direction::to_server, by);
    round_trips(w, "delay of " + std::to_string(by.count()) + " us");
  }
  w.proxy.heal();
  for (const auto by : {0us, 1000us}) {
    w.proxy.delay(by);
    const std::string bytes(1 << 20, 'x');
    const auto began = steady_clock::now();
    std::thread sender([&] {
      for (int i = 0; i < 500; ++i)
        w.client.send(bytes);
    });
    for (std::size_t got = 0; got < 500 * bytes.size();)
      if (w.server.wait(POLLIN, steady_clock::now() + 10s)) got += w.server.receive_once().size();
    sender.join();
    WARN("delay of " << by.count() << " us: " << 500 * 1000 / ms(steady_clock::now() - began) << " MiB/s");
  }
}
