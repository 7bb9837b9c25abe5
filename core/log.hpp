// One log for all rooms. Lines are escaped and secrets masked here, so that nobody has to remember.
#pragma once

#include <string>
#include <string_view>

#include <sluice/log.hpp>

#include "core/text.hpp"

namespace sluice::log {

using level = log_level;

// Writes one line, with its time, to standard error or wherever the program wants it.
void write(level at, std::string_view text);

// The text with passwords in URLs and the values of secret-looking keys as ***.
std::string redact(std::string_view text);

template <class... Ts>
void debug(const Ts&... parts) {
  write(level::debug, cat(parts...));
}
template <class... Ts>
void info(const Ts&... parts) {
  write(level::info, cat(parts...));
}
template <class... Ts>
void warn(const Ts&... parts) {
  write(level::warn, cat(parts...));
}
template <class... Ts>
void error(const Ts&... parts) {
  write(level::error, cat(parts...));
}

}  // namespace sluice::log
