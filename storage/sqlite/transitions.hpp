// The transitions, one file each, named as in storage/store.hpp. All run inside the session's
// transaction and throw `failure` when SQLite fails; the whole batch is rolled back then.
#pragma once

#include "storage/sqlite/session.hpp"

namespace sluice::storage::sqlite {

enqueue_answer apply(session& s, const enqueue_request& r);    // enqueue.cpp
claim_answer apply(session& s, const claim_request& r);        // claim.cpp
settle_answer apply(session& s, const settle_request& r);      // settle.cpp
renew_answer apply(session& s, const renew_request& r);        // renew.cpp
progress_answer apply(session& s, const progress_request& r);  // progress.cpp
promote_answer apply(session& s, const promote_request& r);    // promote.cpp
expired_answer apply(session& s, const expired_request& r);    // reap.cpp
reap_answer apply(session& s, const reap_request& r);          // reap.cpp
prune_answer apply(session& s, const prune_request& r);        // prune.cpp
change_answer apply(session& s, const requeue_request& r);     // change.cpp
change_answer apply(session& s, const remove_request& r);      // change.cpp
done_answer apply(session& s, const pause_request& r);         // change.cpp
done_answer apply(session& s, const beat_request& r);          // servers.cpp
done_answer apply(session& s, const leave_request& r);         // servers.cpp
servers_answer apply(session& s, const servers_request& r);    // servers.cpp
get_answer apply(session& s, const get_request& r);            // look.cpp
list_answer apply(session& s, const list_request& r);          // look.cpp
queues_answer apply(session& s, const queues_request& r);      // look.cpp

// Whether a request would find anything to write now. Looking needs no lock, so an idle server
// disturbs nobody.
bool finds_work(session& s, const claim_request& r);    // claim.cpp
bool finds_work(session& s, const promote_request& r);  // promote.cpp
bool finds_work(session& s, const prune_request& r);    // prune.cpp

// Until the next scheduled job is due; 0 when one is; nothing when there is none.
std::optional<duration> next_due(session& s);  // promote.cpp

// What should not be in the store.
std::vector<std::string> audit(session& s);  // audit.cpp

// Adds an ended start to a history, of which the last `history_limit` are kept.
void remember(job_progress& progress, start_record start);  // settle.cpp

}  // namespace sluice::storage::sqlite
