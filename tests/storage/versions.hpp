// Other versions of Sluice than this: the one that was released with layout 4, and one that there may be some day.
#pragma once

#include <deque>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "storage/machine/script.hpp"
#include "support/places.hpp"

namespace sluice::test {

class version {
public:
  version(const version&) = delete;

  const storage::machine::edition& known() const { return known_; }
  // Those that it has.
  std::vector<storage::machine::script> scripts() const {
    std::vector<storage::machine::script> all;
    for (std::size_t i = 0; i < storage::machine::script_count; ++i)
      if (!known_.scripts[i].text.empty()) all.push_back(static_cast<storage::machine::script>(i));
    return all;
  }

protected:
  explicit version(std::uint64_t layout) { known_.layout = layout; }

  void add(storage::machine::script s, std::string text, std::string hash) {
    const auto& its = storage::machine::of(s);
    const auto& kept_text = kept_.emplace_back(std::move(text));
    known_.scripts[static_cast<std::size_t>(s)] = {its.name, its.does, kept_.emplace_back(std::move(hash)), kept_text};
  }

private:
  storage::machine::edition known_;
  std::deque<std::string> kept_;
};

// The scripts as they were released (freeze_layout).
class released_layout_4 : public version {
public:
  released_layout_4() : version(4) {
    std::ifstream in(built_path("tests/storage/layout_4/scripts.txt"));
    std::string name, hash, text;
    const auto keep = [&] {
      for (std::size_t i = 0; i < storage::machine::script_count; ++i)
        if (const auto s = static_cast<storage::machine::script>(i); storage::machine::of(s).name == name)
          add(s, text, hash);
      text.clear();
    };
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("== ")) {
        keep();
        const auto space = line.find(' ', 3);
        name = line.substr(3, space - 3);
        hash = line.substr(space + 1);
      } else {
        text += line + '\n';
      }
    }
    keep();
  }
};

// A later version, which keeps runs under another key, and knows how they get there from layout 4.
class later_layout_5 : public version {
public:
  // By which Redis knows a text.
  using hashed = std::function<std::string(const std::string&)>;

  explicit later_layout_5(const hashed& hash) : version(5) {
    for (std::size_t i = 0; i < storage::machine::script_count; ++i) {
      const auto s = static_cast<storage::machine::script>(i);
      std::string text(storage::machine::of(s).text);
      replace(text, "local layout = '4'", "local layout = '5'");
      if (text.find("local runs = ") != std::string::npos) replace(text, "P .. ':runs'", "P .. ':starts'");
      if (s == storage::machine::script::raise)
        replace(text, "local steps = {}", R"lua(local steps = {[4] = function()
  local rows = call('HGETALL', P .. ':runs')
  for i = 1, #rows, 2 do
    call('HSET', P .. ':starts', rows[i], rows[i + 1])
    call('HDEL', P .. ':runs', rows[i])
  end
end})lua");
      auto known_by = hash(text);
      add(s, std::move(text), std::move(known_by));
    }
  }

private:
  static void replace(std::string& text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    if (at == std::string::npos) throw std::runtime_error("a script does not say " + what);
    text.replace(at, what.size(), by);
  }
};

}  // namespace sluice::test
