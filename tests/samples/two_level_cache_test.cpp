// The cache of samples/two_level_cache: its states on a clock that the test moves, and what it does when a load fails
// or the process that rebuilds is killed.
#include <atomic>
#include <latch>
#include <thread>

#include "samples/two_level_cache/sqlite_level.hpp"
#include "samples/two_level_cache/two_level_cache.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

using namespace sample;
using sluice::test::eventually;
using namespace std::chrono_literals;

namespace {

std::string text(const reading& r) { return r.value ? *r.value : "nothing"; }

// Two caches over one shared level, as two processes have them.
struct cache_world {
  sluice::test::temp_dir folder;
  std::atomic<std::int64_t> seconds = 1'000'000;
  const cache_times times{.state = 10s, .data = 100s, .lock = 30s};
  sluice::lock_manager locks = open_locks();
  sqlite_level first_shared{folder.file("cache.db")}, second_shared{folder.file("cache.db")};
  two_level_cache first{first_shared, locks, times, clock()}, second{second_shared, locks, times, clock()};
  std::atomic<int> loads = 0;

  sluice::lock_manager open_locks() const {
    auto opened = sluice::lock_manager::open({.storage = folder.url("locks.db")});
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    return std::move(*opened);
  }
  two_level_cache::clock clock() {
    return [this] { return sluice::time_point(std::chrono::seconds(seconds.load())); };
  }
  // Each load has another value: v1, v2, ...
  value_loader loader() {
    return [this] { return "v" + std::to_string(++loads); };
  }
  // So many pages, each "p<page> of <load>".
  page_loader list_loader(std::uint32_t pages) {
    return [this, pages](std::uint32_t number) {
      if (number == 1) ++loads;
      return loaded_page{"p" + std::to_string(number) + " of " + std::to_string(loads), pages};
    };
  }
  sluice::held_lock lock_of(const std::string& key) {
    auto taken = locks.take("cache:" + key);
    if (!taken) throw std::runtime_error(to_string(taken.error()));
    return std::move(*taken);
  }
};

const value_loader failing = []() -> std::string { throw std::runtime_error("the provider is away"); };
const value_loader unwanted = []() -> std::string { throw std::logic_error("nobody should load"); };

}  // namespace

TEST_CASE_METHOD(cache_world, "an entry that does not exist is loaded by who reads it and is active then") {
  const auto got = first.value("games", loader());
  CHECK(text(got) == "v1");
  CHECK(got.state == cache_state::active);
  CHECK(got.loaded);
  CHECK(got.active_until == clock()() + 10s);
  CHECK(got.failure.empty());
}

TEST_CASE_METHOD(cache_world, "an active entry is not loaded again by any process") {
  first.value("games", loader());
  seconds += 9;
  CHECK(text(first.value("games", unwanted)) == "v1");
  const auto there = second.value("games", unwanted);
  CHECK(text(there) == "v1");
  CHECK(there.state == cache_state::active);
}

TEST_CASE_METHOD(cache_world, "when the state's time is over the next reader loads and the other process takes that") {
  first.value("games", loader());
  second.value("games", unwanted);
  seconds += 10;
  CHECK(text(first.value("games", loader())) == "v2");
  CHECK(text(second.value("games", unwanted)) == "v2");
  CHECK(loads == 2);
}

TEST_CASE_METHOD(cache_world, "what another process rebuilt between the look and the lock is not loaded again") {
  struct interrupted : sqlite_level {
    using sqlite_level::sqlite_level;
    std::function<void()> after_look;
    std::optional<cached_page> page(const std::string& key, std::uint32_t number) override {
      auto found = sqlite_level::page(key, number);
      if (auto now = std::exchange(after_look, nullptr)) now();
      return found;
    }
  } shared(folder.file("cache.db"));
  two_level_cache third(shared, locks, times, clock());
  third.value("games", loader());
  seconds += 10;
  shared.after_look = [&] { CHECK(text(second.value("games", loader())) == "v2"); };
  const auto got = third.value("games", unwanted);
  CHECK(text(got) == "v2");
  CHECK(got.failure.empty());
  CHECK(loads == 2);
}

TEST_CASE_METHOD(cache_world, "while another process rebuilds the old value is read at once") {
  first.value("games", loader());
  seconds += 10;
  auto rebuilding = lock_of("games");
  const auto got = second.value("games", unwanted);
  CHECK(text(got) == "v1");
  CHECK(got.state == cache_state::in_progress);
  CHECK(got.failure.empty());
  REQUIRE(rebuilding.release());
  seconds += 1;  // it asks again
  CHECK(text(second.value("games", loader())) == "v2");
}

TEST_CASE_METHOD(cache_world, "while another process loads what never existed nothing is read and nobody waits") {
  const auto loading = lock_of("games");
  const auto got = first.value("games", unwanted);
  CHECK_FALSE(got.value);
  CHECK(got.state == cache_state::in_progress);
}

TEST_CASE_METHOD(cache_world, "a load that fails leaves the old value and is tried again by the next") {
  first.value("games", loader());
  seconds += 10;
  const auto failed = first.value("games", failing);
  CHECK(text(failed) == "v1");
  CHECK(failed.state == cache_state::not_exist);
  CHECK(failed.failure == "the provider is away");
  CHECK_FALSE(failed.loaded);
  CHECK(text(second.value("games", loader())) == "v2");
}

TEST_CASE_METHOD(cache_world, "what a loader throws that is no exception is a failed load too") {
  const auto got = first.value("games", []() -> std::string { throw 7; });
  CHECK_FALSE(got.value);
  CHECK(got.failure == "something was thrown that is no std::exception");
}

TEST_CASE_METHOD(cache_world, "a value is not read once its data's time is over") {
  first.value("games", loader());
  seconds += 99;
  CHECK(text(first.value("games", failing)) == "v1");
  seconds += 1;
  CHECK_FALSE(first.value("games", failing).value);
  CHECK_FALSE(second.value("games", failing).value);
}

TEST_CASE_METHOD(cache_world, "a hundred threads that miss share one load") {
  std::atomic<int> inside = 0, with_value = 0, loaded = 0;
  const auto waits_for_all = [&] {
    eventually([&] { return inside == 100; });
    return loader()();
  };
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 100; ++i)
      readers.emplace_back([&] {
        ++inside;
        const auto got = first.value("games", waits_for_all);
        with_value += text(got) == "v1";
        loaded += got.loaded;
      });
  }
  CHECK(loads == 1);
  CHECK(loaded == 1);
  CHECK(with_value == 100);
}

TEST_CASE_METHOD(cache_world, "threads that share a load that fails are told why and do not load after it") {
  std::atomic<int> waiting = 0, told = 0, tries = 0;
  // The third look at the clock is made under the cache's mutex, which the thread keeps until it waits.
  const auto counting = [&] {
    thread_local int looks = 0;
    if (++looks == 3) ++waiting;
    return clock()();
  };
  two_level_cache cache(first_shared, locks, times, counting);
  const auto fails_late = [&]() -> std::string {
    ++tries;
    eventually([&] { return waiting == 20; });
    throw std::runtime_error("the provider is away");
  };
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 20; ++i)
      readers.emplace_back([&] { told += cache.value("games", fails_late).failure == "the provider is away"; });
  }
  CHECK(waiting == 20);
  CHECK(told == 20);
  CHECK(tries == 1);
}

TEST_CASE_METHOD(cache_world, "in the first load of a list a page is read as soon as it is there") {
  std::latch second_page_asked(1), seen(1);
  std::jthread loading([&] {
    first.page("list", 1, [&](std::uint32_t number) {
      if (number == 2) {
        second_page_asked.count_down();
        seen.wait();
      }
      return list_loader(3)(number);
    });
  });
  second_page_asked.wait();
  const auto here = first.page("list", 1, list_loader(3));
  CHECK(text(here) == "p1 of 1");
  CHECK(here.state == cache_state::in_progress);
  CHECK(text(second.page("list", 1, list_loader(3))) == "p1 of 1");
  CHECK_FALSE(second.page("list", 2, list_loader(3)).value);
  seen.count_down();
  CHECK(text(first.page("list", 3, list_loader(3))) == "p3 of 1");  // waits for it
  loading.join();
  CHECK(loads == 1);
}

TEST_CASE_METHOD(cache_world, "who waits for a page of a list does not wait for the pages behind it") {
  std::atomic<std::thread::id> reader;
  std::atomic<int> looks = 0;
  std::atomic<bool> answered = false, in_time = false;
  two_level_cache cache(first_shared, locks, times, [&] {
    if (std::this_thread::get_id() == reader.load()) ++looks;
    return clock()();
  });
  std::latch second_page_asked(1);
  std::jthread loading([&] {
    cache.page("list", 1, [&](std::uint32_t number) {
      if (number == 2) second_page_asked.count_down();
      if (number == 2) eventually([&] { return looks >= 3; });  // from its third on it keeps the mutex until it waits
      if (number == 3) in_time = eventually([&] { return answered.load(); }, 5s);
      return list_loader(3)(number);
    });
  });
  second_page_asked.wait();
  reader.store(std::this_thread::get_id());
  CHECK(text(cache.page("list", 2, list_loader(3))) == "p2 of 1");
  answered = true;
  loading.join();
  CHECK(in_time);
}

TEST_CASE_METHOD(cache_world, "a list that became shorter has no pages behind its end") {
  first.page("list", 1, list_loader(3));
  CHECK(text(second.page("list", 3, list_loader(3))) == "p3 of 1");
  seconds += 10;
  CHECK(text(first.page("list", 1, list_loader(2))) == "p1 of 2");
  const auto behind = second.page("list", 3, list_loader(2));
  CHECK_FALSE(behind.value);
  CHECK(behind.state == cache_state::active);
  CHECK(text(second.page("list", 2, list_loader(2))) == "p2 of 2");
  CHECK_FALSE(first.page("list", 3, list_loader(2)).value);
  CHECK_FALSE(first_shared.page("list", 3));
  CHECK(loads == 2);
}

TEST_CASE_METHOD(cache_world, "a list whose load breaks off keeps its old pages and the next loads all of it") {
  first.page("list", 1, list_loader(3));
  seconds += 10;
  const auto broken = first.page("list", 3, [&](std::uint32_t number) {
    if (number == 2) throw std::runtime_error("the provider is away");
    return list_loader(3)(number);
  });
  CHECK(text(broken) == "p3 of 1");
  CHECK(broken.failure == "the provider is away");
  CHECK(text(second.page("list", 1, list_loader(3))) == "p1 of 3");
  CHECK(text(second.page("list", 3, list_loader(3))) == "p3 of 3");
}

TEST_CASE_METHOD(cache_world, "a writer whose lock another took meanwhile changes nothing") {
  const cached_page old{std::make_shared<const std::string>("old"), {5}, clock()() + 100s};
  const cached_page fresh{std::make_shared<const std::string>("new"), {6}, clock()() + 100s};
  REQUIRE(first_shared.store("games", 1, fresh));
  REQUIRE(second_shared.complete("games", {{6}, 1, clock()() + 10s}, clock()() + 100s));
  CHECK_FALSE(second_shared.store("games", 1, old));
  CHECK_FALSE(second_shared.complete("games", {{5}, 1, clock()() + 50s}, clock()() + 100s));
  const auto got = first.value("games", unwanted);
  CHECK(text(got) == "new");
  CHECK(got.active_until == clock()() + 10s);
}

TEST_CASE_METHOD(cache_world, "what may not be read any more leaves the file") {
  first.value("games", loader());
  seconds += 100;
  first.value("others", loader());
  CHECK_FALSE(first_shared.page("games", 1));
  CHECK(first_shared.page("others", 1));
}

TEST_CASE_METHOD(cache_world, "a shared level that breaks is a failure and the value in memory is still read") {
  struct breaking : sqlite_level {
    using sqlite_level::sqlite_level;
    bool broken = false;
    std::optional<cached_head> head(const std::string& key) override {
      if (broken) throw std::runtime_error("the disk is away");
      return sqlite_level::head(key);
    }
  } shared(folder.file("other.db"));
  two_level_cache cache(shared, locks, times, clock());
  cache.value("games", loader());
  shared.broken = true;
  seconds += 10;
  const auto got = cache.value("games", loader());
  CHECK(text(got) == "v1");
  CHECK(got.failure == "the disk is away");
  CHECK(loads == 1);
}

TEST_CASE_METHOD(cache_world, "a key that is no name of a lock is refused by name") {
  CHECK(first.value("a\nb", loader()).failure.find("invalid_argument") == 0);
  CHECK(loads == 0);
}

TEST_CASE("times that do not fit each other are refused") {
  sluice::test::temp_dir folder;
  auto locks = sluice::lock_manager::open({.storage = folder.url()});
  REQUIRE(locks);
  sqlite_level shared(folder.file("cache.db"));
  const auto made = [&](cache_times times) { two_level_cache cache(shared, *locks, times); };
  CHECK_THROWS_AS(made({.state = 10s, .data = 10s}), std::invalid_argument);
  CHECK_THROWS_AS(made({.state = 0s}), std::invalid_argument);
  CHECK_THROWS_AS(made({.lock = 10ms}), std::invalid_argument);
  CHECK_NOTHROW(made({}));
}

TEST_CASE("a process that is killed in a rebuild holds nobody up, and another rebuilds once its lock is over") {
  constexpr auto lock_lives = 2000ms;
  sluice::test::temp_dir folder;
  auto locks = sluice::lock_manager::open({.storage = folder.url("locks.db")});
  REQUIRE(locks);
  sqlite_level shared(folder.file("cache.db"));
  two_level_cache cache(shared, *locks, {.state = 1ms, .data = 1h, .lock = lock_lives});
  const page_loader load = [](std::uint32_t number) { return loaded_page{"mine " + std::to_string(number), 2}; };
  REQUIRE(cache.page("games", 2, load).loaded);

  sluice::test::process holder({sluice::test::program_path("cache_holder"), folder.url("locks.db"),
                                folder.file("cache.db"), "games", std::to_string(lock_lives.count())},
                               folder.file("holder.log"));
  REQUIRE(eventually([&] { return holder.log().find("loading") != std::string::npos; }));
  const auto during = cache.page("games", 2, load);
  CHECK(text(during) == "mine 2");
  CHECK(during.state == cache_state::in_progress);

  holder.signal(SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  REQUIRE(holder.exit_code(10s) == -SIGKILL);
  int without_value = 0;
  std::chrono::milliseconds slowest{0};
  const bool rebuilt = eventually(
      [&] {
        const auto asked = std::chrono::steady_clock::now();
        const auto got = cache.page("games", 2, load);
        without_value += got.value == nullptr;
        slowest =
            std::max(slowest, std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - asked));
        return got.loaded;
      },
      lock_lives + 10s);
  const auto took = std::chrono::steady_clock::now() - killed;
  CAPTURE(std::chrono::ceil<std::chrono::milliseconds>(took).count(), slowest.count());
  CHECK(rebuilt);
  CHECK(without_value == 0);
  CHECK(slowest < lock_lives / 2);
  CHECK(text(cache.page("games", 1, load)) == "mine 1");  // not the page that the killed one left
}
