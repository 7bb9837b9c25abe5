// What a call of the library may and may not do in this process.
#include <limits>
#include <optional>

#include "core/text.hpp"
#include "storage/contract.hpp"
#include "storage/keyspace_world.hpp"
#include "storage/sqlite/script_engine.hpp"
#include "support/redis_server.hpp"

using namespace sluice;
using namespace sluice::test;
using storage::sqlite::command_error;
using storage::sqlite::script_engine;

namespace {

// A library whose `get` has this body.
storage::machine::library with_body(const std::string& body) {
  return {storage::machine::layout,
          "local library = {}\nfunction library.entry(name)\n  if name ~= 'get' then return nil end\n"
          "  return function(KEYS, ARGV) " +
              body + " end\nend\n"};
}

struct context_world : keyspace_world {
  script_engine::bounds most;
  std::string body;  // of the engine
  std::optional<storage::machine::library> known;
  std::unique_ptr<script_engine> engine;

  explicit context_world(script_engine::bounds most = {20'000'000, 64 * 1024}) : keyspace_world("{p}"), most(most) {}

  // In a transaction, of which nothing is kept when it fails.
  void run(const std::string& script, const std::vector<std::string>& arguments,
           const std::function<void(const storage::machine::item&)>& read) {
    storage::machine::call c(storage::machine::verb::get);
    for (const auto& word : arguments)
      c.add(word);
    if (body != script) {
      engine.reset();
      known.emplace(with_body(script));
      engine = std::make_unique<script_engine>(*keys, "{p}", most, *known);
      body = script;
    }
    begin();
    try {
      engine->run(c, "1", "", read);
    } catch (...) {
      keys->forget();
      db.execute("ROLLBACK");
      throw;
    }
    commit();
  }
  std::string text(const std::string& script, const std::vector<std::string>& arguments = {}) {
    std::string answer;
    run(script, arguments, [&](const auto& item) { answer = item.text(); });
    return answer;
  }
  std::int64_t number(const std::string& script, const std::vector<std::string>& arguments = {}) {
    std::int64_t answer = 0;
    run(script, arguments, [&](const auto& item) { answer = item.number(); });
    return answer;
  }
  std::string wrong(const std::string& script) {
    try {
      run(script, {}, [](const auto&) {});
    } catch (const command_error& e) {
      return e.message;
    }
    return "nothing";
  }
};

bool says(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

std::string all_bytes() {
  std::string all;
  for (int c = 0; c < 256; ++c)
    all.push_back(static_cast<char>(c));
  return all;
}

}  // namespace

TEST_CASE("What a call packs is what Redis packs, and it unpacks what Redis does", "[sqlite]") {
  context_world w;
  redis_server redis;
  const auto on_redis = [&](const std::string& script, const std::string& argument = {}) {
    return redis.command({"EVAL", script, "0", "", "", argument});
  };
  for (const std::string value : {"{}",
                                  "{1, 2, 3}",
                                  "{a = 1}",
                                  "{a = {b = {}}}",
                                  "''",
                                  "'\\0\\255'",
                                  "('x'):rep(31)",
                                  "('x'):rep(32)",
                                  "('x'):rep(300)",
                                  "('x'):rep(70000)",
                                  "0",
                                  "-1",
                                  "127",
                                  "128",
                                  "-128",
                                  "65536",
                                  "2 ^ 52",
                                  "-2 ^ 52",
                                  "1.5",
                                  "true",
                                  "{true, false, 'x', {1}}"}) {
    CAPTURE(value);
    const auto packed = w.text("return cmsgpack.pack(" + value + ")");
    CHECK(packed == on_redis("return cmsgpack.pack(" + value + ")").text);
    CHECK(w.text("return cmsgpack.pack(cmsgpack.unpack(ARGV[3]))", {packed}) == packed);
    CHECK(on_redis("return cmsgpack.pack(cmsgpack.unpack(ARGV[3]))", packed).text == packed);
  }
  for (const auto* levels : {"15", "16", "17", "40"}) {
    CAPTURE(levels);
    const auto deep = cat("local v = 1 for i = 1, ", levels, " do v = {v} end return cmsgpack.pack(v)");
    CHECK(w.text(deep) == on_redis(deep).text);
  }
}

TEST_CASE("What is not one value, or too much of one, is nothing when it is unpacked", "[sqlite]") {
  context_world w;
  std::string many("\xdd\x00\x0f\x42\x41", 5);  // a million and one lists
  many.append(1'000'001, '\x90');
  for (const auto& bytes :
       {std::string(), std::string("\xc1"), std::string("\x92\x01"), std::string("\x01\x02"),
        std::string("\xdb\xff\xff\xff\xff"), std::string("\xdd\xff\xff\xff\xff"), std::string(100'000, '\x91'), many})
    CHECK(w.number("return cmsgpack.unpack(ARGV[3]) == nil and 7 or 8", {bytes}) == 7);
  const auto lists = "\xdc\xff\xff" + std::string(0xffff, '\x90');
  CHECK(w.number("return #cmsgpack.unpack(ARGV[3])", {lists}) == 0xffff);
  CHECK(says(w.wrong("return cmsgpack.pack({[{}] = 1})"), "neither a list nor a map"));
}

TEST_CASE("A call that would never end is ended, and named", "[sqlite]") {
  context_world w;
  const std::string endless = "while not ARGV[3] do end return 7";
  const auto said = w.wrong(endless);
  CHECK(says(said, "get: "));
  CHECK(says(said, "it would not come to an end"));
  CHECK(w.number(endless, {"x"}) == 7);  // and the next has all its time
}

TEST_CASE("A call that takes too much memory is ended, and named", "[sqlite]") {
  context_world w({std::numeric_limits<std::uint64_t>::max(), 16 * 1024});
  const std::string large = "if ARGV[3] then return 7 end local all = {} for i = 1, 1e9 do all[i] = {i} end";
  const auto said = w.wrong(large);
  CHECK(says(said, "get: "));
  CHECK(says(said, "memory"));
  CHECK(w.number(large, {"x"}) == 7);
}

TEST_CASE("A call sees neither files nor the system, loads no code and catches no error", "[sqlite]") {
  context_world w;
  for (const std::string name :
       {"io", "os", "debug", "package", "jit", "ffi", "load", "loadstring", "loadfile", "dofile", "require", "pcall",
        "xpcall", "print", "setfenv", "getfenv", "collectgarbage"}) {
    CAPTURE(name);
    CHECK(says(w.wrong("return " + name), "Script attempted to access nonexistent global variable '" + name + "'"));
  }
}

TEST_CASE("A global that is not there is an error, and what calls are given is there", "[sqlite]") {
  context_world w;
  CHECK(says(w.wrong("if misspelt then return 1 end"), "nonexistent global variable 'misspelt'"));
  CHECK(w.text("return KEYS[1] .. ARGV[1] .. ARGV[3]", {"x"}) == "{p}1x");
  CHECK(w.text("return ARGV[3]", {"y"}) == "y");  // anew for each
  CHECK(w.text("return type(redis.call) .. type(string.format) .. type(math.min)") == "functionfunctionfunction");
}

TEST_CASE("Texts keep all their bytes on the way in and out", "[sqlite]") {
  context_world w;
  const auto all = all_bytes();
  CHECK((w.text("return ARGV[3]", {all}) == all));
  CHECK((w.text("redis.call('HSET', KEYS[1] .. ARGV[3], ARGV[3], ARGV[3]) "
                "return redis.call('HGETALL', KEYS[1] .. ARGV[3])[2]",
                {all}) == all));
  CHECK((w.text("return redis.call('HGET', KEYS[1] .. ARGV[3], ARGV[3])", {all}) == all));
  CHECK((w.text("return redis.call('HKEYS', KEYS[1] .. ARGV[3])[1]", {all}) == all));
  CHECK(w.number("return #ARGV[3]", {all}) == 256);
  CHECK(w.text("return ARGV[3]", {""}).empty());
}

TEST_CASE("Whole numbers are exact up to two to the fifty-third", "[sqlite]") {
  context_world w;
  CHECK(w.number("return 9007199254740992") == 9007199254740992);
  CHECK(w.number("return -9007199254740991") == -9007199254740991);
  CHECK(w.text("redis.call('ZADD', KEYS[1] .. ':z', 9007199254740991, 'a') "
               "return redis.call('ZSCORE', KEYS[1] .. ':z', 'a')") == "9007199254740991");
  CHECK(w.number("return 3.99") == 3);
}

TEST_CASE("A number that is no whole one of 64 bits is answered all the same", "[sqlite]") {
  context_world w;
  for (const auto* number : {"0/0", "1/0", "-1/0", "1e300", "-1e300", "2^63"}) {
    CAPTURE(number);
    CHECK(w.number(std::string("return ") + number) == 0);
  }
  CHECK(w.number("return -2^63") == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("What has no end is no answer", "[sqlite]") {
  context_world w;
  const std::string nested = "if ARGV[3] then return 7 end local t = {} t[1] = t return t";
  CHECK(says(w.wrong(nested), "nested too deep"));
  CHECK(w.number(nested, {"x"}) == 7);
}

TEST_CASE("Of a call that fails nothing is left", "[sqlite]") {
  context_world w;
  w.text("redis.call('ZADD', KEYS[1] .. ':line', 1, 'a') return redis.call('SET', KEYS[1] .. ':number', '1')");
  const std::string begun =
      "redis.call('ZADD', KEYS[1] .. ':line', 2, 'a', 3, 'b') "
      "redis.call('HSET', KEYS[1] .. ':jobs', 'a', 'x') "
      "redis.call('SET', KEYS[1] .. ':number', '2') ";
  CHECK(says(w.wrong(begun + "redis.call('HGET', KEYS[1] .. ':line', 'a')"), "WRONGTYPE"));
  CHECK(says(w.wrong(begun + "redis.call('NONE', KEYS[1])"), "unknown command"));
  CHECK(says(w.wrong(begun + "redis.call('GET', {})"), "must be strings or integers"));
  CHECK(says(w.wrong(begun + "error('enough')"), "enough"));
  CHECK(w.text("return redis.call('ZSCORE', KEYS[1] .. ':line', 'a')") == "1");
  CHECK(w.number("return redis.call('ZCARD', KEYS[1] .. ':line')") == 1);
  CHECK(w.number("return redis.call('EXISTS', KEYS[1] .. ':jobs')") == 0);
  CHECK(w.text("return redis.call('GET', KEYS[1] .. ':number')") == "1");
}
