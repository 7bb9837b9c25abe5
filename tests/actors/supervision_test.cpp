// Actors that die: whoever it is, somebody takes over and no job is lost or run twice.
#include <atomic>

#include "actors/own_system.hpp"
#include "actors/server_world.hpp"
#include "actors/spawn.hpp"
#include "execution/lease_keeper.hpp"
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
  std::atomic<std::uint64_t> runs{0};
  server_world w;
  const bool throttled = GENERATE(false, true);
  if (throttled) {
    w.options.throttlers = {{.kind = throttler_kind::semaphore, .name = "some", .limit = 2}};
    w.options.jobs["count"].throttle = {"semaphore:some"};
  }
  w.handlers.handle("count", [&](job_context&) { runs.fetch_add(1); });
  auto opened = open_server_context(w.options, w.handlers, {});
  REQUIRE(opened);
  auto e = *opened;
  e->keeper = std::make_shared<lease_keeper>(e, [](const auto&, fence) {});
  const std::uint64_t jobs = throttled ? 1000 : 3000;
  {
    std::jthread producer([&] {
      for (std::uint64_t i = 0; i < jobs; i += 100) {
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
    for (const auto& p : e->queues.pools())
      p->workers.disable_callbacks();
    caf::anon_send_exit(root, caf::exit_reason::user_shutdown);
    root = nullptr;
  }
  for (const auto& p : e->queues.pools())
    p->workers.close(std::chrono::steady_clock::now() + 5s);
  e->keeper->halt();
  CHECK(runs == jobs);
}

}  // namespace sluice::test
