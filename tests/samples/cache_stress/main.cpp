// Several processes share the cache of samples/two_level_cache, whose entries expire under a thousand readers: is the
// provider asked once for each expiry, and does nobody wait or read nothing?
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "samples/cache_stress/servers.hpp"

namespace {

constexpr const char* usage =
    R"(usage: cache_stress [--servers 3] [--readers 1000] [--seconds 10] [--store URL] [--unlocked]

Runs no jobs, but processes that share a cache of values and a list; readers in all of them read at the instant when an
entry expires. Exit code 1 when the provider was asked more than once for one expiry, or somebody read nothing although
there had been a value.

  --servers N    processes
  --readers N    threads that read, of all processes
  --seconds N    6 or more, so that each entry expires
  --store URL    where the locks live. Default: a file in .run/
  --unlocked     the cache's lock holds in one process only: shows what it is for, and ends with 1
)";

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "cache_stress: %s\n\n%s", why.c_str(), usage);
  std::exit(2);
}

std::uint32_t number_of(const std::string& option, const std::string& text, std::uint32_t least, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < least || value > most)
    refuse(option + " is a whole number from " + std::to_string(least) + " to " + std::to_string(most) + ", not '" +
           text + "'");
  return value;
}

sample::stress_options read_options(int argc, char** argv) {
  sample::stress_options read;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help") std::exit(std::printf("%s", usage) < 0);
    if (option == "--unlocked") {
      read.unlocked = true;
      continue;
    }
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (option == "--servers") read.servers = number_of(option, value, 1, 16);
    else if (option == "--readers") read.readers = number_of(option, value, 1, 10'000);
    else if (option == "--seconds") read.seconds = number_of(option, value, 6, 86'400);
    else if (option == "--store" && !value.empty()) read.store = value;
    else refuse("unknown option, or one without a value: " + option);
  }
  if (read.readers < read.servers) refuse("--readers must be as many as --servers, or more");
  if (read.store == "sqlite::memory:")
    refuse("--store sqlite::memory: is one process's alone: name a store that processes can share, as sqlite:jobs.db");
  if (read.unlocked && read.store) refuse("--store has no meaning with --unlocked: leave it out");
  return read;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = read_options(argc, argv);
  try {
    return sample::run_servers(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cache_stress: %s\n", e.what());
    return 1;
  }
}
