// Jobs that were put aside since they could not be read: told, enqueued again or removed.
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/pages.hpp"
#include "cli/words.hpp"
#include "core/text.hpp"
#include "wire/json.hpp"

namespace sluice::cli {
namespace {

constexpr std::size_t at_once = 200;

struct change {
  const char* verb;
  const char* done;
  std::vector<result<void>> (client::*some)(const std::vector<job_id>&);
};
constexpr change requeue{"requeue", "enqueued", &client::requeue_quarantined};
constexpr change drop{"drop", "dropped", &client::drop_quarantined};

result<std::vector<job_id>> all_of(client& store, const std::string& queue) {
  std::vector<job_id> ids;
  std::string after;
  do {
    auto page = store.quarantine(queue_name(queue), at_once, after);
    if (!page) return page.error();
    for (auto& one : page->jobs)
      ids.push_back(std::move(one.id));
    after = std::move(page->next);
  } while (!after.empty());
  return ids;
}

// Each that was not changed is told with its reason, and goes on to be there.
int change_each(client& store, const command& c, const std::vector<job_id>& ids, const change& how) {
  std::size_t refused = 0;
  for (std::size_t from = 0; from < ids.size(); from += at_once) {
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(from);
    const std::vector<job_id> some(begin, begin + static_cast<std::ptrdiff_t>(std::min(at_once, ids.size() - from)));
    const auto each = (store.*how.some)(some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (!each[i]) {
        ++refused;
        failed(each[i].error());
      } else if (c.json) print_line(wire::json_done("id", some[i].value, how.done));
      else if (!c.all) print_line(cat(printable(some[i].value), " ", how.done));
    }
  }
  if (c.all && !c.json) print_line(cat(ids.size() - refused, " ", how.done));
  return refused == 0 ? 0 : 1;
}

int change_some(client& store, const command& c, const change& how) {
  if (c.all == !c.ids.empty()) return usage_error(cat(c.name, " needs ids of jobs, or --all"));
  if (!c.all) return change_each(store, c, {c.ids.begin(), c.ids.end()}, how);
  if (!c.yes && !may_ask()) return usage_error(nobody_to_ask);
  const auto ids = all_of(store, c.queue);
  if (!ids) return failed(ids.error());
  if (ids->empty()) {
    if (const auto known = check_queue(store, c.queue); !known) failed(known.error());
    else note("there is no such job");
    return 0;
  }
  if (!c.yes && !says_yes(cat(how.verb, " ", ids->size(), ids->size() == 1 ? " job?" : " jobs?"))) {
    note("nothing was done");
    return 1;
  }
  return change_each(store, c, *ids, how);
}

int show(client& store, const command& c) {
  const auto found = store.quarantined(job_id(c.id));
  if (!found) return failed(found.error());
  if (c.json) print_line(wire::json_page(*found));
  else print(quarantined_page_text(*found));
  return 0;
}

}  // namespace

int quarantine(client& store, const command& c) {
  if (c.name == "quarantine show") return show(store, c);
  if (c.name == "quarantine requeue") return change_some(store, c, requeue);
  if (c.name == "quarantine drop") return change_some(store, c, drop);
  return show_pages(
      c,
      [&](auto limit, auto& after) {
        auto page = store.quarantine(queue_name(c.queue), limit, after);
        if (page && page->jobs.empty())
          if (auto known = check_queue(store, c.queue); !known) page = known.error();
        return page;
      },
      [](quarantine_page & p) -> auto& { return p.jobs; }, quarantine_table);
}

}  // namespace sluice::cli
