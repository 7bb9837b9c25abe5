// A pool by itself: which starts begin.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "actors/pool.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"

namespace sluice::test {
namespace {

using namespace actors;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto patience = 10s;

// A pool of jobs that run until their number is called.
class pool_world {
public:
  explicit pool_world(unsigned workers) {
    handler_registry handlers;
    handlers.handle("work", [this](job_context& c) { run(c.id().value); });
    queue_options options;
    options.workers = workers;
    pool_ = std::make_shared<pool>(queue_name("default"), options, make_bodies(handlers, {}, server_options{}));
    for (unsigned i = 0; i < workers; ++i)
      pool_->add_worker({});
  }
  ~pool_world() {
    {
      std::lock_guard hold(mutex_);
      all_may_end_ = true;
    }
    changed_.notify_all();
    pool_->close(steady_clock::now() + patience);
  }

  pool& operator*() { return *pool_; }
  pool* operator->() { return pool_.get(); }

  start_ptr start(const std::string& id) {
    auto made = std::make_shared<held_start>();
    made->about.id.value = id;
    made->about.type.value = "work";
    made->about.fence.value = ++fences_;
    return made;
  }
  void accept(std::vector<start_ptr> starts) { pool_->accept(std::move(starts)); }

  void wait_until_running(const std::string& id) {
    std::unique_lock hold(mutex_);
    REQUIRE(changed_.wait_for(hold, patience, [&] { return begun_.contains(id); }));
  }
  void end(const std::string& id) {
    {
      std::lock_guard hold(mutex_);
      may_end_.insert(id);
    }
    changed_.notify_all();
  }
  std::vector<ended_start> wait_for_ends(std::size_t n) {
    pool_->on_ended([this] {
      std::lock_guard hold(mutex_);
      told_ = true;
      changed_.notify_all();
    });
    std::vector<ended_start> all;
    while (all.size() < n) {
      {
        std::unique_lock hold(mutex_);
        REQUIRE(changed_.wait_for(hold, patience, [&] { return std::exchange(told_, false); }));
      }
      for (auto& end : pool_->take_ended())
        all.push_back(std::move(end));
    }
    pool_->on_ended(nullptr);
    return all;
  }

private:
  void run(const std::string& id) {
    std::unique_lock hold(mutex_);
    begun_.insert(id);
    changed_.notify_all();
    changed_.wait(hold, [&] { return all_may_end_ || may_end_.contains(id); });
  }

  std::shared_ptr<pool> pool_;
  std::uint64_t fences_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> begun_, may_end_;
  bool all_may_end_ = false;
  bool told_ = false;  // that something has ended
};

std::vector<std::string> ids(const std::vector<ended_start>& ends) {
  std::vector<std::string> all;
  for (const auto& end : ends)
    all.push_back(end.start->about.id.value + " " + end.settlement.cause);
  return all;
}
using names = std::vector<std::string>;

}  // namespace

TEST_CASE("A start whose lease is over does not begin", "[pool]") {
  pool_world w(1);
  const auto a = w.start("a"), late = w.start("late"), good = w.start("good");
  w.accept({a});
  w.wait_until_running("a");
  w.accept({late, good});
  w->renewed(late, steady_clock::now() - 1s);
  w.end("a");
  w.wait_until_running("good");
  CHECK(ids(w.wait_for_ends(2)) == names{"a succeeded", "late given_back"});
}

TEST_CASE("A start is to stop although the callback of another keeps its token from saying so", "[pool]") {
  std::atomic<bool> go{false};
  pool_world w(2);
  const auto blocks = w.start("blocks"), other = w.start("other");
  const std::stop_callback waits(blocks->stop.get_token(), [&] { go.wait(false); });
  w.accept({blocks, other});
  w.wait_until_running("blocks");
  w.wait_until_running("other");
  CHECK_FALSE(w->is_stopping(other));
  w->ask_to_stop(blocks, stop_cause::timeout, steady_clock::now());
  w->ask_to_stop(other, stop_cause::timeout, steady_clock::now());
  CHECK(w->is_stopping(other));
  CHECK_FALSE(other->stop.stop_requested());
  go = true;
  go.notify_all();
  CHECK(eventually([&] { return other->stop.stop_requested(); }));
}

TEST_CASE("ends with large results are taken in parts of 4 MiB") {
  pool_world p(1);
  std::vector<start_ptr> starts;
  starts.reserve(10);
  for (int i = 0; i < 10; ++i)
    starts.push_back(p.start("j" + std::to_string(i)));
  p->hold(starts);
  for (const auto& start : starts) {
    settled_outcome end;
    end.settlement.text = std::string(1024 * 1024, 'r');
    p->turn_away(start, std::move(end));
  }
  CHECK(p->take_ended(1, SIZE_MAX).size() == 4);
  CHECK(p->take_ended(1, 3).size() == 3);
  CHECK(p->take_ended(1, SIZE_MAX).size() == 3);
  CHECK(p->take_ended(1, SIZE_MAX).empty());
}

}  // namespace sluice::test
