#include "samples/cache_refresh_bench/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace sample {
namespace {

constexpr std::uint32_t max_seconds = 86'400;
constexpr std::uint32_t seconds_unless_said = 20;

template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

constexpr std::array valued{"--pools", "--seconds", "--store", "--provider-port"};

// What is wrong with the value of this option, or nothing.
std::string set(run_options& options, const std::string& option, const std::string& value) {
  const auto wrong = [&](const std::string& right) { return option + " is " + right + ", not '" + value + "'"; };
  if (option == "--pools") {
    const auto& ways = ways_of_pools();
    if (value != "all" && std::find(ways.begin(), ways.end(), value) == ways.end())
      return wrong("one, isolated, staggered, throttled or all");
    options.pools = value;
  } else if (option == "--seconds") {
    std::uint32_t seconds = 0;
    if (!read_number(value, seconds) || seconds < 1 || seconds > max_seconds)
      return wrong("a whole number from 1 to 86400");
    options.seconds = seconds;
  } else if (option == "--provider-port") {
    if (!read_number(value, options.provider_port)) return wrong("a port from 1 to 65535, or 0 for any free one");
  } else {
    if (value.empty()) return wrong("a URL as sqlite:jobs.db");
    options.store = value;
  }
  return {};
}

std::string misfit(const run_options& options) {
  if (options.store == "sqlite::memory:")
    return "--store sqlite::memory: is one process's alone: name a store that processes can share, as sqlite:jobs.db";
  if (options.pools == "all" && (!options.with_server || options.store))
    return "--pools all runs each way on a file of its own: leave out --no-server and --store";
  if (!options.with_server && !options.store) return "--no-server needs --store URL, on which others work";
  return {};
}

}  // namespace

const char* const usage =
    R"(usage: cache_refresh_bench [--pools NAME] [--seconds 20] [--store URL] [--json] [--provider-port N] [--no-server]

Measures the sample cache_refresh: starts a provider and one process of it, lets the schedules fire, and tells from the
store and the provider what fired, how late, how long light jobs waited, and what the provider had to bear.

  --pools throttled one worker for the heavy jobs at a time, each schedule at a part of its minute of its own, and six
                    jobs at the provider at once: the sample's own configuration (the default)
  --pools staggered the same without the limit of six
  --pools isolated  the same, and what is due in the same minute starts at the same instant
  --pools one       the same, and light and heavy jobs share the workers; only the configuration file differs
  --pools all       each of these for --seconds, and what came of them side by side
  --seconds N       how long the schedules fire; what waits then may end, within 30 s. Default: 20; with --no-server
                    until SIGINT or SIGTERM, after which it waits for the rest; a second signal ends it at once
  --store URL       where the jobs live, as sqlite:jobs.db; it is kept. Default: a file in .run/
  --provider-port N where the provider listens on 127.0.0.1; it prints the address. Default: 0, any free port
  --no-server       starts no cache_refresh: others work on the store, with the same configuration, started after this
  --json            one line of JSON at the end (of --pools all: for each) and nothing else; addresses go to stderr
  --help            this text

The configurations stand in cache_refresh.d/ beside the program. The environment overrides them, so
SLUICE_QUEUES__DEFAULT__WORKERS=20 with --pools staggered shows what more workers do to the provider, and
that with --pools throttled they do nothing to it. What the process says goes to .run/cache_refresh.log.
)";

const std::vector<std::string>& ways_of_pools() {
  static const std::vector<std::string> ways{"one", "isolated", "staggered", "throttled"};
  return ways;
}

std::variant<run_options, std::string> parse_options(int count, const char* const* words) {
  run_options options;
  for (int i = 1; i < count; ++i) {
    const std::string option = words[i];
    if (option == "--json") options.json = true;
    else if (option == "--no-server") options.with_server = false;
    else if (option == "--help" || option == "-h") options.help = true;
    else if (std::find(valued.begin(), valued.end(), option) == valued.end()) return "unknown option " + option;
    else if (++i == count) return option + " needs a value";
    else if (auto wrong = set(options, option, words[i]); !wrong.empty()) return wrong;
  }
  if (options.help) return options;
  if (auto wrong = misfit(options); !wrong.empty()) return wrong;
  if (options.with_server && !options.seconds) options.seconds = seconds_unless_said;
  return options;
}

}  // namespace sample
