// How the program is built: what the linker and the compiler do against faults in memory.
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {

TEST_CASE("the program has a protected stack, checked copies, and no table that a fault may write to") {
#ifndef NDEBUG
  WARN("a build to debug is not hardened: skipped");
  return;
#endif
  temp_dir folder;
  const auto read = run({"readelf", "-lWd", "--dyn-syms", program_path("sluice")}, folder.path());
  REQUIRE(read.exit_code == 0);
  for (const auto* part : {"GNU_RELRO", "BIND_NOW", "__stack_chk_fail", "_chk@GLIBC"}) {
    CAPTURE(part);
    CHECK(read.out.find(part) != std::string::npos);
  }
}

}  // namespace sluice::test
