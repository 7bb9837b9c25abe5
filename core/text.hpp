// Reading and writing what people type and read: durations, instants, names, JSON text.
#pragma once

#include <charconv>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/types.hpp>

namespace sluice {

// Adds a text or a number. What is stored is made of these: no locale of the process changes a digit of it.
inline void append(std::string& to, std::string_view text) { to += text; }
inline void append(std::string& to, char letter) { to += letter; }
template <class Number>
requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, char> &&
         !std::is_same_v<Number, bool>) void append(std::string& to, Number n) {
  char digits[40];
  if constexpr (std::is_integral_v<Number>) to.append(digits, std::to_chars(digits, std::end(digits), n).ptr);
  else to.append(digits, std::to_chars(digits, std::end(digits), n, std::chars_format::general, 6).ptr);
}

// Joins texts and numbers.
template <class... Ts>
std::string cat(const Ts&... parts) {
  std::string all;
  (append(all, parts), ...);
  return all;
}

// invalid_argument, in these words.
inline error invalid(std::string why) { return {errc::invalid_argument, std::move(why)}; }

// "250ms", "30s", "5m", "24h", "30d", also "1.5s". A bare number is no duration.
std::optional<duration> parse_duration(std::string_view text);
// "1h30m" and "1h 30m" are none either: the same time as one number with one unit, "90m", for whoever is told so.
std::optional<std::string> in_one_unit(std::string_view text);
// The shortest exact form: "1500ms", "30s", "24h".
std::string format_duration(duration d);

// ISO 8601, UTC, milliseconds: "2026-03-08T07:00:00.000Z".
std::string format_time(time_point at);

// What an exception says; some say nothing.
inline std::string message_of(const std::exception& thrown) {
  const char* const what = thrown.what();
  return what ? what : "an exception without words";
}

// `text` with control characters and invalid UTF-8 as \xNN, at most `most` bytes and then
// "... (truncated)". For logs and terminals.
std::string printable(std::string_view text, std::size_t most = 16 * 1024);

// Valid UTF-8 made of `text`: bad bytes are replaced by '?', too much is cut off with a mark.
std::string bounded_utf8(std::string_view text, std::size_t most);
// The same with each bad byte as \xNN, so that none is lost. Control characters stay.
std::string escaped_utf8(std::string_view text, std::size_t most);
// `text` without a byte order mark at its head, which editors of Windows write.
std::string_view without_bom(std::string_view text);

// The first bytes of `text`, at most so many, and no part of a character at their end.
std::string_view first_bytes(std::string_view text, std::size_t most);

// "hour, minute"
std::string joined(const std::vector<std::string>& words, std::string_view between);
// "A, B and C"
std::string listed(const std::vector<std::string>& names);

// The candidate with the smallest edit distance, when that is near enough to be a slip.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);
// "; did you mean 'NEAREST'?", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// ASCII letters in lower case.
std::string lowered(std::string_view text);

// As RFC 4648 has it, with padding; read without it, too. Nothing for what is none.
std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

// True when `name` matches `pattern`, in which '*' stands for any run of characters.
bool matches(std::string_view pattern, std::string_view name);

// Well-formed JSON of at most `max_depth` levels; an error names the position.
result<void> check_json(std::string_view text, int max_depth);

// Adds `text` as a JSON string literal with its quotes, with U+FFFD for bytes that are no UTF-8; a number in its
// shortest exact form.
void append_json(std::string& to, std::string_view text);
void append_json(std::string& to, double number);
// The same of a text, by itself.
std::string json_quoted(std::string_view text);
// A key as a part of a JSON pointer.
std::string pointer_part(std::string_view key);
// The same JSON without characters that a terminal would act upon, or that turn the direction of writing.
std::string plain_json(std::string dumped);

// The part of a URL that may be a password, as who wrote it may not know that '/' and '@' must be escaped there: behind
// the first ':' of what follows "//", before the last '@'. Nothing in any other text.
std::string_view password_in(std::string_view url);

// A new job id: 26 characters that sort by the time they were made. Thread-safe.
job_id make_job_id(time_point now);

// 64 random bits as 16 hex digits, to tell one start of a process from the next.
std::string random_token();

// FNV-1a, 64 bits: the checksum of stored records, stable for ever.
std::uint64_t fnv1a(std::string_view bytes, std::uint64_t seed = 14695981039346656037ULL) noexcept;

}  // namespace sluice
