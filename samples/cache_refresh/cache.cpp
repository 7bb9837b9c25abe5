#include "cache_refresh/cache.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <stdexcept>

namespace sample {
namespace {

constexpr int timeout_ms = 5000;  // with other processes that write

// What a power cut takes is loaded again, so no write waits for the disk.
constexpr const char* schema = R"(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS entries(name TEXT PRIMARY KEY, fence INTEGER NOT NULL, text TEXT NOT NULL);
)";

// Decides and writes in one step: no other process comes between.
constexpr const char* write_unless_older = R"(
INSERT INTO entries(name, fence, text) VALUES(?1, ?2, ?3)
ON CONFLICT(name) DO UPDATE SET fence = ?2, text = ?3 WHERE fence <= ?2
)";

struct finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using statement_ptr = std::unique_ptr<sqlite3_stmt, finalizer>;

void bind(const statement_ptr& statement, int place, const std::string& text) {
  sqlite3_bind_text(statement.get(), place, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

std::string text_of(const statement_ptr& row) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row.get(), 0));
  return text ? std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(row.get(), 0))) : "";
}

}  // namespace

cache::cache(const std::string& file) : file_(file) {
  if (const auto folder = std::filesystem::path(file).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder);
  const bool open = sqlite3_open(file.c_str(), &database_) == SQLITE_OK;
  sqlite3_busy_timeout(database_, timeout_ms);
  if (open && sqlite3_exec(database_, schema, nullptr, nullptr, nullptr) == SQLITE_OK) return;
  const std::string why = sqlite3_errmsg(database_);
  sqlite3_close(database_);
  throw std::runtime_error("the cache " + file + " cannot be opened: " + why);
}

cache::~cache() { sqlite3_close(database_); }

bool cache::write(const std::string& name, sluice::fence of_run, const std::string& text) {
  std::lock_guard hold(mutex_);
  const statement_ptr insert(prepare(write_unless_older));
  bind(insert, 1, name);
  sqlite3_bind_int64(insert.get(), 2, static_cast<sqlite3_int64>(of_run.value));
  bind(insert, 3, text);
  if (sqlite3_step(insert.get()) != SQLITE_DONE) fail("write " + name);
  return sqlite3_changes(database_) == 1;
}

std::string cache::read(const std::string& name) {
  std::lock_guard hold(mutex_);
  const statement_ptr select(prepare("SELECT text FROM entries WHERE name = ?"));
  bind(select, 1, name);
  const int found = sqlite3_step(select.get());
  if (found != SQLITE_ROW && found != SQLITE_DONE) fail("read " + name);
  return found == SQLITE_ROW ? text_of(select) : "";
}

std::set<std::string> cache::names() {
  std::lock_guard hold(mutex_);
  const statement_ptr select(prepare("SELECT name FROM entries"));
  std::set<std::string> all;
  int found = SQLITE_ROW;
  while ((found = sqlite3_step(select.get())) == SQLITE_ROW)
    all.insert(text_of(select));
  if (found != SQLITE_DONE) fail("list its entries");
  return all;
}

sqlite3_stmt* cache::prepare(const char* sql) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(database_, sql, -1, &made, nullptr) != SQLITE_OK) fail(sql);
  return made;
}

void cache::fail(const std::string& doing) {
  throw std::runtime_error("the cache " + file_ + " cannot " + doing + ": " + sqlite3_errmsg(database_));
}

}  // namespace sample
