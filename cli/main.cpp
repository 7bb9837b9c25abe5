#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace sluice::cli;
  std::signal(SIGPIPE, SIG_IGN);  // `sluice jobs | head` is no reason to die in a write to the store
  const auto [command, exit_code] = parse(argc, argv);
  if (!command) return exit_code;
  try {
    if (command->name == "check") return check(*command);
    if (command->name == "work") return work(*command);
    return inspect(*command);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sluice: %s\n", e.what());
    return 1;
  }
}
