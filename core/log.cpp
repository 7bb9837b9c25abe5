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
std::atomic<std::shared_ptr<const log_sink>> chosen_sink{};

bool same_letters(std::string_view text, std::size_t at, std::string_view word) {
  if (at + word.size() > text.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[at + i])) != word[i]) return false;
  return true;
}

// The end of a quoted text whose opening quote is at `at`; `\"` opens and closes one inside another.
std::size_t quoted_end(std::string_view text, std::size_t at) {
  const bool nested = text[at] == '\\';
  if (nested) {
    const auto close = text.find(text.substr(at, 2), at + 2);
    return close == std::string_view::npos ? text.size() : close + 2;
  }
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

bool opens_quote(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  if (text[at] == '\\') return at + 1 < text.size() && text[at + 1] == '"';
  return text[at] == '"' || text[at] == '\'';
}

// The end of a list or object that opens at `at`.
std::size_t bracket_end(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size();) {
    if (opens_quote(text, at)) {
      at = quoted_end(text, at);
      continue;
    }
    if (text[at] == '[' || text[at] == '{') ++depth;
    if ((text[at] == ']' || text[at] == '}') && --depth == 0) return at + 1;
    ++at;
  }
  return text.size();
}

// The end of a secret that starts at `at`. One that `fills_line` is a header's, which may hold anything.
std::size_t value_end(std::string_view text, std::size_t at, bool fills_line) {
  if (opens_quote(text, at)) return quoted_end(text, at);
  if (at < text.size() && (text[at] == '[' || text[at] == '{')) return bracket_end(text, at);
  const std::string_view ends = fills_line ? "\r\n" : " \t\r\n,;&}])\"'\\";
  return std::min(text.find_first_of(ends, at), text.size());
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
  struct secret {
    std::string_view word;
    bool fills_line;
  };
  static constexpr secret secrets[] = {{"pass", false},         {"secret", false},  {"token", false},
                                       {"authorization", true}, {"api-key", false}, {"api_key", false},
                                       {"apikey", false},       {"cookie", true}};
  const auto skip = [&](std::size_t at, std::string_view these) {
    return std::min(text.find_first_not_of(these, at), text.size());
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const auto& [word, fills_line] : secrets) {
      if (!same_letters(text, at, word)) continue;
      std::size_t after = at + word.size();
      while (after < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[after])) || text[after] == '_' || text[after] == '-'))
        ++after;
      const auto sign = skip(after, "\"' \\");
      if (sign >= text.size() || (text[sign] != ':' && text[sign] != '=')) break;
      const auto begin = skip(sign + 1, " ");
      const auto end = value_end(text, begin, fills_line);
      text.replace(begin, end - begin, "***");
      at = begin;
      break;
    }
  }
}

}  // namespace

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
    const auto line = printable(redact(text));
    if (const auto sink = chosen_sink.load()) (*sink)(at, line);
    else logger().log(levels[static_cast<std::size_t>(at)], "{}", line);
  } catch (...) {  // a log that cannot be written (disk full, closed pipe) must not stop a job
  }
}

}  // namespace sluice::log

namespace sluice {

void set_log_level(log_level least) {
  log::least_level = least;
  log::logger().set_level(least == log_level::debug ? spdlog::level::debug : spdlog::level::info);
}

void set_log_sink(log_sink sink) {
  log::chosen_sink = sink ? std::make_shared<const log_sink>(std::move(sink)) : nullptr;
}

}  // namespace sluice
