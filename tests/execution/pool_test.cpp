// A pool by itself: which starts begin.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "execution/claim_plan.hpp"
#include "execution/pool.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"

namespace sluice::test {
namespace {

using namespace execution;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto timeout = 10s;

// A pool of jobs that run until their number is called.
class pool_world {
public:
  explicit pool_world(unsigned workers, const filter_list& filters = {}) {
    handler_registry handlers;
    handlers.handle("work", [this](job_context& c) {
      run(c.id().value);
      c.throw_if_stop_requested();
    });
    queue_options options;
    options.workers = workers;
    pool_ = std::make_shared<pool>(queue_name("default"), options,
                                   make_execution_config(handlers, filters, server_options{}));
    for (unsigned i = 0; i < workers; ++i)
      pool_->workers.add({});
  }
  ~pool_world() {
    {
      std::lock_guard hold(mutex_);
      all_may_end_ = true;
    }
    changed_.notify_all();
    pool_->workers.close(steady_clock::now() + timeout);
  }

  pool& operator*() { return *pool_; }
  pool* operator->() { return pool_.get(); }

  run_ptr start(const std::string& id) {
    auto made = std::make_shared<claimed_run>();
    made->about.id.value = id;
    made->about.type.value = "work";
    made->about.fence.value = ++fences_;
    return made;
  }
  void accept(std::vector<run_ptr> runs) { pool_->lock()->accept(std::move(runs)); }

  void wait_until_running(const std::string& id) {
    std::unique_lock hold(mutex_);
    REQUIRE(changed_.wait_for(hold, timeout, [&] { return begun_.contains(id); }));
  }
  void end(const std::string& id) {
    {
      std::lock_guard hold(mutex_);
      may_end_.insert(id);
    }
    changed_.notify_all();
  }
  std::vector<ended_run> wait_for_ends(std::size_t n) {
    pool_->lock()->ended.on_ended([this] {
      std::lock_guard hold(mutex_);
      notified_ = true;
      changed_.notify_all();
    });
    std::vector<ended_run> all;
    while (all.size() < n) {
      {
        std::unique_lock hold(mutex_);
        REQUIRE(changed_.wait_for(hold, timeout, [&] { return std::exchange(notified_, false); }));
      }
      for (auto& end : pool_->lock()->ended.take())
        all.push_back(std::move(end));
    }
    pool_->lock()->ended.on_ended(nullptr);
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
  bool notified_ = false;  // that something has ended
};

std::vector<std::string> ids(const std::vector<ended_run>& ends) {
  std::vector<std::string> all;
  for (const auto& end : ends)
    all.push_back(end.run->about.id.value + " " + end.settlement->cause);
  return all;
}
using names = std::vector<std::string>;

}  // namespace

TEST_CASE("A run whose lease is over does not begin", "[pool]") {
  pool_world w(1);
  const auto a = w.start("a"), late = w.start("late"), good = w.start("good");
  w.accept({a});
  w.wait_until_running("a");
  w.accept({late, good});
  w->lock()->state_of(late).lease_ends = steady_clock::now() - 1s;
  w.end("a");
  w.wait_until_running("good");
  CHECK(ids(w.wait_for_ends(2)) == names{"a succeeded", "late given_back"});
}

TEST_CASE("Nothing is claimed for a worker whose run the filters still talk about", "[pool]") {
  // The store knows of that end only afterwards: what is claimed before would not get the permits of the one that
  // ended.
  struct looking final : filter {
    void elect(election&) override { free_meanwhile = plan_claim((*w)->load(), 0, 0).free; }
    pool_world* w = nullptr;
    std::atomic<std::uint32_t> free_meanwhile{9};
  };
  const auto looks = std::make_shared<looking>();
  pool_world w(1, {{looks}});
  looks->w = &w;
  w.accept({w.start("a")});
  w.end("a");
  CHECK(ids(w.wait_for_ends(1)) == names{"a succeeded"});
  CHECK(looks->free_meanwhile == 0);
  CHECK(plan_claim(w->load(), 0, 0).free == 1);
}

namespace {

// Starts a chain of these.
std::vector<run_ptr> chain_of(pool_world& w, const names& ids) {
  std::vector<run_ptr> all;
  for (const auto& id : ids) {
    all.push_back(w.start(id));
    all.back()->chain = all.front()->about.fence;
  }
  return all;
}

}  // namespace

TEST_CASE("Runs of a chain begin one after the other however many workers are free", "[pool]") {
  pool_world w(3);
  w.accept(chain_of(w, {"a", "b", "c"}));
  w.accept({w.start("other")});
  w.wait_until_running("a");
  w.wait_until_running("other");
  CHECK(w->load().running == 2);
  w.end("a");
  w.wait_until_running("b");
  CHECK(w->load().running == 2);
  w.end("b");
  w.wait_until_running("c");
}

TEST_CASE("The next of a chain begins before what came later and waits for no permit", "[pool]") {
  pool_world w(1);
  w.accept(chain_of(w, {"a", "b"}));
  w.accept({w.start("other")});
  w.wait_until_running("a");
  w.end("a");
  w.wait_until_running("b");
  w.end("b");
  w.wait_until_running("other");
}

TEST_CASE("A chain that grows runs those that came later behind the others", "[pool]") {
  pool_world w(2);
  const auto chain = chain_of(w, {"a", "b", "c"});
  w.accept({chain[0], chain[1]});
  w.accept({chain[2]});
  w.wait_until_running("a");
  w.end("a");
  w.wait_until_running("b");
  w.end("b");
  w.wait_until_running("c");
  w.end("c");
  auto ended = ids(w.wait_for_ends(3));
  std::sort(ended.begin(), ended.end());  // who has ended files that while the next runs
  CHECK(ended == names{"a succeeded", "b succeeded", "c succeeded"});
}

TEST_CASE("What waits in a chain goes back when its slice is over and the one that runs goes on", "[pool]") {
  pool_world w(2);
  w.accept(chain_of(w, {"a", "b", "c"}));
  w.wait_until_running("a");
  CHECK(w->end_slices(steady_clock::now()) < steady_point::max());
  CHECK(w->end_slices(steady_clock::now() + chain_slice) == steady_point::max());
  CHECK(ids(w.wait_for_ends(2)) == names{"b given_back", "c given_back"});
  w.end("a");
  CHECK(ids(w.wait_for_ends(1)) == names{"a succeeded"});
}

TEST_CASE("When one of a chain does not begin in its turn those behind it go back", "[pool]") {
  pool_world w(1);
  const auto chain = chain_of(w, {"a", "b", "c"});
  w.accept({w.start("first")});
  w.wait_until_running("first");
  w.accept(chain);
  w->lock()->ask_to_stop(chain[0], stop_reason::lost, steady_clock::now());
  auto ends = ids(w.wait_for_ends(3));
  std::sort(ends.begin(), ends.end());
  CHECK(ends == names{"a given_back", "b given_back", "c given_back"});
}

TEST_CASE("One of a chain that is stopped as it waits is left out", "[pool]") {
  pool_world w(2);
  const auto chain = chain_of(w, {"a", "b", "c"});
  w.accept(chain);
  w.wait_until_running("a");
  w->lock()->ask_to_stop(chain[1], stop_reason::lost, steady_clock::now());
  w.end("a");
  w.wait_until_running("c");
  CHECK(ids(w.wait_for_ends(2)) == names{"b given_back", "a succeeded"});
}

TEST_CASE("A pool that drains gives back what waits in chains", "[pool]") {
  pool_world w(2);
  const auto chain = chain_of(w, {"a", "b"});
  w.accept(chain);
  w.wait_until_running("a");
  w->drain(steady_clock::now());
  CHECK(ids(w.wait_for_ends(1)) == names{"b given_back"});
}

TEST_CASE("A chain is as long as nine tenths of the last bodies fit into its slice") {
  recent_times times;
  CHECK(times.chain_length() == 1);
  times.note(5ms);
  CHECK(times.chain_length() == 10);
  for (int i = 0; i < 90; ++i)
    times.note(10ms);
  for (int i = 0; i < 10; ++i)
    times.note(1h);
  CHECK(times.chain_length() == 5);
  times.note(1h);  // in place of a short one
  CHECK(times.chain_length() == 1);
  for (int i = 0; i < 100; ++i)
    times.note(1us);
  CHECK(times.chain_length() == max_chain);
}

TEST_CASE("A run is to stop although the callback of another keeps its token from saying so", "[pool]") {
  std::atomic<bool> go{false};
  pool_world w(2);
  const auto blocks = w.start("blocks"), other = w.start("other");
  const std::stop_callback waits(blocks->stop.get_token(), [&] { go.wait(false); });
  w.accept({blocks, other});
  w.wait_until_running("blocks");
  w.wait_until_running("other");
  CHECK_FALSE(w->is_stopping(other));
  w->lock()->ask_to_stop(blocks, stop_reason::timeout, steady_clock::now());
  w->lock()->ask_to_stop(other, stop_reason::timeout, steady_clock::now());
  CHECK(w->is_stopping(other));
  CHECK_FALSE(other->stop.stop_requested());
  go = true;
  go.notify_all();
  CHECK(eventually([&] { return other->stop.stop_requested(); }));
}

TEST_CASE("A run that is stopped says what came first, however long it goes on: its timeout or finish_within",
          "[pool]") {
  pool_world w(2);
  const auto short_timeout = w.start("short timeout"), short_left = w.start("little left");
  short_timeout->timeout = 0s;
  short_left->timeout = 1h;
  short_left->finish_by = steady_clock::now();
  w.accept({short_timeout, short_left});
  w.wait_until_running("short timeout");
  w.wait_until_running("little left");
  short_timeout->finish_by = steady_clock::now();  // behind its timeout, and over when it ends
  for (const auto& run : {short_timeout, short_left}) {
    w->lock()->ask_to_stop(run, stop_reason::timeout, steady_clock::now());
    REQUIRE(eventually([&] { return run->stop.stop_requested(); }));
  }
  w.end("short timeout");
  w.end("little left");
  auto ends = ids(w.wait_for_ends(2));
  std::sort(ends.begin(), ends.end());
  CHECK(ends == names{"little left deadline", "short timeout timed_out"});
}

TEST_CASE("ends with large results are taken in parts of 4 MiB") {
  pool_world p(1);
  std::vector<run_ptr> runs;
  runs.reserve(10);
  for (int i = 0; i < 10; ++i)
    runs.push_back(p.start("j" + std::to_string(i)));
  p->lock()->hold(runs);
  for (const auto& run : runs) {
    elected_end end;
    end.settlement.text = std::string(1024 * 1024, 'r');
    p->lock()->end_admission(run, std::move(end));
  }
  CHECK(p->lock()->ended.take(1, SIZE_MAX).size() == 4);
  CHECK(p->lock()->ended.take(1, 3).size() == 3);
  CHECK(p->lock()->ended.take(1, SIZE_MAX).size() == 3);
  CHECK(p->lock()->ended.take(1, SIZE_MAX).empty());
}

TEST_CASE("a worker that is ended from outside is that job's failed start and is replaced") {
  handler_registry handlers;
  server_options options;
  auto release = std::make_shared<std::atomic<bool>>(false);
  const auto config = [&] {
    handlers.handle("stuck", [release](job_context&) { release->wait(false); });
    return make_execution_config(handlers, {}, options);
  }();
  auto p = std::make_shared<pool>(queue_name("default"), queue_options{1, 0, {}, {}}, config);
  std::atomic<bool> ended{false}, gone{false};
  p->lock()->ended.on_ended([&] {
    ended = true;
    ended.notify_all();
  });
  const auto id = p->workers.add({[&] { gone = true; }, {}});
  auto run = std::make_shared<claimed_run>();
  run->about.id = job_id("a");
  run->about.type = job_type("stuck");
  run->about.queue = queue_name("default");
  run->about.fence = fence{7};
  p->lock()->accept({run});
  REQUIRE(eventually([&] { return p->workers.who_runs(fence{7}).has_value(); }));
  p->workers.retire(id, "ended from outside");
  ended.wait(false);
  CHECK(gone);
  const auto tray = p->lock()->ended.take();
  REQUIRE(tray.size() == 1);
  CHECK(tray[0].settlement->cause == "worker_died");
  CHECK(tray[0].settlement->failure);
  p->lock()->release(fence{7});
  *release = true;
  release->notify_all();
  p->workers.disable_callbacks();
  p->workers.close(std::chrono::steady_clock::now() + 5s);
  CHECK(p->lock()->ended.take().empty());  // the handler's late outcome is nobody's
}

TEST_CASE("the out-tray gives up to a share of the ends, and waits for a handful when it is asked for one") {
  handler_registry handlers;
  server_options options;
  handlers.handle("says", [](job_context& job) { job.progress(0.5, "half"); });
  auto p = std::make_shared<pool>(queue_name("default"), queue_options{1, 9, {}, {}},
                                  make_execution_config(handlers, {}, options));
  std::atomic<int> told{0};
  p->lock()->ended.on_ended([&] { ++told; });
  std::atomic<bool> taken{false};
  p->workers.on_progress([&] { taken = p->take_progress().size() == 1; });
  p->workers.add({{}, {}});
  const auto claimed = [&](std::uint64_t from, std::uint64_t to) {
    std::vector<run_ptr> runs;
    for (; from <= to; ++from) {
      runs.push_back(std::make_shared<claimed_run>());
      auto& about = runs.back()->about;
      about.id = job_id("j" + std::to_string(from));
      about.type = job_type("says");
      about.queue = queue_name("default");
      about.fence = fence{from};
    }
    p->lock()->accept(std::move(runs));
  };
  const auto ended = [&](std::uint32_t n) { return eventually([&] { return p->load().ended == n; }); };
  claimed(1, 3);
  REQUIRE(ended(3));
  CHECK(eventually([&] { return told == 1; }));
  const auto first = p->lock()->ended.take(1, 2);
  REQUIRE(first.size() == 2);
  CHECK(first[0].settlement->run.fence == fence{1});
  // What was said goes with the end also when it was sent before: that may come later.
  CHECK(taken);
  REQUIRE(first[0].settlement->progress);
  CHECK(first[0].settlement->progress->text == "half");
  CHECK(p->lock()->ended.take(3).empty());
  claimed(4, 4);
  REQUIRE(ended(2));
  CHECK(told == 1);
  claimed(5, 5);
  REQUIRE(ended(3));
  CHECK(eventually([&] { return told == 2; }));
  CHECK(p->lock()->ended.take(3).size() == 3);
  p->workers.disable_callbacks();
  p->workers.close(std::chrono::steady_clock::now() + 5s);
}

TEST_CASE("two orders share what a pool can hold, unless its jobs are to run one after the other") {
  const auto load = [](std::uint32_t workers, duration body) {
    pool_load l;
    l.workers = workers;
    l.typical_handler = body;
    l.measured = true;
    return l;
  };
  const auto quick = load(64, 1us);
  CHECK(plan_claim(quick, 256, 0).free == 64);
  CHECK(plan_claim(quick, 256, 0).ahead == 256);
  CHECK(plan_claim(quick, 256, 200).free == 0);
  CHECK(plan_claim(quick, 256, 200).ahead == 120);
  REQUIRE(shares_of(quick, 256));
  CHECK(shares_of(quick, 256)->least == 80);
  CHECK(shares_of(quick, 256)->most == 106);
  CHECK_FALSE(shares_of(load(1, 1us), 256));
  CHECK_FALSE(shares_of(load(2, 1us), 0));
  REQUIRE(shares_of(load(2, 1s), 256));
  CHECK(shares_of(load(2, 1s), 256)->least == 1);
}

}  // namespace sluice::test
