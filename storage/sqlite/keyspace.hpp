// The commands of Redis over rows of SQLite, as far as the rules use them. A command does here
// what its documentation says of it for Redis 7.0; options that no call uses are refused. One keyspace is one
// transaction at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/sqlite/rows.hpp"

namespace sluice::storage::sqlite {

// What a command answers. Its bytes stay until the next command.
class command_answer {
public:
  enum class kind : std::uint8_t { nothing, number, text, list, slice };
  struct part {
    std::size_t from = 0, size = 0;
    bool is_nothing = false;
  };

  kind what() const { return what_; }
  std::int64_t number() const { return number_; }
  // Of a slice: what is in it, and last its cursor.
  const std::vector<part>& parts() const { return parts_; }
  std::string_view bytes(const part& p) const { return std::string_view(bytes_).substr(p.from, p.size); }

  void set_nothing() { clear(kind::nothing); }
  void set_number(std::int64_t n) {
    clear(kind::number);
    number_ = n;
  }
  void set_text(std::string_view text) {
    clear(kind::text);
    add(text);
  }
  void set_list() { clear(kind::list); }
  void set_slice() { clear(kind::slice); }
  void add(std::string_view text) {
    parts_.push_back({bytes_.size(), text.size()});
    bytes_.append(text);
  }
  void add_nothing() { parts_.push_back({0, 0, true}); }

private:
  void clear(kind what) {
    what_ = what;
    bytes_.clear();
    parts_.clear();
  }

  kind what_ = kind::nothing;
  std::int64_t number_ = 0;
  std::string bytes_;
  std::vector<part> parts_;
};

// As Redis prints a number of Lua, or a score: a whole one without a point, others so that they can be read back.
std::string text_of(double n);

class keyspace : public rows {
public:
  using words = std::span<const std::string_view>;
  using rows::rows;

  // `may_write`: else what would change something is an error.
  void begin_call(bool may_write);
  // Throws command_error and failure.
  void call(words command, command_answer& into);
  bool has_published() const { return published_; }

  bool is_empty(std::string_view name) { return find(name).what == kind::none; }

private:
  bool published_ = false;
};

}  // namespace sluice::storage::sqlite
