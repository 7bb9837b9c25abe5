// Other versions of Sluice than this: the one that was released with layout 4, another one of this layout, and one that
// there may be some day.
#pragma once

#include <fstream>
#include <stdexcept>
#include <vector>

#include <nlohmann/json.hpp>

#include "storage/machine/library.hpp"
#include "support/places.hpp"

namespace sluice::test {

struct version {
  storage::machine::library known;
  std::vector<storage::machine::verb> verbs;  // that it has
};

// The rules as they were released, when each call was a script: a line "== NAME SHA-1", and its text.
inline version released_layout_4() {
  std::ifstream in(built_path("tests/storage/layout_4/scripts.txt"));
  std::string text = "local calls, library = {}, {}\n";
  std::vector<storage::machine::verb> verbs;
  bool is_open = false;
  const auto end = [&] {
    if (is_open) text += "end\n";
  };
  // A function of Lua captures at most 60 variables, and these do: what they are given is no other one.
  const auto add = [&](const std::string& line) {
    text += line == "return (function()" ? "return (function(KEYS, ARGV)"
            : line == "end)()"           ? "end)(KEYS, ARGV)"
                                         : line;
    text += '\n';
  };
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("== ")) {
      add(line);
      continue;
    }
    end();
    is_open = true;
    const auto name = line.substr(3, line.find(' ', 3) - 3);
    text += "calls." + name + " = function(KEYS, ARGV)\n";
    for (std::size_t i = 0; i < storage::machine::verb_count; ++i)
      if (const auto v = static_cast<storage::machine::verb>(i); storage::machine::about(v).function == name)
        verbs.push_back(v);
  }
  end();
  return {{4, text + "function library.entry(name) return calls[name] end\n"}, verbs};
}

// A store that the release of layout 4 had made when its server was killed: the commands that write it, the first of
// which is NOW and the instant.
inline std::vector<std::vector<std::string>> store_of_layout_4() {
  std::ifstream in(built_path("tests/storage/layout_4/store.msgpack"), std::ios::binary);
  return nlohmann::json::from_msgpack(in).get<std::vector<std::vector<std::string>>>();
}

inline void replace(std::string& text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  if (at == std::string::npos) throw std::runtime_error("the rules do not say " + what);
  text.replace(at, what.size(), by);
}

inline std::vector<storage::machine::verb> all_verbs() {
  std::vector<storage::machine::verb> verbs;
  for (std::size_t i = 0; i < storage::machine::verb_count; ++i)
    verbs.push_back(static_cast<storage::machine::verb>(i));
  return verbs;
}

// Another version of this layout: a library of another name.
inline version sibling() {
  auto text = storage::machine::current_text();
  replace(text, "clock_slack = ", "of_another_version = 1, clock_slack = ");
  return {{storage::machine::layout, text}, all_verbs()};
}

// A later version, which keeps runs under another key, and knows how they get there from this layout.
inline version later_layout() {
  auto text = storage::machine::current_text();
  const auto ours = std::to_string(storage::machine::layout), its = std::to_string(storage::machine::layout + 1);
  replace(text, "layout = " + ours, "layout = " + its);
  replace(text, "runs = ':runs'", "runs = ':starts'");
  replace(text, "local raises = {}", R"lua(local raises = {[constants.layout - 1] = function(step)
  local rows = redis.call('HGETALL', step.prefix .. ':runs')
  for i = 1, #rows, 2 do
    redis.call('HSET', step.prefix .. ':starts', rows[i], rows[i + 1])
    redis.call('HDEL', step.prefix .. ':runs', rows[i])
  end
end})lua");
  return {{storage::machine::layout + 1, text}, all_verbs()};
}

}  // namespace sluice::test
