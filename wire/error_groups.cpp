#include "wire/error_groups.hpp"

#include <algorithm>

#include "core/last_run.hpp"
#include "core/text.hpp"

namespace sluice::wire {

std::string kind_of_error(const job& failed) {
  constexpr std::size_t max_bytes = 200;
  const auto* const last = last_run(failed);
  std::string_view said = last && !last->error.empty() ? last->error : failed.reason;
  said.remove_prefix(std::min(said.find_first_not_of(" \t\r\n"), said.size()));
  std::string kind;
  bool in_number = false;
  for (const char c : said) {
    if (c == '\n' || c == '\r' || kind.size() > max_bytes) break;
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) kind += c;
    else if (!in_number) kind += '#';
    in_number = is_digit;
  }
  return std::string(first_bytes(kind, max_bytes));
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
