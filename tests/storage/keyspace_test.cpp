// The commands of scripts over SQLite answer as a real Redis does.
#include <random>

#include "storage/contract.hpp"
#include "storage/keyspace_world.hpp"

using namespace sluice;
using namespace sluice::test;
using storage::sqlite::command_answer;
using storage::sqlite::command_error;

namespace {

const std::string prefix = "{keys}";

// An answer in words that both sides have. `unordered`: its elements come in any order; pairs stay together.
std::string in_order(std::vector<std::string> parts, std::size_t unordered) {
  std::vector<std::string> groups;
  const auto size = std::max<std::size_t>(1, unordered);
  for (std::size_t i = 0; i + size <= parts.size(); i += size) {
    std::string group;
    for (std::size_t k = 0; k < size; ++k)
      group += std::to_string(parts[i + k].size()) + ":" + parts[i + k] + " ";
    groups.push_back(std::move(group));
  }
  if (unordered > 0) std::sort(groups.begin(), groups.end());
  std::string all = "list of " + std::to_string(parts.size()) + ": ";
  for (const auto& group : groups)
    all += group;
  return all;
}

std::string words_of(const redis_reply& r, std::size_t unordered) {
  switch (r.type) {
    case reply_type::nil: return "nothing";
    case reply_type::integer: return std::to_string(r.integer);
    case reply_type::error: return r.text.substr(0, r.text.find(' '));
    case reply_type::array: break;
    default: return "text " + r.text;
  }
  std::vector<std::string> parts;
  for (const auto& one : r.elements)
    parts.push_back(one.is_nil() ? "(nothing)" : one.text);
  return in_order(std::move(parts), unordered);
}

std::string words_of(const command_answer& a, std::size_t unordered) {
  using kind = command_answer::kind;
  switch (a.what()) {
    case kind::nothing: return "nothing";
    case kind::number: return std::to_string(a.number());
    case kind::text: return "text " + std::string(a.bytes(a.parts().front()));
    case kind::list:
    case kind::slice: break;
  }
  std::vector<std::string> parts;
  for (const auto& p : a.parts())
    parts.emplace_back(p.is_nothing ? "(nothing)" : a.bytes(p));
  return in_order(std::move(parts), unordered);
}

struct beside : keyspace_world {
  redis_server redis;

  beside() : keyspace_world(prefix) { begin(); }

  void commit() {
    keyspace_world::commit();
    begin();
  }

  std::string ours(const std::vector<std::string>& words, std::size_t unordered) {
    const std::vector<std::string_view> seen(words.begin(), words.end());
    command_answer answer;
    try {
      keys->call(seen, answer);
    } catch (const command_error& e) {
      return e.message.substr(0, e.message.find(' '));
    }
    return words_of(answer, unordered);
  }
};

class any_command {
public:
  explicit any_command(std::uint64_t seed) : random_(seed) {}

  std::vector<std::string> words;
  std::size_t unordered = 0;

  void draw() {
    unordered = 0;
    switch (random_() % 26) {
      case 0: words = {"HSET", hash(), name(), value(), name(), value()}; return;
      case 1: words = {"HSET", hash(), name(), value()}; return;
      case 2: words = {"HDEL", hash(), name(), name()}; return;
      case 3: words = {"HGET", hash(), name()}; return;
      case 4: words = {"HMGET", hash(), name(), name(), name()}; return;
      case 5: words = {one_of({"HEXISTS", "HSTRLEN"}), hash(), name()}; return;
      case 6: words = {"HLEN", hash()}; return;
      case 7:
        unordered = 1;
        words = {one_of({"HKEYS", "HVALS"}), hash()};
        return;
      case 8:
        unordered = 2;
        words = {"HGETALL", hash()};
        return;
      case 9: words = {"HSETNX", hash(), name(), value()}; return;
      case 10: words = {"SADD", key("set"), name(), name()}; return;
      case 11: words = {"SREM", key("set"), name()}; return;
      case 12:
        unordered = 1;
        words = {"SMEMBERS", key("set")};
        return;
      case 13: words = {one_of({"SISMEMBER", "HEXISTS"}), key("set"), name()}; return;
      case 14: words = {one_of({"SCARD", "ZCARD", "HLEN"}), any_key()}; return;
      case 15:
      case 16: words = {"ZADD", sorted(), score(), name(), score(), name()}; return;
      case 17: words = {"ZADD", sorted(), "LT", score(), name()}; return;
      case 18: words = {"ZREM", sorted(), name(), name()}; return;
      case 19: words = {"ZSCORE", sorted(), name()}; return;
      case 20: words = {"ZCOUNT", sorted(), bound(), bound()}; return;
      case 21: by_rank(); return;
      case 22: by_score(); return;
      case 23: by_name(); return;
      case 24: words = {one_of({"EXISTS", "GET", "DEL"}), any_key()}; return;
      default: words = {random_() % 2 == 0 ? "ZADD" : "ZREM", key("names"), "0", name()};
    }
    if (words[0] == "ZREM") words.erase(words.begin() + 2);
  }

private:
  std::string one_of(const std::vector<std::string>& of) { return of[random_() % of.size()]; }
  static std::string key(const std::string& rest) { return prefix + ":" + rest; }
  // Among them one whose fields are kept with what else a name has.
  std::string hash() { return key(one_of({"jobs", "history", "other"})); }
  std::string sorted() { return key(one_of({"line", "other line"})); }
  std::string any_key() {
    return key(one_of({"jobs", "history", "other", "set", "line", "other line", "names", "counts"}));
  }
  std::string name() {
    static const std::vector<std::string> names = {
        "a", "b", "c", "aa", std::string("a\0b", 3), "\xff", "\x7f", "d\xc3\xb6", "", "a/1", "a/2", "0"};
    return one_of(names);
  }
  std::string value() {
    return one_of({"", "1", "x", std::string("\0\xff", 2), std::string(300, 'v'), std::string(2'500, 'w')});
  }
  std::string number() { return one_of({"1", "-1", "7", "9007199254740993", "-3"}); }
  std::string score() {
    return one_of({"0", "-0", "1", "2", "1", "-1", "1.5", "inf", "-inf", "9007199254740992", "1780000000000001",
                   "1267650600228229401496703205376"});  // 2^100: Redis 7 and 8 print it alike, unlike 1e300
  }
  std::string bound() { return (random_() % 2 == 0 ? "(" : "") + score(); }
  std::string rank() { return std::to_string(static_cast<int>(random_() % 9) - 4); }
  void limit() {
    if (random_() % 2 == 0) return;
    for (const auto& word :
         {std::string("LIMIT"), std::to_string(random_() % 3), std::to_string(static_cast<int>(random_() % 5) - 1)})
      words.push_back(word);
  }
  void by_rank() {
    words = {"ZRANGE", sorted(), rank(), rank()};
    if (random_() % 2 == 0) words.emplace_back("WITHSCORES");
  }
  void by_score() {
    words = {"ZRANGE", sorted(), bound(), bound(), "BYSCORE"};
    if (random_() % 2 == 0) words.emplace_back("REV");
    limit();
    if (random_() % 2 == 0) words.emplace_back("WITHSCORES");
  }
  void by_name() {
    const auto end = [&](const char* all) { return random_() % 4 == 0 ? all : one_of({"[", "("}) + name(); };
    words = {"ZRANGE", key("names"), end("-"), end("+"), "BYLEX"};
    limit();
  }

  std::mt19937_64 random_;
};

std::string printed(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words)
    all += printable(word, 60) + " ";
  return all;
}

}  // namespace

TEST_CASE("Commands over SQLite answer as Redis does", "[sqlite][redis]") {
  beside both;
  any_command drawn(20'261'122);
  std::string before;
  for (int i = 0; i < 20'000; ++i) {
    drawn.draw();
    const auto theirs = words_of(both.redis.command(drawn.words), drawn.unordered);
    const auto ours = both.ours(drawn.words, drawn.unordered);
    if (ours != theirs) {
      INFO("command " << i << ": " << printed(drawn.words) << "after " << before);
      REQUIRE(printable(ours, 2'000) == printable(theirs, 2'000));
    }
    before = printed(drawn.words);
    if (i % 97 == 0) both.commit();
    if (i % 970 == 0) both.keys->forget();  // what is known is read again
  }
}

namespace {

// A keyspace whose rows a test may harm.
struct harmed : keyspace_world {
  harmed() : keyspace_world(prefix) {}

  // In a transaction of its own. Texts of an answer stand behind one another.
  std::string command(std::vector<std::string> words, bool may_write = true) {
    words[1] = prefix + ":" + words[1];
    const std::vector<std::string_view> seen(words.begin(), words.end());
    command_answer answer;
    begin(may_write);
    keys->call(seen, answer);
    if (may_write) keys->flush();
    db.execute("COMMIT");
    if (answer.what() == command_answer::kind::number) return std::to_string(answer.number());
    std::string all;
    for (const auto& p : answer.parts())
      all.append(all.empty() ? "" : " ").append(answer.bytes(p));
    return all;
  }

  // Behind its back.
  void harm(const std::string& sql) {
    db.execute(sql.c_str());
    REQUIRE(db.changes() > 0);
    keys->forget();
  }

  std::int64_t number(const char* sql) {
    auto q = db.prepare(sql);
    return q.step() ? q.number(0) : 0;
  }
};

}  // namespace

TEST_CASE("Places that a disk changed are read anew from the sorted sets", "[sqlite]") {
  harmed h;
  h.command({"ZADD", "other", "1", "x"});
  h.command({"ZADD", "line", "5", "a"});
  h.command({"ZADD", "ends", "7", "a"});
  const std::string how =
      GENERATE("UPDATE members SET places=CAST(x'ff' || substr(places, 2) AS BLOB) WHERE name=x'61'",
               "UPDATE members SET places=CAST(places || x'00' AS BLOB) WHERE name=x'61'",
               "UPDATE members SET places=substr(places, 1, 16) WHERE name=x'61'",
               "UPDATE members SET places=x'' WHERE name=x'61'",
               "UPDATE members SET places=(SELECT places FROM members WHERE name=x'78') "
               "WHERE name=x'61'");
  CAPTURE(how);
  h.harm(how);
  CHECK(h.command({"ZSCORE", "line", "a"}, false) == "5");  // without a write
  CHECK(h.command({"ZSCORE", "ends", "a"}) == "7");
  h.keys->forget();
  CHECK(h.command({"ZSCORE", "other", "a"}).empty());
  CHECK(h.command({"ZADD", "line", "6", "a"}) == "0");
  CHECK(h.command({"ZREM", "line", "a"}) == "1");
  CHECK(h.command({"ZCARD", "line"}) == "0");
  CHECK(h.command({"ZREM", "ends", "a"}) == "1");
  CHECK(h.number("SELECT count(*) FROM scores") == 1);
  CHECK(h.number("SELECT count(*) FROM members") == 1);
}

TEST_CASE("Places are written right again when they were read anew", "[sqlite]") {
  harmed h;
  h.command({"ZADD", "line", "5", "a"});
  h.harm("CREATE TABLE was AS SELECT places FROM members; UPDATE members SET places=x'00'");
  CHECK(h.command({"ZSCORE", "line", "a"}) == "5");
  CHECK(h.number("SELECT members.places=was.places FROM members, was") == 1);
}

TEST_CASE("A size that is too small costs no rows", "[sqlite]") {
  harmed h;
  const auto size = GENERATE(-3, 0, 1, 9'000'000'000'000'000'000);
  CAPTURE(size);
  h.command({"SADD", "set", "a", "b", "c"});
  h.command({"HSET", "hash", "a", "1", "b", "2", "c", "3"});
  h.command({"ZADD", "line", "1", "a", "2", "b", "3", "c"});
  h.command({"HSET", "jobs", "a", "1", "b", "2", "c", "3"});
  h.harm("UPDATE keys SET size=" + std::to_string(size));
  CHECK(h.command({"SREM", "set", "a"}) == "1");
  CHECK(h.command({"SMEMBERS", "set"}) == "b c");
  CHECK(h.command({"SCARD", "set"}) == "2");
  CHECK(h.command({"HDEL", "hash", "a"}) == "1");
  CHECK(h.command({"HLEN", "hash"}) == "2");
  CHECK(h.command({"ZREM", "line", "a"}) == "1");
  CHECK(h.command({"ZRANGE", "line", "0", "-1"}) == "b c");
  CHECK(h.command({"HDEL", "jobs", "a"}) == "1");
  CHECK(h.command({"HGET", "jobs", "b"}) == "2");  // which has no size to be found by
  CHECK(h.command({"HSET", "jobs", "b", "4"}) == "0");
  CHECK(h.command({"HGET", "jobs", "b"}) == "4");
}

TEST_CASE("A member that is not where it should be is looked for", "[sqlite]") {
  harmed h;
  h.command({"ZADD", "line", "5", "a", "6", "b"});
  SECTION("it has another score") {
    h.harm("UPDATE scores SET score=7 WHERE member=x'61'");
    CHECK(h.command({"ZREM", "line", "a"}) == "1");
  }
  SECTION("it is in no set") {
    h.harm("DELETE FROM scores WHERE member=x'61'");
    CHECK(h.command({"ZREM", "line", "a"}) == "0");
  }
  SECTION("it moves") {
    h.harm("UPDATE scores SET score=7 WHERE member=x'61'");
    CHECK(h.command({"ZADD", "line", "8", "a"}) == "0");
    CHECK(h.command({"ZRANGE", "line", "0", "-1", "WITHSCORES"}) == "b 6 a 8");
    CHECK(h.command({"ZREM", "line", "a"}) == "1");
  }
  CHECK(h.command({"ZRANGE", "line", "0", "-1"}) == "b");
  CHECK(h.command({"ZCARD", "line"}) == "1");
  CHECK(h.command({"ZREM", "line", "b"}) == "1");
  CHECK(h.command({"EXISTS", "line"}) == "0");
}

TEST_CASE("A long field is read, changed and removed as a short one is", "[sqlite]") {
  harmed h;
  const std::string large(1'000'000, 'x'), other(5'000, 'y');
  CHECK(h.command({"HSET", "jobs", "a", large}) == "1");
  CHECK(h.command({"HSET", "jobs", "b", "short"}) == "1");
  CHECK(h.number("SELECT count(*) FROM fields") == 1);
  h.keys->forget();
  CHECK((h.command({"HGET", "jobs", "a"}, false) == large));
  CHECK((h.command({"HVALS", "jobs"}, false) == large + " short"));
  CHECK(h.command({"HEXISTS", "jobs", "a"}) == "1");
  CHECK(h.command({"HEXISTS", "jobs", "c"}) == "0");
  CHECK(h.command({"HLEN", "jobs"}) == "2");
  CHECK(h.command({"HSET", "jobs", "a", large}) == "0");
  CHECK(h.command({"HSET", "jobs", "b", other}) == "0");
  CHECK((h.command({"HGETALL", "jobs"}) == "a " + large + " b " + other));
  CHECK(h.command({"HSET", "jobs", "a", "1"}) == "0");
  CHECK((h.command({"HMGET", "jobs", "a", "b"}) == "1 " + other));
  CHECK(h.number("SELECT count(*) FROM fields") == 1);
  CHECK(h.command({"HDEL", "jobs", "b", "a"}) == "2");
  CHECK(h.number("SELECT count(*) FROM fields") == 0);
  CHECK(h.number("SELECT count(*) FROM members") == 0);
  CHECK(h.command({"EXISTS", "jobs"}) == "0");
}

TEST_CASE("What changes beside a long field does not write it again", "[sqlite]") {
  harmed h;
  h.command({"HSET", "jobs", "a", std::string(1'000'000, 'x')});
  h.keys->forget();
  CHECK(h.command({"HSET", "history", "a", "1"}) == "1");
  CHECK(h.command({"ZADD", "line", "1", "a"}) == "1");
  CHECK(h.number("SELECT length(places) FROM members") == 20);
  CHECK(h.number("SELECT field1=1 FROM members") == 1);
  CHECK(h.command({"HGET", "jobs", "a"}).size() == 1'000'000);
}

TEST_CASE("A long field that was lost is there as what no record is, and can be removed", "[sqlite]") {
  harmed h;
  h.command({"HSET", "jobs", "a", std::string(5'000, 'x')});
  h.harm("DELETE FROM fields");
  CHECK(h.command({"HEXISTS", "jobs", "a"}) == "1");
  CHECK(h.command({"HGET", "jobs", "a"}) == "?");
  CHECK(h.command({"HVALS", "jobs"}).empty());
  CHECK(h.command({"HDEL", "jobs", "a"}) == "1");
  CHECK(h.command({"EXISTS", "jobs"}) == "0");
}
