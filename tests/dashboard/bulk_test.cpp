// Failed jobs in numbers, requeued by a filter through the API and at a terminal, while their queue's workers go on.
#include <atomic>
#include <map>
#include <mutex>

#include <sluice/server.hpp>

#include "core/text.hpp"
#include "dashboard/dashboard_world.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "support/terminal.hpp"

namespace sluice::test {
namespace {

using json = nlohmann::ordered_json;

constexpr auto timeout = std::chrono::seconds(300);  // a count of many gives way to others: it takes longer beside them

// A server, and so many jobs that failed once; each succeeds when it is requeued.
class failed_jobs {
public:
  failed_jobs(std::uint64_t count, const std::string& store) : w(dashboard_world::changing(), store), count_(count) {
    server_options options;
    options.storage = w.url;
    options.retry.attempts = 0;
    options.retention.succeeded = {};
    options.queues = {{"default", {4, 256, {}, {}}}};
    server_.emplace(options);
    server_->handle("twice", [this](job_context& job) {
      std::lock_guard hold(mutex_);
      if (++runs_[job.id().value] == 1) throw std::runtime_error("not yet");
    });
    server_->handle("noop", [this](job_context&) { ++others_; });
    REQUIRE(server_->start());
    for (std::uint64_t made = 0; made < count; made += 1000) {
      std::vector<new_job> some;
      for (auto i = made; i < std::min(made + 1000, count); ++i) {
        some.push_back(dashboard_world::job(cat("twice-", i)));
        some.back().type = job_type("twice");
      }
      w.enqueue(some);
    }
    REQUIRE(eventually([&] { return counts().failed == count; }, timeout));
  }

  queue_counts counts() { return w.store().queues()->at(0); }
  std::uint64_t count() const { return count_; }

  // One job more, of others, for the workers.
  void enqueue_another() { w.enqueue({dashboard_world::job(cat("beside-", enqueued_++))}); }

  // All were requeued and ran once more; others ran meanwhile, and the log of what people did has the exact count.
  void check_each_ran_twice() {
    const auto all = count_ + enqueued_;
    REQUIRE(eventually([&] { return counts().succeeded == all; }, timeout));
    CHECK(counts().failed == 0);
    CHECK(others_ == enqueued_);
    server_->stop();
    CHECK(runs_.size() == count_);
    for (const auto& [id, times] : runs_)
      if (times != 2) FAIL(id << " ran " << times << " times");
    std::uint64_t noted = 0;
    const auto actions = w.get("/api/v1/log").at("actions");
    for (const auto& act : actions)
      noted += act.at("count").get<std::uint64_t>();
    CHECK(noted == count_);
  }

  dashboard_world w;

private:
  const std::uint64_t count_;
  std::uint64_t enqueued_ = 0;
  std::mutex mutex_;
  std::map<std::string, int> runs_;
  std::atomic<std::uint64_t> others_{0};
  std::optional<server> server_;  // ends first: its handlers use what stands above
};

void requeue_through_api(std::uint64_t count, const std::string& store) {
  failed_jobs jobs(count, store);
  std::uint64_t done = 0, slices = 0;
  std::string after;
  // With a stop in between, after which it goes on with the rest.
  for (const auto until : {count / 2, count}) {
    do {
      jobs.enqueue_another();
      const auto said = jobs.w.ask("POST", "/api/v1/jobs/actions",
                                   {{"action", "requeue"},
                                    {"filter", {{"state", "failed"}, {"type", "twice"}}},
                                    {"expected_count", count - done},
                                    {"after", after}});
      REQUIRE(said.status == 200);
      const auto slice = json::parse(said.body);
      CHECK(slice.at("refused") == 0);
      const auto more = slice.at("done").get<std::uint64_t>();
      CHECK(more <= 1000);
      done += more;
      after = slice.at("next");
      ++slices;
    } while (!after.empty() && done < until);
    if (until == count) break;
    CHECK(done < count);
    CHECK(jobs.counts().failed == count - done);
    after.clear();  // as one who begins anew
  }
  CHECK(done == count);
  CHECK(slices >= count / 1000);
  jobs.check_each_ran_twice();
}

void requeue_at_a_terminal(std::uint64_t count, const std::string& store) {
  failed_jobs jobs(count, store);
  const std::vector<std::string> words = {
      program_path("sluice"), "requeue", "--all", "--state", "failed", "--type", "twice", "--store", jobs.w.url};
  {
    terminal person(words);
    REQUIRE(person.shows(cat("requeue ", count, " jobs? [y/N]"), timeout));
    person.type("n\n");
    CHECK(person.exit_code() == 1);
    CHECK(jobs.counts().failed == count);
  }
  {
    terminal person(words);
    REQUIRE(person.shows("[y/N]", timeout));
    person.type("y\n");
    jobs.enqueue_another();
    REQUIRE(person.shows("enqueued"));
    person.type(terminal::ctrl_c);
    CHECK(person.exit_code() == 1);
    CHECK(person.shows("stopped before its end; the same command goes on with the rest"));
    const auto left = jobs.counts().failed;
    CHECK(left > 0);
    CHECK(left < count);
    CHECK(person.shows(cat(count - left, " enqueued")));
  }
  terminal person(words);
  const auto left = jobs.counts().failed;
  REQUIRE(person.shows(cat("requeue ", left, " jobs? [y/N]"), timeout));
  person.type("y\n");
  jobs.enqueue_another();
  CHECK(person.exit_code(timeout) == 0);
  CHECK(person.shows(cat("\n", left, " enqueued")));
  jobs.check_each_ran_twice();
}

}  // namespace

TEST_CASE("failed jobs are requeued by a filter, each once, while the queue goes on") { requeue_through_api(5000, {}); }

TEST_CASE("a person at a terminal is asked first, sees how far it is, and can stop") {
  requeue_at_a_terminal(5000, {});
}

TEST_CASE("100,000 failed jobs are requeued through the API on SQLite", "[.long]") { requeue_through_api(100'000, {}); }
TEST_CASE("100,000 failed jobs are requeued at a terminal on SQLite", "[.long]") { requeue_at_a_terminal(100'000, {}); }

TEST_CASE("100,000 failed jobs are requeued through the API on Redis", "[.long]") {
  redis_server redis;
  requeue_through_api(100'000, redis.url());
}
TEST_CASE("100,000 failed jobs are requeued at a terminal on Redis", "[.long]") {
  redis_server redis;
  requeue_at_a_terminal(100'000, redis.url());
}

}  // namespace sluice::test
