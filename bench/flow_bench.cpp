// What it costs that jobs have to do with others: each as a share of the same jobs without. And how soon many jobs are
// released, cancelled and expired. A chain is compared with handlers that enqueue the next job.
//
//   flow_bench [--store redis|sqlite] [--jobs N] [--rounds N] [--children N] [--cancels N] [--expiries N]
//
// What is 0 is left out.
#include <fcntl.h>

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>

#include "bench/stores.hpp"
#include "tests/support/fault_proxy.hpp"

namespace {

using namespace bench;

constexpr auto cancel_lease = 6s;  // a lost hint costs a third of it at most

using each_job = std::function<void(int, sluice::new_job&)>;

// Stores the jobs; the rate.
double enqueue_all(sluice::client& client, int jobs, const each_job& change) {
  const auto begin = steady::now();
  for (int n = 0; n < jobs; n += 1000) {
    std::vector<sluice::new_job> some;
    for (int i = n; i < std::min(jobs, n + 1000); ++i) {
      some.push_back(noop());
      change(i, some.back());
    }
    for (auto& r : client.enqueue(std::move(some)))
      must(std::move(r));
  }
  return jobs / seconds_since(begin);
}

// Starts a server and runs all that there is; the rate.
double run_all(const std::string& url, int jobs, const std::function<void(int)>& after_each = {}) {
  std::atomic<int> ran{0};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) {
    const auto its = ++ran;
    if (after_each) after_each(its);
    if (its == jobs) ran.notify_all();
  });
  sluice::server server(options_for(url, 2, 256), handlers);
  const auto begin = steady::now();
  must(server.start());
  for (int seen = 0; (seen = ran.load()) < jobs;)
    ran.wait(seen);
  return jobs / seconds_since(begin);
}

struct rates {
  double enqueue = 0, run = 0;
};
rates measure(stores& on, int jobs, const each_job& change, bool in_group = false) {
  const auto url = on.url();
  auto client = open_client(url);
  if (in_group) must(client.create_group({sluice::group_name("g")}));
  rates r;
  r.enqueue = enqueue_all(client, jobs, change);
  if (in_group) must(client.seal_group(sluice::group_name("g")));
  r.run = run_all(url, jobs);
  if (in_group && must(client.group(sluice::group_name("g"))).succeeded + 1 < static_cast<std::uint64_t>(jobs))
    die("the group has not counted all");
  return r;
}

sluice::job_id id_of(int i) { return sluice::job_id("j" + std::to_string(i)); }

rates measure_plain(stores& on, int jobs) {
  return measure(on, jobs, [](int n, sluice::new_job& job) { job.id = id_of(n); });
}

// What a chain replaces: each handler enqueues the next job. The enqueues are those of plain jobs, and what runs is one
// job after the other.
rates measure_chain_by_hand(stores& on, int jobs) {
  rates r;
  r.enqueue = measure_plain(on, jobs).enqueue;
  const auto url = on.url();
  auto client = open_client(url);
  const auto put = [&](int n) {
    auto job = noop();
    job.id = id_of(n);
    must(client.enqueue(std::move(job)));
  };
  put(0);
  r.run = run_all(url, jobs, [&](int ran) {
    if (ran < jobs) put(ran);
  });
  return r;
}

using measure_without = rates (*)(stores&, int jobs);
void compare(stores& on, const char* what, int jobs, int rounds, const each_job& change, bool in_group = false,
             measure_without without = measure_plain) {
  std::vector<double> enqueue, run;
  for (int i = 0; i < rounds; ++i) {
    const auto plain = without(on, jobs);
    const auto its = measure(on, jobs, change, in_group);
    enqueue.push_back(its.enqueue / plain.enqueue);
    run.push_back(its.run / plain.run);
    std::printf("%-24s enqueue %7.0f of %7.0f a second, run %7.0f of %7.0f\n", what, its.enqueue, plain.enqueue,
                its.run, plain.run);
    std::fflush(stdout);
  }
  const auto median = [](std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  };
  std::printf("%-24s enqueue %.2f, run %.2f of the same jobs without\n", what, median(enqueue), median(run));
  std::fflush(stdout);
}

void compare_all(stores& on, int jobs, int rounds) {
  compare(
      on, "a chain", jobs, rounds,
      [](int n, sluice::new_job& job) {
        job.id = id_of(n);
        if (n > 0) job.after.parents = {id_of(n - 1)};
      },
      false, measure_chain_by_hand);
  compare(
      on, "a group", jobs, rounds,
      [](int n, sluice::new_job& job) {
        job.id = id_of(n);
        job.group = "g";
      },
      true);
  compare(on, "unique keys", jobs, rounds, [](int n, sluice::new_job& job) {
    job.id = id_of(n);
    job.args = std::to_string(n);
    job.unique.emplace();
  });
  compare(on, "times to start and finish", jobs, rounds, [](int n, sluice::new_job& job) {
    job.id = id_of(n);
    job.start_within = 1h;
    job.finish_within = 2h;
  });
}

// A job of the queue `quick`, from its enqueue to its body.
double pick_up_of(sluice::client& client, const std::atomic<int>& seen) {
  sluice::new_job job;
  job.type = "quick";
  job.queue = "quick";
  const auto before = seen.load();
  const auto at = steady::now();
  must(client.enqueue(std::move(job)));
  while (seen == before)
    std::this_thread::yield();
  return 1000 * seconds_since(at);
}

// A parent with many children ends while jobs of another queue are picked up.
void release(stores& on, int children) {
  const auto url = on.url();
  auto client = open_client(url);
  auto parent = noop();
  parent.id = "parent";
  parent.queue = "parents";
  must(client.enqueue(std::move(parent)));
  enqueue_all(client, children, [](int, sluice::new_job& job) {
    job.queue = "children";
    job.after.parents = {"parent"};
  });
  std::atomic<int> seen{0};
  sluice::handler_registry handlers;
  handlers.handle("noop", [](sluice::job_context&) {});
  handlers.handle("quick", [&](sluice::job_context&) { ++seen; });
  auto options = options_for(url, 1, 0);
  options.queues = {{"parents", {1, 0, {}, {}}}, {"quick", {1, 0, {}, {}}}};
  sluice::server server(options, handlers);
  must(server.start());
  const auto begin = steady::now();
  std::vector<double> ms;
  std::uint64_t released = 0;
  while (released < static_cast<std::uint64_t>(children)) {
    for (int i = 0; i < 50; ++i)
      ms.push_back(pick_up_of(client, seen));
    for (const auto& q : must(client.queues()))
      if (q.queue.value == "children") released = q.enqueued;
    if (seconds_since(begin) > 600) die("not all children were released");
  }
  std::printf("%d children of one parent released in %.1f s\n", children, seconds_since(begin));
  show("  enqueue to body in another queue meanwhile", summarize(ms));
}

// The other process of the cancels: its handlers wait until they are told to stop, and write when they began and when
// they were told.
int serve_until_told(const std::string& url, int workers, const std::string& said) {
  const int out = ::open(said.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const auto say = [out](const char* what, const sluice::job_id& id) {
    const auto line = std::string(what) + " " + id.value + " " + std::to_string(monotonic_us()) + "\n";
    if (::write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) die("cannot write");
  };
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context& job) {
    std::mutex mutex;
    std::condition_variable_any told;
    std::unique_lock hold(mutex);
    say("began", job.id());
    told.wait(hold, job.stop(), [] { return false; });
    say("told", job.id());
    job.throw_if_stop_requested();
  });
  auto options = options_for(url, static_cast<unsigned>(workers), 0);
  options.lease = cancel_lease;
  sluice::server server(options, handlers);
  must(server.start());
  while (::getppid() != 1)  // it is killed
    std::this_thread::sleep_for(1s);
  return 0;
}

// What handlers have written: of each job the microsecond.
std::map<std::string, std::int64_t> said_by(const std::string& file, const std::string& what) {
  std::map<std::string, std::int64_t> found;
  std::ifstream lines(file);
  std::string word, id;
  for (std::int64_t us = 0; lines >> word >> id >> us;)
    if (word == what) found.emplace(id, us);
  return found;
}
void await_all(const std::string& file, const std::string& what, int jobs) {
  const auto begin = steady::now();
  while (static_cast<int>(said_by(file, what).size()) < jobs) {
    if (seconds_since(begin) > 120) die("not all jobs " + what);
    std::this_thread::sleep_for(20ms);
  }
}

enum class asked { at_once, one_by_one, unheard };

// Running jobs of four server processes are cancelled: from the call to when their handlers are told.
void cancel(stores& on, const std::string& self, int jobs, asked how) {
  constexpr int processes = 4;
  const auto url = on.url();
  std::unique_ptr<sluice::test::fault_proxy> between;
  if (how == asked::unheard)
    between = std::make_unique<sluice::test::fault_proxy>(sluice::test::unix_at(on.redis()->socket()));
  auto client = open_client(url);
  const auto said = on.file("told");
  fs::remove(said);
  std::vector<pid_t> servers;
  for (int i = 0; i < processes; ++i) {
    servers.push_back(::fork());
    if (servers.back() != 0) continue;
    const auto workers = std::to_string(jobs / processes);
    const auto its = between ? between->tcp_url() : url;
    ::execl(self.c_str(), self.c_str(), "--serve", its.c_str(), workers.c_str(), said.c_str(), nullptr);
    ::_exit(127);
  }
  jobs = jobs / processes * processes;
  enqueue_all(client, jobs, [](int n, sluice::new_job& job) { job.id = id_of(n); });
  await_all(said, "began", jobs);
  if (between) {
    between->refuse(true);
    on.redis()->command({"CLIENT", "KILL", "TYPE", "pubsub"});
  }
  std::vector<sluice::job_id> ids;
  for (int i = 0; i < jobs; ++i)
    ids.push_back(id_of(i));
  std::map<std::string, std::int64_t> called;
  const auto begin = monotonic_us();
  if (how == asked::one_by_one) {
    for (const auto& id : ids) {
      called[id.value] = monotonic_us();
      must(client.cancel(id));
    }
  } else {
    for (const auto& id : ids)
      called[id.value] = begin;
    for (auto& r : client.cancel(ids))
      must(r);
  }
  const auto took = static_cast<double>(monotonic_us() - begin) / 1000;
  await_all(said, "told", jobs);
  std::vector<double> ms;
  for (const auto& [id, us] : said_by(said, "told"))
    ms.push_back(static_cast<double>(us - called.at(id)) / 1000);
  for (const auto pid : servers)
    ::kill(pid, SIGKILL);
  for (const auto pid : servers)
    ::waitpid(pid, nullptr, 0);
  std::printf("%d running jobs of %d processes cancelled %s in %.1f ms\n", jobs, processes,
              how == asked::one_by_one ? "one by one"
              : how == asked::at_once  ? "at once"
                                       : "and no hint heard",
              took);
  show("  cancel to the handler's being told", summarize(ms));
}

// Jobs that nobody works off have to be started by one instant: how long after it they have all ended.
void expire(stores& on, int jobs, bool paused) {
  const auto url = on.url();
  auto client = open_client(url);
  std::atomic<int> started{0}, seen{0};
  std::atomic<bool> held{false}, over{false};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) { ++started; });
  handlers.handle("quick", [&](sluice::job_context&) { ++seen; });
  handlers.handle("hold", [&](sluice::job_context&) {
    held = true;
    over.wait(false);
  });
  auto options = options_for(url, 1, 0);
  options.queues = {{"late", {1, 0, {}, {}}}, {"quick", {1, 0, {}, {}}}};
  sluice::server server(options, handlers);
  must(server.start());
  if (paused) must(client.pause("late"));
  else {
    sluice::new_job job;
    job.type = "hold";
    job.queue = "late";
    must(client.enqueue(std::move(job)));
    while (!held)
      std::this_thread::yield();
  }
  const auto instant = steady::now() + 5s + std::chrono::milliseconds(jobs / 4);
  enqueue_all(client, jobs, [&](int, sluice::new_job& job) {
    job.queue = "late";
    job.start_within = std::chrono::ceil<sluice::duration>(instant - steady::now());
  });
  if (steady::now() > instant) die("the jobs are stored behind the instant");
  std::this_thread::sleep_until(instant);
  std::vector<double> ms;
  std::uint64_t ended = 0;
  while (ended < static_cast<std::uint64_t>(jobs)) {
    for (int i = 0; i < 20; ++i)
      ms.push_back(pick_up_of(client, seen));
    for (const auto& q : must(client.queues()))
      if (q.queue.value == "late") ended = q.deleted;
    if (seconds_since(instant) > 120) die("not all jobs were expired");
  }
  std::printf("%d jobs of a queue %s expired in %.1f s, %d started\n", jobs,
              paused ? "that is paused" : "whose workers are busy", seconds_since(instant), started.load());
  show("  enqueue to body in another queue meanwhile", summarize(ms));
  over = true;
  over.notify_all();
}

}  // namespace

int main(int argc, char** argv) {
  bench::help(argc, argv,
              "flow_bench [--store redis|sqlite] [--jobs N] [--rounds N] [--children N] [--cancels N] [--expiries N]");
  if (argc == 5 && std::strcmp(argv[1], "--serve") == 0) return serve_until_told(argv[2], std::stoi(argv[3]), argv[4]);
  bool redis = true;
  int jobs = 100'000, children = 1'000'000, rounds = 3, cancels = 1'000, expiries = 100'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--store") redis = std::strcmp(argv[i + 1], "sqlite") != 0;
    else if (option == "--jobs") jobs = std::stoi(argv[i + 1]);
    else if (option == "--children") children = std::stoi(argv[i + 1]);
    else if (option == "--rounds") rounds = std::stoi(argv[i + 1]);
    else if (option == "--cancels") cancels = std::stoi(argv[i + 1]);
    else if (option == "--expiries") expiries = std::stoi(argv[i + 1]);
    else die("unknown option " + option);
  }
  stores on(redis);
  std::printf("%s; %u processors; %d jobs\n\n", redis ? "Redis" : "SQLite", std::thread::hardware_concurrency(), jobs);
  if (rounds > 0) compare_all(on, jobs, rounds);
  if (children > 0) release(on, children);
  if (cancels > 0) {
    const auto self = fs::read_symlink("/proc/self/exe").string();
    cancel(on, self, cancels, asked::at_once);
    cancel(on, self, cancels, asked::one_by_one);
    if (redis) cancel(on, self, cancels, asked::unheard);
  }
  for (const bool paused : {true, false})
    if (expiries > 0) expire(on, expiries, paused);
}
