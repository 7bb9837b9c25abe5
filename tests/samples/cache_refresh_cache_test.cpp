// The cache of samples/cache_refresh, which the fences of runs guard.
#include "samples/cache_refresh/cache.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace sample;

namespace {

// Two processes that share the file.
struct cache_of_two {
  sluice::test::temp_dir folder;
  cache first{folder.file("in/a/cache.db")}, second{folder.file("in/a/cache.db")};
};

}  // namespace

TEST_CASE_METHOD(cache_of_two, "what one process wrote into the cache another reads") {
  CHECK(first.write("Country", {7}, "new"));
  CHECK(second.read("Country") == "new");
  CHECK(second.read("Currency").empty());
  CHECK(second.names() == std::set<std::string>{"Country"});
}

TEST_CASE_METHOD(cache_of_two, "a run whose job was taken away writes nothing over what the later run wrote") {
  REQUIRE(first.write("Country", {7}, "of the first run"));
  REQUIRE(second.write("Country", {9}, "of the later run"));
  CHECK_FALSE(first.write("Country", {8}, "late"));
  CHECK(first.read("Country") == "of the later run");
}

TEST_CASE_METHOD(cache_of_two, "a run writes an entry as often as it likes and later runs write over it") {
  CHECK(first.write("Country", {7}, "a"));
  CHECK(first.write("Country", {7}, "b"));
  CHECK(second.write("Country", {8}, "c"));
  CHECK(first.read("Country") == "c");
}

TEST_CASE_METHOD(cache_of_two, "the fence of one entry guards no other") {
  REQUIRE(first.write("Country", {9}, "a"));
  CHECK(first.write("Currency", {7}, "b"));
}

TEST_CASE("a cache that cannot be opened is an error") {
  sluice::test::temp_dir folder;
  CHECK_THROWS_AS(cache(folder.file(".")), std::runtime_error);
}
