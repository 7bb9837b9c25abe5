// cache_provider [--port N]: the provider as a process of its own. Prints its address, and ends by SIGINT or SIGTERM,
// or when nobody reads any more what it prints.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "samples/provider/provider.hpp"

int main(int argc, char** argv) try {
  const bool has_port = argc == 3 && std::string(argv[1]) == "--port";
  if (argc != 1 && !has_port) return std::fprintf(stderr, "usage: cache_provider [--port N]\n"), 2;
  const sample::provider provider(has_port ? static_cast<std::uint16_t>(std::atoi(argv[2])) : 0);
  std::printf("%s\n", provider.url().c_str());
  std::fflush(stdout);
  pollfd reader{STDOUT_FILENO, 0, 0};
  while (::poll(&reader, 1, -1) < 0)
    continue;
  return 0;
} catch (const std::runtime_error& e) {
  return std::fprintf(stderr, "cache_provider: %s\n", e.what()), 1;
}
