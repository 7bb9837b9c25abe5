#include "config/loading.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

config::loaded_throttler said(throttler_kind kind, const std::vector<std::string>& words) {
  return config::load_throttler(kind, "It", words);
}

std::string faults(throttler_kind kind, const std::vector<std::string>& words) {
  return test::shown(said(kind, words).faults);
}

}  // namespace

TEST_CASE("a definition in words is the one of a file") {
  const auto got = said(throttler_kind::sliding_window, {"limit=4", "interval=1h", "buckets=3", "compatible=true"});
  REQUIRE(got.faults.empty());
  throttler t{.kind = throttler_kind::sliding_window, .name = "It", .limit = 4, .interval = 1h, .buckets = 3};
  t.compatible = true;
  CHECK(got.definition == t);
  CHECK(said(throttler_kind::mutex, {}).faults.empty());
  const auto keyed = said(throttler_kind::dynamic_window,
                          {"key=a={tenant_id}", "capacity=20", "limit=2", "interval=1m", "buckets=6", "mode=release"});
  REQUIRE(keyed.faults.empty());
  CHECK(keyed.definition.key == "a={tenant_id}");
  CHECK(keyed.definition.mode == throttler_mode::release);
}

TEST_CASE("the faults of a definition in words are those of a file") {
  using enum throttler_kind;
  CHECK(faults(semaphore, {"limt=4"}) == "[/limt] is not known; did you mean 'limit'?\n");
  CHECK(faults(semaphore, {"foo=4"}).find("limit must be given") != std::string::npos);
  CHECK(faults(semaphore, {"limit=0"}) == "[/limit] must be a whole number from 1 to 1000000000, not 0\n");
  CHECK(faults(semaphore, {}) == "[] semaphore 'It': limit must be given: a number of 1 to 1000000000\n");
  CHECK(faults(semaphore, {"limit=4", "interval=1h"}) == "[/interval] is nothing that a semaphore has; remove it\n");
  CHECK(faults(semaphore, {"limit=4", "limit=5"}) == "[/limit] is given twice; keep one\n");
  CHECK(faults(semaphore, {"limit=4", "kind=mutex"}) == "[/kind] is said before the name already; remove it\n");
  CHECK(faults(semaphore, {"limit=4", "more"}) == "[] 'more' must look like limit=4\n");
  CHECK(faults(semaphore, {"limit=4", "=5"}) == "[] '=5' must look like limit=4\n");
  CHECK(faults(fixed_window, {"limit=4", "buckets=3"}) ==
        "[/buckets] is nothing that a fixed_window has; remove it\n"
        "[] fixed window 'It': interval must be given: a time of 1s to 366d\n");
  CHECK(faults(fixed_window, {"limit=4", "interval=soon"}).starts_with("[/interval] must be a time from"));
  CHECK(faults(semaphore, {"limit=4", "mode=relase"}).find("did you mean 'release'") != std::string::npos);
}

TEST_CASE("words about a throttler that is there change what they say and keep the rest") {
  throttler before{.kind = throttler_kind::sliding_window, .name = "it", .limit = 4, .interval = 1h, .buckets = 3};
  before.mode = throttler_mode::release;
  const auto changed = [&](const std::vector<std::string>& words) {
    return config::load_throttler(before.kind, "It", words, &before);
  };
  auto wanted = before;
  wanted.name = "It";
  CHECK(changed({}).definition == wanted);
  wanted.limit = 8;
  const auto got = changed({"limit=8"});
  CHECK(got.faults.empty());
  CHECK(got.definition == wanted);
  wanted.mode = throttler_mode::acquire_and_release;
  CHECK(changed({"limit=8", "mode=acquire_and_release"}).definition == wanted);
  CHECK(changed({"limit=8", "mode=null"}).definition == wanted);
  CHECK(test::shown(changed({"limt=8"}).faults) == "[/limt] is not known; did you mean 'limit'?\n");
  CHECK(test::shown(changed({"interval=null"}).faults).find("interval must be given") != std::string::npos);
}
