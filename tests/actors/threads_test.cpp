// Which threads a job crosses: each step of its way notes the name of the thread that it is on.
#include <algorithm>
#include <set>

#include "actors/server_world.hpp"
#include "core/pipeline.hpp"
#include "core/thread_name.hpp"
#include "support/catch.hpp"
#include "support/counted_server.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

class trace {
public:
  void note(const std::string& step) {
    const std::lock_guard hold(mutex_);
    steps_.emplace_back(step, name_of_this_thread());
  }
  void clear() {
    const std::lock_guard hold(mutex_);
    steps_.clear();
  }
  // The names of the threads from one step to the next of that name behind it, each change once; empty: not there.
  std::vector<std::string> between(const std::string& first, const std::string& last) const {
    const std::lock_guard hold(mutex_);
    const auto named = [](const std::string& step) { return [&step](const auto& one) { return one.first == step; }; };
    const auto from = std::find_if(steps_.begin(), steps_.end(), named(first));
    const auto to = std::find_if(from, steps_.end(), named(last));
    std::vector<std::string> threads;
    if (to == steps_.end()) return threads;
    for (auto at = from; at <= to; ++at)
      if (threads.empty() || threads.back() != at->second) threads.push_back(at->second);
    return threads;
  }

private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> steps_;
};

class traced_store final : public passing_store {
public:
  traced_store(std::unique_ptr<storage::store> in, std::shared_ptr<trace> into)
      : passing_store(std::move(in)), trace_(std::move(into)) {}

  std::vector<storage::answer> apply(std::span<const storage::request> batch) override {
    for (const auto& r : batch) {
      if (std::holds_alternative<storage::enqueue_request>(r)) trace_->note("enqueue at the store");
      if (std::holds_alternative<storage::claim_request>(r)) trace_->note("claim at the store");
      if (std::holds_alternative<storage::settle_request>(r)) trace_->note("end at the store");
    }
    return passing_store::apply(batch);
  }
  std::unique_ptr<storage::watch> watch_others(std::function<void(const storage::hint&)> callback) override {
    return passing_store::watch_others([into = trace_, callback = std::move(callback)](const storage::hint& one) {
      into->note("hint");
      callback(one);
    });
  }
  std::unique_ptr<storage::store> open_second_connection() override {
    auto other = passing_store::open_second_connection();
    return other ? std::make_unique<traced_store>(std::move(other), trace_) : nullptr;
  }

private:
  std::shared_ptr<trace> trace_;
};

class traced_server {
public:
  explicit traced_server(server_world& w) : server_(with_handler(w), w.handlers, wrapping(steps), prepare(steps)) {}

  storage::shared_store& shared_store() { return server_.shared_store(); }
  const std::shared_ptr<trace> steps = std::make_shared<trace>();

private:
  server_options with_handler(server_world& w) {
    w.handlers.handle("noop", [into = steps](job_context&) { into->note("handler"); });
    w.options.sweep_interval = 1min;  // nobody but hints wakes anybody
    w.options.queues["default"].prefetch = 0;
    return w.options;
  }
  static counted_server::wrapping wrapping(const std::shared_ptr<trace>& into) {
    return [into](std::unique_ptr<storage::store> in) { return std::make_unique<traced_store>(std::move(in), into); };
  }
  // A claim asks for the types that are known when it is made.
  static std::function<void(actors::server_context&)> prepare(const std::shared_ptr<trace>& into) {
    return [into](actors::server_context& of) {
      of.known_types = [into, known = of.known_types] {
        into->note("claim is planned");
        return known();
      };
    };
  }

  counted_server server_;
};

std::string in_words(const std::vector<std::string>& threads) {
  std::string all;
  for (const auto& one : threads)
    all += (all.empty() ? "" : " > ") + one;
  return all;
}

// The ways of jobs, each enqueued when the one before is over, until forty have gone over so many threads at most. One
// may be claimed in another way, as by a request that was under way already, and steps of another may stand between its
// own: on a busy machine many are. A step that somebody else carries out, as a timer's thread or the second
// connection's, costs one change more.
template <class EnqueueOne>
std::set<std::string> ways(server_world& w, trace& steps, const std::string& first, const std::string& last,
                           std::size_t most_threads, EnqueueOne&& enqueue_one) {
  std::set<std::string> all;
  const auto before = w.counts().succeeded;
  int as_wanted = 0;
  for (std::uint64_t i = 0; i < 400 && as_wanted < 40; ++i) {
    steps.clear();
    enqueue_one();
    REQUIRE(eventually([&] { return w.counts().succeeded == before + i + 1; }));
    const auto now = steps.between(first, last);
    if (!now.empty() && now.size() <= most_threads) ++as_wanted;
    all.insert(in_words(now));
  }
  CHECK(as_wanted == 40);
  return all;
}

}  // namespace

TEST_CASE("a hint reaches the handler over one change of thread, three at most, its end the store over one") {
  const bool on_redis = GENERATE(false, true);
  CAPTURE(on_redis);
  std::optional<redis_server> redis;
  if (on_redis) redis.emplace();
  server_world w(on_redis ? redis->url() : "");
  traced_server server(w);
  const auto from_elsewhere = [&] { w.enqueue("noop"); };  // by a connection of its own, as another process would
  const auto to_handler = ways(w, *server.steps, "hint", "handler", 4, from_elsewhere);
  for (const auto& way : to_handler)
    UNSCOPED_INFO(way);
  CHECK(to_handler.contains("sluice-hints > sluice-worker"));
  const auto to_store = ways(w, *server.steps, "handler", "end at the store", 3, from_elsewhere);
  for (const auto& way : to_store)
    UNSCOPED_INFO(way);
  // To whichever thread is at the store just then, or the worker's own.
  CHECK(std::any_of(to_store.begin(), to_store.end(), [](const std::string& way) {
    return way.starts_with("sluice-worker") && std::count(way.begin(), way.end(), '>') <= 1;
  }));
}

TEST_CASE("who enqueues while nobody is at the store goes there himself, and tells the queue") {
  server_world w;
  traced_server server(w);
  name_this_thread("enqueuer");
  const enqueue_pipeline pipeline({}, {});
  const auto enqueue = [&] {
    new_job job;
    job.type = job_type("noop");
    storage::enqueue_request one;
    one.jobs.push_back(*pipeline.prepare(std::move(job), server.shared_store().now()));
    server.shared_store().call({std::move(one)}, std::chrono::steady_clock::now() + 30s);
  };
  CHECK(ways(w, *server.steps, "enqueue at the store", "claim is planned", 2, enqueue).contains("enqueuer"));
  CHECK(ways(w, *server.steps, "enqueue at the store", "handler", 4, enqueue)
            .contains("enqueuer > sluice-store > sluice-worker"));
}

}  // namespace sluice::test
