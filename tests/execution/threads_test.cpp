// The threads of a server by themselves: who gets one, in which order, and how queues share them.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "execution/thread_cache.hpp"
#include "execution/thread_shares.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"

namespace sluice::test {
namespace {

using namespace execution;
using std::chrono::steady_clock;

// Notes who came and keeps the threads of those that are held.
class guests final : public thread_borrower {
public:
  void use_thread(std::uint64_t number) override {
    {
      const std::lock_guard hold(mutex_);
      came_.push_back(number);
    }
    if (number == ends_its_thread) ::pthread_exit(nullptr);
    if (number < first_free) let_go.wait(false);
    ++left;
  }
  std::vector<std::uint64_t> came() const {
    const std::lock_guard hold(mutex_);
    return came_;
  }
  void free_all() {
    let_go = true;
    let_go.notify_all();
  }

  std::uint64_t first_free = 0;  // those before stay until `free_all`
  std::uint64_t ends_its_thread = UINT64_MAX;
  std::atomic<bool> let_go{false};
  std::atomic<int> left{0};

private:
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> came_;
};

using numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a thread that comes back is lent again") {
  thread_cache threads(9);
  const auto all = std::make_shared<guests>();
  for (int i = 0; i < 20; ++i) {
    threads.lend(all, 7);
    REQUIRE(eventually([&] { return all->left == i + 1; }));
  }
  CHECK(threads.size() <= 2);  // one may still be on its way back
}

TEST_CASE("beyond the last thread borrowers wait in the order in which they came") {
  thread_cache threads(2);
  const auto all = std::make_shared<guests>();
  all->first_free = 3;
  for (std::uint64_t i = 1; i <= 6; ++i)
    threads.lend(all, i);
  REQUIRE(eventually([&] { return all->came().size() == 2; }));
  CHECK(threads.size() == 2);
  all->free_all();
  REQUIRE(eventually([&] { return all->left == 6; }));
  auto came = all->came();
  std::sort(came.begin(), came.begin() + 2);
  std::sort(came.begin() + 2, came.end());  // two threads take them
  CHECK(came == numbers{1, 2, 3, 4, 5, 6});
  CHECK(threads.size() == 2);
}

TEST_CASE("a thread that a handler ends is replaced for those that wait") {
  thread_cache threads(1);
  const auto all = std::make_shared<guests>();
  all->ends_its_thread = 1;
  threads.lend(all, 1);
  threads.lend(all, 2);
  CHECK(eventually([&] { return all->left == 1; }));
  CHECK(all->came() == numbers{1, 2});
}

TEST_CASE("a thread that may never come back has a substitute until it does") {
  thread_cache threads(1);
  const auto all = std::make_shared<guests>();
  all->first_free = 2;
  threads.lend(all, 1);
  threads.lend(all, 2);
  REQUIRE(eventually([&] { return all->came() == numbers{1}; }));
  threads.write_off();
  CHECK(eventually([&] { return all->came() == numbers{1, 2}; }));
  all->free_all();
  REQUIRE(eventually([&] { return all->left == 2; }));
  threads.came_back();
}

TEST_CASE("threads that are closed wait for those that come back and leave the others behind") {
  const auto all = std::make_shared<guests>();
  all->first_free = 2;
  {
    thread_cache threads(3);
    threads.lend(all, 1);
    threads.lend(all, 2);
    REQUIRE(eventually([&] { return all->came().size() == 2; }));
    threads.close(steady_clock::now() + 1ms);
    threads.lend(all, 3);
  }
  CHECK(all->came().size() == 2);
  all->free_all();
  CHECK(eventually([&] { return all->left == 2 && all.use_count() == 1; }));
}

TEST_CASE("queues that want more threads than there are have them in turn") {
  thread_shares threads(3);
  std::string turns;
  const auto a = std::make_shared<thread_shares::share>([&] { turns += "a"; });
  const auto b = std::make_shared<thread_shares::share>([&] { turns += "b"; });
  const auto c = std::make_shared<thread_shares::share>([&] { turns += "c"; });
  CHECK(threads.use(a, 0, 3) == 3);
  CHECK(threads.use(b, 0, 2) == 0);
  CHECK(threads.use(c, 0, 1) == 0);
  CHECK(turns.empty());
  // One of the first's runs has ended: it would claim again, and the others were there before.
  CHECK(threads.use(a, 2, 1) == 0);
  CHECK(turns == "b");
  CHECK(threads.use(b, 0, 2) == 1);
  CHECK(threads.use(a, 1, 0) == 0);
  CHECK(turns == "bc");
  CHECK(threads.use(c, 0, 1) == 1);
  CHECK(threads.use(c, 0, 0) == 0);
  CHECK(turns == "bca");
  CHECK(threads.use(a, 1, 9) == 1);
  CHECK(threads.use(b, 0, 0) == 0);
  CHECK(turns == "bca");  // it has one, and asks for more when that has found a job
}

TEST_CASE("a queue that alone waits for threads goes on with those that its own runs give back") {
  thread_shares threads(1);
  std::string turns;
  const auto a = std::make_shared<thread_shares::share>([&] { turns += "a"; });
  CHECK(threads.use(a, 0, 4) == 1);
  CHECK_FALSE(threads.somebody_waits());
  CHECK(threads.use(a, 1, 3) == 0);
  CHECK(threads.somebody_waits());
  CHECK(threads.use(a, 0, 4) == 1);  // its run has ended, and it claims with that end
  CHECK(turns.empty());
  CHECK(threads.use(a, 1, 3) == 0);
  CHECK(threads.use(a, 0, 0) == 0);
  CHECK(turns == "a");
  CHECK(threads.use(a, 0, 1) == 1);
  CHECK_FALSE(threads.somebody_waits());
}

TEST_CASE("a queue whose turn has come and that needs no thread any more passes it on") {
  thread_shares threads(1);
  std::string turns;
  std::shared_ptr<thread_shares::share> second;
  const auto first = std::make_shared<thread_shares::share>([] {});
  second = std::make_shared<thread_shares::share>([&] {
    turns += "2";
    threads.forgo(second);
    turns += "-";
  });
  const auto third = std::make_shared<thread_shares::share>([&] { turns += "3"; });
  CHECK(threads.use(first, 0, 1) == 1);
  CHECK(threads.use(second, 0, 1) == 0);
  CHECK(threads.use(third, 0, 1) == 0);
  threads.use(first, 0, 0);
  CHECK(turns == "2-3");  // one call after the other, and none inside another
  second = nullptr;
}

}  // namespace sluice::test
