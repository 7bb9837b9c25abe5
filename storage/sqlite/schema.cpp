#include "storage/sqlite/schema.hpp"

#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr const char* tables = R"sql(
CREATE TABLE keys(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, size INTEGER NOT NULL, text BLOB);
CREATE TABLE fields(key INTEGER NOT NULL, field BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY(key, field)) WITHOUT ROWID;
CREATE TABLE scores(key INTEGER NOT NULL, score NOT NULL CHECK(typeof(score) IN ('integer', 'real')), member BLOB NOT NULL,
  PRIMARY KEY(key, score, member)) WITHOUT ROWID;
CREATE TABLE members(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, field1 BLOB, field2 BLOB, field3 BLOB, field4 BLOB,
  places BLOB NOT NULL);
)sql";

constexpr int application_id = 0x534c5543;  // "SLUC"

std::int64_t pragma(database& db, const char* sql) {
  auto q = db.prepare(sql);
  return q.step() ? q.number(0) : 0;
}

bool is_empty(database& db) { return pragma(db, "SELECT count(*) FROM sqlite_master") == 0; }

}  // namespace

bool is_made(database& db) { return !is_empty(db) && layout_of(db) > 0; }

std::uint64_t layout_of(database& db) { return static_cast<std::uint64_t>(pragma(db, "PRAGMA user_version")); }

void say_layout(database& db, std::uint64_t layout) { db.execute(cat("PRAGMA user_version=", layout).c_str()); }

durability configure(database& db, std::uint32_t max_pages, bool may_write) {
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (may_write) db.execute("PRAGMA journal_mode=WAL");
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

result<void> check_schema(database& db, const std::string& name, std::uint64_t known) {
  if (is_empty(db) && pragma(db, "PRAGMA application_id") != application_id) return {};
  if (pragma(db, "PRAGMA application_id") != application_id)
    return no_store_of_ours(name, "it is another program's database");
  if (const auto found = layout_of(db); found != known) return machine::layout_error(name, found, known);
  constexpr std::int64_t all = 4;
  if (pragma(db,
             "SELECT count(*) FROM sqlite_master WHERE type='table' AND name IN ('keys', 'fields', 'scores', "
             "'members')") != all)
    return error{errc::storage_damaged,
                 cat(name, " is one of Sluice's, and its tables are missing: it was damaged, or moved without its log ",
                     name, "-wal. It was left as it is")};
  return {};
}

void make_tables(database& db) { db.execute(tables); }

void make_schema(database& db, std::uint64_t layout) {
  if (is_made(db)) return;  // another process was first
  make_tables(db);
  db.execute(cat("PRAGMA application_id=", application_id).c_str());
  say_layout(db, layout);
}

}  // namespace sluice::storage::sqlite
