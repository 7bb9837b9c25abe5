#include "cache_refresh/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <set>
#include <string_view>

namespace sample {
namespace {

constexpr std::uint32_t most_seconds = 86'400;
constexpr std::uint32_t seconds_of_all = 20;
constexpr std::uint32_t seconds_of_servers = 10;
constexpr std::uint32_t fewest_seconds_of_servers = 6;  // in which each entry expires
constexpr std::uint32_t most_servers = 16;
constexpr std::uint32_t most_readers = 10'000;

template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

// "a,b"; nothing when a name is empty.
std::vector<std::string> read_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    if (end == begin) return {};
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// "http://127.0.0.1:8099"; a slash at the end is dropped, since resources begin with one.
std::string read_url(std::string text) {
  constexpr std::string_view scheme = "http://";
  while (text.ends_with('/'))
    text.pop_back();
  return text.starts_with(scheme) && text.size() > scheme.size() ? text : "";
}

// What is wrong with the value of this option, or nothing.
std::string set(run_options& options, const std::string& option, const std::string& value) {
  const auto wrong = [&](const std::string& right) { return option + " is " + right + ", not '" + value + "'"; };
  if (option == "--role") {
    if (value != "all" && value != "work" && value != "provider") return wrong("work, provider or all");
    options.role = value;
  } else if (option == "--pools") {
    const auto& ways = ways_of_pools();
    if (value != "all" && std::find(ways.begin(), ways.end(), value) == ways.end())
      return wrong("one, isolated, staggered, throttled or all");
    options.pools = value;
  } else if (option == "--seconds") {
    std::uint32_t seconds = 0;
    if (!read_number(value, seconds) || seconds < 1 || seconds > most_seconds)
      return wrong("a whole number from 1 to 86400");
    options.seconds = seconds;
  } else if (option == "--provider-port") {
    if (!read_number(value, options.provider_port)) return wrong("a port from 1 to 65535, or 0 for any free one");
  } else if (option == "--dashboard") {
    if (!read_number(value, options.dashboard_port.emplace()))
      return wrong("a port from 1 to 65535, or 0 for any free one");
  } else if (option == "--provider") {
    options.provider_url = read_url(value);
    if (options.provider_url.empty()) return wrong("an address as http://127.0.0.1:8099");
  } else if (option == "--queues") {
    options.queues = read_names(value);
    if (options.queues.empty()) return wrong("names with commas between, as default,game-cache-queue");
  } else if (option == "--servers") {
    if (!read_number(value, options.servers.emplace()) || *options.servers < 1 || *options.servers > most_servers)
      return wrong("a whole number from 1 to 16");
  } else if (option == "--readers") {
    if (!read_number(value, options.readers) || options.readers < 1 || options.readers > most_readers)
      return wrong("a whole number from 1 to 10000");
  } else {
    if (value.empty()) return wrong("a URL as sqlite:jobs.db");
    options.store = value;
  }
  return {};
}

constexpr std::array valued{"--role",     "--pools",  "--seconds", "--store",   "--provider-port",
                            "--provider", "--queues", "--servers", "--readers", "--dashboard"};

std::string first_given(const std::set<std::string>& given, std::initializer_list<const char*> options) {
  for (const auto* option : options)
    if (given.contains(option)) return option;
  return {};
}

std::string misfit_of_work(const std::set<std::string>& given) {
  std::string missing;
  if (!given.contains("--provider")) missing = "--provider URL (the address that the provider prints)";
  if (!given.contains("--store"))
    missing += std::string(missing.empty() ? "" : " and ") + "--store URL (the provider's store)";
  if (!missing.empty()) return "--role work needs " + missing;
  if (given.contains("--provider-port"))
    return "--provider-port is for --role provider and all; --role work is told the address by --provider URL";
  if (given.contains("--json")) return "--json is for the process that reports, not for --role work: leave it out";
  if (given.contains("--dashboard"))
    return "--dashboard is for the process that reports, not for --role work: leave it out";
  return {};
}

std::string misfit_of_servers(const run_options& options, const std::set<std::string>& given) {
  if (const auto unfit = first_given(given, {"--role", "--pools", "--provider", "--queues", "--json", "--dashboard"});
      !unfit.empty())
    return unfit + " has no meaning with --servers, which runs no jobs: leave it out";
  if (options.readers < *options.servers) return "--readers must be as many as --servers, or more";
  if (options.seconds && *options.seconds < fewest_seconds_of_servers)
    return "--seconds must be 6 or more with --servers, so that each entry expires";
  if (options.unlocked && options.store) return "--store has no meaning with --unlocked: leave it out";
  return {};
}

// What the role lacks, or has no use for; or nothing.
std::string misfit(const run_options& options, const std::set<std::string>& given) {
  if (options.store == "sqlite::memory:" && (options.role != "all" || options.servers))
    return "--store sqlite::memory: is one process's alone: name a store that processes can share, as sqlite:jobs.db";
  if (options.servers) return misfit_of_servers(options, given);
  if (options.pools == "all" && (options.role != "all" || options.store))
    return "--pools all is for one process that runs each way on a file of its own: leave out --role and --store";
  if (options.pools == "all" && options.dashboard_port)
    return "--dashboard shows one run, and --pools all is several: name one of them";
  if (const auto unfit = first_given(given, {"--readers", "--unlocked"}); !unfit.empty())
    return unfit + " needs --servers N";
  if (options.role == "work") return misfit_of_work(given);
  if (const auto unfit = first_given(given, {"--provider", "--queues"}); !unfit.empty())
    return unfit + " is for --role work, not for --role " + options.role + ": leave it out or add --role work";
  if (const auto unfit = first_given(given, {"--pools", "--json", "--dashboard"}); !unfit.empty() && !options.reports())
    return unfit + " needs --store URL with --role provider, which begins and reports nothing without a store";
  return {};
}

}  // namespace

const char* const usage =
    R"(usage: cache_refresh [--pools NAME] [--seconds 20] [--store URL] [--json] [--dashboard PORT]
       cache_refresh --role provider [--provider-port N] [--store URL] [and the options above]
       cache_refresh --role work --provider URL --store URL [--queues A,B] [--pools NAME] [--seconds N]
       cache_refresh --servers N [--readers 1000] [--seconds 10] [--store URL] [--unlocked]

Refreshes thirty caches from one provider on a timetable: 23 light jobs, 7 heavy ones, eight workers. A minute of the
timetable takes a second. A run begins with empty caches: all thirty are asked for at once, then each by its schedule.

  --role all        the provider and eight workers in one process, with a report (the default)
  --role provider   the provider's API; with --store it also begins and ends the run, and reports
  --role work       eight workers; any number of such processes may share a store, and any of them fires the schedules
  --pools throttled one worker for the heavy jobs at a time, each schedule at a part of its minute of its own, and six
                    jobs at the provider at once (the default)
  --pools staggered the same without the limit of six
  --pools isolated  the same, and what is due in the same minute starts at the same instant
  --pools one       the same, and light and heavy jobs share the workers; only the configuration file differs
  --pools all       each of these for --seconds, and what came of them side by side
  --seconds N       how long the schedules fire; what waits then may end. With --role work: how long it works.
                    Default: 20 with --role all, else until SIGINT or SIGTERM, after which --role provider
                    waits for the rest, 30 s at most; a second signal ends it at once
  --store URL       where the jobs live, as sqlite:jobs.db; it is kept. Default: a file in .run/
  --dashboard PORT  while it runs its jobs are seen, and may be changed, in a browser at http://localhost:PORT, which
                    it prints; 0 is any free port. --seconds 600 leaves time to look around
  --provider-port N where the provider listens on 127.0.0.1; it prints the address. Default: 0, any free port
  --provider URL    the provider that --role work calls, as http://127.0.0.1:8099; it waits 10 s for it to answer
  --queues A,B      the only queues that --role work serves, as game-cache-queue. Default: all
  --servers N       runs no jobs, but N processes that share a cache of values and a list; readers in all of them read
                    at the instant when an entry expires. Exit code 1 when the provider was asked more than once for
                    one expiry, or somebody read nothing although there had been a value
  --readers N       threads that read, of all processes. Default: 1000
  --unlocked        the cache's lock holds in one process only: shows what it is for, and ends with 1
  --json            one line of JSON at the end (of --pools all: for each) and nothing else; addresses go to stderr
  --help            this text

Exactly one process on a store reports, all or provider; all of them with the same --pools. Three processes on one store:

  cache_refresh --role provider --provider-port 8099 --store sqlite:jobs.db --seconds 20
  cache_refresh --role work --provider http://127.0.0.1:8099 --store sqlite:jobs.db
  cache_refresh --role work --provider http://127.0.0.1:8099 --store sqlite:jobs.db --queues game-cache-queue

The configurations stand in cache_refresh.d/ beside the program. The environment overrides them, so
SLUICE_QUEUES__DEFAULT__WORKERS=20 with --pools staggered shows what more workers do to the provider, and
that with --pools throttled they do nothing to it. The cache entries go to .run/cache/.
)";

const std::vector<std::string>& ways_of_pools() {
  static const std::vector<std::string> ways{"one", "isolated", "staggered", "throttled"};
  return ways;
}

std::variant<run_options, std::string> parse_options(int count, const char* const* words) {
  run_options options;
  std::set<std::string> given;
  for (int i = 1; i < count; ++i) {
    const std::string option = words[i];
    given.insert(option);
    if (option == "--json") options.json = true;
    else if (option == "--unlocked") options.unlocked = true;
    else if (option == "--help" || option == "-h") options.help = true;
    else if (std::find(valued.begin(), valued.end(), option) == valued.end()) return "unknown option " + option;
    else if (++i == count) return option + " needs a value";
    else if (auto wrong = set(options, option, words[i]); !wrong.empty()) return wrong;
  }
  if (options.help) return options;
  if (auto wrong = misfit(options, given); !wrong.empty()) return wrong;
  if (options.role == "all" && !options.seconds)
    options.seconds = options.servers ? seconds_of_servers : seconds_of_all;
  return options;
}

}  // namespace sample
