#include <sluice/client.hpp>
#include <sluice/config.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/pages.hpp"
#include "cli/words.hpp"
#include "client/namesake.hpp"
#include "core/clock.hpp"
#include "core/job_state.hpp"
#include "core/text.hpp"
#include "storage/job_filter.hpp"
#include "wire/error_groups.hpp"
#include "wire/json.hpp"
#include "wire/query_words.hpp"

namespace sluice::cli {
namespace {

using namespace std::chrono_literals;

template <class Item>
int show_all(const command& c, const result<std::vector<Item>>& got,
             std::string (*as_table)(const std::vector<Item>&)) {
  if (!got) return failed(got.error());
  if (!c.json) print(as_table(*got));
  else
    for (const auto& item : *got)
      print_line(wire::json_of(item));
  return 0;
}

// How many jobs there are of a state, of a queue or of all; none when more is asked for.
std::optional<std::uint64_t> count(client& store, const job_query& query) {
  if (storage::reads_records(query) || query.from || query.to) return std::nullopt;
  const auto all = store.queues();
  if (!all) return std::nullopt;
  std::uint64_t found = 0;
  for (const auto& q : *all) {
    if (!query.queue.empty() && q.queue != query.queue) continue;
    for (const auto& [state, jobs] : {std::pair(job_state::enqueued, q.enqueued),
                                      {job_state::scheduled, q.scheduled},
                                      {job_state::awaiting, q.awaiting},
                                      {job_state::throttled, q.throttled},
                                      {job_state::processing, q.processing},
                                      {job_state::succeeded, q.succeeded},
                                      {job_state::failed, q.failed},
                                      {job_state::deleted, q.deleted}})
      if (!query.state || *query.state == state) found += jobs;
  }
  return found;
}

int list(client& store, const command& c) {
  auto query = query_of(c);
  if (!query) return usage_error(query.error().message);
  // One character more than is shown, so that it is told when there is more.
  query->first_of_args = c.shows_args ? args_shown + 4 : 0;
  bool is_empty = c.after.empty();
  const auto ask = [&](std::uint32_t limit, const std::string& after) {
    query->limit = limit;
    query->after = after;
    auto page = store.list(*query);
    if (is_empty && page && page->jobs.empty() && page->next.empty())
      if (const auto known = check_found_none(store, c); !known) return result<job_page>(known.error());
    is_empty = is_empty && page && page->jobs.empty();
    return page;
  };
  const auto as_table = c.shows_args ? +[](const std::vector<job>& jobs) { return jobs_table(jobs, true); }
                                     : +[](const std::vector<job>& jobs) { return jobs_table(jobs, false); };
  return show_pages(
      c, giving_way(storage::reads_records(*query), ask), [](job_page & p) -> auto& { return p.jobs; }, as_table,
      [&] { return count(store, *query); });
}

// All, or what was found before the store failed.
int show_errors(client& store, command c) {
  c.state = name_of(job_state::failed);
  auto query = query_of(c);
  if (!query) return usage_error(query.error().message);
  query->with_args = false;
  query->limit = 200;
  auto list_next = giving_way(true, [&] { return store.list(*query); });
  wire::error_groups groups;
  std::optional<error> broke;
  do {
    const auto page = list_next();
    if (!page) {
      broke = page.error();
      break;
    }
    for (const auto& one : page->jobs)
      groups.add(one);
    query->after = page->next;
  } while (!query->after.empty());
  const auto all = groups.most_first();
  if (all.empty() && !broke)
    if (const auto known = check_found_none(store, c); !known) return failed(known.error());
  if (!c.json && !(broke && all.empty())) print(errors_table(all));
  for (const auto& group : all)
    if (c.json) print_line(wire::json_of(group));
  return broke ? failed(*broke) : 0;
}

int show_totals(client& store, const command& c) {
  totals_query query;
  if (!c.queue.empty()) query.queue = queue_name(c.queue);
  const bool by_hour = c.by == "hour";
  query.step = by_hour ? totals_step::hour : totals_step::minute;
  const auto now = system_clock().now();
  if (auto fine = wire::read_times(c.since, c.until, "--", false, query.from, query.to); !fine)
    return usage_error(fine.error().message);
  if (!query.from) query.from = query.to.value_or(now) - (by_hour ? 24h : 1h);
  if (*query.from < now - (by_hour ? 90 * 24h : 72h))
    note(cat(c.since.empty() ? "--until" : "--since", " is before what is kept: ",
             by_hour ? "hours for 90 days" : "minutes for 72 hours", "; what was earlier is in `ever` alone"));
  const auto got = store.totals(query);
  if (!got) return failed(got.error());
  if (got->ever == job_totals{})
    if (const auto known = check_queue(store, c.queue); !known) return failed(known.error());
  if (!c.json) print(totals_table(*got));
  else
    for (const auto& line : wire::json_lines(c.queue, *got))
      print_line(line);
  return 0;
}

// All queues, or one.
result<std::vector<queue_counts>> queues(client& store, const command& c) {
  auto all = store.queues();
  if (!all || c.queue.empty()) return all;
  std::erase_if(*all, [&](const queue_counts& q) { return q.queue.value != c.queue; });
  if (all->empty())
    if (auto known = check_queue(store, c.queue); !known) return known.error();
  return all;
}

int show(client& store, const command& c) {
  const auto found = store.get(job_id(c.id));
  if (!found) return no_job_here(store, found.error(), c.id);
  if (c.json) print_line(wire::json_page(*found));
  else print(job_page_text(*found));
  return 0;
}

int change(const command& c, const result<void>& changed, const char* done) {
  if (!changed) return failed(changed.error());
  if (!c.json) print_line(cat(printable(c.queue), " ", done));
  else print_line(wire::json_done("queue", c.queue, done));
  return 0;
}

// A queue may be paused before its first job; but who mistyped a name must not think that it starts none.
int pause(client& store, const command& c) {
  const auto known = check_queue(store, c.queue);
  const int code = change(c, store.pause(queue_name(c.queue)), "paused");
  if (code == 0 && !known && known.error().code == errc::not_found)
    note(cat("it will be paused when its first job comes: ", known.error().message));
  return code;
}

}  // namespace

int no_job_here(client& store, const error& why, const std::string& id) {
  const auto name = printable(id, 200);
  return failed(
      or_namesake(store, why, id, cat("`sluice recurring show ", name, "`"), cat("`sluice group show ", name, "`")));
}

// With what a configuration says of types, where one is named.
result<client> open_client(const command& c) {
  auto options = options_of(c);
  if (!c.config.empty()) {
    auto said = load_options(c.config);
    if (!said) return said.error();
    auto of_server = client_of(*said);
    options.storage = std::move(of_server.storage);
    options.jobs = std::move(of_server.jobs);
    options.queues = std::move(of_server.queues);
  }
  return open_at_once(std::move(options));
}

int inspect(const command& c) {
  auto opened = open_client(c);
  if (!opened) return failed(opened.error());
  auto& store = *opened;
  if (c.name == "enqueue") return enqueue(store, c);
  if (c.name == "enqueue-all") return enqueue_all(store, c);
  if (c.name.starts_with("group")) return groups(store, c);
  if (c.name == "jobs") return list(store, c);
  if (c.name == "errors") return show_errors(store, c);
  if (c.name == "show") return show(store, c);
  if (c.name == "locks")
    return show_pages(
        c, [&](auto limit, auto& after) { return store.locks(limit, after); },
        [](lock_page & p) -> auto& { return p.locks; }, locks_table);
  if (c.name.starts_with("quarantine")) return quarantine(store, c);
  if (c.name == "log")
    return show_pages(
        c, [&](auto limit, auto& after) { return store.operator_log(limit, after); },
        [](operator_log_page & p) -> auto& { return p.actions; }, operator_log_table);
  if (c.name == "queues") return show_all(c, queues(store, c), queues_table);
  if (c.name == "totals") return show_totals(store, c);
  if (c.name == "servers") return show_all(c, store.servers(), servers_table);
  if (c.name == "requeue" || c.name == "delete" || c.name == "cancel") return change_jobs(store, c);
  if (c.name == "pause") return pause(store, c);
  if (c.name == "resume") return change(c, store.resume(queue_name(c.queue)), "resumed");
  return usage_error(cat("unknown command ", c.name));
}

}  // namespace sluice::cli
