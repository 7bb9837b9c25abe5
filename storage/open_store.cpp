// The only file that names every kind of store.
#include <algorithm>
#include <charconv>

#include "core/log.hpp"
#include "core/never_destroyed.hpp"
#include "storage/redis/redis_store.hpp"
#include "storage/sqlite/sqlite_store.hpp"

namespace sluice::storage {
namespace {

constexpr std::string_view scheme = "sqlite:";
constexpr std::string_view allowed = "use sqlite:FILE, sqlite::memory: or redis://host:port/db";

// Answers what is wrong.
std::string read_option(std::string_view option, sqlite::place& into) {
  const auto name = option.substr(0, option.find('='));
  const auto value = option.substr(std::min(name.size() + 1, option.size()));
  const auto number = [&](std::uint32_t& n, int base) {
    const auto read = std::from_chars(value.data(), value.data() + value.size(), n, base);
    return read.ec == std::errc{} && read.ptr == value.data() + value.size();
  };
  if (name == "max_pages")
    return number(into.max_pages, 10) && into.max_pages >= 32
               ? ""
               : "max_pages in the store's URL must be a number of at least 32";
  constexpr std::uint32_t owner = 0600, all = 0666;
  if (name == "mode")
    return number(into.mode, 8) && (into.mode & owner) == owner && (into.mode & ~all) == 0
               ? ""
               : "mode in the store's URL must be a file's mode that lets its owner read and write, as 0600 or 0660";
  if (name == "local") {
    into.is_local = value == "yes";
    return into.is_local ? "" : "local in the store's URL must be yes";
  }
  return cat("the store's URL takes ?max_pages=, ?mode= and ?local=, not ?", printable(option, 100));
}

result<sqlite::place> parse_sqlite(const std::string& url) {
  const auto shown = printable(log::redact(url), 200);
  if (url.find('\0') != std::string::npos)
    return error{errc::invalid_argument, "the store's URL '" + shown + "' holds a NUL byte"};
  if (!url.starts_with(scheme))
    return error{
        errc::invalid_argument,
        cat("the store's URL '", shown, "' names no known store; ", allowed,
            url.find(':') == std::string::npos && !url.empty() ? cat("; did you mean sqlite:", shown, "?") : "")};
  sqlite::place parsed{url.substr(scheme.size())};
  if (const auto mark = parsed.path.find('?'); mark != std::string::npos) {
    const std::string options = parsed.path.substr(mark + 1);
    parsed.path.resize(mark);
    for (std::size_t at = 0; at <= options.size();) {
      const auto end = std::min(options.find('&', at), options.size());
      if (const auto wrong = read_option(std::string_view(options).substr(at, end - at), parsed); !wrong.empty())
        return error{errc::invalid_argument, wrong};
      at = end + 1;
    }
  }
  if (parsed.path.starts_with(":memory:") && (parsed.mode != sqlite::place().mode || parsed.is_local))
    return error{errc::invalid_argument, cat("mode and local in the store's URL '", shown,
                                             "' are of a file, and a store in memory has none; remove them")};
  if (const auto name = parsed.path.find_first_not_of('/'); parsed.path.empty() || parsed.path.starts_with("//"))
    return error{errc::invalid_argument,
                 cat("the store's URL '", shown, "' names no file; ", allowed,
                     name == std::string::npos || !password_in(url).empty()
                         ? ""
                         : cat("; did you mean sqlite:/", printable(parsed.path.substr(name), 200), "?"))};
  if (parsed.path.front() == ':' && !parsed.path.starts_with(":memory:"))
    return error{errc::invalid_argument, "the store's URL '" + shown + "' is not understood; " + std::string(allowed)};
  if (parsed.path.back() == '/')
    return error{errc::invalid_argument, "the store's URL '" + shown + "' names a folder; " + std::string(allowed)};
  return parsed;
}

constexpr std::string_view memory = ":memory:";

bool in_memory(const sqlite::place& where) { return where.path.starts_with(memory); }

error none_in_memory(const std::string& url) {
  return {errc::not_found, cat("there is no store ", url, ": one in memory is of the process that made it")};
}

const clock& wall() {
  static const auto& one = *never_destroyed<system_clock>();
  return one;
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

result<std::unique_ptr<store>> open_store(const std::string& url, const clock* time, open_mode mode,
                                          const machine::library* known) {
  const auto& rules = known ? *known : machine::current_library();
  if (is_redis(url)) {
    auto where = redis::parse_url(url);
    if (!where) return where.error();
    return redis::open(std::move(*where), time, mode, rules);
  }
  auto parsed = parse_sqlite(url);
  if (!parsed) return parsed.error();
  if (in_memory(*parsed)) {
    if (mode != open_mode::may_make) return none_in_memory(url);
    parsed->path = memory;
  }
  return sqlite::open(std::move(*parsed), mode, time ? *time : wall(), rules);
}

result<raising> raise_layout(const std::string& url, const clock* time, const machine::library* known) {
  const auto& rules = known ? *known : machine::current_library();
  if (is_redis(url)) {
    auto where = redis::parse_url(url);
    if (!where) return where.error();
    return redis::raise_layout(std::move(*where), time, rules);
  }
  auto parsed = parse_sqlite(url);
  if (!parsed) return parsed.error();
  if (in_memory(*parsed)) return none_in_memory(url);
  return sqlite::raise_layout(std::move(*parsed), time ? *time : wall(), rules);
}

result<std::vector<std::string>> other_libraries(const std::string& url, bool remove, const machine::library* known) {
  if (!is_redis(url)) return std::vector<std::string>();
  const auto where = redis::parse_url(url);
  if (!where) return where.error();
  return redis::other_libraries(*where, remove, known ? *known : machine::current_library());
}

error waits_for_servers(const std::string& url, const raising& said) {
  std::string names;
  for (const auto& one : said.waits_for)
    names += cat(names.empty() ? "" : ", ", printable(one, 200));
  return {errc::storage_older,
          cat("the store ", log::redact(url), " has layout ", said.from, " and waits to be raised to ", said.to,
              " for servers that run with layout ", said.from, ": ", names)};
}

}  // namespace sluice::storage
