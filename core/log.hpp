// One log for all rooms. Lines are escaped and secrets masked here, so that nobody has to remember.
#pragma once

#include <string>
#include <string_view>

#include <sluice/log.hpp>

#include "core/text.hpp"

namespace sluice::log {

using level = log_level;

// Logs one line, with its time. A thread of the log's own writes it, to standard error or wherever the program wants
// it, so that nobody waits here for whoever reads there. A line for which there is no room is lost, and counted.
void write(level at, std::string_view text) noexcept;
void lose_line() noexcept;

// Waits until all that was logged before is written or lost, at most so long. False when it took longer.
bool flush(duration timeout);

// The text with passwords in URLs and the values of secret-looking keys as ***.
std::string redact(std::string_view text);

template <class... Ts>
void join(level at, const Ts&... parts) noexcept try {
  write(at, cat(parts...));
} catch (...) {
  lose_line();
}

template <class... Ts>
void debug(const Ts&... parts) noexcept {
  join(level::debug, parts...);
}
template <class... Ts>
void info(const Ts&... parts) noexcept {
  join(level::info, parts...);
}
template <class... Ts>
void warn(const Ts&... parts) noexcept {
  join(level::warn, parts...);
}
template <class... Ts>
void error(const Ts&... parts) noexcept {
  join(level::error, parts...);
}

}  // namespace sluice::log
