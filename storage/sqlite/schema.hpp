// The tables, in one place.
//
//   jobs        one row a job. (state, line, pos) is its place: among the enqueued `pos` is the order in
//               the line, among the scheduled the due time, among the processing the end of the lease,
//               among the final the time of the end (all µs). `took`: permits that the claim of its start took, see
//               admission.hpp. `record` and `progress` are core/codec's.
//   lines       (queue, kind, name) with a small number. kind: 0 main, 1 woken, 2 suspect, 3 type:NAME.
//               Only the enqueued stand in other lines than their queue's main one.
//   counts      how many jobs stand in (state, line); state 9 counts the quarantined.
//   queues      paused or not.       claims  the last claim of (server, queue, lane), to repeat it.
//   servers     who lives.           quarantine  rows whose records could not be decoded, as they were.
//   locks       who holds what, and until when; those whose lease is over until they are taken or pruned.
//   schedules   recurring jobs, and when each is due next.   schedule_runs  the last jobs of each.
//   numbers     the one growing number: fences and places in lines.
#pragma once

#include <sluice/options.hpp>

#include "storage/sqlite/database.hpp"

namespace sluice::storage::sqlite {

inline constexpr int schema_version = 2;
inline constexpr int quarantined_state = 9;

// False for a file in which nothing was made yet, or not all that this version needs. Looks only.
bool is_made(database& db);
// Settings of a connection; they are not stored in the file. Answers what they are worth, read back.
durability configure(database& db, std::uint32_t max_pages);
// Whether the file is empty, or ours and not newer. Looks only.
result<void> check_schema(database& db, const std::string& name);
// Makes the tables that are missing: all in an empty file, the newer ones in an older file. In a transaction.
void make_schema(database& db);

}  // namespace sluice::storage::sqlite
