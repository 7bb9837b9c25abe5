#include "cache_refresh/options.hpp"

#include <charconv>
#include <string_view>

namespace sample {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t most_seconds = 86'400;
constexpr sluice::duration shortest_minute = 10ms;
constexpr sluice::duration longest_minute = 1h;

template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

// "1s", "250ms", "1.5m".
std::optional<sluice::duration> read_duration(std::string_view text) {
  const auto unit_at = text.find_first_not_of("0123456789.");
  if (unit_at == std::string_view::npos) return std::nullopt;
  const auto unit = text.substr(unit_at);
  const double us = unit == "ms" ? 1e3 : unit == "s" ? 1e6 : unit == "m" ? 6e7 : 0;
  double number = 0;
  if (us == 0 || !read_number(text.substr(0, unit_at), number) || number * us > 1e15) return std::nullopt;
  return sluice::duration(static_cast<std::int64_t>(number * us));
}

// What is wrong with the value of this option, or nothing.
std::string set(run_options& options, const std::string& option, const std::string& value) {
  if (option == "--pools") {
    if (value != "one" && value != "isolated") return "--pools is one or isolated, not '" + value + "'";
    options.pools = value;
  } else if (option == "--seconds") {
    if (!read_number(value, options.seconds) || options.seconds < 1 || options.seconds > most_seconds)
      return "--seconds is a whole number from 1 to 86400, not '" + value + "'";
  } else if (option == "--minute") {
    const auto read = read_duration(value);
    if (!read || *read < shortest_minute || *read > longest_minute)
      return "--minute is a time from 10ms to 60m, as 1s or 250ms, not '" + value + "'";
    options.minute = *read;
  } else {
    options.store = value;
  }
  return {};
}

}  // namespace

const char* const usage =
    R"(usage: cache_refresh [--pools isolated|one] [--seconds 20] [--minute 1s] [--store URL] [--json]

Refreshes thirty caches from one provider: 23 light jobs, 7 heavy ones, eight workers.

  --pools isolated  one worker for the heavy jobs, seven for the light ones (the default)
  --pools one       one pool of eight for all; only the configuration file differs
  --seconds N       how long jobs are enqueued; what waits then may end
  --minute TIME     how long a minute of the intervals lasts, as 1s or 250ms
  --store URL       where the jobs live, as sqlite:jobs.db; it is kept. Default: a file in .run/
  --json            one line of JSON at the end and nothing else
  --help            this text

The configurations stand in cache_refresh.d/ beside the program. The environment overrides them, so
SLUICE_QUEUES__DEFAULT__WORKERS=20 shows what more workers do to the provider. The cache entries go to .run/cache/.
)";

std::variant<run_options, std::string> parse_options(int count, const char* const* words) {
  run_options options;
  for (int i = 1; i < count; ++i) {
    const std::string option = words[i];
    if (option == "--json") options.json = true;
    else if (option == "--help" || option == "-h") options.help = true;
    else if (option != "--pools" && option != "--seconds" && option != "--minute" && option != "--store")
      return "unknown option " + option;
    else if (++i == count) return option + " needs a value";
    else if (auto wrong = set(options, option, words[i]); !wrong.empty()) return wrong;
  }
  return options;
}

}  // namespace sample
