// Runs the calls of a library of rules in this process, as Redis would: LuaJIT's interpreter, whose numbers and order
// of texts know no locale, over a keyspace. They see neither files nor the system, and cannot catch what a command
// raises: redis.pcall is redis.call. A bound on instructions and memory ends a call that would never end.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "storage/machine/call.hpp"
#include "storage/machine/reply.hpp"
#include "storage/sqlite/keyspace.hpp"

struct lua_State;
struct lua_Debug;

namespace sluice::storage::sqlite {

class script_engine {
public:
  struct bounds {
    std::uint64_t instructions = 2'000'000'000;  // some ten seconds
    int memory_kib = 512 * 1024;
  };
  script_engine(keyspace& keys, std::string_view prefix) : script_engine(keys, prefix, bounds()) {}
  script_engine(keyspace& keys, std::string_view prefix, bounds most,
                const machine::library& known = machine::current_library());
  ~script_engine();
  script_engine(const script_engine&) = delete;

  // Runs a call and has its answer read. `instant`: in microseconds. Throws failure, and command_error with what went
  // wrong in it; then some of it may have been done, and the transaction must not be kept.
  void run(const machine::call& c, std::string_view instant, std::string_view token,
           const std::function<void(const machine::item&)>& read);

private:
  struct one_run {
    const machine::call& asked;
    std::string_view instant, token;
    int function;  // its place in Lua's registry
  };
  static int on_load(lua_State* state);
  static int on_run(lua_State* state);
  static int on_call(lua_State* state);
  static int on_unknown(lua_State* state);
  static void push_arguments(lua_State* state, const one_run& run);
  static void on_count(lua_State* state, lua_Debug*);
  static script_engine& self(lua_State* state);
  bool carry_out(int words) noexcept;
  void push_answer();
  void refuse_error();
  void read_value(machine::reply& into, std::size_t place);
  [[noreturn]] void raise_failed(std::string_view what);

  keyspace& keys_;
  const machine::library& known_;
  const bounds most_;
  std::string text_;  // of the library, to load
  lua_State* state_;
  std::array<int, machine::verb_count> functions_{};
  int keys_table_ = 0;  // what calls are given as KEYS
  std::uint64_t counted_ = 0;
  // Of the command that is being carried out. They outlive a jump of Lua's over the C++ stack.
  std::vector<std::string_view> words_;
  std::vector<std::string> numbers_;
  command_answer answer_;
  std::string wrong_;
  std::optional<failure> failed_;  // of SQLite
};

}  // namespace sluice::storage::sqlite
