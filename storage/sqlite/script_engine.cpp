#include "storage/sqlite/script_engine.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <new>

#include <lua.hpp>

#include "core/text.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr int counted_at_once = 1'000'000;
constexpr std::uint64_t most_instructions = 2'000'000'000;  // some ten seconds
constexpr int most_memory_kib = 512 * 1024;

const char self_key = 0;
constexpr const char* answer_key = "sluice.answer";

// What a script may use of Lua: nothing that reads files, loads code, catches an error or prints.
constexpr const char* forbidden[] = {"dofile",  "loadfile",       "load",    "loadstring", "require",
                                     "module",  "print",          "pcall",   "xpcall",     "getfenv",
                                     "setfenv", "collectgarbage", "newproxy"};

}  // namespace

script_engine::script_engine(keyspace& keys, std::string prefix)
    : keys_(keys), prefix_(std::move(prefix)), state_(luaL_newstate()) {
  if (!state_) throw std::bad_alloc();
  luaJIT_setmode(state_, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  for (const auto& [name, open] : {std::pair<const char*, lua_CFunction>{"", luaopen_base},
                                   {LUA_STRLIBNAME, luaopen_string},
                                   {LUA_TABLIBNAME, luaopen_table},
                                   {LUA_MATHLIBNAME, luaopen_math}}) {
    lua_pushcfunction(state_, open);
    lua_pushstring(state_, name);
    lua_call(state_, 1, 0);
  }
  for (const auto* name : forbidden) {
    lua_pushnil(state_);
    lua_setglobal(state_, name);
  }
  lua_pushlightuserdata(state_, const_cast<char*>(&self_key));
  lua_pushlightuserdata(state_, this);
  lua_rawset(state_, LUA_REGISTRYINDEX);
  lua_createtable(state_, 0, 2);
  lua_pushcfunction(state_, on_call);
  lua_setfield(state_, -2, "call");
  lua_pushcfunction(state_, on_pcall);
  lua_setfield(state_, -2, "pcall");
  lua_setglobal(state_, "redis");
  lua_createtable(state_, 1, 0);
  lua_pushlstring(state_, prefix_.data(), prefix_.size());
  lua_rawseti(state_, -2, 1);
  lua_setglobal(state_, "KEYS");
  lua_sethook(state_, on_count, LUA_MASKCOUNT, counted_at_once);
}

script_engine::~script_engine() { lua_close(state_); }

script_engine& script_engine::self(lua_State* state) {
  lua_pushlightuserdata(state, const_cast<char*>(&self_key));
  lua_rawget(state, LUA_REGISTRYINDEX);
  auto* const found = static_cast<script_engine*>(lua_touserdata(state, -1));
  lua_pop(state, 1);
  return *found;
}

void script_engine::on_count(lua_State* state, lua_Debug*) {
  auto& me = self(state);
  me.counted_ += counted_at_once;
  if (me.counted_ > most_instructions) luaL_error(state, "it would not come to an end");
  if (lua_gc(state, LUA_GCCOUNT, 0) > most_memory_kib) luaL_error(state, "it would take too much memory");
}

// Everything that has a destructor is gone, or is a member, when Lua jumps.
int script_engine::on_call(lua_State* state) {
  auto& me = self(state);
  if (!me.carry_out(lua_gettop(state))) {
    lua_pushlstring(state, me.wrong_.data(), me.wrong_.size());
    return lua_error(state);
  }
  me.push_answer();
  return 1;
}

// Only of what fails by itself on Redis, and may: who cannot publish is heard later.
int script_engine::on_pcall(lua_State* state) { return on_call(state); }

// Redis takes texts and numbers.
bool script_engine::carry_out(int words) noexcept {
  try {
    words_.clear();
    digits_.clear();
    digits_.reserve(static_cast<std::size_t>(words) * 32);  // so that it does not move
    for (int i = 1; i <= words; ++i) {
      if (lua_type(state_, i) == LUA_TSTRING) {
        std::size_t size = 0;
        const char* const bytes = lua_tolstring(state_, i, &size);
        words_.emplace_back(bytes, size);
      } else if (lua_type(state_, i) == LUA_TNUMBER) {
        const double n = lua_tonumber(state_, i);
        char digits[32];
        const auto end = std::abs(n) < 1e18 && n == std::trunc(n)
                             ? std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(n)).ptr
                             : std::to_chars(digits, digits + sizeof digits, n, std::chars_format::general, 17).ptr;
        const auto from = digits_.size();
        digits_.append(digits, static_cast<std::size_t>(end - digits));
        words_.emplace_back(digits_.data() + from, digits_.size() - from);
      } else {
        throw command_error{"ERR Lua redis() command arguments must be strings or integers"};
      }
    }
    if (words_.empty()) throw command_error{"ERR Please specify at least one argument for this redis.call()"};
    keys_.call(words_, answer_);
    return true;
  } catch (const command_error& e) {
    wrong_ = e.message;
  } catch (const failure& f) {
    wrong_ = f.message;
    failed_ = f;
  } catch (const std::bad_alloc&) {
    wrong_ = "out of memory";
    failed_ = failure{SQLITE_NOMEM, wrong_};
  }
  return false;
}

void script_engine::push_part(std::size_t& at) {
  const auto& p = answer_.parts()[at++];
  if (p.is_nothing) {
    lua_pushboolean(state_, 0);
  } else if (p.is_list) {
    lua_createtable(state_, static_cast<int>(p.size), 0);
    const auto end = at + p.size;
    for (int i = 1; at < end; ++i) {
      push_part(at);
      lua_rawseti(state_, -2, i);
    }
  } else {
    const auto bytes = answer_.bytes(p);
    lua_pushlstring(state_, bytes.data(), bytes.size());
  }
}

void script_engine::push_answer() {
  std::size_t at = 0;
  switch (answer_.what()) {
    case command_answer::kind::nothing: lua_pushboolean(state_, 0); return;
    case command_answer::kind::number: lua_pushnumber(state_, static_cast<double>(answer_.number())); return;
    case command_answer::kind::text: push_part(at); return;
    case command_answer::kind::status:
      lua_createtable(state_, 0, 1);
      push_part(at);
      lua_setfield(state_, -2, "ok");
      return;
    case command_answer::kind::list: break;
  }
  lua_createtable(state_, static_cast<int>(answer_.parts().size()), 0);
  for (int i = 1; at < answer_.parts().size(); ++i) {
    push_part(at);
    lua_rawseti(state_, -2, i);
  }
}

void script_engine::raise_failed() {
  std::size_t size = 0;
  const char* const said = lua_tolstring(state_, -1, &size);
  command_error e{cat("script ", running_.substr(1), ": ", said ? std::string_view(said, size) : "it failed")};
  lua_settop(state_, 0);
  if (failed_) throw *failed_;
  throw e;
}

// Compiled once, when it is first run.
void script_engine::push_script(machine::script s) {
  auto& known = loaded_[static_cast<std::size_t>(s)];
  if (known == 0) {
    if (luaL_loadbuffer(state_, text_.data(), text_.size(), running_.c_str()) != 0) lua_error(state_);
    known = luaL_ref(state_, LUA_REGISTRYINDEX);
  }
  lua_rawgeti(state_, LUA_REGISTRYINDEX, known);
}

void script_engine::give_arguments(const machine::call& c, std::string_view instant, std::string_view token) {
  lua_createtable(state_, static_cast<int>(c.size()) + 2, 0);
  lua_pushlstring(state_, instant.data(), instant.size());
  lua_rawseti(state_, -2, 1);
  lua_pushlstring(state_, token.data(), token.size());
  lua_rawseti(state_, -2, 2);
  for (std::size_t i = 0; i < c.size(); ++i) {
    lua_pushlstring(state_, c[i].data(), c[i].size());
    lua_rawseti(state_, -2, static_cast<int>(i) + 3);
  }
  lua_setglobal(state_, "ARGV");
}

// As Redis turns Lua's values into replies: a list ends at its first nil, and numbers lose what is not whole.
void script_engine::read_value(machine::reply& into, std::size_t place) {
  switch (lua_type(state_, -1)) {
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* const bytes = lua_tolstring(state_, -1, &size);
      into.set_text(place, {bytes, size});
      return;
    }
    case LUA_TNUMBER: into.set_number(place, static_cast<std::int64_t>(lua_tonumber(state_, -1))); return;
    case LUA_TBOOLEAN:
      if (lua_toboolean(state_, -1) != 0) into.set_number(place, 1);
      return;
    case LUA_TTABLE: break;
    default: return;
  }
  std::size_t size = 0;
  for (const auto most = lua_objlen(state_, -1); size < most; ++size) {
    lua_rawgeti(state_, -1, static_cast<int>(size) + 1);
    const bool is_there = !lua_isnil(state_, -1);
    lua_pop(state_, 1);
    if (!is_there) break;
  }
  const auto first = into.set_list(place, size);
  for (std::size_t i = 0; i < size; ++i) {
    lua_rawgeti(state_, -1, static_cast<int>(i) + 1);
    read_value(into, first + i);
    lua_pop(state_, 1);
  }
}

struct script_engine::one_run {
  script_engine& me;
  const machine::call& asked;
  std::string_view instant, token;
};

// All that may raise in Lua; the answer stays in the registry.
int script_engine::on_run(lua_State* state) {
  auto& [me, asked, instant, token] = *static_cast<one_run*>(lua_touserdata(state, 1));
  me.give_arguments(asked, instant, token);
  me.push_script(asked.what());
  lua_call(state, 0, 1);
  lua_setfield(state, LUA_REGISTRYINDEX, answer_key);
  return 0;
}

void script_engine::run(const machine::call& c, std::string_view instant, std::string_view token,
                        const std::function<void(const machine::item&)>& read) {
  const auto s = c.what();
  running_ = std::string("=").append(machine::of(s).name);
  text_ = machine::of(s).text;
  counted_ = 0;
  failed_.reset();
  one_run all{*this, c, instant, token};
  if (lua_cpcall(state_, on_run, &all) != 0) raise_failed();
  lua_getfield(state_, LUA_REGISTRYINDEX, answer_key);
  machine::reply answer;
  read_value(answer, 0);
  read(answer.root());
  lua_settop(state_, 0);
}

}  // namespace sluice::storage::sqlite
