// Who changed what by a client, as the log of the store tells it.
#include <sluice/client.hpp>

#include "support/catch.hpp"

using namespace sluice;

namespace {

client open_store() {
  auto opened = client::open({.storage = "sqlite::memory:acts"});
  if (!opened) throw std::runtime_error(to_string(opened.error()));
  return std::move(*opened);
}

std::vector<job_id> enqueued(client& store, int count) {
  std::vector<new_job> jobs(static_cast<std::size_t>(count));
  for (auto& j : jobs)
    j.type = job_type("noop");
  std::vector<job_id> ids;
  for (auto& id : store.enqueue(std::move(jobs)))
    ids.push_back(id.value());
  return ids;
}

struct action_words {
  std::string what;
  std::uint64_t count = 0;
  std::string first;

  bool operator==(const action_words&) const = default;
};
// The newest first.
std::vector<action_words> noted(client& store) {
  std::vector<action_words> all;
  const auto page = store.operator_log();
  for (const auto& a : page.value().actions)
    all.push_back({a.what, a.count, a.about.at(0)});
  return all;
}

}  // namespace

TEST_CASE("a client that says nobody's name notes nothing") {
  auto store = open_store();
  const auto ids = enqueued(store, 2);
  CHECK(store.remove(ids.front()).ok());
  CHECK(store.pause(queue_name("default")).ok());
  CHECK(store.operator_log().value().actions.empty());
  CHECK(store.get(ids.front())->reason == "deleted by hand");
}

TEST_CASE("each change by a client with a name is noted once it was done") {
  auto nobody = open_store();
  auto store = nobody.as({"anna", "dashboard"});
  const auto ids = enqueued(store, 3);
  CHECK(noted(nobody).empty());

  auto some = ids;
  some.emplace_back("nobody");
  CHECK(store.remove(some).size() == 4);
  CHECK(noted(nobody).front() == action_words{"delete", 3, ids.front().value});
  CHECK(store.operator_log()->actions.front().by == author{"anna", "dashboard"});
  CHECK(store.get(ids.front())->reason == "deleted by anna through dashboard");
  job_query deleted;
  deleted.state = job_state::deleted;
  CHECK(store.requeue(deleted)->done == 3);
  CHECK(noted(nobody).front().what == "requeue");
  CHECK(noted(nobody).front().count == 3);

  CHECK(store.pause(queue_name("default")).ok());
  CHECK(noted(nobody).front() == action_words{"pause", 1, "default"});
  CHECK(store.resume(queue_name("default")).ok());
  CHECK(noted(nobody).front() == action_words{"resume", 1, "default"});
  CHECK(store.set_throttler({.kind = throttler_kind::semaphore, .name = "Api", .limit = 2}).ok());
  CHECK(noted(nobody).front() == action_words{"set throttler", 1, "semaphore:api: limit 2"});
  CHECK(store.remove_throttler(throttler_kind::semaphore, "api").ok());
  CHECK(noted(nobody).front() == action_words{"remove throttler", 1, "semaphore:api"});

  recurring nightly;
  nightly.name = "nightly";
  nightly.job = job_type("noop");
  nightly.every = 1h;
  CHECK(store.set_recurring(nightly).ok());
  CHECK(noted(nobody).front() == action_words{"set schedule", 1, "nightly"});
  CHECK(store.pause_recurring("nightly").ok());
  CHECK(noted(nobody).front() == action_words{"pause schedule", 1, "nightly"});
  CHECK(store.resume_recurring("nightly").ok());
  CHECK(noted(nobody).front() == action_words{"resume schedule", 1, "nightly"});
  CHECK(store.trigger_recurring("nightly").ok());
  CHECK(noted(nobody).front() == action_words{"trigger schedule", 1, "nightly"});
  CHECK(store.remove_recurring("nightly").ok());
  CHECK(noted(nobody).front() == action_words{"remove schedule", 1, "nightly"});
  CHECK(noted(nobody).size() == 11);
}

TEST_CASE("what was so already is a success that is neither counted nor noted") {
  auto nobody = open_store();
  auto store = nobody.as({"anna", ""});
  const auto ids = enqueued(store, 3);
  job_query waiting;
  waiting.state = job_state::enqueued;
  const auto same = store.requeue(waiting);
  REQUIRE(same.ok());
  CHECK(same->done == 0);
  CHECK(same->unchanged == 3);
  CHECK(same->failed.empty());
  CHECK(store.requeue(ids.front()).ok());
  CHECK(store.operator_log()->actions.empty());

  REQUIRE(store.remove(ids.front()).ok());
  for (const auto& again : store.remove(ids))
    CHECK(again.ok());
  CHECK(noted(nobody).front() == action_words{"delete", 3, ids.front().value});
  CHECK(store.pause(queue_name("default")).ok());
  CHECK(store.pause(queue_name("default")).ok());
  CHECK(noted(nobody).front() == action_words{"pause", 1, "default"});
  CHECK(store.resume(queue_name("default")).ok());
  CHECK(store.resume(queue_name("default")).ok());
  CHECK(noted(nobody).front() == action_words{"resume", 1, "default"});
}

TEST_CASE("a limit that is changed is answered and noted with its old and its new value") {
  auto nobody = open_store();
  auto store = nobody.as({"anna", ""});
  throttler api{.kind = throttler_kind::semaphore, .name = "Api", .limit = 8};
  const auto made = store.set_throttler(api);
  REQUIRE(made.ok());
  CHECK(made->resource == "semaphore:api");
  CHECK(made->is_new);
  CHECK(made->changes == "limit 8");
  api.limit = 16;
  CHECK(store.set_throttler(api)->changes == "limit 8 → 16");
  const auto same = store.set_throttler(api);
  CHECK_FALSE(same->is_new);
  CHECK(same->changes.empty());
  CHECK(nobody.set_throttler({.kind = throttler_kind::mutex, .name = "m"})->changes.empty());
  CHECK(store.operator_log()->actions.at(0).about ==
        std::vector<std::string>{"semaphore:api: limit 8", "semaphore:api: limit 8 → 16"});
}

TEST_CASE("what was refused or changed nothing that is known is not noted") {
  auto nobody = open_store();
  auto store = nobody.as({"anna", ""});
  CHECK_FALSE(store.remove(job_id("nobody")).ok());
  CHECK_FALSE(store.resume(queue_name("nobody")).ok());
  CHECK_FALSE(store.pause_recurring("nobody").ok());
  CHECK(store.remove_recurring("nobody").ok());
  CHECK(noted(store).empty());
  CHECK(store.operator_log(0).error().code == errc::invalid_argument);
  CHECK(store.operator_log(10, "nonsense").error().code == errc::invalid_argument);
}
