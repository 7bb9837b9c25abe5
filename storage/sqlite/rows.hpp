// In which rows keys, fields and members stand, and what of them is known: hashes, sets and sorted sets of any bytes.
//
// What one name has is kept together: one row of `members` has its places in all sorted sets and its fields in the
// hashes that the machine names (machine::hashes_by_job), so that a job is read and written as one row.
// Rows and counts of a transaction are kept in memory until `flush`, and what is known of them longer: until something
// was rolled back, another connection has written, or it is too much.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/machine/library.hpp"
#include "storage/sqlite/database.hpp"

namespace sluice::storage::sqlite {

// What a call did wrong, in the words of Redis.
struct command_error {
  std::string message;
};

// Doubles hold whole numbers exactly up to 2^53.
inline bool is_whole(double n) { return std::abs(n) <= 9007199254740992.0 && n == std::trunc(n); }

class rows {
public:
  enum class kind : std::uint8_t { none, text, hash, set, sorted };
  struct key {
    std::int64_t id = 0;  // 0: has no row
    kind what = kind::none;
    std::int64_t size = 0;
    std::string text;
    std::optional<std::size_t> together;  // the column of `members` that has its fields
    bool changed = false;
    const std::string* name = nullptr;  // as it stands in `keys_`
  };
  // Before a member with this score and name, whether it is there or not.
  struct position {
    std::optional<double> score;      // none: behind all
    std::optional<std::string> name;  // none: before all with this score
  };
  static position before(double score) { return {score, {}}; }
  static position behind(double score) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return score == infinity ? position() : before(std::nextafter(score, infinity));
  }
  // A part of a sorted set. Those with the same score stand in the order of their bytes.
  struct range {
    position from = before(-std::numeric_limits<double>::infinity()), to;
    bool reversed = false;
    std::int64_t offset = 0, count = -1;  // -1: all
  };

  // `prefix` stands in front of every key.
  rows(database& db, std::string_view prefix);

  // Begins a transaction: what is known is forgotten when another connection has written since.
  void begin();
  void flush();   // before the commit
  void forget();  // after a rollback: nothing that was read in the transaction holds
  // Else what would change something throws.
  void allow_writing(bool may_write);
  bool wanted_to_write() const { return wanted_to_write_; }
  // Since the last `flush`.
  bool has_changed() const { return !changed_.empty(); }

  // Stays where it is until the transaction is over.
  key& find(std::string_view name);
  void put_text(key& k, std::string_view text);
  void remove_text(key& k);

  // What is found stays until the next call. What puts or removes says whether its field or member is new, or was
  // there.
  bool has_field(const key& k, std::string_view field);
  std::optional<std::string_view> field_of(const key& k, std::string_view field);
  // 0: there is none. A long one is not read for it.
  std::size_t size_of_field(const key& k, std::string_view field);
  bool put_field(key& k, std::string_view field, std::string_view value, kind as);
  bool remove_field(key& k, std::string_view field);
  std::optional<double> score_of(const key& k, std::string_view member);
  bool put_score(key& k, std::string_view member, double score);
  bool remove_score(key& k, std::string_view member);

  // Rows, to be gone through before anything is changed; what is given must live as long. Behind what an earlier row
  // had for a cursor, or all.
  using cursor = std::optional<std::string_view>;
  query fields_of(const key& k, cursor behind = {});  // field, value, cursor
  query members_of(const key& k, const range& r);     // member, score
  query keys_behind(cursor behind);                   // name, cursor

  // Where a member stands: sixteen bytes, kept as they are.
  struct place {
    std::int64_t key = 0;
    double score = 0;
  };
  // The places in a row of `members`; none when they are not what was written.
  static std::optional<std::span<const char>> sound_places(std::string_view name, std::string_view row);

private:
  // Its texts are kept in `arena_`.
  struct member {
    std::string_view name;
    std::int64_t row = 0;  // 0: has none
    std::pmr::vector<place> places;
    std::array<std::string_view, machine::hashes_by_job.size()> fields{};  // without data: it has none there
    bool changed = false;
    bool is_healed = false;      // its places were damaged, and are not written yet
    bool first_changed = false;  // its first field, which is long and seldom changes
  };
  void change(key& k);  // before each
  void change(member& m);
  std::int64_t row_of(key& k, kind wanted);
  void grow(key& k, std::int64_t by);
  void count(key& k);

  member& member_of(std::string_view name);
  static std::pmr::vector<place>::iterator place_in(member& m, const key& k);
  std::string_view read_long(std::string_view name);
  void write_long(const member& m);
  void read_places(member& m, std::string_view from);
  void find_places(member& m);
  bool leave_place(key& k, member& m);
  bool delete_score(const key& k, std::string_view name, double score);
  void put_together(std::string_view field, std::size_t column, std::string_view value);
  void flush_member(member& m);
  void flush_members();
  void forget_members();
  std::string_view keep(std::string_view text);

  database& db_;
  const std::string prefix_;
  std::unordered_map<std::string, key> keys_;
  std::vector<key*> changed_;  // since the last `flush`
  std::vector<member*> changed_members_;
  std::vector<std::byte> first_of_arena_ = std::vector<std::byte>(256 * 1024);
  std::pmr::monotonic_buffer_resource arena_{first_of_arena_.data(), first_of_arena_.size()};
  std::size_t kept_ = 0;  // bytes of it
  std::optional<std::pmr::unordered_map<std::string_view, member>> members_;
  std::string value_;         // that was found last
  std::int64_t version_ = 0;  // SQLite's data_version when the caches were right
  bool may_write_ = false;
  bool wanted_to_write_ = false;
};

}  // namespace sluice::storage::sqlite
