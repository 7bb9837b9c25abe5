// Thirty caches, refreshed from one provider by 23 light jobs and 7 heavy ones on eight workers. With `--pools one`
// they share a pool, and light jobs wait while heavy ones hold it; with `--pools isolated` the heavy ones have a queue
// with one worker; with `--pools throttled` a semaphore over both pools lets in no more calls of the provider at once
// than it bears. They differ in nothing but the configuration: cache_refresh/pools_one.json, pools_isolated.json,
// pools_throttled.json.
//
// One process does everything, or several share a store: one provider, which also enqueues, and workers beside it.
//
//   cache_refresh [--pools isolated|one|throttled] [--seconds 20] [--minute 1s] [--store URL] [--json]
//   cache_refresh --role provider [--provider-port N] [--store URL]
//   cache_refresh --role work --provider URL --store URL [--queues A,B]
//
// And one thing without jobs: several processes share a cache whose entries expire under a thousand readers.
//
//   cache_refresh --servers 3 [--readers 1000] [--seconds 10] [--store URL] [--unlocked]
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>

#include <sluice/config.hpp>

#include "cache_refresh/fetch.hpp"
#include "cache_refresh/live_view.hpp"
#include "cache_refresh/report.hpp"
#include "cache_refresh/servers.hpp"
#include "cache_refresh/stop_signals.hpp"
#include "cache_refresh/worker.hpp"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

// How long a worker waits for the provider's first answer.
constexpr auto patience_at_the_start = 10s;
// How long jobs that were enqueued in time may go on after the last minute.
constexpr auto patience_at_the_end = 10s;
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

sample::run_plan plan_of(const sample::run_options& options) {
  sample::run_plan plan{std::chrono::time_point_cast<sluice::duration>(std::chrono::system_clock::now()),
                        options.minute, std::numeric_limits<std::uint32_t>::max()};
  if (options.seconds) {
    const sluice::duration length = std::chrono::seconds(*options.seconds);
    plan.minutes = static_cast<std::uint32_t>((length + options.minute - 1us) / options.minute);
  }
  return plan;
}

// What the one process that enqueues does. `worker` is nullptr when only others work.
int enqueue_and_report(const sample::run_options& options, const sluice::server_options& served,
                       const sample::provider& provider, sample::worker* worker, sample::stop_signals& signals) {
  auto client = must(sluice::client::open(sluice::client_of(served)));
  const auto broken = [&] { return worker && worker->broken(); };
  std::optional<sample::live_view> view;
  if (!options.json) view.emplace(client, served, options, provider, ::isatty(STDOUT_FILENO) != 0);

  const auto end = end_of(options);
  const auto plan = plan_of(options);
  sample::timetable timetable(client, plan);
  const auto enqueued_all = [&] {
    if (view) view->show_when_due("");
    return broken() || steady::now() >= end;
  };
  const bool told = !wait_until(enqueued_all, nap, signals);
  timetable.stop();

  const auto last = steady::now() + patience_at_the_end;
  const auto rest_has_ended = [&] {
    if (view) view->show_when_due("; nothing new, the rest may end");
    return broken() || steady::now() >= last || is_idle(client, served) || is_left_alone(client);
  };
  // Told to stop, this process ends its own jobs; those of others still need the provider.
  const bool waits = !told || !worker;
  if (waits && wait_until(rest_has_ended, nap_at_the_end, signals) && view) view->show("; over");
  if (worker) worker->stop();

  auto record = must(sample::record_of(client, plan));
  record.enqueued = timetable.stored();
  if (options.json) std::printf("%s\n", as_json(options, record, provider.counts()).c_str());
  else
    std::printf("\n%sThe jobs are kept in %s\n", as_text(options, record, provider.counts()).c_str(),
                served.storage.find('@') == std::string::npos ? served.storage.c_str() : "the store");  // no passwords
  return broken() || timetable.refused() > 0 ? 1 : 0;
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
  sample::stop_signals signals;
  const sample::curl_library curl;
  const auto served = with_queues(load(options), options.queues);
  if (options.role == "work") return work(options, served, signals);
  const sample::provider provider(options.provider_port);
  std::fprintf(options.json ? stderr : stdout, "The provider listens on %s\n", provider.url().c_str());
  std::fflush(stdout);
  std::optional<sample::worker> own;
  if (options.role == "all") must(own.emplace(served, provider.url()).start());
  if (options.enqueues()) return enqueue_and_report(options, served, provider, own ? &*own : nullptr, signals);
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
