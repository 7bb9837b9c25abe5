#include "storage/in_words.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "storage/contract.hpp"

namespace sluice::test {
namespace {

// The words of programs start with "said"; all others are the store's.
void forget_words(std::string& text) {
  if (!text.empty() && !text.starts_with("said")) text = stores_words;
}

std::string said(const std::optional<duration>& d) { return d ? cat(d->count(), " us") : "never"; }
std::string said(const std::optional<time_point>& at) { return at ? cat(micros(*at)) : "never"; }
std::string said(const std::vector<errc>& each) {
  std::string text;
  for (const auto code : each)
    text += cat(name_of(code), ' ');
  return text;
}

// Each of them behind some words.
std::string listed(std::string_view before, const names& all) {
  std::string text;
  for (const auto& one : all)
    text += cat(before, one);
  return text;
}
std::string listed(std::string_view before, const std::vector<job_id>& all) {
  std::string text;
  for (const auto& id : all)
    text += cat(before, id.value);
  return text;
}
std::string listed(std::string_view before, const std::vector<storage::run_key>& all) {
  std::string text;
  for (const auto& run : all)
    text += cat(before, run.id.value);
  return text;
}
names sorted(names all) {
  std::sort(all.begin(), all.end());
  return all;
}

struct teller {
  bool in_full;

  std::string operator()(const error& e) const { return "error " + to_string(e); }
  std::string operator()(const storage::enqueue_answer& e) const {
    auto text = test::said(e.each);
    for (const auto& [place, note] : e.notes)
      text += cat(", of ", place, ": ", static_cast<int>(note.is), ' ', note.about);
    return text;
  }
  std::string operator()(const storage::claim_answer& c) const {
    auto text = cat(c.jobs.size(), " jobs");
    if (in_full) text += cat(", ", c.parked, " parked", c.has_waiting_suspect ? ", a suspect waits" : "");
    for (const auto& one : c.jobs)
      text += cat("\n  ", said(one.job), " failures ", one.failures, listed(" has ", one.admitted), " ends in ",
                  test::said(one.finish_in));
    return text;
  }
  std::string operator()(const storage::settle_answer& s) const {
    return cat(test::said(s.each), "then ", (*this)(s.next));
  }
  std::string operator()(const storage::promote_answer& p) const {
    auto text = cat(p.moved, " moved, next in ", test::said(p.next_in));
    if (in_full) text += cat(", a schedule in ", test::said(p.schedule_in));
    return text + listed(", opens ", in_full ? p.open : sorted(p.open));
  }
  std::string operator()(const storage::expired_answer& e) const {
    names leases;
    for (const auto& l : e.leases)
      leases.push_back(cat(l.run.id.value, " fence ", l.run.fence.value, " renewals ", l.renewals, " lease ",
                           l.lease.count(), l.clock_went_back ? " clock went back" : ""));
    return cat("next in ", test::said(e.next_in), listed("\n  ", sorted(leases)));
  }
  std::string operator()(const storage::reap_answer& r) const {
    return test::said(r.each) + (in_full ? listed(", failed ", r.failed) + listed(", cancelled ", r.cancelled) : "");
  }
  std::string operator()(const storage::renew_answer& r) const {
    return test::said(r.each) + listed(", asked to end: ", r.cancelled);
  }
  std::string operator()(const storage::progress_answer& p) const {
    return test::said(p.each) + listed(", asked to end: ", p.cancelled);
  }
  std::string operator()(const storage::prune_answer& p) const {
    return cat(p.removed, " removed", p.more ? ", more" : "");
  }
  std::string operator()(const storage::change_answer& c) const {
    return cat(name_of(c.code), c.changed ? "" : ", as it was", c.asked ? ", asked" : "",
               in_full ? ' ' + c.message : "");
  }
  std::string operator()(const storage::change_jobs_answer& c) const {
    std::string text;
    for (const auto& one : c.each)
      text += (*this)(one) + "; ";
    return text;
  }
  std::string operator()(const storage::acquire_permits_answer& t) const {
    std::string text;
    for (const auto& one : in_words(t.each))
      text += one + "; ";
    return text;
  }
  std::string operator()(const storage::read_limiter_answer& c) const { return in_words(c.limiter); }
  std::string operator()(const storage::update_limiter_answer& s) const {
    return cat(s.updated ? "swapped" : "not swapped", ", ", s.woken, " woken", listed(", ", in_words(s.parked)),
               ", lets in ", test::said(s.let_in), in_words(s.limiter));
  }
  std::string operator()(const storage::define_answer& d) const { return cat("definition ", static_cast<int>(d.what)); }
  std::string operator()(const storage::reconcile_answer& r) const { return cat(r.woken, " woken, then ", r.next); }
  std::string operator()(const storage::lock_answer& l) const {
    return cat(name_of(l.code), ", then ", in_words(l.now));
  }

  std::string operator()(const storage::get_answer& g) const { return cat(name_of(g.code), said(g.found)); }
  std::string operator()(const storage::list_answer& l) const {
    auto text = cat("page before ", l.page.next);
    for (const auto& j : l.page.jobs)
      text += "\n  " + said(j);
    return text;
  }
  std::string operator()(const storage::quarantine_answer& q) const {
    auto text = cat("quarantine before ", q.page.next);
    for (const auto& one : q.page.jobs)
      text += cat("\n  ", one.id.value, " of ", one.queue.value, " at ", micros(one.since));
    return text;
  }
  std::string operator()(const storage::quarantined_job_answer& q) const {
    if (!q.found) return "not in quarantine";
    return cat(q.found->id.value, " of ", q.found->queue.value, " at ", micros(q.found->since), ": ", q.found->wrong);
  }
  std::string operator()(const storage::locks_answer& l) const {
    auto text = cat("locks before ", l.page.next);
    for (const auto& one : l.page.locks)
      text +=
          cat("\n  ", one.resource, " by ", one.now.holder, ' ', one.now.fence.value, " until ", micros(one.now.until));
    return text;
  }
  std::string operator()(const storage::totals_answer& t) const {
    const auto said = [](const job_totals& n) {
      return cat(n.enqueued, ' ', n.succeeded, ' ', n.failed, ' ', n.deleted, ' ', n.retried, ' ', n.lost);
    };
    auto text = cat("totals ", said(t.report.ever));
    for (const auto& row : t.report.rows)
      text += cat("\n  from ", micros(row.begins), ": ", said(row.in_it));
    return text;
  }
  std::string operator()(const storage::groups_answer& a) const {
    auto text = cat("groups before ", a.page.next);
    for (const auto& g : a.page.groups)
      text += "\n  " + in_words(g);
    return text;
  }
  std::string operator()(const storage::parents_answer& p) const { return in_words(p.parents); }
  std::string operator()(const storage::operator_log_answer& a) const {
    auto text = cat("acts before ", a.page.next);
    for (const auto& one : a.page.actions)
      text += cat("\n  ", one.what, ' ', one.count, " by ", one.by.name, " through ", one.by.through, " from ",
                  micros(one.at), " until ", micros(one.until), listed(", ", one.about));
    return text;
  }
  std::string operator()(const storage::queues_answer& all) const {
    std::string text = "queues";
    for (const auto& q : all.queues) {
      text += cat("\n  ", q.queue.value, q.paused ? " paused" : "", ", quarantined ", q.quarantined);
      for (int n = 1; n <= 8; ++n)
        text += cat(' ', name_of(static_cast<job_state>(n)), ' ', count_of(q, static_cast<job_state>(n)));
    }
    return text;
  }
  std::string operator()(storage::names_answer of) const {
    std::sort(of.names.begin(), of.names.end());
    return listed("names ", of.names);
  }
  std::string operator()(const storage::throttlers_answer& t) const {
    auto text = cat("page before ", t.next);
    for (const auto& row : t.throttlers)
      text += "\n  " + said(row);
    return text;
  }
  std::string operator()(const storage::throttler_answer& t) const {
    auto text = cat(said(t.about), ", state ", t.state);
    for (const auto& h : t.holders)
      text += cat(", held by ", h.id.value, " fence ", h.fence.value, h.reserved ? " reserved" : "", " since ",
                  micros(h.since));
    return text + listed(", waited for by ", t.waiters);
  }
  std::string operator()(const storage::holders_answer& a) const {
    auto text = cat("holders before ", a.page.next);
    for (const auto& h : a.page.holders)
      text +=
          cat("\n  ", h.id.value, " fence ", h.fence.value, h.reserved ? " reserved" : "", " since ", micros(h.since));
    return text;
  }
  std::string operator()(const storage::waiters_answer& a) const {
    return cat("waiters before ", a.page.next, listed("\n  ", a.page.waiters));
  }
  std::string operator()(const storage::explain_answer& e) const {
    return cat(name_of(e.code), said(e.found), e.paused ? " paused" : "", e.served ? " served" : "", " behind ",
               e.before, " failures ", e.failures, " beside ", e.running, " for ", (*this)(e.waits_for));
  }

  template <class Other>
  std::string operator()(const Other& other) const {
    if constexpr (requires(std::vector<errc> codes) { codes = other.each; }) return test::said(other.each);
    else return "done";
  }

private:
  std::string said(const job& j) const {
    if (!in_full) return face(j);
    auto text = cat(portrait(j), " created ", micros(j.created_at));
    for (const auto& [name, value] : j.headers)
      text += cat(' ', name, '=', value);
    return text;
  }
  std::string said(const std::optional<job>& j) const { return j ? "\n  " + said(*j) : " nothing"; }
  static std::string said(const storage::throttler_row& r) {
    return cat(r.resource, " is ", r.definition, ", held by ", r.held, ", waited for by ", r.waiting, ", opens ",
               test::said(r.next_at));
  }
};

}  // namespace

std::string in_full(const storage::answer& a) { return std::visit(teller{true}, a); }
std::string in_words(const storage::answer& a) { return std::visit(teller{false}, a); }

std::string portrait(const job& j) {
  std::ostringstream out;
  const auto time = [](const std::optional<time_point>& at) { return at ? micros(*at) : -1; };
  out << j.id.value << ' ' << j.type.value << ' ' << j.queue.value << ' ' << j.args << ' ' << name_of(j.state)
      << " attempt " << j.attempt << " losses " << j.losses << " fence " << j.fence.value << " line " << j.line
      << " server " << j.server << " reason " << j.reason << " result " << j.result << " due " << time(j.due_at)
      << " started " << time(j.started_at) << " lease " << time(j.lease_until) << " finished " << time(j.finished_at);
  if (j.progress) out << " progress " << j.progress->done << ' ' << j.progress->text;
  for (const auto& h : j.history)
    out << " [" << h.fence.value << ' ' << h.attempt << ' ' << h.cause << ' ' << h.server << ' ' << h.error << ' '
        << micros(h.started) << ' ' << micros(h.ended) << ']';
  return out.str();
}

std::string face(job j) {
  forget_words(j.reason);
  for (auto& h : j.history)
    forget_words(h.error);
  return portrait(j);
}

std::string in_words(const group_status& g) {
  return cat("group ", g.name.value, " in ", g.in.value, ": ", g.open, " open, ", g.succeeded, " succeeded, ", g.failed,
             " failed, ", g.deleted, " deleted",
             g.cancelled ? ", cancelled"
             : g.sealed  ? ", sealed"
                         : "",
             g.finished_at ? ", finished" : "");
}
std::string in_words(const std::vector<parent_state>& parents) {
  std::string text;
  for (const auto& p : parents)
    text += cat(p.group.empty() ? p.id.value : "@" + p.group.value, !p.met   ? " is open; "
                                                                    : *p.met ? " has ended as wanted; "
                                                                             : " has ended otherwise; ");
  return text;
}

std::string in_words(const storage::limiter_record& c) {
  auto text = cat("version ", c.version, " state ", c.state, " at ", micros(c.now), " definition ", c.definition);
  for (const auto& l : c.lines)
    text += cat(" [", l.resource, ' ', l.waiting, ']');
  return text;
}

std::string in_words(const std::optional<lock_holder>& held) {
  if (!held) return "free";
  return cat("held by ", held->holder, " fence ", held->fence.value, " until ", micros(held->until), " left ",
             held->left.count());
}

std::string in_words(const storage::acquire_permits_answer::verdict& one) {
  switch (one.what) {
    case admission::granted: return "granted";
    case admission::parked: return "parked " + one.resource;
    case admission::deferred: return "busy " + one.resource;
    case admission::undecided: return "undefined " + one.resource;
    case admission::stale: return "stale";
    case admission::rejected: break;
  }
  return "?";
}
names in_words(const std::vector<storage::acquire_permits_answer::verdict>& each) {
  names all;
  for (const auto& one : each)
    all.push_back(in_words(one));
  return all;
}

names in_words(const std::vector<storage::throttler_answer::holder>& holders) {
  names all;
  for (const auto& h : holders)
    all.push_back(h.id.value + (h.reserved ? " reserved" : h.fence.value == 0 ? " kept" : ""));
  return all;
}

}  // namespace sluice::test
