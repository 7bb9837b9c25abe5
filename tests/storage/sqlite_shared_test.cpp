// Several processes on one file.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "storage/contract.hpp"
#include "storage/raw_store.hpp"
#include "storage/sqlite/file_lock.hpp"
#include "support/process.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// A second process's view, as near as one process can have it.
struct second_world : world {
  explicit second_world(const sqlite_file_world& first) : world(first.url()) {}
};

}  // namespace

TEST_CASE("Another process that holds the lock is named when patience ends", "[sqlite]") {
  sqlite_file_world w;
  put_all(w, {"a"});
  int ready[2], quit[2];
  REQUIRE((::pipe(ready) == 0 && ::pipe(quit) == 0));
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::atomic<bool> never{false};
    auto lock = storage::sqlite::file_lock::open(w.folder.file("jobs.db"));
    char byte = lock && lock->acquire(1s, never) ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::close(quit[1]);
    ::_exit(::read(quit[0], &byte, 1) == 1 ? 0 : 1);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  REQUIRE(byte == 'y');

  CHECK(refusal(w, get_of("a")) == errc::none);  // looking needs no lock
  const auto began = std::chrono::steady_clock::now();
  const auto r = enqueue_of("b");
  const auto answers = w.store().apply({&r, 1});
  const auto waited = std::chrono::steady_clock::now() - began;
  REQUIRE(std::holds_alternative<error>(answers.at(0)));
  const auto& e = std::get<error>(answers[0]);
  CHECK(e.code == errc::storage_busy);
  CHECK(e.message.find("pid " + std::to_string(child)) != std::string::npos);
  CHECK(waited >= 4s);
  CHECK(waited < 12s);
  w.store().stop_waiting();  // from now on one try
  CHECK(refusal(w, enqueue_of("b")) == errc::storage_busy);

  REQUIRE(::write(quit[1], "q", 1) == 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  for (const int fd : {ready[0], ready[1], quit[0], quit[1]})
    ::close(fd);
  CHECK(look(w, "b").code == errc::not_found);
  CHECK(refusal(w, enqueue_of("b")) == errc::none);
  audit(w);
}

TEST_CASE("Two stores on one file see each other's work", "[sqlite]") {
  sqlite_file_world one;
  second_world two(one);
  put_all(one, {"a", "b"});
  CHECK(get(two, "a").state == job_state::enqueued);
  const auto by_two = claim_one(two, {.server = "s2"});
  const auto by_one = claim_one(one, {.server = "s1"});
  CHECK(by_two.id != by_one.id);
  CHECK(by_one.fence > by_two.fence);
  CHECK(settle(one, by_two) == errc::none);  // whoever says it
  CHECK(settle(two, by_one, how::given_back) == errc::none);
  REQUIRE(put(two, {.id = "c", .queue = "made-by-two"}) == errc::none);
  CHECK(ids(claim(one, {.queue = "made-by-two"})) == names{"c"});
  pause(one, "default");
  CHECK(claim(two).jobs.empty());
  CHECK(portrait(one) == portrait(two));
  audit(one);
  audit(two);
}

TEST_CASE("Two stores on one file never claim the same job", "[sqlite]") {
  sqlite_file_world one;
  second_world two(one);
  storage::enqueue_request r;
  for (int i = 0; i < 300; ++i)
    r.jobs.push_back(prepared({.id = "j" + std::to_string(i)}));
  ask(one, r);
  const auto take_all = [](world& w, const std::string& server, std::vector<job>& taken) {
    for (std::uint64_t op = 1;; ++op) {
      storage::claim_request c;
      c.server.value = server;
      c.queue.value = "default";
      c.op = op;
      c.free = 7;
      c.lease = 30s;
      c.types = words_of("work");
      const auto got = w.ask<storage::claim_answer>(c);
      if (got.jobs.empty()) return;
      for (const auto& one : got.jobs)
        taken.push_back(one.job);
    }
  };
  std::vector<job> by_one, by_two;
  std::thread other([&] { take_all(two, "s2", by_two); });
  take_all(one, "s1", by_one);
  other.join();
  std::set<std::string> all;
  std::set<std::uint64_t> fences;
  for (const auto* taken : {&by_one, &by_two})
    for (const auto& j : *taken) {
      CHECK(all.insert(j.id.value).second);
      CHECK(fences.insert(j.fence.value).second);
    }
  CHECK(all.size() == 300);
  audit(one);
}

TEST_CASE("A damaged record that could not be put aside at once takes no healthy job's place", "[sqlite]") {
  sqlite_file_world one;
  second_world two(one);
  put_all(one, {"bad"});
  raw_store(one.folder.file("jobs.db")).command({"HSET", "jobs", "bad", "nonsense"});
  const int held = ::open(one.folder.file("jobs.db.lock").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  one.store().stop_waiting();
  CHECK(look(one, "bad").code == errc::damaged_record);  // and cannot write
  ::close(held);
  CHECK(look(two, "bad").code == errc::damaged_record);  // and does
  put_all(two, {"good"});
  put_all(one, {"other"});
  CHECK(look(one, "good").code == errc::none);
  CHECK(counts(one).quarantined == 1);
  audit(one);
}

TEST_CASE("Only what is still damaged when the lock is held is put aside", "[sqlite]") {
  sqlite_file_world w;
  put_all(w, {"a"});
  raw_store other(w.folder.file("jobs.db"));
  const auto healthy = other.command({"HGET", "jobs", "a"});
  other.command({"HSET", "jobs", "a", "nonsense"});
  const int lock = ::open(w.folder.file("jobs.db.lock").c_str(), O_RDWR | O_CLOEXEC);
  const int turn = ::open(w.folder.file("jobs.db.turn").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  auto code = errc::none;
  std::thread looks([&] { code = look(w, "a").code; });
  // Whoever waits for the lock holds the turn: it has seen the damage by then.
  const bool waits = eventually([&] {
    if (::flock(turn, LOCK_EX | LOCK_NB) != 0) return true;
    ::flock(turn, LOCK_UN);
    return false;
  });
  other.command({"HSET", "jobs", "a", healthy});  // as if another job had got its place meanwhile
  ::close(lock);
  ::close(turn);
  looks.join();
  CHECK(waits);
  CHECK(code == errc::damaged_record);  // it was, when it was read
  CHECK(look(w, "a").code == errc::none);
  CHECK(counts(w).quarantined == 0);
  audit(w);
}

TEST_CASE("A store is told when another one made work", "[sqlite]") {
  sqlite_file_world one;
  std::mutex mutex;
  std::condition_variable told;
  int hints = 0;
  const auto watch = one.store().watch_others([&](const storage::hint&) {
    const std::lock_guard hold(mutex);
    ++hints;
    told.notify_all();
  });
  REQUIRE(watch);
  second_world two(one);
  for (int i = 1; i <= 3; ++i) {
    {
      const std::lock_guard hold(mutex);
      hints = 0;
    }
    put_all(two, {"j" + std::to_string(i)});
    std::unique_lock hold(mutex);
    CHECK(told.wait_for(hold, 10s, [&] { return hints > 0; }));
  }
  CHECK_FALSE(sqlite_memory_world().store().watch_others([](const storage::hint&) {}));
}
