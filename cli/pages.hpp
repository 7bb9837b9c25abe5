// Lists that are asked for page after page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/output.hpp"
#include "core/text.hpp"
#include "dashboard/json.hpp"

namespace sluice::cli {

// Up to the command's limit. `ask` takes how many and from where; `items` are what a page holds.
template <class Ask, class Items, class Item>
int show_pages(const command& c, Ask ask, Items items, std::string (*as_table)(const std::vector<Item>&)) {
  std::vector<Item> all;
  auto after = c.after;
  do {
    auto page = ask(std::min<std::uint32_t>(200, c.limit - static_cast<unsigned>(all.size())), after);
    if (!page) return failed(page.error());
    for (auto& item : items(*page)) {
      if (c.json) print_line(web::json_of(item));
      all.push_back(std::move(item));
    }
    after = page->next;
  } while (all.size() < c.limit && !after.empty());
  if (!c.json) print(as_table(all));
  if (!after.empty()) note(cat("there are more: --after '", after, "'"));
  return 0;
}

}  // namespace sluice::cli
