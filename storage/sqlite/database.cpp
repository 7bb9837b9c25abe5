#include "storage/sqlite/database.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/text.hpp"
#include "storage/sqlite/forks.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr int busy_ms = 5000;

[[noreturn]] void fail(sqlite3* handle) {
  const int code = handle ? sqlite3_extended_errcode(handle) : SQLITE_NOMEM;
  // A limit on the size of files or a quota is a full disk, too.
  const int why = (code & 0xff) == SQLITE_IOERR ? sqlite3_system_errno(handle) : 0;
  if (why == EFBIG || why == EDQUOT) throw failure{SQLITE_FULL, std::strerror(why), true};
  throw failure{code, handle ? sqlite3_errmsg(handle) : "out of memory", true};
}

}  // namespace

bool is_of_file(const failure& f) {
  const int code = f.code & 0xff;
  return f.by_sqlite && (code == SQLITE_CORRUPT || code == SQLITE_NOTADB);
}

bool is_no_database(const failure& f) { return f.by_sqlite && (f.code & 0xff) == SQLITE_NOTADB; }

error no_store_of_ours(std::string_view name, std::string_view why) {
  return {errc::storage_damaged,
          cat(printable(name, 300), " is no store of Sluice: ", why, ". It was left as it is; name another file")};
}

error to_error(const failure& f, bool while_committing) {
  switch (f.code & 0xff) {
    case SQLITE_FULL: return {errc::storage_full, "SQLite: " + f.message};
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {errc::storage_busy, "SQLite: " + f.message};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      if (!is_of_file(f))
        return {errc::storage_damaged, "the stored data is damaged: " + f.message + "; `sluice audit` tells more"};
      return {errc::storage_damaged, cat("SQLite: ", f.message, ". The file was left as it is; ", how_to_recover)};
    case SQLITE_READONLY:
      if (f.code == SQLITE_READONLY_ROLLBACK || f.code == SQLITE_READONLY_RECOVERY)
        return {errc::storage_unavailable,
                "SQLite: a write to the file was cut off; the next that may write the store, as `sluice work`, takes "
                "it back"};
      [[fallthrough]];
    case SQLITE_PERM:
      return {errc::io_error, "SQLite: " + f.message + "; may this user write the file and its folder?"};
    case SQLITE_AUTH: return {errc::not_running, f.message};  // forks.hpp
    case SQLITE_TOOBIG: return {errc::too_large, "SQLite: " + f.message};
    default: return {while_committing ? errc::unknown_outcome : errc::storage_unavailable, "SQLite: " + f.message};
  }
}

std::string_view query::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return data ? std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))
              : std::string_view();
}

bool query::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  auto* handle = sqlite3_db_handle(statement_);
  sqlite3_reset(std::exchange(statement_, nullptr));
  fail(handle);
}

void query::bind(std::int64_t n) {
  if (sqlite3_bind_int64(statement_, next_++, n) != SQLITE_OK) fail(sqlite3_db_handle(statement_));
}

void query::bind(std::string_view text) {
  if (sqlite3_bind_text(statement_, next_++, text.data() ? text.data() : "", static_cast<int>(text.size()),
                        SQLITE_STATIC) != SQLITE_OK)
    fail(sqlite3_db_handle(statement_));
}

void query::bind(blob b) {
  if (sqlite3_bind_blob(statement_, next_++, b.bytes.data() ? b.bytes.data() : "", static_cast<int>(b.bytes.size()),
                        SQLITE_STATIC) != SQLITE_OK)
    fail(sqlite3_db_handle(statement_));
}

void query::bind(maybe b) {
  if (b.bytes.data()) return bind(blob{b.bytes});
  if (sqlite3_bind_null(statement_, next_++) != SQLITE_OK) fail(sqlite3_db_handle(statement_));
}

void query::bind(real r) {
  if (sqlite3_bind_double(statement_, next_++, r.number) != SQLITE_OK) fail(sqlite3_db_handle(statement_));
}

database::database(const std::string& path, access how) {
  refuse_inherited(path);
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                    (how == access::look ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                    (how == access::make ? SQLITE_OPEN_CREATE : 0);
  if (sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
    const int code = handle_ ? sqlite3_extended_errcode(handle_) : SQLITE_NOMEM;
    const int cause = handle_ ? sqlite3_system_errno(handle_) : 0;
    const auto why = cat(handle_ ? sqlite3_errmsg(handle_) : "out of memory", cause != 0 ? ": " : "",
                         cause != 0 ? std::strerror(cause) : "");
    sqlite3_close(handle_);
    throw failure{code, why, true};
  }
  open_.emplace(path);
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, busy_ms);  // from the first look on: another may be recovering the log
}

database::~database() {
  for (const auto& [sql, statement] : statements_)
    sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

void database::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(handle_);
}

void database::write_log_again() {
  const auto must = [](int code) {
    if (code != SQLITE_OK) throw failure{code, "the log could not be written again", true};
  };
  execute("BEGIN IMMEDIATE");  // nobody else may write it meanwhile
  sqlite3_file* log = nullptr;
  must(sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log));
  if (log && log->pMethods) {
    sqlite3_int64 size = 0;
    must(log->pMethods->xFileSize(log, &size));
    std::vector<char> piece(1U << 20U);
    for (sqlite3_int64 at = 0; at < size; at += static_cast<sqlite3_int64>(piece.size())) {
      const auto bytes = static_cast<int>(std::min(size - at, static_cast<sqlite3_int64>(piece.size())));
      must(log->pMethods->xRead(log, piece.data(), bytes, at));
      must(log->pMethods->xWrite(log, piece.data(), bytes, at));
    }
    must(log->pMethods->xSync(log, SQLITE_SYNC_NORMAL));
  }
  execute("ROLLBACK");
}

query database::prepare(const char* sql) {
  auto& statement = statements_[sql];
  if (!statement && sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    fail(handle_);
  return query(statement);
}

}  // namespace sluice::storage::sqlite
