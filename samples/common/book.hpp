// What happened, in a book outside of Sluice: an SQLite file, in place of whatever jobs do to the world. A job may run
// twice, so an entry has a key: the second run finds the first one's.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

namespace sample {

class book {
public:
  // A file that is made when it is not there. Whatever fails here and below throws std::runtime_error.
  explicit book(const std::string& path) {
    sqlite3* db = nullptr;
    const int opened = sqlite3_open(path.c_str(), &db);
    db_.reset(db);
    if (opened != SQLITE_OK) fail();
    sqlite3_busy_timeout(db, 5'000);  // others may look at it
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = OFF");  // it is to outlive the process, and need not outlive the machine
    run("CREATE TABLE IF NOT EXISTS entries (what TEXT, about TEXT, fence INTEGER, PRIMARY KEY (what, about, fence))");
  }

  // Once for each what, about and fence. False: it stood there.
  bool note(const std::string& what, const std::string& about = {}, std::uint64_t fence = 0) {
    std::lock_guard hold(mutex_);
    run("INSERT OR IGNORE INTO entries VALUES (?, ?, " + std::to_string(fence) + ")", what, &about);
    return sqlite3_changes(db_.get()) > 0;
  }
  unsigned entries(const std::string& what) {
    std::lock_guard hold(mutex_);
    return run("SELECT COUNT(*) FROM entries WHERE what = ?", what);
  }
  // As entries, but those that differ by the fence alone count once.
  unsigned things(const std::string& what) {
    std::lock_guard hold(mutex_);
    return run("SELECT COUNT(DISTINCT about) FROM entries WHERE what = ?", what);
  }

private:
  struct closer {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  struct finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  [[noreturn]] void fail() const { throw std::runtime_error(std::string("the book: ") + sqlite3_errmsg(db_.get())); }

  // The number in the first row, if there is one.
  unsigned run(const std::string& sql, const std::string& what = {}, const std::string* about = nullptr) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &made, nullptr) != SQLITE_OK) fail();
    const std::unique_ptr<sqlite3_stmt, finalizer> statement(made);
    sqlite3_bind_text(made, 1, what.data(), static_cast<int>(what.size()), SQLITE_STATIC);
    if (about) sqlite3_bind_text(made, 2, about->data(), static_cast<int>(about->size()), SQLITE_STATIC);
    unsigned first = 0;
    int step = sqlite3_step(made);
    if (step == SQLITE_ROW) first = static_cast<unsigned>(sqlite3_column_int(made, 0));
    while (step == SQLITE_ROW)
      step = sqlite3_step(made);
    if (step != SQLITE_DONE) fail();
    return first;
  }

  std::mutex mutex_;
  std::unique_ptr<sqlite3, closer> db_;
};

}  // namespace sample
