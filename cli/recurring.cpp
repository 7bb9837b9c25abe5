// Jobs that are enqueued again and again: what is known of them, and how they are changed.
#include <algorithm>

#include <sluice/client.hpp>
#include <sluice/exec_key.hpp>

#include "cli/commands.hpp"
#include "cli/exec/exec_handler.hpp"
#include "cli/output.hpp"
#include "cli/pages.hpp"
#include "cli/server_notes.hpp"
#include "cli/words.hpp"
#include "config/load.hpp"
#include "core/no_job.hpp"
#include "core/text.hpp"
#include "scheduler/recurrence.hpp"
#include "storage/store.hpp"
#include "wire/json.hpp"

namespace sluice::cli {
namespace {

// Of a queue or a type that was looked for, when no schedule has it.
void note_unnamed(client& store, const command& c) {
  const auto all = store.recurring_jobs();
  if (!all) return;
  std::vector<std::string> queues, types;
  for (const auto& one : *all) {
    if (!one.definition) continue;
    queues.push_back(one.definition->queue.value);
    types.push_back(one.definition->job.value);
  }
  for (const auto& [what, said, known] :
       {std::tuple("names queue ", &c.queue, &queues), std::tuple("is of type ", &c.type, &types)})
    if (!said->empty() && std::find(known->begin(), known->end(), *said) == known->end())
      note(cat("no schedule ", what, *said, did_you_mean(*said, *known)));
}

int list(client& store, const command& c) {
  recurring_query query;
  query.name_part = c.schedule;
  query.queue = queue_name(c.queue);
  query.type = job_type(c.type);
  query.paused = c.paused;
  query.order = c.sort == "next" ? recurring_order::by_next : recurring_order::by_name;
  query.limit = c.limit;
  query.after = c.after;
  const auto page = store.recurring_jobs(query);
  if (!page) return failed(page.error());
  if (page->schedules.empty()) note_unnamed(store, c);
  if (!c.json) print(recurring_table(page->schedules));
  else
    for (const auto& one : page->schedules)
      print_line(wire::json_of(one));
  tell_next(c, page->next);
  return 0;
}

int show(client& store, const command& c) {
  const auto found = store.recurring_job(c.schedule, c.count.value_or(5));
  if (!found) return failed(found.error());
  if (c.json) print_line(wire::json_page(*found));
  else print(recurring_page_text(*found));
  return 0;
}

int done(const command& c, const result<void>& changed, const char* what) {
  if (!changed) return failed(changed.error());
  print_line(c.json ? wire::json_done("name", c.schedule, what) : cat(printable(c.schedule), " ", what));
  return 0;
}

int set(client& store, const command& c, const recurring& definition) {
  const int code = done(c, store.set_recurring(definition), "set");
  if (code != 0) return code;
  note_takers(store, definition.queue.value, definition.job.value);
  if (definition.job.value == exec_job_type)
    if (const auto fault = exec::fault_of_args(definition.args); !fault.empty())
      note(cat("its jobs will fail: ", fault));
  if (definition.catch_up_max != recurring().catch_up_max && definition.catch_up != catch_up_rule::all)
    note("catch_up_max has no effect without catch_up=all");
  return 0;
}

// No error when there is none; but who mistyped a name must not think that it runs no more.
int remove(client& store, const command& c) {
  const auto all = store.recurring_jobs();
  if (!all) return failed(all.error());
  std::vector<std::string> names;
  for (const auto& one : *all)
    names.push_back(one.name);
  const bool known = std::find(names.begin(), names.end(), c.schedule) != names.end();
  const int code = done(c, store.remove_recurring(c.schedule), known ? "removed" : "was not there");
  if (code == 0 && !known)
    note(cat("there is no schedule ", printable(c.schedule, 200), instead_of(c.schedule, names)));
  return code;
}

int trigger(client& store, const command& c) {
  const auto id = store.trigger_recurring(c.schedule, job_id(c.id));
  if (!id) return failed(id.error());
  print_line(c.json ? wire::json_triggered(c.schedule, *id) : id->value);
  note_uncalled_filters(store);
  return 0;
}

// Where the command has a key, and its jobs need one.
result<void> sign(recurring& definition, const command& c) {
  const bool is_exec = definition.job.value == exec_job_type;
  if (auto fine = check_key(c, is_exec); !fine || !is_exec || c.exec_key.empty()) return fine;
  const auto key = exec_key::read(c.exec_key);
  return key ? key->sign(definition) : result<void>(key.error());
}

bool is_key_value(std::string_view word) { return word.find('=') != std::string_view::npos; }

// A cron expression that a shell took apart: as it has to be typed; nothing when there is none. Where the words may be
// names of files, which a shell makes of `*`, it is an example.
std::optional<std::string> unquoted_cron(const std::vector<std::string>& words) {
  const auto cron = std::find_if(words.begin(), words.end(), [](const auto& word) {
    return word.starts_with("cron=") && word.find(' ') == std::string::npos;
  });
  if (cron == words.end()) return std::nullopt;
  const auto end = std::find_if(cron + 1, words.end(), is_key_value);
  if (end == cron + 1) return std::nullopt;
  const auto typed = joined({cron, end}, " ");
  const bool is_as_typed = typed.find_first_not_of("0123456789*/,- ", typed.find('=') + 1) == std::string::npos;
  return cat("'", is_as_typed ? typed : "cron=0 3 * * *", "'");
}

}  // namespace

int recurring_jobs(const command& c) {
  config::loaded_recurring said;
  if (c.name == "recurring set") {
    if (const auto cron = unquoted_cron(c.words)) return usage_error(cat("a cron expression needs quotes: ", *cron));
    said = config::load_recurring(c.schedule, c.words, {storage::check_url, scheduler::check});
    for (const auto& f : said.faults)
      usage_error(cat(c.schedule, ": ", f.pointer, f.pointer.empty() ? "" : ": ", f.problem));
    if (!said.faults.empty()) return usage_error("`sluice recurring set --help` has examples");
    if (const auto fine = sign(said.definition, c); !fine) return failed(fine.error());
  }
  auto opened = open_at_once(options_of(c));
  if (!opened) return failed(opened.error());
  auto& store = *opened;
  if (c.name == "recurring list") return list(store, c);
  if (c.name == "recurring show") return show(store, c);
  if (c.name == "recurring set") return set(store, c, said.definition);
  if (c.name == "recurring remove") return remove(store, c);
  if (c.name == "recurring pause") return done(c, store.pause_recurring(c.schedule), "paused");
  if (c.name == "recurring resume") return done(c, store.resume_recurring(c.schedule), "resumed");
  return trigger(store, c);
}

}  // namespace sluice::cli
