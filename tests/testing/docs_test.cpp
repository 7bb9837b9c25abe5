// Pages that show code of a sample only, which is compiled and run.
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/places.hpp"

namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(sluice::test::source_path(path));
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

TEST_CASE("Every line of code in a page about a sample stands in the sample", "[testing]") {
  using files = std::vector<std::string>;
  const files shop{"samples/testing_your_jobs/jobs.hpp", "samples/testing_your_jobs/jobs.cpp",
                   "samples/testing_your_jobs/jobs_test.cpp"};
  const files service{"samples/service/main.cpp"};
  for (const auto& [page, sample] : {std::pair("docs/testing.md", shop), std::pair("docs/filters.md", service),
                                     std::pair("docs/production.md", service)}) {
    std::set<std::string> known;
    for (const auto& file : sample)
      for (auto& line : lines_of(file))
        known.insert(std::move(line));
    bool code = false;
    int seen = 0;
    for (const auto& line : lines_of(page)) {
      if (line.starts_with("```")) {
        code = line == "```cpp";
      } else if (code) {
        INFO(page << ": " << line);
        CHECK(known.contains(line));
        ++seen;
      }
    }
    CHECK(seen > 5);
  }
}
