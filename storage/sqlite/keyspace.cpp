#include "storage/sqlite/keyspace.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/never_destroyed.hpp"
#include "core/text.hpp"

namespace sluice::storage::sqlite {
namespace {

using kind = rows::kind;

[[noreturn]] void refuse(std::string message) { throw command_error{std::move(message)}; }

std::int64_t whole_in(std::string_view text) {
  std::int64_t n = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size())
    refuse("ERR value is not an integer or out of range");
  return n;
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

// A command that is being carried out.
struct asked {
  rows& all;
  kind of;  // its key is of that kind, or of none yet; none: any
  keyspace::words command;
  command_answer& into;

  rows::key& key() const {
    auto& k = all.find(command[1]);
    if (of != kind::none && k.what != kind::none && k.what != of)
      refuse("WRONGTYPE Operation against a key holding the wrong kind of value");
    return k;
  }
};

void get(const asked& a) {
  const auto& k = a.key();
  if (k.what == kind::none) a.into.set_nothing();
  else a.into.set_text(k.text);
}

void exists(const asked& a) {
  std::int64_t there = 0;
  for (const auto name : a.command.subspan(1))
    there += a.all.find(name).what == kind::none ? 0 : 1;
  a.into.set_number(there);
}

void mget(const asked& a) {
  a.into.set_list();
  for (const auto name : a.command.subspan(1))
    if (const auto& k = a.all.find(name); k.what == kind::text) a.into.add(k.text);
    else a.into.add_nothing();
}

// What is no text it refuses. Redis would replace it; no call does.
void set(const asked& a) {
  a.all.put_text(a.key(), a.command[2]);
  a.into.set_text("OK");
}

// Also HLEN, SCARD and ZCARD.
void size(const asked& a) { a.into.set_number(a.key().size); }

void del(const asked& a) {
  auto& k = a.key();
  const bool is_sorted = k.what == kind::sorted;
  a.into.set_number(k.what == kind::none ? 0 : 1);
  if (k.what == kind::text) return a.all.remove_text(k);
  std::vector<std::string> names;
  for (auto q = is_sorted ? a.all.members_of(k, {}) : a.all.fields_of(k); q.step();)
    names.push_back(q.text(0));
  for (const auto& name : names)
    is_sorted ? a.all.remove_score(k, name) : a.all.remove_field(k, name);
}

void hget(const asked& a) {
  if (const auto value = a.all.field_of(a.key(), a.command[2])) a.into.set_text(*value);
  else a.into.set_nothing();
}

void hstrlen(const asked& a) {
  a.into.set_number(static_cast<std::int64_t>(a.all.size_of_field(a.key(), a.command[2])));
}

void hmget(const asked& a) {
  const auto& k = a.key();
  a.into.set_list();
  for (const auto field : a.command.subspan(2))
    if (const auto value = a.all.field_of(k, field)) a.into.add(*value);
    else a.into.add_nothing();
}

// HEXISTS and SISMEMBER.
void has(const asked& a) { a.into.set_number(a.all.has_field(a.key(), a.command[2]) ? 1 : 0); }

// HSET and SADD.
void put(const asked& a) {
  const std::size_t each = a.of == kind::hash ? 2 : 1;
  if (a.command.size() % each != 0) refuse("ERR wrong number of arguments for 'HSET'");
  auto& k = a.key();
  std::int64_t added = 0;
  for (std::size_t i = 2; i < a.command.size(); i += each)
    added += a.all.put_field(k, a.command[i], each == 2 ? a.command[i + 1] : std::string_view(), a.of) ? 1 : 0;
  a.into.set_number(added);
}

void put_new(const asked& a) {
  auto& k = a.key();
  const bool is_new = !a.all.field_of(k, a.command[2]);
  if (is_new) a.all.put_field(k, a.command[2], a.command[3], kind::hash);
  a.into.set_number(is_new ? 1 : 0);
}

// HDEL, SREM and ZREM.
void remove(const asked& a) {
  auto& k = a.key();
  std::int64_t gone = 0;
  for (const auto name : a.command.subspan(2))
    gone += (a.of == kind::sorted ? a.all.remove_score(k, name) : a.all.remove_field(k, name)) ? 1 : 0;
  a.into.set_number(gone);
}

// HKEYS, HVALS, HGETALL and SMEMBERS.
void all_fields(const asked& a) {
  const auto what = a.command[0];
  auto q = a.all.fields_of(a.key());
  a.into.set_list();
  while (q.step()) {
    if (what != "HVALS") a.into.add(q.bytes(0));
    if (what == "HVALS" || what == "HGETALL") a.into.add(q.bytes(1));
  }
}

void zadd(const asked& a) {
  const bool only_lower = a.command[2] == "LT";
  const auto pairs = a.command.subspan(only_lower ? 3 : 2);
  if (pairs.empty() || pairs.size() % 2 != 0) refuse("ERR syntax error");
  auto& k = a.key();
  std::vector<double> scores;
  for (std::size_t i = 0; i < pairs.size(); i += 2)
    scores.push_back(score_in(pairs[i]));
  std::int64_t added = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto member = pairs[2 * i + 1];
    const auto there = only_lower ? a.all.score_of(k, member) : std::nullopt;
    if (!there || scores[i] < *there) added += a.all.put_score(k, member, scores[i]) ? 1 : 0;
  }
  a.into.set_number(added);
}

void zscore(const asked& a) {
  if (const auto score = a.all.score_of(a.key(), a.command[2])) a.into.set_text(text_of(*score));
  else a.into.set_nothing();
}

// "(5" is without those of that score: so it is behind them at the beginning, and before them at the end.
rows::position bound_in(std::string_view text, bool is_end) {
  const bool without = text.starts_with('(');
  const auto score = score_in(without ? text.substr(1) : text);
  return without == is_end ? rows::before(score) : rows::behind(score);
}

// "-", "+", "[name" or "(name", among members that all have the score 0: Redis says nothing of others.
rows::position name_in(std::string_view text, bool is_end) {
  if (text == "-") return rows::before(0);
  if (text == "+") return rows::behind(0);
  if (text.empty() || (text[0] != '[' && text[0] != '(')) refuse("ERR min or max not valid string range item");
  rows::position p{0, std::string(text.substr(1))};
  if ((text[0] == '(') != is_end) p.name->push_back('\0');  // no other name is between them
  return p;
}

void count_by_rank(rows::range& r, std::int64_t first, std::int64_t last, std::int64_t size) {
  r.offset = std::max<std::int64_t>(0, first < 0 ? first + size : first);
  r.count = std::max<std::int64_t>(0, std::min(size - 1, last < 0 ? last + size : last) - r.offset + 1);
}

// By rank, or BYSCORE or BYLEX; only BYSCORE may be reversed.
void zrange(const asked& a) {
  enum class order : std::uint8_t { rank, score, name } by = order::rank;
  rows::range r;
  bool with_scores = false;
  for (std::size_t i = 4; i < a.command.size(); ++i) {
    const auto word = a.command[i];
    if (word == "BYSCORE") by = order::score;
    else if (word == "BYLEX") by = order::name;
    else if (word == "REV" && by == order::score) r.reversed = true;
    else if (word == "WITHSCORES") with_scores = true;
    else if (word == "LIMIT" && by != order::rank && i + 2 < a.command.size()) {
      r.offset = whole_in(a.command[++i]);
      r.count = whole_in(a.command[++i]);
      if (r.offset < 0) r.count = 0;
    } else refuse("ERR syntax error");
  }
  const auto low = a.command[r.reversed ? 3 : 2], high = a.command[r.reversed ? 2 : 3];
  const auto& k = a.key();
  if (by == order::rank) {
    count_by_rank(r, whole_in(low), whole_in(high), k.size);
  } else {
    const auto read = by == order::score ? bound_in : name_in;
    r.from = read(low, false);
    r.to = read(high, true);
  }
  a.into.set_list();
  for (auto q = a.all.members_of(k, r); q.step();) {
    a.into.add(q.bytes(0));
    if (with_scores) a.into.add(text_of(q.real_number(1)));
  }
}

void zcount(const asked& a) {
  const rows::range r{bound_in(a.command[2], false), bound_in(a.command[3], true)};
  std::int64_t n = 0;
  for (auto q = a.all.members_of(a.key(), r); q.step();)
    ++n;
  a.into.set_number(n);
}

// Looking at everything, some at a time. A cursor is 0, or "=" and behind what to go on.

constexpr std::string_view first_cursor = "0";

rows::cursor cursor_in(std::string_view word) {
  return word.empty() || word == first_cursor ? rows::cursor() : word.substr(1);
}

std::string_view option_in(keyspace::words options, std::string_view name, std::string_view without) {
  for (std::size_t i = 0; i + 1 < options.size(); i += 2)
    if (options[i] == name) return options[i + 1];
  return without;
}

// "score:name".
rows::range behind_member(std::string_view cursor) {
  const auto colon = std::min(cursor.find(':'), cursor.size() - 1);
  rows::range r;
  r.from = {score_in(cursor.substr(0, colon)), std::string(cursor.substr(colon + 1))};
  r.from.name->push_back('\0');
  return r;
}

// HSCAN, SSCAN and ZSCAN.
void scan(const asked& a) {
  const bool is_sorted = a.of == kind::sorted;
  const auto from = cursor_in(a.command[2]);
  const auto r = is_sorted && from ? behind_member(*from) : rows::range();
  auto q = is_sorted ? a.all.members_of(a.key(), r) : a.all.fields_of(a.key(), from);
  a.into.set_slice();
  for (auto left = whole_in(option_in(a.command.subspan(3), "COUNT", "10")); q.step();) {
    a.into.add(q.bytes(0));
    if (is_sorted) a.into.add(text_of(q.real_number(1)));
    if (a.of == kind::hash) a.into.add(q.bytes(1));
    if (--left > 0) continue;
    return a.into.add(is_sorted ? cat("=", text_of(q.real_number(1)), ":", q.bytes(0)) : cat("=", q.bytes(2)));
  }
  a.into.add(first_cursor);
}

// MATCH names what keys begin with, and a star.
void scan_keys(const asked& a) {
  const auto options = a.command.subspan(2);
  std::string begins(option_in(options, "MATCH", "*"));
  std::erase(begins, '\\');
  if (begins.ends_with('*')) begins.pop_back();
  a.into.set_slice();
  auto q = a.all.keys_behind(cursor_in(a.command[1]));
  for (auto left = whole_in(option_in(options, "COUNT", "10")); q.step();) {
    if (q.bytes(0).starts_with(begins)) a.into.add(q.bytes(0));
    if (--left <= 0) return a.into.add(cat("=", q.bytes(1)));
  }
  a.into.add(first_cursor);
}

struct known_command {
  std::size_t least;  // words, with its name
  void (*carry_out)(const asked&);
  kind of = kind::none;  // its key
  bool tells_others = false;
};

using command_table = std::unordered_map<std::string_view, known_command>;

const command_table& commands() {
  static const auto& all = *never_destroyed<command_table>(command_table{
      {"GET", {2, get, kind::text}},
      {"MGET", {2, mget}},
      {"SET", {3, set, kind::text}},
      {"EXISTS", {2, exists}},
      {"DEL", {2, del}},
      {"UNLINK", {2, del}},
      {"PUBLISH", {3, [](const asked& a) { a.into.set_number(0); }, kind::none, true}},
      {"HGET", {3, hget, kind::hash}},
      {"HSTRLEN", {3, hstrlen, kind::hash}},
      {"HMGET", {3, hmget, kind::hash}},
      {"HEXISTS", {3, has, kind::hash}},
      {"HLEN", {2, size, kind::hash}},
      {"HSET", {4, put, kind::hash}},
      {"HDEL", {3, remove, kind::hash}},
      {"HSETNX", {4, put_new, kind::hash}},
      {"HKEYS", {2, all_fields, kind::hash}},
      {"HVALS", {2, all_fields, kind::hash}},
      {"HGETALL", {2, all_fields, kind::hash}},
      {"SADD", {3, put, kind::set}},
      {"SREM", {3, remove, kind::set}},
      {"SISMEMBER", {3, has, kind::set}},
      {"SCARD", {2, size, kind::set}},
      {"SMEMBERS", {2, all_fields, kind::set}},
      {"ZADD", {4, zadd, kind::sorted}},
      {"ZREM", {3, remove, kind::sorted}},
      {"ZSCORE", {3, zscore, kind::sorted}},
      {"ZCARD", {2, size, kind::sorted}},
      {"ZCOUNT", {4, zcount, kind::sorted}},
      {"ZRANGE", {4, zrange, kind::sorted}},
      {"SCAN", {2, scan_keys}},
      {"HSCAN", {3, scan, kind::hash}},
      {"SSCAN", {3, scan, kind::set}},
      {"ZSCAN", {3, scan, kind::sorted}},
  });
  return all;
}

}  // namespace

std::string text_of(double n) {
  if (std::isinf(n)) return n > 0 ? "inf" : "-inf";
  if (is_whole(n)) return std::to_string(static_cast<std::int64_t>(n));
  std::array<char, 40> digits{};
  const auto read = std::to_chars(digits.begin(), digits.end(), n);
  return std::string(digits.data(), read.ptr);
}

void keyspace::begin_call(bool may_write) {
  allow_writing(may_write);
  published_ = false;
}

void keyspace::call(words command, command_answer& into) {
  const auto found = commands().find(command.front());
  if (found == commands().end()) refuse(cat("ERR unknown command '", command.front(), "'"));
  const auto& known = found->second;
  if (command.size() < known.least) refuse(cat("ERR wrong number of arguments for '", command.front(), "'"));
  if (known.tells_others) published_ = true;
  known.carry_out({*this, known.of, command, into});
}

}  // namespace sluice::storage::sqlite
