#include "support/redis_server.hpp"

#include <sys/un.h>

#include <thread>

#include "support/catch.hpp"

using namespace sluice::test;

namespace {

std::string get(const redis_server& server, const std::string& key) { return server.command({"GET", key}).text; }

template <class Call>
std::string thrown(const Call& call) {
  try {
    call();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "nothing";
}

// PATH is the process's, so a test that changes it puts it back.
struct other_path {
  std::string was = std::getenv("PATH");
  explicit other_path(const std::string& now) { ::setenv("PATH", now.c_str(), 1); }
  ~other_path() { ::setenv("PATH", was.c_str(), 1); }
};

}  // namespace

TEST_CASE("A server answers as soon as it is made") {
  const redis_server server;
  CHECK(server.command({"PING"}).text == "PONG");
  CHECK(server.command({"SET", "a", std::string("x\0y", 3)}).type == reply_type::status);
  CHECK(get(server, "a") == std::string("x\0y", 3));
  CHECK(server.command({"INCR", "n"}).integer == 1);
  CHECK(server.command({"GET", "none"}).is_nil());
  CHECK(server.command({"INCR", "a"}).is_error());
  const auto nested = server.command({"EVAL", "return {1, {'two', false}}", "0"});
  REQUIRE(nested.elements.size() == 2);
  REQUIRE(nested.elements[1].elements.size() == 2);
  CHECK(nested.elements[1].elements[0].text == "two");
  CHECK(nested.elements[1].elements[1].is_nil());
}

TEST_CASE("A server's URLs name its socket, its port and a database") {
  const redis_server server({.tcp = true});
  CHECK(server.url() == "redis+unix://" + server.socket() + "?db=0");
  CHECK(server.tcp_url(3) == "redis://127.0.0.1:" + std::to_string(server.port()) + "/3");
  CHECK(server.socket().size() < sizeof(sockaddr_un::sun_path));
  server.command({"SET", "a", "three"}, 3);
  CHECK(get(server, "a").empty());
  CHECK(redis_caller{local_at(server.port()), 3}({"GET", "a"}).text == "three");
}

TEST_CASE("A server without TCP listens on its socket only") {
  const redis_server server;
  CHECK(server.port() == 0);
  CHECK(server.command({"CONFIG", "GET", "port"}).elements.at(1).text == "0");
}

TEST_CASE("A killed server that kept an append-only file comes back with its keys") {
  redis_server server({.tcp = true, .appendonly = "always"});
  const auto port = server.port();
  const auto before = server.pid();
  server.command({"SET", "a", "kept"});
  server.kill();
  CHECK_FALSE(server.alive());
  CHECK(thrown([&] { server.command({"PING"}); }).find("cannot reach the server") == 0);
  server.start();
  CHECK(server.pid() != before);
  CHECK(server.port() == port);
  CHECK(get(server, "a") == "kept");
  CHECK(redis_caller{local_at(port)}({"GET", "a"}).text == "kept");
}

TEST_CASE("A restarted server that kept nothing is empty") {
  redis_server server;
  server.command({"SET", "a", "gone"});
  server.restart();
  CHECK(server.command({"DBSIZE"}).integer == 0);
}

TEST_CASE("A stopped server answers when it goes on") {
  redis_server server;
  server.stop_process();
  const redis_caller hasty{unix_at(server.socket()), 0, {}, 50ms};
  CHECK(thrown([&] { hasty({"PING"}); }).find("no answer to PING") == 0);
  std::string answer;
  std::thread patient([&] { answer = server.command({"PING"}).text; });
  server.continue_process();
  patient.join();
  CHECK(answer == "PONG");
}

TEST_CASE("A stopped server can be killed") {
  redis_server server;
  server.stop_process();
  server.restart();
  CHECK(server.command({"PING"}).text == "PONG");
}

TEST_CASE("A server tells its counts and its processor time") {
  const redis_server server;
  server.command({"SET", "a", "1"});
  CHECK(server.info("role") == "master");
  CHECK(server.info("cmdstat_set").find("calls=1,") == 0);
  CHECK(server.info("no_such_field").empty());
  const auto before = server.cpu_seconds();
  server.command({"EVAL", "for i = 1, 1000000 do end", "0"});
  const auto used = server.cpu_seconds() - before;
  CHECK(used > 0.0005);
  CHECK(used < 5);
}

TEST_CASE("A server with a password lets in who knows it") {
  const redis_server server({.password = "hunter2"});
  CHECK(server.url() == "redis+unix://:hunter2@" + server.socket() + "?db=0");
  CHECK(server.command({"PING"}).text == "PONG");
  CHECK(redis_caller{unix_at(server.socket())}({"PING"}).text.find("NOAUTH") == 0);
}

TEST_CASE("A server takes more arguments, and says why it cannot start") {
  const redis_server server({.extra_args = {"--maxmemory", "64mb"}});
  CHECK(server.command({"CONFIG", "GET", "maxmemory"}).elements.at(1).text == std::to_string(64 << 20));
  CHECK(thrown([] {
          redis_server({.extra_args = {"--no-such-setting", "1"}});
        }).find("no-such-setting") != std::string::npos);
}

TEST_CASE("Without the program a test is told what to install") {
  const temp_dir empty;
  const other_path nothing(empty.path().string());
  CHECK(thrown([] { redis_server(); }).find("install redis-server") != std::string::npos);
}

TEST_CASE("A replica has its master's keys, and a sentinel makes it the master") {
  redis_server master({.tcp = true});
  redis_server replica({.tcp = true, .replica_of = local_at(master.port())});
  master.command({"SET", "a", "1"});
  REQUIRE(eventually([&] { return get(replica, "a") == "1"; }));
  CHECK(replica.command({"SET", "a", "2"}).text.find("READONLY") == 0);

  const redis_sentinel sentinel("main", master.port());
  CHECK(sentinel.master().port == master.port());
  sentinel.wait_replicas(1);
  master.kill();
  REQUIRE(eventually([&] { return sentinel.master().port == replica.port(); }));
  REQUIRE(eventually([&] { return !replica.command({"SET", "a", "2"}).is_error(); }));
}
