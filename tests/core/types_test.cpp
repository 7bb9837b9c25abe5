#include <sluice/options.hpp>

#include <map>

#include "support/catch.hpp"

namespace sluice::test {

TEST_CASE("literals make names") {
  using namespace sluice::literals;
  CHECK("slow"_queue == queue_name(std::string("slow")));
  CHECK("report"_type.value == "report");
  CHECK("order-7"_id == job_id("order-7"));
  STATIC_REQUIRE(std::is_same_v<decltype("slow"_queue), queue_name>);
}

TEST_CASE("a literal becomes a name by itself, and a text when it is said which") {
  const queue_name literal = "slow";
  const std::string text = "slow";
  const std::string_view part(text);
  CHECK(literal == "slow");
  CHECK(literal == queue_name(text));
  CHECK(literal == queue_name(part));
  CHECK(literal == queue_name(text.c_str()));
  CHECK(literal.value == "slow");
  STATIC_REQUIRE_FALSE(std::is_convertible_v<job_id, queue_name>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<queue_name, job_id>);
}

TEST_CASE("names stand in maps by what they are") {
  std::map<queue_name, int> all;
  all["a"] = 1;
  all[queue_name(std::string("a"))] = 2;
  CHECK(all.size() == 1);
}

}  // namespace sluice::test
