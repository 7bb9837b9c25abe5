// All who have a permit, and all who wait, page by page.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string s = "semaphore:s";

// All pages of so many.
std::vector<throttler_holder> holders_in_pages(world& w, const std::string& resource, std::uint32_t limit) {
  std::vector<throttler_holder> all;
  storage::holders_request r{resource, limit, ""};
  do {
    auto page = w.ask<storage::holders_answer>(r).page;
    CHECK(page.holders.size() <= limit);
    std::move(page.holders.begin(), page.holders.end(), std::back_inserter(all));
    r.after = page.next;
  } while (!r.after.empty());
  return all;
}
names holders_by(world& w, std::uint32_t limit, const std::string& resource = s) {
  names all;
  for (const auto& h : holders_in_pages(w, resource, limit))
    all.push_back(h.id.value);
  return all;
}
names waiters_by(world& w, std::uint32_t limit, const std::string& resource = s) {
  names all;
  storage::waiters_request r{resource, limit, ""};
  do {
    const auto page = w.ask<storage::waiters_answer>(r).page;
    CHECK(page.waiters.size() <= limit);
    for (const auto& id : page.waiters)
      all.push_back(id.value);
    r.after = page.next;
  } while (!r.after.empty());
  return all;
}

// So many of one claim, which takes their permits.
names claimed_with_permit(world& w, std::uint32_t count) {
  names all;
  for (std::uint32_t i = 0; i < count; ++i)
    all.push_back(cat("claimed", i));
  put_all(w, all);
  REQUIRE(ids(claim(w, {.free = count, .permits = {{"work", {{s}}}}})) == all);
  return all;
}

}  // namespace

ON_EACH_STORE("All holders are told of page by page, the oldest first, however they got their permit") {
  REQUIRE(define(w, s, 100) == defined::added);
  names expected;
  for (const auto* id : {"b", "a"}) {  // of one instant, in the order of their runs
    holding(w, id, {s});
    expected.emplace_back(id);
  }
  w.clock.advance(1s);
  for (const auto& id : claimed_with_permit(w, 30))
    expected.push_back(id);
  w.clock.advance(1s);
  const auto last = holding(w, "last", {s});
  expected.emplace_back("last");
  for (const std::uint32_t limit : {1u, 2u, 3u, 32u, 33u, 200u})
    CHECK(holders_by(w, limit) == expected);
  const auto told = holders_in_pages(w, s, 10).back();
  CHECK(told.fence == last.fence);
  CHECK(told.since == w.clock.now());
  CHECK_FALSE(told.reserved);
  CHECK(holders_by(w, 10, "mutex:nobody").empty());
  audit(w);
}

ON_EACH_STORE("A permit that is promised to a woken job is held, and is told as such") {
  const auto has = holding(w, "has", {"mutex:m"});
  parked(w, "woken", {"mutex:m"});
  REQUIRE(settle(w, has) == errc::none);
  const auto all = holders_in_pages(w, "mutex:m", 1);
  REQUIRE(all.size() == 1);
  CHECK(all[0].id == job_id("woken"));
  CHECK(all[0].fence == fence{0});
  CHECK(all[0].reserved);
}

ON_EACH_STORE("All who wait are told of page by page, in the order in which they go, over all queues") {
  REQUIRE(define(w, s, 1) == defined::added);
  holding(w, "has", {s});
  names expected;
  for (int i = 0; i < 25; ++i) {
    expected.push_back(cat("j", 99 - i));
    parked(w, expected.back(), {s}, cat("q", i % 3));
  }
  for (const std::uint32_t limit : {1u, 2u, 24u, 25u, 200u})
    CHECK(waiters_by(w, limit) == expected);
  CHECK(one_throttler(w, s, 25).waiters.size() == 25);

  const auto first = w.ask<storage::waiters_answer>(storage::waiters_request{s, 2, ""}).page;
  REQUIRE(remove(w, expected[1]).code == errc::none);  // at whom the page ended
  parked(w, "late", {s});
  const auto rest = w.ask<storage::waiters_answer>(storage::waiters_request{s, 200, first.next}).page.waiters;
  REQUIRE(rest.size() == 24);
  CHECK(rest.front() == job_id(expected[2]));
  CHECK(rest.back() == job_id("late"));
  audit(w);
}

ON_EACH_STORE("Pages of holders go on where they were although some have ended") {
  REQUIRE(define(w, s, 10) == defined::added);
  std::vector<job> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(holding(w, cat("j", i), {s}));
  const auto first = w.ask<storage::holders_answer>(storage::holders_request{s, 2, ""}).page;
  REQUIRE(settle(w, all[1]) == errc::none);
  const auto rest = w.ask<storage::holders_answer>(storage::holders_request{s, 2, first.next}).page;
  REQUIRE(rest.holders.size() == 2);
  CHECK(rest.holders[0].id == job_id("j2"));
  CHECK(rest.next.empty());
}

ON_EACH_STORE("Where no page of holders or waiters ended nothing goes on") {
  for (const auto* nonsense : {"x", "-", "9", "nan-"}) {
    CHECK(refusal(w, storage::holders_request{s, 10, nonsense}) == errc::invalid_argument);
    CHECK(refusal(w, storage::waiters_request{s, 10, nonsense}) == errc::invalid_argument);
  }
}
