// Redis over TLS: what is kept, whom it trusts, and what a server that is not trusted gets to know.
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>

#include <atomic>

#include "storage/contract.hpp"
#include "storage/redis/listener.hpp"
#include "support/certificates.hpp"
#include "support/fault_proxy.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string password = "hunter2hunter2";

// A resolver that keeps the look-up of one name waiting.
const std::string silent_host = "silent.invalid";
std::atomic<bool> is_silent{true};
void resolver_answers() {
  is_silent = false;
  is_silent.notify_all();
}

// A Redis that speaks TLS on a port of its own; its test talks to it by its socket.
struct tls_redis {
  certificate_authority authority;
  int port = free_port();
  std::optional<redis_server> server;

  explicit tls_redis(const std::string& clients = "no", const std::string& hosts = "DNS:localhost,IP:127.0.0.1") {
    authority.sign("server", hosts);
    redis_options o;
    o.password = password;
    o.extra_args = {"--tls-port",         std::to_string(port),
                    "--tls-cert-file",    authority.cert("server"),
                    "--tls-key-file",     authority.key("server"),
                    "--tls-ca-cert-file", authority.ca(),
                    "--tls-auth-clients", clients};
    server.emplace(std::move(o));
  }

  std::string url(const std::string& more = "", const std::string& host = "127.0.0.1", int at = 0) const {
    return cat("rediss://:", password, "@", host, ":", at == 0 ? port : at, "/0?ca=", authority.ca(), more);
  }
};

std::string why_not(const std::string& url) {
  const auto opened = storage::open_store(url);
  REQUIRE(!opened);
  const auto& why = opened.error().message;
  const bool is_refused = why.find("WRONGPASS") != std::string::npos || why.find("NOAUTH") != std::string::npos;
  CHECK(opened.error().code == (is_refused ? errc::invalid_argument : errc::storage_unavailable));
  CHECK(opened.error().message.find(password) == std::string::npos);
  return opened.error().message;
}

bool says(const std::string& text, const std::vector<std::string>& parts) {
  UNSCOPED_INFO(text);
  return std::all_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

}  // namespace

// In place of the C library's.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  if (host && host == silent_host) is_silent.wait(true);
  static const auto real = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(host, service, hints, found);
}

TEST_CASE("Jobs of all sizes go to a Redis over TLS and come back", "[redis]") {
  const tls_redis redis;
  const auto* host = GENERATE("127.0.0.1", "localhost");
  world w(redis.url("", host));
  const auto args_of = [](int i) { return i % 2 == 0 ? std::string("{}") : '"' + std::string(900'000, 'x') + '"'; };
  std::vector<prepared_job> many;
  for (int i = 0; i < 20; ++i)
    many.push_back(prepared({.id = cat("j", i), .args = args_of(i)}));
  for (const auto code : ask(w, storage::enqueue_request{many}).each)
    REQUIRE(code == errc::none);
  for (int i = 0; i < 20; ++i)
    CHECK(get(w, cat("j", i)).args == args_of(i));
  CHECK(ids(claim(w, {.free = 20})).at(1) == "j1");
  audit(w);
}

TEST_CASE("A hint comes over TLS as well", "[redis]") {
  const tls_redis redis;
  std::atomic<bool> heard{false};
  const auto watch =
      storage::redis::listen(*storage::redis::parse_url(redis.url()), "me", [&](const storage::hint& one) {
        if (one.queues.contains("default")) heard = true;
      });
  world w(redis.url());
  int n = 0;
  CHECK(eventually([&] {
    put_all(w, {cat("j", ++n)});
    return heard.load();
  }));
}

TEST_CASE("Without TLS at a port that speaks it the error names rediss", "[redis]") {
  const tls_redis redis;
  CHECK(says(why_not(cat("redis://:", password, "@127.0.0.1:", redis.port)), {"rediss"}));
}

TEST_CASE("A Redis whose certificate is not trusted gets no byte of a password", "[redis]") {
  // The words that it was told by others than this.
  long long own = 0;
  const auto told = [&own](const redis_server& of) {
    return std::stoll(of.info("cmdstat_auth").substr(std::string_view("calls=").size())) - ++own;
  };
  SECTION("signed by another") {
    const tls_redis redis;
    const certificate_authority other;
    const auto before = told(*redis.server);
    const auto why = why_not(cat("rediss://:", password, "@127.0.0.1:", redis.port, "/0?ca=", other.ca()));
    CHECK(says(why, {"its certificate is not accepted", "?ca="}));
    CHECK(says(why_not(cat("rediss://:", password, "@127.0.0.1:", redis.port)), {"?ca="}));
    CHECK(told(*redis.server) == before);
  }
  SECTION("made for another host") {
    const tls_redis redis("no", "DNS:redis.example");
    const auto before = told(*redis.server);
    CHECK(says(why_not(redis.url()), {"its certificate is not accepted", "?tls_name="}));
    CHECK(says(why_not(redis.url("", "localhost")), {"?tls_name="}));
    CHECK(told(*redis.server) == before);
    CHECK(storage::open_store(redis.url("&tls_name=redis.example")).ok());
  }
  SECTION("one that speaks no TLS") {
    const redis_server plain({.tcp = true, .password = password});
    const auto before = told(plain);
    const auto why = why_not(cat("rediss://:", password, "@127.0.0.1:", plain.port()));
    CHECK(says(why, {"TLS"}));
    CHECK(told(plain) == before);
  }
  SECTION("one that says nothing, in bounded time") {
    const auto from = std::chrono::steady_clock::now();
    redis_server silent({.tcp = true});
    silent.stop_process();
    CHECK(says(why_not(cat("rediss://:", password, "@127.0.0.1:", silent.port())), {"TLS handshake"}));
    CHECK(std::chrono::steady_clock::now() - from < 20s);
    silent.continue_process();
  }
}

TEST_CASE("A Redis that asks for a client's certificate gets it", "[redis]") {
  tls_redis redis("yes");
  CHECK(says(why_not(redis.url()), {"certificate required"}));
  redis.authority.sign("client", "DNS:worker");
  const auto with = [&](const std::string& cert, const std::string& key) {
    return redis.url(cat("&cert=", cert, "&key=", key));
  };
  CHECK(storage::open_store(with(redis.authority.cert("client"), redis.authority.key("client"))).ok());
  CHECK(says(why_not(with(redis.authority.cert("client"), redis.authority.key("server"))), {"?key="}));
  const auto locked = redis.authority.key("locked");
  run({"openssl", "ec", "-aes256", "-passout", "pass:x", "-in", redis.authority.key("client"), "-out", locked}, "/tmp");
  REQUIRE(read_file(locked).find("ENCRYPTED") != std::string::npos);
  CHECK(says(why_not(with(redis.authority.cert("client"), locked)), {"?key="}));  // and nobody is asked
  CHECK(says(why_not(with("/nowhere/client.crt", redis.authority.key("client"))), {"/nowhere/client.crt"}));
}

TEST_CASE("An enqueue over TLS that is cut off at any byte is never told the wrong way round", "[redis]") {
  const tls_redis redis;
  const auto way = GENERATE(direction::to_server, direction::to_client);
  fault_proxy proxy(local_at(redis.port));
  world w(redis.url("", "127.0.0.1", proxy.port()));
  world beside(redis.server->url());
  const auto enqueue_of = [](const std::string& id) { return storage::enqueue_request{{prepared({.id = id})}}; };
  const auto answer_to = [&](const storage::request& r) { return w.store().apply({&r, 1}).at(0); };
  put_all(w, {"first"});  // Redis has the script from now on
  bool was_cut = true;
  for (int k = 0; was_cut; k += 7) {
    CAPTURE(k);
    const auto id = cat("j", k);
    proxy.cut_after(way, static_cast<std::uint64_t>(k));
    const auto code = code_of(answer_to(enqueue_of(id)));
    proxy.heal();
    if (code == errc::none) REQUIRE(look(beside, id).code == errc::none);
    if (code == errc::storage_unavailable) REQUIRE(look(beside, id).code != errc::none);
    const auto whole = [&] { return code_of(answer_to(enqueue_of(id))) == errc::none; };
    REQUIRE(eventually(whole));
    was_cut = code != errc::none && k < 4000;
  }
  CHECK_FALSE(was_cut);
  CHECK(proxy.cuts() > 3);  // an answer has some 40 bytes
  audit(beside);
}

TEST_CASE("A password comes from a file or a variable, and is read again at each connect", "[redis]") {
  redis_server server({.tcp = true, .password = password});
  const temp_dir folder;
  const auto file = folder.file("password");
  const auto url = [&](const std::string& more) { return cat("redis://127.0.0.1:", server.port(), "/0?", more); };
  CHECK(says(why_not(url("password_file=" + file)), {file}));
  write_file(file, "\r\n");
  CHECK(says(why_not(url("password_file=" + file)), {file, "has none in its first line"}));
  for (const auto& by_windows : {password + "\r\n", "\xEF\xBB\xBF" + password}) {
    write_file(file, by_windows);
    CHECK(storage::open_store(url("password_file=" + file)).ok());
  }
  write_file(file, password + "\n");
  world w(url("password_file=" + file));
  put_all(w, {"a"});
  server.command({"CONFIG", "SET", "requirepass", "changed4711"});
  write_file(file, "changed4711");
  redis_caller{unix_at(server.socket()), 0, "changed4711"}({"CLIENT", "KILL", "TYPE", "normal"});
  CHECK(eventually([&] {
    const storage::request one = storage::queues_request{};
    return code_of(w.store().apply({&one, 1}).at(0)) == errc::none;
  }));

  CHECK(says(why_not(url("password_variable=SLUICE_TEST_PASSWORD")), {"SLUICE_TEST_PASSWORD is not set"}));
  ::setenv("SLUICE_TEST_PASSWORD", "changed4711", 1);
  CHECK(storage::open_store(url("password_variable=SLUICE_TEST_PASSWORD")).ok());
  ::unsetenv("SLUICE_TEST_PASSWORD");
}

TEST_CASE("Sentinels that want a password are asked with theirs", "[redis]") {
  redis_server server({.tcp = true, .password = password});
  redis_sentinel sentinel("mine", server.port(), password);
  sentinel.command({"CONFIG", "SET", "requirepass", "watchman0815"});
  REQUIRE(!sentinel.command({"ACL", "SETUSER", "default", "on", ">watchman0815"}).is_error());
  const temp_dir folder;
  const auto file = folder.file("password");
  write_file(file, "watchman0815");
  const auto url = [&](const std::string& more) {
    return cat("redis+sentinel://:", password, "@127.0.0.1:", sentinel.port(), "/mine/0", more);
  };
  CHECK(says(why_not(url("")), {"NOAUTH"}));
  CHECK(storage::open_store(url("?sentinel_password_file=" + file)).ok());
  write_file(file, "wrong");
  const auto why = why_not(url("?sentinel_password_file=" + file));
  CHECK(says(why, {"WRONGPASS"}));
}

TEST_CASE("A host's name is looked up by a deadline") {
  SECTION("a name of this machine") {
    const redis_server server({.tcp = true});
    CHECK(storage::open_store(cat("redis://localhost:", server.port())).ok());
  }
  SECTION("a name that nobody has") { CHECK(says(why_not("redis://nobody.invalid"), {"nobody.invalid", "looked up"})); }
  SECTION("a resolver that says nothing") {
    const auto from = std::chrono::steady_clock::now();
    CHECK(says(why_not("redis://" + silent_host), {"looked up", "no answer in time"}));
    CHECK(std::chrono::steady_clock::now() - from < 20s);
    resolver_answers();
  }
}
