#include "storage/sqlite/file_check.hpp"

#include "core/log.hpp"
#include "storage/sqlite/database.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr int between_looks = 10'000;  // instructions of SQLite, some of a millisecond

}  // namespace

std::string find_damage(const std::string& path, std::stop_token stop) try {
  database db(path, database::access::look);
  sqlite3_progress_handler(
      db.handle(), between_looks,
      [](void* token) { return static_cast<const std::stop_token*>(token)->stop_requested() ? 1 : 0; }, &stop);
  auto q = db.prepare("PRAGMA quick_check(1)");
  const auto said = q.step() ? q.text(0) : std::string();
  return said == "ok" ? std::string() : said.substr(said.find('\n') + 1);  // below the name of the database
} catch (const failure& f) {
  if (is_of_file(f)) return f.message;
  if (!stop.stop_requested()) log::warn("store ", path, " could not be checked: ", f.message);
  return {};
} catch (const std::exception& e) {
  log::warn("store ", path, " could not be checked: ", e.what());
  return {};
}

}  // namespace sluice::storage::sqlite
