#include "storage/redis/url.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "core/secret_file.hpp"
#include "core/text.hpp"

namespace sluice::storage::redis {
namespace {

constexpr std::uint16_t server_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;
constexpr std::uint32_t max_dbs = 1'000'000;
constexpr std::uint32_t max_replicas = 100;
constexpr std::size_t longest_socket_path = 107;

template <class T>
std::optional<T> number(std::string_view text, T most) {
  T n = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size() || n > most) return std::nullopt;
  return n;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const auto* from = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(from, from + 2, value, 16).ptr != from + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

// What stands before `mark`; the rest stays in `text`. All of it when there is no mark.
std::string_view cut(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const auto front = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return front;
}

// An IPv6 address, perhaps with a port behind: where the one ends and the other begins nobody can tell.
bool is_bare_ipv6(std::string_view text) {
  return std::count(text.begin(), text.end(), ':') > 1 &&
         text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

// For errors: what stands before the last '@' may be a password, however it was meant.
std::string without_credentials(const std::string& url) {
  const auto at = url.rfind('@');
  return printable(at == std::string::npos ? url : url.substr(0, url.find("://")) + "://***" + url.substr(at), 200);
}

class parser {
public:
  explicit parser(const std::string& url) : shown_(without_credentials(url)) {}

  result<location> run(std::string_view rest, std::string_view scheme) {
    const auto mark = rest.find('?');
    if (mark != std::string_view::npos && rest.find('@', mark) != std::string_view::npos)
      return wrong("in a user or password, write ? as %3F and @ as %40");
    std::string_view options = mark == std::string_view::npos ? std::string_view() : rest.substr(mark + 1);
    rest = rest.substr(0, mark);
    if (const auto fault = credentials(rest); !fault.empty()) return wrong(fault);
    const auto place = scheme == "redis+unix"          ? socket(rest)
                       : scheme.ends_with("+sentinel") ? sentinels(rest)
                                                       : server(rest);
    if (!place.empty()) return wrong(place);
    if (scheme.starts_with("rediss")) made_.tls.emplace();
    while (!options.empty())
      if (const auto fault = option(cut(options, '&')); !fault.empty()) return wrong(fault);
    if (const auto fault = contradiction(); !fault.empty()) return wrong(fault);
    return std::move(made_);
  }

private:
  error wrong(const std::string& what) const {
    return {errc::invalid_argument, cat("the store's URL '", shown_, "': ", what)};
  }

  // Empty when they are right, as below.
  std::string credentials(std::string_view& rest) {
    const auto at = rest.rfind('@');
    if (at == std::string_view::npos) return {};
    auto words = rest.substr(0, at);
    rest = rest.substr(at + 1);
    if (words.find_first_of("/'\" @") != std::string_view::npos)
      return "in a user or password, write each of / @ ' \" % and space as %XX";
    const auto user = decoded(words.substr(0, words.find(':')));
    cut(words, ':');
    const auto password = decoded(words);
    if (!user || !password) return "in a user or password, a % must be written %25: it begins a byte as %XX";
    made_.server.user = *user;
    made_.server.password = *password;
    return {};
  }

  std::string add_host(std::string_view text, std::uint16_t port) {
    address a;
    a.port = port;
    std::string_view port_text;
    if (text.starts_with('[')) {
      const auto end = text.find(']');
      if (end == std::string_view::npos) return "an IPv6 address ends with ']'";
      a.host = text.substr(1, end - 1);
      text = text.substr(end + 1);
      if (!text.empty() && text.front() != ':') return "after ']' only :PORT is allowed";
      port_text = text.empty() ? text : text.substr(1);
    } else {
      if (is_bare_ipv6(text)) return "an IPv6 address stands in brackets, as in redis://[::1]:6379/0";
      port_text = text;
      a.host = cut(port_text, ':');
    }
    if (!port_text.empty()) {
      const auto given = number<std::uint16_t>(port_text, 65535);
      if (!given || *given == 0) return "the port must be 1 to 65535";
      a.port = *given;
    }
    if (a.host.empty()) return "it names no host; write redis://127.0.0.1:6379/0";
    made_.at.push_back(std::move(a));
    return {};
  }

  std::string set_db(std::string_view text) {
    const auto db = number(text, max_dbs);
    if (!db) return cat("the database must be a number, not '", printable(text, 30), "'");
    made_.db = *db;
    return {};
  }

  std::string server(std::string_view rest) {
    if (auto fault = add_host(cut(rest, '/'), server_port); !fault.empty()) return fault;
    return rest.empty() ? std::string() : set_db(rest);
  }

  std::string socket(std::string_view rest) {
    if (!rest.starts_with('/')) return "it names no socket; write redis+unix:///run/redis/redis.sock";
    if (rest.size() > longest_socket_path) return cat("a socket's path has at most ", longest_socket_path, " bytes");
    made_.at.push_back({{}, 0, std::string(rest)});
    return {};
  }

  std::string sentinels(std::string_view rest) {
    auto hosts = cut(rest, '/');
    do {
      if (auto fault = add_host(cut(hosts, ','), sentinel_port); !fault.empty()) return fault;
    } while (!hosts.empty());
    made_.master = cut(rest, '/');
    if (made_.master.empty()) return "it names no master; write redis+sentinel://host1,host2/mymaster/0";
    return rest.empty() ? std::string() : set_db(rest);
  }

  std::string option(std::string_view text) {
    const auto name = cut(text, '=');
    if (name == "db") return set_db(text);
    if (name == "prefix") {
      if (!valid_name(text)) return "prefix must be 1 to 200 of letters, digits and _ . : -";
      made_.prefix = text;
      return {};
    }
    if (name == "wait_replicas") {
      const auto n = number(text, max_replicas);
      if (!n) return cat("wait_replicas must be 0 to ", max_replicas);
      made_.wait_replicas = *n;
      return {};
    }
    struct text_option {
      std::string_view name;
      std::string* into;
    };
    const text_option texts[] = {{"password_file", &made_.server.password_file},
                                 {"password_variable", &made_.server.password_variable},
                                 {"sentinel_user", &made_.sentinel.user},
                                 {"sentinel_password_file", &made_.sentinel.password_file},
                                 {"sentinel_password_variable", &made_.sentinel.password_variable},
                                 {"ca", made_.tls ? &made_.tls->ca : nullptr},
                                 {"cert", made_.tls ? &made_.tls->cert : nullptr},
                                 {"key", made_.tls ? &made_.tls->key : nullptr},
                                 {"tls_name", made_.tls ? &made_.tls->name : nullptr}};
    for (const auto& one : texts) {
      if (name != one.name) continue;
      if (!one.into) return cat("?", name, "= is of TLS; write rediss:// or rediss+sentinel://");
      if (name.starts_with("sentinel_") && made_.master.empty())
        return cat("?", name, "= is of a URL that names sentinels");
      const auto value = decoded(text);
      if (!value || value->empty()) return cat("?", name, "= needs a value, with % and & as %25 and %26");
      *one.into = *value;
      return {};
    }
    return cat("it takes no ?", printable(name, 60),
               "; what it takes: prefix, db, wait_replicas, password_file, password_variable, sentinel_user, "
               "sentinel_password_file, sentinel_password_variable; with TLS ca, cert, key, tls_name");
  }

  std::string contradiction() const {
    for (const auto* who : {&made_.server, &made_.sentinel})
      if (!who->password.empty() + !who->password_file.empty() + !who->password_variable.empty() > 1)
        return "it names more than one password for the same; keep one";
    if (made_.tls && made_.tls->cert.empty() != made_.tls->key.empty()) return "?cert= and ?key= go together";
    return {};
  }

  std::string shown_;
  location made_;
};

}  // namespace

std::string to_string(const address& a) {
  if (!a.path.empty()) return a.path;
  return a.host.find(':') == std::string::npos ? cat(a.host, ":", a.port) : cat("[", a.host, "]:", a.port);
}

result<std::string> password_of(const credentials& who) {
  if (!who.password_variable.empty()) {
    if (const char* value = std::getenv(who.password_variable.c_str())) return std::string(value);
    return error{errc::storage_unavailable,
                 cat("the password of Redis: the variable ", printable(who.password_variable, 100), " is not set")};
  }
  if (who.password_file.empty()) return who.password;
  auto password = first_line_of(who.password_file);
  if (!password || password->empty())
    return error{errc::storage_unavailable,
                 cat("the password of Redis: the file ", printable(who.password_file, 200),
                     password ? " has none in its first line" : cat(" cannot be read: ", std::strerror(errno)))};
  return std::move(*password);
}

result<location> parse_url(const std::string& url) {
  const auto mark = url.find("://");
  const auto scheme = url.substr(0, mark);
  constexpr std::string_view schemes[] = {"redis", "rediss", "redis+unix", "redis+sentinel", "rediss+sentinel"};
  if (mark == std::string::npos || std::find(std::begin(schemes), std::end(schemes), scheme) == std::end(schemes))
    return error{errc::invalid_argument, cat("the store's URL '", without_credentials(url),
                                             "' is not understood; use redis://host:port/db, redis+unix:///path or "
                                             "redis+sentinel://host1,host2/name/db; with TLS rediss:// or "
                                             "rediss+sentinel://")};
  return parser(url).run(std::string_view(url).substr(mark + 3), scheme);
}

}  // namespace sluice::storage::redis
