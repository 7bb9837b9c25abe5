// The main of every test program, for Catch2 2 and 3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "core/log.hpp"

int main(int argc, char** argv) {
  sluice::set_log_level(sluice::log_level::off);  // failing things is what tests do
  return Catch::Session().run(argc, argv);
}
