// What comes over the network: requests, and everything else.
#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

#include <sluice/dashboard.hpp>

#include "core/text.hpp"
#include "dashboard/http_server.hpp"
#include "dashboard/raw_client.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

struct listening_dashboard {
  temp_dir folder;
  std::optional<dashboard> page;
  unsigned port = 0;

  explicit listening_dashboard(bool allow_changes = true) {
    client_options store;
    store.storage = folder.url();
    dashboard_options options;
    options.listen = "localhost:0";
    options.allow_changes = allow_changes;
    auto started = dashboard::start(store, options);
    if (!started) throw std::runtime_error(to_string(started.error()));
    page.emplace(std::move(*started));
    port = static_cast<unsigned>(std::stoul(page->url().substr(page->url().rfind(':') + 1)));
  }

  std::string host() const { return cat("Host: localhost:", port, "\r\n"); }
  std::string get(const std::string& target) const {
    raw_client c(port);
    c.write(cat("GET ", target, " HTTP/1.1\r\n", host(), "\r\n"));
    return c.read_answer();
  }
  std::string post(const std::string& target, const std::string& body) const {
    raw_client c(port);
    c.write(cat("POST ", target, " HTTP/1.1\r\n", host(),
                "Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
    return c.read_answer();
  }
  // All that is said to such bytes, until the connection ends.
  std::string say(const std::string& bytes, std::chrono::milliseconds timeout = 20s) const {
    raw_client c(port);
    c.write(bytes);
    return c.read_all(timeout);
  }
  bool answers() const { return get("/health/live").starts_with("HTTP/1.1 200"); }
};

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0, ignored = 0;
  std::ifstream("/proc/self/statm") >> ignored >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("a dashboard listens at both loopback addresses, answers, and is gone when it ends") {
  unsigned port = 0;
  {
    listening_dashboard d;
    port = d.port;
    CHECK(d.page->url() == cat("http://localhost:", port));
    const auto said = d.get("/api/v1/overview");
    CHECK(said.starts_with("HTTP/1.1 200"));
    CHECK(said.find("Content-Type: application/json\r\n") != std::string::npos);
    CHECK(d.post("/api/v1/jobs", "{\"type\":\"noop\",\"id\":\"a\"}").starts_with("HTTP/1.1 201"));
    CHECK(d.get("/api/v1/jobs/a").find("\"id\":\"a\"") != std::string::npos);
    raw_client kept(port);  // several requests on one connection
    for (int i = 0; i < 3; ++i) {
      kept.write(cat("GET /health/live HTTP/1.1\r\n", d.host(), "\r\n"));
      CHECK(kept.read_answer().starts_with("HTTP/1.1 200"));
    }
    raw_client head(port);
    head.write(cat("HEAD /api/v1/jobs/a HTTP/1.1\r\n", d.host(), "Connection: close\r\n\r\n"));
    CHECK(head.read_all().ends_with("\r\n\r\n"));
  }
  CHECK_THROWS(raw_client(port));
}

TEST_CASE("requests that a proxy could read otherwise are refused") {
  listening_dashboard d;
  const auto host = d.host();
  const std::string json = "Content-Type: application/json\r\n";
  const auto status = [&](const std::string& bytes) {
    const auto said = d.say(bytes);
    return said.size() > 12 ? said.substr(9, 3) : "none:" + said;
  };
  CHECK(status("GET /health/live HTTP/1.1\r\n\r\n") == "400");
  CHECK(status(cat("GET /api/v1 HTTP/1.1\r\n", host, host, "\r\n")) == "400");
  CHECK(status(cat("POST /api/v1/jobs HTTP/1.1\r\n", host, json,
                   "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x")) == "400");
  const auto both = status(cat("POST /api/v1/jobs HTTP/1.1\r\n", host, json,
                               "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"));
  CHECK((both == "411" || both == "400"));
  CHECK(status(cat("POST /api/v1/jobs HTTP/1.1\r\n", host, json,
                   "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")) == "411");
  const auto odd = status(cat("POST /api/v1/jobs HTTP/1.1\r\n", host, json, "Transfer-Encoding: gzip\r\n\r\n{}"));
  CHECK((odd == "411" || odd == "400"));
  const auto empty = status(cat("POST /api/v1/jobs HTTP/1.1\r\n", host, json, "Transfer-Encoding:\r\n\r\n{}"));
  CHECK((empty == "411" || empty == "400"));
  CHECK(status(cat("GET /health/live HTTP/1.1\r\n", host, "Content-Length: 2\r\n\r\n{}")) == "400");
  CHECK(status(cat("GET /api/v1/jobs/a%00b HTTP/1.1\r\n", host, "\r\n")) == "400");
  CHECK(status(cat("GET /api/v1/jobs/a%zz HTTP/1.1\r\n", host, "\r\n")) == "400");
  CHECK(status(cat("GET /api/v1/jobs/%2e%2e%2f%2e%2e HTTP/1.1\r\n", host, "Connection: close\r\n\r\n")) == "404");
  CHECK(status(cat("GET http://evil.test/ HTTP/1.1\r\n", host, "Connection: close\r\n\r\n")) == "400");
  CHECK(status(cat("POST /api/v1/jobs HTTP/1.1\r\n", host, json, "Content-Length: -1\r\n\r\n")) == "400");
  CHECK(d.answers());
}

TEST_CASE("a body that is too large is refused before it is sent") {
  listening_dashboard d;
  raw_client c(d.port);
  c.write(cat("POST /api/v1/jobs HTTP/1.1\r\n", d.host(),
              "Content-Type: application/json\r\nContent-Length: 2147483648\r\n\r\n"));
  CHECK(c.read_answer().starts_with("HTTP/1.1 413"));
  const auto before = resident_bytes();
  raw_client stubborn(d.port);
  stubborn.write(cat("POST /api/v1/jobs HTTP/1.1\r\n", d.host(),
                     "Content-Type: application/json\r\nContent-Length: 2147483648\r\n\r\n"));
  const std::string some(1024 * 1024, 'x');
  for (int i = 0; i < 64 && stubborn.write(some); ++i)
    continue;
  CHECK(resident_bytes() < before + 32 * 1024 * 1024);
  CHECK(d.answers());
}

TEST_CASE("those who read nothing of large answers hold only so much memory, and small ones go on") {
  const std::string large(12 * 1024 * 1024, 'x');  // more than the kernel keeps for a client
  web::http_site site;
  site.refuse = [](const web::http_request&) { return std::optional<web::http_response>(); };
  site.answer = [&](const web::http_request& r) {
    return web::http_response{200, r.path[0] == "large" ? large : std::string("{}")};
  };
  auto at = web::listen_at({"127.0.0.1", 0, true});
  REQUIRE(at);
  const auto port = at->port;
  const auto server = web::http_server::start(*at, site, true);
  REQUIRE(server);
  const auto ask = [port](const std::string& target) {
    raw_client c(port);
    c.write(cat("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n"));
    return c;
  };
  auto slow = ask("/large");
  REQUIRE_FALSE(slow.is_closed(10s));  // its answer is on its way
  CHECK(ask("/large").read_answer().starts_with("HTTP/1.1 503"));
  CHECK(ask("/small").read_answer().starts_with("HTTP/1.1 200"));
  CHECK(slow.read_answer().size() > large.size());
  CHECK(eventually([&] { return ask("/large").read_answer().starts_with("HTTP/1.1 200"); }));
}

TEST_CASE("ten thousand headers cost one connection") {
  listening_dashboard d;
  std::string many = cat("GET /api/v1 HTTP/1.1\r\n", d.host());
  for (int i = 0; i < 10'000; ++i)
    many += cat("X-", i, ": ", i, "\r\n");
  const auto said = d.say(many + "\r\n");
  CHECK((said.starts_with("HTTP/1.1 431") || said.starts_with("HTTP/1.1 413") || said.empty()));
  CHECK(d.answers());
}

TEST_CASE("any bytes to the port end no process, and the next request is answered") {
  listening_dashboard d;
  std::mt19937 random(7);
  const std::string pieces[] = {"GET ",
                                "POST ",
                                "/api/v1/jobs",
                                " HTTP/1.1\r\n",
                                "Host: localhost\r\n",
                                "\r\n",
                                "\n",
                                "Content-Length: 5\r\n",
                                "Transfer-Encoding: chunked\r\n",
                                "{}",
                                "%",
                                "?a=b&",
                                "\0\x01\xff",
                                "Content-Type: application/json\r\n",
                                ": ",
                                " ",
                                "HTTP/9.9\r\n",
                                d.host()};
  for (int i = 0; i < 300; ++i) {
    std::string bytes;
    for (auto n = random() % 12; n > 0; --n) {
      bytes += pieces[random() % std::size(pieces)];
      if (random() % 4 == 0) bytes += static_cast<char>(random());
    }
    raw_client c(d.port);
    c.write(bytes);
    if (random() % 2 == 0) c.read_all(1ms);
  }
  CHECK(d.answers());
}

TEST_CASE("those who hold sockets and say little are sent away, and the next is answered") {
  listening_dashboard d;
  const auto before = resident_bytes();
  std::vector<raw_client> slow;
  for (int i = 0; i < 128; ++i) {
    slow.emplace_back(d.port);
    if (i % 2 == 0) slow.back().write("GET /api/v1");
  }
  std::atomic<bool> over{false};
  std::thread drip([&] {
    while (!over) {
      for (std::size_t i = 0; i < slow.size(); i += 2)
        slow[i].write("x");
      for (int i = 0; i < 20 && !over; ++i)
        std::this_thread::sleep_for(100ms);
    }
  });
  const auto began = steady_clock::now();
  const bool is_answered = d.answers();
  const auto took = steady_clock::now() - began;
  over = true;
  drip.join();
  CHECK(is_answered);
  CHECK(took < 20s);
  CHECK(resident_bytes() < before + 32 * 1024 * 1024);
}

TEST_CASE("a probe of health is answered while others hold every socket and go on with their requests for ever") {
  listening_dashboard d;
  std::vector<raw_client> slow;
  const auto drip = [&](raw_client& c) { c.write("x"); };
  for (int i = 0; i < 200; ++i) {
    slow.emplace_back(d.port);
    if (i % 2 == 0) slow.back().write("GET /api/v1");
    else
      slow.back().write(cat("POST /api/v1/jobs HTTP/1.1\r\n", d.host(),
                            "Content-Type: application/json\r\nContent-Length: 9000\r\n\r\n"));
    std::for_each(slow.begin(), slow.end(), drip);
  }
  for (int i = 0; i < 20; ++i) {
    std::for_each(slow.begin(), slow.end(), drip);
    raw_client probe(d.port);
    probe.write(cat("GET /health/live HTTP/1.1\r\n", d.host(), "\r\n"));
    REQUIRE(probe.read_answer(3s).starts_with("HTTP/1.1 200"));
  }
}

TEST_CASE("what is under way when it ends is answered, and it ends within seconds") {
  std::atomic<int> begun{0};
  std::atomic<bool> may_end{false};
  web::http_site site;
  site.refuse = [](const web::http_request&) { return std::optional<web::http_response>(); };
  site.answer = [&](const web::http_request&) {
    ++begun;
    may_end.wait(false);
    return web::http_response{200, "{}"};
  };
  auto at = web::listen_at({"127.0.0.1", 0, true});
  REQUIRE(at);
  const auto port = at->port;
  auto server = web::http_server::start(*at, site, true);
  REQUIRE(server);
  std::vector<raw_client> asking;
  for (int i = 0; i < 50; ++i) {
    asking.emplace_back(port);
    asking.back().write("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  REQUIRE(eventually([&] { return begun >= 4; }));
  const auto began = steady_clock::now();
  std::thread ending([&] { server->reset(); });
  CHECK(eventually([&] {  // it has begun to end
    try {
      raw_client another(port);
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  }));
  may_end = true;
  may_end.notify_all();
  ending.join();
  CHECK(steady_clock::now() - began < 10s);
  int answered = 0;
  for (auto& c : asking)
    answered += c.read_answer(100ms).starts_with("HTTP/1.1 200") ? 1 : 0;
  CHECK(answered >= 4);
}

}  // namespace sluice::test
