// docs/testing.md shows code of the sample only, which is compiled and run.
#include <fstream>
#include <set>

#include "support/catch.hpp"

namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(SLUICE_SOURCE_DIR "/" + path);
  INFO(path);
  REQUIRE(in.is_open());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    line.erase(0, line.find_first_not_of(' '));
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

TEST_CASE("Every line of code in docs/testing.md stands in the sample", "[testing]") {
  std::set<std::string> sample;
  for (const auto* file : {"jobs.hpp", "jobs.cpp", "jobs_test.cpp"})
    for (auto& line : lines_of(std::string("samples/testing_your_jobs/") + file))
      sample.insert(std::move(line));
  bool code = false;
  int seen = 0;
  for (const auto& line : lines_of("docs/testing.md")) {
    if (line.starts_with("```")) {
      code = line == "```cpp";
    } else if (code) {
      INFO(line);
      CHECK(sample.contains(line));
      ++seen;
    }
  }
  CHECK(seen > 20);
}
