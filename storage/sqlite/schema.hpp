// The settings of a connection to a file of ours, and whether it is one; and its tables.
#pragma once

#include <sluice/options.hpp>

#include "storage/sqlite/database.hpp"

namespace sluice::storage::sqlite {

// False for a file in which nothing was made yet. Looks only.
bool is_made(database& db);
// Settings of a connection; they are not stored in the file. Answers what they are worth, read back.
durability configure(database& db, std::uint32_t max_pages, bool may_write);
// Whether the file is empty, or ours, of the layout that is known and with its tables. Looks only.
result<void> check_schema(database& db, const std::string& name, std::uint64_t known);
// The layout that the file says; 0 for none.
std::uint64_t layout_of(database& db);
void say_layout(database& db, std::uint64_t layout);
// What rows.hpp needs.
void make_tables(database& db);
// Makes an empty file one of ours. In a transaction.
void make_schema(database& db, std::uint64_t layout);

}  // namespace sluice::storage::sqlite
