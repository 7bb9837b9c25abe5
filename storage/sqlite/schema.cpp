#include "storage/sqlite/schema.hpp"

#include "core/text.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr int application_id = 0x534c5543;  // "SLUC"

constexpr const char* tables = R"sql(
CREATE TABLE jobs(
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL, line INTEGER NOT NULL, pos INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0, losses INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0, settled INTEGER NOT NULL DEFAULT 0,
  server TEXT NOT NULL DEFAULT '', op INTEGER NOT NULL DEFAULT 0,
  lease INTEGER NOT NULL DEFAULT 0, renewals INTEGER NOT NULL DEFAULT 0,
  started INTEGER NOT NULL DEFAULT 0, took BLOB NOT NULL DEFAULT x'',
  record BLOB NOT NULL, progress BLOB NOT NULL DEFAULT x'');
CREATE INDEX jobs_by_place ON jobs(state, line, pos);
CREATE TABLE lines(id INTEGER PRIMARY KEY, queue TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,
  UNIQUE(queue, kind, name));
CREATE TABLE counts(state INTEGER NOT NULL, line INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(state, line)) WITHOUT ROWID;
CREATE TABLE queues(name TEXT PRIMARY KEY, paused INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE claims(server TEXT NOT NULL, queue TEXT NOT NULL, lane INTEGER NOT NULL, op INTEGER NOT NULL,
  PRIMARY KEY(server, queue, lane)) WITHOUT ROWID;
CREATE TABLE servers(id TEXT PRIMARY KEY, name TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, queues TEXT NOT NULL,
  running INTEGER NOT NULL, started INTEGER NOT NULL, beat INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE quarantine(seq INTEGER PRIMARY KEY, id TEXT NOT NULL, line INTEGER NOT NULL, state INTEGER NOT NULL, at INTEGER NOT NULL,
  record BLOB, progress BLOB);
CREATE INDEX quarantine_by_id ON quarantine(id);
CREATE TABLE definitions(resource TEXT PRIMARY KEY, text TEXT NOT NULL, permits INTEGER, config TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE TABLE cells(name TEXT PRIMARY KEY, version INTEGER NOT NULL, state BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE permits(resource TEXT NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL, fence INTEGER NOT NULL, since INTEGER NOT NULL,
  PRIMARY KEY(resource, seq)) WITHOUT ROWID;
CREATE INDEX permits_by_job ON permits(seq);
CREATE INDEX permits_reserved ON permits(since) WHERE kind=2;
CREATE TABLE held(resource TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE admissions(seq INTEGER PRIMARY KEY, first INTEGER NOT NULL DEFAULT 0, vain INTEGER NOT NULL DEFAULT 0);
CREATE TABLE slots(seq INTEGER NOT NULL, resource TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY(seq, resource)) WITHOUT ROWID;
CREATE TABLE parked(seq INTEGER PRIMARY KEY, resource TEXT NOT NULL, queue TEXT NOT NULL, pos INTEGER NOT NULL);
CREATE INDEX parked_by_line ON parked(resource, queue, pos);
CREATE TABLE openings(resource TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX openings_by_time ON openings(at);
CREATE TABLE served(queue TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE numbers(one INTEGER PRIMARY KEY CHECK(one = 1), last INTEGER NOT NULL);
INSERT INTO numbers VALUES(1, 0);
)sql";

// What came with schema 2.
constexpr const char* tables_of_2 = R"sql(
CREATE TABLE IF NOT EXISTS locks(resource TEXT PRIMARY KEY, fence INTEGER NOT NULL, until INTEGER NOT NULL, lease INTEGER NOT NULL,
  token TEXT NOT NULL, holder TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS locks_by_end ON locks(until);
CREATE TABLE IF NOT EXISTS schedules(name TEXT PRIMARY KEY, version INTEGER NOT NULL, record BLOB NOT NULL, next_at INTEGER,
  place INTEGER, span INTEGER, placed INTEGER) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS schedules_by_time ON schedules(next_at) WHERE next_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS schedule_runs(seq INTEGER PRIMARY KEY, schedule TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS runs_by_schedule ON schedule_runs(schedule, seq);
)sql";

std::int64_t pragma(database& db, const char* sql) {
  auto q = db.prepare(sql);
  return q.step() ? q.number(0) : 0;
}

bool has_column(database& db, std::string_view name) {
  return db.prepare("SELECT 1 FROM pragma_table_info('jobs') WHERE name=?").with(name).step();
}

bool is_empty(database& db) { return pragma(db, "SELECT count(*) FROM sqlite_master") == 0; }

}  // namespace

bool is_made(database& db) { return !is_empty(db) && pragma(db, "PRAGMA user_version") >= schema_version; }

durability configure(database& db, std::uint32_t max_pages) {
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  db.execute("PRAGMA journal_mode=WAL");
  db.execute("PRAGMA synchronous=FULL");
  db.execute("PRAGMA wal_autocheckpoint=0");
  db.execute("PRAGMA trusted_schema=OFF");
  db.execute("PRAGMA cell_size_check=ON");
  db.execute("PRAGMA cache_size=-65536");
  db.execute("PRAGMA journal_size_limit=67108864");
  if (max_pages > 0) db.execute(cat("PRAGMA max_page_count=", max_pages).c_str());
  std::string journal;
  {
    auto q = db.prepare("PRAGMA journal_mode");
    if (q.step()) journal = q.text(0);
  }
  if (journal == "memory") return durability::volatile_;
  constexpr int full = 2;
  return journal == "wal" && pragma(db, "PRAGMA synchronous") >= full ? durability::power_safe : durability::crash_safe;
}

result<void> check_schema(database& db, const std::string& name) {
  if (is_empty(db)) return {};
  const auto version = pragma(db, "PRAGMA user_version");
  if (pragma(db, "PRAGMA application_id") != application_id)
    return error{errc::storage_damaged, cat(name, " is a database, but not one of Sluice's; it was left as it is")};
  if (version > schema_version)
    return error{errc::storage_newer, cat(name, " has schema ", version, "; this version knows up to ", schema_version,
                                          ": use a newer Sluice")};
  return {};
}

void make_schema(database& db) {
  if (is_made(db)) return;  // another process was first
  if (is_empty(db)) db.execute(tables);
  else if (!has_column(db, "took")) db.execute("ALTER TABLE jobs ADD COLUMN took BLOB NOT NULL DEFAULT x''");
  db.execute(tables_of_2);
  db.execute(cat("PRAGMA application_id=", application_id, "; PRAGMA user_version=", schema_version).c_str());
}

}  // namespace sluice::storage::sqlite
