// A disk that fails when a test says so, below SQLite. While one lives, whatever SQLite opens in this process is opened
// through it. What is written is in the real files at once, as in a kernel's cache; beside it the disk keeps what each
// file would be after a power loss: what was synced, and of the rest anything. A sync that fails leaves out what stood
// behind it for good, as Linux does: it can be read still, and no later sync brings it to the disk unless it is written
// anew. Folders count as synced. For one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sqlite3.h>

namespace sluice::test {

enum class disk_fault : std::uint8_t {
  write_fails,
  half_written,     // and the disk says that it failed
  no_room_in_half,  // and the disk says that it is full
  sync_fails,
  read_fails,
  power_fails,  // at a write or a sync, which may or may not reach the disk; nothing works from then on
};

class frail_disk {
public:
  frail_disk();
  ~frail_disk();  // what was opened through it must be closed
  frail_disk(const frail_disk&) = delete;

  // At the nth act of that kind from now on, and at all that follow up to `times`. One fault at a time.
  void fail(disk_fault what, int nth = 1, int times = 1);
  void heal() { times_ = 0; }
  bool has_failed() const { return failed_ > 0; }

  // Everything from now on fails, and reaches no file.
  void cut_power() { is_dead_ = true; }
  // Leaves in the files what a power loss would: what was synced, and each sector that was not with this chance. All
  // must be closed, and may be opened again then.
  void restart(std::mt19937& random, unsigned percent_kept);

private:
  struct change {
    std::size_t at = 0;
    std::string bytes;
    bool is_end = false;  // the file was cut off there
  };
  struct contents {
    std::string synced;
    std::vector<change> since;
  };
  struct file;
  struct methods;

  // Whether this act fails.
  bool meets(disk_fault what);

  sqlite3_vfs* real_;
  sqlite3_vfs own_;
  std::map<std::string, std::shared_ptr<contents>> files_;
  disk_fault fault_ = disk_fault::write_fails;
  int until_ = 0;  // acts of that kind
  int times_ = 0;
  int failed_ = 0;
  bool is_dead_ = false;
};

}  // namespace sluice::test
