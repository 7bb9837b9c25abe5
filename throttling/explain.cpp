#include "throttling/explain.hpp"

#include <algorithm>
#include <array>

#include <sluice/exec_key.hpp>

#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "storage/messages.hpp"

namespace sluice {
namespace throttling {
namespace {

using enum explain_reason;

constexpr std::size_t max_holders = 5;  // in an explanation
constexpr std::size_t max_named = 3;    // in its sentence
constexpr std::size_t longest_why = 200;

std::string counted(std::uint64_t n, std::string_view one, std::string_view many) {
  return cat(n, " ", n == 1 ? one : many);
}

// Those that go before a job are counted so far.
std::string counted_before(std::uint64_t n, std::string_view one, std::string_view many) {
  static_assert(storage::max_counted == 10'000);
  return n > storage::max_counted ? cat("more than 10,000 ", many) : counted(n, one, many);
}

// What stands behind the first ": " of a reason whose head says what is said here anew.
std::string why_of(const std::string& reason) {
  const auto at = reason.find(": ");
  return at == std::string::npos ? std::string() : reason.substr(at + 2);
}

void tell(explanation& e, const std::string& text) {
  e.text += text;
  e.without_content += text;
}
void tell_why(explanation& e, const std::string& why) {
  if (!why.empty()) e.text += cat(": ", why);
}

explanation of_final(const job& about) {
  explanation e{final_};
  const std::string state(name_of(about.state));
  tell(e, "is " + state);
  tell_why(e, about.reason.starts_with(state + ": ") ? why_of(about.reason) : about.reason);
  e.when = about.finished_at;
  return e;
}

explanation of_running(const job& about) {
  explanation e{running};
  e.when = about.started_at;
  e.text = "runs";
  if (e.when) e.text += " since " + format_time(*e.when);
  if (!about.server.empty()) e.text += " on " + about.server;
  if (about.reason.starts_with(storage::messages::asked_to_end)) e.text += "; " + about.reason;
  return e;
}

explanation of_scheduled(const storage::explain_answer& seen, time_point now) {
  const auto& about = *seen.found;
  explanation e{due};
  e.when = about.due_at;
  const auto at = e.when ? format_time(*e.when) : std::string("a time that is not known");
  if (about.history.empty()) {
    e.text = e.when && *e.when <= now ? cat("is due since ", at, " and enters its queue when a server looks")
                                      : "is due at " + at;
    return e;
  }
  const auto& last = about.history.back();
  const auto why = printable(last.error, longest_why);
  if (last.end == run_end::deferred) {
    e.reason = deferred;
    e.resource = last.throttler;
    tell(e, cat("was deferred ", e.resource.empty() ? "" : cat("by ", e.resource, ' '), "and is asked again at ", at));
    if (e.resource.empty()) tell_why(e, why);
    return e;
  }
  e.reason = retry;
  tell(e, cat(last.failure ? cat("retry ", seen.failures) : std::string("again"), " at ", at));
  tell_why(e, why);
  return e;
}

// "held by A, B and 2 more, promised to C"; those who run come first.
std::string holders_of(const storage::throttler_answer& throttler) {
  std::vector<std::string> running_ones, promised;
  auto holders = throttler.holders;
  std::stable_partition(holders.begin(), holders.end(), [](const auto& h) { return !h.reserved; });
  const auto all = std::max<std::uint64_t>(throttler.about.held, holders.size());
  const auto named = std::min(holders.size(), all <= max_named ? max_named : max_named - 1);
  for (std::size_t i = 0; i < named; ++i)
    (holders[i].reserved ? promised : running_ones).push_back(holders[i].id.value);
  if (const auto more = all - named; more > 0) running_ones.push_back(cat(more, " more"));
  std::string text;
  if (!running_ones.empty()) text += ", held by " + listed(running_ones);
  if (!promised.empty()) text += ", promised to " + listed(promised);
  return text;
}

explanation of_throttled(const storage::explain_answer& seen, time_point now) {
  explanation e{waits_for_slot};
  e.resource = seen.found->line;
  e.before = seen.before;
  for (const auto& holder : seen.waits_for.holders)
    if (e.holders.size() < max_holders) e.holders.push_back(holder.id);
  const auto kind = kind_of(e.resource);
  if (kind == throttler_kind::mutex || kind == throttler_kind::semaphore) {
    e.reason = waits_for_permit;
    e.text = cat("waits for ", e.resource, holders_of(seen.waits_for));
    const auto name = e.resource.substr(e.resource.find(':') + 1);
    if (kind == throttler_kind::mutex && seen.found->args.find(cat('"', name, "\":")) != std::string::npos)
      e.text += cat(", and is one for all values of ", name, ": one for each is written mutex:{", name, "}");
  } else {
    e.when = seen.waits_for.about.next_at;
    const bool own = kind == throttler_kind::custom;
    e.text = cat("waits for ", own ? "" : "a slot of ", e.resource);
    if (e.when && *e.when > now) e.text += (own ? ", which is asked at " : " at ") + format_time(*e.when);
    else if (e.when) e.text += ", which is asked now";
  }
  e.text += e.before == 0 ? "; it is next" : cat("; ", counted_before(e.before, "waits", "wait"), " before it");
  return e;
}

// Nothing of a group that ends by itself, with the last of its members.
std::string what_keeps_open(const group_status& g) {
  if (g.cancelled)
    return cat("; group ", g.name.value, " was cancelled, and ends with ",
               g.open == 1 ? std::string("its last member") : cat("the last of its ", g.open, " open members"));
  if (g.sealed) return {};
  return cat("; group ", g.name.value, " is not sealed, and cannot end before: seal it",
             g.seal_by ? cat(", or it is cancelled at ", format_time(*g.seal_by)) : std::string());
}

explanation of_awaiting(const storage::explain_answer& seen) {
  explanation e{awaiting};
  const auto all = seen.open_parents.size();
  if (all == 0) {
    e.text = "its parents have ended otherwise than it wants, and it is kept; requeue or delete it";
    return e;
  }
  std::vector<std::string> named;
  for (const auto& parent : seen.open_parents) {
    if (e.holders.size() < max_holders && !parent.value.starts_with('@')) e.holders.push_back(parent);
    if (named.size() >= (all > max_named ? max_named - 1 : max_named)) continue;
    named.push_back(parent.value.starts_with('@') ? "group " + parent.value.substr(1) : parent.value);
  }
  if (all > named.size()) named.push_back(cat(all - named.size(), " more"));
  e.text = "awaits " + listed(named);
  if (seen.need < seen.parents)
    e.text += cat("; it needs ", seen.need, " of its ", seen.parents, " parents, and ",
                  seen.met == 0 ? std::string("none") : cat(seen.met), " ended as it wants so far");
  for (const auto& group : seen.open_groups)
    e.text += what_keeps_open(group);
  return e;
}

std::string how_to_have(const job_type& type, const std::vector<std::string>& known) {
  return type.value == exec_job_type ? cat("; ", storage::messages::needs_allow_exec) : did_you_mean(type.value, known);
}

// The line says what a claim has found; of a job that no claim has come to, only servers tell.
explanation of_enqueued(const storage::explain_answer& seen, const std::vector<server_info>& living) {
  const auto& about = *seen.found;
  const auto& queue = about.queue.value;
  const auto lacks = lacks_handler(about.type, about.queue, living);
  if (lacks || about.line.starts_with("type:"))
    return {unknown_type, cat("no server that serves queue ", queue, " knows its type ", about.type.value,
                              lacks.value_or(how_to_have(about.type, {})))};
  explanation e{seen.before > 0 ? queued_behind : no_worker};
  e.before = seen.before;
  if (e.before > 0) e.text = cat("behind ", counted_before(e.before, "job", "jobs"), " of queue ", queue);
  else if (about.line == "suspect")
    e.text = cat("is next of queue ", queue, " after a lost run, and each server runs one such job at a time");
  else if (seen.running == 0) e.text = cat("is next of queue ", queue, ", and a server is about to take it");
  else e.text = cat("no worker of queue ", queue, " is free (", counted(seen.running, "runs", "run"), ")");
  return e;
}

explanation of_state(const storage::explain_answer& seen, time_point now, std::vector<server_info> servers) {
  const auto& about = *seen.found;
  if (is_final(about.state)) return of_final(about);
  if (about.state == job_state::processing) return of_running(about);
  if (about.state == job_state::scheduled) return of_scheduled(seen, now);
  if (about.state == job_state::awaiting) return of_awaiting(seen);
  if (seen.paused) return {paused, cat("its queue ", about.queue.value, " is paused")};
  if (!seen.served) return {unserved, cat("no server that is alive serves its queue ", about.queue.value)};
  if (about.state == job_state::throttled) return of_throttled(seen, now);
  std::erase_if(servers, [&](const server_info& s) { return s.heartbeat_at + storage::served_for < now; });
  return of_enqueued(seen, servers);
}

bool serves(const server_info& server, const queue_name& queue) {
  return queue.empty() || std::any_of(server.queues.begin(), server.queues.end(), [&](const std::string& one) {
           return matches(one.substr(0, one.rfind(':')), queue.value);  // "name:workers"
         });
}

}  // namespace

std::optional<std::string> lacks_handler(const job_type& type, const queue_name& queue,
                                         const std::vector<server_info>& living) {
  std::vector<std::string> known;
  bool is_served = false;
  for (const auto& server : living) {
    if (!server.all_types) return std::nullopt;
    if (!serves(server, queue)) continue;
    is_served = true;
    for (const auto& one : server.types) {
      if (one == type) return std::nullopt;
      known.push_back(one.value);
    }
  }
  return is_served ? std::optional(how_to_have(type, known)) : std::nullopt;
}

explanation explain(const storage::explain_answer& seen, time_point now, const std::vector<server_info>& servers) {
  auto e = of_state(seen, now, servers);
  if (e.without_content.empty()) e.without_content = e.text;
  if (!seen.cancelled_group.empty())
    tell(e, cat("; its group ", seen.cancelled_group.value, " was cancelled, so it will not run, and is deleted"));
  if (seen.start_by)
    tell(e, cat(*seen.start_by > now ? "; it is deleted unless it starts by "
                                     : "; it will not run, and is deleted: it was to start by ",
                format_time(*seen.start_by)));
  if (seen.finish_by)
    tell(e, cat(*seen.finish_by > now ? "; it has failed unless it is over by "
                                      : "; it will not run, and has failed: it was to be over by ",
                format_time(*seen.finish_by)));
  return e;
}

}  // namespace throttling

std::string_view name_of(explain_reason reason) noexcept {
  constexpr std::array<std::string_view, 13> names{
      "running",          "final",          "paused", "unserved", "unknown_type", "queued_behind", "no_worker",
      "waits_for_permit", "waits_for_slot", "due",    "retry",    "deferred",     "awaiting"};
  const auto at = static_cast<std::size_t>(reason);
  return at < names.size() ? names[at] : "";
}

}  // namespace sluice
