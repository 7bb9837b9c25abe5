#include "cli/server_notes.hpp"

#include <algorithm>
#include <vector>

#include <sluice/exec_key.hpp>

#include "cli/output.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "throttling/explain.hpp"
#include "wire/overview.hpp"

namespace sluice::cli {
namespace {

// None when the store does not tell: what was enqueued is stored nevertheless.
std::vector<server_info> live_servers(client& store) {
  auto servers = store.servers();
  if (!servers) return {};
  const auto lives = system_clock().now() - wire::silent_after;
  std::erase_if(*servers, [&](const server_info& s) { return s.heartbeat_at < lives; });
  return std::move(*servers);
}

void note_filters(const std::vector<server_info>& live) {
  std::string first;
  std::size_t others = 0;
  for (const auto& s : live) {
    if (!s.has_filters) continue;
    if (first.empty()) first = printable(s.name, 200);
    else ++others;
  }
  if (first.empty()) return;
  note(cat("server ", first, others == 0 ? " has" : cat(" and ", others, " more have"),
           " filters, whose on_enqueue is not called for what is enqueued here"));
}

// Names and patterns.
std::vector<std::string> queues_of(const std::vector<server_info>& servers) {
  std::vector<std::string> names;
  for (const auto& s : servers)
    for (const auto& queue : s.queues)  // "name:workers"
      names.push_back(queue.substr(0, queue.rfind(':')));
  return names;
}

// As far as servers tell their types: those built in, and those that they have handlers of.
bool is_known_type(const std::string& name, const std::vector<server_info>& servers) {
  if (name == "noop" || name == exec_job_type) return true;
  return std::any_of(servers.begin(), servers.end(), [&](const server_info& s) {
    return std::find(s.types.begin(), s.types.end(), job_type(name)) != s.types.end();
  });
}

// Before any server runs a queue has none, and that is as it should be; but one that is new, and much like another, may
// be a slip. `stored`: how many jobs of it are of now.
void note_new_queue(client& store, const std::string& queue, std::uint64_t stored) {
  const auto all = store.queues();
  if (!all) return;
  std::vector<std::string> others;
  for (const auto& q : *all) {
    const auto jobs = q.enqueued + q.scheduled + q.awaiting + q.throttled + q.processing + q.succeeded + q.failed +
                      q.deleted + q.quarantined;
    if (q.queue.value != queue) others.push_back(q.queue.value);
    else if (jobs > stored || stored == 0) return;
  }
  if (const auto meant = did_you_mean(queue, others); !meant.empty() && queue.size() > 3)
    note(cat("queue ", queue, " is new", meant));
}

void note_unserved(client& store, const std::string& queue, const std::string& type, std::uint64_t stored,
                   const std::vector<server_info>& live) {
  if (live.empty()) return note_new_queue(store, queue, stored);
  const auto tells_nothing = [](const server_info& s) { return s.queues.empty(); };  // it has just begun
  if (std::any_of(live.begin(), live.end(), tells_nothing)) return;
  auto queues = queues_of(live);
  const auto is_named = [&](const std::string& name) {
    return std::find(queues.begin(), queues.end(), name) != queues.end();
  };
  if (is_named(type) && !is_named(queue) && is_known_type(queue, live))
    return note(cat("the queue comes first: did you mean `sluice enqueue ", type, " ", queue, "`?"));
  if (std::any_of(queues.begin(), queues.end(), [&](const auto& one) { return matches(one, queue); })) return;
  std::erase_if(queues, [](const auto& one) { return one.find('*') != std::string::npos; });
  note(cat("no live server serves queue ", queue, did_you_mean(queue, queues)));
}

void note_unhandled(const std::string& queue, const std::string& type, const std::vector<server_info>& live) {
  if (const auto lacks = throttling::lacks_handler(job_type(type), queue_name(queue), live))
    note(cat("no live server", queue.empty() ? "" : cat(" of queue ", queue), " handles type ", type,
             " now: its jobs wait until one does", *lacks));
}

void note_takers(client& store, const stored_kinds& stored, const std::vector<server_info>& live) {
  std::map<std::string, std::uint64_t> queues;
  for (const auto& [kind, jobs] : stored)
    if (!kind.first.empty() && kind.first != "-") queues[kind.first] += jobs;
  for (const auto& [queue, jobs] : queues) {
    const auto first = stored.lower_bound({queue, ""});
    note_unserved(store, queue, first->first.second, jobs, live);
  }
  for (const auto& [kind, jobs] : stored)
    note_unhandled(kind.first == "-" ? "" : kind.first, kind.second, live);
}

}  // namespace

void note_servers(client& store, const stored_kinds& stored) {
  const auto live = live_servers(store);
  note_takers(store, stored, live);
  note_filters(live);
}

void note_uncalled_filters(client& store) { note_filters(live_servers(store)); }

void note_takers(client& store, const std::string& queue, const std::string& type) {
  note_takers(store, {{{queue, type}, 0}}, live_servers(store));
}

void note_unused(client& store, throttler_kind of, const std::string& name) {
  const auto all = store.throttlers();
  if (!all) return;
  const auto resource = resource_of(of, name), kind = resource_of(of, "");
  std::vector<std::string> others;  // of its kind, without it: or any two would be much alike
  const auto add = [&](const std::string& one) {
    if (one != resource && one.starts_with(kind)) others.push_back(one.substr(kind.size()));
  };
  for (const auto& one : *all)
    add(one.resource);
  const auto live = live_servers(store);
  for (const auto& server : live)
    for (const auto& type : server.throttled)
      for (const auto& one : type.throttlers) {
        const auto fixed = one.substr(0, one.find('{'));  // what follows is of args
        if (one == resource || (fixed != one && resource.starts_with(fixed))) return;
        if (fixed == one) add(one);
      }
  const auto meant = nearest(resource.substr(kind.size()), others);
  if (meant || !live.empty())
    note(cat("nobody uses ", resource, " yet", live.empty() ? "" : ", as far as servers tell",
             meant ? cat("; did you mean ", kind, *meant, "?") : std::string()));
}

}  // namespace sluice::cli
