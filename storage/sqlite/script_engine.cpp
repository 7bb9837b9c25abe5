#include "storage/sqlite/script_engine.hpp"

#include <lua.hpp>

#include "core/text.hpp"
#include "storage/sqlite/message_pack.hpp"

namespace sluice::storage::sqlite {
namespace {

constexpr int counted_at_once = 1'000'000;

// In Lua's registry.
constexpr const char* self_key = "sluice.engine";
constexpr const char* answer_key = "sluice.answer";

// What the library may use of Lua: nothing that reads files, loads code, catches an error or prints.
constexpr const char* forbidden[] = {"dofile",  "loadfile",       "load",    "loadstring", "require",
                                     "module",  "print",          "pcall",   "xpcall",     "getfenv",
                                     "setfenv", "collectgarbage", "newproxy"};

void push(lua_State* state, std::string_view text) { lua_pushlstring(state, text.data(), text.size()); }

// Of what is a text.
std::string_view text_at(lua_State* state, int index) {
  std::size_t size = 0;
  const char* const bytes = lua_tolstring(state, index, &size);
  return {bytes, size};
}

// Of what 64 bits cannot hold: 0.
std::int64_t whole_part(double n) { return n >= -0x1p63 && n < 0x1p63 ? static_cast<std::int64_t>(n) : 0; }

}  // namespace

script_engine::script_engine(keyspace& keys, std::string_view prefix, bounds most, const machine::library& known)
    : keys_(keys), known_(known), most_(most), text_(known.for_embedded()), state_(luaL_newstate()) {
  if (!state_) throw std::bad_alloc();
  luaJIT_setmode(state_, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  for (const auto open : {luaopen_base, luaopen_string, luaopen_table, luaopen_math}) {
    lua_pushcfunction(state_, open);
    lua_call(state_, 0, 0);
  }
  for (const auto* name : forbidden) {
    lua_pushnil(state_);
    lua_setglobal(state_, name);
  }
  lua_pushlightuserdata(state_, this);
  lua_setfield(state_, LUA_REGISTRYINDEX, self_key);
  // Redis' pcall answers what went wrong. It is used only where nothing can: whoever listens is told elsewhere.
  lua_createtable(state_, 0, 2);
  for (const auto* name : {"call", "pcall"}) {
    lua_pushcfunction(state_, on_call);
    lua_setfield(state_, -2, name);
  }
  lua_setglobal(state_, "redis");
  open_message_pack(state_);
  lua_createtable(state_, 1, 0);
  push(state_, prefix);
  lua_rawseti(state_, -2, 1);
  keys_table_ = luaL_ref(state_, LUA_REGISTRYINDEX);
  lua_createtable(state_, 0, 1);
  lua_pushcfunction(state_, on_unknown);
  lua_setfield(state_, -2, "__index");
  lua_setmetatable(state_, LUA_GLOBALSINDEX);
  lua_sethook(state_, on_count, LUA_MASKCOUNT, counted_at_once);
  if (lua_cpcall(state_, on_load, this) == 0) return;
  const std::string why(lua_isstring(state_, -1) ? text_at(state_, -1) : "it failed");
  lua_close(state_);
  throw command_error{cat("the library: ", known_.with_places(why))};
}

script_engine::~script_engine() { lua_close(state_); }

script_engine& script_engine::self(lua_State* state) {
  lua_getfield(state, LUA_REGISTRYINDEX, self_key);
  auto* const found = static_cast<script_engine*>(lua_touserdata(state, -1));
  lua_pop(state, 1);
  return *found;
}

void script_engine::on_count(lua_State* state, lua_Debug*) {
  auto& me = self(state);
  me.counted_ += counted_at_once;
  if (me.counted_ > me.most_.instructions) luaL_error(state, "it would not come to an end");
  if (lua_gc(state, LUA_GCCOUNT, 0) > me.most_.memory_kib) luaL_error(state, "it would take too much memory");
}

// As on Redis: nothing would tell a wrong name from one that is nil.
int script_engine::on_unknown(lua_State* state) {
  const char* const name = lua_tostring(state, 2);
  return luaL_error(state, "Script attempted to access nonexistent global variable '%s'", name ? name : "?");
}

// Everything that has a destructor is gone, or is a member, when Lua jumps.
int script_engine::on_call(lua_State* state) {
  auto& me = self(state);
  if (!me.carry_out(lua_gettop(state))) {
    push(state, me.wrong_);
    return lua_error(state);
  }
  me.push_answer();
  return 1;
}

bool script_engine::carry_out(int words) noexcept try {
  words_.clear();
  numbers_.clear();
  numbers_.reserve(static_cast<std::size_t>(words));  // so that none moves
  for (int i = 1; i <= words; ++i) {
    if (lua_type(state_, i) == LUA_TSTRING) words_.push_back(text_at(state_, i));
    else if (lua_type(state_, i) == LUA_TNUMBER)
      words_.emplace_back(numbers_.emplace_back(text_of(lua_tonumber(state_, i))));
    else throw command_error{"ERR Lua redis() command arguments must be strings or integers"};
  }
  if (words_.empty()) throw command_error{"ERR Please specify at least one argument for this redis.call()"};
  keys_.call(words_, answer_);
  return true;
} catch (const command_error& e) {
  wrong_ = e.message;
  return false;
} catch (const failure& f) {
  wrong_ = f.message;
  failed_ = f;
  return false;
} catch (const std::exception& e) {
  wrong_ = e.what();
  failed_ = failure{SQLITE_NOMEM, wrong_};
  return false;
}

void script_engine::push_answer() {
  const auto& parts = answer_.parts();
  const auto push_part = [&](const command_answer::part& p) {
    if (p.is_nothing) lua_pushboolean(state_, 0);
    else push(state_, answer_.bytes(p));
  };
  const auto push_list = [&](std::size_t size) {
    lua_createtable(state_, static_cast<int>(size), 0);
    for (std::size_t i = 0; i < size; ++i) {
      push_part(parts[i]);
      lua_rawseti(state_, -2, static_cast<int>(i) + 1);
    }
  };
  switch (answer_.what()) {
    case command_answer::kind::nothing: lua_pushboolean(state_, 0); return;
    case command_answer::kind::number: lua_pushnumber(state_, static_cast<double>(answer_.number())); return;
    case command_answer::kind::text: push_part(parts.front()); return;
    case command_answer::kind::list: push_list(parts.size()); return;
    case command_answer::kind::slice: break;
  }
  lua_createtable(state_, 2, 0);
  push_part(parts.back());
  lua_rawseti(state_, -2, 1);
  push_list(parts.size() - 1);
  lua_rawseti(state_, -2, 2);
}

void script_engine::raise_failed(std::string_view what) {
  if (failed_) throw failure(*failed_);
  throw command_error{
      cat(what, ": ", lua_isstring(state_, -1) ? known_.with_places(text_at(state_, -1)) : "it failed")};
}

// A call that answers {err = ...} refuses what was asked.
void script_engine::refuse_error() {
  if (!lua_istable(state_, -1)) return;
  lua_getfield(state_, -1, "err");
  if (lua_isstring(state_, -1) != 0) throw command_error{std::string(text_at(state_, -1))};
  lua_pop(state_, 1);
}

// As Redis turns Lua's values into replies: a list ends at its first nil, and numbers lose what is not whole.
void script_engine::read_value(machine::reply& into, std::size_t place) {
  if (lua_checkstack(state_, 2) == 0) throw command_error{"an answer is nested too deep"};
  switch (lua_type(state_, -1)) {
    case LUA_TSTRING: into.set_text(place, text_at(state_, -1)); return;
    case LUA_TNUMBER: into.set_number(place, whole_part(lua_tonumber(state_, -1))); return;
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

void script_engine::push_arguments(lua_State* state, const one_run& run) {
  int at = 0;
  const auto add = [&](std::string_view word) {
    push(state, word);
    lua_rawseti(state, -2, ++at);
  };
  lua_createtable(state, static_cast<int>(run.asked.size()) + 2, 0);
  add(run.instant);
  add(run.token);
  for (std::size_t i = 0; i < run.asked.size(); ++i)
    add(run.asked[i]);
}

// Loads the library: its functions stand in the registry.
int script_engine::on_load(lua_State* state) {
  auto& me = *static_cast<script_engine*>(lua_touserdata(state, 1));
  if (luaL_loadbuffer(state, me.text_.data(), me.text_.size(), "=rules") != 0) return lua_error(state);
  lua_call(state, 0, 1);
  for (std::size_t i = 0; i < machine::verb_count; ++i) {
    const auto& verb = machine::about(static_cast<machine::verb>(i));
    lua_pushvalue(state, -1);
    push(state, verb.function);
    lua_call(state, 1, 1);
    me.functions_[i] = luaL_ref(state, LUA_REGISTRYINDEX);
  }
  return 0;
}

// All that may raise in Lua; the answer stays in the registry.
int script_engine::on_run(lua_State* state) {
  const auto& run = *static_cast<const one_run*>(lua_touserdata(state, 1));
  lua_rawgeti(state, LUA_REGISTRYINDEX, run.function);
  lua_rawgeti(state, LUA_REGISTRYINDEX, self(state).keys_table_);
  push_arguments(state, run);
  lua_call(state, 2, 1);
  lua_setfield(state, LUA_REGISTRYINDEX, answer_key);
  return 0;
}

void script_engine::run(const machine::call& c, std::string_view instant, std::string_view token,
                        const std::function<void(const machine::item&)>& read) {
  lua_settop(state_, 0);
  counted_ = 0;
  failed_.reset();
  const one_run run{c, instant, token, functions_[static_cast<std::size_t>(c.what())]};
  if (lua_cpcall(state_, on_run, const_cast<one_run*>(&run)) != 0) raise_failed(machine::about(c.what()).name);
  lua_getfield(state_, LUA_REGISTRYINDEX, answer_key);
  refuse_error();
  machine::reply answer;
  read_value(answer, 0);
  read(answer.root());
}

}  // namespace sluice::storage::sqlite
