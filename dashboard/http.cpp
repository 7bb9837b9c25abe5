#include "dashboard/http.hpp"

#include <array>
#include <cstdio>

#include "core/text.hpp"

namespace sluice::web {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
      continue;
    }
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit_of(text[i + 1]), low = digit_of(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// What stands before the next `mark`, which goes with it.
std::string_view take_until(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const auto part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

constexpr std::array always{
    std::pair("Content-Security-Policy",
              "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
              "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    std::pair("X-Content-Type-Options", "nosniff"),
    std::pair("Referrer-Policy", "no-referrer"),
    std::pair("Cross-Origin-Opener-Policy", "same-origin"),
    std::pair("Cross-Origin-Resource-Policy", "same-origin"),
};

}  // namespace

void add_safety(http_response& to) {
  for (const auto& [name, value] : always)
    to.headers.emplace_back(name, value);
}

std::optional<http_target> parse_target(std::string_view target) {
  if (!target.starts_with('/')) return std::nullopt;
  http_target read;
  auto path = take_until(target, '?');
  path.remove_prefix(1);
  while (!path.empty()) {
    auto segment = decoded(take_until(path, '/'), false);
    if (!segment) return std::nullopt;
    read.path.push_back(std::move(*segment));
  }
  while (!target.empty()) {
    auto value = take_until(target, '&');
    auto name = decoded(take_until(value, '='), true);
    auto text = decoded(value, true);
    if (!name || !text) return std::nullopt;
    read.query.emplace_back(std::move(*name), std::move(*text));
  }
  return read;
}

std::string digest(std::string_view text) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(fnv1a(text)));
  return digits;
}

std::string tag_of(const http_response& said) { return cat('"', digest(said.defined), '-', digest(said.body), '"'); }

bool names_definition(std::string_view tags, std::string_view defined) {
  return tags == "*" || tags.find(cat('"', digest(defined), '-')) != std::string_view::npos;
}

std::string path_segment(std::string_view text) {
  constexpr std::string_view plain = "-._~";
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          plain.find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte / 16];
    out += digits[byte % 16];
  }
  return out;
}

}  // namespace sluice::web
