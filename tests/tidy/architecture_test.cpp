#include <filesystem>
#include <regex>
#include <set>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"

TEST_CASE("the life of a job names files that are there, each once") {
  const std::string root = sluice::test::source_path();
  const auto page = sluice::test::read_file(root + "/docs/ARCHITECTURE.md");
  const auto begin = page.find("## The life of a job");
  REQUIRE(begin != std::string::npos);
  const auto life = page.substr(begin, page.find("\nBeside this", begin) - begin);
  static const std::regex path(R"(`((\w+/)+\w+\.(cpp|hpp|lua))`)");
  std::set<std::string> seen;
  for (std::sregex_iterator at(life.begin(), life.end(), path), end; at != end; ++at) {
    const auto file = (*at)[1].str();
    INFO(file);
    CHECK(std::filesystem::exists(root + "/" + file));
    CHECK(seen.insert(file).second);
  }
  CHECK(seen.size() > 15);
}
