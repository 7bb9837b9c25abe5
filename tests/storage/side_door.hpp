// A second connection to a store's file, to harm it behind its back.
#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>

namespace sluice::test {

class side_door {
public:
  explicit side_door(const std::string& path) {
    check(sqlite3_open(path.c_str(), &db_));
    check(sqlite3_busy_timeout(db_, 5'000));
  }
  ~side_door() { sqlite3_close(db_); }
  side_door(const side_door&) = delete;

  void run(const std::string& sql) { check(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr)); }

  // The first column of the first row of a query, with '?' bound to `id`.
  std::string bytes(const std::string& sql, const std::string& id = "") {
    std::string found;
    with(sql, [&](sqlite3_stmt* s) {
      if (sqlite3_bind_parameter_count(s) > 0) bind_text(s, 1, id);
      if (sqlite3_step(s) != SQLITE_ROW) return;
      if (const auto* data = static_cast<const char*>(sqlite3_column_blob(s, 0)))
        found.assign(data, static_cast<std::size_t>(sqlite3_column_bytes(s, 0)));
    });
    return found;
  }

  // `column` is record or progress.
  void overwrite(const std::string& column, const std::string& id, const std::string& with_bytes) {
    with("UPDATE jobs SET " + column + "=? WHERE id=?", [&](sqlite3_stmt* s) {
      check(sqlite3_bind_blob(s, 1, with_bytes.data(), static_cast<int>(with_bytes.size()), SQLITE_TRANSIENT));
      bind_text(s, 2, id);
      if (sqlite3_step(s) != SQLITE_DONE || sqlite3_changes(db_) != 1) throw std::runtime_error("nothing to harm");
    });
  }

private:
  void check(int code) const {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
  }
  void bind_text(sqlite3_stmt* s, int at, const std::string& text) const {
    check(sqlite3_bind_text(s, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
  }
  template <class Use>
  void with(const std::string& sql, const Use& use) {
    sqlite3_stmt* s = nullptr;
    check(sqlite3_prepare_v2(db_, sql.c_str(), -1, &s, nullptr));
    use(s);
    sqlite3_finalize(s);
  }

  sqlite3* db_ = nullptr;
};

}  // namespace sluice::test
