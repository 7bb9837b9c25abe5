// What it costs that jobs have to do with others: each as a share of the same jobs without.
//
//   flow_bench [--store redis|sqlite] [--jobs N] [--children N] [--rounds N]
#include <cstring>
#include <functional>

#include "bench/stores.hpp"

namespace {

using namespace bench;

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
double run_all(const std::string& url, int jobs) {
  std::atomic<int> ran{0};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) {
    if (++ran == jobs) ran.notify_all();
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

void compare(stores& on, const char* what, int jobs, int rounds, const each_job& change, bool in_group = false) {
  std::vector<double> enqueue, run;
  for (int i = 0; i < rounds; ++i) {
    const auto plain = measure(on, jobs, [](int n, sluice::new_job& job) { job.id = id_of(n); });
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
    for (int i = 0; i < 50; ++i) {
      sluice::new_job job;
      job.type = "quick";
      job.queue = "quick";
      const auto before = seen.load();
      const auto at = steady::now();
      must(client.enqueue(std::move(job)));
      while (seen == before)
        std::this_thread::yield();
      ms.push_back(1000 * seconds_since(at));
    }
    for (const auto& q : must(client.queues()))
      if (q.queue.value == "children") released = q.enqueued;
    if (seconds_since(begin) > 600) die("not all children were released");
  }
  std::printf("%d children of one parent released in %.1f s\n", children, seconds_since(begin));
  show("  enqueue to body in another queue meanwhile", summarize(ms));
}

}  // namespace

int main(int argc, char** argv) {
  bool redis = true;
  int jobs = 100'000, children = 1'000'000, rounds = 3;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--store") redis = std::strcmp(argv[i + 1], "sqlite") != 0;
    else if (option == "--jobs") jobs = std::stoi(argv[i + 1]);
    else if (option == "--children") children = std::stoi(argv[i + 1]);
    else if (option == "--rounds") rounds = std::stoi(argv[i + 1]);
    else die("unknown option " + option);
  }
  stores on(redis);
  std::printf("%s; %u processors; %d jobs\n\n", redis ? "Redis" : "SQLite", std::thread::hardware_concurrency(), jobs);
  compare(on, "a chain", jobs, rounds, [](int n, sluice::new_job& job) {
    job.id = id_of(n);
    if (n > 0) job.after.parents = {id_of(n - 1)};
  });
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
  if (children > 0) release(on, children);
}
