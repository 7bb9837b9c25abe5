// The thread that renews leases: what does not hold it up.
#include "execution/lease_keeper.hpp"

#include <atomic>

#include "actors/server_world.hpp"
#include "support/catch.hpp"
#include "support/counted_server.hpp"
#include "support/gated_store.hpp"

namespace sluice::test {

using namespace actors;

TEST_CASE("leases are renewed although the store is at something else and more of it waits") {
  gate g;  // before the engine, whose runner ends last
  way_in way;
  server_world w;
  w.handlers.handle("work", [](job_context&) {});
  const auto shared_store = std::make_shared<storage::shared_store>(std::make_unique<two_connection_store>(g, way));
  auto opened = open_server_context(w.options, w.handlers, {});
  REQUIRE(opened);
  const auto e = *opened;
  e->use_store(shared_store);
  e->keeper = std::make_shared<lease_keeper>(e, [](const auto&, fence) {});
  g.set(false);
  for (int i = 0; i < 3; ++i)
    shared_store->submit({storage::queue_names_request{}}, [](const storage::shared_store::answers&) {});
  g.wait_entered(1);
  auto run = std::make_shared<claimed_run>();
  run->about.id = job_id("held");
  run->about.type = job_type("work");
  run->about.fence.value = 1;
  e->queue("default", w.options.queues.at("default")).pool->lock()->hold({run});
  const auto owners = e.use_count();
  e->keeper->notice(std::chrono::steady_clock::now());
  way.passing.wait_entered(1);
  CHECK(way.passing.batches == std::vector<std::size_t>{1});
  e->keeper->halt();
  g.set(true);
  CHECK(eventually([&] { return e.use_count() == owners; }));  // or the store's own thread would be the last to have it
}

TEST_CASE("a callback on a stop token that does not return keeps no lease from being renewed") {
  const bool times_out = GENERATE(true, false);
  struct flags {
    std::atomic<bool> called{false}, go{false};
  };
  const auto seen = std::make_shared<flags>();  // a thread that was left behind may look later
  server_world w;
  w.options.lease = 2s;
  if (times_out) w.options.jobs["stuck"].timeout = 20ms;
  w.handlers.handle("stuck", [seen](job_context& c) {
    const std::stop_callback tell(c.stop(), [seen] {
      seen->called = true;
      seen->go.wait(false);
    });
    seen->go.wait(false);
  });
  w.handlers.handle("long", [seen](job_context&) { seen->go.wait(false); });
  counted_server server(w.options, w.handlers);
  struct release {
    std::atomic<bool>& go;
    ~release() {
      go = true;
      go.notify_all();
    }
  } at_the_end{seen->go};
  const auto stuck = w.enqueue("stuck");
  REQUIRE(w.becomes(w.enqueue("long"), job_state::processing));
  REQUIRE(w.becomes(stuck, job_state::processing));
  if (!times_out) REQUIRE(w.client->remove(stuck));
  REQUIRE(eventually([&] { return seen->called.load(); }));
  const auto before = server.asked->renewals();
  CHECK(eventually([&] { return server.asked->renewals() >= before + 3; }));
}

}  // namespace sluice::test
