// Thirty caches, refreshed from one provider by 23 light jobs and 7 heavy ones on eight workers. With `--pools one`
// they share a pool, and light jobs wait while heavy ones hold it; with `--pools isolated` the heavy ones have a queue
// with one worker. The two differ in nothing but the configuration: cache_refresh/pools_one.json, pools_isolated.json.
//
//   cache_refresh [--pools isolated|one] [--seconds 20] [--minute 1s] [--store URL] [--json]
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include <sluice/config.hpp>

#include "cache_refresh/fetch.hpp"
#include "cache_refresh/handlers.hpp"
#include "cache_refresh/live_view.hpp"
#include "cache_refresh/report.hpp"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

// How long jobs that were enqueued in time may go on after the last minute.
constexpr auto patience_at_the_end = 10s;
constexpr auto nap = 200ms;  // as often as a terminal is redrawn
constexpr auto nap_at_the_end = 50ms;

// SIGINT and SIGTERM, taken where the program waits. To be made before the first thread, which inherits the mask.
class stop_signals {
public:
  stop_signals() {
    sigemptyset(&both_);
    sigaddset(&both_, SIGINT);
    sigaddset(&both_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &both_, nullptr);
  }

  // Waits so long at most; whether a signal came. Later ones change nothing: stopping takes no longer than the grace.
  bool wait(std::chrono::nanoseconds most) {
    most = std::max(most, 0ns);
    const timespec time{most / 1s, (most % 1s).count()};
    return sigtimedwait(&both_, nullptr, &time) > 0;
  }

private:
  sigset_t both_{};
};

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

bool is_idle(sluice::client& client, const sluice::server_options& served) {
  const auto queues = must(client.queues());
  return std::none_of(queues.begin(), queues.end(), [&](const sluice::queue_counts& q) {
    return served.queues.contains(q.queue.value) && q.enqueued + q.scheduled + q.processing > 0;
  });
}

// Until the last minute is over and its jobs are done, or somebody says stop.
void follow(sluice::client& client, const sluice::server_options& served, const sample::run_options& options,
            const std::atomic<bool>& broken, stop_signals& signals, sample::live_view* view) {
  const auto begin = steady::now();
  const auto end = begin + std::chrono::seconds(options.seconds);
  auto next_view = begin;
  const auto show = [&](const std::string& phase) {
    if (!view) return;
    view->show(std::chrono::duration<double>(steady::now() - begin).count(), phase);
    next_view = steady::now() + view->interval();
  };
  while (!broken) {
    const bool enqueueing = steady::now() < end;
    if (!enqueueing && (steady::now() >= end + patience_at_the_end || is_idle(client, served)))
      return show("pools: " + options.pools + "; over");
    if (steady::now() >= next_view)
      show("of " + std::to_string(options.seconds) + " s, pools: " + options.pools +
           (enqueueing ? "" : "; nothing new, the rest may end"));
    const auto until = steady::now() + (enqueueing ? nap : nap_at_the_end);
    if (signals.wait(std::min(until, enqueueing ? end : until) - steady::now())) return;
  }
}

int run(const sample::run_options& options) {
  stop_signals signals;
  const sample::curl_library curl;
  const sample::provider provider;
  const sample::cache entries(".run/cache");
  const auto served = load(options);

  std::atomic<bool> broken = false;
  sluice::server server(served);
  sample::handle_all(server, provider.url(), entries);
  server.on_fatal([&](const sluice::error& why) {
    std::fprintf(stderr, "cache_refresh: the server cannot go on: %s\n", sluice::to_string(why).c_str());
    broken = true;
  });
  auto client = must(sluice::client::open(sluice::client_of(served)));
  must(server.start());

  std::optional<sample::live_view> view;
  if (!options.json) view.emplace(client, served, provider, ::isatty(STDOUT_FILENO) != 0);
  const sluice::duration length = std::chrono::seconds(options.seconds);
  const sample::run_plan plan{std::chrono::time_point_cast<sluice::duration>(std::chrono::system_clock::now()),
                              options.minute,
                              static_cast<std::uint32_t>((length + options.minute - 1us) / options.minute)};
  sample::timetable timetable(client, plan);
  follow(client, served, options, broken, signals, view ? &*view : nullptr);
  timetable.stop();
  server.stop();

  const auto record = must(sample::record_of(client, plan));
  if (options.json) std::printf("%s\n", as_json(options, record, provider.counts()).c_str());
  else
    std::printf("\n%sThe jobs are kept in %s\n", as_text(options, record, provider.counts()).c_str(),
                served.storage.c_str());
  return broken || timetable.refused() > 0 ? 1 : 0;
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
