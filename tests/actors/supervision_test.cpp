// Actors that die: whoever it is, somebody takes over and no job is lost or run twice.
#include <atomic>

#include "actors/claiming.hpp"
#include "actors/lease_keeper.hpp"
#include "actors/own_system.hpp"
#include "actors/server_world.hpp"
#include "actors/spawn.hpp"
#include "support/catch.hpp"

namespace sluice::test {
namespace {

using namespace sluice::actors;

std::vector<caf::actor> children_of(caf::actor_system& system, const root_actor& root) {
  caf::scoped_actor self{system};
  std::vector<caf::actor> found;
  self->request(root, std::chrono::seconds(10), children_atom::value)
      .receive([&](std::vector<caf::actor>& all) { found = std::move(all); },
               [](caf::error&) { throw std::runtime_error("the root does not answer"); });
  return found;
}

}  // namespace

TEST_CASE("every actor below the root may be killed again and again while jobs run") {
  server_world w;
  std::atomic<int> runs{0};
  w.handlers.handle("count", [&](job_context&) { runs.fetch_add(1); });
  auto opened = open_engine(w.options, w.handlers, {});
  REQUIRE(opened);
  auto e = *opened;
  e->keeper = std::make_shared<lease_keeper>(e, [](const auto&, fence) {});
  constexpr int jobs = 3000;
  {
    std::thread producer([&] {
      for (int i = 0; i < jobs; i += 100) {
        std::vector<new_job> batch(100);
        for (auto& j : batch)
          j.type = job_type("count");
        for (const auto& r : w.client->enqueue(std::move(batch)))
          (void)r.ok();
      }
    });
    root_actor root;
    own_system system([&](caf::actor_system& made) {
      root = spawn_root(made, e, {});
      // On the system's own thread: asking from outside would keep a reference to it.
      std::size_t kills = 0;
      while (kills < 12) {
        const auto all = children_of(made, root);
        if (all.size() < 3) continue;  // one is being replaced
        caf::anon_send_exit(all[kills++ % all.size()], caf::exit_reason::kill);
      }
    });
    producer.join();
    CHECK(eventually([&] { return w.counts().succeeded == jobs; }, 60s));
    for (const auto& p : e->pools())
      p->mute();
    caf::anon_send_exit(root, caf::exit_reason::user_shutdown);
    root = nullptr;
  }
  for (const auto& p : e->pools())
    p->close(std::chrono::steady_clock::now() + 5s);
  e->keeper.reset();
  CHECK(runs == jobs);
}

TEST_CASE("a worker that is ended from outside is that job's failed start and is replaced") {
  server_world w;
  auto release = std::make_shared<std::atomic<bool>>(false);
  const auto can_run = [&] {
    w.handlers.handle("stuck", [release](job_context&) { release->wait(false); });
    return make_bodies(w.handlers, {}, w.options);
  }();
  auto p = std::make_shared<pool>(queue_name("default"), queue_options{1, 0, {}, {}}, can_run);
  std::atomic<bool> ended{false}, gone{false};
  p->on_ended([&] {
    ended = true;
    ended.notify_all();
  });
  const auto id = p->add_worker({[&] { gone = true; }, {}});
  auto start = std::make_shared<held_start>();
  start->about.id = job_id("a");
  start->about.type = job_type("stuck");
  start->about.queue = queue_name("default");
  start->about.fence = fence{7};
  p->accept({start});
  REQUIRE(eventually([&] { return p->runs(fence{7}).has_value(); }));
  p->retire_worker(id, "ended from outside");
  ended.wait(false);
  CHECK(gone);
  const auto tray = p->take_ended();
  REQUIRE(tray.size() == 1);
  CHECK(tray[0].settlement.cause == "worker_died");
  CHECK(tray[0].settlement.failure);
  p->release(fence{7});
  *release = true;
  release->notify_all();
  p->mute();
  p->close(std::chrono::steady_clock::now() + 5s);
  CHECK(p->take_ended().empty());  // the body's late outcome is nobody's
}

TEST_CASE("the out-tray gives up to a share of the ends, and waits for a handful when it is asked for one") {
  server_world w;
  w.handlers.handle("says", [](job_context& job) { job.progress(0.5, "half"); });
  auto p = std::make_shared<pool>(queue_name("default"), queue_options{1, 9, {}, {}},
                                  make_bodies(w.handlers, {}, w.options));
  std::atomic<int> told{0};
  p->on_ended([&] { ++told; });
  std::atomic<bool> taken{false};
  p->on_progress([&] { taken = p->take_progress().size() == 1; });
  p->add_worker({{}, {}});
  const auto claimed = [&](std::uint64_t from, std::uint64_t to) {
    std::vector<start_ptr> starts;
    for (; from <= to; ++from) {
      starts.push_back(std::make_shared<held_start>());
      auto& about = starts.back()->about;
      about.id = job_id("j" + std::to_string(from));
      about.type = job_type("says");
      about.queue = queue_name("default");
      about.fence = fence{from};
    }
    p->accept(std::move(starts));
  };
  const auto ended = [&](std::uint32_t n) { return eventually([&] { return p->load().ended == n; }); };
  claimed(1, 3);
  REQUIRE(ended(3));
  CHECK(told == 1);
  const auto first = p->take_ended(1, 2);
  REQUIRE(first.size() == 2);
  CHECK(first[0].settlement.start.fence == fence{1});
  // What was said goes with the end also when it was sent before: that may come later.
  CHECK(taken);
  REQUIRE(first[0].settlement.progress);
  CHECK(first[0].settlement.progress->text == "half");
  CHECK(p->take_ended(3).empty());
  claimed(4, 4);
  REQUIRE(ended(2));
  CHECK(told == 1);
  claimed(5, 5);
  REQUIRE(ended(3));
  CHECK(told == 2);
  CHECK(p->take_ended(3).size() == 3);
  p->mute();
  p->close(std::chrono::steady_clock::now() + 5s);
}

TEST_CASE("two orders share what a pool can hold, unless its jobs are to run one after the other") {
  const auto load = [](std::uint32_t workers, duration body) {
    pool_load l;
    l.workers = workers;
    l.typical_body = body;
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
