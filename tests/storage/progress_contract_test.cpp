// What a running handler says about how far it is.
#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

errc report(world& w, const job& running, double done, const std::string& text) {
  return w.ask<storage::progress_answer>(storage::progress_request{{{run_of(running), {done, text}}}}).each.at(0);
}

}  // namespace

ON_EACH_STORE("The progress of a running job is kept, and stays when it has ended") {
  put_all(w, {"a"});
  CHECK_FALSE(get(w, "a").progress);
  const auto running = claim_one(w);
  CHECK(report(w, running, 0.25, "page 10 of 40") == errc::none);
  CHECK(report(w, running, 0.5, "page 20 of 40") == errc::none);
  REQUIRE(get(w, "a").progress);
  CHECK(get(w, "a").progress->done == 0.5);
  CHECK(get(w, "a").progress->text == "page 20 of 40");
  CHECK(settle(w, running, how::retry) == errc::none);
  REQUIRE(get(w, "a").progress);
  CHECK(get(w, "a").progress->done == 0.5);
  audit(w);
}

ON_EACH_STORE("Progress is refused for whoever holds the job no more, and changes nothing") {
  put_all(w, {"a"});
  const auto old = claim_one(w);
  SECTION("settled") { REQUIRE(settle(w, old) == errc::none); }
  SECTION("lost") { lose_all(w); }
  SECTION("deleted by hand") { REQUIRE(remove(w, "a").code == errc::none); }
  SECTION("lost and claimed by another") {
    lose_all(w);
    REQUIRE(claim(w, {.allow_suspect = true, .server = "s2"}).jobs.size() == 1);
  }
  const auto before = portrait(w);
  CHECK(report(w, old, 0.9, "nearly") == errc::stale_fence);
  CHECK(portrait(w) == before);
  CHECK_FALSE(get(w, "a").progress);
  audit(w);
}
