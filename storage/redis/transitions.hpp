// The transitions, one file each, named as in storage/sqlite/. Each adds its scripts to the exchange and fills in
// `into` when they answer; `into` and the request must stay where they are until then.
#pragma once

#include "storage/redis/exchange.hpp"

namespace sluice::storage::redis {

// At most this many jobs in one script: bounds how long Redis does nothing else.
inline constexpr std::size_t jobs_a_script = 100;
inline constexpr std::size_t bytes_a_script = 4 * 1024 * 1024;

// Several requests of the same kind that came together are one.
struct enqueue_part {
  const enqueue_request* request;
  answer* into;
};
void ask(exchange& x, const std::vector<enqueue_part>& together);  // enqueue.cpp
void ask(exchange& x, const claim_request& r, answer& into);       // claim.cpp
void ask(exchange& x, const settle_request& r, answer& into);      // settle.cpp
void ask(exchange& x, const renew_request& r, answer& into);       // renew.cpp
void ask(exchange& x, const progress_request& r, answer& into);    // progress.cpp
void ask(exchange& x, const promote_request& r, answer& into);     // promote.cpp
void ask(exchange& x, const expired_request& r, answer& into);     // reap.cpp
void ask(exchange& x, const reap_request& r, answer& into);        // reap.cpp
void ask(exchange& x, const prune_request& r, answer& into);       // prune.cpp
void ask(exchange& x, const requeue_request& r, answer& into);     // change.cpp
void ask(exchange& x, const remove_request& r, answer& into);      // change.cpp
void ask(exchange& x, const pause_request& r, answer& into);       // change.cpp
void ask(exchange& x, const beat_request& r, answer& into);        // servers.cpp
void ask(exchange& x, const leave_request& r, answer& into);       // servers.cpp
void ask(exchange& x, const servers_request& r, answer& into);     // servers.cpp
void ask(exchange& x, const get_request& r, answer& into);         // look.cpp
void ask(exchange& x, const list_request& r, answer& into);        // look.cpp
void ask(exchange& x, const queues_request& r, answer& into);      // look.cpp

void ask(exchange& x, const take_request& r, answer& into);        // take.cpp
void ask(exchange& x, const cell_request& r, answer& into);        // swap.cpp
void ask(exchange& x, const swap_request& r, answer& into);        // swap.cpp
void ask(exchange& x, const define_request& r, answer& into);      // throttlers.cpp
void ask(exchange& x, const undefine_request& r, answer& into);    // throttlers.cpp
void ask(exchange& x, const throttlers_request& r, answer& into);  // throttlers.cpp
void ask(exchange& x, const throttler_request& r, answer& into);   // throttlers.cpp
void ask(exchange& x, const rouse_request& r, answer& into);       // throttlers.cpp
void ask(exchange& x, const explain_request& r, answer& into);     // throttlers.cpp
void ask(exchange& x, const lock_request& r, answer& into);        // lock.cpp

void ask(exchange& x, const schedules_request& r, answer& into);      // schedules.cpp
void ask(exchange& x, const schedule_request& r, answer& into);       // schedules.cpp
void ask(exchange& x, const due_request& r, answer& into);            // schedules.cpp
void ask(exchange& x, const swap_schedule_request& r, answer& into);  // schedules.cpp

// Reads what the scripts tell of one job, as `get` does. not_found, damaged_record.
errc read_one(exchange& x, const item& reply, std::optional<job>& into);  // look.cpp

// Writes a claim's arguments, and reads its answer from `from` on.
void add(command& c, const claim_request& r);                                           // claim.cpp
void read_claim(exchange& x, const item& reply, std::size_t from, claim_answer& into);  // claim.cpp

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

// A digit for each start: 1 is stale.
inline void read_codes(std::string_view digits, std::vector<errc>& each, std::size_t from) {
  for (std::size_t i = 0; i < digits.size() && from + i < each.size(); ++i)
    each[from + i] = digits[i] == '1' ? errc::stale_fence : errc::none;
}

}  // namespace sluice::storage::redis
