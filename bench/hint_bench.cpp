// What an enqueue costs a server that serves 500 idle queues beside the busy one: requests, and claims of the idle.
//
//   hint_bench [--store redis|sqlite]
#include <cstring>

#include "bench/stores.hpp"
#include "tests/support/counted_server.hpp"

namespace {

using namespace bench;

constexpr int idle_queues = 500;
constexpr int jobs = 1'000;

// One job after the other. `by`: whoever enqueues, as this process or as another.
template <class Enqueue>
void measure(const char* what, const sluice::test::counted_server& server, const std::atomic<int>& runs,
             const Enqueue& enqueue) {
  std::this_thread::sleep_for(500ms);  // each queue has asked for the first time
  const auto asked = server.asked->all(), idle = server.asked->claims_but_of("busy");
  std::vector<double> ms;
  for (int i = 0; i < jobs; ++i) {
    const auto before = runs.load();
    const auto begin = steady::now();
    enqueue();
    while (runs == before)
      std::this_thread::yield();
    ms.push_back(1000 * seconds_since(begin));
  }
  show(what, summarize(ms));
  const auto an_enqueue = [](std::uint64_t n) { return static_cast<double>(n) / jobs; };
  std::printf("%-44s %8.2f, claims of idle queues %.2f\n", "  requests an enqueue",
              an_enqueue(server.asked->all() - asked), an_enqueue(server.asked->claims_but_of("busy") - idle));
}

}  // namespace

int main(int argc, char** argv) {
  bench::help(argc, argv, "hint_bench [--store redis|sqlite]");
  bool redis = true;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--store") == 0) redis = std::strcmp(argv[i + 1], "sqlite") != 0;
    else die(std::string("unknown option ") + argv[i]);
  }
  stores on(redis);
  std::printf("%s; %u processors\n\n", redis ? "Redis" : "SQLite", std::thread::hardware_concurrency());
  const auto url = on.url();
  auto options = options_for(url, 1, 0);
  options.queues = {{"busy", {1, 0, {}, {}}}};
  for (int i = 0; i < idle_queues; ++i)
    options.queues["idle" + std::to_string(i)] = {1, 0, {}, {}};
  options.sweep_interval = 1min;
  std::atomic<int> runs{0};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) { ++runs; });
  const sluice::test::counted_server server(options, handlers);
  auto client = open_client(url);  // as another process: the server has a shared store of its own
  measure("enqueue to end of body, 500 idle queues, ms", server, runs, [&] {
    sluice::new_job j;
    j.type = sluice::job_type("noop");
    j.queue = sluice::queue_name("busy");
    if (const auto id = client.enqueue(std::move(j)); !id) die(sluice::to_string(id.error()));
  });
}
