// The effect of a check: an entry in a book outside of Sluice, here an SQLite file, in place of whatever a check does
// to the world. A job may run twice, so its entry has the job's id as unique key: the second run finds the first one's.
#pragma once

#include <sqlite3.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <sluice/types.hpp>

namespace sample {

struct check_entry {
  std::string job;  // unique
  std::string grant;
  std::string device;
  sluice::fence fence{};  // of the run that made the entry
  std::string answer;
};

class journal {
public:
  // A file, or ":memory:". Whatever fails here and below throws std::runtime_error.
  explicit journal(const std::string& path);

  // The entry that stands there afterwards: this one, or that of an earlier run.
  check_entry enter(const check_entry& wanted);

  std::map<std::string, unsigned> checks_of_grants();

private:
  struct closer {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  std::mutex mutex_;
  std::unique_ptr<sqlite3, closer> db_;
};

}  // namespace sample
