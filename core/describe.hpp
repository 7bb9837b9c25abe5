// The names of what a value holds: one description of each kind of value, beside its struct or, for those of the public
// headers, here. What travels to the rules and back, and what is stored by names, goes by it
// (storage/machine/by_name.cpp): a member that has a name there is carried; one that has none is left out. So does what
// is shown, unless wire/shown.hpp has it otherwise.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/job.hpp>
#include <sluice/lock.hpp>
#include <sluice/operator_log.hpp>
#include <sluice/throttler_status.hpp>
#include <sluice/totals.hpp>

#include "core/field.hpp"

namespace sluice {

// A `described<S>` is an S that is written to, or a const one that is read. A visitor takes a name, a member and what
// else is said of it, and answers itself.
template <class T, class S>
concept described = std::same_as<std::remove_const_t<T>, S>;

// What stands for the values of an enumeration, in their order.
constexpr std::array<std::string_view, 2> words_of(totals_step) { return {"minute", "hour"}; }

void describe(auto& v, described<lock_holder> auto& h) {
  v("fence", h.fence)("holder", h.holder)("until", h.until)("left", h.left);
}
void describe(auto& v, described<lock_status> auto& s) { v("resource", s.resource)("now", s.now); }
void describe(auto& v, described<lock_page> auto& p) { v("locks", p.locks)("next", p.next); }

void describe(auto& v, described<author> auto& a) { v("name", a.name)("through", a.through); }
void describe(auto& v, described<operator_action> auto& a) {
  v("at", a.at)("until", a.until)("by", a.by)("what", a.what)("count", a.count)("about", a.about);
}
void describe(auto& v, described<operator_log_page> auto& p) { v("actions", p.actions)("next", p.next); }

void describe(auto& v, described<new_group> auto& g) { v("name", g.name)("in", g.in)("seal_within", g.seal_within); }
void describe(auto& v, described<group_status> auto& g) {
  v("name", g.name)("in", g.in)("sealed", g.sealed)("cancelled", g.cancelled);
  v("open", g.open)("succeeded", g.succeeded)("failed", g.failed)("deleted", g.deleted);
  v("created_at", g.created_at)("finished_at", g.finished_at)("ended_as", g.ended_as)("seal_by", g.seal_by);
}
void describe(auto& v, described<group_page> auto& p) { v("groups", p.groups)("next", p.next); }
void describe(auto& v, described<parent_state> auto& p) {
  v("id", p.id)("state", p.state)("result", p.result)("left_out", p.left_out)("met", p.met)("group", p.group);
}
void describe(auto& v, described<job_flow> auto& f) {
  v("group", f.group)("unique_key", f.unique_key)("start_by", f.start_by)("finish_by", f.finish_by);
  v("parents", f.parents);
}

void describe(auto& v, described<type_throttlers> auto& t) {
  v("type", t.type)("throttlers", t.throttlers, {"Each as KIND:NAME; what is made of args stands in braces."});
}
// The store that it works on is the one that tells of it.
void describe(auto& v, described<server_info> auto& s) {
  v("id", s.id)("name", s.name)("host", s.host)("pid", s.pid);
  v("queues", s.queues, {"Each as NAME:WORKERS."})("running", s.running);
  v("has_filters", s.has_filters, {"Whether its program has filters, whose on_enqueue other processes cannot call."});
  v("throttled", s.throttled, {"Which throttlers let in which types, of 200 types at most."});
  v("types", s.types, {"Those that it has handlers of, 200 at most."});
  v("all_types", s.all_types,
    {"Whether these are all; false too of a server that has just begun or is too old to tell."});
  v("started_at", s.started_at)("heartbeat_at", s.heartbeat_at);
}
void describe(auto& v, described<queue_counts> auto& q) {
  v("queue", q.queue)("paused", q.paused);
  v("enqueued", q.enqueued)("scheduled", q.scheduled)("throttled", q.throttled)("processing", q.processing);
  v("succeeded", q.succeeded)("failed", q.failed)("deleted", q.deleted)("awaiting", q.awaiting);
  v("quarantined", q.quarantined)("oldest_ready_at", q.oldest_ready);
}
void describe(auto& v, described<quarantined_job> auto& j) { v("id", j.id)("queue", j.queue)("since", j.since); }
void describe(auto& v, described<quarantine_page> auto& p) { v("jobs", p.jobs)("next", p.next); }

void describe(auto& v, described<throttler_holder> auto& h) {
  v("id", h.id)("fence", h.fence);
  v("reserved", h.reserved, {"Promised to a job that has not begun yet."})("since", h.since);
}
void describe(auto& v, described<holder_page> auto& p) { v("holders", p.holders)("next", p.next); }
void describe(auto& v, described<waiter_page> auto& p) { v("waiters", p.waiters)("next", p.next); }

void describe(auto& v, described<job_totals> auto& t) {
  v("enqueued", t.enqueued)("succeeded", t.succeeded)("failed", t.failed)("deleted", t.deleted);
  v("retried", t.retried)("lost", t.lost);
}
void describe(auto& v, described<totals_query> auto& q) {
  v("queue", q.queue)("step", q.step)("from", q.from)("to", q.to);
}
void describe(auto& v, described<totals_row> auto& r) { v("begins", r.begins)("in_it", r.in_it); }
void describe(auto& v, described<totals_report> auto& r) { v("ever", r.ever)("rows", r.rows); }

// Calls `f(name, count)` for each of the counts that a queue has.
template <class F>
struct each_count {
  F f;
  template <class T>
  each_count& operator()(std::string_view name, T& member, const field& = {}) {
    if constexpr (std::same_as<std::remove_const_t<T>, std::uint64_t>) f(name, member);
    return *this;
  }
};
void for_each_count(described<queue_counts> auto& q, auto f) {
  each_count<decltype(f)> v{std::move(f)};
  describe(v, q);
}
inline void add_counts(queue_counts& to, const queue_counts& q) {
  std::vector<std::uint64_t> counts;
  for_each_count(q, [&](std::string_view, std::uint64_t n) { counts.push_back(n); });
  for_each_count(to, [&, i = std::size_t{0}](std::string_view, std::uint64_t& n) mutable { n += counts[i++]; });
}

}  // namespace sluice
