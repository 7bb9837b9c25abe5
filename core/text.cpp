#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <random>

#include <nlohmann/json.hpp>

#include "core/ids.hpp"
#include "core/json_fault.hpp"

namespace sluice {
namespace {

struct unit {
  std::string_view name;
  std::int64_t micros;
};
constexpr std::array units{unit{"d", 86'400'000'000}, unit{"h", 3'600'000'000}, unit{"m", 60'000'000},
                           unit{"s", 1'000'000},      unit{"ms", 1'000},        unit{"us", 1}};
constexpr double longest_duration_us = 10.0 * 365 * 86'400e6;

// Bytes of the UTF-8 sequence that starts at `at`, or 0 when it is not valid.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  std::size_t length = lead >= 0xf0 && lead <= 0xf4  ? 4
                       : lead >= 0xe0 && lead < 0xf0 ? 3
                       : lead >= 0xc2 && lead < 0xe0 ? 2
                                                     : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  if (lead == 0xe0 && byte(at + 1) < 0xa0) return 0;
  if (lead == 0xed && byte(at + 1) > 0x9f) return 0;  // surrogates
  if (lead == 0xf0 && byte(at + 1) < 0x90) return 0;
  if (lead == 0xf4 && byte(at + 1) > 0x8f) return 0;
  return length;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::mt19937_64& random_engine() {
  thread_local std::mt19937_64 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return engine;
}

// Accepts any JSON and counts levels; nlohmann's own functions recurse over the result and die of
// deep nesting, this never builds one.
struct depth_check : nlohmann::json_sax<nlohmann::json> {
  int depth = 0;
  int max_depth;
  std::string problem;

  explicit depth_check(int most) : max_depth(most) {}
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return down(); }
  bool start_array(std::size_t) override { return down(); }
  bool end_object() override { return up(); }
  bool end_array() override { return up(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) override {
    problem = json_fault(position, e.what());
    return false;
  }
  bool up() { return --depth, true; }
  bool down() {
    if (++depth <= max_depth) return true;
    problem = cat("is nested deeper than ", max_depth, " levels");
    return false;
  }
};

}  // namespace

std::optional<duration> parse_duration(std::string_view text) {
  double amount = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (failed != std::errc{} || amount < 0) return std::nullopt;
  const std::string_view name(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& u : units) {
    if (u.name != name) continue;
    const double us = amount * static_cast<double>(u.micros);
    if (!(us <= longest_duration_us)) return std::nullopt;
    return duration(std::llround(us));
  }
  return std::nullopt;
}

std::optional<std::string> in_one_unit(std::string_view text) {
  constexpr auto digits = "0123456789.";
  duration sum{0};
  std::size_t parts = 0;
  for (std::size_t at = 0; at < text.size(); ++parts) {
    const auto behind_number = std::min(text.find_first_not_of(digits, at), text.size());
    const auto end = std::min(text.find_first_of("0123456789 ", behind_number), text.size());
    const auto part = parse_duration(text.substr(at, end - at));
    if (!part) return std::nullopt;
    sum += *part;
    at = std::min(text.find_first_not_of(' ', end), text.size());
  }
  if (parts < 2 || static_cast<double>(sum.count()) > longest_duration_us) return std::nullopt;
  return format_duration(sum);
}

std::string format_duration(duration d) {
  const auto us = d.count();
  if (us == 0) return "0s";
  for (const auto& u : units)
    if (u.name != "d" && us % u.micros == 0) return std::to_string(us / u.micros).append(u.name);
  return std::to_string(us) + "us";
}

std::string format_time(time_point at) {
  std::int64_t ms = at.time_since_epoch().count() / 1000;
  std::int64_t rest = ms % 1000;
  if (rest < 0) rest += 1000;
  const std::time_t seconds = static_cast<std::time_t>((ms - rest) / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 48> buffer{};
  const auto used = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> millis{};
  std::snprintf(millis.data(), millis.size(), ".%03dZ", static_cast<int>(rest));
  return std::string(buffer.data(), used) + millis.data();
}

namespace {

// A character that moves what stands around it, or begins a line: DEL and the controls behind it, U+2028 and 2029, and
// those that turn the direction of writing. `length`: its bytes.
bool is_misleading(std::string_view text, std::size_t at, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (length == 1) return byte(0) == 0x7f;
  if (length == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (length != 3 || byte(0) != 0xe2) return false;
  return (byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) ||
         (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
}

constexpr std::size_t bytes_of_an_escape = 4;

void append_escape(std::string& to, unsigned char byte) {
  static constexpr std::string_view hex = "0123456789abcdef";
  to += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
}

std::string cut_off(std::string text) { return std::move(text) + "... (truncated)"; }

// `append_bad` adds `size_of_bad` bytes for each byte that is no UTF-8.
template <class Append>
std::string valid_utf8(std::string_view text, std::size_t most, std::size_t size_of_bad, Append append_bad) {
  std::string out;
  out.reserve(std::min(text.size(), most));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (out.size() + (length == 0 ? size_of_bad : length) > most) return cut_off(std::move(out));
    if (length == 0) {
      append_bad(out, static_cast<unsigned char>(text[at]));
      ++at;
    } else {
      out.append(text, at, length);
      at += length;
    }
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  out.reserve(std::min(text.size(), most) + 16);
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = utf8_length(text, at);
    const bool escaped = length == 0 || byte < 0x20 || is_misleading(text, at, length);
    if (out.size() + (escaped ? bytes_of_an_escape : length) > most) return cut_off(std::move(out));
    if (escaped) {
      append_escape(out, byte);
      ++at;
    } else {
      out.append(text, at, length);
      at += length;
    }
  }
  return out;
}

std::string bounded_utf8(std::string_view text, std::size_t most) {
  return valid_utf8(text, most, 1, [](std::string& out, unsigned char) { out += '?'; });
}

std::string escaped_utf8(std::string_view text, std::size_t most) {
  return valid_utf8(text, most, bytes_of_an_escape, append_escape);
}

std::string_view without_bom(std::string_view text) {
  constexpr std::string_view bom = "\xEF\xBB\xBF";
  return text.starts_with(bom) ? text.substr(bom.size()) : text;
}

std::string_view first_bytes(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80)
    --most;
  return text.substr(0, most);
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i)
    all.append(i == 0 ? "" : between).append(words[i]);
  return all;
}

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i)
    all.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append(names[i]);
  return all;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, (word.size() + 1) / 3) + 1;
  for (const auto& candidate : candidates) {
    const auto distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto meant = nearest(word, candidates);
  return meant ? cat("; did you mean '", printable(*meant, 200), "'?") : std::string();
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (auto& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

namespace {

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](std::size_t i) {
      return at + i < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[at + i])) : 0U;
    };
    const auto three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t i = 0; i < 4; ++i)
      out += at + i <= bytes.size() ? base64_digits[three >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('='))
    text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto at = base64_digits.find(c);
    if (at == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(at);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

result<void> check_json(std::string_view text, int max_depth) {
  if (text == "{}") return {};  // the commonest args
  if (text.find('\0') != std::string_view::npos) return error{errc::invalid_argument, "holds a NUL byte"};
  depth_check check(max_depth);
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &check)) return {};
  return error{errc::invalid_argument, printable(check.problem, 300)};
}

std::string plain_json(std::string dumped) {
  constexpr std::string_view first_bytes_of_these("\x7f\xc2\xe2");
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; (at = dumped.find_first_of(first_bytes_of_these, at)) != std::string::npos;) {
    const auto length = utf8_length(dumped, at);
    if (!is_misleading(dumped, at, length)) {
      at += std::max<std::size_t>(length, 1);
      continue;
    }
    const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(dumped[at + i])); };
    const auto point = length == 1   ? byte(0)
                       : length == 2 ? (byte(0) & 31) << 6 | (byte(1) & 63)
                                     : (byte(0) & 15) << 12 | (byte(1) & 63) << 6 | (byte(2) & 63);
    std::array<char, 8> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "\\u%04x", point & 0xffff);
    out.append(dumped, copied, at - copied).append(escaped.data());
    at += length;
    copied = at;
  }
  if (copied == 0) return dumped;
  return out.append(dumped, copied);
}

void append_json(std::string& to, std::string_view text) {
  const auto stands_as_it_is = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), stands_as_it_is)) to.append("\"").append(text).append("\"");
  else to += plain_json(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}
void append_json(std::string& to, double number) { to += nlohmann::json(number).dump(); }

std::string json_quoted(std::string_view text) {
  std::string quoted;
  append_json(quoted, text);
  return quoted;
}

std::string pointer_part(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  }
  return out;
}

namespace {

constexpr std::string_view id_alphabet = "0123456789abcdefghjkmnpqrstvwxyz";  // Crockford, lower case
constexpr std::size_t id_size = 26, id_time_size = 10;

}  // namespace

std::string_view password_in(std::string_view url) {
  const auto slashes = url.find("//");  // also where the colon before them was forgotten
  if (slashes == std::string_view::npos) return {};
  const auto colon = url.find(':', slashes + 2);
  const auto at = url.rfind('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at < colon) return {};
  return url.substr(colon + 1, at - colon - 1);
}

job_id make_job_id(time_point now) {
  auto& engine = random_engine();
  auto ms = static_cast<std::uint64_t>(now.time_since_epoch().count() / 1000);
  std::string id(id_size, '0');
  for (auto i = id_time_size; i-- > 0; ms >>= 5)
    id[i] = id_alphabet[ms & 31];
  for (auto i = id_time_size; i < id_size;)
    for (std::uint64_t bits = engine(), n = 0; n < 12 && i < id_size; ++n, ++i, bits >>= 5)
      id[i] = id_alphabet[bits & 31];
  return job_id(std::move(id));
}

std::optional<std::int64_t> milliseconds_of(const job_id& id) {
  if (id.value.size() != id_size) return std::nullopt;
  std::int64_t ms = 0;
  for (const char letter : std::string_view(id.value).substr(0, id_time_size)) {
    const auto digit = id_alphabet.find(letter);
    if (digit == std::string_view::npos) return std::nullopt;
    ms = ms * 32 + static_cast<std::int64_t>(digit);
  }
  return ms;
}

std::string random_token() {
  std::array<char, 17> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%016llx", static_cast<unsigned long long>(random_engine()()));
  return buffer.data();
}

std::uint64_t fnv1a(std::string_view bytes, std::uint64_t seed) noexcept {
  for (const char c : bytes) {
    seed ^= static_cast<unsigned char>(c);
    seed *= 1099511628211ULL;
  }
  return seed;
}

}  // namespace sluice
