#include "storage/sqlite/keyspace.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/text.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr std::size_t together = machine::hashes_by_job.size();
static_assert(together == 4, "the statements below name four columns");
constexpr std::size_t most_known = 100'000;           // keys that are remembered between transactions
constexpr double largest_whole = 9007199254740992.0;  // 2^53
constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr const char* wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";

[[noreturn]] void refuse(std::string message) { throw command_error{std::move(message)}; }

std::optional<std::int64_t> whole_of(std::string_view text) {
  std::int64_t n = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size() ? std::optional(n) : std::nullopt;
}
std::int64_t whole_in(std::string_view text) {
  const auto n = whole_of(text);
  if (!n) refuse("ERR value is not an integer or out of range");
  return *n;
}

double score_in(std::string_view text) {
  const auto* from = text.data();
  const auto* to = from + text.size();
  if (from != to && *from == '+') ++from;
  double score = 0;
  const auto read = std::from_chars(from, to, score);
  if (from == to || read.ec != std::errc{} || read.ptr != to || std::isnan(score))
    refuse("ERR value is not a valid float");
  return score == 0 ? 0 : score;  // there is no -0
}

bool is_whole(double score) { return std::abs(score) <= largest_whole && score == std::trunc(score); }

std::string_view text_of(double score, std::span<char> into) {
  if (std::isinf(score)) return score > 0 ? "inf" : "-inf";
  auto* const from = into.data();
  const auto end = is_whole(score) ? std::to_chars(from, from + into.size(), static_cast<std::int64_t>(score)).ptr
                                   : std::to_chars(from, from + into.size(), score, std::chars_format::general, 17).ptr;
  return {from, static_cast<std::size_t>(end - from)};
}

query::blob raw(std::string_view bytes) { return {bytes}; }

// Whole scores are kept as whole numbers, which are shorter; SQLite orders both by value.
query& bind_score(query& q, double score) {
  return is_whole(score) ? q.with(static_cast<std::int64_t>(score)) : q.with(query::real{score});
}

// The places of a member: sixteen bytes each, key and score, the lowest byte first.
void append_number(std::string& to, std::uint64_t n) {
  for (int shift = 0; shift < 64; shift += 8)
    to.push_back(static_cast<char>(n >> shift & 0xff));
}
std::uint64_t number_at(std::string_view from, std::size_t at) {
  std::uint64_t n = 0;
  for (std::size_t i = 8; i-- > 0;)
    n = n << 8 | static_cast<unsigned char>(from[at + i]);
  return n;
}

constexpr const char* tables = R"sql(
CREATE TABLE keys(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, size INTEGER NOT NULL, text BLOB);
CREATE TABLE fields(key INTEGER NOT NULL, field BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY(key, field)) WITHOUT ROWID;
CREATE TABLE scores(key INTEGER NOT NULL, score NOT NULL, member BLOB NOT NULL, PRIMARY KEY(key, score, member)) WITHOUT ROWID;
CREATE TABLE members(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, field1 BLOB, field2 BLOB, field3 BLOB, field4 BLOB,
  places BLOB NOT NULL);
)sql";

}  // namespace

// Of a sorted set: by rank, by score or by name.
struct keyspace::range {
  enum class order : std::uint8_t { rank, score, name };
  order by = order::rank;
  bool reversed = false;
  bool with_scores = false;
  std::int64_t first = 0, last = -1;  // ranks
  double low = -infinity, high = infinity;
  bool above_low = false, below_high = false;  // without the ends
  std::optional<std::string_view> from, to;    // names
  std::int64_t offset = 0, count = -1;
};

struct keyspace::known_command {
  std::string_view name;
  void (keyspace::*carry_out)(words, command_answer&);
  std::size_t least;  // words, with its name
  enum class effect : std::uint8_t { none, frees, grows } does = effect::none;
};

void keyspace::make_tables(database& db) { db.execute(tables); }

keyspace::keyspace(database& db, std::string_view prefix) : db_(db), prefix_(prefix) { forget_members(); }

const keyspace::known_command* keyspace::find_command(std::string_view name) {
  using effect = known_command::effect;
  static const std::unordered_map<std::string_view, known_command> commands = [] {
    std::unordered_map<std::string_view, known_command> all;
    for (const auto& c : std::initializer_list<known_command>{
             {"GET", &keyspace::get, 2},
             {"SET", &keyspace::set, 3, effect::grows},
             {"EXISTS", &keyspace::exists, 2},
             {"DEL", &keyspace::del, 2, effect::frees},
             {"PUBLISH", &keyspace::publish, 3},
             {"HGET", &keyspace::hget, 3},
             {"HMGET", &keyspace::hmget, 3},
             {"HEXISTS", &keyspace::hexists, 3},
             {"HLEN", &keyspace::hlen, 2},
             {"HSET", &keyspace::hset, 4, effect::grows},
             {"HDEL", &keyspace::hdel, 3, effect::frees},
             {"HINCRBY", &keyspace::hincrby, 4, effect::grows},
             {"HKEYS", &keyspace::hkeys, 2},
             {"HVALS", &keyspace::hvals, 2},
             {"HGETALL", &keyspace::hgetall, 2},
             {"SADD", &keyspace::sadd, 3, effect::grows},
             {"SREM", &keyspace::srem, 3, effect::frees},
             {"SISMEMBER", &keyspace::sismember, 3},
             {"SCARD", &keyspace::scard, 2},
             {"SMEMBERS", &keyspace::hkeys, 2},
             {"ZADD", &keyspace::zadd, 4, effect::grows},
             {"ZREM", &keyspace::zrem, 3, effect::frees},
             {"ZSCORE", &keyspace::zscore, 3},
             {"ZCARD", &keyspace::zcard, 2},
             {"ZCOUNT", &keyspace::zcount, 4},
             {"ZRANGE", &keyspace::zrange, 4},
             {"SCAN", &keyspace::scan_keys, 2},
             {"HSCAN", &keyspace::hkeys, 3},
             {"SSCAN", &keyspace::hkeys, 3},
             {"ZSCAN", &keyspace::zrange, 3},
         })
      all.emplace(c.name, c);
    return all;
  }();
  const auto found = commands.find(name);
  return found == commands.end() ? nullptr : &found->second;
}

void keyspace::begin() {
  auto q = db_.prepare("PRAGMA data_version");
  const auto version = q.step() ? q.number(0) : 0;
  if (version != version_ || keys_.size() > most_known) keys_.clear();
  version_ = version;
  forget_members();
}

void keyspace::begin_script(bool may_write, bool has_room) {
  may_write_ = may_write;
  may_grow_ = has_room;
  published_ = false;
  wanted_to_write_ = false;
}

void keyspace::call(words command, command_answer& into) {
  const auto* known = find_command(command.front());
  if (!known) refuse(cat("ERR unknown command '", command.front(), "'"));
  if (command.size() < known->least) refuse(cat("ERR wrong number of arguments for '", known->name, "'"));
  using effect = known_command::effect;
  if (known->does != effect::none) {
    if (known->does == effect::grows && !may_grow_) refuse("OOM command not allowed when the store is full");
    may_grow_ = true;  // whoever has begun to write goes on to its end
  }
  (this->*known->carry_out)(command, into);
}

// ---------------------------------------------------------------------------------------------------------------------
// Keys

keyspace::known_key& keyspace::find(std::string_view name) {
  if (const auto known = keys_.find(name); known != keys_.end()) return known->second;
  auto& [its_name, k] = *keys_.emplace(name, known_key{}).first;
  k.name = &its_name;
  if (name.starts_with(prefix_) && name.size() > prefix_.size() && name[prefix_.size()] == ':')
    for (std::size_t i = 0; i < together; ++i)
      if (name.substr(prefix_.size() + 1) == machine::hashes_by_job[i]) k.together = i;
  auto q = db_.prepare("SELECT id, kind, size, text FROM keys WHERE name=?").with(raw(name));
  if (q.step()) {
    k.id = q.number(0);
    k.what = static_cast<kind>(q.number(1));
    k.size = q.number(2);
    if (k.what > kind::sorted || k.size < 0) throw failure{SQLITE_CORRUPT, "a key has no kind or no size that can be"};
    k.text = q.text(3);
  }
  return k;
}

keyspace::known_key& keyspace::of_kind(std::string_view name, kind wanted) {
  auto& k = find(name);
  if (k.what != kind::none && k.what != wanted) refuse(wrong_type);
  return k;
}

void keyspace::change(known_key& k) {
  if (!may_write_) {
    wanted_to_write_ = true;
    refuse("READONLY this step only looks");
  }
  if (!k.changed) changed_.push_back(&k);
  k.changed = true;
}

// The number under which its rows stand; it is given one when it has none.
std::int64_t keyspace::row_of(known_key& k, std::string_view name, kind wanted) {
  change(k);
  if (k.id == 0) {
    db_.prepare("INSERT INTO keys(name, kind, size) VALUES(?, ?, 0)").with(raw(name), static_cast<int>(wanted)).run();
    k.id = db_.last_rowid();
  }
  if (k.what == kind::none) k.what = wanted;
  return k.id;
}

// An empty one is no key, and may become one of another kind.
void keyspace::grow(known_key& k, std::int64_t by) {
  k.size += by;
  if (k.size == 0) k.what = kind::none;
}

bool keyspace::is_empty(std::string_view key) { return find(key).what == kind::none; }

void keyspace::get(words command, command_answer& into) {
  const auto& k = of_kind(command[1], kind::text);
  if (k.what == kind::none) into.set_nothing();
  else into.set_text(k.text);
}

void keyspace::set(words command, command_answer& into) {
  auto& k = find(command[1]);
  if (k.what != kind::none && k.what != kind::text) refuse(wrong_type);  // Redis would replace it; no script does
  row_of(k, command[1], kind::text);
  k.text = command[2];
  k.size = 1;
  into.set_status("OK");
}

void keyspace::exists(words command, command_answer& into) { into.set_number(is_empty(command[1]) ? 0 : 1); }

void keyspace::del(words command, command_answer& into) {
  auto& k = find(command[1]);
  into.set_number(k.what == kind::none ? 0 : 1);
  std::vector<std::string> all;
  if (k.what == kind::sorted) each_of_range(k, {}, [&](std::string_view name, double) { all.emplace_back(name); });
  else if (k.what != kind::text)
    each_field(k, {}, [&](std::optional<std::string_view> field, std::string_view, const std::string&) {
      if (field) all.emplace_back(*field);
      return true;
    });
  for (const auto& name : all)
    k.what == kind::sorted ? remove_score(k, name, member_of(name)) : remove_field(k, name);
  if (k.what == kind::text) {
    change(k);
    k.text.clear();
    grow(k, -1);
  }
}

void keyspace::publish(words, command_answer& into) {
  published_ = true;
  into.set_number(0);
}

// ---------------------------------------------------------------------------------------------------------------------
// Members

std::string_view keyspace::keep(std::string_view text) {
  auto* const kept = static_cast<char*>(arena_.allocate(text.size() + 1, 1));
  std::copy(text.begin(), text.end(), kept);
  return {kept, text.size()};
}

void keyspace::forget_members() {
  members_.reset();
  arena_.release();
  members_.emplace(&arena_);
}

keyspace::known_member& keyspace::member_of(std::string_view name) {
  if (const auto known = members_->find(name); known != members_->end()) return known->second;
  auto& m = members_->emplace(keep(name), known_member{0, std::pmr::vector<place>(&arena_)}).first->second;
  auto q = db_.prepare("SELECT id, field1, field2, field3, field4, places FROM members WHERE name=?").with(raw(name));
  if (!q.step()) return m;
  m.row = q.number(0);
  for (std::size_t i = 0; i < together; ++i)
    if (!q.is_null(static_cast<int>(i) + 1)) m.fields[i] = keep(q.bytes(static_cast<int>(i) + 1));
  const auto places = q.bytes(together + 1);
  for (std::size_t at = 0; at + 16 <= places.size(); at += 16) {
    double score = 0;
    const auto bits = number_at(places, at + 8);
    std::memcpy(&score, &bits, sizeof score);
    m.places.push_back({static_cast<std::int64_t>(number_at(places, at)), score});
  }
  return m;
}

keyspace::place* keyspace::place_in(known_member& m, const known_key& k) {
  const auto found = std::find_if(m.places.begin(), m.places.end(), [&](const place& p) { return p.key == k.id; });
  return found == m.places.end() ? nullptr : &*found;
}

void keyspace::flush_members() {
  std::string places;
  for (auto& [name, m] : *members_) {
    if (!m.changed) continue;
    m.changed = false;
    places.clear();
    for (const auto& p : m.places) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &p.score, sizeof bits);
      append_number(places, static_cast<std::uint64_t>(p.key));
      append_number(places, bits);
    }
    const bool is_gone = places.empty() && std::none_of(m.fields.begin(), m.fields.end(),
                                                        [](std::string_view field) { return field.data() != nullptr; });
    if (is_gone) {
      if (m.row != 0) db_.prepare("DELETE FROM members WHERE id=?").with(m.row).run();
      m.row = 0;
      continue;
    }
    const auto& [first, second, third, fourth] = m.fields;
    if (m.row == 0) {
      db_.prepare("INSERT INTO members(name, field1, field2, field3, field4, places) VALUES(?, ?, ?, ?, ?, ?)")
          .with(raw(name), query::maybe{first}, query::maybe{second}, query::maybe{third}, query::maybe{fourth},
                raw(places))
          .run();
      m.row = db_.last_rowid();
    } else if (m.first_changed) {
      db_.prepare("UPDATE members SET field1=?, field2=?, field3=?, field4=?, places=? WHERE id=?")
          .with(query::maybe{first}, query::maybe{second}, query::maybe{third}, query::maybe{fourth}, raw(places),
                m.row)
          .run();
    } else {
      db_.prepare("UPDATE members SET field2=?, field3=?, field4=?, places=? WHERE id=?")
          .with(query::maybe{second}, query::maybe{third}, query::maybe{fourth}, raw(places), m.row)
          .run();
    }
    m.first_changed = false;
  }
}

void keyspace::flush() {
  flush_members();
  for (auto* k : changed_) {
    k->changed = false;
    if (k->what == kind::none) {
      if (k->id != 0) db_.prepare("DELETE FROM keys WHERE id=?").with(k->id).run();
      keys_.erase(keys_.find(*k->name));
      continue;
    }
    db_.prepare("UPDATE keys SET kind=?, size=?, text=? WHERE id=?")
        .with(static_cast<int>(k->what), k->size, raw(k->text), k->id)
        .run();
  }
  changed_.clear();
}

void keyspace::forget() {
  keys_.clear();
  changed_.clear();
  forget_members();
}

// ---------------------------------------------------------------------------------------------------------------------
// Hashes, and sets, which are hashes without values

template <class Take>
bool keyspace::look_field(const known_key& k, std::string_view field, const Take& take) {
  if (k.what == kind::none) return false;
  if (k.together) {
    const auto found = member_of(field).fields[*k.together];
    if (!found.data()) return false;
    take(found);
    return true;
  }
  auto q = db_.prepare("SELECT value FROM fields WHERE key=? AND field=?").with(k.id, raw(field));
  if (!q.step()) return false;
  take(q.bytes(0));
  return true;
}

// As what it is put: a hash, or a set.
bool keyspace::put_field(known_key& k, std::string_view name, std::string_view field, std::string_view value, kind as) {
  bool is_same = false;
  const bool is_new = !look_field(k, field, [&](std::string_view there) { is_same = there == value; });
  if (is_same) return false;
  const auto id = row_of(k, name, as);
  if (k.together) {
    auto& m = member_of(field);
    m.fields[*k.together] = keep(value);
    m.changed = true;
    m.first_changed = m.first_changed || *k.together == 0;
  } else {
    db_.prepare("INSERT OR REPLACE INTO fields(key, field, value) VALUES(?, ?, ?)")
        .with(id, raw(field), raw(value))
        .run();
  }
  if (is_new) grow(k, 1);
  return is_new;
}

bool keyspace::remove_field(known_key& k, std::string_view field) {
  if (k.what == kind::none) return false;
  if (k.together) {
    auto& m = member_of(field);
    auto& there = m.fields[*k.together];
    if (!there.data()) return false;
    change(k);
    there = {};
    m.changed = true;
    m.first_changed = m.first_changed || *k.together == 0;
    grow(k, -1);
    return true;
  }
  if (!look_field(k, field, [](std::string_view) {})) return false;
  change(k);
  db_.prepare("DELETE FROM fields WHERE key=? AND field=?").with(k.id, raw(field)).run();
  grow(k, -1);
  return true;
}

template <class Take>
void keyspace::each_field(const known_key& k, std::string_view behind, const Take& take) {
  if (k.what == kind::none) return;
  if (k.together) {
    flush_members();
    static constexpr std::array<const char*, together> looks = {
        "SELECT name, field1, id FROM members WHERE id>? ORDER BY id",
        "SELECT name, field2, id FROM members WHERE id>? ORDER BY id",
        "SELECT name, field3, id FROM members WHERE id>? ORDER BY id",
        "SELECT name, field4, id FROM members WHERE id>? ORDER BY id",
    };
    auto q = db_.prepare(looks[*k.together]).with(whole_of(behind).value_or(0));
    while (q.step())
      if (!take(q.is_null(1) ? std::nullopt : std::optional(q.bytes(0)), q.bytes(1), std::to_string(q.number(2))))
        return;
    return;
  }
  auto q = behind.empty() ? db_.prepare("SELECT field, value FROM fields WHERE key=? ORDER BY field").with(k.id)
                          : db_.prepare("SELECT field, value FROM fields WHERE key=? AND field>? ORDER BY field")
                                .with(k.id, raw(behind.substr(1)));
  while (q.step())
    if (!take(std::optional(q.bytes(0)), q.bytes(1), std::string("=").append(q.bytes(0)))) return;
}

void keyspace::hget(words command, command_answer& into) {
  const auto& k = of_kind(command[1], kind::hash);
  if (!look_field(k, command[2], [&](std::string_view value) { into.set_text(value); })) into.set_nothing();
}

void keyspace::hmget(words command, command_answer& into) {
  const auto& k = of_kind(command[1], kind::hash);
  into.set_list();
  for (const auto field : command.subspan(2))
    if (!look_field(k, field, [&](std::string_view value) { into.add(value); })) into.add_nothing();
}

void keyspace::hexists(words command, command_answer& into) {
  into.set_number(look_field(of_kind(command[1], kind::hash), command[2], [](std::string_view) {}) ? 1 : 0);
}

void keyspace::hlen(words command, command_answer& into) { into.set_number(of_kind(command[1], kind::hash).size); }

void keyspace::hset(words command, command_answer& into) {
  if (command.size() % 2 != 0) refuse("ERR wrong number of arguments for 'HSET'");
  auto& k = of_kind(command[1], kind::hash);
  std::int64_t added = 0;
  for (std::size_t i = 2; i < command.size(); i += 2)
    added += put_field(k, command[1], command[i], command[i + 1], kind::hash) ? 1 : 0;
  into.set_number(added);
}

void keyspace::hdel(words command, command_answer& into) {
  auto& k = of_kind(command[1], kind::hash);
  std::int64_t gone = 0;
  for (const auto field : command.subspan(2))
    gone += remove_field(k, field) ? 1 : 0;
  into.set_number(gone);
}

void keyspace::hincrby(words command, command_answer& into) {
  auto& k = of_kind(command[1], kind::hash);
  const auto by = whole_in(command[3]);
  std::int64_t n = 0;
  look_field(k, command[2], [&](std::string_view value) {
    const auto there = whole_of(value);
    if (!there) refuse("ERR hash value is not an integer");
    n = *there;
  });
  if (__builtin_add_overflow(n, by, &n)) refuse("ERR increment or decrement would overflow");
  put_field(k, command[1], command[2], std::to_string(n), kind::hash);
  into.set_number(n);
}

// Also SMEMBERS, and HSCAN and SSCAN.
void keyspace::hkeys(words command, command_answer& into) {
  const bool of_set = command[0].front() == 'S';
  if (command[0].ends_with("SCAN")) return scan(command, into, of_set ? kind::set : kind::hash);
  const auto& k = of_kind(command[1], of_set ? kind::set : kind::hash);
  into.set_list();
  each_field(k, {}, [&](std::optional<std::string_view> field, std::string_view, const std::string&) {
    if (field) into.add(*field);
    return true;
  });
}

void keyspace::hvals(words command, command_answer& into) {
  const auto& k = of_kind(command[1], kind::hash);
  into.set_list();
  each_field(k, {}, [&](std::optional<std::string_view> field, std::string_view value, const std::string&) {
    if (field) into.add(value);
    return true;
  });
}

void keyspace::hgetall(words command, command_answer& into) {
  const auto& k = of_kind(command[1], kind::hash);
  into.set_list();
  each_field(k, {}, [&](std::optional<std::string_view> field, std::string_view value, const std::string&) {
    if (field) {
      into.add(*field);
      into.add(value);
    }
    return true;
  });
}

void keyspace::sadd(words command, command_answer& into) {
  auto& k = of_kind(command[1], kind::set);
  std::int64_t added = 0;
  for (const auto member : command.subspan(2))
    added += put_field(k, command[1], member, {}, kind::set) ? 1 : 0;
  into.set_number(added);
}

void keyspace::srem(words command, command_answer& into) {
  auto& k = of_kind(command[1], kind::set);
  std::int64_t gone = 0;
  for (const auto member : command.subspan(2))
    gone += remove_field(k, member) ? 1 : 0;
  into.set_number(gone);
}

void keyspace::sismember(words command, command_answer& into) {
  into.set_number(look_field(of_kind(command[1], kind::set), command[2], [](std::string_view) {}) ? 1 : 0);
}

void keyspace::scard(words command, command_answer& into) { into.set_number(of_kind(command[1], kind::set).size); }

// ---------------------------------------------------------------------------------------------------------------------
// Sorted sets

void keyspace::put_score(known_key& k, std::string_view name, known_member& m, double score) {
  auto q = db_.prepare("INSERT INTO scores(key, score, member) VALUES(?, ?, ?)").with(k.id);
  bind_score(q, score).with(raw(name)).run();
  m.changed = true;
}

bool keyspace::remove_score(known_key& k, std::string_view name, known_member& m) {
  const auto* there = place_in(m, k);
  if (!there) return false;
  change(k);
  {
    auto q = db_.prepare("DELETE FROM scores WHERE key=? AND score=? AND member=?").with(k.id);
    bind_score(q, there->score).with(raw(name)).run();
  }
  m.places.erase(m.places.begin() + (there - m.places.data()));
  m.changed = true;
  grow(k, -1);
  return true;
}

void keyspace::zadd(words command, command_answer& into) {
  std::size_t at = 2;
  const bool only_lower = command[at] == "LT";
  if (only_lower) ++at;
  if (command.size() == at || (command.size() - at) % 2 != 0) refuse("ERR syntax error");
  auto& k = of_kind(command[1], kind::sorted);
  std::vector<double> scores;
  for (std::size_t i = at; i < command.size(); i += 2)
    scores.push_back(score_in(command[i]));
  std::int64_t added = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto name = command[at + 2 * i + 1];
    auto& m = member_of(name);
    if (auto* there = place_in(m, k)) {
      if (there->score == scores[i] || (only_lower && scores[i] > there->score)) continue;
      change(k);
      {
        auto q = db_.prepare("DELETE FROM scores WHERE key=? AND score=? AND member=?").with(k.id);
        bind_score(q, there->score).with(raw(name)).run();
      }
      there->score = scores[i];
      put_score(k, name, m, scores[i]);
      continue;
    }
    m.places.push_back({row_of(k, command[1], kind::sorted), scores[i]});
    put_score(k, name, m, scores[i]);
    grow(k, 1);
    ++added;
  }
  into.set_number(added);
}

void keyspace::zrem(words command, command_answer& into) {
  auto& k = of_kind(command[1], kind::sorted);
  std::int64_t gone = 0;
  if (k.what != kind::none)
    for (const auto name : command.subspan(2))
      gone += remove_score(k, name, member_of(name)) ? 1 : 0;
  into.set_number(gone);
}

std::optional<double> keyspace::score_of(std::string_view name, std::string_view member) {
  auto& k = of_kind(name, kind::sorted);
  if (k.what == kind::none) return std::nullopt;
  const auto* there = place_in(member_of(member), k);
  return there ? std::optional(there->score) : std::nullopt;
}

void keyspace::zscore(words command, command_answer& into) {
  std::array<char, 40> digits{};
  if (const auto score = score_of(command[1], command[2])) into.set_text(text_of(*score, digits));
  else into.set_nothing();
}

void keyspace::zcard(words command, command_answer& into) { into.set_number(of_kind(command[1], kind::sorted).size); }

namespace {

// "(5" is without its end.
void read_bound(std::string_view text, double& bound, bool& without) {
  without = text.starts_with('(');
  bound = score_in(without ? text.substr(1) : text);
}

// "-", "+", "[name" or "(name".
std::optional<std::string_view> read_name(std::string_view text, bool& without, bool& never, char all) {
  if (text.size() == 1 && (text[0] == '-' || text[0] == '+')) {
    never = text[0] != all;
    return std::nullopt;
  }
  if (text.empty() || (text[0] != '[' && text[0] != '(')) refuse("ERR min or max not valid string range item");
  without = text[0] == '(';
  return text.substr(1);
}

}  // namespace

keyspace::range keyspace::parse_range(words command) {
  range r;
  for (std::size_t i = 4; i < command.size(); ++i) {
    const auto word = command[i];
    if (word == "BYSCORE") r.by = range::order::score;
    else if (word == "BYLEX") r.by = range::order::name;
    else if (word == "REV") r.reversed = true;
    else if (word == "WITHSCORES") r.with_scores = true;
    else if (word == "LIMIT" && i + 2 < command.size()) {
      r.offset = whole_in(command[i + 1]);
      r.count = whole_in(command[i + 2]);
      i += 2;
    } else refuse("ERR syntax error");
  }
  const auto low = command[r.reversed && r.by != range::order::rank ? 3 : 2];
  const auto high = command[r.reversed && r.by != range::order::rank ? 2 : 3];
  bool never = false;
  switch (r.by) {
    case range::order::rank:
      r.first = whole_in(low);
      r.last = whole_in(high);
      break;
    case range::order::score:
      read_bound(low, r.low, r.above_low);
      read_bound(high, r.high, r.below_high);
      break;
    case range::order::name:
      r.from = read_name(low, r.above_low, never, '-');
      r.to = read_name(high, r.below_high, never, '+');
      break;
  }
  if (never || r.offset < 0) r.count = 0;
  return r;
}

// Members of a range in its order. Those with the same score stand in the order of their bytes.
template <class Take>
void keyspace::each_of_range(const known_key& k, const range& r, const Take& take) {
  if (k.what == kind::none) return;
  auto offset = r.offset, count = r.count;
  if (r.by == range::order::rank) {
    const auto first = std::max<std::int64_t>(0, r.first < 0 ? r.first + k.size : r.first);
    const auto last = std::min(k.size - 1, r.last < 0 ? r.last + k.size : r.last);
    offset = first;
    count = std::max<std::int64_t>(0, last - first + 1);
  }
  if (count == 0) return;
  const auto run = [&](query q) {
    while (q.step())
      take(q.bytes(1), q.real_number(0));
  };
  if (r.by == range::order::name) {
    const auto score = [&] {
      auto q = db_.prepare("SELECT score FROM scores WHERE key=? LIMIT 1").with(k.id);
      return q.step() ? q.real_number(0) : 0;
    }();
    static constexpr std::array<const char*, 4> looks = {
        "SELECT score, member FROM scores WHERE key=? AND score=? AND member>=? ORDER BY score, member",
        "SELECT score, member FROM scores WHERE key=? AND score=? AND member>=? AND member<=? ORDER BY score, member",
        "SELECT score, member FROM scores WHERE key=? AND score=? AND member>=? ORDER BY score DESC, member DESC",
        "SELECT score, member FROM scores WHERE key=? AND score=? AND member>=? AND member<=? "
        "ORDER BY score DESC, member DESC",
    };
    auto q = db_.prepare(looks[(r.to ? 1 : 0) + (r.reversed ? 2 : 0)]).with(k.id);
    // No name is below an empty one.
    bind_score(q, score).with(raw(r.from.value_or(std::string_view())));
    if (r.to) q.with(raw(*r.to));
    while (count != 0 && q.step()) {
      const auto name = q.bytes(1);
      if ((r.above_low && r.from && name == *r.from) || (r.below_high && r.to && name == *r.to)) continue;
      if (offset-- > 0) continue;
      take(name, q.real_number(0));
      --count;
    }
    return;
  }
  static constexpr std::array<const char*, 8> looks = {
      "SELECT score, member FROM scores WHERE key=? AND score>=? AND score<=? ORDER BY score, member LIMIT ? OFFSET ?",
      "SELECT score, member FROM scores WHERE key=? AND score>? AND score<=? ORDER BY score, member LIMIT ? OFFSET ?",
      "SELECT score, member FROM scores WHERE key=? AND score>=? AND score<? ORDER BY score, member LIMIT ? OFFSET ?",
      "SELECT score, member FROM scores WHERE key=? AND score>? AND score<? ORDER BY score, member LIMIT ? OFFSET ?",
      "SELECT score, member FROM scores WHERE key=? AND score>=? AND score<=? ORDER BY score DESC, member DESC LIMIT ? "
      "OFFSET ?",
      "SELECT score, member FROM scores WHERE key=? AND score>? AND score<=? ORDER BY score DESC, member DESC LIMIT ? "
      "OFFSET ?",
      "SELECT score, member FROM scores WHERE key=? AND score>=? AND score<? ORDER BY score DESC, member DESC LIMIT ? "
      "OFFSET ?",
      "SELECT score, member FROM scores WHERE key=? AND score>? AND score<? ORDER BY score DESC, member DESC LIMIT ? "
      "OFFSET ?",
  };
  auto q = db_.prepare(looks[(r.above_low ? 1 : 0) + (r.below_high ? 2 : 0) + (r.reversed ? 4 : 0)]).with(k.id);
  bind_score(q, r.low);
  bind_score(q, r.high).with(count, offset);
  run(std::move(q));
}

void keyspace::zcount(words command, command_answer& into) {
  const auto& k = of_kind(command[1], kind::sorted);
  range r;
  r.by = range::order::score;
  read_bound(command[2], r.low, r.above_low);
  read_bound(command[3], r.high, r.below_high);
  std::int64_t n = 0;
  each_of_range(k, r, [&](std::string_view, double) { ++n; });
  into.set_number(n);
}

// Also ZSCAN.
void keyspace::zrange(words command, command_answer& into) {
  if (command[0] == "ZSCAN") return scan(command, into, kind::sorted);
  const auto r = parse_range(command);
  const auto& k = of_kind(command[1], kind::sorted);
  into.set_list();
  std::array<char, 40> digits{};
  each_of_range(k, r, [&](std::string_view name, double score) {
    into.add(name);
    if (r.with_scores) into.add(text_of(score, digits));
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Looking at everything, some at a time. A cursor is 0, or says behind what to go on.

namespace {

std::int64_t count_in(keyspace::words options) {
  std::int64_t count = 10;
  for (std::size_t i = 0; i + 1 < options.size(); i += 2)
    if (options[i] == "COUNT") count = std::max<std::int64_t>(1, whole_in(options[i + 1]));
  return count;
}

}  // namespace

void keyspace::scan(words command, command_answer& into, kind wanted) {
  const auto& k = of_kind(command[1], wanted);
  auto left = count_in(command.subspan(3));
  const std::string behind(command[2] == "0" ? std::string_view() : command[2]);
  std::string next = "0";
  command_answer found;
  found.set_list();
  std::array<char, 40> digits{};
  if (wanted == kind::sorted) {
    const auto colon = behind.find(':');
    const bool from_first = colon == std::string::npos;
    auto q =
        k.what == kind::none || from_first
            ? db_.prepare("SELECT score, member FROM scores WHERE key=? ORDER BY score, member").with(k.id)
            : db_.prepare(
                     "SELECT score, member FROM scores WHERE key=? AND (score, member)>(?, ?) ORDER BY score, member")
                  .with(k.id);
    const auto name_behind = from_first ? std::string() : behind.substr(colon + 1);
    if (k.what != kind::none && !from_first)
      bind_score(q, score_in(std::string_view(behind).substr(0, colon))).with(raw(name_behind));
    while (left > 0 && q.step()) {
      const auto score = text_of(q.real_number(0), digits);
      found.add(q.bytes(1));
      found.add(score);
      if (--left == 0) next = std::string(score).append(":").append(q.bytes(1));
    }
  } else {
    each_field(k, behind,
               [&](std::optional<std::string_view> field, std::string_view value, const std::string& cursor) {
                 if (field) {
                   found.add(*field);
                   if (wanted == kind::hash) found.add(value);
                 }
                 if (--left > 0) return true;
                 next = cursor;
                 return false;
               });
  }
  into.set_list();
  into.add(next);
  const auto list = into.begin_list();
  for (const auto& p : found.parts())
    into.add(found.bytes(p));
  into.end_list(list);
}

// MATCH names what keys begin with, and a star.
void keyspace::scan_keys(words command, command_answer& into) {
  flush();
  auto left = count_in(command.subspan(2));
  std::string begins;
  for (std::size_t i = 2; i + 1 < command.size(); i += 2)
    if (command[i] == "MATCH") {
      for (const char c : command[i + 1])
        if (c != '\\') begins.push_back(c);
      if (begins.ends_with('*')) begins.pop_back();
    }
  std::string next = "0";
  std::vector<std::string> names;
  auto q = db_.prepare("SELECT id, name FROM keys WHERE id>? ORDER BY id").with(whole_of(command[1]).value_or(0));
  while (q.step()) {
    if (q.bytes(1).starts_with(begins)) names.push_back(q.text(1));
    if (--left > 0) continue;
    next = std::to_string(q.number(0));
    break;
  }
  into.set_list();
  into.add(next);
  const auto list = into.begin_list();
  for (const auto& name : names)
    into.add(name);
  into.end_list(list);
}

}  // namespace sluice::storage::sqlite
