#include "wire/query_words.hpp"

#include "core/clock.hpp"
#include "core/instant.hpp"
#include "core/text.hpp"

namespace sluice::wire {

std::optional<time_point> parse_since(const std::string& text) {
  if (const auto ago = parse_duration(text)) return system_clock().now() - *ago;
  return parse_time(text);
}

std::optional<std::pair<std::string, std::string>> parse_pair(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

error bad_word(std::string_view word, std::string_view takes, std::string_view got) {
  return {errc::invalid_argument, cat(word, " must be ", takes, ", not '", printable(got, 200), "'")};
}

error bad_since(std::string_view word, std::string_view got) {
  return {errc::invalid_argument, cat(word, " ", no_since(got))};
}

result<std::map<std::string, std::string>> headers_of(const std::vector<std::string>& texts, std::string_view prefix) {
  std::map<std::string, std::string> headers;
  for (const auto& text : texts) {
    auto pair = parse_pair(text);
    if (!pair) return bad_word(cat(prefix, "header"), "NAME=VALUE", text);
    if (headers.contains(pair->first)) return bad_word(cat(prefix, "header"), "given once for each name", text);
    headers.insert(std::move(*pair));
  }
  return headers;
}

result<void> read_times(const std::string& since, const std::string& until, std::string_view prefix, bool ahead,
                        std::optional<time_point>& from, std::optional<time_point>& to) {
  for (const auto& [name, text, into] : {std::tuple("since", &since, &from), std::tuple("until", &until, &to)})
    if (!text->empty() && !(*into = parse_since(*text))) return bad_since(cat(prefix, name), *text);
  if (from && to && *to < *from)
    return invalid(
        cat(prefix, "until is before ", prefix, "since, which is ", format_time(*from), ": nothing is between them"));
  if (!ahead && from && *from > system_clock().now() + std::chrono::minutes(1))  // clocks differ
    return invalid(cat(prefix, "since must be an instant that has passed, not ", format_time(*from)));
  return {};
}

result<job_query> query_of(const query_words& words, std::string_view prefix) {
  job_query query;
  query.queue = queue_name(words.queue);
  query.type = job_type(words.type);
  query.id_begins = words.id_begins;
  query.server = words.server;
  query.error = words.error;
  if (!words.state.empty() && !(query.state = parse_job_state(words.state)))
    return bad_word(cat(prefix, "state"),
                    "enqueued, scheduled, awaiting, throttled, processing, succeeded, failed or deleted", words.state);
  const bool ahead = !query.state || query.state == job_state::scheduled;  // these are due then
  if (auto fine = read_times(words.since, words.until, prefix, ahead, query.from, query.to); !fine) return fine.error();
  auto headers = headers_of(words.headers, prefix);
  if (!headers) return headers.error();
  query.headers = std::move(*headers);
  if (!words.match.empty()) {
    const auto pair = parse_pair(words.match);
    if (!pair) return bad_word(cat(prefix, "match"), "PATH=VALUE, as customer.id=42", words.match);
    query.argument = {pair->first, pair->second};
  }
  return query;
}

}  // namespace sluice::wire
