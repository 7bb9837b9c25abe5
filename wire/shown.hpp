// What the world is shown of each value: its members by their public names, in the API, in `sluice --json` and in the
// OpenAPI text (wire/schemas.hpp). Definitions have theirs in core/recurring.hpp and core/throttlers.hpp, the overview
// in wire/overview.hpp; what has none is shown as core/describe.hpp has it. A member that is computed stands here
// alone.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/explanation.hpp>
#include <sluice/job.hpp>
#include <sluice/lock.hpp>
#include <sluice/operator_log.hpp>
#include <sluice/recurring.hpp>
#include <sluice/throttler_status.hpp>
#include <sluice/totals.hpp>

#include "core/describe.hpp"
#include "core/json_object.hpp"
#include "core/recurring.hpp"
#include "core/throttlers.hpp"
#include "wire/error_groups.hpp"
#include "wire/faults.hpp"

namespace sluice {
namespace wire {

template <class E, std::size_t N>
std::array<std::string_view, N> names_of(const E (&all)[N]) {
  std::array<std::string_view, N> names;
  std::transform(std::begin(all), std::end(all), names.begin(), [](E one) { return name_of(one); });
  return names;
}
inline const auto job_states =
    names_of({job_state::enqueued, job_state::scheduled, job_state::awaiting, job_state::throttled,
              job_state::processing, job_state::succeeded, job_state::failed, job_state::deleted});
inline const auto durabilities = names_of({durability::volatile_, durability::crash_safe, durability::power_safe});
inline const auto throttler_kind_names =
    names_of({throttler_kind::mutex, throttler_kind::semaphore, throttler_kind::fixed_window,
              throttler_kind::sliding_window, throttler_kind::dynamic_window, throttler_kind::custom});
inline const auto enqueue_results =
    names_of({enqueue_result::same, enqueue_result::duplicate, enqueue_result::extended, enqueue_result::replaced});

template <class Name>
std::optional<Name> unless_empty(const Name& name) {
  return name.empty() ? std::nullopt : std::optional(name);
}

// What is told of how far a job is: of one that succeeded not that it was halfway when it last said so.
std::optional<progress_report> progress_of(const job& j);

// One instant to come, by the clocks of its zone, too, when the zone is known here.
struct local_instant {
  time_point utc;
  std::optional<std::string> local{};
};
std::vector<local_instant> next_runs(const recurring_outlook& o);

// What a job waits for.
struct explained_job {
  job_id id;
  explanation why;
};
// What came of a change; `refused`: of how many, of whom the page may have the first alone.
struct told_changes {
  changed_page page;
  std::uint64_t refused = 0;
};
// Since ever where it does not begin.
struct totals_line {
  std::optional<std::string> queue;
  std::optional<time_point> begins_at;
  job_totals in_it;
};

}  // namespace wire

void show(auto& v, const job_id& id) { v("id", id.value); }

void show(auto& v, const progress_report& p) { v("done", p.done)("text", p.text, {.is_content = true}); }
void show(auto& v, const watched_part& p) {
  v("system", p.system)("what", p.what, {.is_content = true})("times", p.times)("failed", p.failed);
  v("total_us", p.total.count())("longest_us", p.longest.count());
}
void show(auto& v, const run_record& r) {
  v("attempt", r.attempt)("cause", r.cause, {"For people."})("end", r.end)("failure", r.failure);
  v("throttler", r.throttler)("fence", r.fence)("server", r.server)("started", r.started)("ended", r.ended);
  v("error", r.error, {.is_content = true})("watched", r.watched);
}
void show(auto& v, const parent_state& p) {
  v("id", wire::unless_empty(p.id))("group", wire::unless_empty(p.group));
  v("met", p.met, {"Whether it ended as the job wants; null: it has not ended."});
}
void show(auto& v, const job& j) {
  v("id", j.id)("type", j.type)("queue", j.queue)("state", j.state, {.words = wire::job_states});
  v("attempt", j.attempt, {"Runs so far."})("losses", j.losses, {"Runs that ended with a lost lease."});
  v("created_at", j.created_at)("retries", j.retry.attempts);
  v("timeout_ms", j.timeout ? std::optional(j.timeout->count() / 1000) : std::nullopt);
  v("reason", j.reason, {.says = "Why it is in this state.", .is_content = true});
  v("line", j.line, {"Inside its queue."})("fence", j.fence)("server", j.server)("due_at", j.due_at);
  v("started_at", j.started_at)("lease_until", j.lease_until)("finished_at", j.finished_at);
  v("args", given_json{j.args}, {.is_content = true})("result", given_json{j.result}, {.is_content = true});
  v("progress", wire::progress_of(j))("headers", j.headers, {.is_content = true})("history", j.history);
  v("permits", j.permits,
    {.says = "What it has a permit of now, or is promised one, as semaphore:NAME.", .is_detail = true});
  v("group", wire::unless_empty(j.flow.group), {.says = "The group that it is a member of.", .is_detail = true});
  v("unique_key", wire::unless_empty(j.flow.unique_key),
    {.says = "Its type and the text that came out of its unique rule; null when it has none, or hidden.",
     .is_content = true,
     .is_detail = true});
  v("start_by", j.flow.start_by, {.says = "It is deleted unless it has begun by then.", .is_detail = true});
  v("finish_by", j.flow.finish_by, {.says = "It has failed unless it is over by then.", .is_detail = true});
  v("parents", j.flow.parents,
    {.says = "Which jobs and groups it runs after; empty once it has ended.", .is_detail = true});
}
void show(auto& v, const enqueue_report& r) {
  v("id", r.id);
  v("came", r.what,
    {.says = "What came of it, where that is not stored.",
     .words = wire::enqueue_results,
     .is_given = r.what != enqueue_result::stored});
  v("kept", r.is_kept,
    {.says = "false of a duplicate whose key is held for a period, when the job that has it was removed by its "
             "retention.",
     .is_given = !r.is_kept});
  v("replaced", r.replaced, {.says = "The job whose place it took.", .is_given = !r.replaced.empty()});
}
void show(auto& v, const std::pair<job_id, error>& refused) {
  v("id", refused.first)("code", name_of(refused.second.code))("detail", wire::told_of(refused.second));
}
void show(auto& v, const quarantined_record& q) {
  v("id", q.id)("queue", q.queue)("since", q.since)("wrong", q.wrong, {"What of it cannot be read."});
  v("readable", q.readable, {"Whether it can be enqueued again."});
  v("record", base64_bytes{q.record},
    {.says = "What was enqueued; empty where the dashboard hides arguments.", .is_content = true});
  v("history", base64_bytes{q.history}, {.says = "What had happened to it; the same.", .is_content = true});
  v("run", base64_bytes{q.run}, {.says = "Its run; the same.", .is_content = true});
}

void show(auto& v, const group_status& g) {
  v("group", g.name)("in", wire::unless_empty(g.in))("sealed", g.sealed)("cancelled", g.cancelled);
  v("open", g.open)("succeeded", g.succeeded)("failed", g.failed)("deleted", g.deleted)("ended_as", g.ended_as);
  v("seal_by", g.seal_by)("created_at", g.created_at)("finished_at", g.finished_at);
}
void show(auto& v, const server_info& s) {
  describe(v, s);
  v("store", s.store, {.words = wire::durabilities});
}
void show(auto& v, const lock_status& l) {
  v("resource", l.resource)("holder", l.now.holder)("fence", l.now.fence)("until", l.now.until);
}
void show(auto& v, const operator_action& a) {
  v("at", a.at)("until", a.until)("by", a.by.name)("through", a.by.through);
  v("what", a.what)("count", a.count)("about", a.about);
}

void show(auto& v, const limiter_view& k) { v("key", k.key)("used", k.used)("limit", k.limit)("next_at", k.next); }
void show(auto& v, const throttler_status& t) {
  v("kind", t.kind, {.words = wire::throttler_kind_names})("resource", t.resource, {"KIND:NAME, in lower case."});
  v("limit", t.limit)("held", t.held)("waiting", t.waiting)("next_at", t.next_at);
  v("definition", t.definition, {.is_detail = true})("keys", t.keys, {.is_detail = true});
  v("holders", t.holders, {.is_detail = true})("waiters", t.waiters, {.is_detail = true});
}

void show(auto& v, const recurring_status& s) {
  v("name", s.name)("paused", s.paused)("next_at", s.next_at)("last_at", s.last_at)("last_job", s.last_job);
  v("problem", s.problem, {.is_content = true});
  v("definition", s.definition,
    {"As it may be said again. Args stand as JSON, and byte for byte beside as args_text."});
}
void show(auto& v, const recurring_outlook& o) {
  show(v, o.status);
  v("next", wire::next_runs(o));
}

namespace wire {

void show(auto& v, const local_instant& at) { v("utc", at.utc)("local", at.local); }
void show(auto& v, const explained_job& e) {
  v("id", e.id)("reason", e.why.reason, {"One word for programs."});
  v("text", e.why.text,
    {.says = "The whole of it in one sentence.", .is_content = true, .in_place = e.why.without_content});
  v("resource", e.why.resource)("when", e.why.when);
  v("before", e.why.before, {"Jobs that go first; 10001: more than 10000."})("holders", e.why.holders);
}
void show(auto& v, const told_changes& c) {
  v("done", c.page.done);
  v("unchanged", c.page.unchanged, {"Of those that a filter found, how many were in that state already."});
  v("refused", c.refused);
  v("failed", c.page.failed, {"Those that were not changed; timed_out: there was no time for them, ask again."});
  v("records_read", c.page.records_read);
  v("next", c.page.next, {"Go on with it; empty: all that there are were looked at."});
}
void show(auto& v, const totals_line& t) {
  v("queue", t.queue)("begins_at", t.begins_at, {"null: since ever."});
  describe(v, t.in_it);
}
void show(auto& v, const error_group& g) {
  v("type", g.type);
  v("error", g.error, {"The first line of what the last run said, at most 200 bytes, with # for each number."});
  v("count", g.count)("first_at", g.first_at)("last_at", g.last_at);
  v("last_id", g.last_id, {"Of the job that failed last."});
}

}  // namespace wire
}  // namespace sluice
