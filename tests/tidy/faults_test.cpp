#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"

namespace sluice::test {
namespace {

constexpr int faults = 62;

// All that their files say outside of comments.
std::string all_tests(const std::string& root) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/tests")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      if (!line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with("//")) all += line + '\n';
  }
  return all;
}

// What stands in quotes in the last column.
std::vector<std::string> named_tests(const std::string& row) {
  std::istringstream last(row.substr(row.rfind('|', row.size() - 3)));
  std::vector<std::string> found;
  std::string between, name;
  while (std::getline(last, between, '"') && std::getline(last, name, '"'))
    found.push_back(name);
  return found;
}

}  // namespace

TEST_CASE("each fault in the table of faults has a test that is there or a sentence why none can be") {
  const std::string root = source_path();
  const auto tests = all_tests(root);
  std::istringstream table(read_file(root + "/docs/faults.md"));
  std::set<int> seen;
  for (std::string row; std::getline(table, row);) {
    if (!row.starts_with("| ") || row[2] < '0' || row[2] > '9') continue;
    CAPTURE(row);
    REQUIRE(row.ends_with(" |"));
    CHECK(seen.insert(std::stoi(row.substr(2))).second);
    const auto named = named_tests(row);
    CHECK(named.empty() == (row.find("| No test: ") != std::string::npos));
    for (const auto& name : named) {
      CAPTURE(name);
      CHECK(tests.find(cat('"', name, '"')) != std::string::npos);
    }
  }
  for (int n = 1; n <= faults; ++n) {
    CAPTURE(n);
    CHECK(seen.count(n) == 1);
  }
}

}  // namespace sluice::test
