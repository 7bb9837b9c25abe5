// Runs the scripts of storage/machine in this process, as Redis would: LuaJIT's interpreter, whose numbers and order of
// texts know no locale, over a keyspace. A script sees neither files nor the system, and cannot catch what a command
// raises: redis.pcall is redis.call. A bound on instructions and memory ends one that would never end.
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
  script_engine(keyspace& keys, std::string_view prefix);
  ~script_engine();
  script_engine(const script_engine&) = delete;

  // Runs a script and has its answer read. `instant`: in microseconds. Throws failure, and command_error with what went
  // wrong in the script; then some of it may have been done, and the transaction must not be kept.
  void run(const machine::call& c, std::string_view instant, std::string_view token,
           const std::function<void(const machine::item&)>& read);

private:
  struct one_run;
  static int on_run(lua_State* state);
  static int on_call(lua_State* state);
  static void on_count(lua_State* state, lua_Debug*);
  static script_engine& self(lua_State* state);
  bool carry_out(int words) noexcept;
  void push_answer();
  void refuse_error();
  void read_value(machine::reply& into, std::size_t place);
  [[noreturn]] void raise_failed(std::string_view name);

  keyspace& keys_;
  lua_State* state_;
  std::array<int, machine::script_count> compiled_{};  // where in Lua's registry; 0: not yet
  std::uint64_t counted_ = 0;
  // Of the command that is being carried out. They outlive a jump of Lua's over the C++ stack.
  std::vector<std::string_view> words_;
  std::vector<std::string> numbers_;
  command_answer answer_;
  std::string wrong_;
  std::optional<failure> failed_;  // of SQLite
};

}  // namespace sluice::storage::sqlite
