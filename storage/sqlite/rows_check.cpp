#include "storage/sqlite/rows_check.hpp"

#include <cstring>

#include "core/text.hpp"
#include "storage/sqlite/rows.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr std::int64_t some = 500;

query::blob raw(std::string_view bytes) { return {bytes}; }

// A whole score is kept as a whole number.
query& bind_score(query& q, double score) {
  return is_whole(score) ? q.with(static_cast<std::int64_t>(score)) : q.with(query::real{score});
}

std::vector<rows::place> places_in(std::span<const char> bytes) {
  std::vector<rows::place> places(bytes.size() / sizeof(rows::place));
  if (!places.empty()) std::memcpy(places.data(), bytes.data(), bytes.size());
  return places;
}

std::string name_of_key(database& db, std::int64_t id) {
  auto q = db.prepare("SELECT name FROM keys WHERE id=?").with(id);
  return q.step() ? printable(q.bytes(0), 200) : cat("the key ", id, ", which does not exist");
}

bool stands_in(database& db, const rows::place& p, std::string_view member) {
  auto q = db.prepare("SELECT 1 FROM scores WHERE key=? AND score=? AND member=?").with(p.key);
  return bind_score(q, p.score).with(raw(member)).step();
}

bool knows_of(database& db, std::string_view member, const rows::place& p) {
  auto q = db.prepare("SELECT places FROM members WHERE name=?").with(raw(member));
  if (!q.step()) return false;
  const auto bytes = rows::sound_places(member, q.bytes(0));
  if (!bytes) return true;  // told of with the member
  for (const auto& known : places_in(*bytes))
    if (known.key == p.key && known.score == p.score) return true;
  return false;
}

}  // namespace

bool rows_check::check_some(database& db, std::vector<std::string>& findings) {
  const auto records_read = at_ == part::members  ? check_members(db, findings)
                            : at_ == part::scores ? check_scores(db, findings)
                                                  : check_keys(db, findings);
  if (records_read == some) return true;
  at_ = static_cast<part>(static_cast<int>(at_) + 1);
  id_ = 0;
  return at_ != part::done;
}

std::int64_t rows_check::check_members(database& db, std::vector<std::string>& findings) {
  auto q = db.prepare("SELECT id, name, places FROM members WHERE id>? ORDER BY id LIMIT ?").with(id_, some);
  std::int64_t records_read = 0;
  for (; q.step(); ++records_read) {
    id_ = q.number(0);
    const auto name = q.text(1);
    const auto bytes = rows::sound_places(name, q.bytes(2));
    if (!bytes) {
      findings.push_back(cat("the places of ", printable(name, 200), " are damaged"));
      continue;
    }
    for (const auto& p : places_in(*bytes))
      if (!stands_in(db, p, name))
        findings.push_back(cat(printable(name, 200), " is missing from ", name_of_key(db, p.key)));
  }
  return records_read;
}

std::int64_t rows_check::check_scores(database& db, std::vector<std::string>& findings) {
  const auto from = last_;  // what is bound must live as long as the query
  auto q = db.prepare(
                 "SELECT key, score, member FROM scores WHERE (key, score, member)>(?, ?, ?) AND score<'' "
                 "ORDER BY key, score, member LIMIT ?")
               .with(from.key);
  bind_score(q, from.score).with(raw(from.member), some);
  std::int64_t records_read = 0;
  for (; q.step(); ++records_read) {
    last_ = {q.number(0), q.real_number(1), q.text(2)};
    if (!knows_of(db, last_.member, {last_.key, last_.score}))
      findings.push_back(
          cat(printable(last_.member, 200), " stands in ", name_of_key(db, last_.key), " and does not know of it"));
  }
  if (records_read < some) check_texts(db, findings);
  return records_read;
}

// A file that was made before it refused these may have them. Nobody reads them.
void rows_check::check_texts(database& db, std::vector<std::string>& findings) {
  auto q = db.prepare("SELECT key, member FROM scores WHERE score>='' LIMIT ?").with(some);
  while (q.step())
    findings.push_back(
        cat(printable(q.text(1), 200), " stands in ", name_of_key(db, q.number(0)), " with a score that is no number"));
}

// Hashes that are kept with the members have no rows of their own.
std::int64_t rows_check::check_keys(database& db, std::vector<std::string>& findings) {
  auto q = db.prepare("SELECT id, name, kind, size FROM keys WHERE id>? ORDER BY id LIMIT ?").with(id_, some);
  std::int64_t records_read = 0;
  for (; q.step(); ++records_read) {
    id_ = q.number(0);
    const auto kind = static_cast<rows::kind>(q.number(2));
    const auto name = q.text(1);
    const auto word = std::string_view(name).substr(std::min(name.find(':') + 1, name.size()));
    const auto& kept_together = machine::hashes_by_job;
    if (kind == rows::kind::text || std::find(kept_together.begin(), kept_together.end(), word) != kept_together.end())
      continue;
    auto count = db.prepare(kind == rows::kind::sorted ? "SELECT count(*) FROM scores WHERE key=?"
                                                       : "SELECT count(*) FROM fields WHERE key=?")
                     .with(id_);
    const auto found = count.step() ? count.number(0) : 0;
    if (found != q.number(3))
      findings.push_back(cat(printable(name, 200), " has ", found, ", and is said to have ", q.number(3)));
  }
  return records_read;
}

}  // namespace sluice::storage::sqlite
