// Reads a database as a whole, as SQLite checks it.
#pragma once

#include <stop_token>
#include <string>

namespace sluice::storage::sqlite {

// The first thing that is wrong; empty when nothing is, it was told to stop or the file could not be looked at. Looks
// by a connection of its own, from one snapshot, which holds up nobody but the log's being cut back.
std::string find_damage(const std::string& path, std::stop_token stop);

}  // namespace sluice::storage::sqlite
