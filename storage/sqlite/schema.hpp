// The settings of a connection to a file of ours, and whether it is one; and its tables.
#pragma once

#include <sluice/options.hpp>

#include "storage/sqlite/database.hpp"

namespace sluice::storage::sqlite {

inline constexpr int layout = 4;

// False for a file in which nothing was made yet. Looks only.
bool is_made(database& db);
// Settings of a connection; they are not stored in the file. Answers what they are worth, read back.
durability configure(database& db, std::uint32_t max_pages, bool may_write);
// Whether the file is empty, or ours, of this layout and with its tables. Looks only.
result<void> check_schema(database& db, const std::string& name);
// What rows.hpp needs.
void make_tables(database& db);
// Makes an empty file one of ours. In a transaction.
void make_schema(database& db);

}  // namespace sluice::storage::sqlite
