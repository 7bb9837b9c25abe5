// Permits of server processes that are killed, or stopped past their leases: by the store's own records and by the logs
// of the handlers.
#include <atomic>
#include <cstdio>
#include <thread>

#include "support/catch.hpp"
#include "system/worker_world.hpp"

namespace sluice::test {
namespace {

constexpr auto lease = 2s;
constexpr auto slack = 10s;  // a machine may be busy; the next sweep is a minute away

struct perhaps_redis {
  std::unique_ptr<redis_server> redis;
};

// Each job takes a permit of the semaphore and the mutex of its order, which begins its id: "a-17" is of order a.
struct permit_world : perhaps_redis, worker_world {
  permit_world(const std::string& store, int limit)
      : perhaps_redis{store == "redis" ? std::make_unique<redis_server>() : nullptr},
        worker_world(json{{"lease", "2s"},
                          {"sweep_interval", "60s"},
                          {"queues", {{"default", {{"workers", 8}}}}},
                          {"throttlers", {{"api", {{"kind", "semaphore"}, {"limit", limit}}}}},
                          {"jobs", {{"noop", {{"throttle", {"semaphore:api", "mutex:order:{order}"}}}}}}},
                     redis ? redis->url() : std::string()) {}

  static std::string submission_of(const std::string& id) { return id.substr(0, id.find('-')); }

  static new_job ordered(const std::string& id, json args) {
    args["order"] = submission_of(id);
    return noop(id, args);
  }

  std::vector<throttler_status> throttlers() {
    auto all = client->throttlers();
    if (!all) throw std::runtime_error(to_string(all.error()));
    return std::move(*all);
  }

  throttler_status about(const throttler_status& row) {
    auto one = client->throttler(row.kind, row.resource.substr(row.resource.find(':') + 1));
    if (!one) throw std::runtime_error(to_string(one.error()));
    return std::move(*one);
  }

  // Permits of these runs, as "RESOURCE ID".
  std::set<std::string> permits_of(const std::set<std::uint64_t>& fences) {
    std::set<std::string> found;
    for (const auto& row : throttlers())
      for (const auto& holder : about(row).holders)
        if (fences.contains(holder.fence.value)) found.insert(row.resource + " " + holder.id.value);
    return found;
  }

  std::uint64_t held_of_semaphore() {
    for (const auto& row : throttlers())
      if (row.kind == throttler_kind::semaphore) return row.held;
    return 0;
  }

  // The starts that the store says a server has.
  std::set<std::uint64_t> runs_of(const std::string& server) {
    std::set<std::uint64_t> fences;
    for (const auto& j : all(job_state::processing))
      if (was_on(j, server)) fences.insert(j.fence.value);
    return fences;
  }

  // Not inside a step of the store, where it would hold up everybody on SQLite.
  void stop_between_steps(process& p) {
    const auto locked = [&](const char* end) {
      return run({"flock", "-n", folder.file(std::string("jobs.db") + end), "true"}, folder.path().string())
                 .exit_code != 0;
    };
    for (int tries = 0; tries < 100; ++tries) {
      if (!p.stop()) break;
      if (redis || !(locked(".lock") || locked(".turn"))) return;
      p.signal(SIGCONT);
    }
    throw std::runtime_error("the server cannot be stopped between two steps");
  }

  // Nobody has or waits for anything, and the store agrees with itself.
  void nothing_is_left() {
    for (const auto& row : throttlers()) {
      INFO(row.resource);
      CHECK(row.held == 0);
      CHECK(row.waiting == 0);
    }
    CHECK(sluice({"audit"}).out == "nothing is wrong\n");
  }
};

// Looks again and again, from a thread of its own, whether more permits are recorded than a limit allows.
class limit_watch {
public:
  explicit limit_watch(permit_world& w) : thread_([this, &w] { look(w.url); }) {}
  ~limit_watch() { end(); }

  // After `end`.
  int looks() const { return checks_; }
  std::uint64_t max_of_semaphore() const { return most_; }
  const std::vector<std::string>& faults() const { return faults_; }

  void end() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }

private:
  void look(const std::string& url) {
    auto client = sluice::client::open({url, 20s, {}, {}});
    const auto once = [&] {
      const auto rows = client ? client->throttlers() : client.error();
      if (!rows) return faults_.push_back(to_string(rows.error()));
      ++checks_;
      for (const auto& row : *rows) {
        if (row.kind == throttler_kind::semaphore) most_ = std::max(most_, row.held);
        if (row.held > row.limit.value_or(0))
          faults_.push_back(row.resource + " is held by " + std::to_string(row.held));
      }
    };
    while (!eventually([&] { return over_ || (once(), faults_.size() > 20); }, 1s))
      continue;
  }

  std::atomic<bool> over_{false};
  int checks_ = 0;
  std::uint64_t most_ = 0;
  std::vector<std::string> faults_;
  std::thread thread_;
};

// How many of these handlers ran at once. What has no end ended at `dead`, with its process.
template <class Which>
int max_at_once(const seen_runs& runs, steady_time dead, Which which) {
  std::vector<std::pair<steady_time, int>> steps;
  for (const auto& [fence, run] : runs) {
    if (!which(run)) continue;
    steps.emplace_back(run.begin, +1);
    steps.emplace_back(run.end.value_or(dead), -1);
  }
  std::sort(steps.begin(), steps.end());  // of one instant the ends first
  int now = 0, most = 0;
  for (const auto& [at, by] : steps)
    most = std::max(most, now += by);
  return most;
}

}  // namespace

TEST_CASE("the permits of a killed server are with others without a sweep and nobody waits for ever") {
  const auto store = GENERATE(as<std::string>{}, "sqlite", "redis");
  CAPTURE(store);
  constexpr int limit = 8, stuck = 4, orders = 12, count = 2'000;
  permit_world w(store, limit);
  limit_watch watch(w);
  auto victim = w.worker("victim");
  std::vector<new_job> jobs;
  for (int i = 0; i < stuck; ++i)
    jobs.push_back(permit_world::ordered("order" + std::to_string(i) + "-held", {{"until_told", true}}));
  w.enqueue(std::move(jobs));
  REQUIRE(eventually([&] { return w.noted("begin", {"victim"}) == stuck; }));
  auto other = w.worker("other");
  jobs.clear();
  for (int i = 0; i < count; ++i)
    jobs.push_back(permit_world::ordered("order" + std::to_string(i % orders) + "-" + std::to_string(i), {{"ms", 2}}));
  w.enqueue(std::move(jobs));
  REQUIRE(eventually([&] { return w.noted("end", {"victim"}) >= 100; }));

  victim.signal(SIGKILL);
  const auto killed = steady_clock::now();
  REQUIRE(victim.exit_code(5s) == -SIGKILL);
  const auto lost = w.runs_of("victim");
  const auto permits = w.permits_of(lost);
  CHECK(permits.size() >= 2 * stuck);
  REQUIRE(eventually([&] { return w.permits_of(lost).empty(); }, 2 * lease + slack));
  const std::chrono::duration<double> took = steady_clock::now() - killed;
  w.tell("other");  // until now one of the lost runs again, and the others wait behind it without a permit
  CHECK(eventually([&] { return w.all_succeeded(count + stuck); }));
  watch.end();
  std::printf("%s: %zu permits of a killed server were free after %.2f s of a lease of 2 s; looked %d times, held %d\n",
              store.c_str(), permits.size(), took.count(), watch.looks(), static_cast<int>(watch.max_of_semaphore()));
  CHECK(watch.faults() == none);
  CHECK(watch.looks() > 100);
  CHECK(watch.max_of_semaphore() == limit);
  w.nothing_is_left();

  const auto runs = w.runs({"victim", "other"});
  CHECK(faults_of(w, runs) == none);
  CHECK(max_at_once(runs, killed, [](const auto&) { return true; }) <= limit);
  for (int i = 0; i < orders; ++i)
    CHECK(max_at_once(runs, killed, [order = "order" + std::to_string(i)](const seen_run& run) {
            return permit_world::submission_of(run.id) == order;
          }) == 1);
}

TEST_CASE("what a server says that was stopped past its leases takes no permit from those who have them now") {
  const auto store = GENERATE(as<std::string>{}, "sqlite", "redis");
  CAPTURE(store);
  constexpr int limit = 4;
  const json until_told{{"until_told", true}};
  permit_world w(store, limit);
  limit_watch watch(w);
  auto stopped = w.worker("stopped");
  const std::vector<std::string> held{"a-held", "b-held", "c-held", "d-held"};
  std::vector<new_job> jobs;
  for (const auto& id : held)
    jobs.push_back(permit_world::ordered(id, until_told));
  w.enqueue(std::move(jobs));
  REQUIRE(eventually([&] { return w.noted("begin", {"stopped"}) == limit; }));
  w.stop_between_steps(stopped);

  // One wants a mutex of those that run, two only the semaphore; so one of those that were lost runs again with them.
  jobs.clear();
  for (const auto* id : {"a-next", "e-next", "f-next"})
    jobs.push_back(permit_world::ordered(id, until_told));
  w.enqueue(std::move(jobs));
  auto other = w.worker("other");
  REQUIRE(eventually([&] { return w.noted("begin", {"other"}) == limit; }));
  std::set<std::uint64_t> running;
  for (const auto& [fence, run] : w.runs({"other"}))
    running.insert(fence);
  CHECK(w.noted("begin " + held[0], {"other"}) == 0);  // a-next waited for its mutex
  const auto permits = w.permits_of(running);
  REQUIRE(permits.size() == 2 * limit);

  w.tell("stopped");
  stopped.signal(SIGCONT);
  bool always_full = true;
  const auto refused = [&](const std::string& id) {
    always_full = always_full && w.held_of_semaphore() == limit;
    return stopped.log().find("the end (succeeded) of job " + id + " was refused") != std::string::npos;
  };
  for (const auto& id : held)
    CHECK(eventually([&] { return refused(id); }));
  CHECK(always_full);
  CHECK(w.permits_of(running) == permits);
  CHECK(w.noted("begin", {"stopped", "other"}) == 2 * limit);  // and nobody else was let in

  w.tell("other");
  REQUIRE(eventually([&] { return w.all_succeeded(2 * limit - 1); }));
  watch.end();
  CHECK(watch.faults() == none);
  CHECK(watch.max_of_semaphore() == limit);
  for (const auto& id : held) {
    const auto history = w.get(id).history;
    REQUIRE(history.size() == 2);
    CHECK(history[0].cause == "lost");
    CHECK(was_on(history[0], "stopped"));
    CHECK(history[1].cause == "succeeded");
  }
  CHECK(faults_of(w, w.runs({"stopped", "other"})) == none);
  w.nothing_is_left();
}

}  // namespace sluice::test
