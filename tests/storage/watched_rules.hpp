// The rules of this version, watched: their commands fail at random, and each call looks first whether a call before
// it, or one that an error ended, has left something behind in a module or in a local of a file.
#pragma once

#include <regex>
#include <sstream>

#include "storage/versions.hpp"

namespace sluice::test {

// What a watched call that finds something says of it.
inline constexpr const char* left_behind = "left behind by a call: ";

// In front of the rules: what is kept, by file and name, and a command that fails now and then. Not at once, so that a
// store can be made.
inline constexpr const char* watching = R"lua(
local kept, commands, fails_at, drawn = {}, 0, 200, SEED
local function watched_call(...)
  commands = commands + 1
  if commands == fails_at then
    drawn = (drawn * 1103515245 + 12345) % 2147483648
    fails_at = fails_at + 1 + drawn % 400
    error('a command that was to fail')
  end
  return redis.call(...)
end
)lua";

// Behind them. Functions and texts are what they are; the keys of a prefix, which never change, are not looked at.
inline constexpr const char* looking = R"lua(
local function shown(value, depth)
  if type(value) ~= 'table' then return tostring(value) end
  if depth == 0 then return '...' end
  local parts = {}
  for name, one in pairs(value) do parts[#parts + 1] = tostring(name) .. '=' .. shown(one, depth - 1) end
  table.sort(parts)
  return '{' .. table.concat(parts, ' ') .. '}'
end
local first
local function look()
  local now = {}
  for name, value in pairs(kept) do now[name] = shown(value, 4) end
  first = first or now
  for name, said in pairs(now) do
    if first[name] ~= said then error('left behind by a call: ' .. name .. ' is ' .. string.sub(said, 1, 300)) end
  end
end
local entry = library.entry
function library.entry(name)
  local carry_out = entry(name)
  return carry_out and function(KEYS, ARGV)
    base.fetch_prelude()
    look()
    return carry_out(KEYS, ARGV)
  end
end
)lua";

inline version watched_rules(unsigned seed) {
  static const std::regex of_file("^local (?:function )?([a-z_0-9, ]+)"), of_all("^local ([a-z_]+) = \\{\\}$"),
      name("[a-z_0-9]+");
  std::istringstream text(storage::machine::current_text());
  std::string all = watching, block, file, modules;
  replace(all, "SEED", std::to_string(seed));
  std::vector<std::string> its;
  const auto end_file = [&] {
    if (file.empty()) return;
    for (const auto& one : its)
      if (one != "keys_of_prefix") block += "kept['" + file + " " + one + "'] = " + one + "\n";
    all += block + "end\n";
    block.clear();
    its.clear();
  };
  std::string last;  // the line before, which is the block's end when another block begins
  for (std::string line; std::getline(text, line); last = line) {
    if (line.starts_with("do  -- ")) {
      if (!file.empty()) block.resize(block.size() - std::string("end\n").size());
      end_file();
      file = line.substr(7);
    }
    std::smatch found;
    if (file.empty() && std::regex_search(line, found, of_all)) {
      modules += "kept['module " + found[1].str() + "'] = " + found[1].str() + "\n";
    } else if (!file.empty() && std::regex_search(line, found, of_file)) {
      const auto list = found[1].str();
      for (auto at = std::sregex_iterator(list.begin(), list.end(), name); at != std::sregex_iterator(); ++at)
        its.push_back(at->str());
    }
    (file.empty() ? all : block) += line + "\n";
  }
  block.resize(block.size() - std::string("end\n").size());
  end_file();
  replace(all, "return redis.call,", "return watched_call,");
  return {{storage::machine::layout,
           all + "kept['module calls'] = calls\nkept['module by_name'] = by_name\nkept['module fresh'] = fresh\n" +
               modules + looking},
          {}};
}

}  // namespace sluice::test
