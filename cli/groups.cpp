// Groups of jobs.
#include <sluice/client.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/pages.hpp"
#include "cli/words.hpp"
#include "core/instant.hpp"
#include "core/text.hpp"
#include "wire/json.hpp"

namespace sluice::cli {
namespace {

int done(const command& c, const result<void>& changed, const char* what) {
  if (!changed) return failed(changed.error());
  print_line(c.json ? wire::json_done("group", c.group, what) : cat(printable(c.group), " is ", what));
  return 0;
}

int create(client& store, const command& c) {
  new_group group{group_name(c.group), group_name(c.group_in)};
  if (!c.seal_within.empty()) {
    const auto within = parse_duration(c.seal_within);
    if (!within) return usage_error(cat("--seal-within ", no_time(c.seal_within, ranges::seal_within)));
    group.seal_within = *within;
  }
  return done(c, store.create_group(group), "there");
}

int show(client& store, const command& c) {
  const auto found = store.group(group_name(c.group));
  if (!found) return failed(found.error());
  if (c.json) print_line(wire::json_of(*found));
  else print(groups_table({*found}));
  return 0;
}

int requeue_failed(client& store, const command& c) {
  const auto requeued = store.requeue_failed(group_name(c.group));
  if (!requeued) return failed(requeued.error());
  print_line(c.json ? cat("{\"group\":", json_quoted(c.group), ",\"requeued\":", *requeued, "}")
                    : cat(*requeued, *requeued == 1 ? " job" : " jobs", " requeued"));
  return 0;
}

}  // namespace

int groups(client& store, const command& c) {
  if (c.name == "groups")
    return show_pages(
        c, [&](auto limit, auto& after) { return store.groups(limit, after); },
        [](group_page & p) -> auto& { return p.groups; }, groups_table);
  if (c.name == "group create") return create(store, c);
  if (c.name == "group seal") return done(c, store.seal_group(group_name(c.group)), "sealed");
  if (c.name == "group cancel") return done(c, store.cancel_group(group_name(c.group)), "cancelled");
  if (c.name == "group show") return show(store, c);
  return requeue_failed(store, c);
}

}  // namespace sluice::cli
