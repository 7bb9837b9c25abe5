#include "dashboard/access.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <sluice/dashboard.hpp>

#include "core/secret_file.hpp"
#include "core/text.hpp"
#include "dashboard/listening.hpp"

namespace sluice::web {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto delay_of_a_failure = 100ms;
constexpr int most_waiting = 2;  // for that, since threads serve others, too
constexpr auto failures_count_for = 1min;
constexpr std::size_t max_failures = 10;
constexpr std::size_t max_peers = 1000;  // of whom failures are remembered
constexpr std::size_t shortest_secret = 8;

// The first line of a file, or a variable.
result<std::string> read_secret(const std::string& option, const std::string& file, const std::string& variable) {
  std::string secret;
  if (!variable.empty()) {
    const char* const value = std::getenv(variable.c_str());
    if (!value) return error{errc::not_found, cat(option, ": the environment has no variable ", variable)};
    secret = value;
  } else {
    auto line = first_line_of(file);
    if (!line) return error{errc::io_error, cat(option, ": cannot read ", printable(file, 300))};
    secret = std::move(*line);
  }
  while (!secret.empty() && (secret.back() == '\r' || secret.back() == ' '))
    secret.pop_back();
  if (secret.size() < shortest_secret)
    return error{errc::invalid_argument, cat(option, ": a secret has at least ", shortest_secret, " characters")};
  return secret;
}

std::string_view after_word(std::string_view text, std::string_view word) {
  return lowered(text.substr(0, word.size())) == word ? text.substr(word.size()) : std::string_view();
}

// Where the port begins, behind an address in brackets, too.
std::size_t colon_of_port(const std::string& host) {
  const auto bracket = host.find(']');
  return host.find(':', bracket == std::string::npos ? 0 : bracket);
}

// As browsers write it into the header Host.
bool is_host(std::string text) {
  const bool has_name = colon_of_port(text) != 0;
  std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
  return has_name && valid_name(text);
}

bool changes(access_need need) { return need == access_need::operate || need == access_need::administer; }

}  // namespace

bool same_secret(std::string_view given, std::string_view secret) {
  unsigned differs = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differs |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(secret[i % secret.size()]);
  return differs == 0;
}

result<void> check(const dashboard_options& options) {
  const auto wrong = dashboard::fault_of(options);
  if (!wrong) return {};
  return error{errc::invalid_argument, cat("dashboard/", wrong->key, ": ", wrong->problem)};
}

result<std::unique_ptr<access_rules>> access_rules::make(const dashboard_options& options, unsigned port) {
  if (const auto fine = web::check(options); !fine) return fine.error();
  std::unique_ptr<access_rules> made(new access_rules);
  made->options_ = options;
  const auto add_host = [&](const std::string& host) {
    const bool has_port = colon_of_port(host) != std::string::npos;
    made->hosts_.insert(lowered(has_port ? host : cat(host, ":", port)));
    if (!has_port && (port == 80 || options.behind_tls_proxy)) made->hosts_.insert(lowered(host));
  };
  for (const auto* host : {"localhost", "127.0.0.1", "[::1]"})
    add_host(host);
  if (const auto where = parse_listen(options.listen); where && where->host != "localhost")
    add_host(where->host.find(':') == std::string::npos ? where->host : cat("[", where->host, "]"));
  for (const auto& host : options.hosts)
    add_host(host);
  for (const auto& user : options.users) {
    const auto option = cat("users/", user.name);
    secret_of known{{user.name, user.role}, {}};
    if (!user.secret_file.empty() || !user.secret_variable.empty()) {
      auto secret = read_secret(option, user.secret_file, user.secret_variable);
      if (!secret) return secret.error();
      known.secret = std::move(*secret);
      for (const auto& other : made->users_)
        if (other.secret == known.secret)
          return error{errc::invalid_argument,
                       cat(option, " has the secret of ", other.who.name, ": a token says who asks")};
    }
    made->users_.push_back(std::move(known));
  }
  if (!options.metrics_token_file.empty()) {
    auto token = read_secret("metrics_token_file", options.metrics_token_file, {});
    if (!token) return token.error();
    made->metrics_token_ = std::move(*token);
  }
  if (!options.proxy_secret_file.empty()) {
    auto secret = read_secret("proxy_secret_file", options.proxy_secret_file, {});
    if (!secret) return secret.error();
    made->proxy_secret_ = std::move(*secret);
  }
  return made;
}

std::optional<access_refusal> access_rules::check(const http_request& request, access_need need, visitor& who) const {
  if (need == access_need::nothing) return std::nullopt;
  if (auto wrong = check_host(request)) return wrong;
  if (changes(need))
    if (auto wrong = check_origin(request)) return wrong;
  if (need == access_need::metrics && !metrics_token_.empty()) {
    if (same_secret(after_word(request.header("authorization"), "bearer "), metrics_token_)) return std::nullopt;
    if (users_.empty()) return refused_login(request, "metrics are told to whoever has their token");
  }
  if (auto wrong = check_login(request, who)) return wrong;
  if (!changes(need)) return std::nullopt;
  if (!options_.allow_changes)
    return access_refusal{403, "this dashboard only looks; its operator may set allow_changes"};
  const auto least = need == access_need::operate ? dashboard_role::operator_ : dashboard_role::admin;
  if (who.role < least) return access_refusal{403, cat(who.name, " has no right to change that")};
  return std::nullopt;
}

std::optional<access_refusal> access_rules::check_host(const http_request& request) const {
  if (hosts_.contains(lowered(request.header("host")))) return std::nullopt;
  return access_refusal{421, "this dashboard has no such host name; its operator may add it to hosts"};
}

std::optional<access_refusal> access_rules::check_origin(const http_request& request) const {
  if (const auto site = request.header("sec-fetch-site"); !site.empty()) {
    if (site == "same-origin") return std::nullopt;
    return access_refusal{403, "another site asked for this change"};
  }
  const auto origin = lowered(request.header("origin"));
  if (origin.empty()) return std::nullopt;
  const auto host = lowered(request.header("host"));
  if (origin == "http://" + host || origin == "https://" + host) return std::nullopt;
  return access_refusal{403, "another site asked for this change"};
}

bool access_rules::fails_too_often(const std::string& peer) const {
  const auto now = steady_clock::now();
  std::lock_guard hold(mutex_);
  if (failures_.size() >= max_peers && !failures_.contains(peer)) failures_.erase(failures_.begin());
  auto& its = failures_[peer];
  std::erase_if(its, [&](steady_point at) { return now - at > failures_count_for; });
  if (its.size() >= max_failures) return true;
  its.push_back(now);
  return false;
}

// Only who guesses has to wait: others of his address have the right secret.
access_refusal access_rules::refused_login(const http_request& request, std::string why) const {
  const bool guesses =
      !request.header("authorization").empty() || (!proxy_secret_.empty() && !request.header("x-proxy-secret").empty());
  if (!guesses) return {401, std::move(why)};
  const bool has_place = ++waiting_ <= most_waiting;
  if (has_place) std::this_thread::sleep_for(delay_of_a_failure);
  --waiting_;
  if (fails_too_often(request.peer) || !has_place) return {429, "too many logins have failed; wait a minute"};
  return {401, std::move(why)};
}

const access_rules::secret_of* access_rules::find(const http_request& request) const {
  const auto authorization = request.header("authorization");
  const secret_of* found = nullptr;
  if (const auto token = after_word(authorization, "bearer "); !token.empty()) {
    for (const auto& user : users_)
      if (!user.secret.empty() && same_secret(token, user.secret)) found = &user;
  } else if (const auto pair = from_base64(after_word(authorization, "basic "))) {
    const auto colon = pair->find(':');
    if (colon == std::string::npos) return nullptr;
    for (const auto& user : users_)
      if (!user.secret.empty() && user.who.name == pair->substr(0, colon) &&
          same_secret(std::string_view(*pair).substr(colon + 1), user.secret))
        found = &user;
  }
  return found;
}

bool access_rules::comes_from_proxy(const http_request& request) const {
  const auto& proxies = options_.proxies;
  if (std::find(proxies.begin(), proxies.end(), request.peer) == proxies.end()) return false;
  return proxy_secret_.empty() || same_secret(request.header("x-proxy-secret"), proxy_secret_);
}

std::optional<access_refusal> access_rules::check_login(const http_request& request, visitor& who) const {
  if (users_.empty()) {
    who = {{}, dashboard_role::admin};
    return std::nullopt;
  }
  if (!options_.user_header.empty() && comes_from_proxy(request)) {
    const auto name = request.header(lowered(options_.user_header));
    const auto known =
        std::find_if(users_.begin(), users_.end(), [&](const auto& user) { return user.who.name == name; });
    if (name.empty()) return access_refusal{401, "the proxy names no user"};
    if (known == users_.end()) return access_refusal{403, "this user is not known here"};
    who = known->who;
    return std::nullopt;
  }
  if (const auto* known = find(request)) {
    who = known->who;
    return std::nullopt;
  }
  return refused_login(request, "log in with a name and its secret, or with the secret as bearer token");
}

}  // namespace sluice::web

namespace sluice {
namespace {

constexpr std::uint32_t max_reads_a_second = 1000;

}  // namespace

std::optional<dashboard::option_fault> dashboard::fault_of(const dashboard_options& options) {
  const auto where = web::parse_listen(options.listen);
  if (!where) return option_fault{"listen", where.error().message};
  if (options.reads_a_second < 1 || options.reads_a_second > max_reads_a_second)
    return option_fault{"reads_a_second", cat("must be 1 to ", max_reads_a_second)};
  for (const auto& host : options.hosts)
    if (!web::is_host(host))
      return option_fault{
          "hosts", cat("must be names as jobs.example.org or jobs.example.org:8443, not '", printable(host, 100), "'")};
  for (const auto& proxy : options.proxies)
    if (const auto peer = web::as_peer(proxy); peer != proxy || peer.empty())
      return option_fault{
          "proxies", cat("must be single addresses, as ", peer.empty() ? "192.0.2.1 or 2001:db8::1" : peer, ", not '",
                         printable(proxy, 100), "'")};
  if (const auto& name = options.user_header; !name.empty() && (!valid_name(name) || name.find(':') < name.size()))
    return option_fault{"user_header", cat("must name a header, as X-Remote-User, not '", printable(name, 100), "'")};
  bool has_secret = !options.metrics_token_file.empty();
  for (const auto& user : options.users) {
    const bool has_own = !user.secret_file.empty() || !user.secret_variable.empty();
    has_secret = has_secret || has_own;
    if (user.name.empty() || user.name.find(':') != std::string::npos)
      return option_fault{cat("users/", user.name), "a user has a name without a colon, which Basic puts after it"};
    if (!has_own && options.user_header.empty())
      return option_fault{cat("users/", user.name),
                          "needs a secret_file or a secret_variable, or a user_header by which a proxy names the user"};
  }
  if (!options.user_header.empty() && options.proxies.empty())
    return option_fault{"user_header", "needs proxies: the addresses whose word is taken for it"};
  if (!options.proxy_secret_file.empty() && options.user_header.empty())
    return option_fault{"proxy_secret_file", "needs user_header, in which the proxy names the user"};
  if (options.allow_exec && options.users.empty())
    return option_fault{"allow_exec", "needs users: whoever reaches the dashboard could run commands as the server"};
  if (options.allow_exec && !options.allow_changes)
    return option_fault{"allow_exec", "needs allow_changes: a dashboard that only looks enqueues nothing"};
  if (where->is_loopback) return std::nullopt;
  if (options.users.empty())
    return option_fault{"listen", cat("the dashboard would be open to whoever reaches ", options.listen,
                                      ": name users, or listen on localhost")};
  if (has_secret && !options.behind_tls_proxy)
    return option_fault{
        "listen", cat("secrets would cross the network to ", options.listen,
                      " in plain text: listen on localhost behind a proxy that speaks TLS, and set behind_tls_proxy")};
  return std::nullopt;
}

result<void> dashboard::can_start(const dashboard_options& options) {
  if (const auto made = web::access_rules::make(options, 0); !made) return made.error();
  const auto where = web::parse_listen(options.listen);
  if (!where) return where.error();
  const auto at = web::listen_at(*where);
  if (!at) return at.error();
  web::close_all(*at);
  return {};
}

}  // namespace sluice
