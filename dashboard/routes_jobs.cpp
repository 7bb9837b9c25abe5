// Jobs: looked for, looked at, made and changed.
#include <algorithm>
#include <chrono>
#include <limits>

#include "client/namesake.hpp"
#include "core/clock.hpp"
#include "core/instant.hpp"
#include "core/log.hpp"
#include "core/pipeline.hpp"
#include "core/text.hpp"
#include "dashboard/routes.hpp"
#include "storage/job_filter.hpp"
#include "wire/body.hpp"
#include "wire/json.hpp"
#include "wire/new_job.hpp"
#include "wire/query_words.hpp"

namespace sluice::web {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;
using wire::query_words;

// A list goes on by itself for so long while it finds too few; then the caller goes on with `next`. What looks inside
// of jobs costs servers as much as it takes the store, so where these are busy it gets little of the time.
constexpr duration slice = 180ms, slice_beside_servers = 10ms;
constexpr double busy_jobs_a_second = 2000;
constexpr std::size_t max_kinds = 1000;  // of errors, of a slice
constexpr std::size_t max_ids = 1000;
constexpr std::size_t ids_at_once = 200;
constexpr std::uint32_t max_records_read_a_change = 1000;
constexpr std::size_t max_bytes_of_a_page = std::size_t{4} * 1024 * 1024;

job_id id_of(const visit& v) { return job_id(v.names[0]); }

query_words words_of(const visit& v) {
  return {v.parameter("state"),  v.parameter("queue"),  v.parameter("type"),  v.parameter("id_begins"),
          v.parameter("server"), v.parameter("since"),  v.parameter("until"), v.parameter("match"),
          v.parameter("error"),  v.parameters("header")};
}

query_words words_of(body_reader& filter) {
  const auto word = [&](std::string_view key) { return filter.text(key).value_or(""); };
  query_words words{word("state"), word("queue"), word("type"),  word("id_begins"), word("server"),
                    word("since"), word("until"), word("match"), word("error"),     {}};
  for (const auto& [name, value] : filter.pairs("headers"))
    words.headers.push_back(cat(name, "=", value));
  return words;
}

// Whoever may not see what jobs hold may not search in it either.
bool asks_for_hidden(const visit& v, const job_query& query) {
  return v.on.options.hide_args && (query.argument || !query.headers.empty() || !query.error.empty());
}
steady_point end_of_slice(const visit& v, bool reads_records) {
  const bool is_busy = reads_records && v.on.known->glance()->jobs_a_second > busy_jobs_a_second;
  return steady_clock::now() + (is_busy ? slice_beside_servers : slice);
}
http_response hidden() { return problem(403, "this dashboard shows no arguments, headers, results and errors"); }

http_response bytes(std::string text, std::string_view name) {
  http_response said;
  said.type = "application/octet-stream";
  said.body = std::move(text);
  said.headers.emplace_back("Content-Disposition", cat("attachment; filename=\"", name, "\""));
  return said;
}

http_response part_of_job(visit& v, std::string job::*part, std::string_view name) {
  if (v.on.options.hide_args) return hidden();
  auto found = v.on.store.get(id_of(v));
  if (!found) return problem(found.error());
  return bytes(std::move((*found).*part), name);
}

// Of those that were changed alike, each that failed with its reason.
template <class Result>
std::vector<std::optional<error>> failures_of(const std::vector<Result>& each) {
  std::vector<std::optional<error>> all;
  all.reserve(each.size());
  for (const auto& one : each)
    all.push_back(one ? std::nullopt : std::optional(one.error()));
  return all;
}

// One way to change jobs.
struct action {
  std::string_view name;
  std::vector<std::optional<error>> (*some)(client&, const std::vector<job_id>&);
  result<changed_page> (client::*page)(const job_query&);
};
constexpr action actions[] = {
    {"requeue", [](client& store, const std::vector<job_id>& ids) { return failures_of(store.requeue(ids)); },
     &client::requeue},
    {"delete", [](client& store, const std::vector<job_id>& ids) { return failures_of(store.remove(ids)); },
     &client::remove},
    {"cancel", [](client& store, const std::vector<job_id>& ids) { return failures_of(store.cancel(ids)); },
     &client::cancel}};

http_response changes_answer(const changed_page& all) {
  // What is not told in full stands in the log, of many alike once.
  for (const auto& [id, why] : all.failed)
    if (wire::told_of(why) != why.message) {
      log::warn("a change of job ", printable(id.value, 200), " failed: ", to_string(why));
      break;
    }
  return json_answer(json_of(wire::told_changes{all, all.failed.size()}));
}

http_response change_some(visit& v, const action& how, const std::vector<std::string>& words) {
  v.about = words;
  auto store = v.changing();
  changed_page all;
  const auto until = steady_clock::now() + v.on.time_for_changes;
  for (std::size_t from = 0; from < words.size(); from += ids_at_once) {
    const auto to = words.begin() + static_cast<std::ptrdiff_t>(std::min(from + ids_at_once, words.size()));
    const std::vector<job_id> ids(words.begin() + static_cast<std::ptrdiff_t>(from), to);
    if (from > 0 && steady_clock::now() >= until) {
      for (const auto& id : ids)
        all.failed.emplace_back(id, error{errc::timed_out, "the store is slow, and nothing was done to it; ask again"});
      continue;
    }
    const auto each = how.some(store, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!each[i]) ++all.done;
      else all.failed.emplace_back(ids[i], *each[i]);
    }
  }
  return changes_answer(all);
}

// A slice of all that a filter asks for, which is repeated with `next`. No more are changed than were expected.
http_response change_slice(visit& v, const action& how, job_query query, std::uint64_t expected) {
  auto store = v.changing();
  changed_page all;
  const auto settled = [&all] { return all.done + all.unchanged + all.failed.size(); };
  const auto until = steady_clock::now() + v.on.time_for_changes;
  do {
    query.limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(storage::largest_page, expected - settled()));
    auto page = (store.*how.page)(query);
    if (!page) {
      if (all.records_read > 0) break;  // told, and asked again from there
      return problem(page.error());
    }
    all.done += page->done;
    all.unchanged += page->unchanged;
    all.records_read += page->records_read;
    std::move(page->failed.begin(), page->failed.end(), std::back_inserter(all.failed));
    query.after = all.next = page->next;
  } while (!all.next.empty() && all.records_read + storage::max_records_read <= max_records_read_a_change &&
           settled() < expected && steady_clock::now() < until);
  v.about = {cat(all.done, " by filter")};
  return changes_answer(all);
}

std::vector<std::string> items_of(const visit& v, const std::vector<job>& jobs) {
  std::vector<std::string> all;
  all.reserve(jobs.size());
  for (const auto& one : jobs)
    all.push_back(json_of(one, !v.on.options.hide_args));
  return all;
}

// How many of these fit into a page that has so many bytes already.
std::size_t fitting(const std::vector<std::string>& told, std::size_t bytes) {
  std::size_t count = 0;
  while (count < told.size() && bytes + told[count].size() <= max_bytes_of_a_page)
    bytes += told[count++].size();
  return count;
}

}  // namespace

http_response list_jobs(visit& v) {
  auto query = wire::query_of(words_of(v), "");
  if (!query) return problem(query.error());
  if (asks_for_hidden(v, *query)) return hidden();
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  const auto with_args = v.parameter("with_args");
  if (!with_args.empty() && with_args != "true" && with_args != "first" && with_args != "false")
    return problem(wire::bad_word("with_args", "true, first or false", with_args));
  query->with_args = (with_args.empty() || with_args == "true") && !v.on.options.hide_args;
  query->first_of_args = with_args == "first" && !v.on.options.hide_args ? storage::max_first_of_args : 0;
  query->after = v.parameter("after");
  const auto until = end_of_slice(v, storage::reads_records(*query));
  std::vector<std::string> items;
  std::uint64_t records_read = 0;
  std::size_t bytes = 0;
  bool is_full = false;
  do {
    query->limit = *limit - static_cast<std::uint32_t>(items.size());
    auto page = v.on.store.list(*query);
    if (!page && items.empty()) return problem(page.error());
    if (!page) break;
    auto told = items_of(v, page->jobs);
    if (const auto fit = fitting(told, bytes); fit < told.size()) {
      is_full = true;
      if (fit == 0 && !items.empty()) break;
      query->limit = static_cast<std::uint32_t>(std::max<std::size_t>(fit, 1));
      page = v.on.store.list(*query);  // fewer of the same, for their `next`
      if (!page) return problem(page.error());
      told = items_of(v, page->jobs);
    }
    for (auto& one : told) {
      bytes += one.size();
      items.push_back(std::move(one));
    }
    records_read += page->records_read;
    query->after = page->next;
  } while (!query->after.empty() && items.size() < *limit && !is_full && steady_clock::now() < until);
  return json_page_answer("jobs", items, query->after, cat(",\"records_read\":", records_read));
}

http_response list_errors(visit& v) {
  if (v.on.options.hide_args) return hidden();
  auto query = wire::query_of(words_of(v), "");
  if (!query) return problem(query.error());
  query->state = job_state::failed;
  query->with_args = false;
  query->limit = storage::largest_page;
  query->after = v.parameter("after");
  const auto until = end_of_slice(v, true);
  wire::error_groups groups;
  std::uint64_t records_read = 0;
  do {
    const auto page = v.on.store.list(*query);
    if (!page && records_read == 0) return problem(page.error());
    if (!page) break;
    for (const auto& one : page->jobs)
      groups.add(one);
    records_read += page->records_read;
    query->after = page->next;
  } while (!query->after.empty() && groups.size() < max_kinds && steady_clock::now() < until);
  std::vector<std::string> items;
  for (const auto& group : groups.most_first())
    items.push_back(json_of(group));
  return json_page_answer("errors", items, query->after, cat(",\"records_read\":", records_read));
}

http_response enqueue_job(visit& v) {
  body_reader body(v.request.body);
  auto job = wire::read_new_job(body);
  if (auto wrong = wrong_with(body)) return *wrong;
  if (auto refused = refused_command(v, job.type)) return *refused;
  std::vector<new_job> one;
  one.push_back(std::move(job));
  const auto came = v.changing().enqueue_reporting(std::move(one)).front();
  if (!came) return problem(came.error());
  v.about = {came->id.value};
  const bool is_new = came->what == enqueue_result::stored || came->what == enqueue_result::replaced;
  auto said = json_answer(json_of(*came), is_new ? 201 : 200);
  said.headers.emplace_back("Location", "/api/v1/jobs/" + path_segment(came->id.value));
  return said;
}

http_response enqueue_all(visit& v) {
  body_reader body(v.request.body);
  const auto texts = body.values("jobs", storage::max_all_jobs);
  if (!texts) body.fault("jobs", "must be given");
  if (auto wrong = wrong_with(body)) return *wrong;
  std::vector<new_job> jobs;
  for (const auto& text : *texts) {
    body_reader one(text, cat("/jobs/", jobs.size()));
    jobs.push_back(wire::read_new_job(one));
    if (auto wrong = wrong_with(one)) return *wrong;
    if (auto refused = refused_command(v, jobs.back().type)) return *refused;
  }
  const auto ids = v.changing().enqueue_all(std::move(jobs));
  if (!ids) return problem(ids.error());
  std::string all;
  for (const auto& id : *ids) {
    v.about.push_back(id.value);
    all += cat(all.empty() ? "" : ",", json_of(id));
  }
  return json_answer(cat("{\"jobs\":[", all, "]}"));
}

http_response change_jobs(visit& v) {
  body_reader body(v.request.body);
  const auto name = body.text("action");
  const auto how = std::find_if(std::begin(actions), std::end(actions),
                                [&](const action& one) { return name && one.name == *name; });
  if (how == std::end(actions)) body.fault("action", "must be requeue, delete or cancel");
  const auto ids = body.texts("ids", max_ids);
  const auto filter = body.raw_text("filter");
  const auto expected = body.number("expected_count", std::numeric_limits<std::uint32_t>::max());
  const auto after = body.text("after");
  if (!ids == !filter) body.fault("ids", "or a filter must be given, and not both");
  if (filter && !expected) body.fault("expected_count", "must say how many a person has agreed to change");
  if (auto wrong = wrong_with(body)) return *wrong;
  if (ids) return change_some(v, *how, *ids);
  body_reader words(*filter, "/filter");
  auto query = wire::query_of(words_of(words), "/filter/");
  if (auto wrong = wrong_with(words)) return *wrong;
  if (!query) return problem(query.error());
  if (asks_for_hidden(v, *query)) return hidden();
  if (*expected == 0) return json_answer(json_of(wire::told_changes{}));
  query->after = after.value_or("");
  return change_slice(v, *how, std::move(*query), *expected);
}

// There is none: perhaps it is something else's name.
http_response no_job_here(visit& v, const error& why) {
  return problem(or_namesake(v.on.store, why, v.names[0], cat("/recurring/", v.names[0]), cat("/groups/", v.names[0])));
}

http_response show_job(visit& v) {
  const auto found = v.on.store.get(id_of(v));
  if (!found) return no_job_here(v, found.error());
  return json_answer(json_page(*found, !v.on.options.hide_args));
}

http_response delete_job(visit& v) { return changed(v, "id", v.names[0], v.changing().remove(id_of(v)), "deleted"); }
http_response cancel_job(visit& v) {
  if (auto wrong = unexpected_body(v)) return *wrong;
  const auto what = v.changing().cancel(id_of(v));
  return changed(v, "id", v.names[0], what ? result<void>() : what.error(), what ? name_of(*what) : "");
}
http_response requeue_job(visit& v) {
  if (auto wrong = unexpected_body(v)) return *wrong;
  return changed(v, "id", v.names[0], v.changing().requeue(id_of(v)), "enqueued");
}

http_response show_quarantined(visit& v) {
  const auto found = v.on.store.quarantined(id_of(v));
  if (!found) return problem(found.error());
  return json_answer(json_page(*found, !v.on.options.hide_args));
}
http_response drop_quarantined(visit& v) {
  return changed(v, "id", v.names[0], v.changing().drop_quarantined({id_of(v)}).front(), "dropped");
}
http_response requeue_quarantined(visit& v) {
  return changed(v, "id", v.names[0], v.changing().requeue_quarantined({id_of(v)}).front(), "enqueued");
}

http_response explain_job(visit& v) {
  auto why = v.on.store.explain(id_of(v));
  if (!why) return no_job_here(v, why.error());
  return json_answer(json_of(wire::explained_job{id_of(v), std::move(*why)}, !v.on.options.hide_args));
}

http_response show_args(visit& v) { return part_of_job(v, &job::args, "args.json"); }
http_response show_result(visit& v) { return part_of_job(v, &job::result, "result.json"); }

}  // namespace sluice::web
