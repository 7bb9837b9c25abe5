#include "core/locks.hpp"

#include <unistd.h>

#include "core/ranges.hpp"
#include "core/text.hpp"

namespace sluice {
namespace {

constexpr std::size_t longest = 200;

bool is_words(const std::string& text) {
  return !text.empty() && text.size() <= longest && printable(text, longest) == text;
}

error not_words(const char* what, const std::string& text) {
  return {errc::invalid_argument, cat(what, " '", printable(text, 60), "' must be 1 to ", longest,
                                      " bytes of UTF-8 without control characters")};
}

}  // namespace

result<void> check_lock(const std::string& resource, duration ttl) {
  if (!is_words(resource)) return not_words("a lock's resource", resource);
  if (!ranges::lock_ttl.contains(ttl))
    return error{errc::invalid_argument,
                 cat("a lock's time to live must be ", format_duration(ranges::lock_ttl.least), " to ",
                     format_duration(ranges::lock_ttl.most), ", not ", format_duration(ttl))};
  return {};
}

result<void> check_lock_holder(const std::string& holder) {
  return is_words(holder) ? result<void>() : result<void>(not_words("a lock's holder", holder));
}

std::string held_by(const std::string& resource, const lock_holder& now) {
  return cat("lock ", printable(resource, longest), " is held by ", printable(now.holder, longest), " until ",
             format_time(now.until), " (", format_duration(std::chrono::ceil<std::chrono::milliseconds>(now.left)),
             " from now)");
}

std::string this_process() {
  char name[256] = {};
  const bool known = ::gethostname(name, sizeof name - 1) == 0;
  return cat(known ? name : "unknown", ":", ::getpid());
}

}  // namespace sluice
