// printf into a string.
#pragma once

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace sample {

// At most 511 characters; the rest is cut.
[[gnu::format(printf, 1, 2)]] inline std::string format(const char* how, ...) {
  std::array<char, 512> buffer{};
  va_list values;
  va_start(values, how);
  std::vsnprintf(buffer.data(), buffer.size(), how, values);
  va_end(values);
  return buffer.data();
}

}  // namespace sample
