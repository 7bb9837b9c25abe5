// Lists that are asked for page after page.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sluice/job.hpp>

#include "cli/command_line.hpp"
#include "cli/output.hpp"
#include "cli/words.hpp"
#include "core/text.hpp"
#include "wire/json.hpp"

namespace sluice::cli {

// Pages of jobs by `ask`. What looks inside of them costs servers as much as it takes the store: before the next page
// it pauses for four times as long as the one before took, so that it gets a fifth of the time.
template <class Ask>
auto giving_way(bool reads_records, Ask ask) {
  static constexpr duration longest_pause = std::chrono::seconds(1);
  return [reads_records, ask, pause = duration(0)](const auto&... words) mutable {
    std::this_thread::sleep_for(pause);
    const auto began = std::chrono::steady_clock::now();
    auto page = ask(words...);
    const auto took = std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - began);
    if (reads_records) pause = std::min<duration>(4 * took, longest_pause);
    return page;
  };
}

// The command that was typed, for what follows in its list.
inline std::string next_command(const command& c, const std::string& next) {
  std::vector<std::string> words{"sluice"};
  for (std::size_t i = 0; i < c.typed.size(); ++i) {
    if (c.typed[i] == "--after") ++i;  // with its value
    else if (!c.typed[i].starts_with("--after=")) words.push_back(c.typed[i]);
  }
  words.insert(words.end(), {"--after", next});
  return shell_line(words);
}

// Where a list goes on: for people the command that shows it, behind `shown` ("50 of 74 are shown"); for programs a
// line of its own, with how many were looked at where that is known.
inline void tell_next(const command& c, const std::string& next, const std::string& shown = "there are more",
                      std::optional<std::uint64_t> records_read = {}) {
  if (next.empty()) return;
  if (!c.json) return note(cat(shown, "; the next: ", next_command(c, next)));
  print_line(cat("{\"next\":", json_quoted(next), records_read ? cat(",\"records_read\":", *records_read) : "", "}"));
}

// Up to the command's limit. `ask` takes how many and from where; `items` are what a page holds. One that fails on the
// way tells what there is, and where to go on. `count` tells how many there are in all, where that is known.
template <class Ask, class Items, class Item>
int show_pages(const command& c, Ask ask, Items items, std::string (*as_table)(const std::vector<Item>&),
               const std::function<std::optional<std::uint64_t>()>& count = {}) {
  std::vector<Item> all;
  auto after = c.after;
  std::optional<std::uint64_t> records_read;
  std::optional<error> broke;
  do {
    auto page = ask(std::min<std::uint32_t>(200, c.limit - static_cast<unsigned>(all.size())), after);
    if (!page) {
      broke = page.error();
      if (after == c.after) return failed(*broke);
      break;
    }
    for (auto& item : items(*page)) {
      if (c.json) print_line(wire::json_of(item));
      all.push_back(std::move(item));
    }
    if constexpr (requires { page->records_read; }) records_read = records_read.value_or(0) + page->records_read;
    after = page->next;
  } while (all.size() < c.limit && !after.empty());
  if (!c.json) print(as_table(all));
  const auto all_there_are = count && c.after.empty() && !after.empty() && !c.json ? count() : std::nullopt;
  tell_next(c, after, all_there_are ? cat(all.size(), " of ", *all_there_are, " are shown") : "there are more",
            records_read);
  return broke ? failed(*broke) : 0;
}

}  // namespace sluice::cli
