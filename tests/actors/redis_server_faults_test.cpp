// A server and its producers on a Redis that dies, forgets, is full, stands still or is replaced, under load.

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include <sluice/client.hpp>
#include <sluice/server.hpp>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/measure.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

using std::chrono::steady_clock;

// What ran, as the handlers saw it.
class run_book {
public:
  void note(const std::string& id) {
    std::lock_guard hold(mutex_);
    ++runs_[id];
    ++all_;
  }
  int all() const { return all_; }
  std::map<std::string, int> runs() const {
    std::lock_guard hold(mutex_);
    return runs_;
  }
  // Work goes on.
  bool grows(int by = 100, std::chrono::milliseconds timeout = 20s) const {
    const int before = all_;
    return eventually([&] { return all_ >= before + by; }, timeout);
  }

private:
  mutable std::mutex mutex_;
  std::map<std::string, int> runs_;
  std::atomic<int> all_{0};
};

// Enqueues job after job from a thread of its own and writes down what it was told about each.
class producer {
public:
  producer(const std::string& url, std::string name) : name_(std::move(name)) {
    auto opened = sluice::client::open({url, 2s, {}, {}});
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    client_ = std::make_unique<sluice::client>(std::move(*opened));
    thread_ = std::thread([this] { run(); });
  }
  ~producer() { stop(); }

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int told(errc code) const {
    std::lock_guard hold(mutex_);
    int n = 0;
    for (const auto& [id, said] : said_)
      n += said == code;
    return n;
  }
  std::map<std::string, errc> said() const {
    std::lock_guard hold(mutex_);
    return said_;
  }
  std::string report() const {
    std::map<std::string_view, int> counts;
    for (const auto& [id, code] : said())
      ++counts[name_of(code)];
    std::string text;
    for (const auto& [code, n] : counts)
      text += std::string(code) + " " + std::to_string(n) + ", ";
    return text;
  }
  sluice::client& client() { return *client_; }

private:
  void run() {
    for (int n = 0; !stop_; ++n) {
      new_job j;
      j.id = job_id(name_ + std::to_string(n));
      j.type = job_type("note");
      j.args = "{}";
      const auto got = client_->enqueue(std::move(j));
      {
        std::lock_guard hold(mutex_);
        said_[name_ + std::to_string(n)] = got ? errc::none : got.error().code;
      }
      std::this_thread::sleep_for(2ms);  // a load, not a flood
    }
  }

  const std::string name_;
  std::unique_ptr<sluice::client> client_;
  mutable std::mutex mutex_;
  std::map<std::string, errc> said_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

server_options options_on(const std::string& url) {
  server_options o;
  o.storage = url;
  o.lease = 2s;
  o.grace = 1s;
  o.sweep_interval = 500ms;
  o.queues = {{"default", {4, 64, {}, {}}}};
  return o;
}

// All that waits or runs has ended.
bool runs_dry(sluice::client& c) {
  return eventually(
      [&] {
        const auto all = c.queues();
        if (!all) return false;
        for (const auto& q : *all)
          if (q.enqueued + q.scheduled + q.processing > 0) return false;
        return true;
      },
      60s);
}

bool was_lost(sluice::client& c, const std::string& id) {
  const auto j = c.get(job_id(id));
  if (!j) return false;
  return std::any_of(j->history.begin(), j->history.end(), [](const auto& run) { return run.cause == "lost"; });
}

}  // namespace

TEST_CASE("a server that is started while its Redis is away says so, and works once Redis is back") {
  redis_server redis;
  redis.kill();
  const log_lines log;
  run_book book;
  server works(options_on(redis.url()));
  works.handle("note", [&](job_context& c) { book.note(c.id().value); });
  auto begun = std::async(std::launch::async, [&] { return works.start(); });
  REQUIRE(eventually([&] { return log.lines().size() > 0; }));
  redis.start();
  REQUIRE(begun.get().ok());
  auto client = sluice::client::open({redis.url(), 10s, {}, {}});
  REQUIRE(client.ok());
  REQUIRE(client->enqueue({.type = job_type("note"), .id = job_id("a")}).ok());
  CHECK(eventually([&] { return book.all() == 1; }));
}

TEST_CASE("a client that is opened while its Redis is away says so, and is there once Redis is back") {
  redis_server redis;
  redis.kill();
  const log_lines log;
  auto begun =
      std::async(std::launch::async, [&] { return sluice::client::open({.storage = redis.url(), .deadline = 30s}); });
  REQUIRE(eventually([&] { return log.lines().size() > 0; }));
  redis.start();
  auto client = begun.get();
  REQUIRE(client.ok());
  CHECK(client->enqueue({.type = job_type("note"), .id = job_id("a")}).ok());
}

TEST_CASE("a client whose Redis stays away is told so at its deadline") {
  redis_server redis;
  redis.kill();
  const auto from = steady_clock::now();
  const auto client = sluice::client::open({.storage = redis.url(), .deadline = 1s});
  REQUIRE_FALSE(client.ok());
  CHECK(client.error().code == errc::storage_unavailable);
  CHECK(seconds_since(from) > 0.4);  // the next pause would end behind the deadline
  CHECK(seconds_since(from) < 5);
}

TEST_CASE("what waiting does not mend is told at once to who opens a client or starts a server") {
  redis_server redis({.tcp = true, .password = "right4711"});
  const auto told = [&](const std::string& url, errc code, const std::string& why) {
    INFO(url);
    const auto from = steady_clock::now();
    const auto client = sluice::client::open({.storage = url, .deadline = 60s});
    REQUIRE_FALSE(client.ok());
    CHECK(client.error().code == code);
    CHECK(client.error().message.find(why) != std::string::npos);
    server refused(options_on(url));
    const auto started = refused.start();
    REQUIRE_FALSE(started.ok());
    CHECK(started.error().code == code);
    CHECK(seconds_since(from) < 8);  // less than the 10 s of a server that waits
  };
  told(redis_url(local_at(redis.port()), 0, "wrong0815"), errc::invalid_argument, "WRONGPASS");
  told(redis_url(local_at(redis.port())), errc::invalid_argument, "NOAUTH");
  told("redis://127.0.0.1:x", errc::invalid_argument, "");
  REQUIRE_FALSE(redis.command({"ACL", "SETUSER", "poor", "on", ">word", "~*", "&*", "+@all", "-zadd"}).is_error());
  told(cat("redis://poor:word@127.0.0.1:", redis.port(), "/0"), errc::invalid_argument, "may not run ZADD");
}

TEST_CASE("a server outlives every fault of its Redis and keeps every promise") {
  redis_server redis({.tcp = true, .appendonly = "always"});
  log_lines log;
  run_book book;
  handler_registry handlers;
  handlers.handle("note", [&](job_context& c) {
    book.note(c.id().value);
    std::this_thread::sleep_for(10ms);  // so that some run whenever a fault strikes
  });
  std::atomic<bool> gave_up{false};
  server works(options_on(redis.tcp_url()), handlers);
  works.on_fatal([&](const error&) { gave_up = true; });
  REQUIRE(works.start().ok());
  producer load(redis.url(), "j");
  REQUIRE(book.grows());

  // How much of a core this process takes while Redis is away for so long.
  const auto away_for = [](std::chrono::milliseconds time) {
    const auto from = steady_clock::now();
    const double used = cpu_seconds();
    eventually([&] { return steady_clock::now() - from >= time; });
    return (cpu_seconds() - used) / seconds_since(from);
  };

  redis.kill();
  const double killed = away_for(4s);
  redis.start();
  CHECK(book.grows());

  REQUIRE_FALSE(redis.command({"FUNCTION", "FLUSH"}).is_error());
  CHECK(book.grows());

  CHECK(redis.command({"CLIENT", "KILL", "TYPE", "normal"}).integer > 0);
  CHECK(book.grows());
  // It may still be on its way back: it waits for up to a second between two tries, and no job waits for it.
  CHECK(eventually([&] { return redis.command({"CLIENT", "KILL", "TYPE", "pubsub"}).integer > 0; }));
  CHECK(book.grows());

  REQUIRE_FALSE(redis.command({"CONFIG", "SET", "maxmemory", "1"}).is_error());
  CHECK(eventually([&] { return load.told(errc::storage_full) >= 10; }));
  CHECK(eventually([&] {
    const auto all = load.client().queues();  // what was there has ended
    return all && !all->empty() && all->front().enqueued + all->front().processing == 0;
  }));
  REQUIRE_FALSE(redis.command({"CONFIG", "SET", "maxmemory", "0"}).is_error());
  CHECK(book.grows());

  redis.stop_process();
  const double stopped = away_for(5s);
  redis.continue_process();
  CHECK(book.grows());

  // A lone master that must not write: every connection to it is given up again.
  REQUIRE_FALSE(redis.command({"CONFIG", "SET", "min-replicas-to-write", "1"}).is_error());
  const auto lines_before = log.lines().size();
  const double refusing = away_for(5s);
  const auto refusing_lines = log.lines().size() - lines_before;
  REQUIRE_FALSE(redis.command({"CONFIG", "SET", "min-replicas-to-write", "0"}).is_error());
  CHECK(book.grows());

  load.stop();
  REQUIRE(runs_dry(load.client()));
  CHECK(redis.alive());
  CHECK(refusing_lines < 60);
  CHECK(log.lines().size() < 100);
  CHECK(refusing < 0.5);
  CHECK(!gave_up);
  CHECK(killed < 0.5);
  CHECK(stopped < 0.5);
  const auto runs = book.runs();
  int twice = 0, missed = 0, unasked = 0;
  for (const auto& [id, code] : load.said()) {
    const auto found = runs.find(id);
    const int n = found == runs.end() ? 0 : found->second;
    missed += code == errc::none && n == 0;
    unasked += code != errc::none && code != errc::unknown_outcome && n > 0;
    twice += n > 1;
    if (n > 1) {
      INFO(id << " ran " << n << " times, told " << name_of(code));
      CHECK((code == errc::unknown_outcome || was_lost(load.client(), id)));
    }
  }
  CHECK(missed == 0);
  CHECK(unasked == 0);
  WARN(load.report() << "ran more than once: " << twice << "; of a core while killed " << killed << ", while stopped "
                     << stopped << ", while it may not write " << refusing << "; log lines " << log.lines().size()
                     << ", of these " << refusing_lines << " in 5 s without replicas");
}

TEST_CASE("a failover moves the work to the new master and loses nothing that a replica had to have") {
  redis_server first({.tcp = true});
  redis_server second({.tcp = true, .replica_of = local_at(first.port())});
  REQUIRE(eventually([&] { return second.info("master_link_status") == "up"; }));
  redis_sentinel sentinel("jobs", first.port());
  sentinel.wait_replicas(1);
  const auto url = "redis+sentinel://127.0.0.1:" + std::to_string(sentinel.port()) + "/jobs/0";

  run_book book;
  handler_registry handlers;
  handlers.handle("note", [&](job_context& c) { book.note(c.id().value); });
  server works(options_on(url), handlers);
  REQUIRE(works.start().ok());
  producer safe(url + "?wait_replicas=1", "safe");
  producer quick(url + "?wait_replicas=0", "quick");
  REQUIRE(eventually([&] { return safe.told(errc::none) >= 200 && book.all() >= 200; }));

  first.kill();
  const auto from = steady_clock::now();
  REQUIRE(eventually([&] { return sentinel.master().port == second.port(); }));
  const auto elected = steady_clock::now();
  CHECK(book.grows(20, 5s));
  WARN("a new master after " << std::chrono::duration<double>(elected - from).count() << " s, work "
                             << seconds_since(elected) << " s later");
  // Alone, the new master has no replica to wait for: nothing is acknowledged that it may lose.
  const int before = safe.told(errc::none);
  REQUIRE(book.grows());
  CHECK(safe.told(errc::none) == before);
  // It was another's lapse, and it is over when the old master is back as a replica.
  first.start();
  CHECK(eventually([&] { return safe.told(errc::none) >= before + 50; }, 60s));

  safe.stop();
  quick.stop();
  REQUIRE(runs_dry(quick.client()));
  const auto runs = book.runs();
  int missed = 0, risked = 0;
  for (const auto& [id, code] : safe.said())
    missed += code == errc::none && !runs.contains(id);
  for (const auto& [id, code] : quick.said())
    risked += code == errc::none && !runs.contains(id);
  CHECK(missed == 0);
  WARN("with a replica: " << safe.report() << "lost " << missed << "; without: " << quick.report() << "lost "
                          << risked);
}

}  // namespace sluice::test
