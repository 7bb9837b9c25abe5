// Programs of one's own that end while their server works, and that fork.
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

void enqueue_held(work_world& w) {
  std::vector<new_job> jobs;
  for (int i = 0; i < 8; ++i) {
    new_job job;
    job.type = job_type("held");
    job.id = job_id("held" + std::to_string(i));
    jobs.push_back(std::move(job));
  }
  w.enqueue(std::move(jobs));
}

// An exiting_host (support/exiting_host.cpp) from its start to its end.
std::optional<int> run_to_its_end(work_world& w, const std::string& how, std::string& log) {
  process p({"env", "EXITING_STORE=" + w.url, program_path("exiting_host"), how}, w.folder.file("host.log"));
  const auto code = p.exit_code(30s);
  log = p.log();
  return code;
}

void fork_and_use(work_world& w) {
  process p({program_path("forked_host"), w.url}, w.folder.file("forked.log"));
  const auto code = p.exit_code(120s);
  INFO(p.log());
  CHECK(code == 0);
  const unsigned childs = w.url.starts_with("sqlite:") ? 0 : 5 + 5;  // on a file of its own
  CHECK(w.counts().enqueued == 1 + 5 + childs);                      // before the fork, and the parent's
  CHECK(w.client->servers()->empty());
}

}  // namespace

TEST_CASE("a server of static lifetime gives its jobs back and leaves when main returns and when exit is called") {
  for (const char* how : {"return", "exit"}) {
    work_world w;
    enqueue_held(w);
    std::string log;
    const auto code = run_to_its_end(w, how, log);
    INFO(how << ": " << log);
    CHECK(code == 0);
    CHECK(w.counts().enqueued == 8);
    CHECK(w.counts().processing == 0);
    CHECK(w.client->servers()->empty());
    CHECK(log.find(" error ") == std::string::npos);
  }
}

TEST_CASE("a program that leaves by quick_exit while jobs run ends well, and leases keep the jobs") {
  work_world w;
  enqueue_held(w);
  std::string log;
  const auto code = run_to_its_end(w, "quick_exit", log);
  INFO(log);
  CHECK(code == 0);
  CHECK(w.counts().processing == 4);
  CHECK(w.counts().enqueued == 4);
}

TEST_CASE("after fork a child is told at once that it needs a new client, and what it opens anew is kept") {
  {
    work_world on_a_file;
    fork_and_use(on_a_file);
  }
  redis_server redis;
  work_world on_redis(nlohmann::json::object(), redis.url());
  fork_and_use(on_redis);
}

}  // namespace sluice::test
