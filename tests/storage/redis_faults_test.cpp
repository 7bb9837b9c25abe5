// What faults of a real Redis, and of the way to it, lead to: a truthful answer in bounded time, and nothing lost.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <thread>

#include <sluice/client.hpp>

#include "storage/contract.hpp"
#include "storage/machine/transitions.hpp"
#include "storage/redis/listener.hpp"
#include "storage/redis/refusals.hpp"
#include "support/fault_proxy.hpp"
#include "support/gated_store.hpp"
#include "support/measure.hpp"
#include "support/places.hpp"

using namespace sluice;
using namespace sluice::test;
using std::chrono::steady_clock;

namespace {

// A store on a Redis of its own, which the test may harm.
struct server_holder {
  redis_server server;
};
struct fault_world : server_holder, world {
  explicit fault_world(redis_options o = {}) : server_holder{redis_server(std::move(o))}, world(server.url()) {}
};

// A store that is reached through a proxy, and the way beside it.
struct proxy_holder : server_holder {
  fault_proxy proxy{unix_at(server.socket())};
};
struct proxied_world : proxy_holder, world {
  proxied_world() : world(proxy.tcp_url()), beside(server.url()) {}
  world beside;
};

sluice::client client_of(const std::string& url, duration deadline) {
  auto opened = sluice::client::open({url, deadline, {}, {}});
  if (!opened) throw std::runtime_error(to_string(opened.error()));
  return std::move(*opened);
}

new_job work(const std::string& id) {
  new_job j;
  j.id = job_id(id);
  j.type = job_type("work");
  j.args = "{}";
  return j;
}

errc enqueue(sluice::client& c, const std::string& id) {
  const auto said = c.enqueue(work(id));
  return said ? errc::none : said.error().code;
}

storage::answer answer_of(storage::store& s, const storage::request& r) { return s.apply({&r, 1}).at(0); }

bool is_there(world& w, const std::string& id) { return look(w, id).code == errc::none; }

// As long as the connection is made anew, an answer may be that there is none.
template <class Answer>
Answer ask_until(storage::store& s, const storage::request& r) {
  std::optional<storage::answer> got;
  REQUIRE(eventually([&] { return !std::holds_alternative<error>(got.emplace(answer_of(s, r))); }));
  return std::get<Answer>(std::move(*got));
}

// Nothing was done, or nobody knows; never that it was refused for another reason.
bool is_away(errc code) {
  return code == errc::storage_unavailable || code == errc::storage_busy || code == errc::unknown_outcome;
}

// Something that takes connections and answers whatever it is told with the same words, or not at all.
class other_server {
public:
  explicit other_server(std::string words) : socket_(listen_on(local_at(0))), words_(std::move(words)) {}
  ~other_server() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    ::close(socket_);
  }
  int start() {
    thread_ = std::thread([this] { run(); });
    return port_of(socket_);
  }

private:
  void run() {
    std::vector<int> taken;
    while (!stop_) {
      pollfd p{socket_, POLLIN, 0};
      if (::poll(&p, 1, 20) > 0)
        if (const int c = ::accept(socket_, nullptr, nullptr); c >= 0) {
          taken.push_back(c);
          [[maybe_unused]] const auto n = ::send(c, words_.data(), words_.size(), MSG_NOSIGNAL);
        }
    }
    for (const int c : taken)
      ::close(c);
  }
  int socket_;
  std::string words_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// With what, and how soon, a store that cannot be used is refused.
error refused_open(const std::string& url, double within_seconds = 3) {
  const auto from = steady_clock::now();
  const auto opened = storage::open_store(url);
  CHECK(seconds_since(from) < within_seconds);
  REQUIRE(!opened.ok());
  CHECK(!opened.error().message.empty());
  return opened.error();
}

}  // namespace

TEST_CASE("A call whose first part Redis refuses as it lost the library stores no child before its parent", "[redis]") {
  fault_world w;
  const auto another = w.store().open_second_connection();
  const auto child_of = [](const std::string& parent) {
    auto child = prepared({.id = parent + "-child"});
    flow_of(child).after.parents = {job_id(parent)};
    flow_of(child).after.missing = when_missing::met;
    return child;
  };
  const auto pair = [&](const std::string& parent) {
    return storage::enqueue_request{{prepared({.id = parent, .delay = 1min}), child_of(parent)}};
  };
  CHECK(ask(w, pair("a")).each == std::vector<errc>(2, errc::none));
  REQUIRE_FALSE(w.server.command({"FUNCTION", "FLUSH"}).is_error());
  const storage::request by_another = storage::enqueue_request{{child_of("nobody")}};
  REQUIRE(std::get<storage::enqueue_answer>(another->apply({&by_another, 1}).at(0)).each.at(0) == errc::none);
  CHECK(ask(w, pair("b")).each == std::vector<errc>(2, errc::none));
  CHECK(get(w, "b-child").state == job_state::awaiting);

  // The same of calls of several parts of one kind, while the library is lost and loaded again between these.
  std::atomic<bool> done{false};
  std::thread nemesis([&] {
    while (!done) {
      w.server.command({"FUNCTION", "FLUSH"});
      (void)another->apply({&by_another, 1});
    }
  });
  for (int round = 0; round < 20; ++round) {
    auto many = pair(cat("c", round));
    for (int i = 0; i < 500; ++i)
      many.jobs.push_back(child_of(cat("c", round)));
    for (std::size_t i = 2; i < many.jobs.size(); ++i)
      many.jobs[i].id = job_id(cat("n", round, "-", i));
    const auto told = w.store().apply(std::vector<storage::request>{many});
    CHECK((code_of(told.at(0)) == errc::none || is_away(code_of(told.at(0)))));
  }
  done = true;
  nemesis.join();
  // A store that was refused too often waits before it connects again.
  ask_until<storage::queues_answer>(w.store(), storage::queues_request{});
  // Who was stored before its parent would not wait for it.
  CHECK(counts(w).enqueued == 1);
  audit(w);
}

TEST_CASE("What Redis refuses in the middle of a step may be stored, and is stored whole when it is asked for again") {
  fault_world w;
  REQUIRE(put(w, {.id = "before"}) == errc::none);
  REQUIRE_FALSE(w.server.command({"ACL", "SETUSER", "default", "-zadd"}).is_error());
  const storage::request one = storage::enqueue_request{{prepared({.id = "a"})}};
  const storage::request look = storage::queues_request{};
  const auto told = w.store().apply({&one, 1});
  REQUIRE(std::holds_alternative<error>(told.at(0)));
  CHECK(std::get<error>(told[0]).code == errc::unknown_outcome);
  REQUIRE_FALSE(w.server.command({"ACL", "SETUSER", "default", "+zadd", "-zcard"}).is_error());
  const auto looked = w.store().apply({&look, 1});
  REQUIRE(std::holds_alternative<error>(looked.at(0)));
  CHECK(std::get<error>(looked[0]).code == errc::storage_unavailable);
  REQUIRE_FALSE(w.server.command({"ACL", "SETUSER", "default", "+@all"}).is_error());
  CHECK(put(w, {.id = "a"}) == errc::none);
  audit(w);
  const auto claimed = claim(w, {.free = 2});
  CHECK(claimed.jobs.size() == 2);
}

TEST_CASE("A Redis that has lost the library is given it again and nobody notices", "[redis]") {
  fault_world w;
  const auto forget = [&] { REQUIRE(!w.server.command({"FUNCTION", "FLUSH"}).is_error()); };
  forget();
  CHECK(put(w, {.id = "a"}) == errc::none);
  CHECK(put(w, {.id = "b", .delay = 1s}) == errc::none);
  forget();
  const auto a = claim_one(w);
  forget();
  CHECK(renew(w, a) == errc::none);
  forget();
  CHECK(settle(w, a, how::retry, 1s) == errc::none);
  w.clock.advance(2s);
  forget();
  CHECK(promote(w).moved == 2);
  forget();
  const auto again = jobs_of(claim(w, {.free = 2}));
  CHECK(again.size() == 2);
  w.clock.advance(1min);
  forget();
  const auto leases = expired(w).leases;
  forget();
  CHECK(reap(w, leases).each == std::vector<errc>(2, errc::none));
  forget();
  CHECK(list(w).size() == 2);
  forget();
  CHECK(counts(w).enqueued == 2);
  forget();
  CHECK(remove(w, "a").code == errc::none);
  forget();
  CHECK(requeue(w, "a").code == errc::none);
  forget();
  CHECK(w.store().audit().ok());
  audit(w);
}

TEST_CASE("A library that is lost in the middle of a batch costs none of its requests", "[redis]") {
  fault_world w;
  constexpr int rounds = 300;
  std::atomic<int> round{0};
  // About once a batch, whenever that is.
  std::thread nemesis([&] {
    for (int seen = 0; seen < rounds; seen = round)
      if (round > seen) w.server.command({"FUNCTION", "FLUSH"});
  });
  int failed = 0;
  std::set<std::string> started;
  while (round < rounds) {
    const auto n = std::to_string(++round);
    const std::vector<storage::request> batch = {enqueue_of("a" + n),        get_of("a" + n),
                                                 enqueue_of("b" + n),        claiming({.free = 2}),
                                                 storage::promote_request{}, enqueue_of("c" + n)};
    const auto answers = w.store().apply(batch);
    for (const auto& a : answers)
      failed += code_of(a) != errc::none;
    if (const auto* got = std::get_if<storage::claim_answer>(&answers[3]))
      for (const auto& j : jobs_of(*got))
        CHECK(started.insert(j.id.value).second);
  }
  nemesis.join();
  CHECK(failed == 0);
  CHECK(w.server.info("cmdstat_fcall").find("failed_calls=0") ==
        std::string::npos);  // it was asked for functions it had lost
  CHECK(list(w).size() == 3 * rounds);
  audit(w);
}

TEST_CASE("An idle connection that was closed is noticed before anything is sent", "[redis]") {
  fault_world w;
  for (int i = 0; i < 50; ++i) {
    REQUIRE(w.server.command({"CLIENT", "KILL", "TYPE", "normal"}).integer > 0);
    CHECK(put(w, {.id = "j" + std::to_string(i)}) == errc::none);
  }
  audit(w);
}

TEST_CASE("Connections closed while they are used are answered truthfully", "[redis]") {
  fault_world w;
  constexpr int rounds = 400;
  std::atomic<int> round{0};
  long long closed = 0;
  std::thread nemesis([&] {
    for (int seen = 0; seen < rounds; seen = round)
      if (round > seen) closed += w.server.command({"CLIENT", "KILL", "TYPE", "normal"}).integer;
  });
  std::map<std::string, errc> said;
  while (round < rounds) {
    REQUIRE(eventually([&] { return w.store().ready().ok(); }));
    ++round;
    const auto id = "j" + std::to_string(round);
    const auto got = answer_of(w.store(), enqueue_of(id));
    const auto* stored = std::get_if<storage::enqueue_answer>(&got);
    said[id] = stored ? stored->each.at(0) : code_of(got);
  }
  nemesis.join();
  CHECK(closed > 0);
  w.reopen();
  int lost = 0, unknown = 0;
  for (const auto& [id, code] : said) {
    INFO(id << ' ' << name_of(code));
    CHECK((code == errc::none || is_away(code)));
    if (code != errc::unknown_outcome) CHECK(is_there(w, id) == (code == errc::none));
    lost += code != errc::none;
    unknown += code == errc::unknown_outcome;
    CHECK(put(w, {.id = id}) == errc::none);
  }
  CHECK(list(w).size() == rounds);
  WARN(lost << " of 400 were not acknowledged, " << unknown << " of these unknown");
  audit(w);
}

TEST_CASE("A full Redis refuses new jobs at once and lets go on what is there", "[redis]") {
  fault_world w;
  put_all(w, {"settled", "retried", "renewed", "lost", "failed", "removed"});
  const auto running = jobs_of(claim(w, {.free = 6}));
  REQUIRE(running.size() == 6);
  REQUIRE(settle(w, running[4], how::failed) == errc::none);
  put_all(w, {"waiting", "next"});
  REQUIRE(put(w, {.id = "due", .delay = 10s}) == errc::none);
  const auto beside = client_of(w.server.url(), 10s);

  w.server.command({"CONFIG", "SET", "maxmemory", "1"});
  CHECK(put(w, {.id = "new"}) == errc::storage_full);
  auto c = client_of(w.server.url(), 10s);
  const auto from = steady_clock::now();
  CHECK(enqueue(c, "new") == errc::storage_full);
  CHECK(seconds_since(from) < 5);  // it does not ask again until its 10 s are over
  CHECK(!is_there(w, "new"));

  CHECK(settle(w, running[0]) == errc::none);
  CHECK(settle(w, running[1], how::retry, 5s) == errc::none);
  CHECK(renew(w, running[2], 1h) == errc::none);
  CHECK(ids(claim(w)) == names{"waiting"});
  CHECK(ids(ask(w, storage::settle_request{{}, claiming({.free = 1})}).next) == names{"next"});
  CHECK(remove(w, "removed").code == errc::none);
  CHECK(requeue(w, "failed").code == errc::none);
  w.clock.advance(31s);
  CHECK(promote(w).moved == 2);
  CHECK(reap(w, expired(w).leases).each == std::vector<errc>(3, errc::none));
  CHECK(get(w, "lost").losses == 1);
  CHECK(get(w, "settled").state == job_state::succeeded);
  server_info info;
  info.id = server_id("s1");
  info.name = "s1";
  beat(w, info);
  CHECK(servers(w).size() == 1);
  pause(w, "default");
  pause(w, "default", false);
  leave(w, info.id);
  storage::prune_request prune;
  prune.retention.succeeded.count = 0;
  prune.retention.deleted.count = 0;
  CHECK(ask(w, prune).removed == 2);
  w.reopen();  // one who comes meanwhile may work, too
  CHECK(claim(w, {.free = 2}).jobs.size() == 2);
  audit(w);

  w.server.command({"CONFIG", "SET", "maxmemory", "0"});
  CHECK(put(w, {.id = "new"}) == errc::none);
  CHECK(enqueue(c, "newer") == errc::none);
  audit(w);
}

TEST_CASE("A full Redis refuses each call that needs room and no other", "[redis]") {
  const redis_server redis;
  const auto& known = storage::machine::current_library();
  REQUIRE_FALSE(redis.command({"FUNCTION", "LOAD", known.for_redis("tried")}).is_error());
  REQUIRE_FALSE(redis.command({"CONFIG", "SET", "maxmemory", "1"}).is_error());
  for (std::size_t i = 0; i < storage::machine::verb_count; ++i) {
    const auto verb = static_cast<storage::machine::verb>(i);
    const auto said = redis.command({"FCALL", known.name_of(verb, "tried"), "1", "{full}", "", ""}).text;
    CAPTURE(storage::machine::about(verb).name, said);
    CHECK(said.starts_with("OOM") == storage::machine::needs_room(verb));
  }
}

TEST_CASE("Hints that come while one is worked on become one", "[redis]") {
  redis_server redis;
  std::atomic<int> called{0};
  gate g;
  g.set(false);
  const auto listens =
      storage::redis::listen(*storage::redis::parse_url(redis.url()), "me", [&](const storage::hint& one) {
        ++called;
        if (!one.all_queues) g.pass(1);
        if (one.queues.contains("last")) g.pass(1);
      });
  REQUIRE(eventually([&] { return called > 0; }));  // it listens
  const auto publish = [&](const std::string& queue) { redis.command({"PUBLISH", "{sluice}:work", "you " + queue}); };
  publish("first");
  g.wait_entered(1);
  for (int i = 0; i < 200; ++i)
    publish("q" + std::to_string(i % 5));
  publish("me default");
  publish("last");
  g.set(true);
  g.wait_entered(3);
  CHECK(called <= 10);
}

TEST_CASE("A replica is no store", "[redis]") {
  redis_server master({.tcp = true});
  redis_server replica({.replica_of = local_at(master.port())});
  const auto why = refused_open(replica.url());
  CHECK(why.code == errc::storage_unavailable);
  CHECK(why.message.find("not a master") != std::string::npos);
}

TEST_CASE("A master that becomes a replica is used no more and nothing stale is read for a claim", "[redis]") {
  fault_world w;
  redis_server other({.tcp = true});
  put_all(w, {"a", "b"});
  const auto a = claim_one(w);
  REQUIRE(!w.server.command({"REPLICAOF", "127.0.0.1", std::to_string(other.port())}).is_error());
  SECTION("a claim") { CHECK(refusal(w, claiming({.free = 5})) == errc::storage_unavailable); }
  SECTION("a claim where nothing waits") {
    CHECK(refusal(w, claiming({.free = 5, .queue = "empty"})) == errc::storage_unavailable);
  }
  SECTION("a settle") {
    CHECK(refusal(w, storage::settle_request{{ended(a, how::succeeded)}, {}}) == errc::storage_unavailable);
  }
  SECTION("a renewal") { CHECK(refusal(w, storage::renew_request{{run_of(a)}, 30s}) == errc::storage_unavailable); }
  SECTION("an enqueue") { CHECK(refusal(w, enqueue_of("c")) == errc::storage_unavailable); }
  // From now on it is not even asked.
  CHECK(eventually([&] { return refusal(w, storage::queues_request{}) == errc::storage_unavailable; }));
  REQUIRE(!w.server.command({"REPLICAOF", "NO", "ONE"}).is_error());
  CHECK(eventually([&] { return refusal(w, enqueue_of("d")) == errc::none; }));
  CHECK(is_there(w, "d"));
}

TEST_CASE("A Redis that cannot be used is refused with the reason in bounded time", "[redis]") {
  SECTION("a wrong password, which is not shown") {
    redis_server server({.password = "right4711"});
    const auto why = refused_open(redis_url(unix_at(server.socket()), 0, "wrong0815"));
    CHECK(why.message.find("WRONGPASS") != std::string::npos);
    CHECK(why.message.find("wrong0815") == std::string::npos);
    CHECK(refused_open(redis_url(unix_at(server.socket()))).message.find("NOAUTH") != std::string::npos);
    CHECK(storage::open_store(server.url()).ok());
  }
  SECTION("one that throws jobs away") {
    redis_server server;
    server.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    const auto why = refused_open(server.url());
    CHECK(why.code == errc::invalid_argument);
    CHECK(why.message.find("noeviction") != std::string::npos);
    server.command({"CONFIG", "SET", "maxmemory-policy", "volatile-lru"});  // our keys do not expire
    CHECK(storage::open_store(server.url()).ok());
  }
  SECTION("a newer layout") {
    fault_world w;
    w.server.command({"SET", "{sluice}:schema", "99"});
    CHECK(refused_open(w.server.url()).code == errc::storage_newer);
    w.server.command({"CLIENT", "KILL", "TYPE", "normal"});
    CHECK(refusal(w, enqueue_of("a")) == errc::storage_newer);
    w.server.command({"SET", "{sluice}:schema", "5"});
    CHECK(eventually([&] { return refusal(w, enqueue_of("a")) == errc::none; }));
  }
  SECTION("another layout, which comes while servers are connected") {
    fault_world w;
    put_all(w, {"a"});
    w.server.command({"SET", "{sluice}:schema", "99"});
    CHECK(refusal(w, enqueue_of("b")) == errc::storage_newer);
    CHECK(refusal(w, claiming({.free = 1})) == errc::storage_newer);
    w.server.command({"SET", "{sluice}:schema", "3"});  // of before the first release
    CHECK(refusal(w, storage::queues_request{}) == errc::storage_older);
    w.server.command({"SET", "{sluice}:schema", "what is this"});
    CHECK(refusal(w, storage::queues_request{}) == errc::storage_damaged);
    w.server.command({"SET", "{sluice}:schema", "5"});
    CHECK(ids(claim(w)) == names{"a"});
  }
  SECTION("a port where something else speaks") {
    other_server http("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    const auto why = refused_open(redis_url(local_at(http.start())));
    CHECK(why.code == errc::storage_unavailable);
    CHECK(why.message.find("not the Redis protocol") != std::string::npos);
  }
  SECTION("a port where something says yes to everything") {
    std::string always;
    for (int i = 0; i < 200; ++i)
      always += "+OK\r\n";
    other_server yes(always);
    const auto why = refused_open(redis_url(local_at(yes.start())));
    CHECK(why.code == errc::invalid_argument);
    CHECK(why.message.find("is no Redis") != std::string::npos);
  }
  SECTION("a port where nobody answers") {
    other_server silent("");
    const auto why = refused_open(redis_url(local_at(silent.start())));
    CHECK(why.code == errc::storage_unavailable);
    CHECK(why.message.find("no answer in time") != std::string::npos);
  }
  SECTION("a port where nobody listens") {
    const auto why = refused_open(redis_url(local_at(free_port())), 1);
    CHECK(why.code == errc::storage_unavailable);
    CHECK(why.message.find("refused") != std::string::npos);
  }
  SECTION("a socket that is not there") {
    temp_dir folder;
    CHECK(refused_open(redis_url(unix_at(folder.file("none.sock"))), 1).code == errc::storage_unavailable);
  }
  SECTION("sentinels that are not there") {
    const auto url = "redis+sentinel://127.0.0.1:" + std::to_string(free_port()) + "/jobs/0";
    CHECK(refused_open(url, 1).code == errc::storage_unavailable);
  }
}

TEST_CASE("A node of a cluster that has not the slot of a store says which one to name", "[redis]") {
  const auto node = [] {
    return redis_options{.tcp = true,
                         .extra_args = {"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port())}};
  };
  redis_server one(node());
  CHECK(refused_open(one.url()).message.find("does not serve the slot of this store") != std::string::npos);
  CHECK(refused_open(one.url(1)).message.find("end the URL with /0") != std::string::npos);
  const auto options = node();
  redis_server other(options);
  REQUIRE(!other.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}).is_error());
  REQUIRE(!one.command({"CLUSTER", "MEET", "127.0.0.1", std::to_string(other.port()), options.extra_args.back()})
               .is_error());
  REQUIRE(eventually([&] { return one.command({"GET", "{sluice}:schema"}).text.starts_with("MOVED"); }));
  const auto told = cat("redirections are not followed: name 127.0.0.1:", other.port(), " in the URL");
  CHECK(refused_open(one.url()).message.find(told) != std::string::npos);
  const auto looked = storage::open_store(one.url(), nullptr, open_mode::read_only);
  REQUIRE(!looked.ok());
  CHECK(looked.error().message.find(told) != std::string::npos);
  REQUIRE(eventually([&] { return storage::open_store(other.tcp_url()).ok(); }));
}

TEST_CASE("What Redis refuses is told with what helps") {
  using storage::redis::help_with;
  CHECK(help_with("MOVED 59 :17061").find("name port 17061 of the same host in the URL") != std::string::npos);
  CHECK(help_with("MOVED 59 [::1]:17061").find("name [::1]:17061 in the URL") != std::string::npos);
  CHECK(help_with("MOVED 59 ::1:17061").find("name [::1]:17061 in the URL") != std::string::npos);
  CHECK(help_with("MOVED 59 fd00::5:7000").find("name [fd00::5]:7000 in the URL") != std::string::npos);
  CHECK(help_with("MOVED 59").find("name the node that has it in the URL") != std::string::npos);
  CHECK(help_with("ASK 59 10.0.0.1:6379").find("name 10.0.0.1:6379 in the URL once it has moved") != std::string::npos);
  CHECK(help_with("CROSSSLOT Keys in request don't hash to the same slot").find("name the node") != std::string::npos);
  CHECK(help_with("MOVEDX").empty());
  CHECK(help_with("").empty());
}

TEST_CASE("An error of a Redis names the server that it is of", "[redis]") {
  fault_world w;
  REQUIRE(!w.server.command({"ACL", "SETUSER", "default", "-fcall"}).is_error());
  const auto refused = answer_of(w.store(), storage::queues_request{});
  REQUIRE(std::holds_alternative<error>(refused));
  CHECK(std::get<error>(refused).message.starts_with(cat("Redis at ", w.server.socket(), ": NOPERM")));
}

TEST_CASE("What Redis promises to keep is read from its settings", "[redis]") {
  const auto [appendonly, promised] = GENERATE(table<std::string, durability>(
      {{"no", durability::volatile_}, {"everysec", durability::crash_safe}, {"always", durability::power_safe}}));
  fault_world w({.appendonly = appendonly});
  CHECK(w.store().durability() == promised);
}

TEST_CASE("A Redis that syncs nothing while it saves promises nothing", "[redis]") {
  fault_world w({.appendonly = "always"});
  REQUIRE_FALSE(w.server.command({"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"}).is_error());
  w.reopen();
  CHECK(w.store().durability() == durability::volatile_);
  CHECK(w.store().settings().find("nothing is synced while Redis saves") != std::string::npos);
}

TEST_CASE("A Redis that stands still is answered for by the deadline, and what was asked happens once", "[redis]") {
  redis_server server;
  auto c = client_of(server.url(), 1500ms);
  REQUIRE(enqueue(c, "before") == errc::none);
  log_lines log;
  server.stop_process();
  const auto from = steady_clock::now();
  const double used = cpu_seconds();
  const names all = {"a", "b", "c", "d", "e", "f"};
  for (const auto& id : all) {
    const auto asked = steady_clock::now();
    const auto code = enqueue(c, id);
    INFO(id << ' ' << name_of(code));
    CHECK(is_away(code));
    CHECK(seconds_since(asked) < 4.5);  // 1.5 s, and not the store's own 5 s
  }
  CHECK((cpu_seconds() - used) / seconds_since(from) < 0.5);
  WARN("processor while it stood still: " << (cpu_seconds() - used) / seconds_since(from) << " of a core, log lines "
                                          << log.lines().size());
  CHECK(log.lines().size() < 20);
  server.continue_process();
  for (const auto& id : all)
    CHECK(eventually([&] { return enqueue(c, id) == errc::none; }));
  world w(server.url());
  CHECK(list(w).size() == all.size() + 1);
  CHECK(counts(w).enqueued == all.size() + 1);
  audit(w);
}

namespace {

// One way of a connection, cut behind its k-th byte.
struct sweep {
  int done = 0, unknown = 0, unavailable = 0, other = 0;
  void count(errc code) {
    done += code == errc::none;
    unknown += code == errc::unknown_outcome;
    unavailable += code == errc::storage_unavailable;
    other += code != errc::none && code != errc::unknown_outcome && code != errc::storage_unavailable;
  }
};

// How many bytes a request or its answer is.
std::uint64_t length_of(proxied_world& w, direction way, const storage::request& r) {
  const auto before = w.proxy.bytes(way);
  REQUIRE(code_of(answer_of(w.store(), r)) == errc::none);
  return w.proxy.bytes(way) - before;
}

}  // namespace

TEST_CASE("A settle that is cut off at any byte is told truthfully and asked again has one outcome", "[redis]") {
  const auto way = GENERATE(direction::to_server, direction::to_client);
  proxied_world w;
  const auto from = steady_clock::now();
  // Each round settles the job of the round before and claims the next in the same step.
  REQUIRE(put(w.beside, {.id = "j10000"}) == errc::none);
  auto running = claim_one(w.beside);
  int n = 10'000;
  const auto round = [&] {
    REQUIRE(put(w.beside, {.id = "j" + std::to_string(++n)}) == errc::none);
    return storage::settle_request{{ended(running, how::succeeded)}, claiming({.free = 1})};
  };
  length_of(w, way, round());  // Redis has the script from now on
  running = get(w.beside, "j" + std::to_string(n));
  const auto first = round();
  const auto length = length_of(w, way, first);
  running = get(w.beside, "j" + std::to_string(n));

  sweep seen;
  for (std::uint64_t k = 0; k <= length; ++k) {
    CAPTURE(k, length);
    const auto r = round();
    w.proxy.cut_after(way, k);
    const auto said = answer_of(w.store(), r);
    w.proxy.heal();
    const auto code = code_of(said);
    seen.count(code);
    const auto id = running.id.value;
    if (code == errc::storage_unavailable) REQUIRE(get(w.beside, id).state == job_state::processing);
    if (code == errc::none) REQUIRE(get(w.beside, id).state == job_state::succeeded);

    const auto again = ask_until<storage::settle_answer>(w.store(), r);
    REQUIRE(again.each == std::vector<errc>{errc::none});
    REQUIRE(ids(again.next) == names{"j" + std::to_string(n)});
    if (const auto* once = std::get_if<storage::settle_answer>(&said)) {
      CHECK(once->each == again.each);
      CHECK(portrait(once->next.jobs.at(0).job) == portrait(again.next.jobs.at(0).job));
    }
    const auto ended_job = get(w.beside, id);
    REQUIRE(ended_job.state == job_state::succeeded);
    REQUIRE(ended_job.history.size() == 1);
    running = again.next.jobs.at(0).job;
  }
  CHECK(w.proxy.cuts() >= static_cast<int>(length));
  CHECK(seen.other == 0);
  CHECK(seen.unknown > 0);
  WARN((way == direction::to_server ? "request of " : "answer of ")
       << length << " bytes: done " << seen.done << ", unknown " << seen.unknown << ", not done " << seen.unavailable
       << ", in " << seconds_since(from) << " s");
  CHECK(seconds_since(from) < 30);
  audit(w.beside);
}

TEST_CASE("An enqueue that is cut off at any byte is never told the wrong way round", "[redis]") {
  const auto way = GENERATE(direction::to_server, direction::to_client);
  proxied_world w;
  int n = 10'000;
  length_of(w, way, enqueue_of("first"));  // Redis has the script from now on
  const auto length = length_of(w, way, enqueue_of("j" + std::to_string(n)));
  sweep seen;
  for (std::uint64_t k = 0; k <= length; ++k) {
    CAPTURE(k, length);
    const auto id = "j" + std::to_string(++n);
    w.proxy.cut_after(way, k);
    const auto code = code_of(answer_of(w.store(), enqueue_of(id)));
    w.proxy.heal();
    seen.count(code);
    // A request that was on its way may arrive yet; one that is said not to be stored never does.
    if (code == errc::none) REQUIRE(is_there(w.beside, id));
    if (code == errc::storage_unavailable) REQUIRE(!is_there(w.beside, id));
    REQUIRE(ask_until<storage::enqueue_answer>(w.store(), enqueue_of(id)).each == std::vector<errc>{errc::none});
  }
  CHECK(w.proxy.cuts() >= static_cast<int>(length));
  CHECK(seen.other == 0);
  CHECK(counts(w.beside).enqueued == length + 3);
  audit(w.beside);
}

TEST_CASE("A connection that drips or says nothing does not stretch a deadline", "[redis]") {
  proxied_world w;
  auto c = client_of(w.proxy.tcp_url(), 1500ms);
  REQUIRE(enqueue(c, "before") == errc::none);
  const auto fault = GENERATE(0, 1, 2, 3);
  if (fault == 0) w.proxy.drip(direction::to_client, 1, 300ms);
  if (fault == 1) w.proxy.drip(direction::to_server, 1, 300ms);
  if (fault == 2) w.proxy.black_hole(true);
  if (fault == 3) w.proxy.refuse(true), w.proxy.cut_all();
  CAPTURE(fault);
  for (const auto* id : {"a", "b", "c"}) {
    const auto from = steady_clock::now();
    CHECK(is_away(enqueue(c, id)));
    CHECK(seconds_since(from) < 4.5);
  }
  // The store's own deadline, for those who have none; a short answer may have dripped in by then.
  const auto from = steady_clock::now();
  const auto code = code_of(answer_of(w.store(), enqueue_of("d")));
  CHECK((is_away(code) || (fault == 0 && code == errc::none)));
  CHECK(seconds_since(from) < 10);
  w.proxy.heal();
  for (const auto* id : {"a", "b", "c"})
    CHECK(eventually([&] { return enqueue(c, id) == errc::none; }));
  ask_until<storage::enqueue_answer>(w.store(), enqueue_of("d"));
  CHECK(counts(w.beside).enqueued == 5);
  audit(w.beside);
}

TEST_CASE("Fences grow over a restart of Redis and over the loss of all that it held", "[redis]") {
  redis_server server({.appendonly = "always"});
  auto opened = storage::open_store(server.url());  // by the clock of Redis
  REQUIRE(opened.ok());
  auto& s = **opened;
  const auto start_one = [&](const std::string& id) {
    ask_until<storage::enqueue_answer>(s, enqueue_of(id));
    const auto got = ask_until<storage::claim_answer>(s, claiming({.free = 1}));
    REQUIRE(ids(got) == names{id});
    return got.jobs.at(0).job;
  };
  const auto settle_code = [&](const job& j) {
    return ask_until<storage::settle_answer>(s, storage::settle_request{{ended(j, how::succeeded)}, {}}).each.at(0);
  };
  std::vector<job> jobs{start_one("a")};
  for (int i = 0; i < 3; ++i) {
    server.restart();
    jobs.push_back(start_one("b" + std::to_string(i)));
    CHECK(jobs.back().fence.value > jobs[jobs.size() - 2].fence.value);
  }
  CHECK(settle_code(jobs[0]) == errc::none);
  server.command({"FLUSHALL"});
  CHECK(settle_code(jobs[1]) == errc::stale_fence);
  jobs.push_back(start_one("a"));
  CHECK(jobs.back().fence.value > jobs[jobs.size() - 2].fence.value);
  CHECK(settle_code(jobs[0]) == errc::stale_fence);
  CHECK(settle_code(jobs.back()) == errc::none);
  CHECK(s.audit().value() == names{});
}

TEST_CASE("The audit looks at nothing that stands under another prefix", "[redis]") {
  fault_world w;
  put_all(w, {"a"});
  for (const auto* key : {"{sluice2}:orphan", "{sluice}", "sluice:orphan", "orphan", "x{sluice}:orphan"})
    REQUIRE(!w.server.command({"SET", key, "x"}).is_error());
  CHECK(w.store().audit().value() == names{});
}

TEST_CASE("A job whose end was stored and never answered is run by nobody again", "[redis]") {
  proxied_world w;
  REQUIRE(settle(w, started(w, "before")) == errc::none);  // else the first byte cut is of the script being loaded
  const auto j = started(w.beside, "a");
  w.proxy.cut_after(direction::to_client, 0);
  CHECK(refusal(w, storage::settle_request{{ended(j, how::succeeded)}, {}}) == errc::unknown_outcome);
  // Its server is killed before it asks again.
  w.beside.clock.advance(1h);
  CHECK(expired(w.beside).leases.empty());
  CHECK(claim(w.beside).jobs.empty());
  const auto after = get(w.beside, "a");
  CHECK(after.state == job_state::succeeded);
  CHECK(after.history.size() == 1);
  audit(w.beside);
}

TEST_CASE("A Redis that is killed and syncs every second has what it was told two seconds before", "[redis]") {
  fault_world w({.appendonly = "everysec"});
  names early;
  for (int i = 0; i < 100; ++i)
    early.push_back(cat("early", i));
  put_all(w, early);
  const auto from = steady_clock::now();
  int late = 0;
  CHECK(eventually([&] {
    CHECK(put(w, {.id = cat("late", late++)}) == errc::none);
    return seconds_since(from) > 2.5;
  }));
  w.server.restart();
  w.reopen();
  for (const auto& id : early)
    CHECK(is_there(w, id));
  audit(w);
  CHECK(put(w, {.id = "after"}) == errc::none);
}

TEST_CASE("A Redis that is killed in the middle of a step has all of it or nothing", "[redis]") {
  constexpr std::uint64_t count = 5'000;
  int parts = 0, interrupted = 0;
  for (const auto after : {1ms, 3ms, 6ms, 10ms, 15ms, 25ms}) {
    CAPTURE(after.count());
    fault_world w({.appendonly = "always"});
    const auto queue = cat("q", after.count());
    storage::enqueue_request r;
    for (std::uint64_t i = 0; i < count; ++i)
      r.jobs.push_back(prepared({.id = cat(queue, ".", i), .queue = queue}));
    const storage::request step = std::move(r);
    std::atomic<bool> asked{false};
    std::thread nemesis([&] {
      while (!asked)
        std::this_thread::yield();
      const auto from = steady_clock::now();
      while (steady_clock::now() - from < after)
        std::this_thread::yield();
      w.server.kill();
    });
    asked = true;
    const auto code = refusal(w, step);
    nemesis.join();
    w.server.start();
    w.reopen();
    const auto stored = counts(w, queue).enqueued;
    CHECK(stored % storage::machine::jobs_a_call == 0);  // each of these is a step
    if (code == errc::none) CHECK(stored == count);
    else CHECK(is_away(code));
    parts += stored > 0 && stored < count;
    interrupted += code != errc::none;
    audit(w);
  }
  CHECK(interrupted > 0);
  WARN(parts << " of 6 times some steps were there and others not");
}

TEST_CASE("A Redis that still loads is away, and has all once it has loaded", "[redis]") {
  fault_world w({.appendonly = "always", .extra_args = {"--key-load-delay", "400"}});
  constexpr int jobs = 1'000;  // one at a time: Redis answers now and then while it loads many commands
  for (int i = 0; i < jobs; ++i)
    REQUIRE(put(w, {.id = cat("j", i)}) == errc::none);
  w.server.kill();
  std::thread restart([&] { w.server.start(); });
  int loading = 0;
  CHECK(eventually([&] {
    const auto got = answer_of(w.store(), enqueue_of("new"));
    const auto* why = std::get_if<error>(&got);
    if (!why) return true;
    CHECK(is_away(why->code));
    loading += why->message.find("is loading") != std::string::npos;
    return false;
  }));
  restart.join();
  CHECK(loading > 0);
  CHECK(counts(w).enqueued == jobs + 1);
  audit(w);
}

TEST_CASE("A Redis that somebody's script keeps busy is asked again and that script is left alone", "[redis]") {
  fault_world w({.extra_args = {"--lua-time-limit", "100"}});
  REQUIRE(put(w, {.id = "a"}) == errc::none);
  redis_reply ended_by;
  std::thread somebody([&] { ended_by = w.server.command({"EVAL", "while true do end", "0"}); });
  CHECK(eventually([&] { return refusal(w, enqueue_of("b")) == errc::storage_busy; }));
  for (int i = 0; i < 10; ++i)
    CHECK(is_away(refusal(w, enqueue_of("c"))));
  CHECK(w.server.command({"SCRIPT", "KILL"}).text == "OK");  // it runs still
  somebody.join();
  CHECK(ended_by.is_error());
  CHECK(eventually([&] { return refusal(w, enqueue_of("c")) == errc::none; }));
  CHECK(is_there(w, "a"));
  audit(w);
}

TEST_CASE("A Redis that cannot write its file takes nothing and all goes on when it can", "[redis]") {
  fault_world w;
  put_all(w, {"a", "b"});
  const auto a = claim_one(w);
  const auto folder = w.server.command({"CONFIG", "GET", "dir"}).elements.at(1).text;
  const auto saved = [&](const char* how_it_went) {
    REQUIRE(!w.server.command({"BGSAVE"}).is_error());
    REQUIRE(eventually([&] {
      return w.server.info("rdb_bgsave_in_progress") == "0" && w.server.info("rdb_last_bgsave_status") == how_it_went;
    }));
  };
  w.server.command({"CONFIG", "SET", "save", "3600 1"});
  std::filesystem::create_directory(folder + "/dump.rdb");
  saved("err");
  const auto more = answer_of(w.store(), enqueue_of("c"));
  const auto* each = std::get_if<storage::enqueue_answer>(&more);
  CHECK((each ? each->each.at(0) : code_of(more)) == errc::storage_unavailable);
  CHECK(refusal(w, claiming({.free = 1})) == errc::storage_unavailable);
  CHECK(refusal(w, storage::settle_request{{ended(a, how::succeeded)}, {}}) == errc::storage_unavailable);
  CHECK(refusal(w, storage::renew_request{{run_of(a)}, 30s}) == errc::storage_unavailable);
  CHECK(get(w, "a").state == job_state::processing);
  audit(w);
  std::filesystem::remove(folder + "/dump.rdb");
  saved("ok");
  CHECK(settle(w, a) == errc::none);
  CHECK(put(w, {.id = "c"}) == errc::none);
  CHECK(ids(claim(w, {.free = 2})) == names{"b", "c"});
  audit(w);
}

TEST_CASE("A Redis whose append-only file lost its tail has whole steps of it", "[redis]") {
  const auto lost = GENERATE(1, 9, 120, 700);
  CAPTURE(lost);
  namespace fs = std::filesystem;
  fault_world w({.appendonly = "always"});
  for (int i = 0; i < 20; ++i)
    REQUIRE(put(w, {.id = cat("j", i)}) == errc::none);
  const auto running = jobs_of(claim(w, {.free = 3}));
  REQUIRE(settle(w, running.at(0)) == errc::none);
  const auto folder = w.server.command({"CONFIG", "GET", "dir"}).elements.at(1).text;
  w.server.kill();
  fs::path last;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".aof" && (last.empty() || entry.file_size() > fs::file_size(last)))
      last = entry.path();
  REQUIRE(!last.empty());
  fs::resize_file(last, fs::file_size(last) - static_cast<std::uintmax_t>(lost));
  w.server.start();
  w.reopen();
  audit(w);
  CHECK(get(w, "j0").state != job_state::succeeded);  // its end was the last step
  CHECK(put(w, {.id = "after"}) == errc::none);
  audit(w);
  // Redis may have left the beginning of a cut step in its file, which the next restart would take for a part of the
  // step behind it: the file is to be written anew first.
  REQUIRE(!w.server.command({"BGREWRITEAOF"}).is_error());
  REQUIRE(eventually([&] {
    const auto info = w.server.command({"INFO", "persistence"}).text;
    return info.find("aof_rewrite_in_progress:0") != std::string::npos &&
           info.find("aof_rewrite_scheduled:0") != std::string::npos;
  }));
  w.server.restart();
  w.reopen();
  CHECK(is_there(w, "after"));
  audit(w);
}

TEST_CASE("A user who may not run a command that the rules use is refused at connect with its name", "[redis]") {
  fault_world w;
  const std::string commands[] = {"hset", "zadd", "hdel", "unlink", "zscan", "time"};
  for (const auto& command : commands) {
    REQUIRE(!w.server.command({"ACL", "SETUSER", "default", "-" + command}).is_error());
    auto name = command;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    const auto why = refused_open(w.server.url()).message;
    CAPTURE(why);
    CHECK(why.find("may not run " + name + ",") != std::string::npos);
    REQUIRE(!w.server.command({"ACL", "SETUSER", "default", "+@all"}).is_error());
  }
  CHECK(put(w, {.id = "a"}) == errc::none);
}

TEST_CASE("A user with the rights that the documentation lists does all that a server does", "[redis]") {
  fault_world w;
  std::ifstream in(source_path("docs/store_layout.md"));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> words{"ACL",   "SETUSER", "default",     "resetkeys", "resetchannels", "-@all",
                                 "+auth", "+hello",  "~{sluice}:*", "~{sluice}", "&{sluice}:work"};
  const auto from = text.find("An ACL user needs"), to = text.find("Who writes is asked", from);
  REQUIRE(to != std::string::npos);
  static const std::regex command("[A-Z]{3,}(\\|[A-Z]+)?");
  for (auto at = std::sregex_iterator(text.begin() + static_cast<std::ptrdiff_t>(from) + 17,
                                      text.begin() + static_cast<std::ptrdiff_t>(to), command);
       at != std::sregex_iterator(); ++at)
    if (at->str() != "PREFIX" && at->str() != "ACL") words.push_back("+" + at->str());
  REQUIRE(!w.server.command(words).is_error());
  w.reopen();
  put_all(w, {"a", "b"});
  CHECK(settle(w, claim_one(w)) == errc::none);
  CHECK(requeue(w, "a").code == errc::none);
  CHECK(w.store().audit().ok());
}

TEST_CASE("A user who may not load a library uses the one that is there and is told where there is none", "[redis]") {
  fault_world w;
  REQUIRE(!w.server.command({"ACL", "SETUSER", "default", "-function|load"}).is_error());
  w.reopen();
  CHECK(put(w, {.id = "a"}) == errc::none);
  REQUIRE_FALSE(w.server.command({"FUNCTION", "FLUSH"}).is_error());
  const auto why = refused_open(w.server.url()).message;
  CAPTURE(why);
  CHECK(why.find("function|load") != std::string::npos);
  CHECK(refusal(w, enqueue_of("b")) == errc::storage_unavailable);
  REQUIRE(!w.server.command({"ACL", "SETUSER", "default", "+@all"}).is_error());
  CHECK(put(w, {.id = "b"}) == errc::none);
  audit(w);
}

TEST_CASE("A Redis that lets nobody run scripts or has no place for us is refused with the reason", "[redis]") {
  fault_world w;
  SECTION("no scripts") {
    REQUIRE(!w.server.command({"ACL", "SETUSER", "default", "-@scripting"}).is_error());
    CHECK(refused_open(w.server.url()).message.find("NOPERM") != std::string::npos);
    CHECK(refusal(w, enqueue_of("a")) == errc::storage_unavailable);
    REQUIRE(!w.server.command({"ACL", "SETUSER", "default", "+@all"}).is_error());
  }
  SECTION("no place") {
    REQUIRE(!w.server.command({"CONFIG", "SET", "maxclients", "1"}).is_error());  // the store's own
    const auto why = refused_open(w.server.url());
    CHECK(why.code == errc::storage_unavailable);
    CHECK(why.message.find("max number of clients") != std::string::npos);
  }
  CHECK(put(w, {.id = "a"}) == errc::none);
}

TEST_CASE("A Redis whose file can grow no more ends and has all that it acknowledged", "[redis]") {
  fault_world w({.appendonly = "always"});
  const rlimit most{500'000, 500'000};  // the library is in it
  REQUIRE(::prlimit(w.server.pid(), RLIMIT_FSIZE, &most, nullptr) == 0);
  names acknowledged;
  errc code = errc::none;
  for (int i = 0; i < 5'000 && code == errc::none; ++i) {
    const auto id = cat("j", i);
    code = refusal(w, enqueue_of(id));
    if (code == errc::none) acknowledged.push_back(id);
  }
  CHECK(is_away(code));
  CHECK(eventually([&] { return !w.server.alive(); }));
  w.server.start();
  w.reopen();
  REQUIRE(acknowledged.size() > 10);
  for (const auto& id : acknowledged)
    CHECK(is_there(w, id));
  audit(w);
}
