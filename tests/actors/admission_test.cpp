// Who is let in, who waits for what and how the others end is the same where a server's actors ask and where a test's
// world does: for random types, throttlers, held permits and jobs, under a clock that stands still, one job at a time.
#include <sluice/testing.hpp>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>

#include "actors/host_world.hpp"
#include "storage/shared_store.hpp"
#include "support/catch.hpp"
#include "support/worlds.hpp"

namespace sluice::test {
namespace {

class still_clock final : public clock {
public:
  explicit still_clock(time_point at) : at_(at) {}
  time_point now() const override { return at_; }

private:
  const time_point at_;
};

// A custom throttler by a limiter: every other one of those that ask, five in all.
class every_other final : public limiter {
public:
  limiter_step take(std::string_view state, time_point now, std::span<const limiter_request> wanted) const override {
    limiter_step step{std::string(state), now - 1h, now + 1h, {}};
    for (const auto& w : wanted) {
      step.each.push_back({0, now + 1min});
      for (std::uint64_t i = 0; i < w.count; ++i) {
        step.state += step.state.size() % 2 == 0 ? "+" : "-";
        if (step.state.back() == '+' && step.state.size() < 10) ++step.each.back().granted;
      }
    }
    return step;
  }
};

// What an actor says, by the job alone.
throttle_verdict doorman(const throttle_request& asked) {
  const auto dice = asked.about->id.value.back() % 8;
  if (dice == 0) return {admission::rejected, {}, "not this one", {}};
  return dice < 3 ? throttle_verdict{admission::deferred, 30s, {}, {}} : throttle_verdict{};
}

// A configuration, permits that somebody else holds, and jobs.
struct scene {
  server_options options;
  std::vector<std::vector<std::string>> held;
  std::vector<new_job> jobs;

  explicit scene(std::uint64_t seed) : dice_(seed) {
    options.queues = {{"*", {1, 0, {}, {}}}};
    options.sweep_interval = 1min;
    options.retry.attempts = 0;
    for (const auto* name : {"s1", "s2"})
      add_throttler(throttler_kind::semaphore, name);
    add_throttler(throttler_kind::fixed_window, "f");
    add_throttler(throttler_kind::sliding_window, "l").buckets = 4;
    auto& dynamic = add_throttler(throttler_kind::dynamic_window, "d");
    dynamic.buckets = 4;
    dynamic.key = "{tenant}";
    for (int i = 0; i < 12; ++i) {
      auto& type = options.jobs["t" + std::to_string(i)];
      for (const auto* one : {"mutex:m", "mutex:order-{n}", "semaphore:s1", "semaphore:s2", "fixed_window:f",
                              "sliding_window:l", "dynamic_window:d", "custom:odd", "custom:door"})
        if (roll(4) == 0) type.throttle.emplace_back(one);
      type.strict = roll(4) == 0;
      type.when_throttled = std::array{throttle_action::wait, throttle_action::wait, throttle_action::retry,
                                       throttle_action::remove}[roll(4)];
    }
    for (const auto* one : {"mutex:m", "mutex:order-1", "semaphore:s1", "semaphore:s2"})
      if (roll(3) == 0) held.push_back({one});
    for (int i = 0; i < 100; ++i) {
      auto& job = jobs.emplace_back();
      job.id = job_id("j" + std::to_string(i) + "-" + std::to_string(roll(1'000)));
      job.type = job_type("t" + std::to_string(roll(12)));
      const std::string tenant(1, static_cast<char>('a' + roll(3)));
      job.args = roll(20) == 0 ? "{}" : R"({"n": )" + std::to_string(roll(3)) + R"(, "tenant": ")" + tenant + "\"}";
    }
  }

private:
  std::size_t roll(std::size_t sides) { return std::uniform_int_distribution<std::size_t>(0, sides - 1)(dice_); }
  throttler& add_throttler(throttler_kind kind, const char* name) {
    auto& t = options.throttlers.emplace_back();
    t.kind = kind;
    t.name = name;
    t.limit = 1 + roll(kind == throttler_kind::semaphore ? 3 : 12);
    if (kind != throttler_kind::semaphore) t.interval = 1h;
    return t;
  }

  std::mt19937_64 dice_;
};

// Stores the jobs of a scene, after somebody else has taken the permits that are held.
void set_up(const scene& of, const std::string& url) {
  const auto store = storage::open_shared_store(url).value();
  const auto ask = [&](storage::request r) {
    auto got = store->call({std::move(r)}, std::chrono::steady_clock::now() + 10s);
    if (const auto* failed = std::get_if<error>(&got.at(0))) throw std::runtime_error(to_string(*failed));
    return std::move(got[0]);
  };
  auto client = sluice::client::open({url, 10s, {}, {}}).value();
  for (const auto& one : of.options.throttlers)
    REQUIRE(client.set_throttler(one).ok());
  const auto types =
      std::make_shared<const std::set<std::string, std::less<>>>(std::set<std::string, std::less<>>{"holder"});
  std::uint64_t op = 0;
  for (const auto& permits : of.held) {
    new_job holder;
    holder.type = job_type("holder");
    REQUIRE(client.enqueue(std::move(holder)).ok());
    storage::claim_request claim;
    claim.server = server_id("somebody");
    claim.queue = queue_name("default");
    claim.op = ++op;
    claim.free = 1;
    claim.lease = 24h;
    claim.types = types;
    const auto got = std::get<storage::claim_answer>(ask(std::move(claim)));
    const auto& taken = got.jobs.at(0).job;
    storage::acquire_permits_request take;
    take.runs.push_back({{taken.id, taken.fence}, permits, false, false});
    ask(std::move(take));
  }
  for (const auto& stored : client.enqueue(of.jobs))
    REQUIRE(stored.ok());
}

// Everything that an admission decides about: the order in which the jobs began, then a line for each of them, then one
// for each throttler.
std::vector<std::string> outcome_of(const scene& of, const std::string& url, const std::vector<std::string>& began) {
  auto client = sluice::client::open({url, 10s, {}, {}}).value();
  std::vector<std::string> all{"began:"};
  for (const auto& id : began)
    all[0] += " " + id;
  for (const auto& job : of.jobs) {
    const auto seen = client.get(job.id).value();
    auto& line = all.emplace_back(seen.id.value);
    line += " " + seen.type.value + " " + std::string(name_of(seen.state)) + " line=" + seen.line +
            " attempt=" + std::to_string(seen.attempt) + " reason=" + seen.reason;
    if (seen.due_at) line += " due=" + std::to_string(micros(*seen.due_at));
    for (const auto& h : seen.history)
      line += " [" + h.cause + "]";
  }
  const auto throttlers = client.throttlers().value();
  for (const auto& t : throttlers)
    all.push_back(t.resource + " held=" + std::to_string(t.held) + " waiting=" + std::to_string(t.waiting));
  return all;
}

}  // namespace

TEST_CASE("a world and a server's actors let in the same jobs in the same order") {
  const auto number = [](const char* name, std::uint64_t usual) {
    const char* wanted = std::getenv(name);
    return wanted ? std::strtoull(wanted, nullptr, 10) : usual;
  };
  const std::uint64_t scenes = number("SLUICE_SCENES", 12);  // of a hundred jobs each
  const std::uint64_t seed = number("SLUICE_SEED", 0);
  REQUIRE(scenes > 0);
  std::set<std::string> kinds;  // of ends and lines that were met
  for (std::uint64_t n = 0; n < scenes; ++n) {
    const scene of(seed * 1'000 + n);
    CAPTURE(seed, n);

    std::vector<std::string> by_hand;
    testing::world world(of.options);
    world.throttler("door", doorman);
    handler_registry limits;
    limits.limit("odd", std::make_shared<every_other>());
    world.add(limits);
    for (const auto& [type, how] : of.options.jobs)
      world.handle(type, [&](job_context& c) { by_hand.push_back(c.id().value); });
    set_up(of, world.storage());
    world.drain();

    const auto url = "sqlite::memory:admission-" + std::to_string(n);
    const auto store = storage::open_shared_store(url, std::make_shared<still_clock>(world.now()));
    REQUIRE(store.ok());
    std::mutex noting;
    std::vector<std::string> by_actors;
    {
      host_world host(url);
      host.options = of.options;
      host.options.storage = url;
      auto door = host.system.spawn([](throttler_actor::pointer) -> throttler_actor::behavior_type {
        return {[](acquire_atom, const std::vector<throttle_request>& asked) {
                  std::vector<throttle_verdict> verdicts;
                  for (const auto& one : asked)
                    verdicts.push_back(doorman(one));
                  return verdicts;
                },
                [](ended_runs_atom, const std::vector<throttled_end>&) {}};
      });
      throttle_by_actor(host.handlers, "door", door);
      host.handlers.limit("odd", std::make_shared<every_other>());
      for (const auto& [type, how] : of.options.jobs)
        host.handlers.handle(type, [&](job_context& c) {
          const std::lock_guard held(noting);
          by_actors.push_back(c.id().value);
        });
      set_up(of, url);
      host.start();
      REQUIRE(eventually([&] {
        const auto now = host.counts();
        return now.enqueued == 0 && now.processing == of.held.size();
      }));
      host.embedded->stop();
      caf::anon_send_exit(door, caf::exit_reason::kill);
    }
    const auto hand = outcome_of(of, world.storage(), by_hand), actors = outcome_of(of, url, by_actors);
    REQUIRE(hand.size() == actors.size());
    for (std::size_t i = 0; i < hand.size(); ++i)
      CHECK("by actors: " + actors[i] == "by actors: " + hand[i]);
    for (const auto& line : hand)
      for (const auto* kind : {" succeeded ", "line=mutex:", "line=semaphore:", "line=fixed_window:f ",
                               "line=sliding_window:l ", "line=dynamic_window:d/", "line=custom:odd ",
                               "line=custom:door ", "[rejected]", "deleted: deferred", "; again in"})
        if (line.find(kind) != std::string::npos) kinds.insert(kind);
  }
  CHECK(kinds.size() == 11);
}

}  // namespace sluice::test
