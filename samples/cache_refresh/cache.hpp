// The cache that the jobs fill: a table in an SQLite file, which all processes of a machine share.
//
// Several runs may write one entry. A server that was believed dead goes on while another has its job, and a slow run
// may end after a quick one of the next occurrence. So every write carries the fence of its run, a number that grows
// with every start of any job, and the file refuses whoever has a lower one than the last writer.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <string>

#include <sluice/types.hpp>

struct sqlite3;
struct sqlite3_stmt;

namespace sample {

// Any thread may make any call; each throws std::runtime_error when the file fails it.
class cache {
public:
  explicit cache(const std::string& file);  // makes it, and its folder, when they are not there
  ~cache();
  cache(const cache&) = delete;
  cache& operator=(const cache&) = delete;

  // False: a run that was started later has written this entry, and it stays as it is. The same run may write twice.
  bool write(const std::string& name, sluice::fence of_run, const std::string& text);
  std::string read(const std::string& name);  // empty: there is no such entry
  std::set<std::string> names();

private:
  sqlite3_stmt* prepare(const char* sql);
  [[noreturn]] void fail(const std::string& doing);

  std::mutex mutex_;
  const std::string file_;
  sqlite3* database_ = nullptr;
};

}  // namespace sample
