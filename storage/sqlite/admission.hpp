// What the transitions share about permits, lines of waiters and slots. storage/admission.hpp says what they mean.
#pragma once

#include "storage/sqlite/session.hpp"

namespace sluice::storage::sqlite {

// Permits that a claim took stand in `took` of the job's row, each as "length:bytes", until its start ends; all others
// have rows of their own. `held` counts both.
enum class permit_kind : std::uint8_t {
  held = 0,      // by the job's start
  strict = 1,    // by the job, until it is final
  reserved = 2,  // for a woken job that was not claimed yet
  kept = 3,      // by a waiting job that was woken in vain too often
};

struct permit {
  std::string resource;
  permit_kind kind = permit_kind::held;
};

inline constexpr std::uint64_t most_woken = 1'000;  // in one step; a rouse goes on

// False: no job of the store has to do with a throttler, and none of the others need be asked.
bool any_admissions(session& s);
bool has_admission(session& s, std::int64_t seq);

std::optional<std::uint64_t> limit_of(session& s, const std::string& resource);  // nothing: not defined
bool runs(session& s, const std::string& queue);
void mark_served(session& s, const std::string& queue);

std::vector<permit> permits_of(session& s, std::int64_t seq);
void grant(session& s, const std::string& resource, std::int64_t seq, permit_kind kind, std::uint64_t fence);
void release(session& s, const std::string& resource, std::int64_t seq);

// What claims took.
std::string write_took(const std::vector<std::string>& resources);
std::vector<std::string> read_took(const std::string& took);
// The start of this row has ended, and `took` was emptied: its permits go back.
void leave_took(session& s, const std::string& took);
// Gives what its claim took rows of their own, for whatever is not the plain end of its start.
void unfold_took(session& s, job_row& row);

// Wakes the oldest waiters that fit; how many.
std::uint64_t pass_on(session& s, const std::string& resource);
// Wakes the oldest waiter whose queue runs, if there is one: its seq. It leaves its line and enters its queue's woken
// line.
std::optional<std::int64_t> wake_first(session& s, const std::string& resource);
bool has_waiters(session& s, const std::string& resource);
// True when a line has waiters and none of their queues runs: nobody can be woken now.
bool stands_still(session& s, const std::string& resource);
// True when somebody waits whose queue runs: a newcomer would overtake.
bool waited_for(session& s, const std::string& resource);
// Those whose queues run.
std::uint64_t waiting(session& s, const std::string& resource);

// The start's job waits in that line; what it had goes back, unless it may keep it. True: it keeps what it has.
bool park(session& s, job_row row, const std::string& resource);
// A job that is enqueued, of which nothing is known yet, waits in that line.
void park_fresh(session& s, const job_row& row, const std::string& queue, const std::string& resource);
// Whoever waited longest gets what came free, when all that a request ends has ended.
void pass_on_freed(session& s);
// Ended, lost or removed; what it had goes back. `final` also lets go of what belongs to the job.
void leave_admission(session& s, std::int64_t seq, bool final);
// A job that was taken from its line, or stands in none.
void leave_line(session& s, std::int64_t seq);
// The line that a throttled job waits in.
std::string line_of(session& s, std::int64_t seq);

// Of a job that is claimed: what it has already belongs to this start.
std::vector<std::string> admit_claimed(session& s, std::int64_t seq, std::uint64_t fence);
std::vector<std::string> admitted(session& s, std::int64_t seq);

// Passes on what was reserved for so long; until the next is.
void pass_on_reservations(session& s, const promote_request& r);
std::optional<std::int64_t> next_lapse(session& s, const promote_request& r);

// "KIND:NAME/KEY" is a line of cell "KIND:NAME".
std::string cell_of(const std::string& resource);

}  // namespace sluice::storage::sqlite
