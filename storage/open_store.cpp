// The only file that names every kind of store.
#include <charconv>

#include "core/log.hpp"
#include "storage/redis/redis_store.hpp"
#include "storage/sqlite/sqlite_store.hpp"

namespace sluice::storage {
namespace {

constexpr std::string_view scheme = "sqlite:";
constexpr std::string_view allowed = "use sqlite:FILE, sqlite::memory: or redis://host:port/db";

result<sqlite::place> parse_sqlite(const std::string& url) {
  const auto shown = printable(log::redact(url), 200);
  if (url.find('\0') != std::string::npos)
    return error{errc::invalid_argument, "the store's URL '" + shown + "' holds a NUL byte"};
  if (!url.starts_with(scheme))
    return error{errc::invalid_argument,
                 "the store's URL '" + shown + "' names no known store; " + std::string(allowed)};
  sqlite::place parsed{url.substr(scheme.size())};
  if (const auto mark = parsed.path.find('?'); mark != std::string::npos) {
    constexpr std::string_view key = "max_pages=";
    const std::string option = parsed.path.substr(mark + 1);
    parsed.path.resize(mark);
    const auto* end = option.data() + option.size();
    if (!option.starts_with(key))
      return error{errc::invalid_argument, "the store's URL takes only ?max_pages=N, not ?" + printable(option, 100)};
    const auto read = std::from_chars(option.data() + key.size(), end, parsed.max_pages);
    if (read.ec != std::errc{} || read.ptr != end || parsed.max_pages < 32)
      return error{errc::invalid_argument, "max_pages in the store's URL must be a number of at least 32"};
  }
  if (parsed.path.empty() || parsed.path.starts_with("//"))
    return error{errc::invalid_argument, "the store's URL '" + shown + "' names no file; " + std::string(allowed)};
  if (parsed.path.front() == ':' && !parsed.path.starts_with(":memory:"))
    return error{errc::invalid_argument, "the store's URL '" + shown + "' is not understood; " + std::string(allowed)};
  if (parsed.path.back() == '/')
    return error{errc::invalid_argument, "the store's URL '" + shown + "' names a folder; " + std::string(allowed)};
  return parsed;
}

bool is_redis(const std::string& url) { return url.starts_with("redis") && url.find('\0') == std::string::npos; }

}  // namespace

result<void> check_url(const std::string& url) {
  if (is_redis(url)) {
    auto parsed = redis::parse_url(url);
    return parsed ? result<void>() : result<void>(parsed.error());
  }
  auto parsed = parse_sqlite(url);
  return parsed ? result<void>() : result<void>(parsed.error());
}

result<std::unique_ptr<store>> open_store(const std::string& url, const clock* time, open_mode mode) {
  if (is_redis(url)) {
    auto where = redis::parse_url(url);
    if (!where) return where.error();
    return redis::open(std::move(*where), time, mode);
  }
  auto parsed = parse_sqlite(url);
  if (!parsed) return parsed.error();
  static const system_clock wall;
  if (parsed->path.starts_with(":memory:")) {
    if (mode != open_mode::may_make)
      return error{errc::not_found, cat("there is no store ", url, ": one in memory is of the process that made it")};
    parsed->path = ":memory:";
  }
  return sqlite::open(std::move(*parsed), mode, time ? *time : wall);
}

}  // namespace sluice::storage
