#include "storage/in_full.hpp"

#include "core/text.hpp"
#include "storage/model.hpp"

namespace sluice::test {
namespace {

std::string in_full(const std::optional<duration>& d) { return d ? cat(d->count(), " us") : "never"; }
std::string in_full(const std::optional<time_point>& at) { return at ? cat(micros(*at)) : "never"; }

std::string in_full(const job& j) {
  auto text = cat("\n  ", portrait(j), " created ", micros(j.created_at));
  for (const auto& [name, value] : j.headers)
    text += cat(' ', name, '=', value);
  return text;
}
std::string in_full(const std::optional<job>& j) { return j ? in_full(*j) : " nothing"; }

std::string in_full(const storage::claim_answer& c) {
  auto text = cat(c.jobs.size(), " jobs, ", c.parked, " parked", c.suspect_waits ? ", a suspect waits" : "");
  for (const auto& one : c.jobs) {
    text += cat(in_full(one.job), " failures ", one.failures, " [");
    for (const auto& resource : one.admitted)
      text += cat(' ', resource);
    text += " ]";
  }
  return text;
}

std::string in_full(const storage::promote_answer& p) {
  auto text = cat(p.moved, " moved, next in ", in_full(p.next_in), ", a schedule in ", in_full(p.schedule_in));
  for (const auto& cell : p.open)
    text += cat(", ", cell, " opens");
  return text;
}

std::string in_full(const storage::throttler_row& r) {
  return cat(r.resource, " is ", r.definition, ", held by ", r.held, ", waited for by ", r.waiting, ", opens ",
             in_full(r.next_at));
}

std::string in_full(const storage::throttler_answer& t) {
  auto text = cat(in_full(t.about), ", state ", t.state);
  for (const auto& h : t.holders)
    text += cat(", held by ", h.id.value, " fence ", h.fence.value, h.reserved ? " reserved" : "", " since ",
                micros(h.since));
  for (const auto& id : t.waiters)
    text += cat(", waited for by ", id.value);
  return text;
}

std::string in_full(const storage::explain_answer& e) {
  return cat(name_of(e.code), in_full(e.found), e.paused ? " paused" : "", e.served ? " served" : "", " behind ",
             e.before, " failures ", e.failures, " beside ", e.running, " for ", in_full(e.waits_for));
}

std::string in_full(const queue_counts& q) {
  auto text = cat("\n  ", q.queue.value, q.paused ? " paused" : "", ", quarantined ", q.quarantined);
  for (int n = 1; n <= 8; ++n)
    text += cat(' ', name_of(static_cast<job_state>(n)), ' ', count_of(q, static_cast<job_state>(n)));
  return text;
}

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

}  // namespace

std::string in_full(const storage::answer& a) {
  return std::visit(
      overloaded{
          [](const storage::claim_answer& c) { return in_full(c); },
          [&](const storage::settle_answer& s) { return cat(in_words(a), ", in full ", in_full(s.next)); },
          [](const storage::promote_answer& p) { return in_full(p); },
          [&](const storage::reap_answer& r) {
            auto text = in_words(a);
            for (const auto& id : r.failed)
              text += cat(", failed ", id.value);
            return text;
          },
          [](const storage::change_answer& c) { return cat(name_of(c.code), ' ', c.message); },
          [](const storage::list_answer& l) {
            auto text = cat("page before ", l.page.next);
            for (const auto& j : l.page.jobs)
              text += in_full(j);
            return text;
          },
          [](const storage::get_answer& g) { return cat(name_of(g.code), in_full(g.found)); },
          [](const storage::explain_answer& e) { return in_full(e); },
          [](const storage::queues_answer& q) {
            std::string text = "queues";
            for (const auto& one : q.queues)
              text += in_full(one);
            return text;
          },
          [](const storage::throttlers_answer& t) {
            auto text = cat("page before ", t.next);
            for (const auto& row : t.throttlers)
              text += cat("\n  ", in_full(row));
            return text;
          },
          [](const storage::throttler_answer& t) { return in_full(t); },
          [&](const auto&) { return in_words(a); },  // which leaves nothing out of the others
      },
      a);
}

}  // namespace sluice::test
