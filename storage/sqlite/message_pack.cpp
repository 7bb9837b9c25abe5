#include "storage/sqlite/message_pack.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <lua.hpp>
#include <nlohmann/json.hpp>

namespace sluice::storage::sqlite {
namespace {

using nlohmann::json;

constexpr std::size_t max_depth = 16;          // cmsgpack packs nothing of a table below that
constexpr std::size_t max_values = 1'000'000;  // of what is stored: each may cost much more than its byte

std::string bytes_at(lua_State* state, int index) {
  std::size_t size = 0;
  const char* const bytes = lua_tolstring(state, index, &size);
  return {bytes, size};
}

// The value on top. A table is a list when it has a 1, and when it is empty.
json value_on_top(lua_State* state, std::size_t depth) {
  if (lua_checkstack(state, 3) == 0) throw std::length_error("there is no memory for a value");
  switch (lua_type(state, -1)) {
    case LUA_TSTRING: return bytes_at(state, -1);
    case LUA_TBOOLEAN: return lua_toboolean(state, -1) != 0;
    case LUA_TNUMBER: {
      const auto n = lua_tonumber(state, -1);
      if (std::trunc(n) == n && std::abs(n) < 0x1p63) return static_cast<std::int64_t>(n);
      return n;
    }
    case LUA_TTABLE: break;
    default: return nullptr;
  }
  if (depth == max_depth) return nullptr;
  if (const auto size = lua_objlen(state, -1); size > 0) {
    auto list = json::array();
    for (std::size_t i = 1; i <= size; ++i) {
      lua_rawgeti(state, -1, static_cast<int>(i));
      list.push_back(value_on_top(state, depth + 1));
      lua_pop(state, 1);
    }
    return list;
  }
  json map;
  for (lua_pushnil(state); lua_next(state, -2) != 0; lua_pop(state, 1)) {
    if (lua_type(state, -2) != LUA_TSTRING) throw std::invalid_argument("a table is neither a list nor a map");
    map[bytes_at(state, -2)] = value_on_top(state, depth + 1);
  }
  return map.is_null() ? json::array() : map;
}

// Makes Lua's values of what is read, on the stack. No deeper than it may be, however much stands there.
class builder : public json::json_sax_t {
public:
  explicit builder(lua_State* state) : state_(state) {}

  bool null() override {
    return put([this] { lua_pushnil(state_); });
  }
  bool boolean(bool value) override {
    return put([&] { lua_pushboolean(state_, value ? 1 : 0); });
  }
  bool number_integer(number_integer_t n) override { return number(static_cast<double>(n)); }
  bool number_unsigned(number_unsigned_t n) override { return number(static_cast<double>(n)); }
  bool number_float(number_float_t n, const string_t& /*text*/) override { return number(n); }
  bool string(string_t& text) override { return bytes(text); }
  bool binary(binary_t& bytes) override {
    return put([&] { lua_pushlstring(state_, reinterpret_cast<const char*>(bytes.data()), bytes.size()); });
  }
  bool key(string_t& name) override { return lua_checkstack(state_, 3) != 0 && bytes(name, false); }
  bool start_object(std::size_t /*size*/) override { return begin(); }
  bool start_array(std::size_t /*size*/) override { return begin(1); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t /*at*/, const std::string& /*last*/, const json::exception& /*why*/) override {
    return false;
  }

private:
  bool number(double n) {
    return put([&] { lua_pushnumber(state_, n); });
  }
  bool bytes(const string_t& text, bool is_value = true) {
    const auto push = [&] { lua_pushlstring(state_, text.data(), text.size()); };
    if (is_value) return put(push);
    push();
    return true;
  }
  bool begin(int first = 0) {
    if (places_.size() == max_depth || lua_checkstack(state_, 3) == 0) return false;
    lua_createtable(state_, 0, 0);  // the size that is said may be anything
    places_.push_back(first);
    return true;
  }
  bool end() {
    places_.pop_back();
    return put([] {});
  }
  // What is pushed is a value: of the list or map that is open, if one is.
  bool put(auto push) {
    if (++count_ > max_values || lua_checkstack(state_, 3) == 0) return false;
    push();
    if (places_.empty()) return true;
    if (places_.back() == 0) lua_rawset(state_, -3);
    else lua_rawseti(state_, -2, places_.back()++);
    return true;
  }

  lua_State* state_;
  std::size_t count_ = 0;
  std::vector<int> places_;  // of what is open: the next of a list, 0 of a map
};

// Whether `act` threw nothing; else what it threw is on top, and its caller raises that when nothing of C++ is open any
// more. Inside `act` Lua itself raises only when there is no memory.
bool tried(lua_State* state, auto act) try {
  act();
  return true;
} catch (const std::exception& e) {
  lua_pushstring(state, e.what());
  return false;
}

int on_pack(lua_State* state) {
  luaL_checkany(state, 1);
  lua_settop(state, 1);
  const bool done = tried(state, [state] {
    std::string bytes;
    json::to_msgpack(value_on_top(state, 0), bytes);
    lua_pushlstring(state, bytes.data(), bytes.size());
  });
  return done ? 1 : lua_error(state);
}

int on_unpack(lua_State* state) {
  luaL_checktype(state, 1, LUA_TSTRING);
  lua_settop(state, 1);
  const bool done = tried(state, [state] {
    std::size_t size = 0;
    const char* const from = lua_tolstring(state, 1, &size);
    builder made(state);
    if (json::sax_parse(from, from + size, &made, json::input_format_t::msgpack)) return;
    lua_settop(state, 1);
    lua_pushnil(state);
  });
  return done ? 1 : lua_error(state);
}

}  // namespace

void open_message_pack(lua_State* state) {
  lua_createtable(state, 0, 2);
  lua_pushcfunction(state, on_pack);
  lua_setfield(state, -2, "pack");
  lua_pushcfunction(state, on_unpack);
  lua_setfield(state, -2, "unpack");
  lua_setglobal(state, "cmsgpack");
}

}  // namespace sluice::storage::sqlite
