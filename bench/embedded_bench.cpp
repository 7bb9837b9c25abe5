// Sluice inside a host's actor_system: what a job costs when an actor of the host handles it, beside a
// function; and what the settings of the host's scheduler do to throughput and pick-up.
//
//   embedded_bench [--jobs N] [--rounds N] [--dir FOLDER]
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include <malloc.h>

#include <sluice/actors.hpp>

#include "bench/measure.hpp"

namespace {

using namespace bench;

struct host_settings : caf::actor_system_config {
  host_settings(const char* policy, std::size_t threads, std::size_t throughput) {
    if (std::strcmp(policy, "sharing") == 0) set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", threads);
    if (throughput > 0) set("scheduler.max-throughput", throughput);
  }
};

enum class handled_by { function, actor };

// A host that runs `noop`, by a function or by one actor, and tells when each was begun.
class host {
public:
  host(host_settings& settings, const std::string& url, handled_by how, std::function<void(const std::string&)> began)
      : system_(settings) {
    sluice::handler_registry handlers;
    if (how == handled_by::function) {
      handlers.handle("noop", [began](sluice::job_context& c) { began(c.args()); });
    } else {
      actor_ = system_.spawn([began](caf::event_based_actor*) -> caf::behavior {
        return {[began](const sluice::run_job& start) { began(start.args()); }};
      });
      sluice::handle_by_actor(handlers, "noop", actor_);
    }
    auto spawned = sluice::spawn_server(system_, options_for(url, 64, 256), handlers);
    if (!spawned) die(sluice::to_string(spawned.error()));
    server_.emplace(std::move(*spawned));
  }
  ~host() {
    server_.reset();
    caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
  }

private:
  caf::actor_system system_;
  caf::actor actor_;
  std::optional<sluice::embedded_server> server_;
};

double process(host_settings& settings, const fs::path& dir, int jobs, handled_by how) {
  const auto path = fresh(dir, "embedded.db");
  enqueue_many("sqlite:" + path, jobs);
  std::atomic<int> ran{0};
  {
    host h(settings, "sqlite:" + path, how, [&](const std::string&) {
      ran.fetch_add(1, std::memory_order_relaxed);
      ran.notify_one();
    });
    for (int seen = 0; (seen = ran.load()) < jobs;)
      ran.wait(seen);
  }
  return settled_rate(path, jobs);
}

pick_up picked_up(host_settings& settings, const fs::path& dir, int jobs, handled_by how) {
  const auto url = "sqlite:" + fresh(dir, "embedded.db");
  std::mutex mutex;
  std::vector<double> ms;
  std::atomic<int> ran{0};
  host h(settings, url, how, [&](const std::string& sent) {
    const auto waited = static_cast<double>(monotonic_us() - std::stoll(sent)) / 1000;
    {
      std::lock_guard hold(mutex);
      ms.push_back(waited);
    }
    ran.fetch_add(1);
    ran.notify_one();
  });
  auto client = open_client(url);
  auto next = steady::now();
  for (int i = 0; i < jobs; ++i) {
    std::this_thread::sleep_until(next += 5ms);
    auto job = noop();
    job.args = std::to_string(monotonic_us());
    must(client.enqueue(std::move(job)));
  }
  for (int seen = 0; (seen = ran.load()) < jobs;)
    ran.wait(seen);
  return summarize(std::move(ms));
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  bench::help(argc, argv, "embedded_bench [--jobs N] [--rounds N] [--dir FOLDER]");
  ::mallopt(M_TRIM_THRESHOLD, 256 * 1024 * 1024);  // as `sluice work` does
  int jobs = 100'000, rounds = 5;
  fs::path dir = "bench-data";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--jobs") jobs = std::stoi(argv[i + 1]) / 1000 * 1000;
    else if (option == "--rounds") rounds = std::max(1, std::stoi(argv[i + 1]));
    else if (option == "--dir") dir = argv[i + 1];
    else die("unknown option " + option + "; known: --jobs, --rounds, --dir");
  }
  std::printf("noop jobs, 64 workers, prefetch 256; %u processors\n\n", std::thread::hardware_concurrency());

  host_settings advised("sharing", 2, 100);
  std::vector<double> functions, actors, ratios;
  for (int i = 0; i < rounds; ++i) {  // side by side, so that the machine's moods meet both
    functions.push_back(process(advised, dir, jobs, handled_by::function));
    actors.push_back(process(advised, dir, jobs, handled_by::actor));
    ratios.push_back(functions.back() / actors.back());
  }
  row("handled by a function", median(functions), "jobs/s");
  row("handled by an actor of the host", median(actors), "jobs/s");
  std::printf("%-44s %12.2f times (median of %d rounds; %.2f to %.2f)\n", "what the actor costs", median(ratios),
              rounds, *std::min_element(ratios.begin(), ratios.end()), *std::max_element(ratios.begin(), ratios.end()));

  std::printf("\n%-34s %12s %12s %26s %26s\n", "the host's scheduler", "function", "actor", "function p50/p99/max ms",
              "actor p50/p99/max ms");
  struct setting {
    const char* policy;
    std::size_t threads, throughput;
  };
  for (const auto& [policy, threads, throughput] :
       {setting{"stealing", 4, 0}, {"stealing", 4, 100}, {"sharing", 4, 0}, {"sharing", 4, 100}, {"sharing", 2, 100}}) {
    host_settings settings(policy, threads, throughput);
    const auto name = std::string(policy) + ", " + std::to_string(threads) + " threads, throughput " +
                      (throughput == 0 ? "default" : std::to_string(throughput));
    const auto by_function = process(settings, dir, jobs, handled_by::function);
    const auto by_actor = process(settings, dir, jobs, handled_by::actor);
    const auto f = picked_up(settings, dir, 600, handled_by::function);
    const auto a = picked_up(settings, dir, 600, handled_by::actor);
    std::printf("%-34s %10.0f/s %10.0f/s %10.2f / %.2f / %.2f %14.2f / %.2f / %.2f\n", name.c_str(), by_function,
                by_actor, f.p50, f.p99, f.most, a.p50, a.p99, a.most);
    std::fflush(stdout);
  }
  return 0;
}
