// Throttlers and schedules: what an operator defines.
#include <algorithm>
#include <chrono>

#include "client/asking.hpp"
#include "config/load.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "dashboard/routes.hpp"
#include "operations/throttlers.hpp"
#include "scheduler/recurrence.hpp"
#include "storage/store.hpp"
#include "throttling/status.hpp"
#include "wire/body.hpp"
#include "wire/json.hpp"
#include "wire/query_words.hpp"

namespace sluice::web {
namespace {

using std::chrono::steady_clock;

constexpr auto slice = std::chrono::milliseconds(180);  // for which a page is filled
constexpr auto longest_look = std::chrono::seconds(3);
constexpr duration timeout = std::chrono::seconds(3);

std::optional<throttler_kind> kind_named(const std::string& name) {
  const auto& kinds = throttler_kinds();
  const auto at = std::find(kinds.begin(), kinds.end(), name);
  if (at == kinds.end()) return std::nullopt;
  return static_cast<throttler_kind>(at - kinds.begin());
}

http_response no_kind(const visit& v) {
  return problem(errc::not_found, cat("there is no kind of throttler '", printable(v.names[0], 100), "'",
                                      did_you_mean(v.names[0], throttler_kinds())));
}

http_response faults_of(const std::vector<config::fault>& all) {
  std::vector<wire::body_fault> faults;
  faults.reserve(all.size());
  for (const auto& f : all)
    faults.push_back({f.pointer, f.problem});
  return wrong_body(faults);
}

// Whether what was defined is still what the caller looked at, where he asks for that.
std::optional<http_response> changed_meanwhile(visit& v, http_response (*look)(visit&)) {
  const auto wanted = v.request.header("if-match");
  if (wanted.empty()) return std::nullopt;
  auto now = look(v);
  if (now.status == 200 && names_definition(wanted, now.defined)) return std::nullopt;
  if (now.status != 200 && now.status != 404) return now;  // who cannot look does not know
  return problem(412, "it has changed since it was looked at; look again");
}

// Adds what waits in the lines of a dynamic window's keys, which are rows of their own: of all pages, wherever they
// are.
result<void> add_lines(visit& v, throttler_status& to) {
  const auto prefix = to.resource + "/";
  const auto until = steady_clock::now() + longest_look;
  storage::throttlers_request wanted{storage::largest_page, prefix};
  do {
    if (steady_clock::now() > until) return error{errc::timed_out, cat(to.resource, " has very many keys")};
    auto page = ask_for<storage::throttlers_answer>(*v.on.shared_store, wanted, timeout);
    if (!page) return page.error();
    for (const auto& row : page->throttlers) {
      if (!row.resource.starts_with(prefix)) return {};
      throttling::add_line(to, row);
    }
    wanted.after = std::move(page->next);
  } while (!wanted.after.empty());
  return {};
}

// How the throttlers of some rows stand.
result<std::vector<throttler_status>> statuses_of(visit& v, std::vector<storage::throttler_row> rows) {
  std::erase_if(rows, [](const auto& row) { return throttling::throttler_of(row) != row.resource; });  // of a key
  auto all = carry_out<std::vector<throttler_status>>(
      *v.on.shared_store, timeout,
      [&](const auto& store, const auto& then) { operations::throttlers_of(store, std::move(rows), then); });
  if (!all) return all;
  for (auto& one : *all)
    if (one.kind == throttler_kind::dynamic_window)
      if (auto added = add_lines(v, one); !added) return added.error();
  return all;
}

config::checks checks() { return {storage::check_url, scheduler::check}; }

}  // namespace

http_response list_throttlers(visit& v) {
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  std::vector<std::string> items;
  std::string next = v.parameter("after");
  const auto until = steady_clock::now() + slice;
  do {  // until there are enough: keys have rows, too
    const storage::throttlers_request asked{*limit - static_cast<std::uint32_t>(items.size()), next};
    auto rows = ask_for<storage::throttlers_answer>(*v.on.shared_store, asked, timeout);
    if (!rows) return problem(rows.error());
    const auto some = statuses_of(v, std::move(rows->throttlers));
    if (!some) return problem(some.error());
    for (const auto& one : *some)
      items.push_back(json_of(one));
    next = rows->next;
  } while (!next.empty() && items.size() < *limit && steady_clock::now() < until);
  return json_page_answer("throttlers", items, next);
}

http_response show_throttler(visit& v) {
  const auto kind = kind_named(v.names[0]);
  if (!kind) return no_kind(v);
  const auto found = v.on.store.throttler(*kind, v.names[1]);
  if (!found) return problem(found.error());
  auto said = json_answer(json_page(*found));
  if (found->definition) said.defined = write_throttler(*found->definition);
  return said;
}

http_response set_throttler(visit& v) {
  const auto kind = kind_named(v.names[0]);
  if (!kind) return no_kind(v);
  std::lock_guard one_at_a_time(v.on.defining);
  if (auto stale = changed_meanwhile(v, show_throttler)) return *stale;
  const auto said = config::load_throttler(*kind, v.names[1], config::json_text{v.request.body});
  if (!said.faults.empty()) return faults_of(said.faults);
  const auto set = v.changing().set_throttler(said.definition);
  return changed(v, "resource", resource_of(*kind, v.names[1]), set ? result<void>() : set.error(), "set");
}

http_response remove_throttler(visit& v) {
  const auto kind = kind_named(v.names[0]);
  if (!kind) return no_kind(v);
  std::lock_guard one_at_a_time(v.on.defining);
  if (auto stale = changed_meanwhile(v, show_throttler)) return *stale;
  const auto found = v.on.store.throttler(*kind, v.names[1]);
  const bool known = found || found.error().code != errc::not_found;
  return changed(v, "resource", resource_of(*kind, v.names[1]), v.changing().remove_throttler(*kind, v.names[1]),
                 known ? "removed" : "was not there");
}

http_response list_holders(visit& v) {
  const auto kind = kind_named(v.names[0]);
  if (!kind) return no_kind(v);
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  return page_of("holders", v.on.store.holders(*kind, v.names[1], *limit, v.parameter("after")), &holder_page::holders);
}

http_response list_waiters(visit& v) {
  const auto kind = kind_named(v.names[0]);
  if (!kind) return no_kind(v);
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  return page_of("waiters", v.on.store.waiters(*kind, v.names[1], *limit, v.parameter("after")), &waiter_page::waiters);
}

http_response list_schedules(visit& v) {
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  const auto paused = v.parameter("paused"), sort = v.parameter("sort");
  if (!paused.empty() && paused != "true") return problem(wire::bad_word("paused", "true", paused));
  if (!sort.empty() && sort != "name" && sort != "next") return problem(wire::bad_word("sort", "name or next", sort));
  recurring_query query;
  query.name_part = v.parameter("name");
  query.queue = queue_name(v.parameter("queue"));
  query.type = job_type(v.parameter("type"));
  query.paused = paused == "true";
  query.order = sort == "next" ? recurring_order::by_next : recurring_order::by_name;
  query.limit = *limit;
  query.after = v.parameter("after");
  const auto page = v.on.store.recurring_jobs(query);
  if (!page) return problem(page.error());
  std::vector<std::string> items;
  for (const auto& s : page->schedules)
    items.push_back(json_of(s, !v.on.options.hide_args));
  return json_page_answer("schedules", items, page->next);
}

http_response show_schedule(visit& v) {
  const auto found = v.on.store.recurring_job(v.names[0]);
  if (!found) return problem(found.error());
  auto said = json_answer(json_page(*found, !v.on.options.hide_args));
  if (auto definition = found->status.definition) {
    // A tag would let others guess what is hidden.
    said.defined = write_recurring(v.on.options.hide_args ? without_content(std::move(*definition)) : *definition);
  }
  return said;
}

http_response set_schedule(visit& v) {
  std::lock_guard one_at_a_time(v.on.defining);
  if (auto stale = changed_meanwhile(v, show_schedule)) return *stale;
  const auto body = wire::with_exact_args(v.request.body);
  if (!body.faults.empty()) return wrong_body(body.faults);
  auto said = config::load_recurring(v.names[0], config::json_text{body.text}, checks());
  if (!said.faults.empty()) return faults_of(said.faults);
  if (auto refused = refused_command(v, said.definition.job)) return *refused;
  if (v.on.options.hide_args && (!body.has_args || said.definition.headers.empty())) {
    const auto known = v.on.store.recurring_job(v.names[0]);
    if (!known && known.error().code != errc::not_found) return problem(known.error());
    if (known && known->status.definition) {  // who was shown none did not mean none
      if (!body.has_args) said.definition.args = known->status.definition->args;
      if (said.definition.headers.empty()) said.definition.headers = known->status.definition->headers;
    }
  }
  return changed(v, "name", v.names[0], v.changing().set_recurring(said.definition), "set");
}

http_response remove_schedule(visit& v) {
  std::lock_guard one_at_a_time(v.on.defining);
  if (auto stale = changed_meanwhile(v, show_schedule)) return *stale;
  const auto found = v.on.store.recurring_job(v.names[0]);
  const bool known = found || found.error().code != errc::not_found;
  return changed(v, "name", v.names[0], v.changing().remove_recurring(v.names[0]), known ? "removed" : "was not there");
}
http_response pause_schedule(visit& v) {
  return changed(v, "name", v.names[0], v.changing().pause_recurring(v.names[0]), "paused");
}
http_response resume_schedule(visit& v) {
  return changed(v, "name", v.names[0], v.changing().resume_recurring(v.names[0]), "resumed");
}

http_response trigger_schedule(visit& v) {
  v.about = {v.names[0]};
  job_id wanted;
  if (!v.request.body.empty()) {
    body_reader body(v.request.body);
    wanted = job_id(body.text("id").value_or(""));
    if (auto wrong = wrong_with(body)) return *wrong;
  }
  bool was_there = false;
  if (!wanted.empty()) {
    const auto known = v.on.store.get(wanted);
    if (!known && known.error().code != errc::not_found) return problem(known.error());
    was_there = known.ok();
  }
  const auto id = v.changing().trigger_recurring(v.names[0], wanted);
  if (!id) return problem(id.error());
  return json_answer(wire::json_triggered(v.names[0], *id), was_there ? 200 : 201);
}

}  // namespace sluice::web
