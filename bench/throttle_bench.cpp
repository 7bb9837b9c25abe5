// What throttlers cost and how full they keep what they limit: how busy a semaphore is, with one server process or
// many, how long each of two servers waits for a mutex that both want, how full each interval of a window, how soon a
// waiter starts when a permit comes back, how often a job is
// parked, what a long line costs those who do not stand in it, and what a limit costs that never binds.
//
//   throttle_bench [--store redis|sqlite] [--only semaphore|servers|turns|window|deferrals|line|beside|free]
//                  [--pairs 7] [--servers 4]
#include <signal.h>

#include <cstring>
#include <map>
#include <memory>

#include <sluice/client.hpp>
#include <sluice/log.hpp>
#include <sluice/server.hpp>

#include "bench/throttle_runs.hpp"
#include "tests/support/process.hpp"

namespace {

using namespace bench;

// Runs `jobs` jobs of `length` under this throttler. `all_wait`: the first holds it until all others wait.
run_times run(const std::string& url, int jobs, unsigned workers, std::chrono::microseconds length,
              const sluice::throttler* by, const std::string& ref, bool all_wait = false) {
  enqueue_many(url, jobs);
  auto options = options_for(url, workers, 256);
  if (by) options.throttlers = {*by};
  if (!ref.empty()) options.jobs["noop"].throttle = {ref};
  run_log log;
  std::atomic<bool> go{!all_wait};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) {
    go.wait(false);
    work(log, length);
  });
  const auto cpu = own_cpu_seconds();
  sluice::server server(options, handlers);
  if (const auto started = server.start(); !started) die(sluice::to_string(started.error()));
  if (all_wait) {
    auto client = open_client(url);
    while (must(client.queues()).at(0).throttled + 1 < static_cast<std::uint64_t>(jobs))
      std::this_thread::sleep_for(10ms);
    go = true;
    go.notify_all();
  }
  log.wait_for(jobs);
  const auto used = own_cpu_seconds() - cpu;
  server.stop();
  auto times = log.take();
  times.cpu = used;
  return times;
}

// From each end to the start of the one that takes its place.
pick_up wake_ups(const run_times& t, std::size_t limit) {
  std::vector<double> ms;
  for (std::size_t i = 0; i + limit < t.began.size(); ++i)
    ms.push_back(static_cast<double>(t.began[i + limit] - t.ended[i]) / 1000);
  return summarize(std::move(ms));
}

// Of what `limit` permits could have run in that time.
double busy(const run_times& t, std::uint64_t limit) {
  double inside = 0;
  for (std::size_t i = 0; i < t.began.size(); ++i)
    inside += static_cast<double>(t.ended[i] - t.began[i]) / 1e6;
  return 100 * inside / (static_cast<double>(limit) * t.span());
}

constexpr std::uint64_t permits = 8;
constexpr unsigned all_workers = 32;

void busy_semaphore(stores& on, int jobs) {
  const auto by = semaphore("api", permits);
  const auto t = run(on.url(), jobs, all_workers, 5ms, &by, "semaphore:api");
  std::printf("%-44s %12.1f %%\n", "semaphore 8, bodies of 5 ms, 32 workers: busy", busy(t, permits));
  show("release to the next start, p50 / p99 / max", wake_ups(t, permits));
  const auto one = run(on.url(), jobs / 10, all_workers, 5ms, nullptr, "mutex:one");
  std::printf("%-44s %12.1f %%\n", "a mutex, bodies of 5 ms, 32 workers: busy", busy(one, 1));
}

sluice::throttler window() {
  sluice::throttler by;
  by.kind = sluice::throttler_kind::fixed_window;
  by.name = "api";
  by.limit = 500;
  by.interval = 1s;
  return by;
}

void full_window(stores& on, int jobs) {
  const auto by = window();
  const auto skew =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count() -
      monotonic_us();
  const auto t = run(on.url(), jobs, 32, 0us, &by, "fixed_window:api");
  std::map<std::int64_t, int> seconds;
  for (const auto began : t.began)
    ++seconds[(began + skew) / 1'000'000];
  int least = 500, most = 0;
  for (auto at = std::next(seconds.begin()); at != std::prev(seconds.end()); ++at) {
    least = std::min(least, at->second);
    most = std::max(most, at->second);
  }
  std::printf("%-44s %12d to %d\n", "fixed window of 500 a second: starts in each", least, most);
  std::printf("%-44s %12.1f %% of a core\n", "processor time of the server", 100 * t.cpu / t.span());
}

// One of the processes of `many_servers`: runs jobs of 5 ms under the semaphore until SIGTERM, then writes when each
// began and ended.
int serve(const std::string& url, const std::string& file, unsigned workers, std::uint64_t limit) {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // before any thread, so that only we wait for it
  auto options = options_for(url, workers, 256);
  options.throttlers = {semaphore("api", limit)};
  options.jobs["noop"].throttle = {"semaphore:api"};
  run_log log;
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) { work(log, 5ms); });
  sluice::server server(options, handlers);
  if (const auto started = server.start(); !started) die(sluice::to_string(started.error()));
  int signal = 0;
  ::sigwait(&stop, &signal);
  server.stop();
  const auto t = log.take();
  std::ofstream out(file);
  for (std::size_t i = 0; i < t.began.size(); ++i)
    out << t.began[i] << ' ' << t.ended[i] << '\n';
  return out.flush() ? 0 : 1;
}

// The most permits that the store had recorded, by one look every 50 ms.
class permit_samples {
public:
  explicit permit_samples(std::string url) : thread_([this, u = std::move(url)] { look(u); }) {}
  std::pair<std::uint64_t, int> end() {  // and how many looks there were
    over_ = true;
    thread_.join();
    return {most_, checks_};
  }

private:
  void look(const std::string& url) {
    auto client = open_client(url);
    for (auto next = steady::now(); !over_; std::this_thread::sleep_until(next += 50ms)) {
      for (const auto& row : must(client.throttlers()))
        most_ = std::max(most_, row.held);
      ++checks_;
    }
  }

  std::atomic<bool> over_{false};
  std::uint64_t most_ = 0;
  int checks_ = 0;
  std::thread thread_;
};

// The same jobs by so many server processes on one store, which share the workers. All are up before the first begins.
// Answers the times of each.
std::vector<run_times> run_by_each(stores& on, const std::string& url, const std::string& self, int servers, int jobs,
                                   std::uint64_t limit) {
  auto client = open_client(url);
  must_do(client.pause(sluice::queue_name("default")));
  enqueue_many(url, jobs);
  std::vector<sluice::test::process> processes;
  for (int i = 0; i < servers; ++i)
    processes.emplace_back(
        std::vector<std::string>{self, "--serve", url, on.file("times" + std::to_string(i)),
                                 std::to_string(all_workers / static_cast<unsigned>(servers)), std::to_string(limit)},
        on.file("serve.log"));
  const auto wait_until = [&](const auto& true_now) {
    while (!true_now()) {
      for (auto& one : processes)
        if (!one.alive()) die("a server process ended: " + one.log());
      std::this_thread::sleep_for(10ms);
    }
  };
  wait_until([&] { return must(client.servers()).size() == processes.size(); });
  must_do(client.resume(sluice::queue_name("default")));
  wait_until([&] { return must(client.queues()).at(0).succeeded == static_cast<std::uint64_t>(jobs); });
  std::vector<run_times> all(processes.size());
  std::size_t runs = 0;
  for (int i = 0; i < servers; ++i) {
    auto& one = processes[static_cast<std::size_t>(i)];
    one.signal(SIGTERM);
    if (one.exit_code(60s) != 0) die("a server process failed: " + one.log());
    std::ifstream times(on.file("times" + std::to_string(i)));
    auto& its = all[static_cast<std::size_t>(i)];
    for (std::int64_t began = 0, ended = 0; times >> began >> ended; ++runs) {
      its.began.push_back(began);
      its.ended.push_back(ended);
    }
  }
  if (runs != static_cast<std::size_t>(jobs)) die("not every job ran once");
  return all;
}

run_times run_by_many(stores& on, const std::string& url, const std::string& self, int servers, int jobs) {
  run_times all;
  for (const auto& its : run_by_each(on, url, self, servers, jobs, permits)) {
    all.began.insert(all.began.end(), its.began.begin(), its.began.end());
    all.ended.insert(all.ended.end(), its.ended.begin(), its.ended.end());
  }
  all.sort();
  return all;
}

void show_parkings(const std::string& what, std::uint64_t parkings, int jobs) {
  std::printf("%-44s %12.3f\n", (what + ": parkings a job").c_str(), static_cast<double>(parkings) / jobs);
}

void many_servers(stores& on, const std::string& self, int servers, int jobs) {
  const auto name = std::to_string(servers) + " processes, semaphore 8, 5 ms";
  {
    const auto url = on.url();
    permit_samples samples(url);
    const auto t = run_by_many(on, url, self, servers, jobs);
    const auto [most, looks] = samples.end();
    std::printf("%-44s %12.1f %%\n", (name + ": busy").c_str(), busy(t, permits));
    show("release to the next start, p50 / p99 / max", wake_ups(t, permits));
    std::printf("%-44s %12llu in %d looks\n", "most permits recorded", static_cast<unsigned long long>(most), looks);
  }
  const auto url = on.url();
  open_client(url);
  const auto parkings = on.count_parkings();
  run_by_many(on, url, self, servers, jobs);
  show_parkings(name, parkings->count(), jobs);
}

// Two servers, one permit, and more jobs than both can run: how long each waits from its last end to its next start.
void turns(stores& on, const std::string& self, int jobs) {
  const auto url = on.url();
  std::size_t number = 0;
  for (const auto& its : run_by_each(on, url, self, 2, jobs, 1)) {
    std::vector<double> ms;
    for (std::size_t i = 0; i + 1 < its.began.size(); ++i)
      if (const auto gap = its.began[i + 1] - its.ended[i]; gap > 5'000) ms.push_back(static_cast<double>(gap) / 1000);
    const auto what = "server " + std::to_string(++number) + " of 2 on one permit, " +
                      std::to_string(its.began.size()) + " jobs, " + std::to_string(ms.size()) + " waits";
    show(what.c_str(), summarize(std::move(ms)));
  }
}

void deferrals(stores& on, int calls, int starts) {
  const auto count = [&](const char* what, const sluice::throttler& by, const char* ref, int jobs,
                         std::chrono::microseconds length) {
    const auto url = on.url();
    open_client(url);  // so that there is something to count in
    const auto parkings = on.count_parkings();
    run(url, jobs, all_workers, length, &by, ref);
    show_parkings(what, parkings->count(), jobs);
  };
  count("semaphore 8, 5 ms", semaphore("api", permits), "semaphore:api", calls, 5ms);
  count("fixed window of 500 a second", window(), "fixed_window:api", starts, 0us);
}

// One mutex, its line short and long: jobs a second through it.
void long_line(stores& on) {
  for (const int waiting : {100, 1'000, 10'000, 100'000}) {
    const auto url = on.url();
    const auto t = run(url, waiting, 8, 0us, nullptr, "mutex:one", true);
    // The first of the line, while it is long.
    const std::size_t from = 1, to = std::min<std::size_t>(900, t.began.size() - 1);
    const auto us = static_cast<double>(t.began[to] - t.began[from]) / static_cast<double>(to - from);
    std::printf("one mutex, %7d jobs: from one start to the next %8.0f us\n", waiting, us);
    std::fflush(stdout);
  }
}

// A store in which so many jobs are parked behind one that holds a mutex, or so many only wait in a paused queue, with
// a server that runs others beside them.
class parked_store {
public:
  parked_store(std::string url, int parked, int waiting = 0) : url_(std::move(url)) {
    auto options = options_for(url_, all_workers, 256);
    options.queues["other"] = {64, 256, {}, {}};
    options.jobs["held"].throttle = {"mutex:one"};
    options.jobs["limited"].throttle = {"semaphore:wide"};
    options.throttlers = {semaphore("wide", 1'000'000)};
    handlers_.handle("held", [this](sluice::job_context&) { go_.wait(false); });
    for (const auto* type : {"noop", "limited"})
      handlers_.handle(type, [this](sluice::job_context&) { work(log_, 0us); });
    enqueue("held", "default", parked + 1);
    if (waiting > 0) {
      must_do(open_client(url_).pause(sluice::queue_name("paused")));
      enqueue("noop", "paused", waiting);
    }
    server_ = std::make_unique<sluice::server>(options, handlers_);
    if (const auto started = server_->start(); !started) die(sluice::to_string(started.error()));
    auto client = open_client(url_);
    while (throttled(client) < static_cast<std::uint64_t>(parked))
      std::this_thread::sleep_for(10ms);
  }
  // The line is given up with the store.
  ~parked_store() {
    auto client = open_client(url_);
    must_do(client.pause(sluice::queue_name("default")));
    go_ = true;
    go_.notify_all();
    server_->stop();
  }
  parked_store(const parked_store&) = delete;

  // From the first begin to the last end of so many jobs of this type, through a queue of their own.
  double seconds(const char* type, int jobs) {
    const sluice::queue_name other("other");
    auto client = open_client(url_);
    must_do(client.pause(other));
    enqueue(type, "other", jobs);
    must_do(client.resume(other));
    log_.wait_for(jobs);
    return log_.take().span();
  }

private:
  void enqueue(const char* type, const char* queue, int jobs) {
    auto client = open_client(url_);
    sluice::new_job job;
    job.type = sluice::job_type(type);
    job.queue = sluice::queue_name(queue);
    for (int left = jobs; left > 0; left -= 1000)
      for (auto& r : client.enqueue(std::vector<sluice::new_job>(static_cast<std::size_t>(std::min(left, 1000)), job)))
        must(std::move(r));
  }
  static std::uint64_t throttled(sluice::client& client) {
    for (const auto& q : must(client.queues()))
      if (q.queue.value == "default") return q.throttled;
    return 0;
  }

  std::string url_;
  run_log log_;
  std::atomic<bool> go_{false};
  sluice::handler_registry handlers_;
  std::unique_ptr<sluice::server> server_;
};

void show_ratios(const std::string& what, std::vector<double> ratios, const char* of, double best) {
  std::sort(ratios.begin(), ratios.end());
  std::printf("%-44s %12.2f of the %s without (%.2f to %.2f; at best %.0f jobs/s)\n", what.c_str(),
              ratios[ratios.size() / 2], of, ratios.front(), ratios.back(), best);
  std::fflush(stdout);
}

// What so many slices of work cost.
struct slice_costs {
  std::vector<double> seconds;
  double cpu = 0;
  double typical() {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }
};

// What a long line costs a queue and a resource that have nothing to do with it: 100,000 parked against 100, and
// against 100,000 that wait for nobody, since that many more records in memory cost something by themselves. Slices of
// a tenth of a second or so take turns, and the typical one counts, so that what else the machine does falls on both.
// Processor time is of all slices: what is paid from time to time for the line is in it too.
void beside_a_line(stores& on, int pairs) {
  constexpr int slices = 15, jobs = 5'000;
  on.url();
  parked_store few(on.beside("few"), 100), many(on.beside("many"), 100'000),
      waiting(on.beside("waiting"), 100, 100'000);
  const auto add_slice = [&](slice_costs& to, parked_store& of, const char* type) {
    const auto cpu = on.cpu_seconds();
    to.seconds.push_back(of.seconds(type, jobs));
    to.cpu += on.cpu_seconds() - cpu;
  };
  const auto show_beside = [&](const char* type, const std::string& what, parked_store& others) {
    std::vector<double> rates, cpus;
    double best = 0;
    for (int i = 0; i < pairs; ++i) {
      slice_costs with, without;
      for (int n = 0; n < slices; ++n) {
        if (n % 2 == 0) add_slice(without, others, type);
        add_slice(with, many, type);
        if (n % 2 != 0) add_slice(without, others, type);
      }
      rates.push_back(without.typical() / with.typical());
      cpus.push_back(with.cpu / without.cpu);
      best = std::max(best, jobs / without.typical());
    }
    show_ratios(what, std::move(rates), "rate", best);
    show_ratios(what, std::move(cpus), "processor time", best);
  };
  slice_costs warm;
  for (auto* one : {&few, &many, &waiting})
    add_slice(warm, *one, "noop");
  show_beside("noop", "plain jobs beside 100,000 parked", few);
  show_beside("noop", "the same, against 100,000 waiting", waiting);
  show_beside("limited", "under a semaphore beside 100,000 parked", few);
  show_beside("limited", "the same, against 100,000 waiting", waiting);
}

double rate(const run_times& t) { return static_cast<double>(t.began.size()) / t.span(); }

void never_binding(stores& on, int pairs, int jobs) {
  const auto by = semaphore("wide", 1'000'000);
  std::vector<double> ratios;
  double plain = 0;
  for (int i = 0; i < pairs; ++i) {
    const auto without = rate(run(on.url(), jobs, 64, 0us, nullptr, ""));
    const auto with = rate(run(on.url(), jobs, 64, 0us, &by, "semaphore:wide"));
    ratios.push_back(with / without);
    plain = std::max(plain, without);
  }
  show_ratios("a semaphore that never binds", std::move(ratios), "rate", plain);
}

}  // namespace

int main(int argc, char** argv) {
  bench::help(argc, argv,
              "throttle_bench [--store redis|sqlite] [--only "
              "semaphore|servers|turns|window|deferrals|line|beside|free] [--pairs 7] [--servers 4]");
  bool redis = true;
  std::string only;
  int pairs = 7, servers = 4;
  if (argc == 6 && std::strcmp(argv[1], "--serve") == 0)
    return serve(argv[2], argv[3], static_cast<unsigned>(std::atoi(argv[4])), std::strtoull(argv[5], nullptr, 10));
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--store") == 0) redis = std::strcmp(argv[i + 1], "sqlite") != 0;
    else if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    else if (std::strcmp(argv[i], "--pairs") == 0) pairs = std::max(1, std::atoi(argv[i + 1]));
    else if (std::strcmp(argv[i], "--servers") == 0) servers = std::clamp(std::atoi(argv[i + 1]), 1, 32);
    else die(std::string("unknown option ") + argv[i]);
  }
  stores on(redis);
  std::printf("%s; %u processors\n\n", redis ? "Redis" : "SQLite", std::thread::hardware_concurrency());
  if (only.empty() || only == "semaphore") busy_semaphore(on, 10'000);
  if (only.empty() || only == "servers") many_servers(on, fs::canonical("/proc/self/exe"), servers, 10'000);
  if (only.empty() || only == "turns") turns(on, fs::canonical("/proc/self/exe"), 2'000);
  if (only.empty() || only == "deferrals") deferrals(on, 10'000, 5'000);
  if (only.empty() || only == "window") full_window(on, 5'000);
  if (only.empty() || only == "line") long_line(on);
  if (only.empty() || only == "beside") beside_a_line(on, pairs);
  if (only.empty() || only == "free") never_binding(on, pairs, 100'000);
}
