// The transitions, one file each, named as in storage/store.hpp. All run inside the session's
// transaction and throw `failure` when SQLite fails; the whole batch is rolled back then.
#pragma once

#include "storage/sqlite/session.hpp"

namespace sluice::storage::sqlite {

enqueue_answer apply(session& s, const enqueue_request& r);        // enqueue.cpp
claim_answer apply(session& s, const claim_request& r);            // claim.cpp
settle_answer apply(session& s, const settle_request& r);          // settle.cpp
renew_answer apply(session& s, const renew_request& r);            // renew.cpp
progress_answer apply(session& s, const progress_request& r);      // progress.cpp
promote_answer apply(session& s, const promote_request& r);        // promote.cpp
expired_answer apply(session& s, const expired_request& r);        // reap.cpp
reap_answer apply(session& s, const reap_request& r);              // reap.cpp
prune_answer apply(session& s, const prune_request& r);            // prune.cpp
change_answer apply(session& s, const requeue_request& r);         // change.cpp
change_answer apply(session& s, const remove_request& r);          // change.cpp
done_answer apply(session& s, const pause_request& r);             // change.cpp
beat_answer apply(session& s, const beat_request& r);              // servers.cpp
done_answer apply(session& s, const leave_request& r);             // servers.cpp
servers_answer apply(session& s, const servers_request& r);        // servers.cpp
get_answer apply(session& s, const get_request& r);                // look.cpp
list_answer apply(session& s, const list_request& r);              // look.cpp
queues_answer apply(session& s, const queues_request& r);          // look.cpp
take_answer apply(session& s, const take_request& r);              // take.cpp
cell_answer apply(session& s, const cell_request& r);              // swap.cpp
swap_answer apply(session& s, const swap_request& r);              // swap.cpp
define_answer apply(session& s, const define_request& r);          // throttlers.cpp
change_answer apply(session& s, const undefine_request& r);        // throttlers.cpp
throttlers_answer apply(session& s, const throttlers_request& r);  // throttlers.cpp
throttler_answer apply(session& s, const throttler_request& r);    // throttlers.cpp
rouse_answer apply(session& s, const rouse_request& r);            // throttlers.cpp
explain_answer apply(session& s, const explain_request& r);        // throttlers.cpp
lock_answer apply(session& s, const lock_request& r);              // lock.cpp

schedules_answer apply(session& s, const schedules_request& r);          // schedules.cpp
schedule_answer apply(session& s, const schedule_request& r);            // schedules.cpp
due_answer apply(session& s, const due_request& r);                      // schedules.cpp
swap_schedule_answer apply(session& s, const swap_schedule_request& r);  // schedules.cpp

// Until the next schedule is due.
std::optional<duration> next_schedule_in(session& s);  // schedules.cpp

// Whether a request would find anything to write now. Looking needs no lock, so an idle server
// disturbs nobody.
bool finds_work(session& s, const promote_request& r);  // promote.cpp
bool finds_work(session& s, const prune_request& r);    // prune.cpp
bool finds_work(session& s, const rouse_request& r);    // throttlers.cpp

// What a promote answers that finds nothing to do now.
promote_answer look(session& s, const promote_request& r);  // promote.cpp
// The answer to a claim that finds nothing to do; none: it must be carried out.
std::optional<claim_answer> look(session& s, const claim_request& r);  // claim.cpp

// What is answered to a request about a lock that changes nothing.
std::optional<lock_answer> look(session& s, const lock_request& r);  // lock.cpp

// What should not be in the store.
std::vector<std::string> audit(session& s);  // audit.cpp

// Adds an ended start to a history, of which the last `history_limit` are kept.
void remember(job_progress& progress, start_record start);  // settle.cpp

}  // namespace sluice::storage::sqlite
