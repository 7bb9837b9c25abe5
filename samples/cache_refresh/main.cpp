// Thirty caches, refreshed from one provider by 23 light jobs and 7 heavy ones on eight workers, by schedules of the
// configuration. With `--pools one` they share a pool, and light jobs wait while heavy ones hold it; with `--pools
// isolated` the heavy ones have a queue with one worker; with `--pools staggered` each schedule has a part of its
// minute for itself; with `--pools throttled`, the default, a semaphore over both pools lets in no more calls of the
// provider at once than it bears. They differ in nothing but the configuration: cache_refresh/pools_*.json.
//
// One process does everything, or several share a store: one provider, which also reports, and workers beside it.
//
//   cache_refresh [--pools throttled|staggered|isolated|one|all] [--seconds 20] [--store URL] [--json] [--dashboard
//   PORT] cache_refresh --role provider [--provider-port N] [--store URL] cache_refresh --role work --provider URL
//   --store URL [--queues A,B]
//
// And one thing without jobs: several processes share a cache whose entries expire under a thousand readers.
//
//   cache_refresh --servers 3 [--readers 1000] [--seconds 10] [--store URL] [--unlocked]
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>

#include <sluice/config.hpp>
#include <sluice/dashboard.hpp>
#include <sluice/log.hpp>

#include "cache_refresh/live_view.hpp"
#include "cache_refresh/report.hpp"
#include "cache_refresh/servers.hpp"
#include "cache_refresh/worker.hpp"
#include "common/fetch.hpp"
#include "common/stop_signals.hpp"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

// How long a worker waits for the provider's first answer.
constexpr auto patience_at_the_start = 10s;
// How long what was due in time may take after the end.
constexpr auto patience_at_the_end = 30s;
constexpr auto nap = 200ms;  // as often as a terminal is redrawn
constexpr auto nap_at_the_end = 50ms;

struct failure : std::runtime_error {
  failure(int code, const std::string& what) : std::runtime_error(what), exit_code(code) {}
  int exit_code;
};

template <class T>
T must(sluice::result<T> r) {
  if (!r) throw failure(r.error().code == sluice::errc::invalid_config ? 2 : 1, sluice::to_string(r.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

sluice::server_options load(const sample::run_options& options) {
  const auto file =
      fs::read_symlink("/proc/self/exe").parent_path() / "cache_refresh.d" / ("pools_" + options.pools + ".json");
  std::vector<std::string> sets;
  if (options.store) sets.push_back("/storage=" + *options.store);
  return must(sluice::load_options(file.string(), sets));
}

// The configuration without the queues that are left to other processes.
sluice::server_options with_queues(sluice::server_options served, const std::vector<std::string>& chosen) {
  if (chosen.empty()) return served;
  std::string known;
  for (const auto& [name, queue] : served.queues)
    known += (known.empty() ? "" : ", ") + name;
  for (const auto& name : chosen)
    if (!served.queues.contains(name))
      throw failure(2, "--queues: the configuration has no queue '" + name + "'; it has " + known);
  std::erase_if(served.queues, [&](const auto& queue) {
    return std::find(chosen.begin(), chosen.end(), queue.first) == chosen.end();
  });
  return served;
}

bool is_idle(sluice::client& client, const sluice::server_options& served) {
  const auto queues = must(client.queues());
  return std::none_of(queues.begin(), queues.end(), [&](const sluice::queue_counts& q) {
    return served.queues.contains(q.queue.value) && q.enqueued + q.scheduled + q.throttled + q.processing > 0;
  });
}

// Without a server on the store there is nothing to wait for.
bool is_left_alone(sluice::client& client) { return must(client.servers()).empty(); }

// When the seconds are over, if the options say any.
steady::time_point end_of(const sample::run_options& options) {
  return options.seconds ? steady::now() + std::chrono::seconds(*options.seconds) : steady::time_point::max();
}

// Asks again and again whether it is over. False: somebody said stop first.
bool wait_until(const std::function<bool()>& over, std::chrono::milliseconds pause, sample::stop_signals& signals) {
  while (!over())
    if (signals.wait(pause)) return false;
  return true;
}

struct finished_run {
  sample::run_summary summary;
  bool sound = true;
  bool told_to_stop = false;
};

std::optional<std::uint64_t> permits_of(const sluice::server_options& served) {
  for (const auto& one : served.throttlers)
    if (one.kind == sluice::throttler_kind::semaphore) return one.limit;
  return std::nullopt;
}

// Begins a run, ends it, and looks back; any server on the store fires its schedules and does its jobs. `own` is
// nullptr when only others work. With `shown` the queues are seen meanwhile.
finished_run carry_through(const sample::run_options& options, const sluice::server_options& served,
                           const sample::provider& provider, sample::worker* own, bool shown,
                           sample::stop_signals& signals) {
  auto client = must(sluice::client::open(sluice::client_of(served)));
  const auto broken = [&] { return own && own->broken(); };
  std::optional<sample::live_view> view;
  if (shown) view.emplace(client, served, options, provider, ::isatty(STDOUT_FILENO) != 0);
  const auto show = [&](const char* phase) {
    if (view) view->show_when_due(phase);
  };

  const auto end = end_of(options);
  const auto somebody_serves = [&] {
    show("; waits for a server");
    return own || steady::now() >= end || !must(client.servers()).empty();
  };
  const bool told_early = !wait_until(somebody_serves, nap, signals);
  auto plan = must(sample::begin_run(client, served.recurring));
  const auto time_is_over = [&] {
    show("");
    return broken() || steady::now() >= end;
  };
  const bool told = told_early || !wait_until(time_is_over, nap, signals);
  plan.end = std::chrono::time_point_cast<sluice::duration>(std::chrono::system_clock::now());

  const auto last = steady::now() + patience_at_the_end;
  const auto in_vain = [&] { return broken() || steady::now() >= last || is_left_alone(client); };
  const auto all_has_fired = [&] { return in_vain() || must(sample::has_fired(client, plan)); };
  const bool told_again = !wait_until(all_has_fired, nap_at_the_end, signals);
  must(sample::end_run(client, plan));
  const auto rest_has_ended = [&] {
    show("; nothing new, the rest may end");
    return in_vain() || is_idle(client, served);
  };
  // Told to stop, this process ends its own jobs; those of others still need the provider.
  const bool waits = !told_again && (!told || !own);
  if (waits && wait_until(rest_has_ended, nap_at_the_end, signals) && view) view->show("; over");
  if (own) own->stop();

  auto record = must(sample::record_of(client, plan, served.recurring));
  const bool sound = !broken() && record.doubled == 0;
  return {{std::move(record), provider.counts(), must(sample::peaks_of_a_minute(served.recurring)), permits_of(served)},
          sound,
          told || told_again};
}

int report(const sample::run_options& options, const sluice::server_options& served, const finished_run& run) {
  if (options.json) std::printf("%s\n", as_json(options, run.summary).c_str());
  else
    std::printf("\n%sThe jobs are kept in %s\n", as_text(options, run.summary).c_str(),
                served.storage.find('@') == std::string::npos ? served.storage.c_str() : "the store");  // no passwords
  return run.sound ? 0 : 1;
}

// Each way for the same time, and what came of them side by side.
int compare(sample::run_options options, sample::stop_signals& signals) {
  std::vector<std::pair<sample::run_options, sample::run_summary>> runs;
  bool sound = true;
  for (const auto& way : sample::ways_of_pools()) {
    options.pools = way;
    const auto served = load(options);
    const sample::provider provider(options.provider_port);
    sample::worker own(served, provider.url());
    must(own.start());
    if (!options.json) std::printf("--pools %s, for %u s\n", way.c_str(), *options.seconds);
    std::fflush(stdout);
    const auto run = carry_through(options, served, provider, &own, false, signals);
    if (options.json) report(options, served, run);
    sound = sound && run.sound;
    runs.emplace_back(options, run.summary);
    if (run.told_to_stop) break;
  }
  if (!options.json) std::printf("\n%s", as_table(runs).c_str());
  return sound ? 0 : 1;
}

// A worker that reaches no provider would use up the attempts of jobs that others could do. False: told to stop.
bool wait_for_provider(const std::string& url, sample::stop_signals& signals) {
  const auto answers = [&, last = steady::now() + patience_at_the_start] {
    try {
      return !sample::fetch(url + "/documents/hello").empty();
    } catch (const std::runtime_error& e) {
      if (steady::now() < last) return false;
      throw failure(1, "--provider: " + std::string(e.what()) + "; start it with --role provider --provider-port N");
    }
  };
  return wait_until(answers, nap, signals);
}

int work(const sample::run_options& options, const sluice::server_options& served, sample::stop_signals& signals) {
  sample::worker worker(served, options.provider_url);
  if (!wait_for_provider(options.provider_url, signals)) return 0;
  must(worker.start());
  for (const auto& [name, queue] : served.queues)
    std::printf("Process %d serves %s with %u worker%s\n", static_cast<int>(::getpid()), name.c_str(), queue.workers,
                queue.workers == 1 ? "" : "s");
  std::fflush(stdout);
  const auto end = end_of(options);
  wait_until([&] { return worker.broken() || steady::now() >= end; }, nap, signals);
  worker.stop();
  return worker.broken() ? 1 : 0;
}

int run(const sample::run_options& options) {
  if (options.servers) return sample::run_servers(options);
  sluice::set_log_level(sluice::log_level::warn);  // what is seen here is the sample's own
  sample::stop_signals signals;
  const sample::curl_library curl;
  if (options.pools == "all") return compare(options, signals);
  const auto served = with_queues(load(options), options.queues);
  if (options.role == "work") return work(options, served, signals);
  const sample::provider provider(options.provider_port);
  auto* const said = options.json ? stderr : stdout;
  std::fprintf(said, "The provider listens on %s\n", provider.url().c_str());
  std::optional<sample::worker> own;
  if (options.role == "all") must(own.emplace(served, provider.url()).start());
  std::optional<sluice::dashboard> page;
  if (options.dashboard_port) {
    const auto at = "localhost:" + std::to_string(*options.dashboard_port);
    page.emplace(must(sluice::dashboard::start(sluice::client_of(served), {.listen = at, .allow_changes = true})));
    std::fprintf(said, "The dashboard is at %s\n", page->url().c_str());
  }
  std::fflush(stdout);
  if (options.reports())
    return report(options, served,
                  carry_through(options, served, provider, own ? &*own : nullptr, !options.json, signals));
  const auto end = end_of(options);
  wait_until([&] { return steady::now() >= end; }, nap, signals);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = sample::parse_options(argc, argv);
  if (const auto* wrong = std::get_if<std::string>(&parsed)) {
    std::fprintf(stderr, "cache_refresh: %s\n\n%s", wrong->c_str(), sample::usage);
    return 2;
  }
  const auto& options = std::get<sample::run_options>(parsed);
  if (options.help) return std::printf("%s", sample::usage), 0;
  try {
    return run(options);
  } catch (const failure& f) {
    std::fprintf(stderr, "cache_refresh: %s\n", f.what());
    return f.exit_code;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cache_refresh: %s\n", e.what());
    return 1;
  }
}
