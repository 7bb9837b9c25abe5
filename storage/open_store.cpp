// The only file that names every kind of store.
#include <charconv>

#include "core/log.hpp"
#include "storage/sqlite/sqlite_store.hpp"

namespace sluice::storage {
namespace {

constexpr std::string_view scheme = "sqlite:";
constexpr std::string_view allowed = "use sqlite:FILE or sqlite::memory:";

struct parsed_url {
  std::string path;
  std::uint32_t max_pages = 0;
};

result<parsed_url> parse(const std::string& url) {
  const auto shown = printable(log::redact(url), 200);
  if (url.find('\0') != std::string::npos)
    return error{errc::invalid_argument, "the store's URL '" + shown + "' holds a NUL byte"};
  if (url.starts_with("redis")) return error{errc::not_served, "Redis stores are not served yet; use sqlite:FILE"};
  if (!url.starts_with(scheme))
    return error{errc::invalid_argument,
                 "the store's URL '" + shown + "' names no known store; " + std::string(allowed)};
  parsed_url parsed{url.substr(scheme.size())};
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

}  // namespace

result<void> check_url(const std::string& url) {
  auto parsed = parse(url);
  return parsed ? result<void>() : result<void>(parsed.error());
}

result<std::unique_ptr<store>> open_store(const std::string& url, const clock& clock) {
  const auto parsed = parse(url);
  if (!parsed) return parsed.error();
  const bool in_memory = parsed->path.starts_with(":memory:");
  return sqlite::open(in_memory ? ":memory:" : parsed->path, parsed->max_pages, clock);
}

}  // namespace sluice::storage
