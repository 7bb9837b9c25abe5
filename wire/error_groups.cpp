#include "wire/error_groups.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/last_run.hpp"
#include "core/text.hpp"

namespace sluice::wire {

namespace {

// The C locale's, whatever the process has.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Takes all that is so from the begin of `text`.
std::string_view take_while(std::string_view& text, bool (*is_so)(char)) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is_so);
  const auto front = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(front.size());
  return front;
}

// A word before the number that tells errors apart.
bool names_a_code(std::string_view word) {
  constexpr std::string_view words[] = {"http", "status", "code", "exit", "errno", "signal"};
  return std::find(std::begin(words), std::end(words), lowered(word)) != std::end(words);
}

// A code is a whole number of a few digits, and not the begin of a word such as 12ab.
bool is_code(std::string_view digits, std::string_view behind) {
  constexpr std::size_t most_digits = 3;
  return digits.size() <= most_digits && (behind.empty() || !is_letter(behind.front()));
}

// Between such a word and its number: "status: 404", "errno=2", "exit code -1", "status (404)".
bool may_stand_between(char c) { return std::string_view(" \t:=(#-_\"'").find(c) != std::string_view::npos; }

// The version of HTTP stands before the status: "HTTP/1.1 404".
std::string_view take_version(std::string_view& text) {
  auto rest = text;
  rest.remove_prefix(1);
  const auto version = take_while(rest, [](char c) { return is_digit(c) || c == '.'; });
  return std::exchange(text, rest).substr(0, 1 + version.size());
}

}  // namespace

std::string kind_of_error(std::string_view said) {
  constexpr std::size_t max_bytes = 200;
  said.remove_prefix(std::min(said.find_first_not_of(" \t\r\n"), said.size()));
  said = said.substr(0, said.find_first_of("\r\n"));
  std::string kind;
  bool is_behind_word = false;  // one that names a code
  while (!said.empty() && kind.size() <= max_bytes) {
    if (const auto word = take_while(said, is_letter); !word.empty()) {
      kind += word;
      is_behind_word = names_a_code(word);
      if (is_behind_word && lowered(word) == "http" && said.starts_with('/')) kind += take_version(said);
    } else if (const auto digits = take_while(said, is_digit); !digits.empty()) {
      kind += is_behind_word && is_code(digits, said) ? digits : "#";
      is_behind_word = false;
    } else {
      is_behind_word = is_behind_word && may_stand_between(said.front());
      kind += said.front();
      said.remove_prefix(1);
    }
  }
  return std::string(first_bytes(kind, max_bytes));
}

std::string kind_of_error(const job& failed) {
  const auto* const last = last_run(failed);
  return kind_of_error(last && !last->error.empty() ? std::string_view(last->error) : failed.reason);
}

void error_groups::add(const job& failed) {
  auto kind = kind_of_error(failed);
  auto& group = by_kind_[{failed.type.value, kind}];
  const auto at = failed.finished_at.value_or(failed.created_at);
  if (group.count == 0) group = {failed.type, std::move(kind), 0, at, at, failed.id};
  ++group.count;
  group.first_at = std::min(group.first_at, at);
  if (at <= group.last_at) return;
  group.last_at = at;
  group.last_id = failed.id;
}

std::vector<error_group> error_groups::most_first() const {
  std::vector<error_group> all;
  all.reserve(by_kind_.size());
  for (const auto& [kind, group] : by_kind_)
    all.push_back(group);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  return all;
}

}  // namespace sluice::wire
