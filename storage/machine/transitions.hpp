// The transitions: those that are asked for each job have a file each, most others stand in by_name.cpp; the rules are
// in storage/rules. Each sends its calls and fills in `into` when they
// answer; `into` and the request must stay where they are until then.
#pragma once

#include <span>

#include "storage/machine/records.hpp"
#include "storage/machine/steps.hpp"
#include "storage/store.hpp"

namespace sluice::storage::machine {

// At most this many jobs in one call: bounds how long a store does nothing else.
inline constexpr std::size_t jobs_a_call = 100;
inline constexpr std::size_t bytes_a_call = 4 * 1024 * 1024;

// Several requests of the same kind that came together are one.
struct enqueue_part {
  const enqueue_request* request;
  answer* into;
};
void ask(steps& x, std::span<const enqueue_part> together);      // enqueue.cpp
void ask(steps& x, const claim_request& r, answer& into);        // claim.cpp
void ask(steps& x, const settle_request& r, answer& into);       // settle.cpp
void ask(steps& x, const renew_request& r, answer& into);        // renew.cpp
void ask(steps& x, const progress_request& r, answer& into);     // progress.cpp
void ask(steps& x, const promote_request& r, answer& into);      // promote.cpp
void ask(steps& x, const expired_request& r, answer& into);      // reap.cpp
void ask(steps& x, const reap_request& r, answer& into);         // reap.cpp
void ask(steps& x, const prune_request& r, answer& into);        // prune.cpp
void ask(steps& x, const change_jobs_request& r, answer& into);  // change_jobs.cpp
void ask(steps& x, const pause_request& r, answer& into);        // by_name.cpp
void ask(steps& x, const heartbeat_request& r, answer& into);    // by_name.cpp
void ask(steps& x, const deregister_request& r, answer& into);   // by_name.cpp
void ask(steps& x, const servers_request& r, answer& into);      // by_name.cpp
void ask(steps& x, const get_request& r, answer& into);          // by_name.cpp
void ask(steps& x, const list_request& r, answer& into);         // read.cpp
void ask(steps& x, const quarantine_request& r, answer& into);   // by_name.cpp
void ask(steps& x, const queues_request& r, answer& into);       // by_name.cpp
void ask(steps& x, const queue_names_request& r, answer& into);  // by_name.cpp
void ask(steps& x, const ready_request& r, answer& into);        // by_name.cpp
void ask(steps& x, const parents_request& r, answer& into);      // by_name.cpp

void ask(steps& x, const quarantined_job_request& r, answer& into);   // by_name.cpp
void ask(steps& x, const drop_quarantined_request& r, answer& into);  // by_name.cpp

void ask(steps& x, const change_group_request& r, answer& into);    // by_name.cpp
void ask(steps& x, const groups_request& r, answer& into);          // by_name.cpp
void ask(steps& x, const failed_members_request& r, answer& into);  // by_name.cpp

void ask(steps& x, const acquire_permits_request& r, answer& into);  // acquire_permits.cpp
void ask(steps& x, const read_limiter_request& r, answer& into);     // limiters.cpp
void ask(steps& x, const update_limiter_request& r, answer& into);   // limiters.cpp
void ask(steps& x, const define_request& r, answer& into);           // by_name.cpp
void ask(steps& x, const undefine_request& r, answer& into);         // by_name.cpp
void ask(steps& x, const throttlers_request& r, answer& into);       // by_name.cpp
void ask(steps& x, const throttler_request& r, answer& into);        // by_name.cpp
void ask(steps& x, const holders_request& r, answer& into);          // by_name.cpp
void ask(steps& x, const waiters_request& r, answer& into);          // by_name.cpp
void ask(steps& x, const reconcile_request& r, answer& into);        // by_name.cpp
void ask(steps& x, const explain_request& r, answer& into);          // by_name.cpp
void ask(steps& x, const lock_request& r, answer& into);             // by_name.cpp
void ask(steps& x, const locks_request& r, answer& into);            // by_name.cpp

void ask(steps& x, const totals_request& r, answer& into);        // by_name.cpp
void ask(steps& x, const log_action_request& r, answer& into);    // by_name.cpp
void ask(steps& x, const operator_log_request& r, answer& into);  // by_name.cpp

void ask(steps& x, const schedules_request& r, answer& into);        // by_name.cpp
void ask(steps& x, const schedule_request& r, answer& into);         // by_name.cpp
void ask(steps& x, const due_request& r, answer& into);              // by_name.cpp
void ask(steps& x, const update_schedule_request& r, answer& into);  // by_name.cpp

// Asks all of a batch, in order; neighbours that enqueue are asked as one. Answers those that were.
std::vector<enqueue_part> ask_all(steps& x, std::span<const request> batch, std::span<answer> answers);  // batch.cpp
// Of these, what is to be asked again, each by itself: what one job to_retry_singly must not cost those that came with
// it.
std::vector<enqueue_part> to_retry_singly(const std::vector<enqueue_part>& joined);  // batch.cpp

// Of a call that may find nothing: keys that are all empty when it surely does. None: who knows.
std::vector<std::string> keys_of_work(const call& c, std::string_view prefix);  // batch.cpp

// Puts records aside that could not be read. When it fails they stay; the next reader finds them again.
void move_to_quarantine(steps& x, const std::vector<steps::broken_record>& broken);  // batch.cpp
// Of a store that is only looked at.
void leave_broken(const std::vector<steps::broken_record>& broken);  // batch.cpp
error only_read(std::string_view store);                             // batch.cpp

// A record that cannot be read, to be put aside.
inline void damaged(steps& x, const job_values& told) {
  x.broken.push_back({std::string(told.id), std::string(told.record), std::string(told.history)});
}

// What is meant when a call says that it does not know the layout of `store`, "LAYOUT its ours"; nothing for other
// words.
error layout_error(std::string_view store, std::uint64_t found, std::uint64_t known);
std::optional<error> unknown_layout(std::string_view said, std::string_view store);  // batch.cpp

// Raises a store of an older layout. `by_tables`: as its file says; 0: it does not.
call raise_from(std::uint64_t by_tables);                      // raise.cpp
raising read_raising(const item& reply, std::uint64_t known);  // raise.cpp

// Where a page of sorted sets ended: "SCORE-MEMBER". Any score: a page that began anew at one that nobody wrote would
// never end.
struct place {
  std::string score, id;
};
std::optional<place> parse_place(std::string_view text);  // read.cpp
error not_an_end(std::string_view after);                 // read.cpp

// Writes a new job as rules/flow_jobs.lua has it.
void add_flow_job(call& c, const prepared_job& job);  // enqueue.cpp

// Writes a claim's arguments, and reads its answer from `from` on.
void add(call& c, const claim_request& r);                                           // claim.cpp
void read_claim(steps& x, const item& reply, std::size_t from, claim_answer& into);  // claim.cpp

// What a new job is to do for others.
inline void made_work(steps& x, const prepared_job& job) {
  if (job.delay > duration::zero()) x.made_work.timers = true;
  else x.made_work.add_queue(job.queue.value);
}

// A failure of the whole request. Of several, the one that may have happened stands.
inline std::function<void(const error&)> fails(answer& into) {
  return [&into](const error& e) {
    if (const auto* before = std::get_if<error>(&into); before && before->code == errc::unknown_outcome) return;
    into = e;
  };
}

// The answer that is being filled in; null once the request has failed.
template <class Answer>
Answer* filling(answer& into) {
  return std::get_if<Answer>(&into);
}

// A digit for each run: 1 is stale.
inline void read_codes(std::string_view digits, std::vector<errc>& each, std::size_t from) {
  for (std::size_t i = 0; i < digits.size() && from + i < each.size(); ++i)
    each[from + i] = digits[i] == '1' ? errc::stale_fence : errc::none;
}
// The same of runs of which some, told by a 2, are asked to end.
inline void read_held(std::string_view digits, std::vector<errc>& each, std::size_t from, auto run_at,
                      std::vector<run_key>& cancelled) {
  read_codes(digits, each, from);
  for (std::size_t i = 0; i < digits.size() && from + i < each.size(); ++i)
    if (digits[i] == '2') cancelled.push_back(run_at(from + i));
}

}  // namespace sluice::storage::machine
