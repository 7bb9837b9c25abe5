// Redis' data types in tables of SQLite, as far as the scripts of storage/machine use them: texts, hashes, sets and
// sorted sets of any bytes, in the order that Redis gives them. A command does here what its documentation says of it
// for Redis 6.2; options that no script uses are refused.
//
// What one name has is kept together: one row of `members` has its places in all sorted sets and its fields in the
// hashes that the machine names (machine::hashes_by_job), so that a job is read and written as one row.
// One keyspace is one transaction at a time. Rows and counts of the transaction are kept in memory until `flush`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/machine/script.hpp"
#include "storage/sqlite/database.hpp"

namespace sluice::storage::sqlite {

// What a command answers. Its bytes stay until the next command.
class command_answer {
public:
  enum class kind : std::uint8_t { nothing, number, status, text, list };
  struct part {
    std::size_t from = 0, size = 0;
    bool is_nothing = false;
    bool is_list = false;  // of the next `size` parts
  };

  kind what() const { return what_; }
  std::int64_t number() const { return number_; }
  const std::vector<part>& parts() const { return parts_; }
  std::string_view bytes(const part& p) const { return std::string_view(bytes_).substr(p.from, p.size); }

  void set_nothing() { clear(kind::nothing); }
  void set_number(std::int64_t n) {
    clear(kind::number);
    number_ = n;
  }
  void set_status(std::string_view text) {
    clear(kind::status);
    add(text);
  }
  void set_text(std::string_view text) {
    clear(kind::text);
    add(text);
  }
  void set_list() { clear(kind::list); }
  void add(std::string_view text) {
    parts_.push_back({bytes_.size(), text.size()});
    bytes_.append(text);
  }
  void add_nothing() { parts_.push_back({0, 0, true}); }
  // The number of its parts is told when they are there.
  std::size_t begin_list() {
    parts_.push_back({0, 0, false, true});
    return parts_.size() - 1;
  }
  void end_list(std::size_t at) { parts_[at].size = parts_.size() - at - 1; }

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

// What a script did wrong, in the words of Redis.
struct command_error {
  std::string message;
};

class keyspace {
public:
  using words = std::span<const std::string_view>;

  static void make_tables(database& db);

  // `prefix` stands in front of every key.
  keyspace(database& db, std::string_view prefix);

  // Begins a transaction: what is known is forgotten when another connection has written since.
  void begin();
  // `may_write`: else what would change something is an error. `has_room`: else the first command that writes must be
  // one that only frees, as Redis has it.
  void begin_script(bool may_write, bool has_room);
  // Throws command_error and failure.
  void call(words command, command_answer& into);
  bool has_published() const { return published_; }
  bool wanted_to_write() const { return wanted_to_write_; }

  bool is_empty(std::string_view key);

  void flush();   // before the commit
  void forget();  // after a rollback: nothing that was read in the transaction holds

private:
  enum class kind : std::uint8_t { none, text, hash, set, sorted };
  struct known_key {
    std::int64_t id = 0;  // 0: has no row
    kind what = kind::none;
    std::int64_t size = 0;
    std::string text;
    std::optional<std::size_t> together;  // the column of `members` that has its fields
    bool changed = false;
    const std::string* name = nullptr;  // as it stands in `keys_`
  };
  struct place {
    std::int64_t key = 0;
    double score = 0;
  };
  // Texts of the transaction are kept in `arena_`.
  struct known_member {
    std::int64_t row = 0;  // 0: has none
    std::pmr::vector<place> places;
    std::array<std::string_view, machine::hashes_by_job.size()> fields{};  // without data: it has none there
    bool changed = false;
    bool first_changed = false;  // its first field, which is long and seldom changes
  };
  struct hashed {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  template <class Value>
  using by_name = std::unordered_map<std::string, Value, hashed, std::equal_to<>>;
  struct known_command;
  struct range;
  static const known_command* find_command(std::string_view name);

  known_key& find(std::string_view name);
  // Of that kind, or of none yet; else an error.
  known_key& of_kind(std::string_view name, kind wanted);
  void change(known_key& k);  // before each
  std::int64_t row_of(known_key& k, std::string_view name, kind wanted);
  void grow(known_key& k, std::int64_t by);
  known_member& member_of(std::string_view name);
  std::optional<double> score_of(std::string_view key, std::string_view member);
  static place* place_in(known_member& m, const known_key& k);
  void flush_members();
  void forget_members();
  std::string_view keep(std::string_view text);

  void put_score(known_key& k, std::string_view name, known_member& m, double score);
  bool remove_score(known_key& k, std::string_view name, known_member& m);
  bool put_field(known_key& k, std::string_view name, std::string_view field, std::string_view value, kind as);
  bool remove_field(known_key& k, std::string_view field);
  template <class Take>
  bool look_field(const known_key& k, std::string_view field, const Take& take);
  // Each field, with the cursor behind it, until `take` says no.
  template <class Take>
  void each_field(const known_key& k, std::string_view behind, const Take& take);
  template <class Take>
  void each_of_range(const known_key& k, const range& r, const Take& take);
  static range parse_range(words command);
  void scan(words command, command_answer& into, kind wanted);

  void get(words command, command_answer& into);
  void set(words command, command_answer& into);
  void del(words command, command_answer& into);
  void exists(words command, command_answer& into);
  void publish(words command, command_answer& into);
  void hget(words command, command_answer& into);
  void hmget(words command, command_answer& into);
  void hexists(words command, command_answer& into);
  void hlen(words command, command_answer& into);
  void hset(words command, command_answer& into);
  void hdel(words command, command_answer& into);
  void hincrby(words command, command_answer& into);
  void hkeys(words command, command_answer& into);
  void hvals(words command, command_answer& into);
  void hgetall(words command, command_answer& into);
  void sadd(words command, command_answer& into);
  void srem(words command, command_answer& into);
  void sismember(words command, command_answer& into);
  void scard(words command, command_answer& into);
  void zadd(words command, command_answer& into);
  void zrem(words command, command_answer& into);
  void zscore(words command, command_answer& into);
  void zcard(words command, command_answer& into);
  void zcount(words command, command_answer& into);
  void zrange(words command, command_answer& into);
  void scan_keys(words command, command_answer& into);

  database& db_;
  const std::string prefix_;
  by_name<known_key> keys_;
  std::vector<known_key*> changed_;  // in this transaction
  std::vector<std::byte> first_of_arena_ = std::vector<std::byte>(256 * 1024);
  std::pmr::monotonic_buffer_resource arena_{first_of_arena_.data(), first_of_arena_.size()};
  std::optional<std::pmr::unordered_map<std::string_view, known_member>> members_;
  std::int64_t version_ = 0;  // SQLite's data_version when the caches were right
  bool may_write_ = false;
  bool may_grow_ = false;
  bool published_ = false;
  bool wanted_to_write_ = false;
};

}  // namespace sluice::storage::sqlite
