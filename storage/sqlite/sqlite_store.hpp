// The store on SQLite: WAL, synchronous=FULL, one connection a process, every write under the file lock.
#pragma once

#include "storage/machine/library.hpp"
#include "storage/store.hpp"

namespace sluice::storage::sqlite {

struct place {
  std::string path;             // a file, or ":memory:"
  std::uint32_t max_pages = 0;  // 0, or the most pages of 4 KiB that the store may hold
  std::uint32_t mode = 0600;    // of a file that is made
  bool is_local = false;        // whoever names it knows that no other machine has its file system
};

result<std::unique_ptr<store>> open(place where, open_mode mode, const clock& clock, const machine::library& known);

// As storage::raise_layout.
result<raising> raise_layout(place where, const clock& clock, const machine::library& known);

}  // namespace sluice::storage::sqlite
