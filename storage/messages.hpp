// What both stores write into a job when it was not its handler that ended it. Each is one meaning and stands here
// once; "%d" is a number that only the transition knows.
#pragma once

#include <string>
#include <string_view>

#include <sluice/exec_key.hpp>
#include <sluice/types.hpp>

#include "core/text.hpp"
#include "storage/operator_log.hpp"

namespace sluice::storage::messages {

inline constexpr const char* needs_allow_exec =
    "a server takes exec jobs only when its configuration has \"allow_exec\": true";
inline std::string type_unknown(const job_type& type) {
  return type.value == exec_job_type ? "no server of the queue takes exec jobs (\"allow_exec\": true)"
                                     : "no server that serves the queue knows its type";
}
inline constexpr const char* lost_run = "its server died, was stopped or was cut off, and the lease ran out";
inline constexpr const char* lost_again = "lost: the lease of run %d ran out";
inline constexpr const char* lost_for_good = "lost: the leases of %d runs ran out; not run again";

// Whose hand it was, when it says so.
inline std::string hand_of(const author& by) {
  if (by.name.empty()) return "hand";
  const auto through = first_bytes(by.through, max_author_bytes);
  return cat(first_bytes(by.name, max_author_bytes), through.empty() ? "" : " through ", through);
}
inline std::string requeued(const author& by) { return cat("requeued by ", hand_of(by)); }
inline std::string deleted(const author& by) { return cat("deleted by ", hand_of(by)); }
inline std::string cancelled(const author& by) { return cat("cancelled by ", hand_of(by)); }
// When the run has ended, the rules make the other one of it (rules/values.lua).
inline constexpr std::string_view asked_to_end = "cancellation asked for by ";
inline std::string cancel_asked(const author& by) { return cat(asked_to_end, hand_of(by)); }
inline std::string deleted_running(const author& by) { return cat(deleted(by), " while it ran"); }

inline std::string not_in_quarantine(const job_id& id) {
  return cat("there is no job ", printable(id.value, 200), " in quarantine");
}
inline std::string still_unreadable(const job_id& id, std::string_view wrong) {
  return cat("job ", printable(id.value, 200), " still cannot be read: ", wrong,
             ". `sluice quarantine drop` removes it for good");
}
inline std::string is_awaited(const job_id& id) {
  return cat("job ", printable(id.value, 200),
             " stays in quarantine: jobs that wait for its end have not ended, or no "
             "server has told them or its group of it yet; drop it when they have");
}
inline std::string id_taken(const job_id& id) {
  return cat("job ", printable(id.value, 200),
             " stays in quarantine: another job has its id by now. Delete that one and ",
             "wait until it is pruned, or remove this one by `sluice quarantine drop`");
}
inline std::string runs_still(const job_id& id) {
  return cat("job ", printable(id.value, 200), " is running; delete it first, or wait");
}

inline std::string is_by_now(const job_id& id, std::string_view state) {
  return cat("job ", printable(id.value, 200), " is ", state, " by now, and was left so");
}

inline std::string has_ended(const job_id& id, std::string_view state) {
  return cat("job ", printable(id.value, 200), " has already ended as ", state);
}

inline std::string waits_for(const std::string& resource) { return cat("waits for ", resource); }
inline std::string waits_still(const job_id& id, const std::string& resource) {
  return cat("job ", printable(id.value, 200), " waits for ", printable(resource, 200),
             "; raise its limit, or delete the job");
}
inline std::string has_its_key(const job_id& id, const job_id& other) {
  return cat("job ", printable(other.value, 200), " has the unique key of job ", printable(id.value, 200),
             "; wait for its end, or delete it");
}
inline std::string in_cancelled_group(const job_id& id, std::string_view group) {
  return cat("job ", printable(id.value, 200), " is in group ", printable(group, 200),
             ", which was cancelled; enqueue it anew");
}
inline std::string in_use(const std::string& resource, std::uint64_t held, std::uint64_t waiting) {
  return cat(printable(resource, 200), " is held by ", held, held == 1 ? " job" : " jobs", " and ", waiting,
             waiting == 1 ? " waits" : " wait", " for it; set its mode to release and wait until it is drained");
}

inline std::string with_number(std::string text, std::uint64_t n) {
  return text.replace(text.find("%d"), 2, std::to_string(n));
}

}  // namespace sluice::storage::messages
