#include "device_check/journal.hpp"

#include <functional>
#include <stdexcept>
#include <vector>

namespace sample {
namespace {

struct finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

[[noreturn]] void fail(sqlite3* db) { throw std::runtime_error(std::string("the journal: ") + sqlite3_errmsg(db)); }

// Runs one statement with these texts; `row` is told of each row.
void run(sqlite3* db, const char* sql, const std::vector<std::string>& texts = {},
         const std::function<void(sqlite3_stmt*)>& row = {}) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &made, nullptr) != SQLITE_OK) fail(db);
  const std::unique_ptr<sqlite3_stmt, finalizer> statement(made);
  for (std::size_t i = 0; i < texts.size(); ++i)
    sqlite3_bind_text(made, static_cast<int>(i) + 1, texts[i].data(), static_cast<int>(texts[i].size()),
                      SQLITE_TRANSIENT);
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(made)) == SQLITE_ROW)
    if (row) row(made);
  if (step != SQLITE_DONE) fail(db);
}

std::string text_of(sqlite3_stmt* row, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return text ? text : "";
}

}  // namespace

journal::journal(const std::string& path) {
  sqlite3* db = nullptr;
  const int opened = sqlite3_open(path.c_str(), &db);
  db_.reset(db);
  if (opened != SQLITE_OK) fail(db);
  sqlite3_busy_timeout(db, 5'000);  // other workers write it too
  run(db,
      "CREATE TABLE IF NOT EXISTS checks (job TEXT PRIMARY KEY, grant_id TEXT NOT NULL, device TEXT NOT NULL, "
      "fence TEXT NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID");
}

check_entry journal::enter(const check_entry& wanted) {
  std::lock_guard hold(mutex_);
  run(db_.get(), "INSERT INTO checks VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
      {wanted.job, wanted.grant, wanted.device, std::to_string(wanted.fence.value), wanted.answer});
  check_entry found;
  run(db_.get(), "SELECT job, grant_id, device, fence, answer FROM checks WHERE job = ?", {wanted.job},
      [&](sqlite3_stmt* row) {
        found = {text_of(row, 0), text_of(row, 1), text_of(row, 2), {std::stoull(text_of(row, 3))}, text_of(row, 4)};
      });
  return found;
}

std::map<std::string, unsigned> journal::checks_of_grants() {
  std::lock_guard hold(mutex_);
  std::map<std::string, unsigned> counts;
  run(db_.get(), "SELECT grant_id, COUNT(*) FROM checks GROUP BY grant_id", {},
      [&](sqlite3_stmt* row) { counts[text_of(row, 0)] = static_cast<unsigned>(sqlite3_column_int(row, 1)); });
  return counts;
}

}  // namespace sample
