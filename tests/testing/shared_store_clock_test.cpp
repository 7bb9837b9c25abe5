// A store in memory that goes by a clock of the caller's.
#include "storage/shared_store.hpp"

#include "support/catch.hpp"
#include "support/worlds.hpp"

using namespace sluice;

TEST_CASE("A store that is open goes by its clock for whoever opens it, and takes no other", "[testing]") {
  const auto time = std::make_shared<test::manual_clock>();
  const auto url = "sqlite::memory:runner-clock";
  const auto first = storage::open_shared_store(url, time);
  REQUIRE(first.ok());
  CHECK(storage::open_shared_store(url).value() == *first);
  CHECK(storage::open_shared_store(url, time).error().code == errc::invalid_argument);
}

TEST_CASE("A shared store keeps its clock, and its name is free again afterwards", "[testing]") {
  auto time = std::make_shared<test::manual_clock>();
  const std::weak_ptr<const sluice::clock> watched = time;
  const auto url = "sqlite::memory:runner-clock";
  {
    const auto opened = storage::open_shared_store(url, std::move(time));
    REQUIRE(opened.ok());
    CHECK_FALSE(watched.expired());
  }
  CHECK(watched.expired());
  CHECK(storage::open_shared_store(url, std::make_shared<test::manual_clock>()).ok());
}
