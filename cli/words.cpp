#include "cli/words.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/clock.hpp"
#include "core/instant.hpp"
#include "core/text.hpp"

namespace sluice::cli {
namespace {

// So long ago, or an instant.
std::optional<time_point> parse_since(const std::string& text) {
  if (const auto ago = parse_duration(text)) return system_clock().now() - *ago;
  return parse_time(text);
}

// The login name of whoever typed the command, also behind sudo, and the host.
std::string person() {
  std::array<char, 16 * 1024> names{};
  passwd entry{};
  passwd* known = nullptr;
  const char* before_sudo = std::getenv("SUDO_USER");
  std::string name = before_sudo ? before_sudo : "";
  if (name.empty() && ::getpwuid_r(::getuid(), &entry, names.data(), names.size(), &known) == 0 && known)
    name = known->pw_name;
  if (name.empty()) name = cat("uid ", ::getuid());
  std::array<char, 256> host{};
  const bool has_host = ::gethostname(host.data(), host.size() - 1) == 0;
  return cat(name, "@", has_host ? host.data() : "unknown");
}

}  // namespace

client_options options_of(const command& c) {
  client_options options;
  options.storage = c.store;
  options.mode = mode_of(c);
  options.by = {person(), "sluice"};
  return options;
}

std::optional<std::pair<std::string, std::string>> parse_pair(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

result<std::string> read_file(const std::string& path) {
  const auto wrong = [&](int why) {
    return error{errc::io_error, cat("cannot read ", path, ": ", std::strerror(why))};
  };
  if (std::error_code unknown; std::filesystem::is_directory(path, unknown)) return wrong(EISDIR);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) return wrong(errno);
  return text;
}

error wrong_option(std::string_view option, std::string_view takes, const std::string& got) {
  return {errc::invalid_argument, cat(option, " must be ", takes, ", not '", got, "'")};
}

result<std::map<std::string, std::string>> headers_of(const command& c) {
  std::map<std::string, std::string> headers;
  for (const auto& text : c.headers) {
    auto pair = parse_pair(text);
    if (!pair) return wrong_option("--header", "NAME=VALUE", text);
    if (headers.contains(pair->first)) return wrong_option("--header", "given once for each name", text);
    headers.insert(std::move(*pair));
  }
  return headers;
}

result<void> read_time(const command& c, std::optional<time_point>& from, std::optional<time_point>& to) {
  for (const auto& [option, text, into] :
       {std::tuple("--since", &c.since, &from), std::tuple("--until", &c.until, &to)})
    if (!text->empty() && !(*into = parse_since(*text)))
      return wrong_option(option, "a time, as 2h, or an instant, as 2026-03-08T00:00:00Z", *text);
  return {};
}

result<job_query> query_of(const command& c) {
  job_query query;
  query.queue = queue_name(c.queue);
  query.type = job_type(c.type);
  query.id_begins = c.id_begins;
  query.server = c.server;
  query.error = c.error;
  query.with_args = c.json;
  if (!c.state.empty() && !(query.state = parse_job_state(c.state)))
    return wrong_option("--state", "enqueued, scheduled, awaiting, throttled, processing, succeeded, failed or deleted",
                        c.state);
  if (auto fine = read_time(c, query.from, query.to); !fine) return fine.error();
  auto headers = headers_of(c);
  if (!headers) return headers.error();
  query.headers = std::move(*headers);
  if (!c.match.empty()) {
    const auto pair = parse_pair(c.match);
    if (!pair) return wrong_option("--match", "PATH=VALUE, as customer.id=42", c.match);
    query.argument = {pair->first, pair->second};
  }
  return query;
}

}  // namespace sluice::cli
