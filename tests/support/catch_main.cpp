// The main of every test program.
#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"

#include <cstdlib>
#include <locale>

#include "core/log.hpp"

namespace {

// As in a host whose user wants thousands apart: "1'234" and "0;5".
struct foreign : std::numpunct<char> {
  char do_decimal_point() const override { return ';'; }
  char do_thousands_sep() const override { return '\''; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("SLUICE_TEST_LOCALE")) std::locale::global(std::locale(std::locale(), new foreign));
  sluice::set_log_level(sluice::log_level::off);  // failing things is what tests do
  return Catch::Session().run(argc, argv);
}
