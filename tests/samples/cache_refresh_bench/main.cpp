// What the sample cache_refresh does with thirty caches, measured from outside: a provider that counts what it is
// asked, the sample as a process of its own, and what the store and the provider know at the end.
//
// With `--pools one` light and heavy jobs share a pool, and light jobs wait while heavy ones hold it; with `--pools
// isolated` the heavy ones have a queue with one worker; with `--pools staggered` each schedule has a part of its
// minute for itself; with `--pools throttled`, the sample's own configuration, a semaphore over both pools lets in no
// more calls of the provider at once than it bears. They differ in nothing but the configuration: pools_*.json.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

#include <sluice/config.hpp>
#include <sluice/stop_signal.hpp>

#include "samples/cache_refresh_bench/live_view.hpp"
#include "samples/cache_refresh_bench/report.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

// How long a server may take for its end: its jobs have some seconds of grace.
constexpr auto patience_with_a_stop = 20s;
// How long what was due in time may take after the end.
constexpr auto end_timeout = 30s;
constexpr unsigned max_seconds_at_the_end = 90;
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

fs::path beside_this(const std::string& name) { return fs::read_symlink("/proc/self/exe").parent_path() / name; }

// What the measured process is told to use, and which store.
struct setup {
  fs::path config;
  std::string store;
  sluice::server_options served;
};

// A file of its own for each way, whose schedules rest when nothing is measured.
setup set_up(const sample::run_options& options) {
  fs::create_directories(".run");
  setup made;
  made.config = beside_this("cache_refresh.d") / ("pools_" + options.pools + ".json");
  made.store = options.store.value_or("sqlite:.run/cache_refresh_bench_" + options.pools + ".db");
  made.served = must(sluice::load_options(made.config.string(), {"/storage=" + made.store}));
  return made;
}

// The sample, with an empty cache.
class measured_process {
public:
  measured_process(const sample::run_options& options, const setup& use, const std::string& provider)
      : process_(command(options, use, provider), ".run/cache_refresh.log") {}

  pid_t pid() const { return process_.pid(); }
  bool is_broken() { return !is_stopped_ && !process_.alive(); }
  // False: it did not end well.
  bool stop() {
    if (is_broken()) return false;
    is_stopped_ = true;
    process_.signal(SIGTERM);
    return process_.exit_code(patience_with_a_stop) == 0;
  }

private:
  // It ends by itself too, should nobody be left to stop it.
  static std::vector<std::string> command(const sample::run_options& options, const setup& use,
                                          const std::string& provider) {
    for (const char* file : {".run/cache.db", ".run/cache.db-wal", ".run/cache.db-shm"})
      fs::remove(file);
    return {beside_this("cache_refresh"),
            "--config",
            use.config,
            "--store",
            use.store,
            "--provider",
            provider,
            "--seconds",
            std::to_string(*options.seconds + max_seconds_at_the_end)};
  }

  sluice::test::process process_;
  bool is_stopped_ = false;
};

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

// Asks again and again whether it is over. False: somebody said stop first, who had not before.
bool wait_until(const std::function<bool()>& over, std::chrono::milliseconds pause) {
  const bool told_before = sluice::wait_for_stop_signal(0ms).has_value();
  while (!over()) {
    if (told_before) std::this_thread::sleep_for(pause);
    else if (sluice::wait_for_stop_signal(pause)) return false;
  }
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

sluice::time_point wall_clock_now() {
  return std::chrono::time_point_cast<sluice::duration>(std::chrono::system_clock::now());
}

// Begins a run, ends it, and looks back; any server on the store fires its schedules and does its jobs.
finished_run measure(const sample::run_options& options, const setup& use, const sample::provider& provider,
                     bool shown) {
  const auto& served = use.served;
  const auto start = wall_clock_now();
  auto client = must(sluice::client::open(sluice::client_of(served)));
  std::optional<measured_process> own;
  if (options.with_server) own.emplace(options, use, provider.url());
  const auto broken = [&] { return own && own->is_broken(); };
  std::optional<sample::live_view> view;
  if (shown) view.emplace(client, served, options, provider, ::isatty(STDOUT_FILENO) != 0);
  const auto show = [&](const char* phase) {
    if (view) view->show_when_due(phase);
  };

  auto end = end_of(options);
  const auto somebody_serves = [&] {
    show("; waits for a server");
    const auto servers = must(client.servers());
    const auto is_wanted = [&](const sluice::server_info& one) { return !own || one.pid == own->pid(); };
    return broken() || steady::now() >= end || std::any_of(servers.begin(), servers.end(), is_wanted);
  };
  const bool told_early = !wait_until(somebody_serves, nap_at_the_end);
  auto plan = must(sample::begin_run(client, served.recurring, start));
  if (options.with_server) end = end_of(options);
  const auto time_is_over = [&] {
    show("");
    return broken() || steady::now() >= end;
  };
  const bool told = told_early || !wait_until(time_is_over, nap);
  plan.end = wall_clock_now();

  const auto last = steady::now() + end_timeout;
  const auto in_vain = [&] { return broken() || steady::now() >= last || is_left_alone(client); };
  const auto all_has_fired = [&] { return in_vain() || must(sample::has_fired(client, plan)); };
  const bool told_again = !wait_until(all_has_fired, nap_at_the_end);
  must(sample::end_run(client, plan));
  const auto rest_has_ended = [&] {
    show("; nothing new, the rest may end");
    return in_vain() || is_idle(client, served);
  };
  // Told to stop, the process that was started here ends too; those of others still need the provider.
  const bool waits = !told_again && (!told || !own);
  if (waits && wait_until(rest_has_ended, nap_at_the_end) && view) view->show("; over");
  const bool ended_well = !own || own->stop();

  auto record = must(sample::record_of(client, plan, served.recurring));
  const bool sound = ended_well && record.doubled == 0;
  return {{std::move(record), provider.counts(), must(sample::peaks_of_a_minute(served.recurring)), permits_of(served)},
          sound,
          told || told_again};
}

int report(const sample::run_options& options, const setup& use, const finished_run& run) {
  if (options.json) std::printf("%s\n", as_json(options, run.summary).c_str());
  else
    std::printf("\n%sThe jobs are kept in %s\n", as_text(options, run.summary).c_str(),
                use.store.find('@') == std::string::npos ? use.store.c_str() : "the store");  // no passwords
  return run.sound ? 0 : 1;
}

// Each way for the same time, and what came of them side by side.
int compare(sample::run_options options) {
  std::vector<std::pair<sample::run_options, sample::run_summary>> runs;
  bool sound = true;
  for (const auto& way : sample::ways_of_pools()) {
    options.pools = way;
    const auto use = set_up(options);
    const sample::provider provider(options.provider_port);
    if (!options.json) std::printf("--pools %s, for %u s\n", way.c_str(), *options.seconds);
    const auto run = measure(options, use, provider, false);
    if (options.json) report(options, use, run);
    sound = sound && run.sound;
    runs.emplace_back(options, run.summary);
    if (run.told_to_stop) break;
  }
  if (!options.json) std::printf("\n%s", as_table(runs).c_str());
  return sound ? 0 : 1;
}

int run(const sample::run_options& options) {
  sluice::catch_stop_signals();
  if (options.pools == "all") return compare(options);
  const auto use = set_up(options);
  const sample::provider provider(options.provider_port);
  auto* const said = options.json ? stderr : stdout;
  std::fprintf(said, "The provider listens on %s\n", provider.url().c_str());
  std::fflush(said);
  return report(options, use, measure(options, use, provider, !options.json));
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = sample::parse_options(argc, argv);
  if (const auto* wrong = std::get_if<std::string>(&parsed)) {
    std::fprintf(stderr, "cache_refresh_bench: %s\n\n%s", wrong->c_str(), sample::usage);
    return 2;
  }
  const auto& options = std::get<sample::run_options>(parsed);
  if (options.help) return std::printf("%s", sample::usage), 0;
  try {
    return run(options);
  } catch (const failure& f) {
    std::fprintf(stderr, "cache_refresh_bench: %s\n", f.what());
    return f.exit_code;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cache_refresh_bench: %s\n", e.what());
    return 1;
  }
}
