// What handlers capture outlives the server that runs them.
#include <filesystem>
#include <fstream>
#include <regex>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace sluice::test {
namespace {

// A handler may look at a flag once more after its test has ended; so flags stand before the world that joins it.
std::vector<std::string> flags_behind_worlds(std::istream& in) {
  static const std::regex world(R"(^ +(\w*_world|TestType|on_sqlite|on_redis) \w+[;({].*)");
  static const std::regex flag(R"(^ +(std::(atomic|mutex|latch|condition_variable|promise)\b.*|seen_\w+ \w+;))");
  std::vector<std::string> found;
  std::string indent;  // of the test's first world
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto first = line.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    if (first == 0) indent.clear();
    if (indent.empty() && std::regex_match(line, world) && !line.ends_with('{')) indent = line.substr(0, first);
    else if (!indent.empty() && line.substr(0, first) == indent && std::regex_match(line, flag))
      found.push_back(cat(number, ": ", line.substr(first)));
  }
  return found;
}

}  // namespace

TEST_CASE("flags that handlers of a test look at are declared before its server") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/actors"))) {
    if (entry.path().extension() != ".cpp") continue;
    ++files;
    std::ifstream in(entry.path());
    for (const auto& line : flags_behind_worlds(in)) {
      INFO(entry.path().filename().string() << ":" << line);
      CHECK(line.empty());
    }
  }
  CHECK(files > 10);
}

TEST_CASE("a flag behind a world is found, and one before it is not") {
  std::istringstream wrong("TEST_CASE() {\n  server_world w;\n  std::atomic<int> runs{0};\n}\n");
  CHECK(flags_behind_worlds(wrong) == std::vector<std::string>{"3: std::atomic<int> runs{0};"});
  std::istringstream right(
      "TEST_CASE() {\n  std::mutex m;\n  server_world w;\n}\nTEST_CASE() {\n  std::latch l(1);\n}\n");
  CHECK(flags_behind_worlds(right).empty());
}

}  // namespace sluice::test
