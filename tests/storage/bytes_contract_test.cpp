// What is bounded by bytes: one answer, one batch.
#include <chrono>

#include "storage/contract.hpp"
#include "support/fault_proxy.hpp"

using namespace sluice;
using namespace sluice::test;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t mib = 1024 * 1024;

// Of a MiB less a little each.
void put_large(world& w, int jobs) {
  const auto args = "\"" + std::string(mib - 1'000, 'x') + "\"";
  for (int i = 0; i < jobs; ++i)
    REQUIRE(put(w, {.id = "large" + std::to_string(i), .args = args}) == errc::none);
}

std::size_t bytes_of(const std::vector<job>& jobs) {
  std::size_t n = 0;
  for (const auto& j : jobs)
    n += j.args.size() + j.result.size();
  return n;
}

}  // namespace

ON_EACH_STORE("A claim of large jobs is cut at its bytes and the rest can be claimed at once") {
  put_large(w, 64);
  names got;
  while (got.size() < 64) {
    const auto some = claim(w, {.free = 64});
    REQUIRE(some.jobs.size() == 4);
    CHECK(bytes_of(jobs_of(some)) <= storage::max_answer_bytes);
    CHECK(some.cut == (got.size() + some.jobs.size() < 64));
    for (const auto& id : ids(some))
      got.push_back(id);
  }
  CHECK(got.front() == "large0");  // in order
  CHECK(got.at(4) == "large4");
  CHECK(got.back() == "large63");
  put_all(w, {"small"});
  const auto last = claim(w, {.free = 64});
  CHECK(ids(last) == names{"small"});
  CHECK_FALSE(last.cut);
}

ON_EACH_STORE("A page of large jobs is cut at its bytes and goes on where it ended") {
  put_large(w, 6);
  put_all(w, {"small"});
  const auto first = ask(w, storage::list_request{}).page;
  CHECK(first.jobs.size() == 4);
  CHECK_FALSE(first.next.empty());
  CHECK(list(w).size() == 7);
}

ON_EACH_STORE("A search through large jobs reads some of them at a time and goes on") {
  names all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(cat("j", 10 + i));
    REQUIRE(put(w, {.id = all.back(), .args = '"' + std::string(1'000'000, 'x') + '"'}) == errc::none);
  }
  job_query query;
  query.type = job_type("work");
  query.with_args = false;
  query.limit = 200;
  const auto page = ask(w, storage::list_request{query}).page;
  CHECK(page.records_read >= 10);
  CHECK(page.records_read < 20);
  CHECK(ids(list(w, query)) == all);
}

ON_EACH_STORE("A page without args has all jobs with everything else") {
  put_large(w, 6);
  REQUIRE(put(w, {.id = "mail", .type = "mail", .delay = 1h, .headers = {{"trace", "1"}}}) == errc::none);
  auto ended_well = ended(claim_one(w), how::succeeded);
  ended_well.text = std::string(mib, 'r');
  REQUIRE(settle(w, ended_well) == errc::none);
  job_query query;
  query.with_args = false;
  const auto page = ask(w, storage::list_request{query}).page;
  REQUIRE(page.jobs.size() == 7);
  CHECK(page.next.empty());
  CHECK(bytes_of(page.jobs) == 0);
  for (const auto& told : page.jobs) {
    const auto whole = get(w, told.id.value);
    CHECK(told.type == whole.type);
    CHECK(told.queue == whole.queue);
    CHECK(told.headers == whole.headers);
    CHECK(told.state == whole.state);
    CHECK(told.created_at == whole.created_at);
    CHECK(told.due_at == whole.due_at);
    CHECK(told.attempt == whole.attempt);
    CHECK(told.reason == whole.reason);
    CHECK(told.history.size() == whole.history.size());
  }
}

TEST_CASE("A large end weighs as much in a batch as many small ones") {
  storage::settlement end;
  end.text = std::string(mib, 'r');
  CHECK(storage::weight(storage::settle_request{{end}, {}}) > 200);
  end.text.clear();
  CHECK(storage::weight(storage::settle_request{{end}, {}}) == 2);
}

TEST_CASE("Large jobs are claimed and ended over a link of 5 MiB a second and none loses its lease", "[redis]") {
  const redis_server server;
  world beside(server.url());
  fault_proxy proxy(unix_at(server.socket()));
  world w(proxy.tcp_url());
  constexpr int jobs = 32;
  put_large(beside, jobs);
  for (const auto way : {direction::to_client, direction::to_server})
    proxy.drip(way, 5 * mib / 100, 10ms);
  std::vector<job> running;
  auto longest = steady_clock::duration::zero();
  while (running.size() < jobs) {
    const auto begin = steady_clock::now();
    auto some = jobs_of(claim(w, {.free = 64}));
    longest = std::max(longest, steady_clock::now() - begin);
    REQUIRE_FALSE(some.empty());
    std::move(some.begin(), some.end(), std::back_inserter(running));
  }
  CHECK(longest < 5s);  // well within the time after which a lease is renewed
  for (const auto& j : running)
    CHECK(renew(w, j) == errc::none);
  storage::settle_request ends;  // more than any supervisor tells at once
  for (const auto& j : running) {
    ends.runs.push_back(ended(j, how::succeeded));
    ends.runs.back().text = std::string(mib, 'r');
  }
  CHECK(ask(w, ends).each == std::vector<errc>(jobs));
}
