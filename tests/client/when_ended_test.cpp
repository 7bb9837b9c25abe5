// Producers without CAF that are told of the ends of jobs.
#include <sluice/client.hpp>

#include <atomic>
#include <filesystem>
#include <mutex>

#include "storage/shared_store.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

// One of its own: what a detached thread of the case before still holds is another.
struct in_memory {
  static inline int made = 0;
  std::string name = "sqlite::memory:when_ended" + std::to_string(++made);
  std::string url() const { return name; }
};
struct on_redis {
  redis_server server;
  std::string url() const { return server.url(); }
};

template <class Store>
struct watched_store {
  Store at;
  std::shared_ptr<storage::shared_store> shared = storage::open_shared_store(at.url()).value();
  std::optional<client> jobs = client::open({.storage = at.url()}).value();

  job_id enqueue(const std::string& id) { return jobs->enqueue({.type = "mail", .id = job_id(id)}).value(); }

  // As a server does. The only job that waits.
  void run(run_end how) {
    storage::claim_request claim;
    claim.server.value = "s";
    claim.queue = "default";
    claim.op = ++ops_;
    claim.free = 1;
    claim.lease = 30s;
    claim.types =
        std::make_shared<const std::set<std::string, std::less<>>>(std::set<std::string, std::less<>>{"mail"});
    const auto claimed = std::get<storage::claim_answer>(ask(claim));
    REQUIRE(claimed.jobs.size() == 1);
    const auto& it = claimed.jobs[0].job;
    storage::settlement end;
    end.run = {it.id, it.fence};
    end.end = how;
    end.cause = name_of(how);
    end.text = how == run_end::succeeded ? "42" : "it broke";
    end.reason = end.text;
    end.failure = how != run_end::succeeded;
    CHECK(std::get<storage::settle_answer>(ask(storage::settle_request{{end}, {}})).each.at(0) == errc::none);
  }

private:
  storage::answer ask(storage::request r) {
    return std::move(shared->call({std::move(r)}, std::chrono::steady_clock::now() + 20s).front());
  }

  std::uint64_t ops_ = 0;
};

bool is_told(std::future<result<job>>& end) { return end.wait_for(0s) == std::future_status::ready; }

result<job> told(std::future<result<job>>& end) {
  REQUIRE(end.wait_for(20s) == std::future_status::ready);
  return end.get();
}

int watchers() {
  int found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    found += read_file(task.path() / "comm") == "sluice-ends\n" ? 1 : 0;
  return found;
}

}  // namespace

TEMPLATE_TEST_CASE("a future has the job as it is stored once it has ended", "", in_memory, on_redis) {
  watched_store<TestType> store;
  const auto id = store.enqueue("a");
  auto end = store.jobs->when_ended(id);
  CHECK_FALSE(is_told(end));
  store.run(run_end::succeeded);
  const auto how = told(end);
  REQUIRE(how.ok());
  CHECK(how->id == id);
  CHECK(how->state == job_state::succeeded);
  CHECK(how->result == "42");
}

TEMPLATE_TEST_CASE("a callback is called once with a job that failed or was deleted", "", in_memory, on_redis) {
  std::atomic<int> calls{0};
  std::promise<result<job>> first;
  auto end = first.get_future();
  watched_store<TestType> store;
  const auto id = store.enqueue("a");
  store.jobs->when_ended(id, [&](const result<job>& how) {
    if (++calls == 1) first.set_value(how);
  });
  auto state = job_state::failed;
  SECTION("failed") { store.run(run_end::failed); }
  SECTION("deleted") {
    CHECK(store.jobs->cancel(id).ok());
    state = job_state::deleted;
  }
  CHECK(told(end)->state == state);
  store.jobs.reset();
  CHECK(calls == 1);
}

TEMPLATE_TEST_CASE("hundreds of ends are told", "", in_memory, on_redis) {
  watched_store<TestType> store;
  std::vector<job_id> ids;
  std::vector<std::future<result<job>>> ends;
  for (int i = 0; i < 450; ++i) {
    ids.push_back(store.enqueue(std::to_string(i)));
    ends.push_back(store.jobs->when_ended(ids.back()));
  }
  CHECK(store.jobs->remove(ids).size() == ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    CHECK(told(ends[i])->id == ids[i]);
}

TEST_CASE("a job that has ended already is told and one that is not there is not found") {
  watched_store<in_memory> store;
  const auto id = store.enqueue("a");
  CHECK(store.jobs->remove(id).ok());
  auto end = store.jobs->when_ended(id);
  CHECK(told(end)->state == job_state::deleted);
  auto none = store.jobs->when_ended("nobody");
  const auto how = told(none);
  REQUIRE_FALSE(how.ok());
  CHECK(how.error().code == errc::not_found);
  CHECK(how.error().message == "there is no job nobody");
}

TEST_CASE("who waits still when the client is destroyed is told so at once") {
  watched_store<in_memory> store;
  auto end = store.jobs->when_ended(store.enqueue("a"));
  store.jobs.reset();
  REQUIRE(is_told(end));
  const auto how = end.get();
  REQUIRE_FALSE(how.ok());
  CHECK(how.error().code == errc::not_running);
  CHECK(how.error().message == "the client was destroyed before job a was seen to end");
}

TEST_CASE("an end is told while a client that was made of the one that was asked lives") {
  watched_store<in_memory> store;
  const auto id = store.enqueue("a");
  auto second = store.jobs->as({"anna", "test"});
  auto end = store.jobs->when_ended(id);
  store.jobs.reset();
  CHECK(second.remove(id).ok());
  CHECK(told(end)->state == job_state::deleted);
}

TEST_CASE("a callback that throws harms nobody else") {
  watched_store<in_memory> store;
  const auto id = store.enqueue("a");
  store.jobs->when_ended(id, [](const result<job>&) { throw std::runtime_error("no"); });
  store.jobs->when_ended(id, [](const result<job>&) { throw 7; });
  store.jobs->when_ended(id, nullptr);
  auto end = store.jobs->when_ended(id);
  CHECK(store.jobs->remove(id).ok());
  CHECK(told(end)->state == job_state::deleted);
}

TEST_CASE("a callback may watch the next job") {
  watched_store<in_memory> store;
  const auto first = store.enqueue("a"), second = store.enqueue("b");
  std::promise<result<job>> both;
  auto end = both.get_future();
  store.jobs->when_ended(first, [&](const result<job>&) {
    store.jobs->when_ended(second, [&](const result<job>& how) { both.set_value(how); });
  });
  CHECK(store.jobs->remove(std::vector{first, second}).size() == 2);
  CHECK(told(end)->id == second);
}

TEST_CASE("a callback may destroy the client and the others are told so") {
  watched_store<in_memory> store;
  const auto first = store.enqueue("a"), second = store.enqueue("b");
  auto owner = std::make_shared<std::optional<client>>(client::open({.storage = store.at.url()}).value());
  auto end = (*owner)->when_ended(second);
  (*owner)->when_ended(first, [owner](const result<job>&) { owner->reset(); });
  CHECK(store.jobs->remove(first).ok());
  const auto how = told(end);
  REQUIRE_FALSE(how.ok());
  CHECK(how.error().code == errc::not_running);
}

TEST_CASE("a client has no thread that watches until somebody does and then one for all") {
  REQUIRE(eventually([] { return watchers() == 0; }));
  watched_store<in_memory> store;
  const auto id = store.enqueue("a");
  CHECK(store.jobs->get(id).ok());
  CHECK(watchers() == 0);
  auto second = store.jobs->as({"anna", "test"});
  auto a = store.jobs->when_ended(id), b = second.when_ended(id);
  CHECK(second.remove(id).ok());
  CHECK(told(a).ok());
  CHECK(told(b).ok());
  CHECK(watchers() == 1);
}
