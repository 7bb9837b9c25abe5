#include "storage/sqlite/rows.hpp"

#include <algorithm>

#include "core/log.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr std::size_t together = machine::hashes_by_job.size();
static_assert(together == 4, "the statements below name four columns");
constexpr std::int64_t max_in_key = std::int64_t{1} << 48;
constexpr std::size_t max_known = 100'000;     // keys that are remembered between transactions
constexpr std::size_t max_kept = 1024 * 1024;  // bytes of members

// A longer first field stands in `fields`, under a key that nothing has, and 1 in its row, which stays short: its other
// columns change with each step of a job.
constexpr std::size_t longest_in_row = 2'000;
constexpr std::string_view unread = "1";  // such a field, known by where this text stands

constexpr std::array<const char*, together> fields_together = {
    "SELECT name, CASE WHEN field1=1 THEN (SELECT value FROM fields WHERE key=-1 AND field=name) ELSE field1 END, id "
    "FROM members WHERE id>CAST(? AS INTEGER) AND field1 IS NOT NULL ORDER BY id",
    "SELECT name, field2, id FROM members WHERE id>CAST(? AS INTEGER) AND field2 IS NOT NULL ORDER BY id",
    "SELECT name, field3, id FROM members WHERE id>CAST(? AS INTEGER) AND field3 IS NOT NULL ORDER BY id",
    "SELECT name, field4, id FROM members WHERE id>CAST(? AS INTEGER) AND field4 IS NOT NULL ORDER BY id",
};

query::blob raw(std::string_view bytes) { return {bytes}; }

// Whole scores are kept as whole numbers, which are shorter; SQLite orders both by value.
query& bind_score(query& q, double score) {
  return is_whole(score) ? q.with(static_cast<std::int64_t>(score)) : q.with(query::real{score});
}

// SQLite has numbers before texts and these before blobs: so an empty text stands behind all scores, and before what is
// none, which nobody reads; and a number before all names.
query& bind_position(query& q, const rows::position& p) {
  if (p.score) bind_score(q, *p.score);
  else q.with(std::string_view());
  return p.name ? q.with(raw(*p.name)) : q.with(0);
}

// FNV-1a, the lowest byte first.
std::string checksum_of(std::string_view name, std::string_view places) {
  std::uint32_t sum = 2166136261U;
  for (const auto text : {name, places})
    for (const char c : text)
      sum = (sum ^ static_cast<unsigned char>(c)) * 16777619U;
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8)
    bytes.push_back(static_cast<char>(sum >> shift & 0xff));
  return bytes;
}

}  // namespace

rows::rows(database& db, std::string_view prefix) : db_(db), prefix_(prefix) { forget_members(); }

void rows::begin() {
  auto q = db_.prepare("PRAGMA data_version");
  const auto version = q.step() ? q.number(0) : 0;
  if (version != version_ || keys_.size() > max_known) keys_.clear();
  if (version != version_ || kept_ > max_kept) forget_members();
  version_ = version;
}

void rows::flush() {
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

void rows::forget() {
  keys_.clear();
  changed_.clear();
  forget_members();
}

void rows::allow_writing(bool may_write) {
  may_write_ = may_write;
  wanted_to_write_ = false;
}

rows::key& rows::find(std::string_view name) {
  const auto [at, is_new] = keys_.try_emplace(std::string(name));
  auto& k = at->second;
  if (!is_new) return k;
  k.name = &at->first;
  for (std::size_t i = 0; i < together; ++i)
    if (name == cat(prefix_, ":", machine::hashes_by_job[i])) k.together = i;
  auto q = db_.prepare("SELECT id, kind, size, text FROM keys WHERE name=?").with(raw(name));
  if (q.step()) {
    k.id = q.number(0);
    k.what = static_cast<kind>(q.number(1));
    k.size = q.number(2);
    if (k.what == kind::none || k.what > kind::sorted) throw failure{SQLITE_CORRUPT, "a key has no kind that can be"};
    k.text = q.text(3);
    if (k.what == kind::text) k.size = 1;
    else if (k.size <= 0 || k.size > max_in_key) count(k);
  }
  return k;
}

query rows::keys_behind(cursor behind) {
  return db_.prepare("SELECT name, id FROM keys WHERE id>CAST(? AS INTEGER) ORDER BY id")
      .with(raw(behind.value_or("")));
}

void rows::change(key& k) {
  if (!may_write_) {
    wanted_to_write_ = true;
    throw command_error{"READONLY this step only looks"};
  }
  if (!k.changed) changed_.push_back(&k);
  k.changed = true;
}

void rows::change(member& m) {
  if (!m.changed) changed_members_.push_back(&m);
  m.changed = true;
}

// The number under which its rows stand; it is given one when it has none.
std::int64_t rows::row_of(key& k, kind wanted) {
  change(k);
  if (k.id == 0) {
    db_.prepare("INSERT INTO keys(name, kind, size) VALUES(?, ?, 0)")
        .with(raw(*k.name), static_cast<int>(wanted))
        .run();
    k.id = db_.last_rowid();
  }
  if (k.what == kind::none) k.what = wanted;
  return k.id;
}

void rows::grow(key& k, std::int64_t by) {
  k.size += by;
  if (k.size <= 0) count(k);
}

// A key is gone only when it has no rows, whatever its size said: that may be damaged. An empty one is no key, and may
// become one of another kind. Fields that are kept together need no key to be found.
void rows::count(key& k) {
  const auto believed = std::exchange(k.size, 0);
  if (!k.together && k.what != kind::text && k.what != kind::none) {
    auto q = db_.prepare(k.what == kind::sorted ? "SELECT count(*) FROM scores WHERE key=?"
                                                : "SELECT count(*) FROM fields WHERE key=?")
                 .with(k.id);
    if (q.step()) k.size = q.number(0);
  }
  if (k.size != believed) log::error("SQLite: the size of ", printable(*k.name, 100), " was wrong: ", believed);
  if (k.size == 0) k.what = kind::none;
}

void rows::put_text(key& k, std::string_view text) {
  row_of(k, kind::text);
  k.text = text;
  k.size = 1;
}

void rows::remove_text(key& k) {
  change(k);
  k.text.clear();
  grow(k, -1);
}

std::string_view rows::keep(std::string_view text) {
  kept_ += text.size() + 1;
  auto* const kept = static_cast<char*>(arena_.allocate(text.size() + 1, 1));
  std::copy(text.begin(), text.end(), kept);
  return {kept, text.size()};
}

void rows::forget_members() {
  changed_members_.clear();
  members_.reset();
  arena_.release();
  kept_ = 0;
  members_.emplace(&arena_);
}

rows::member& rows::member_of(std::string_view name) {
  if (const auto known = members_->find(name); known != members_->end()) {
    if (known->second.is_healed && may_write_) change(known->second);
    return known->second;
  }
  const auto its_name = keep(name);
  auto& m = members_->emplace(its_name, member{its_name, 0, std::pmr::vector<place>(&arena_)}).first->second;
  kept_ += sizeof m + 2 * sizeof(place);
  auto q = db_.prepare("SELECT id, places, field1, field2, field3, field4 FROM members WHERE name=?").with(raw(name));
  if (!q.step()) return m;
  m.row = q.number(0);
  read_places(m, q.bytes(1));
  for (int i = 0; i < static_cast<int>(together); ++i)
    if (!q.is_null(i + 2)) m.fields[static_cast<std::size_t>(i)] = keep(q.bytes(i + 2));
  if (q.is_number(2)) m.fields[0] = unread;
  return m;
}

// One that is not there any more is a text that no record is.
std::string_view rows::read_long(std::string_view name) {
  auto q = db_.prepare("SELECT value FROM fields WHERE key=-1 AND field=?").with(raw(name));
  return keep(q.step() ? q.bytes(0) : std::string_view("?"));
}

void rows::write_long(const member& m) {
  if (m.fields[0].size() > longest_in_row)
    db_.prepare("INSERT OR REPLACE INTO fields(key, field, value) VALUES(-1, ?, ?)")
        .with(raw(m.name), raw(m.fields[0]))
        .run();
  else if (m.row != 0) db_.prepare("DELETE FROM fields WHERE key=-1 AND field=?").with(raw(m.name)).run();
}

std::optional<std::span<const char>> rows::sound_places(std::string_view name, std::string_view row) {
  const auto places = row.substr(0, row.size() - row.size() % sizeof(place));
  if (row.substr(places.size()) != checksum_of(name, places)) return std::nullopt;
  return std::span(places);
}

void rows::read_places(member& m, std::string_view from) {
  const auto places = sound_places(m.name, from);
  if (!places) return find_places(m);
  m.places.resize(places->size() / sizeof(place));
  std::copy(places->begin(), places->end(), reinterpret_cast<char*>(m.places.data()));
}

// What `scores` says holds, where a member says something else. That is damage, and seldom: so all of it is read.
void rows::find_places(member& m) {
  log::error("SQLite: the places of ", printable(m.name, 100), " are damaged; they are read anew");
  m.places.clear();
  auto q = db_.prepare("SELECT key, score FROM scores WHERE member=? AND score<''").with(raw(m.name));
  while (q.step())
    m.places.push_back({q.number(0), q.real_number(1)});
  m.is_healed = true;
  if (may_write_) change(m);
}

std::pmr::vector<rows::place>::iterator rows::place_in(member& m, const key& k) {
  return std::find_if(m.places.begin(), m.places.end(), [&](const place& p) { return p.key == k.id; });
}

void rows::flush_members() {
  for (auto* m : changed_members_) {
    flush_member(*m);
    m->changed = m->first_changed = m->is_healed = false;
  }
  changed_members_.clear();
}

void rows::flush_member(member& m) {
  std::string places(reinterpret_cast<const char*>(m.places.data()), m.places.size() * sizeof(place));
  const bool has_none = std::none_of(m.fields.begin(), m.fields.end(), [](auto field) { return field.data(); });
  if (m.first_changed) write_long(m);
  if (has_none && places.empty()) {
    if (m.row != 0) db_.prepare("DELETE FROM members WHERE id=?").with(m.row).run();
    m.row = 0;
    return;
  }
  places += checksum_of(m.name, places);
  const auto& [first, second, third, fourth] = m.fields;
  const bool is_long = first.size() > longest_in_row;
  const query::maybe in_row{is_long ? std::string_view() : first};
  if (m.row == 0) {
    db_.prepare("INSERT INTO members(name, field1, field2, field3, field4, places) VALUES(?, iif(?, 1, ?), ?, ?, ?, ?)")
        .with(raw(m.name), is_long ? 1 : 0, in_row, query::maybe{second}, query::maybe{third}, query::maybe{fourth},
              raw(places))
        .run();
    m.row = db_.last_rowid();
    return;
  }
  if (m.first_changed)
    db_.prepare("UPDATE members SET field1=iif(?, 1, ?) WHERE id=?").with(is_long ? 1 : 0, in_row, m.row).run();
  db_.prepare("UPDATE members SET field2=?, field3=?, field4=?, places=? WHERE id=?")
      .with(query::maybe{second}, query::maybe{third}, query::maybe{fourth}, raw(places), m.row)
      .run();
}

bool rows::has_field(const key& k, std::string_view field) {
  return k.together ? member_of(field).fields[*k.together].data() != nullptr : field_of(k, field).has_value();
}

std::optional<std::string_view> rows::field_of(const key& k, std::string_view field) {
  if (k.together) {
    auto& found = member_of(field).fields[*k.together];
    if (found.data() == unread.data()) found = read_long(field);
    return found.data() ? std::optional(found) : std::nullopt;
  }
  if (k.what == kind::none) return std::nullopt;
  auto q = db_.prepare("SELECT value FROM fields WHERE key=? AND field=?").with(k.id, raw(field));
  if (!q.step()) return std::nullopt;
  return value_ = q.bytes(0);
}

std::size_t rows::size_of_field(const key& k, std::string_view field) {
  const bool is_apart = k.together && member_of(field).fields[*k.together].data() == unread.data();
  if (!is_apart) return field_of(k, field).value_or("").size();
  auto q = db_.prepare("SELECT length(value) FROM fields WHERE key=-1 AND field=?").with(raw(field));
  return q.step() ? static_cast<std::size_t>(q.number(0)) : 0;
}

// Of one that holds fields together; a value without data is none.
void rows::put_together(std::string_view field, std::size_t column, std::string_view value) {
  auto& m = member_of(field);
  m.fields[column] = value;
  change(m);
  m.first_changed = m.first_changed || column == 0;
}

// As what it is put: a hash, or a set.
bool rows::put_field(key& k, std::string_view field, std::string_view value, kind as) {
  const auto there = field_of(k, field);
  if (there == value) return false;
  const bool is_new = !there;
  const auto id = row_of(k, as);
  if (k.together) put_together(field, *k.together, keep(value));
  else
    db_.prepare("INSERT OR REPLACE INTO fields(key, field, value) VALUES(?, ?, ?)")
        .with(id, raw(field), raw(value))
        .run();
  if (is_new) grow(k, 1);
  return is_new;
}

bool rows::remove_field(key& k, std::string_view field) {
  if (!has_field(k, field)) return false;
  change(k);
  if (k.together) put_together(field, *k.together, {});
  else db_.prepare("DELETE FROM fields WHERE key=? AND field=?").with(k.id, raw(field)).run();
  grow(k, -1);
  return true;
}

query rows::fields_of(const key& k, cursor behind) {
  if (k.together && k.what != kind::none) {
    flush_members();
    return db_.prepare(fields_together[*k.together]).with(raw(behind.value_or("")));
  }
  auto q = db_.prepare("SELECT field, value, field FROM fields WHERE key=? AND field>? ORDER BY field").with(k.id);
  if (behind) q.with(raw(*behind));
  else q.with(0);  // before all blobs
  return q;
}

std::optional<double> rows::score_of(const key& k, std::string_view name) {
  if (k.what == kind::none) return std::nullopt;
  auto& m = member_of(name);
  const auto there = place_in(m, k);
  return there == m.places.end() ? std::nullopt : std::optional(there->score);
}

// False: it was not there, which is damage.
bool rows::delete_score(const key& k, std::string_view name, double score) {
  auto q = db_.prepare("DELETE FROM scores WHERE key=? AND score=? AND member=?").with(k.id);
  bind_score(q, score).with(raw(name)).run();
  return db_.changes() > 0;
}

// Takes it out of its place; false when it has none.
bool rows::leave_place(key& k, member& m) {
  for (bool is_anew = false;; is_anew = true) {
    const auto there = place_in(m, k);
    if (there == m.places.end()) return false;
    change(k);
    if (delete_score(k, m.name, there->score)) {
      m.places.erase(there);
      change(m);
      return true;
    }
    if (is_anew) throw failure{SQLITE_CORRUPT, "a member is where it is not"};
    find_places(m);
    count(k);
  }
}

bool rows::put_score(key& k, std::string_view name, double score) {
  auto& m = member_of(name);
  const auto there = place_in(m, k);
  if (there != m.places.end() && there->score == score) return false;
  const bool was_there = leave_place(k, m);
  m.places.push_back({row_of(k, kind::sorted), score});
  change(m);
  auto q = db_.prepare("INSERT OR REPLACE INTO scores(key, score, member) VALUES(?, ?, ?)").with(k.id);
  bind_score(q, score).with(raw(name)).run();
  if (!was_there) grow(k, 1);
  return !was_there;
}

bool rows::remove_score(key& k, std::string_view name) {
  if (k.what == kind::none || !leave_place(k, member_of(name))) return false;
  grow(k, -1);
  return true;
}

query rows::members_of(const key& k, const range& r) {
  auto q = db_.prepare(r.reversed ? "SELECT member, score FROM scores WHERE key=? AND (score, member)>=(?, ?) AND "
                                    "(score, member)<(?, ?) ORDER BY score DESC, member DESC LIMIT ? OFFSET ?"
                                  : "SELECT member, score FROM scores WHERE key=? AND (score, member)>=(?, ?) AND "
                                    "(score, member)<(?, ?) ORDER BY score, member LIMIT ? OFFSET ?")
               .with(k.id);
  bind_position(q, r.from);
  bind_position(q, r.to).with(r.count, r.offset);
  return q;
}

}  // namespace sluice::storage::sqlite
