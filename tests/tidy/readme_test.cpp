#include <algorithm>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"

namespace sluice::test {

TEST_CASE("the README shows samples/hello as it is, in at most 20 lines") {
  const std::string root = source_path();
  const auto hello = read_file(root + "/samples/hello/main.cpp");
  REQUIRE_FALSE(hello.empty());
  CHECK(std::count(hello.begin(), hello.end(), '\n') <= 20);
  CHECK(read_file(root + "/README.md").find("```cpp\n" + hello + "```") != std::string::npos);
}

}  // namespace sluice::test
