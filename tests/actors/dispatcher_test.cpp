// A dispatcher without its supervisor: what stands in for that hears nothing, or asks the gate twice.
#include "execution/dispatcher.hpp"

#include <atomic>

#include "actors/own_system.hpp"
#include "actors/server_context.hpp"
#include "actors/server_world.hpp"
#include "actors/spawn.hpp"
#include "core/pipeline.hpp"
#include "execution/lease_keeper.hpp"
#include "support/catch.hpp"
#include "support/gated_store.hpp"

namespace sluice::test {

using namespace actors;

namespace {

struct deaf_supervisor : supervisor_link {
  void call_later(duration, timer) override {}
  void ask_gate(std::vector<admission_request>) override {}
  void notify_run_ended(const run_ptr&, bool, duration) override {}
  void call_filters() override {}
  void wake_all_queues() override {}
};

// Asks as each of two supervisors would, of which one succeeds the other.
struct asks_gate final : deaf_supervisor {
  explicit asks_gate(gate_actor to) : gate(std::move(to)) {}
  void ask_gate(std::vector<admission_request> runs) override {
    asked = std::make_shared<const std::vector<admission_request>>(std::move(runs));
    caf::anon_send(gate, admit_atom::value, asked);
  }
  const gate_actor gate;
  asks_ptr asked;
};

server_context_ptr open_context(server_world& w) {
  auto opened = open_server_context(w.options, w.handlers, {});
  if (!opened) throw std::runtime_error(to_string(opened.error()));
  (*opened)->keeper = std::make_shared<lease_keeper>(*opened, [](const auto&, fence) {});
  return *opened;
}

void end(const server_context& of, const served_queue& queue) {
  queue.dispatcher->end();
  of.keeper->halt();
  queue.pool->workers.close(std::chrono::steady_clock::now() + 20s);
}

}  // namespace

TEST_CASE("what was claimed for a server that has ended meanwhile goes back to its queue, without a loss") {
  gate g;
  server_world w;
  w.handlers.handle("work", [](job_context&) {});
  const auto e = open_context(w);
  const auto store = std::make_shared<storage::shared_store>(std::make_unique<gated_store>(g));
  e->use_store(store);
  new_job wanted;
  wanted.id = job_id("claimed");
  wanted.type = job_type("work");
  auto prepared = enqueue_pipeline({}, {}).prepare(wanted, store->now());
  REQUIRE(prepared);
  const auto soon = [] { return std::chrono::steady_clock::now() + 20s; };
  store->call({storage::enqueue_request{{*prepared}}}, soon());
  const auto look = [&] {
    return std::get<storage::get_answer>(store->call({storage::get_request{wanted.id}}, soon()).at(0)).found.value();
  };

  const auto queue = e->queue("default", w.options.queues.at("default"));
  queue.pool->workers.add({});
  const auto before = g.entered;
  g.set(false);
  queue.dispatcher->attach(std::make_shared<deaf_supervisor>());
  g.wait_entered(before + 1);
  queue.dispatcher->end();
  g.set(true);
  CHECK(eventually([&] { return !look().history.empty(); }));
  CHECK(look().state == job_state::enqueued);
  CHECK(look().losses == 0);
  CHECK(look().history.at(0).end == run_end::given_back);
  end(*e, queue);
}

TEST_CASE("ends that wait for more to come are stored though the supervisor never says that the time has come") {
  server_world w;
  w.handlers.handle("work", [](job_context&) {});
  const auto e = open_context(w);
  const auto queue = e->queue("default", w.options.queues.at("default"));
  for (int i = 0; i < 2; ++i)
    queue.pool->workers.add({});
  new_job wanted;
  wanted.type = job_type("work");
  for (const auto& stored : w.client->enqueue(std::vector<new_job>(1000, wanted)))
    REQUIRE(stored.ok());
  queue.dispatcher->attach(std::make_shared<deaf_supervisor>());
  CHECK(eventually([&] { return w.counts().succeeded == 1000; }));
  end(*e, queue);
}

TEST_CASE("a supervisor's successor that asks again for a run that was let in has no throttler asked again") {
  std::atomic<int> asked{0}, begun{0};
  std::atomic<bool> may_end{false};
  server_world w;
  w.options.jobs["work"].throttle = {"custom:counts"};
  w.handlers.handle("work", [&](job_context&) {
    ++begun;
    may_end.wait(false);
  });
  throttle_by_actor(w.handlers, "counts", {});
  const auto e = open_context(w);
  const auto queue = e->queue("default", w.options.queues.at("default"));
  queue.pool->workers.add({});
  w.enqueue("work");
  own_system system([&](caf::actor_system& made) {
    caf::scoped_actor self{made};
    const auto counts = made.spawn([&asked](throttler_actor::pointer) -> throttler_actor::behavior_type {
      return {[&asked](acquire_atom, const std::vector<throttle_request>& about) {
                asked += static_cast<int>(about.size());
                return std::vector<throttle_verdict>(about.size());
              },
              [](ended_runs_atom, const std::vector<throttled_end>&) {}};
    });
    const auto gate = spawn_gate(self.ptr(), e);
    caf::anon_send(gate, set_throttler_actor_atom::value, std::string("counts"), counts);
    const auto supervisor = std::make_shared<asks_gate>(gate);
    queue.dispatcher->attach(supervisor);
    if (eventually([&] { return begun == 1; })) {
      caf::anon_send(gate, admit_atom::value, supervisor->asked);
      // Each has taken what was sent before once it answers.
      self->request(gate, std::chrono::seconds(20), again_atom::value, std::uint64_t{0})
          .receive([] {}, [](caf::error&) {});
      self->request(counts, std::chrono::seconds(20), acquire_atom::value, std::vector<throttle_request>())
          .receive([](const std::vector<throttle_verdict>&) {}, [](caf::error&) {});
    }
    may_end = true;
    may_end.notify_all();
    queue.dispatcher->detach(supervisor);
    self->send_exit(gate, caf::exit_reason::user_shutdown);
    self->send_exit(counts, caf::exit_reason::user_shutdown);
  });
  CHECK(begun == 1);
  CHECK(asked == 1);
  CHECK(eventually([&] { return w.counts().succeeded == 1; }));
  end(*e, queue);
}

}  // namespace sluice::test
