// How many jobs came and ended: what sluice/totals.hpp promises.
#include "storage/contract.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

totals_report totals(world& w, totals_query query = {}) {
  return w.ask<storage::totals_answer>(storage::totals_request{std::move(query)}).report;
}
totals_report by_hour(world& w) { return totals(w, {.step = totals_step::hour}); }
job_totals ever(world& w, const std::string& queue = "default") { return totals(w, {.queue = queue_name(queue)}).ever; }

void put_one(world& w) {
  static int n = 0;
  REQUIRE(put(w, {.id = cat("n", ++n)}) == errc::none);
}

constexpr auto far_back = std::chrono::hours(24 * 91);

}  // namespace

ON_EACH_STORE("Totals count what came and how it ended, once, by queue and together") {
  put_all(w, {"a", "b", "c", "d", "e"});
  put_all(w, {"a"});
  REQUIRE(put(w, {.id = "o", .queue = "other"}) == errc::none);
  REQUIRE(put(w, {.id = "later", .delay = 1h}) == errc::none);
  const auto a = claim_one(w);
  REQUIRE(settle(w, a) == errc::none);
  REQUIRE(settle(w, a) == errc::none);  // told again
  REQUIRE(settle(w, claim_one(w), how::failed) == errc::none);
  REQUIRE(settle(w, claim_one(w), how::retry, 1h) == errc::none);
  REQUIRE(settle(w, claim_one(w), how::given_back) == errc::none);
  REQUIRE(remove(w, "e").code == errc::none);
  REQUIRE(remove(w, "e").code == errc::none);
  REQUIRE(requeue(w, "a").code == errc::none);
  claim_one(w);
  lose_all(w);
  CHECK(ever(w) == job_totals{.enqueued = 6, .succeeded = 1, .failed = 1, .deleted = 1, .retried = 1, .lost = 1});
  CHECK(ever(w, "other") == job_totals{.enqueued = 1});
  CHECK(totals(w).ever ==
        job_totals{.enqueued = 7, .succeeded = 1, .failed = 1, .deleted = 1, .retried = 1, .lost = 1});
  CHECK(ever(w, "nobody's") == job_totals{});
  audit(w);
}

ON_EACH_STORE("A job that is lost too often counts as lost and as failed") {
  put_all(w, {"a"});
  claim_one(w);
  lose_all(w, 30s, 1);
  CHECK(ever(w) == job_totals{.enqueued = 1, .failed = 1, .lost = 1});
}

ON_EACH_STORE("Totals by minute and by hour say when, and minutes without any have no row") {
  const auto first = std::chrono::floor<std::chrono::minutes>(w.clock.now());
  put_one(w);
  REQUIRE(put(w, {.id = "o", .queue = "other"}) == errc::none);
  w.clock.advance(1min);
  put_one(w);
  w.clock.advance(2h);
  REQUIRE(settle(w, claim_one(w)) == errc::none);
  REQUIRE(settle(w, claim_one(w, {.queue = "other"}), how::retry) == errc::none);

  const auto minutes = totals(w).rows;
  REQUIRE(minutes.size() == 3);
  CHECK(minutes[0].begins == first);
  CHECK(minutes[0].in_it == job_totals{.enqueued = 2});
  CHECK(minutes[1].begins == first + 1min);
  CHECK(minutes[1].in_it == job_totals{.enqueued = 1});
  CHECK(minutes[2].begins == first + 2h + 1min);
  CHECK(minutes[2].in_it == job_totals{.succeeded = 1, .retried = 1});

  const auto of_queue = totals(w, {.queue = queue_name("default")}).rows;
  REQUIRE(of_queue.size() == 3);
  CHECK(of_queue[0].in_it == job_totals{.enqueued = 1});

  const auto hours = by_hour(w).rows;
  REQUIRE(hours.size() == 2);
  CHECK(hours[0].begins == std::chrono::floor<std::chrono::hours>(first));
  CHECK(hours[0].in_it == job_totals{.enqueued = 3});
  CHECK(hours[1].begins == std::chrono::floor<std::chrono::hours>(first) + 2h);
  CHECK(hours[1].in_it == job_totals{.succeeded = 1, .retried = 1});

  const auto some = totals(w, {.from = first + 1min, .to = first + 2h}).rows;
  REQUIRE(some.size() == 1);
  CHECK(some[0].begins == first + 1min);
  audit(w);
}

ON_EACH_STORE("Minutes are kept for three days and hours for ninety, and the totals since ever for good") {
  put_one(w);
  w.clock.advance(71h);
  put_one(w);
  CHECK(totals(w).rows.size() == 2);
  w.clock.advance(2h);
  put_one(w);
  CHECK(totals(w).rows.size() == 2);
  CHECK(by_hour(w).rows.size() == 3);
  w.clock.advance(far_back);
  put_one(w);
  CHECK(totals(w).rows.size() == 1);
  CHECK(by_hour(w).rows.size() == 1);
  CHECK(totals(w).ever == job_totals{.enqueued = 4});
  audit(w);
}

ON_EACH_STORE("A clock that is set back keeps counting, and what came late counts as now") {
  put_one(w);
  w.clock.advance(-10min);
  put_one(w);
  CHECK(totals(w).rows.size() == 1);
  w.clock.advance(-24h);
  put_one(w);
  CHECK(totals(w).ever == job_totals{.enqueued = 3});
  CHECK(totals(w).rows.size() == 1);
  w.clock.advance(25h);
  const auto rows = totals(w).rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].in_it == job_totals{.enqueued = 1});
  CHECK(rows[1].in_it == job_totals{.enqueued = 2});
  audit(w);
}

#define ON_HARMED_STORES(name) TEMPLATE_TEST_CASE(name, "[contract]", harmed_file_world, harmed_redis_world)

ON_HARMED_STORES("When all totals are larger than a store keeps the oldest go first") {
  TestType w;
  put_one(w);
  w.clock.advance(1h);
  put_one(w);
  w.clock.advance(1h);
  const auto size = "minutes:494444";  // of the first hour
  REQUIRE(w.command({"HGET", "total_sizes", size}) != "");
  w.command({"HSET", "total_sizes", size, std::to_string(storage::max_total_bytes)});
  put_one(w);
  CHECK(w.command({"EXISTS", size}) == "0");
  CHECK(totals(w).rows.size() == 2);
  CHECK(by_hour(w).rows.size() == 3);
  CHECK(totals(w).ever == job_totals{.enqueued = 3});
  audit(w);
}

ON_HARMED_STORES("Totals that cannot be read begin anew, and hold up nobody") {
  TestType w;
  put_one(w);
  for (const auto* harm :
       {"x", "29666666 1 0 0 0 0", "99999999999999999999 1 0 0 0 0 0", "1 99999999999999999999 0 0 0 0 0"}) {
    w.command({"HSET", "totals", "default", harm});
    put_one(w);
    CHECK(ever(w) == job_totals{.enqueued = 1});
  }
  audit(w);
}
