// What must hold of the library of rules (storage/rules), and no run of it would tell.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace sluice;

namespace {

using lines = std::vector<std::string>;

std::vector<std::filesystem::path> rule_files() {
  std::vector<std::filesystem::path> all;
  for (const auto& one : std::filesystem::recursive_directory_iterator(test::source_path("storage/rules")))
    if (one.path().extension() == ".lua") all.push_back(one.path());
  return all;
}
lines read(const std::filesystem::path& file) {
  std::ifstream in(file);
  lines all;
  for (std::string line; std::getline(in, line);)
    all.push_back(line);
  return all;
}

// Names with commas between.
lines names_in(const std::string& list) {
  lines all;
  for (std::size_t from = 0; from < list.size();) {
    const auto end = std::min(list.find(',', from), list.size());
    const auto first = list.find_first_not_of(' ', from);
    if (first < end) all.push_back(list.substr(first, list.find_last_not_of(' ', end - 1) + 1 - first));
    from = end + 1;
  }
  return all;
}

// What lives on behind a call: the modules, and what a file declares outside of functions.
std::set<std::string> kept_by(const lines& file) {
  static const std::regex declared("^local (?:function )?([a-z_0-9, ]+)");
  std::set<std::string> names{"calls", "by_name", "fresh", "constants"};
  for (const auto& one : rule_files())
    if (one.parent_path().filename() != "calls") names.insert(one.stem().string());
  for (const auto& text : {read(test::source_path("storage/rules/prelude.lua")), file})
    for (const auto& line : text)
      if (std::smatch found; std::regex_search(line, found, declared))
        for (const auto& name : names_in(found[1].str()))
          names.insert(name);
  return names;
}

// What a line inside of a function assigns to, without what it declares. Entries of a table end with a comma.
lines assigned_by(std::string line) {
  static const std::regex texts("'[^']*'"), comments("--.*"), entry(",\\s*$"),
      assignment(
          "(?:^ +|\\bthen |\\belse |\\bdo )((?:[a-z_0-9]+(?:[.\\[][^=(),]*)?, )*[a-z_0-9]+(?:[.\\[][^=(),]*)?) = ");
  line = std::regex_replace(std::regex_replace(line, texts, "''"), comments, "");
  lines names;
  if (!line.starts_with(' ') || line.find("  local ") != std::string::npos || std::regex_search(line, entry))
    return names;
  for (auto at = std::sregex_iterator(line.begin(), line.end(), assignment); at != std::sregex_iterator(); ++at)
    for (const auto& target : names_in((*at)[1].str()))
      names.push_back(target.substr(0, target.find_first_of(".[")));
  return names;
}

}  // namespace

TEST_CASE("no function of the rules assigns to what lives on behind its call but the two caches of base.lua") {
  REQUIRE(rule_files().size() > 50);
  lines found;
  for (const auto& file : rule_files()) {
    const auto text = read(file);
    const auto kept = kept_by(text);
    for (const auto& line : text)
      for (const auto& name : assigned_by(line))
        if (kept.contains(name)) found.push_back(cat(file.filename().string(), ": ", name));
  }
  CHECK(found == lines{"base.lua: keys_of_prefix", "base.lua: setmetatable", "base.lua: error", "base.lua: pack_value",
                       "base.lua: unpack_value"});
}

TEST_CASE("an assignment to what lives on is found however it is written") {
  CHECK(assigned_by("  seen = 1") == lines{"seen"});
  CHECK(assigned_by("    if a then seen.of[id], other = 1, 2 end") == lines{"seen", "other"});
  CHECK(assigned_by("  local seen = 1").empty());
  CHECK(assigned_by("seen = 1").empty());
  CHECK(assigned_by("  if seen == 1 then return end").empty());
}

TEST_CASE("no function of the rules has more than 80 lines") {
  static const std::regex begins("^(?:local )?function ([a-z_.]+)");
  for (const auto& file : rule_files()) {
    std::string name;
    std::size_t first = 0;
    const auto text = read(file);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (std::smatch found; std::regex_search(text[i], found, begins)) name = found[1], first = i;
      if (text[i] != "end") continue;
      CAPTURE(file.string(), name);
      CHECK(i - first < 80);
    }
  }
}

TEST_CASE("the commands that a user must be allowed are those that the rules use") {
  const auto commands_in = [](const lines& text, const std::regex& used) {
    std::set<std::string> found;
    for (const auto& line : text)
      for (auto at = std::sregex_iterator(line.begin(), line.end(), used); at != std::sregex_iterator(); ++at)
        found.insert((*at)[1]);
    return found;
  };
  static const std::regex used("(?:call\\(|many\\(|each_list\\([^']*|scan_for.*|and |or |= )'([A-Z]+)'");
  std::set<std::string> all;
  for (const auto& file : rule_files())
    if (file.filename() != "rights.lua") all.merge(commands_in(read(file), used));
  for (const auto* word : {"PUBLISH", "MADE", "OK", "REV", "LT", "LIMIT"})
    all.erase(word);
  const auto asked =
      commands_in(read(test::source_path("storage/rules/rights.lua")), std::regex("[{ (]'([A-Z]{3,})'[,})]"));
  CHECK(asked == all);
  std::string documented;
  for (const auto& line : read(test::source_path("docs/store_layout.md")))
    documented += line + ' ';
  const auto from = documented.find("those that the rules call: `") + 28;
  const auto list = documented.substr(from, documented.find('`', from) - from);
  std::set<std::string> words;
  static const std::regex word("[A-Z]+");
  for (auto at = std::sregex_iterator(list.begin(), list.end(), word); at != std::sregex_iterator(); ++at)
    words.insert(at->str());
  CHECK(words == all);
}
