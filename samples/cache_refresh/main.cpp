// Thirty caches that are kept fresh from one provider: 23 light jobs and 7 heavy ones, each on a schedule of its own.
//
// Everything that an operator may want to turn is in cache_refresh.json: two queues, so that no light job waits for a
// heavy one; schedules that are staggered, so that they do not all start at the same second; a semaphore, so that the
// provider is never asked more at a time than it bears; and a mutex, so that one catalogue is read at a time. Here are
// the jobs (refresh.hpp), what they fill (cache.hpp), and a server that runs them until it is told to stop.
//
// Any number of these processes may work on one store, on one machine or, with Redis, on several.
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include <sluice/config.hpp>
#include <sluice/dashboard.hpp>
#include <sluice/log.hpp>
#include <sluice/server.hpp>
#include <sluice/stop_signal.hpp>

#include "cache_refresh/provider_process.hpp"
#include "cache_refresh/refresh.hpp"
#include "cache_refresh/report.hpp"
#include "common/fetch.hpp"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

constexpr const char* usage = R"(usage: cache_refresh [OPTIONS]

Keeps thirty caches fresh from one provider, and reports at its end. A minute of the backend takes a second.

  --seconds N       how long it works: 20 unless said, 0 until SIGINT or SIGTERM, which end it earlier in any case
  --store URL       where the jobs live, as sqlite:jobs.db or redis://127.0.0.1:6379/0. Default: a file in .run/
  --provider URL    whom it asks, as http://127.0.0.1:8099. Default: a cache_provider of its own
  --dashboard PORT  its jobs in a browser at http://localhost:PORT, which it prints; 0 is any free port
  --queues A,B      the only queues of the configuration that it serves. Default: all
  --config FILE     Default: cache_refresh.json beside the program. The environment overrides it: with
                    SLUICE_QUEUES__DEFAULT__WORKERS=20 the provider is asked no more at a time than with 6
  --help            this text

Several processes share the work of one store, and any of them fires its schedules:

  cache_provider --port 8099
  cache_refresh --provider http://127.0.0.1:8099 --store sqlite:jobs.db --seconds 0
  cache_refresh --provider http://127.0.0.1:8099 --store sqlite:jobs.db --seconds 0 --queues game-cache-queue
)";

struct options {
  fs::path config = fs::read_symlink("/proc/self/exe").replace_filename("cache_refresh.json");
  std::string store{};
  std::string provider{};
  std::string queues{};
  unsigned seconds = 20;
  std::optional<std::uint16_t> dashboard{};
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "cache_refresh: %s\n\n%s", why.c_str(), usage);
  std::exit(2);
}

template <class Number>
Number number_of(const std::string& option, const std::string& text, Number most) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value > most)
    refuse(option + " is a whole number from 0 to " + std::to_string(most) + ", not '" + text + "'");
  return value;
}

options read_options(int argc, char** argv) {
  options read;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help" || option == "-h") std::exit(std::printf("%s", usage) < 0);
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (value.empty()) refuse(option + " is no option, or needs a value");
    if (option == "--config") read.config = value;
    else if (option == "--store") read.store = value;
    else if (option == "--provider") read.provider = value;
    else if (option == "--queues") read.queues = value;
    else if (option == "--seconds") read.seconds = number_of(option, value, 86'400u);
    else if (option == "--dashboard") read.dashboard = number_of<std::uint16_t>(option, value, 65'535);
    else refuse("unknown option " + option);
  }
  return read;
}

// The value, or the end of main with what is wrong.
template <class T>
T must(sluice::result<T> r) {
  if (!r) throw std::runtime_error(sluice::to_string(r.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

// What the file says, without the queues that are left to other processes.
sluice::server_options configuration(const options& wanted) {
  std::vector<std::string> sets;
  if (!wanted.store.empty()) sets.push_back("/storage=" + wanted.store);
  auto served = must(sluice::load_options(wanted.config.string(), sets));
  if (wanted.queues.empty()) return served;
  std::map<std::string, sluice::queue_options> chosen;
  std::istringstream names(wanted.queues);
  for (std::string name; std::getline(names, name, ',');) {
    if (!served.queues.contains(name)) {
      std::string known;
      for (const auto& queue : served.queues)
        known += " " + queue.first;
      refuse("--queues: the configuration has no queue '" + name + "', but" + known);
    }
    chosen[name] = served.queues.at(name);
  }
  served.queues = std::move(chosen);
  return served;
}

// So that a cache that was never filled need not wait for its schedule. That a job runs twice does no harm: when two
// processes ask at the same time, the cache keeps what the later run wrote.
void ask_for_what_is_missing(sluice::client& client, const sluice::server_options& served, sample::cache& entries) {
  const auto known = entries.names();
  for (const auto& schedule : served.recurring)
    if (!known.contains(schedule.job.value)) must(client.trigger_recurring(schedule.name));
}

int run(const options& wanted) {
  sluice::set_log_level(sluice::log_level::warn);
  sluice::catch_stop_signals();
  const sample::curl_library curl;
  const auto served = configuration(wanted);
  std::optional<sample::provider_process> own_provider;
  const auto provider = wanted.provider.empty() ? own_provider.emplace().url() : wanted.provider;
  sample::fetch(provider + "/documents/hello");  // rather than thirty jobs that fail

  sample::cache entries(".run/cache.db");
  sluice::server server(served, sample::refresh_handlers(served.recurring, provider, entries));
  std::atomic<bool> broken = false;
  server.on_fatal([&](const sluice::error& why) {
    std::fprintf(stderr, "cache_refresh: the server cannot go on: %s\n", sluice::to_string(why).c_str());
    broken = true;
  });
  const auto begin = std::chrono::time_point_cast<sluice::duration>(std::chrono::system_clock::now());
  must(server.start());
  std::printf("keeps %zu caches fresh from %s\n", served.recurring.size(), provider.c_str());
  for (const auto& [name, queue] : served.queues)
    std::printf("serves %s with %u worker%s\n", name.c_str(), queue.workers, queue.workers == 1 ? "" : "s");

  auto client = must(sluice::client::open(sluice::client_of(served)));
  ask_for_what_is_missing(client, served, entries);
  std::optional<sluice::dashboard> page;
  if (wanted.dashboard) {
    const auto at = "localhost:" + std::to_string(*wanted.dashboard);
    page.emplace(must(sluice::dashboard::start(sluice::client_of(served), {.listen = at, .allow_changes = true})));
    std::printf("The dashboard is at %s\n", page->url().c_str());
  }
  std::fflush(stdout);

  const auto started = steady::now();
  const auto end = wanted.seconds > 0 ? started + std::chrono::seconds(wanted.seconds) : steady::time_point::max();
  const auto next_line = [&] {
    return std::chrono::duration_cast<sluice::duration>(std::min<steady::duration>(2s, end - steady::now()));
  };
  while (!broken && steady::now() < end && !sluice::wait_for_stop_signal(next_line())) {
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(steady::now() - started);
    const auto line = sample::progress_line(client, entries);
    std::printf("%4lld s %s\n", static_cast<long long>(passed.count()),
                line ? line->c_str() : sluice::to_string(line.error()).c_str());
    std::fflush(stdout);
  }

  // Claims nothing more, asks what runs to stop, and gives back what has not ended within the grace time.
  if (server.stop().unfinished > 0) std::fprintf(stderr, "cache_refresh: a job ignored that it should stop\n");
  std::printf("\n%s", must(sample::final_report(client, entries, provider, begin)).c_str());
  return broken ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(read_options(argc, argv)); } catch (const std::exception& e) {
  std::fprintf(stderr, "cache_refresh: %s\n", e.what());
  return 1;
}
