#include "two_level_cache/sqlite_level.hpp"

#include <sqlite3.h>

#include <stdexcept>

namespace sample {
namespace {

constexpr int timeout_ms = 5000;  // with other processes that write

// `guard` is the highest fence that wrote, `fence` that of the rebuild that was completed.
constexpr const char* schema = R"(
CREATE TABLE IF NOT EXISTS heads(
  key TEXT PRIMARY KEY, guard INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0,
  pages INTEGER NOT NULL DEFAULT 0, active_until INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages(
  key TEXT NOT NULL, number INTEGER NOT NULL, fence INTEGER NOT NULL, ends INTEGER NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY(key, number));
CREATE INDEX IF NOT EXISTS pages_by_end ON pages(ends);
)";

[[noreturn]] void fail(sqlite3* in, const char* doing) {
  throw std::runtime_error(std::string("the cache's file: ") + doing + ": " + sqlite3_errmsg(in));
}

void execute(sqlite3* in, const char* sql) {
  if (sqlite3_exec(in, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(in, sql);
}

std::int64_t micros(sluice::time_point t) { return t.time_since_epoch().count(); }
sluice::time_point instant(std::int64_t us) { return sluice::time_point(sluice::duration(us)); }

class query {
public:
  query(sqlite3* in, const char* sql) : in_(in), sql_(sql) {
    if (sqlite3_prepare_v2(in, sql, -1, &statement_, nullptr) != SQLITE_OK) fail(in, sql);
  }
  ~query() { sqlite3_finalize(statement_); }
  query(const query&) = delete;

  query& with(std::int64_t n) {
    sqlite3_bind_int64(statement_, ++bound_, n);
    return *this;
  }
  query& with(sluice::fence f) { return with(static_cast<std::int64_t>(f.value)); }
  query& with(const std::string& text) {  // it must live until the end of the query
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    return *this;
  }
  query& with_bytes(const std::string& bytes) {
    sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC);
    return *this;
  }

  bool step() {  // true: a row is there
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail(in_, sql_);
    return code == SQLITE_ROW;
  }

  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  sluice::fence fence(int column) const { return {static_cast<std::uint64_t>(number(column))}; }
  std::string bytes(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return data ? std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))) : "";
  }

private:
  sqlite3* in_;
  const char* sql_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// Rolled back unless it was committed.
class transaction {
public:
  explicit transaction(sqlite3* in) : in_(in) { execute(in_, "BEGIN IMMEDIATE"); }
  ~transaction() {
    if (in_) sqlite3_exec(in_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  transaction(const transaction&) = delete;
  void commit() {
    execute(in_, "COMMIT");
    in_ = nullptr;
  }

private:
  sqlite3* in_;
};

// Whether the holder of this fence may write the entry; then nobody with a lower one may any more.
bool admit(sqlite3* in, const std::string& key, sluice::fence fence) {
  query(in, "INSERT INTO heads(key, guard) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET guard = ?2 WHERE guard <= ?2")
      .with(key)
      .with(fence)
      .step();
  return sqlite3_changes(in) == 1;
}

}  // namespace

sqlite_level::sqlite_level(const std::string& file) {
  if (sqlite3_open(file.c_str(), &database_) != SQLITE_OK) {
    const std::string why = database_ ? sqlite3_errmsg(database_) : "no memory";
    sqlite3_close(database_);
    throw std::runtime_error("the cache's file " + file + " cannot be opened: " + why);
  }
  try {
    sqlite3_busy_timeout(database_, timeout_ms);
    execute(database_, "PRAGMA journal_mode = WAL");
    execute(database_, "PRAGMA synchronous = NORMAL");  // what a power cut takes can be loaded again
    transaction made(database_);
    execute(database_, schema);
    made.commit();
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

sqlite_level::~sqlite_level() { sqlite3_close(database_); }

std::optional<cached_head> sqlite_level::head(const std::string& key) {
  std::lock_guard hold(mutex_);
  query found(database_, "SELECT fence, pages, active_until FROM heads WHERE key = ? AND fence > 0");
  if (!found.with(key).step()) return std::nullopt;
  return cached_head{found.fence(0), static_cast<std::uint32_t>(found.number(1)), instant(found.number(2))};
}

std::optional<cached_page> sqlite_level::page(const std::string& key, std::uint32_t number) {
  std::lock_guard hold(mutex_);
  query found(database_, "SELECT value, fence, ends FROM pages WHERE key = ? AND number = ?");
  if (!found.with(key).with(number).step()) return std::nullopt;
  return cached_page{std::make_shared<const std::string>(found.bytes(0)), found.fence(1), instant(found.number(2))};
}

bool sqlite_level::store(const std::string& key, std::uint32_t number, const cached_page& content) {
  std::lock_guard hold(mutex_);
  transaction step(database_);
  if (!admit(database_, key, content.fence)) return false;
  query(database_, "INSERT OR REPLACE INTO pages(key, number, fence, ends, value) VALUES(?, ?, ?, ?, ?)")
      .with(key)
      .with(number)
      .with(content.fence)
      .with(micros(content.ends))
      .with_bytes(*content.value)
      .step();
  step.commit();
  return true;
}

bool sqlite_level::complete(const std::string& key, const cached_head& head, sluice::time_point ends) {
  std::lock_guard hold(mutex_);
  transaction step(database_);
  if (!admit(database_, key, head.fence)) return false;
  query(database_, "UPDATE heads SET fence = ?2, pages = ?3, active_until = ?4 WHERE key = ?1")
      .with(key)
      .with(head.fence)
      .with(head.pages)
      .with(micros(head.active_until))
      .step();
  query(database_, "UPDATE pages SET ends = ?2 WHERE key = ?1").with(key).with(micros(ends)).step();
  query(database_, "DELETE FROM pages WHERE key = ? AND number > ?").with(key).with(head.pages).step();
  step.commit();
  return true;
}

// A head outlives its pages, so that its guard does; no lock is taken for longer than a day.
void sqlite_level::prune(sluice::time_point now) {
  std::lock_guard hold(mutex_);
  transaction step(database_);
  query(database_, "DELETE FROM pages WHERE ends <= ?").with(micros(now)).step();
  query(database_, "DELETE FROM heads WHERE active_until < ? AND key NOT IN (SELECT key FROM pages)")
      .with(micros(now - std::chrono::hours(24)))
      .step();
  step.commit();
}

}  // namespace sample
