#include "core/log.hpp"

#include <atomic>
#include <cctype>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace sluice::log {
namespace {

spdlog::logger& logger() {
  // Leaked on purpose: threads may log until the process is gone.
  static auto* const instance = [] {
    auto* made = new spdlog::logger("sluice", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

std::atomic<level> least_level{level::info};

bool same_letters(std::string_view text, std::size_t at, std::string_view word) {
  if (at + word.size() > text.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[at + i])) != word[i]) return false;
  return true;
}

// The end of a value that starts at `at`: quoted, or up to a separator.
std::size_t value_end(std::string_view text, std::size_t at) {
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
    const char quote = text[at];
    for (++at; at < text.size() && text[at] != quote; ++at)
      if (text[at] == '\\') ++at;
    return std::min(at + 1, text.size());
  }
  while (at < text.size() && std::string_view(" \t,;&}])").find(text[at]) == std::string_view::npos)
    ++at;
  return at;
}

void mask_url_passwords(std::string& text) {
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string::npos; at += 3) {
    const std::size_t begin = at + 3;
    const std::size_t end = std::min(text.find_first_of("/ \t\"'", begin), text.size());
    const std::size_t host = text.rfind('@', end);
    const std::size_t colon = text.find(':', begin);
    if (host == std::string::npos || host < begin || colon == std::string::npos || colon >= host) continue;
    text.replace(colon + 1, host - colon - 1, "***");
  }
}

void mask_secret_keys(std::string& text) {
  static constexpr std::string_view words[] = {"pass",    "secret",  "token",  "authorization",
                                               "api-key", "api_key", "apikey", "cookie"};
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const auto word : words) {
      if (!same_letters(text, at, word)) continue;
      std::size_t after = at + word.size();
      while (after < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[after])) || text[after] == '_' || text[after] == '-'))
        ++after;
      std::size_t sign = after;
      while (sign < text.size() && (text[sign] == '"' || text[sign] == '\'' || text[sign] == ' '))
        ++sign;
      if (sign >= text.size() || (text[sign] != ':' && text[sign] != '=')) break;
      std::size_t begin = sign + 1;
      while (begin < text.size() && text[begin] == ' ')
        ++begin;
      if (same_letters(text, begin, "bearer ")) begin += 7;
      else if (same_letters(text, begin, "basic ")) begin += 6;
      const std::size_t end = value_end(text, begin);
      text.replace(begin, end - begin, "***");
      at = begin;
      break;
    }
  }
}

}  // namespace

void set_level(level least) {
  least_level = least;
  logger().set_level(least == level::debug ? spdlog::level::debug : spdlog::level::info);
}

std::string redact(std::string_view text) {
  std::string out(text);
  mask_url_passwords(out);
  mask_secret_keys(out);
  return out;
}

void write(level at, std::string_view text) {
  if (at < least_level.load(std::memory_order_relaxed)) return;
  static constexpr spdlog::level::level_enum levels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                         spdlog::level::err, spdlog::level::off};
  try {
    logger().log(levels[static_cast<std::size_t>(at)], "{}", printable(redact(text)));
  } catch (...) {  // a log that cannot be written (disk full, closed pipe) must not stop a job
  }
}

}  // namespace sluice::log
