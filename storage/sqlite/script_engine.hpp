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
  struct bounds {
    std::uint64_t instructions = 2'000'000'000;  // some ten seconds
    int memory_kib = 512 * 1024;
  };
  // A text to run with its arguments, and where it stands in Lua's registry once it was compiled; 0: not yet.
  struct one_run {
    const machine::call& asked;
    std::string_view instant, token, name, text;
    int& compiled;
  };

  script_engine(keyspace& keys, std::string_view prefix) : script_engine(keys, prefix, bounds()) {}
  script_engine(keyspace& keys, std::string_view prefix, bounds most,
                const machine::edition& known = machine::current_edition());
  ~script_engine();
  script_engine(const script_engine&) = delete;

  // Runs a script and has its answer read. `instant`: in microseconds. Throws failure, and command_error with what went
  // wrong in the script; then some of it may have been done, and the transaction must not be kept.
  void run(const machine::call& c, std::string_view instant, std::string_view token,
           const std::function<void(const machine::item&)>& read);
  void run_text(const one_run& all, const std::function<void(const machine::item&)>& read);

private:
  static int on_run(lua_State* state);
  static int on_call(lua_State* state);
  static int on_unknown(lua_State* state);
  static void give_arguments(lua_State* state, const one_run& run);
  static void on_count(lua_State* state, lua_Debug*);
  static script_engine& self(lua_State* state);
  bool carry_out(int words) noexcept;
  void push_answer();
  void refuse_error();
  void read_value(machine::reply& into, std::size_t place);
  [[noreturn]] void raise_failed(std::string_view name);

  keyspace& keys_;
  const machine::edition& known_;
  const bounds most_;
  lua_State* state_;
  std::array<int, machine::script_count> compiled_{};
  std::uint64_t counted_ = 0;
  // Of the command that is being carried out. They outlive a jump of Lua's over the C++ stack.
  std::vector<std::string_view> words_;
  std::vector<std::string> numbers_;
  command_answer answer_;
  std::string wrong_;
  std::optional<failure> failed_;  // of SQLite
};

}  // namespace sluice::storage::sqlite
