// Whom a step says that it gave work.
#include <condition_variable>
#include <mutex>

#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// As scripts say it, in the order of names.
std::string hinted(const storage::hint& of) {
  std::string words = of.timers ? "@" : "";
  if (of.cancels) words += "!";
  if (of.all_queues) words += " *";
  for (const auto& queue : of.queues)
    words += " " + queue;
  return words;
}
std::string hinted(world& w) { return hinted(w.store().made_work()); }

// What a store was told by others.
struct heard_hints {
  std::mutex mutex;
  std::condition_variable told;
  std::vector<std::string> all;

  void add(const storage::hint& one) {
    const std::lock_guard hold(mutex);
    all.push_back(hinted(one));
    told.notify_all();
  }
  bool becomes(const std::function<bool(const std::vector<std::string>&)>& true_now) {
    std::unique_lock hold(mutex);
    return told.wait_for(hold, 20s, [&] { return true_now(all); });
  }
};

}  // namespace

ON_EACH_STORE("A step names the queues that it gave work and the timers where something is due later") {
  storage::enqueue_request r;
  r.jobs = {prepared({.id = "a", .queue = "q1"}), prepared({.id = "b", .queue = "q2"})};
  REQUIRE(ask(w, r).each == std::vector{errc::none, errc::none});
  CHECK(hinted(w) == " q1 q2");
  REQUIRE(put(w, {.id = "c", .queue = "q3", .delay = 10s}) == errc::none);
  CHECK(hinted(w) == "@");

  const auto running = claim_one(w, {.queue = "q1"});
  CHECK(hinted(w).empty());
  REQUIRE(settle(w, running, how::retry) == errc::none);
  CHECK(hinted(w) == " q1");
  REQUIRE(settle(w, claim_one(w, {.queue = "q1"}), how::retry, 5s) == errc::none);
  CHECK(hinted(w) == "@");
  REQUIRE(settle(w, claim_one(w, {.queue = "q2"}), how::given_back) == errc::none);
  CHECK(hinted(w) == " q2");

  w.clock.advance(1min);
  REQUIRE(promote(w).moved == 2);
  CHECK(hinted(w) == " q1 q3");
  REQUIRE(remove(w, "a").code == errc::none);
  CHECK(hinted(w).empty());
  REQUIRE(requeue(w, "a").code == errc::none);
  CHECK(hinted(w) == " q1");
  REQUIRE(claim(w, {.queue = "q1", .types = "other"}).jobs.empty());
  CHECK(hinted(w) == " q1");  // for who knows its type
  claim_one(w, {.queue = "q3"});
  lose_all(w);
  CHECK(hinted(w) == " q3");
  pause(w, "q2");
  CHECK(hinted(w).empty());
  pause(w, "q2", false);
  CHECK(hinted(w) == "@ q2");
  audit(w);
}

ON_EACH_STORE("An end names the queue of who is woken by it") {
  const storage::permits_by_type needs = {{"work", {{"mutex:m"}, true}}};
  REQUIRE(put(w, {.id = "first", .queue = "q1"}) == errc::none);
  REQUIRE(put(w, {.id = "second", .queue = "q2"}) == errc::none);
  const auto running = claim_one(w, {.queue = "q1", .permits = needs});
  REQUIRE(claim(w, {.queue = "q2", .permits = needs}).parked == 1);
  CHECK(hinted(w).empty());
  REQUIRE(settle(w, running) == errc::none);
  CHECK(hinted(w) == "@ q2");  // what is reserved for it lapses
  audit(w);
}

ON_EACH_STORE("Asked which of some queues have work the store names those with jobs that wait") {
  for (const auto* queue : {"ready", "front", "delayed", "running", "aside"})
    REQUIRE(put(w, {.id = queue, .queue = queue, .delay = std::string(queue) == "delayed" ? 1h : duration(0)}) ==
            errc::none);
  REQUIRE(settle(w, claim_one(w, {.queue = "front"}), how::given_back) == errc::none);
  claim_one(w, {.queue = "running"});
  REQUIRE(claim(w, {.queue = "aside", .types = "other"}).jobs.empty());
  const storage::ready_request all{{"ready", "front", "delayed", "running", "aside", "unknown"}};
  CHECK(w.ask<storage::names_answer>(all).names == names{"ready", "front", "aside"});
  auto known = w.ask<storage::names_answer>(storage::queue_names_request{}).names;
  std::sort(known.begin(), known.end());
  CHECK(known == names{"aside", "delayed", "front", "ready", "running"});
}

TEST_CASE("Another process on Redis hears which queues got work and of many that all did", "[redis]") {
  redis_world w;
  heard_hints heard;
  const auto watch = w.store().watch_others([&](const storage::hint& one) { heard.add(one); });
  REQUIRE(watch);
  REQUIRE(heard.becomes([](const auto& all) { return all.size() == 1; }));  // it listens
  CHECK(heard.all.at(0) == "@! *");
  world other(w.url());
  const auto hears = [&](std::size_t n) {  // what comes before it has looked is one hint
    return heard.becomes([n](const auto& all) { return all.size() == n; });
  };
  REQUIRE(put(other, {.id = "a", .queue = "q1"}) == errc::none);
  REQUIRE(hears(2));
  REQUIRE(put(w, {.id = "own", .queue = "q2"}) == errc::none);
  REQUIRE(put(other, {.id = "b", .queue = "q3", .delay = 1s}) == errc::none);
  REQUIRE(hears(3));
  storage::enqueue_request many;
  for (int i = 0; i < 20; ++i)
    many.jobs.push_back(prepared({.id = "m" + std::to_string(i), .queue = "m" + std::to_string(i)}));
  ask(other, many);
  REQUIRE(hears(4));
  started(other, "runs", "q4");
  REQUIRE(hears(5));
  cancel(other, "runs");
  REQUIRE(hears(6));
  CHECK(heard.all == names{"@! *", " q1", "@", "@ *", " q4", "!"});
}

TEST_CASE("A process does not hear of its own commits to a file", "[sqlite]") {
  sqlite_file_world w;
  heard_hints heard;
  const auto watch = w.store().watch_others([&](const storage::hint& one) { heard.add(one); });
  REQUIRE(watch);
  for (int i = 0; i < 20; ++i)
    put_all(w, {"own" + std::to_string(i)});
  world other(w.url());
  put_all(other, {"a"});
  REQUIRE(heard.becomes([](const auto& all) { return !all.empty(); }));
  put_all(w, {"last"});
  put_all(other, {"b"});
  REQUIRE(heard.becomes([](const auto& all) { return all.size() >= 2; }));
  CHECK(heard.all == names{"@ *", "@ *"});
}

TEST_CASE("Another process on a file hears that somebody is asked to end and not of what it asked itself", "[sqlite]") {
  sqlite_file_world w;
  world other(w.url());
  heard_hints heard;
  const auto watch = w.store().watch_others([&](const storage::hint& one) { heard.add(one); });
  REQUIRE(watch);
  for (const std::string id : {"a", "b"}) {
    REQUIRE(put(w, {.id = id}) == errc::none);
    claim_one(w);
  }
  cancel(w, "a");
  cancel(other, "b");
  REQUIRE(heard.becomes([](const auto& all) { return all.size() == 1; }));
  put_all(other, {"c"});
  REQUIRE(heard.becomes([](const auto& all) { return all.size() == 2; }));
  CHECK(heard.all == names{"@! *", "@ *"});
}
