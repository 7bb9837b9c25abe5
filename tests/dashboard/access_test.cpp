// Who may ask for what.
#include <chrono>
#include <memory>
#include <mutex>

#include <sluice/log.hpp>

#include "core/log.hpp"
#include "core/text.hpp"
#include "dashboard/dashboard_world.hpp"
#include "dashboard/listening.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"

namespace sluice::test {
namespace {

using json = nlohmann::ordered_json;

std::string filled(std::string_view pattern) {
  std::string target(pattern);
  for (auto at = target.find('{'); at != std::string::npos; at = target.find('{'))
    target.replace(at, target.find('}') - at + 1, target.compare(at, 6, "{kind}") == 0 ? "semaphore" : "some");
  return target;
}

dashboard_options with_users(const temp_dir& folder) {
  auto options = dashboard_world::changing();
  for (const auto& [name, role] : {std::pair("vera", dashboard_role::viewer),
                                   {"otto", dashboard_role::operator_},
                                   {"anna", dashboard_role::admin}}) {
    write_file(folder.file(name), std::string("secret-of-") + name + "\n");
    options.users.push_back({name, role, folder.file(name), {}});
  }
  return options;
}

std::string problem_of(const dashboard_options& options) {
  const auto made = web::access_rules::make(options, 8080);
  return made ? std::string() : to_string(made.error());
}

}  // namespace

TEST_CASE("every route that changes something needs a right, and is refused by a dashboard that only looks") {
  dashboard_world w{dashboard_options{}};
  for (const auto& route : web::routes()) {
    CAPTURE(route.method, route.pattern);
    const bool changes = route.method != "GET";
    CHECK(changes == (route.need == web::access_need::operate || route.need == web::access_need::administer));
    CHECK(changes == (route.from == web::answered_from::store));
    if (!changes) continue;
    const auto said = w.ask(std::string(route.method), filled(route.pattern), json::object());
    CHECK(said.status == 403);
    CHECK(said.body.find("only looks") != std::string::npos);
  }
}

TEST_CASE("a role does what it may and no more") {
  temp_dir secrets;
  dashboard_world w{with_users(secrets)};
  const auto status = [&](const std::string& method, const std::string& target, const std::string& name) {
    return w
        .ask(method, target, method == "GET" ? json() : json::object(), {{"authorization", "Bearer secret-of-" + name}})
        .status;
  };
  w.enqueue({dashboard_world::job("a")});
  for (const auto* name : {"vera", "otto", "anna"})
    CHECK(status("GET", "/api/v1/jobs/a", name) == 200);
  CHECK(status("POST", "/api/v1/jobs/a/requeue", "vera") == 403);
  CHECK(status("POST", "/api/v1/jobs/a/requeue", "otto") == 200);
  CHECK(status("DELETE", "/api/v1/throttlers/semaphore/x", "otto") == 403);
  CHECK(status("DELETE", "/api/v1/throttlers/semaphore/x", "anna") == 200);
}

TEST_CASE("a right to enqueue is no right to run commands, unless allow_exec says so, which needs users") {
  temp_dir secrets;
  auto options = with_users(secrets);
  options.allow_exec = true;
  const json command = {{"type", "exec"}, {"queue", "default"}, {"args", {{"argv", {"id"}}}}};
  const json schedule = {{"job", "exec"}, {"args", {{"argv", {"id"}}}}, {"every", "1h"}};
  const auto status = [&](dashboard_world& w, const std::string& method, const std::string& path, const json& body) {
    return w.ask(method, path, body, {{"authorization", "Bearer secret-of-anna"}}).status;
  };
  dashboard_world may_run{options};
  dashboard_world may_not{with_users(secrets)}, open_to_all{dashboard_world::changing()};
  CHECK(status(may_run, "POST", "/api/v1/jobs", command) == 201);
  CHECK(status(may_run, "PUT", "/api/v1/schedules/s", schedule) == 200);
  for (auto* w : {&may_not, &open_to_all}) {
    CHECK(status(*w, "POST", "/api/v1/jobs", command) == 403);
    CHECK(status(*w, "POST", "/api/v1/jobs/all-or-none", {{"jobs", {command}}}) == 403);
    CHECK(status(*w, "PUT", "/api/v1/schedules/s", schedule) == 403);
    CHECK(w->store().list(job_query{})->jobs.empty());
    CHECK(status(*w, "POST", "/api/v1/jobs", {{"type", "mail"}, {"queue", "default"}}) == 201);
  }
  options.allow_changes = false;
  CHECK(problem_of(options).find("needs allow_changes") != std::string::npos);
  options = dashboard_world::changing();
  options.allow_exec = true;
  CHECK(problem_of(options).find("allow_exec: needs users") != std::string::npos);
}

TEST_CASE("a user logs in with Basic or Bearer, and nobody else does") {
  temp_dir secrets;
  dashboard_world w{with_users(secrets)};
  const auto status = [&](const std::string& authorization) {
    return w.ask("GET", "/api/v1/overview", nullptr, {{"authorization", authorization}}).status;
  };
  CHECK(status("Basic dmVyYTpzZWNyZXQtb2YtdmVyYQ==") == 200);  // vera:secret-of-vera
  CHECK(status("basic dmVyYTpzZWNyZXQtb2YtdmVyYQ==") == 200);
  CHECK(status("Bearer secret-of-vera") == 200);
  CHECK(status("Basic dmVyYTpzZWNyZXQtb2YtYW5uYQ==") == 401);  // vera:secret-of-anna
  CHECK(status("Bearer secret-of-ver") == 401);
  CHECK(status("Bearer secret-of-veraa") == 401);
  CHECK(status("Basic %%%") == 401);
  const auto said = w.ask("GET", "/api/v1/overview");
  CHECK(said.status == 401);
  CHECK(header_of(said, "WWW-Authenticate").starts_with("Basic"));
}

TEST_CASE("a secret is the same only when each of its bytes is, and no more, whichever differs") {
  const std::string secret = "a secret of some \x80\xff bytes";
  CHECK(web::same_secret(secret, secret));
  for (std::size_t at = 0; at < secret.size(); ++at)
    for (unsigned bit = 1; bit < 256; bit <<= 1) {
      auto other = secret;
      other[at] = static_cast<char>(static_cast<unsigned char>(other[at]) ^ bit);
      CHECK_FALSE(web::same_secret(other, secret));
    }
  for (std::size_t size = 0; size < secret.size(); ++size)
    CHECK_FALSE(web::same_secret(secret.substr(0, size), secret));
  CHECK_FALSE(web::same_secret(secret + secret, secret));
  CHECK_FALSE(web::same_secret(secret + secret[0], secret));
  CHECK_FALSE(web::same_secret(secret + std::string(1, '\0'), secret));
}

TEST_CASE("a secret may be written by any editor") {
  temp_dir secrets;
  const auto options = with_users(secrets);
  for (const auto* text :
       {"secret-of-vera\r\n", "\xEF\xBB\xBFsecret-of-vera", "\xEF\xBB\xBFsecret-of-vera\r\nmore\r\n"}) {
    CAPTURE(text);
    write_file(secrets.file("vera"), text);
    dashboard_world w{options};
    CHECK(w.ask(dashboard_world::request("GET", "/api/v1/overview", {}, {{"authorization", "Bearer secret-of-vera"}}))
              .status == 200);
  }
}

TEST_CASE("ten failed logins of a peer in a minute are enough, and who has the right secret is let in all the same") {
  temp_dir secrets;
  dashboard_world w{with_users(secrets)};
  const auto status = [&](const std::string& peer, const std::string& secret) {
    auto r = dashboard_world::request("GET", "/api/v1/overview", {}, {{"authorization", "Bearer " + secret}});
    r.peer = peer;
    return w.ask(r).status;
  };
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i)
    CHECK(status("10.0.0.1", "guessed-" + std::to_string(i)) == 401);
  CHECK(std::chrono::steady_clock::now() - began >= std::chrono::seconds(1));  // 100 ms each
  CHECK(status("10.0.0.1", "guessed-again") == 429);
  CHECK(status("10.0.0.1", "secret-of-vera") == 200);
  CHECK(status("10.0.0.2", "guessed-by-another") == 401);
}

TEST_CASE("a proxy names the user, and nobody else may") {
  auto options = dashboard_world::changing();
  options.users = {{"anna", dashboard_role::admin, {}, {}}};
  options.user_header = "X-Remote-User";
  options.proxies = {"10.1.1.1"};
  dashboard_world w{options};
  const auto status = [&](const std::string& peer, const std::string& name) {
    auto r = dashboard_world::request("GET", "/api/v1/overview", {}, {{"x-remote-user", name}});
    r.peer = peer;
    return w.ask(r).status;
  };
  CHECK(status("10.1.1.1", "anna") == 200);
  CHECK(status("10.1.1.1", "nobody") == 403);
  CHECK(status("10.1.1.1", "") == 401);
  CHECK(status("10.1.1.2", "anna") == 401);
}

TEST_CASE("a proxy that has a secret is believed only where it says it") {
  temp_dir secrets;
  auto options = with_users(secrets);
  write_file(secrets.file("proxy"), "only-the-proxy-knows\n");
  options.user_header = "X-Remote-User";
  options.proxies = {"127.0.0.1"};
  options.proxy_secret_file = secrets.file("proxy");
  dashboard_world w{options};
  const auto status = [&](const std::string& secret, const std::string& authorization = {}) {
    auto r = dashboard_world::request(
        "GET", "/api/v1/overview", {},
        {{"x-remote-user", "anna"}, {"x-proxy-secret", secret}, {"authorization", authorization}});
    r.peer = "127.0.0.1";
    return w.ask(r).status;
  };
  CHECK(status("only-the-proxy-knows") == 200);
  CHECK(status("") == 401);
  CHECK(status("only-the-proxy-guesses") == 401);
  CHECK(status("", "Bearer secret-of-vera") == 200);
  options.user_header.clear();
  CHECK(problem_of(options).find("proxy_secret_file: needs user_header") != std::string::npos);
}

TEST_CASE("a host, a proxy or a header that no request can have is refused, and what it must be is said") {
  dashboard_options options;
  for (const auto* fine : {"jobs.example.org", "Jobs-1.example.org:8443", "192.0.2.1", "[2001:db8::1]:444"}) {
    options.hosts = {fine};
    CHECK(problem_of(options).empty());
  }
  for (const auto* wrong : {"a b", "http://jobs.example.org", "jobs.example.org/", "::1", "jobs.ex\u00e4mple.org"}) {
    options.hosts = {wrong};
    CHECK(problem_of(options).find("dashboard/hosts: must be names as jobs.example.org") != std::string::npos);
  }
  options.hosts.clear();
  for (const auto& [proxy, why] :
       std::vector<std::pair<std::string, std::string>>{{"192.0.2.x", "as 192.0.2.1 or 2001:db8::1, not '192.0.2.x'"},
                                                        {"10.0.0.0/8", "not '10.0.0.0/8'"},
                                                        {"2001:DB8:0::1", "as 2001:db8::1, not"}}) {
    options.proxies = {"2001:db8::1", proxy};
    CHECK(problem_of(options).find(why) != std::string::npos);
  }
  options.proxies = {"192.0.2.1", "2001:db8::1"};
  options.user_header = "X User";
  CHECK(problem_of(options).find("user_header: must name a header") != std::string::npos);
}

TEST_CASE("only the names of this dashboard are answered, whatever a proxy's header says") {
  auto options = dashboard_world::changing();
  options.hosts = {"jobs.example.org", "other.example.org:444"};
  dashboard_world w{options};
  const auto status = [&](const std::string& host, const std::string& forwarded = {}) {
    return w.ask("GET", "/api/v1/overview", nullptr, {{"host", host}, {"x-forwarded-host", forwarded}}).status;
  };
  for (const auto* known : {"localhost:8080", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "jobs.example.org:8080",
                            "other.example.org:444"})
    CHECK(status(known) == 200);
  for (const auto* wrong : {"evil.test:8080", "localhost", "localhost:80", "localhost:8080.evil.test", "",
                            "other.example.org:8080", "localhost:8080, evil.test"})
    CHECK(status(wrong) == 421);
  CHECK(status("evil.test:8080", "localhost:8080") == 421);
}

TEST_CASE("another site changes nothing") {
  dashboard_world w;
  w.enqueue({dashboard_world::job("a")});
  const auto status = [&](const dashboard_world::header_list& headers) {
    return w.ask("POST", "/api/v1/jobs/a/requeue", json::object(), headers).status;
  };
  CHECK(status({}) == 200);
  CHECK(status({{"sec-fetch-site", "same-origin"}}) == 200);
  CHECK(status({{"sec-fetch-site", "cross-site"}}) == 403);
  CHECK(status({{"sec-fetch-site", "same-site"}}) == 403);
  CHECK(status({{"sec-fetch-site", "none"}}) == 403);
  CHECK(status({{"origin", "http://localhost:8080"}}) == 200);
  CHECK(status({{"origin", "http://localhost:9090"}}) == 403);
  CHECK(status({{"origin", "http://evil.test"}}) == 403);
  CHECK(status({{"origin", "null"}}) == 403);
  CHECK(status({{"content-type", "application/x-www-form-urlencoded"}}) == 415);
  CHECK(status({{"content-type", "text/plain"}}) == 415);
  CHECK(status({{"content-type", ""}}) == 415);
  CHECK(status({{"content-type", "application/json; charset=utf-8"}}) == 200);
  CHECK(status({{"content-type", "Application/JSON"}}) == 200);
}

TEST_CASE("looking changes nothing: a path that changes is not looked at") {
  dashboard_world w;
  for (const auto& route : web::routes()) {
    if (route.method == "GET") continue;
    const auto target = filled(route.pattern);
    const auto said = w.ask("GET", target);
    CAPTURE(target);
    const bool has_page = header_of(said, "Allow").find("GET") == std::string::npos;
    CHECK((said.status == 405 || said.status == 404 || (said.status == 200 && has_page)));
  }
  // HEAD asks what GET asks, and nothing that changes.
  w.enqueue({dashboard_world::job("some")});  // as each target names it
  for (const auto& route : web::routes()) {
    const auto target = filled(route.pattern);
    const auto looked = w.ask("GET", target), headed = w.ask("HEAD", target);
    CAPTURE(target);
    CHECK((headed.status == looked.status || headed.status == 304));
  }
  CHECK(w.store().get(job_id("some"))->state == job_state::enqueued);
  CHECK(w.get("/api/v1/log").at("actions").empty());
  const auto options = w.ask("OPTIONS", "/api/v1/jobs");
  CHECK(options.status == 405);
  CHECK(header_of(options, "Allow") == "GET, HEAD, POST");
}

TEST_CASE("every answer says what a browser may do with it, and none lets another site in") {
  temp_dir secrets;
  dashboard_world w{with_users(secrets)};
  const dashboard_world::header_list login{{"authorization", "Bearer secret-of-anna"}};
  for (const auto& said : {w.ask("GET", "/api/v1/overview", nullptr, login), w.ask("GET", "/nothing", nullptr, login),
                           w.ask("GET", "/api/v1/overview"), w.ask("OPTIONS", "/api/v1/jobs", nullptr, login),
                           w.ask("GET", "/metrics", nullptr, login), w.ask("GET", "/health/live"),
                           w.ask("POST", "/api/v1/jobs", json::object(), login)}) {
    CHECK(header_of(said, "Content-Security-Policy") ==
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
          "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    CHECK(header_of(said, "X-Content-Type-Options") == "nosniff");
    CHECK(header_of(said, "Referrer-Policy") == "no-referrer");
    CHECK(header_of(said, "Cross-Origin-Opener-Policy") == "same-origin");
    CHECK(header_of(said, "Cross-Origin-Resource-Policy") == "same-origin");
    for (const auto& [name, value] : said.headers) {
      CHECK_FALSE(name.starts_with("Access-Control"));
      CHECK(name != "Set-Cookie");
      CHECK(name != "Server");
    }
  }
}

TEST_CASE("metrics are told to no other host name either") {
  dashboard_world w;
  CHECK(w.ask("GET", "/metrics", nullptr, {{"host", "evil.test:8080"}}).status == 421);
  CHECK(w.ask("GET", "/metrics", nullptr, {{"host", ""}}).status == 421);
  CHECK(w.ask("GET", "/metrics").status == 200);
}

TEST_CASE("no route quiets or stops a server") {
  dashboard_world w;
  for (const auto& route : web::routes()) {
    CAPTURE(route.pattern);
    if (route.pattern.find("server") != std::string::npos) CHECK(route.method == "GET");
    for (const auto* word : {"quiet", "stop", "shutdown"})
      CHECK(route.pattern.find(word) == std::string::npos);
  }
  for (const auto* target : {"/api/v1/servers", "/api/v1/servers/a", "/api/v1/servers/a/quiet"})
    for (const auto* method : {"POST", "PUT", "DELETE"}) {
      const auto status = w.ask(method, target, json::object()).status;
      CHECK((status == 404 || status == 405));
    }
}

TEST_CASE("a change stands in the log with who, where, what and its outcome, and never with arguments") {
  temp_dir secrets;
  dashboard_world w{with_users(secrets)};
  const auto lines = std::make_shared<std::pair<std::mutex, std::string>>();
  log::flush(std::chrono::seconds(5));
  set_log_level(log_level::info);
  set_log_sink([lines](log_level, std::string_view line) {
    std::lock_guard hold(lines->first);
    lines->second += cat(line, "\n");
  });
  const dashboard_world::header_list anna{{"authorization", "Bearer secret-of-anna"}},
      otto{{"authorization", "Bearer secret-of-otto"}};
  CHECK(w.ask("POST", "/api/v1/jobs", {{"type", "noop"}, {"id", "a"}, {"args", {{"card", "4111"}}}}, anna).status ==
        201);
  CHECK(w.ask("POST", "/api/v1/jobs", {{"type", "noop"}, {"id", "a"}, {"args", {{"card", "4112"}}}}, otto).status ==
        409);
  CHECK(w.ask("DELETE", "/api/v1/jobs/a", nullptr, otto).status == 200);
  CHECK(w.ask("PUT", "/api/v1/schedules/s", {{"job", "noop"}, {"every", "1h"}, {"args", {{"card", "4113"}}}}, anna)
            .status == 200);
  CHECK(w.ask("DELETE", "/api/v1/jobs/x%0Ay", nullptr, otto).status == 404);
  std::vector<std::string> ids;
  for (int i = 0; i < 30; ++i)
    ids.push_back(cat("id-", i));
  CHECK(w.ask("POST", "/api/v1/jobs/actions", {{"action", "requeue"}, {"ids", ids}}, otto).status == 200);
  CHECK(w.ask("GET", "/api/v1/jobs/a", nullptr, otto).status == 200);
  log::flush(std::chrono::seconds(5));
  set_log_sink({});
  set_log_level(log_level::off);
  std::lock_guard hold(lines->first);
  const auto& said = lines->second;
  CAPTURE(said);
  const auto has = [&](const std::string& part) { return said.find(part) != std::string::npos; };
  CHECK(has("dashboard: 127.0.0.1 anna POST /api/v1/jobs -> 201 a\n"));
  CHECK(has("dashboard: 127.0.0.1 otto POST /api/v1/jobs -> 409"));
  CHECK(has("dashboard: 127.0.0.1 otto DELETE /api/v1/jobs/a -> 200 a\n"));
  CHECK(has("dashboard: 127.0.0.1 anna PUT /api/v1/schedules/s -> 200 s\n"));
  CHECK(has("DELETE /api/v1/jobs/x%0Ay -> 404 x\\x0ay\n"));
  CHECK(has("id-19 and 10 more\n"));
  CHECK_FALSE(has("id-20"));
  CHECK_FALSE(has("411"));
  CHECK_FALSE(has("GET"));
  CHECK(w.store().get(job_id("a"))->reason == "deleted by otto through dashboard");
}

TEST_CASE("health is told to whoever asks, and tells nothing else") {
  temp_dir secrets;
  dashboard_world w{with_users(secrets)};
  const auto live = w.ask("GET", "/health/live", nullptr, {{"host", "10.2.3.4"}});
  CHECK(live.status == 200);
  CHECK(live.body == "{\"live\":true}");
  CHECK(w.ask("GET", "/health/ready", nullptr, {{"host", ""}}).status == 200);  // the first that asks
  w.on->is_ready = [] { return false; };
  CHECK(w.ask("GET", "/health/ready").status == 503);
}

TEST_CASE("metrics have a token of their own, where it is asked for") {
  temp_dir secrets;
  auto options = with_users(secrets);
  write_file(secrets.file("token"), "only-for-metrics\n");
  options.metrics_token_file = secrets.file("token");
  dashboard_world w{options};
  const auto status = [&](const std::string& target, const std::string& token) {
    return w.ask("GET", target, nullptr, {{"authorization", "Bearer " + token}}).status;
  };
  CHECK(status("/metrics", "only-for-metrics") == 200);
  CHECK(status("/metrics", "secret-of-vera") == 200);
  CHECK(status("/metrics", "somebody-else") == 401);
  CHECK(status("/api/v1/overview", "only-for-metrics") == 401);
  options.users.clear();
  dashboard_world alone{options};
  const auto asked = [&](const std::string& token) {
    return alone.ask("GET", "/metrics", nullptr, {{"authorization", token.empty() ? "" : "Bearer " + token}}).status;
  };
  CHECK(asked("") == 401);
  CHECK(asked("only-for-metrics") == 200);
  for (int i = 0; i < 10; ++i)
    CHECK(asked("guessed-" + std::to_string(i)) == 401);
  CHECK(asked("guessed-again") == 429);
  CHECK(asked("only-for-metrics") == 200);
}

TEST_CASE("what would be open to all, or send secrets in plain text, does not start") {
  temp_dir secrets;
  dashboard_options open;
  open.listen = "0.0.0.0:8080";
  CHECK(problem_of(open).find("name users, or listen on localhost") != std::string::npos);
  auto plain = with_users(secrets);
  plain.listen = open.listen;
  CHECK(problem_of(plain).find("behind_tls_proxy") != std::string::npos);
  plain.behind_tls_proxy = true;
  CHECK(problem_of(plain).empty());
  auto proxied = dashboard_world::changing();
  proxied.listen = open.listen;
  proxied.users = {{"anna", dashboard_role::admin, {}, {}}};
  proxied.user_header = "X-Remote-User";
  proxied.proxies = {"10.1.1.1"};
  CHECK(problem_of(proxied).empty());  // no secret of ours crosses the network
  write_file(secrets.file("token"), "only-for-metrics\n");
  proxied.metrics_token_file = secrets.file("token");
  CHECK(problem_of(proxied).find("behind_tls_proxy") != std::string::npos);
  proxied.listen = "localhost:8080";
  CHECK(problem_of(proxied).empty());
  for (const auto reads : {0U, 1001U}) {
    auto odd = dashboard_world::changing();
    odd.reads_a_second = reads;
    CHECK(problem_of(odd).find("reads_a_second: must be 1 to 1000") != std::string::npos);
  }
  auto lost = with_users(secrets);
  lost.users[0].secret_file = secrets.file("nothing");
  CHECK(problem_of(lost).find("users/vera: cannot read") != std::string::npos);
  write_file(secrets.file("short"), "1234567\n");
  lost.users[0].secret_file = secrets.file("short");
  CHECK(problem_of(lost).find("at least 8 characters") != std::string::npos);
  auto same = with_users(secrets);
  same.users[1].secret_file = same.users[0].secret_file;
  CHECK(problem_of(same).find("has the secret of vera") != std::string::npos);
  same = with_users(secrets);
  same.users[0].name = "a:b";
  CHECK(problem_of(same).find("without a colon") != std::string::npos);
  lost.users[0] = {"vera", dashboard_role::viewer, {}, "NO_SUCH_VARIABLE_HERE"};
  CHECK(problem_of(lost).find("no variable NO_SUCH_VARIABLE_HERE") != std::string::npos);
}

TEST_CASE("where to listen is an address and a port") {
  for (const auto* fine : {"localhost:0", "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:80", "[::]:443"})
    CHECK(web::parse_listen(fine));
  CHECK(web::parse_listen("[::1]:1")->is_loopback);
  CHECK(web::parse_listen("127.9.9.9:1")->is_loopback);
  CHECK_FALSE(web::parse_listen("0.0.0.0:1")->is_loopback);
  for (const auto* wrong : {"8080", "localhost", "localhost:", ":8080", "example.org:80", "::1:8080", "127.0.0.1:65536",
                            "[127.0.0.1]:1", "localhost:8080x"})
    CHECK_FALSE(web::parse_listen(wrong));
}

}  // namespace sluice::test
