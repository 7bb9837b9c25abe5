// SQLite as we use it: one connection, statements prepared once, failures as one exception type that
// does not leave this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <sqlite3.h>

#include <sluice/error.hpp>

#include "storage/sqlite/forks.hpp"

namespace sluice::storage::sqlite {

struct failure {
  int code = SQLITE_ERROR;  // SQLite's extended result code
  std::string message;
  bool by_sqlite = false;  // it was SQLite that failed, not what we make of its rows
};

// SQLite cannot make sense of the file: nothing in it may be relied on. A row that makes no sense to us is one key's.
bool is_of_file(const failure& f);

// Behind the words for a damaged file.
inline constexpr std::string_view how_to_recover =
    "see \"A damaged file\" in docs/store_layout.md for what can be read of it";

// Of a file that SQLite makes nothing of as a whole. `name`: the file's.
bool is_no_database(const failure& f);
error no_store_of_ours(std::string_view name, std::string_view why);

// What a failure means to a caller. `while_committing`: whether the commit itself failed.
error to_error(const failure& f, bool while_committing);

// A prepared statement being run. Reset when it goes out of scope.
class query {
public:
  explicit query(sqlite3_stmt* statement) : statement_(statement) {}
  query(query&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)), next_(other.next_) {}
  ~query() {
    if (statement_) sqlite3_reset(statement_);
  }

  // Binds the next parameters in order. Texts and blobs must live until the query ends.
  template <class... Ts>
  query& with(const Ts&... values) & {
    (bind(values), ...);
    return *this;
  }
  template <class... Ts>
  query with(const Ts&... values) && {
    (bind(values), ...);
    return std::move(*this);
  }

  bool step();  // true: a row is there
  void run() {
    while (step()) {
    }
  }

  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view bytes(int column) const;
  std::string text(int column) const { return std::string(bytes(column)); }
  double real_number(int column) const { return sqlite3_column_double(statement_, column); }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  bool is_number(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }

  // Bytes bound as a blob: compared and stored as they are.
  struct blob {
    std::string_view bytes;
  };
  struct maybe {
    std::string_view bytes;  // without data: NULL
  };
  struct real {
    double number;
  };

private:
  void bind(std::int64_t n);
  void bind(std::uint64_t n) { bind(static_cast<std::int64_t>(n)); }
  void bind(std::uint32_t n) { bind(static_cast<std::int64_t>(n)); }
  void bind(int n) { bind(static_cast<std::int64_t>(n)); }
  void bind(std::string_view text);
  void bind(const std::string& text) { bind(std::string_view(text)); }
  void bind(blob b);
  void bind(maybe b);
  void bind(real r);

  sqlite3_stmt* statement_;
  int next_ = 1;
};

class database {
public:
  enum class access : std::uint8_t {
    look,    // the file is not written, and stays as it is
    change,  // a file that is not there is a failure
    make,
  };
  // Throws failure.
  explicit database(const std::string& path, access how = access::make);
  ~database();
  database(const database&) = delete;

  void execute(const char* sql);
  // Writes all that stands in the write-ahead log once more, and syncs it. What a sync that failed left out is read
  // back as if it were written, and no later sync brings it to the disk.
  void write_log_again();
  // `sql` must be a literal: statements are kept by its address.
  query prepare(const char* sql);
  int changes() const { return sqlite3_changes(handle_); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }
  std::int64_t last_rowid() const { return sqlite3_last_insert_rowid(handle_); }
  sqlite3* handle() const { return handle_; }

private:
  sqlite3* handle_ = nullptr;
  std::optional<open_here> open_;
  std::unordered_map<const char*, sqlite3_stmt*> statements_;
};

}  // namespace sluice::storage::sqlite
