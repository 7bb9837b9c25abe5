// What only a file can suffer: other processes, other files, no room, no file.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "storage/contract.hpp"
#include "storage/side_door.hpp"
#include "storage/sqlite/file_lock.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// A second process's view, as near as one process can have it.
struct second_world : world {
  explicit second_world(const sqlite_file_world& first) : world(first.url()) {}
};

errc refusal(world& w, storage::request r) {
  const auto answers = w.store().apply({&r, 1});
  const auto* e = std::get_if<error>(&answers.at(0));
  return e ? e->code : errc::none;
}
storage::request enqueue_of(const std::string& id, const std::string& args = "{}") {
  return storage::enqueue_request{{prepared({.id = id, .args = args})}};
}
storage::request get_of(const std::string& id) { return storage::get_request{job_id(id)}; }

errc open_refusal(const std::string& url) {
  manual_clock clock;
  const auto opened = storage::open_store(url, clock);
  return opened ? errc::none : opened.error().code;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string text_of(std::size_t size) { return '"' + std::string(size, 'x') + '"'; }

// Enqueues until the store is full; answers how many went in.
std::size_t fill(world& w) {
  for (std::size_t n = 0; n < 10'000; ++n) {
    const auto code = refusal(w, enqueue_of("fill" + std::to_string(n), text_of(5'000)));
    if (code == errc::none) continue;
    CHECK(code == errc::storage_full);
    return n;
  }
  FAIL("it never became full");
  return 0;
}

}  // namespace

TEST_CASE("All that was answered is there when the file is opened again", "[sqlite]") {
  sqlite_file_world w;
  put_suspect(w, "x");
  put_all(w, {"a", "b", "c"});
  REQUIRE(put(w, {.id = "later", .delay = 1h}) == errc::none);
  REQUIRE(put(w, {.id = "m", .type = "mail"}) == errc::none);
  REQUIRE(settle(w, claim_one(w)) == errc::none);
  REQUIRE(settle(w, claim_one(w), how::given_back) == errc::none);
  const auto running = claim_one(w);
  CHECK(claim(w, {.free = 5}).jobs.size() == 1);
  pause(w, "other");
  const auto before = portrait(w);
  for (int i = 0; i < 3; ++i) {
    w.reopen();
    CHECK(portrait(w) == before);
    audit(w);
  }
  CHECK(counts(w, "other").paused);
  CHECK(settle(w, running) == errc::none);
}

TEST_CASE("A store says how much of a crash it survives", "[sqlite]") {
  CHECK(sqlite_file_world().store().durability() == durability::power_safe);
  CHECK(sqlite_memory_world().store().durability() == durability::volatile_);
}

TEST_CASE("A URL that names no store is refused before anything is opened", "[sqlite]") {
  for (const auto* url : {"", "jobs.db", "sqlite:", "sqlite://x", "sqlite::temp:", "sqlite:folder/", "sqlite:x?y=1",
                          "sqlite:x?max_pages=", "sqlite:x?max_pages=-1", "sqlite:x?max_pages=8", "mysql:x"}) {
    CAPTURE(url);
    const auto known = storage::check_url(url);
    CHECK_FALSE(known.ok());
    CHECK(open_refusal(url) == errc::invalid_argument);
  }
  CHECK(open_refusal("redis://localhost") == errc::not_served);
  const temp_dir folder;
  CHECK(open_refusal(folder.url("no/such/folder/jobs.db")) == errc::io_error);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("A file of a newer version is refused and left as it is", "[sqlite]") {
  sqlite_file_world w;
  put_all(w, {"a"});
  side_door(w.folder.file("jobs.db")).run("PRAGMA user_version=2");
  CHECK(open_refusal(w.url()) == errc::storage_newer);
  side_door(w.folder.file("jobs.db")).run("PRAGMA user_version=1");
  w.reopen();
  CHECK(ids(claim(w)) == names{"a"});
}

TEST_CASE("A database of somebody else is refused and left as it is", "[sqlite]") {
  const temp_dir folder;
  const auto path = folder.file("jobs.db");
  side_door(path).run("CREATE TABLE theirs(x); INSERT INTO theirs VALUES('precious')");
  const auto before = contents(path);
  REQUIRE(before.size() > 4'000);
  CHECK(open_refusal(folder.url()) == errc::storage_damaged);
  CHECK(contents(path) == before);
  CHECK(side_door(path).bytes("SELECT x FROM theirs") == "precious");
  CHECK(side_door(path).bytes("PRAGMA journal_mode") == "delete");
}

TEST_CASE("A file that is no database is refused and left as it is", "[sqlite]") {
  const temp_dir folder;
  const auto path = folder.file("jobs.db");
  const std::size_t size = GENERATE(2, 17, 99, 100, 512, 4'096, 100'000);
  CAPTURE(size);
  std::string garbage(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    garbage[i] = static_cast<char>(i * 31 + 7);
  std::ofstream(path, std::ios::binary) << garbage;
  CHECK(open_refusal(folder.url()) == errc::storage_damaged);
  CHECK(contents(path) == garbage);
}

TEST_CASE("A full store refuses new jobs, keeps the others and takes jobs again when there is room", "[sqlite]") {
  const temp_dir folder;
  const std::string url = GENERATE(true, false) ? std::string("sqlite::memory:") : folder.url();
  CAPTURE(url);
  world w(url + "?max_pages=64");
  const auto n = fill(w);
  REQUIRE(n > 5);
  audit(w);
  CHECK(counts(w).enqueued == n);
  CHECK(look(w, "fill" + std::to_string(n)).code == errc::not_found);
  CHECK(refusal(w, enqueue_of("more", text_of(100'000))) == errc::storage_full);  // and again
  CHECK(get(w, "fill0").args == text_of(5'000));

  for (int i = 0; i < 3; ++i)
    CHECK(settle(w, claim_one(w)) == errc::none);  // what frees room goes on
  storage::prune_request all;
  all.retention.succeeded = {{}, 0};
  CHECK(ask(w, all).removed == 3);
  CHECK(refusal(w, enqueue_of("now", text_of(5'000))) == errc::none);
  CHECK(claim(w, {.free = 1000}).jobs.size() == n - 2);
  audit(w);
}

TEST_CASE("A full store goes on where it was once it may be larger", "[sqlite]") {
  const temp_dir folder;
  std::size_t n = 0;
  {
    world w(folder.url() + "?max_pages=64");
    n = fill(w);
  }
  {
    world w(folder.url() + "?max_pages=32");  // less than it has
    CHECK(counts(w).enqueued == n);
    CHECK(refusal(w, enqueue_of("more", text_of(20'000))) == errc::storage_full);
  }
  world w(folder.url());
  CHECK(refusal(w, enqueue_of("more", text_of(20'000))) == errc::none);
  CHECK(claim(w, {.free = 1000}).jobs.size() == n + 1);
  audit(w);
}

TEST_CASE("A batch that does not fit is not carried out at all", "[sqlite]") {
  const temp_dir folder;
  world w(folder.url() + "?max_pages=64");
  put_all(w, {"a"});
  const auto running = claim_one(w);
  const std::vector<storage::request> batch = {enqueue_of("small"),
                                               storage::settle_request{{ended(running, how::succeeded)}, {}},
                                               enqueue_of("big", text_of(800'000))};
  for (const auto& answer : w.store().apply(batch))
    CHECK(std::get<error>(answer).code == errc::storage_full);
  CHECK_FALSE(w.store().made_work());
  CHECK(look(w, "small").code == errc::not_found);
  CHECK(get(w, "a").state == job_state::processing);
  CHECK(settle(w, running) == errc::none);
  REQUIRE(put(w, {.id = "elsewhere", .queue = "new-queue"}) == errc::none);
  audit(w);
}

TEST_CASE("A file that was removed or replaced is lost, and every later request says so", "[sqlite]") {
  sqlite_file_world w;
  put_all(w, {"a"});
  const auto path = w.folder.file("jobs.db");
  SECTION("removed") { std::filesystem::remove(path); }
  SECTION("moved away") { std::filesystem::rename(path, path + ".old"); }
  SECTION("replaced") {
    manual_clock clock;
    REQUIRE(storage::open_store(w.folder.url("other.db"), clock).ok());
    std::filesystem::rename(w.folder.file("other.db"), path);
  }
  SECTION("its lock removed") { std::filesystem::remove(path + ".lock"); }
  SECTION("its lock replaced") {
    std::ofstream(path + ".new");
    std::filesystem::rename(path + ".new", path + ".lock");
  }
  CHECK(refusal(w, enqueue_of("b")) == errc::storage_lost);
  CHECK(refusal(w, enqueue_of("b")) == errc::storage_lost);
  CHECK(refusal(w, get_of("a")) == errc::storage_lost);
  CHECK(refusal(w, claiming({})) == errc::storage_lost);
  CHECK(refusal(w, storage::queues_request{}) == errc::storage_lost);
  CHECK_FALSE(w.store().made_work());
}

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
      taken.insert(taken.end(), got.jobs.begin(), got.jobs.end());
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
  side_door(one.folder.file("jobs.db")).overwrite("record", "bad", "nonsense");
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

TEST_CASE("A store is told when another one made work", "[sqlite]") {
  sqlite_file_world one;
  std::mutex mutex;
  std::condition_variable told;
  int hints = 0;
  const auto watch = one.store().watch_others([&] {
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
  CHECK_FALSE(sqlite_memory_world().store().watch_others([] {}));
}
