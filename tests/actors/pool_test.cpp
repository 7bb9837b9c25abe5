// A pool by itself: when starts that are behind others begin, and what becomes of those that do not.
#include <condition_variable>
#include <future>
#include <mutex>

#include "actors/pool.hpp"
#include "support/catch.hpp"

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

  start_ptr start(const std::string& id, const start_ptr& behind = nullptr) {
    auto made = std::make_shared<held_start>();
    made->about.id.value = id;
    made->about.type.value = "work";
    made->about.fence.value = ++fences_;
    if (behind) made->behind = behind->about.fence;
    made->may_hand_on = true;
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
    std::promise<void> told;
    pool_->tell_of_ended(n);
    pool_->on_ended([&] { told.set_value(); });
    std::vector<ended_start> all;
    while (all.size() < n) {
      REQUIRE(told.get_future().wait_for(patience) == std::future_status::ready);
      for (auto& end : pool_->take_ended())
        all.push_back(std::move(end));
      told = {};
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
};

std::vector<std::string> ids(const std::vector<ended_start>& ends) {
  std::vector<std::string> all;
  for (const auto& end : ends)
    all.push_back(end.start->about.id.value + " " + end.settlement.cause);
  return all;
}
using names = std::vector<std::string>;

}  // namespace

TEST_CASE("A start behind another begins when that has ended and not before", "[pool]") {
  pool_world w(3);
  const auto a = w.start("a"), b = w.start("b", a), other = w.start("other");
  w.accept({a});
  w.wait_until_running("a");
  w.accept({b, other});
  w.wait_until_running("other");  // there was a worker for b as well
  CHECK(w->load().running == 2);
  CHECK(w->load().queued == 0);
  w.end("a");
  w.wait_until_running("b");
  w.end("b");
  CHECK(ids(w.wait_for_ends(2)) == names{"a succeeded", "b succeeded"});
}

TEST_CASE("A start behind another goes before those that only wait for a worker", "[pool]") {
  pool_world w(1);
  const auto a = w.start("a"), b = w.start("b", a), queued = w.start("queued");
  w.accept({a});
  w.wait_until_running("a");
  w.accept({queued, b});
  w.end("a");
  w.wait_until_running("b");
  w.end("b");
  w.end("queued");
  CHECK(ids(w.wait_for_ends(3)) == names{"a succeeded", "b succeeded", "queued succeeded"});
}

TEST_CASE("A start that comes when the one before it has ended begins at once", "[pool]") {
  pool_world w(1);
  const auto a = w.start("a"), b = w.start("b", a);
  w.accept({a});
  w.end("a");
  w.wait_for_ends(1);
  SECTION("and the store does not have its end yet") {}
  SECTION("and it is not held any more") { w->release(a->about.fence); }
  w.accept({b});
  w.wait_until_running("b");
}

TEST_CASE("A start that has been behind another too long is given back", "[pool]") {
  pool_world w(2);
  const auto a = w.start("a"), b = w.start("b", a);
  w.accept({a});
  w.wait_until_running("a");
  w.accept({b});
  CHECK(w->give_back_behind(steady_clock::now() - 1h));  // not yet
  CHECK_FALSE(w->give_back_behind(steady_clock::now() + 1s));
  CHECK(ids(w.wait_for_ends(1)) == names{"b given_back"});
  CHECK(w->load().running == 1);
}

TEST_CASE("A start behind another is given back when its server stops or its lease is lost or its type is gone",
          "[pool]") {
  pool_world w(2);
  const auto a = w.start("a"), b = w.start("b", a);
  w.accept({a});
  w.wait_until_running("a");
  SECTION("stops") {
    w.accept({b});
    w->drain(steady_clock::now());
  }
  SECTION("stops before it came") {
    w->drain(steady_clock::now());
    w.accept({b});
  }
  SECTION("lost") {
    w.accept({b});
    w->ask_to_stop(b, stop_cause::lost, steady_clock::now());
  }
  SECTION("gone") {
    w.accept({b});
    w->give_back_type("work", "its handler is gone");
  }
  CHECK(ids(w.wait_for_ends(1)) == names{"b given_back"});
  w.end("a");
  CHECK(w.wait_for_ends(1).at(0).start == a);
}

TEST_CASE("A start whose lease is over does not begin", "[pool]") {
  pool_world w(1);
  const auto a = w.start("a"), b = w.start("b", a), queued = w.start("queued"), good = w.start("good");
  w.accept({a});
  w.wait_until_running("a");
  w.accept({b, queued, good});
  w->renewed(b, steady_clock::now() - 1s);
  w->renewed(queued, steady_clock::now() - 1s);
  w.end("a");
  w.wait_until_running("good");
  CHECK(ids(w.wait_for_ends(3)) == names{"a succeeded", "b given_back", "queued given_back"});
}

TEST_CASE("A start is offered to hand on its permit when it is about to begin", "[pool]") {
  pool_world w(1);
  const auto first = w.start("first"), a = w.start("a"), b = w.start("b", a), queued = w.start("queued");
  const auto offered = [&] {
    names all;
    for (const auto& key : w->offer_to_hand_on(10, 1h))
      all.push_back(key.id.value);
    return all;
  };
  w.end("first");
  w.accept({first});
  w.wait_for_ends(1);
  w.accept({a});
  w.wait_until_running("a");
  CHECK(offered() == names{"a"});
  w.accept({b, queued});
  CHECK(offered().empty());  // one is behind another, for the other there is no worker
  w.end("a");
  w.wait_for_ends(1);  // whether it runs already or not
  CHECK(offered() == names{"b"});
}

TEST_CASE("A running start is offered to hand on its permit once until nobody took it over", "[pool]") {
  pool_world w(3);
  const auto a = w.start("a"), fixed = w.start("fixed"), first = w.start("first"), b = w.start("b");
  fixed->may_hand_on = false;
  const auto offer = [&](std::size_t at_most = 10, duration below = 1h) { return w->offer_to_hand_on(at_most, below); };
  w.accept({first, a, fixed});
  for (const auto* id : {"first", "a", "fixed"})
    w.wait_until_running(id);
  CHECK(offer().empty());  // nobody knows how long they take
  w.end("first");
  w.wait_for_ends(1);
  CHECK(offer(10, 1us).empty());  // too long
  CHECK(offer(0).empty());
  const auto offered = offer();
  REQUIRE(offered.size() == 1);
  CHECK(offered[0].fence == a->about.fence);
  CHECK(offer().empty());
  w->not_handed_on(offered);
  CHECK(offer().size() == 1);
  w->not_handed_on(offered);
  w.accept({b});
  w.wait_until_running("b");
  CHECK(offer(1).at(0).fence == a->about.fence);  // who began first
  CHECK(offer(1).empty());                        // one at a time
  w.end("a");
  w.wait_for_ends(1);
  CHECK(offer().at(0).fence == b->about.fence);
}

}  // namespace sluice::test
