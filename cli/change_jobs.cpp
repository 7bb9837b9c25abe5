// Requeues, deletes and cancels jobs: some by id, or all for which something holds.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <limits>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/pages.hpp"
#include "cli/words.hpp"
#include "core/job_state.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/job_filter.hpp"
#include "wire/json.hpp"

namespace sluice::cli {
namespace {

constexpr std::size_t max_failures_told = 20;

// Set by SIGINT: what was begun is ended, and what was done is told.
volatile std::sig_atomic_t stopped = 0;

struct change {
  const char* verb;                                                                    // "requeue"
  const char* done;                                                                    // "enqueued"
  std::vector<result<std::string_view>> (*some)(client&, const std::vector<job_id>&);  // of each what was done
  result<changed_page> (client::*page)(const job_query&);
};
std::vector<result<std::string_view>> all_done(const std::vector<result<void>>& each, std::string_view done) {
  std::vector<result<std::string_view>> told;
  told.reserve(each.size());
  for (const auto& one : each)
    told.push_back(one ? result<std::string_view>(done) : one.error());
  return told;
}
std::vector<result<std::string_view>> cancel_some(client& store, const std::vector<job_id>& ids) {
  std::vector<result<std::string_view>> told;
  for (const auto& one : store.cancel(ids))
    told.push_back(one ? result<std::string_view>(name_of(*one)) : one.error());
  return told;
}
constexpr change requeue{
    "requeue", "enqueued",
    [](client& store, const std::vector<job_id>& ids) { return all_done(store.requeue(ids), "enqueued"); },
    &client::requeue};
constexpr change remove_jobs{
    "delete", "deleted",
    [](client& store, const std::vector<job_id>& ids) { return all_done(store.remove(ids), "deleted"); },
    &client::remove};
constexpr change cancel{"cancel", "cancelled", &cancel_some, &client::cancel};
constexpr change cancel_running{"cancel", "asked to stop", &cancel_some, &client::cancel};

// Of an id that is the name of a state, and of no job: how all in that state are meant. One that has ended can only be
// deleted.
error or_state(const change& how, const job_id& id, error why) {
  const auto state = parse_job_state(id.value);
  if (why.code != errc::not_found || !state) return why;
  const bool is_deleted_only = is_final(*state) && std::string_view(how.verb) == "cancel";
  why.message +=
      cat("; did you mean `sluice ", is_deleted_only ? "delete" : how.verb, " --all --state ", id.value, "`?");
  return why;
}

// Of several in a row that failed alike, once: it is the store that failed them.
void tell_failures(const change& how, const std::vector<job_id>& ids,
                   const std::vector<result<std::string_view>>& each) {
  for (std::size_t from = 0, to = 0; from < ids.size(); from = to) {
    to = from + 1;
    if (each[from]) continue;
    const auto& why = each[from].error();
    while (to < ids.size() && ids[to] != ids[from] && !each[to] && each[to].error().message == why.message &&
           each[to].error().code == why.code)
      ++to;
    if (to == from + 1) failed(or_state(how, ids[from], why));
    else
      note(log::redact(cat(to - from, " jobs, ", printable(ids[from].value), " to ", printable(ids[to - 1].value), ": ",
                           sentence_of(why))));
  }
}

int change_some(client& store, const command& c, const change& how) {
  std::vector<job_id> ids(c.ids.begin(), c.ids.end());
  const auto each = how.some(store, ids);
  tell_failures(how, ids, each);
  if (c.json && ids.size() > 1) {  // as the API says it
    changed_page all;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (each[i]) ++all.done;
      else all.failed.emplace_back(ids[i], each[i].error());
    }
    print_line(wire::json_of(wire::told_changes{all, all.failed.size()}));
    return all.failed.empty() ? 0 : 1;
  }
  int code = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!each[i]) code = 1;
    else if (!c.json) print_line(cat(printable(ids[i].value), " ", *each[i]));
    else print_line(wire::json_done("id", ids[i].value, *each[i]));
  }
  return code;
}

// How many jobs there are to change now.
result<std::uint64_t> count(client& store, job_query query) {
  query.with_args = false;
  query.limit = 200;
  std::uint64_t found = 0;
  auto list = giving_way(storage::reads_records(query), [&](const job_query& asked) { return store.list(asked); });
  do {
    const auto page = list(query);
    if (!page) return page.error();
    found += page->jobs.size();
    query.after = page->next;
  } while (!query.after.empty() && !stopped);
  return found;
}

int change_all(client& store, const command& c, const change& how) {
  auto asked = query_of(c);
  if (!asked) return usage_error(asked.error().message);
  auto& query = *asked;
  if (!query.state) return usage_error("--all needs a --state, as --state failed");
  struct sigaction stop {};  // without SA_RESTART: the question, too, ends
  stop.sa_handler = [](int) { stopped = 1; };
  ::sigaction(SIGINT, &stop, nullptr);
  auto agreed = std::numeric_limits<std::uint64_t>::max();  // how many a person has said yes to
  const bool is_person = may_ask();
  if (!c.yes) {
    if (!is_person) return usage_error(nobody_to_ask);
    const auto found = count(store, query);
    if (!found) return failed(found.error());
    if (!stopped && *found == 0) {
      if (const auto known = check_found_none(store, c); !known) failed(known.error());
      else note("there is no such job");
      return 0;
    }
    if (stopped || !says_yes(cat(how.verb, " ", *found, *found == 1 ? " job?" : " jobs?")) || stopped) {
      note("nothing was done");
      return 1;
    }
    agreed = *found;
  }
  changed_page all;
  std::uint64_t refused = 0;
  std::optional<error> broke;
  const auto settled = [&] { return all.done + all.unchanged + refused; };
  auto change_page =
      giving_way(storage::reads_records(query), [&](const job_query& some) { return (store.*how.page)(some); });
  do {
    query.limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(200, agreed - settled()));
    const auto page = change_page(query);
    if (!page) {
      broke = page.error();
      break;
    }
    all.done += page->done;
    all.unchanged += page->unchanged;
    all.records_read += page->records_read;
    for (const auto& one : page->failed) {
      if (++refused > max_failures_told) continue;
      failed(one.second);
      all.failed.push_back(one);
    }
    query.after = page->next;
    if (is_person) std::fprintf(stderr, "\r%u %s ", all.done, how.done);
  } while (!query.after.empty() && !stopped && settled() < agreed);
  if (is_person) std::fputc('\n', stderr);
  if (refused > max_failures_told) note(cat(refused - max_failures_told, " more were refused"));
  if (settled() == 0 && !broke)
    if (const auto known = check_found_none(store, c); !known) failed(known.error());
  if (all.unchanged > 0) note(cat(all.unchanged, " were in that state already"));
  const bool is_all = settled() >= agreed;
  const bool whole = !broke && (query.after.empty() || is_all);
  if (!whole) all.next = query.after;
  print_line(c.json ? wire::json_of(wire::told_changes{all, refused}) : cat(all.done, " ", how.done));
  if (broke) return failed(*broke);
  if (is_all && !query.after.empty()) note("there may be more since: run the command again");
  if (!whole) note("stopped before its end; the same command goes on with the rest");
  return whole && refused == 0 ? 0 : 1;
}

// The first of what jobs are found by that was said, if any was.
std::string_view filter_said(const command& c) {
  for (const auto& [option, said] : {std::pair("--state", &c.state),
                                     {"--queue", &c.queue},
                                     {"--type", &c.type},
                                     {"--id-begins", &c.id_begins},
                                     {"--server", &c.server},
                                     {"--since", &c.since},
                                     {"--until", &c.until},
                                     {"--match", &c.match},
                                     {"--error", &c.error}})
    if (!said->empty()) return option;
  return c.headers.empty() ? "" : "--header";
}

}  // namespace

int change_jobs(client& store, const command& c) {
  const auto& cancels = c.all && c.state == "processing" ? cancel_running : cancel;
  const auto& how = c.name == "requeue" ? requeue : c.name == "cancel" ? cancels : remove_jobs;
  if (c.all == !c.ids.empty())
    return usage_error(cat(c.name, " needs ids of jobs, or --all and what must hold for them, and not both"));
  if (const auto filter = filter_said(c); !c.all && !filter.empty())
    return usage_error(
        cat(filter, " finds jobs where no ids are given: leave it out, or say --all in place of the ids"));
  return c.all ? change_all(store, c, how) : change_some(store, c, how);
}

}  // namespace sluice::cli
