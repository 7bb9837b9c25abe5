#include <sluice/lock.hpp>

#include <atomic>
#include <thread>

#include "storage/shared_store.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string printer = "the printer";

lock_manager open_as(const std::string& holder, const std::string& url) {
  auto opened = lock_manager::open({.storage = url, .holder = holder});
  if (!opened) throw std::runtime_error(to_string(opened.error()));
  return std::move(*opened);
}

struct two_of_a_file {
  temp_dir folder;
  lock_manager a = open_as("a", folder.url()), b = open_as("b", folder.url());

  bool is_free() { return !*b.holder_of(printer); }
};

std::uint64_t calls(const redis_server& redis) {
  const auto text = redis.command({"INFO", "commandstats"}).text;
  const std::string mark = "cmdstat_fcall:calls=";
  return std::stoull(text.substr(text.find(mark) + mark.size()));
}

}  // namespace

TEST_CASE_METHOD(two_of_a_file, "whoever is refused a lock is told who has it and until when") {
  const auto held = a.take(printer);
  REQUIRE(held.ok());
  CHECK(held->resource() == printer);
  CHECK(held->still_held());
  lock_holder by;
  const auto refused = b.take(printer, 30s, &by);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == errc::lock_held);
  CHECK(refused.error().message.find("lock the printer is held by a until 2") == 0);
  CHECK(by.holder == "a");
  CHECK(by.fence == held->fence());
  CHECK(by.left > 25s);
  CHECK(a.take(printer).error().code == errc::lock_held);  // nobody takes it twice
  CHECK((*b.holder_of(printer))->holder == "a");
}

TEST_CASE_METHOD(two_of_a_file, "a lock is free when it is released and when its holder is gone") {
  auto held = a.take(printer);
  REQUIRE(held.ok());
  const auto first = held->fence();
  SECTION("released") {
    CHECK(held->release().ok());
    CHECK_FALSE(held->still_held());
    CHECK(held->release().ok());
    CHECK_FALSE(held->lost().stop_requested());
  }
  SECTION("destroyed") { const auto gone = std::move(*held); }
  SECTION("assigned another") {
    *held = std::move(*a.take("the scanner"));
    CHECK(held->resource() == "the scanner");
  }
  const auto next = b.take(printer);
  REQUIRE(next.ok());
  CHECK(next->fence() > first);
}

TEST_CASE_METHOD(two_of_a_file, "a lock that was moved from holds nothing and says so") {
  auto held = a.take(printer);
  REQUIRE(held.ok());
  const auto now = std::move(*held);
  CHECK(held->resource().empty());
  CHECK(held->fence() == fence());
  CHECK_FALSE(held->still_held());
  CHECK_FALSE(held->lost().stop_possible());
  CHECK(held->release().error().code == errc::invalid_argument);
  CHECK(now.still_held());
}

TEST_CASE_METHOD(two_of_a_file, "a manager of locks that was moved from says so") {
  auto moved = std::move(a);
  CHECK_THROWS_AS(a.take(printer), bad_result);
  CHECK_THROWS_AS(a.holder_of(printer), bad_result);
  CHECK(moved.take(printer).ok());
}

TEST_CASE_METHOD(two_of_a_file, "a lock is renewed while it is held also when its manager is gone") {
  auto held = std::optional(std::move(*a.take(printer, 3s)));
  a = open_as("c", folder.url());
  const auto first = (*b.holder_of(printer))->until;
  CHECK(eventually([&] {
    const auto now = *b.holder_of(printer);
    return now && now->until > first + 600ms;
  }));
  CHECK(held->still_held());
  held.reset();
  CHECK(eventually([&] { return is_free(); }));
}

TEST_CASE_METHOD(two_of_a_file, "whoever waits for a lock has it when it is free or is told who has it still") {
  auto held = a.take(printer);
  REQUIRE(held.ok());
  lock_holder by;
  CHECK(b.take_within(printer, 30ms, 30s, &by).error().code == errc::lock_held);
  for (const auto timeout : {duration::min(), duration(-1s), duration(0)})
    CHECK(b.take_within(printer, timeout).error().code == errc::lock_held);  // asked once
  CHECK(by.holder == "a");
  std::thread later([&] {
    eventually([&] { return false; }, 50ms);
    (void)held->release();
  });
  const auto next = b.take_within(printer, 20s);
  later.join();
  REQUIRE(next.ok());
  CHECK(next->fence() > held->fence());
}

TEST_CASE_METHOD(two_of_a_file, "the holder of a lock that another took is told so") {
  auto held = std::optional(std::move(*a.take(printer, 500ms)));
  const auto lost = held->lost();
  std::atomic<int> told{0};
  std::stop_callback tell(lost, [&] { ++told; });
  // As if the store's clock had leaped: it is free in the store, and somebody else takes it.
  auto shared_store = storage::open_shared_store(folder.url());
  REQUIRE(shared_store.ok());
  storage::lock_request release{
      .what = storage::lock_request::verb::release, .resource = printer, .fence = held->fence()};
  (*shared_store)->call({release}, std::chrono::steady_clock::now() + 5s);
  const auto other = b.take(printer);
  REQUIRE(other.ok());
  CHECK(eventually([&] { return lost.stop_requested(); }));
  CHECK_FALSE(held->still_held());
  const auto released = held->release();
  REQUIRE_FALSE(released.ok());
  CHECK(released.error().code == errc::stale_fence);
  held.reset();
  CHECK((*a.holder_of(printer))->fence == other->fence());
  CHECK(told == 1);
}

TEST_CASE("a holder who may end its lock when it is told of the loss harms nobody") {
  temp_dir folder;
  auto held = std::make_shared<std::optional<held_lock>>();
  std::optional<std::stop_callback<std::function<void()>>> tell;
  std::atomic<bool> ended{false};
  {
    auto manager = open_as("a", folder.url());
    held->emplace(std::move(*manager.take(printer, 200ms)));
    tell.emplace((*held)->lost(), [&] {
      held->reset();
      ended = true;
    });
    auto shared_store = storage::open_shared_store(folder.url());
    (*shared_store)
        ->call({storage::lock_request{
                   .what = storage::lock_request::verb::release, .resource = printer, .fence = (*held)->fence()}},
               std::chrono::steady_clock::now() + 5s);
  }
  CHECK(eventually([&] { return ended.load(); }));
}

TEST_CASE("a lock that cannot be renewed in time is lost to its holder before others may have it") {
  redis_server redis;
  auto manager = open_as("a", redis.url());
  auto held = manager.take(printer, 400ms);
  REQUIRE(held.ok());
  redis.stop_process();
  CHECK(eventually([&] { return held->lost().stop_requested(); }));
  CHECK_FALSE(held->still_held());
  redis.continue_process();
  CHECK(held->release().error().code == errc::stale_fence);
}

TEST_CASE("taking a lock on Redis is one command of the network and so is being refused") {
  redis_server redis;
  auto a = open_as("a", redis.url()), b = open_as("b", redis.url());
  const auto before = calls(redis);
  const auto held = a.take(printer);
  for (int i = 0; i < 9; ++i)
    CHECK(b.take(printer).error().code == errc::lock_held);
  CHECK(calls(redis) - before == 10);
}

TEST_CASE("a thousand locks of one manager are all renewed") {
  redis_server redis;
  auto manager = open_as("a", redis.url());
  std::vector<held_lock> all;
  for (int i = 0; i < 1000; ++i) {
    auto one = manager.take("lock " + std::to_string(i), 3s);
    REQUIRE(one.ok());
    all.push_back(std::move(*one));
  }
  const auto last = (*manager.holder_of("lock 999"))->until;
  CHECK(eventually([&] {
    for (const int i : {0, 499, 999})
      if ((*manager.holder_of("lock " + std::to_string(i)))->until < last + 3s) return false;
    return true;
  }));
  for (const auto& lock : all)
    CHECK(lock.still_held());
}

TEST_CASE("what cannot be a lock is refused with what is allowed") {
  temp_dir folder;
  auto manager = open_as("a", folder.url());
  const auto message = [&](const std::string& resource, duration ttl) {
    const auto got = manager.take(resource, ttl);
    REQUIRE_FALSE(got.ok());
    CHECK(got.error().code == errc::invalid_argument);
    return got.error().message;
  };
  CHECK(message("", 30s).find("1 to 200 bytes of UTF-8") != std::string::npos);
  CHECK(message(std::string(201, 'x'), 30s).find("1 to 200 bytes") != std::string::npos);
  CHECK(message("a\nb", 30s) ==
        "a lock's resource 'a\\x0ab' must be 1 to 200 bytes of UTF-8 without control characters");
  CHECK(message(printer, 99ms).find("must be 100ms to 24h, not 99ms") != std::string::npos);
  CHECK(message(printer, 25h).find("must be 100ms to 24h") != std::string::npos);
  const auto bad = lock_manager::open({.storage = folder.url(), .holder = "a\nb"});
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().code == errc::invalid_argument);
  CHECK(lock_manager::open({.storage = "nowhere:"}).error().code == errc::invalid_argument);
}
