// What is limited, and why a job waits.
#include <sluice/client.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/pages.hpp"
#include "cli/server_notes.hpp"
#include "cli/words.hpp"
#include "config/load.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "storage/store.hpp"
#include "wire/json.hpp"

namespace sluice::cli {
namespace {

struct named_throttler {
  throttler_kind kind = throttler_kind::mutex;
  std::string name;
};

// KIND:NAME, in which the name stands as it is.
std::optional<named_throttler> read_name(const std::string& text) {
  const auto kind = kind_of(text);
  if (kind && text.size() > name_of(*kind).size() + 1) return named_throttler{*kind, text.substr(text.find(':') + 1)};
  const auto& kinds = throttler_kinds();
  const auto begins = text.substr(0, text.find(':'));
  if (std::find(kinds.begin(), kinds.end(), begins) != kinds.end()) {
    usage_error(cat("the name of the throttler is missing: ", begins, ":NAME; `sluice throttlers` lists all"));
    return std::nullopt;
  }
  usage_error(cat("a throttler is KIND:NAME, as semaphore:provider-api, where KIND is one of ", joined(kinds, ", "),
                  "; not '", printable(text, 100), "'", did_you_mean(begins, kinds)));
  return std::nullopt;
}

// As `check` tells the faults of a configuration.
int tell_faults(const std::string& where, const std::vector<config::fault>& faults) {
  for (const auto& f : faults)
    usage_error(cat(where, ": ", f.pointer, f.pointer.empty() ? "" : ": ", f.problem));
  return usage_error("`sluice throttler set --help` has examples");
}

int done(const command& c, const named_throttler& which, const result<void>& changed, const char* what) {
  if (!changed) return failed(changed.error());
  const auto resource = resource_of(which.kind, which.name);
  print_line(c.json ? wire::json_done("resource", resource, what) : cat(printable(resource), " ", what));
  return 0;
}

int set(client& store, const command& c, const named_throttler& which, config::loaded_throttler said) {
  const auto before = store.throttler(which.kind, which.name);
  if (!before && before.error().code != errc::not_found) return failed(before.error());
  if (before && before->definition)
    said = config::load_throttler(which.kind, which.name, c.words, &*before->definition);
  if (!said.faults.empty()) return tell_faults(c.throttler, said.faults);
  const auto set = store.set_throttler(said.definition);
  if (!set) return failed(set.error());
  const auto now = store.throttler(which.kind, which.name);
  if (set->is_new && now && now->held + now->waiting == 0) note_unused(store, which.kind, which.name);
  const auto whole = changes_between({}, write_throttler(said.definition));
  if (c.json) {
    print_line(cat("{\"resource\":", json_quoted(set->resource),
                   ",\"done\":\"set\",\"changes\":", json_quoted(set->changes), ",\"woken\":", set->woken,
                   now ? cat(",\"waiting\":", now->waiting) : std::string(), "}"));
  } else {
    const auto how = set->is_new ? "new" : set->changes.empty() ? "nothing changed" : set->changes;
    print_line(printable(cat(set->resource, " set: ", how)));
    print_line(printable(cat("now: ", whole.empty() ? name_of(which.kind) : whole, "; jobs woken: ", set->woken,
                             now ? cat(", waiting: ", now->waiting) : std::string())));
  }
  return 0;
}

int list(client& store, const command& c) {
  const auto all = store.throttlers();
  if (!all) return failed(all.error());
  if (!c.json) print(throttlers_table(*all));
  else
    for (const auto& t : *all)
      print_line(wire::json_of(t));
  return 0;
}

// No error when there is none; but who mistyped a name must not think that nothing is limited any more.
int remove(client& store, const command& c, const named_throttler& which) {
  const auto found = store.throttler(which.kind, which.name);
  const bool known = found || found.error().code != errc::not_found;
  const int code = done(c, which, store.remove_throttler(which.kind, which.name), known ? "removed" : "was not there");
  if (code == 0 && !known) note(cat(found.error().message, "; `sluice throttlers` lists all"));
  return code;
}

int show(client& store, const command& c, const named_throttler& which) {
  const auto found = store.throttler(which.kind, which.name);
  if (!found) return failed(found.error());
  if (c.json) print_line(wire::json_page(*found));
  else print(throttler_page_text(*found));
  return 0;
}

int show_holders(client& store, const command& c, const named_throttler& which) {
  return show_pages(
      c, [&](auto limit, auto& after) { return store.holders(which.kind, which.name, limit, after); },
      [](holder_page & p) -> auto& { return p.holders; }, holders_table);
}

int show_waiters(client& store, const command& c, const named_throttler& which) {
  return show_pages(
      c, [&](auto limit, auto& after) { return store.waiters(which.kind, which.name, limit, after); },
      [](waiter_page & p) -> auto& { return p.waiters; }, waiters_table);
}

int explain(client& store, const command& c) {
  const auto why = store.explain(job_id(c.id));
  if (!why) return no_job_here(store, why.error(), c.id);
  print_line(c.json ? wire::json_of(wire::explained_job{job_id(c.id), *why}) : printable(why->text));
  return 0;
}

}  // namespace

int throttle(const command& c) {
  named_throttler which;
  config::loaded_throttler said;
  if (!c.throttler.empty()) {
    auto read = read_name(c.throttler);
    if (!read) return 2;
    which = std::move(*read);
  }
  if (c.name == "throttler set") said = config::load_throttler(which.kind, which.name, c.words);
  auto options = options_of(c);
  const bool lacks = !said.faults.empty();  // perhaps the store has it, but no store is made by it
  if (lacks) options.mode = open_mode::must_exist;
  auto store = open_at_once(std::move(options));
  if (!store && lacks && store.error().code == errc::not_found) return tell_faults(c.throttler, said.faults);
  if (!store) return failed(store.error());
  if (c.name == "throttlers") return list(*store, c);
  if (c.name == "throttler set") return set(*store, c, which, std::move(said));
  if (c.name == "throttler remove") return remove(*store, c, which);
  if (c.name == "throttler show") return show(*store, c, which);
  if (c.name == "throttler holders") return show_holders(*store, c, which);
  if (c.name == "throttler waiters") return show_waiters(*store, c, which);
  return explain(*store, c);
}

}  // namespace sluice::cli
