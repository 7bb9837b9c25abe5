#include "wire/overview.hpp"

#include <algorithm>
#include <charconv>

#include <sluice/exec_key.hpp>

#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/messages.hpp"

namespace sluice::wire {
namespace {

std::string jobs(std::uint64_t n) { return cat(n, n == 1 ? " job" : " jobs"); }
std::string jobs_wait(std::uint64_t n) { return cat(jobs(n), n == 1 ? " waits" : " wait"); }

void check_store(const known_store& known, std::vector<trouble>& into) {
  if (known.away)
    into.push_back({"store_away",
                    {},
                    cat("the store does not answer: ", describe(known.away->code),
                        known.at ? cat(" What is shown is of ", format_time(*known.at), ".") : std::string())});
  for (const auto& server : known.servers)
    if (server.store == durability::volatile_) {
      into.push_back({"store_volatile", {}, "the store keeps its jobs in memory only: a restart of it loses them"});
      break;
    }
}

void check_servers(const known_store& known, std::vector<trouble>& into) {
  for (const auto& server : known.servers)
    if (is_silent(server, known))
      into.push_back({"silent_server", server.name,
                      cat("server ", server.name, " on ", server.host, " has said nothing since ",
                          format_time(server.heartbeat_at))});
}

// As `explain` has it: of a queue that is served, and not paused.
void check_types(const storage::queue_unknown& unknown, std::vector<trouble>& into) {
  const auto& queue = unknown.queue.value;
  const auto text = cat(jobs_wait(unknown.jobs), " in queue ", queue, " for a server that knows ");
  std::vector<std::string> types;
  auto others = unknown.jobs;
  for (const auto& [type, count] : unknown.most) {
    types.push_back(cat(count, " of type ", bounded_utf8(type.value, 60)));
    others -= count;
  }
  if (others > 0) types.push_back(cat(others, " of other types"));
  const bool has_exec = std::any_of(unknown.most.begin(), unknown.most.end(),
                                    [](const auto& one) { return one.first.value == exec_job_type; });
  into.push_back({"unknown_type", queue,
                  cat(text,
                      unknown.types == 1 && !unknown.most.empty()
                          ? cat("type ", bounded_utf8(unknown.most.front().first.value, 60))
                          : cat("their types: ", listed(types)),
                      has_exec ? cat("; ", storage::messages::needs_allow_exec) : std::string())});
}

void check_queues(const known_store& known, std::vector<trouble>& into) {
  const auto workers = workers_of(known);
  for (const auto& queue : known.queues) {
    const auto& name = queue.queue.value;
    if (queue.quarantined > 0)
      into.push_back(
          {"quarantine", name, cat(jobs(queue.quarantined), " of queue ", name, " cannot be read, and put aside")});
    const auto waiting = queue.enqueued + queue.scheduled + queue.throttled;
    if (waiting > 0 && !workers.contains(name))
      into.push_back({"unserved_queue", name,
                      cat(jobs_wait(waiting), " in queue ", name, ", which no server that is alive serves")});
    const auto unknown = std::find_if(known.unknown.begin(), known.unknown.end(),
                                      [&](const auto& one) { return one.queue.value == name; });
    if (unknown != known.unknown.end() && workers.contains(name) && !queue.paused) check_types(*unknown, into);
    if (queue.paused && waiting > 0)
      into.push_back({"paused_queue", name, cat("queue ", name, " is paused; ", jobs_wait(waiting), " in it")});
    if (queue.failed > 0)
      into.push_back({"failed_jobs", name, cat(jobs(queue.failed), " of queue ", name, " failed for good")});
  }
}

void check_schedules(const known_store& known, bool with_content, std::vector<trouble>& into) {
  for (const auto& s : known.schedules) {
    if (!s.problem.empty())
      into.push_back({"dead_schedule", s.name,
                      cat("schedule ", s.name, with_content ? cat(": ", s.problem) : std::string(" makes no job"))});
    else if (!s.paused && s.next_at && known.at && *s.next_at + late_after < *known.at)
      into.push_back(
          {"late_schedule", s.name,
           cat("schedule ", s.name, " should have run at ", format_time(*s.next_at), "; does a server run?")});
  }
}

}  // namespace

bool is_silent(const server_info& server, const known_store& known) {
  return known.at && server.heartbeat_at + silent_after < *known.at;
}

std::map<std::string, std::uint64_t> workers_of(const known_store& known) {
  std::map<std::string, std::uint64_t> workers;
  for (const auto& server : known.servers) {
    if (is_silent(server, known)) continue;
    for (const auto& queue : server.queues) {  // "name:workers"
      const auto colon = queue.rfind(':');
      if (colon == std::string::npos) continue;
      std::uint64_t n = 0;
      std::from_chars(queue.data() + colon + 1, queue.data() + queue.size(), n);
      workers[queue.substr(0, colon)] += n;
    }
  }
  return workers;
}

std::vector<trouble> troubles_of(const known_store& known, bool with_content) {
  std::vector<trouble> all;
  check_store(known, all);
  check_servers(known, all);
  check_schedules(known, with_content, all);
  check_queues(known, all);
  return all;
}

overview overview_of(const known_store& known, bool with_content) {
  overview all{.at = known.at, .reachable = known.at && !known.away, .troubles = troubles_of(known, with_content)};
  all.queues = known.queues.size();
  for (const auto& server : known.servers)
    ++(is_silent(server, known) ? all.servers.silent : all.servers.alive);
  all.throttlers = known.throttlers.size();
  all.schedules = known.schedules.size();
  for (const auto& queue : known.queues)
    add_counts(all.jobs.sum, queue);
  return all;
}

}  // namespace sluice::wire
