#include "core/serial_executor.hpp"

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace sluice;

namespace {

struct refusals {
  std::vector<std::string> told;
  serial_executor executor{[this](const std::exception& thrown) { told.emplace_back(thrown.what()); }};
};

}  // namespace

TEST_CASE("A step that another brings runs behind it, on the same thread", "[serial]") {
  refusals r;
  std::vector<int> order;
  r.executor.run([&] {
    r.executor.run([&] { order.push_back(2); });
    order.push_back(1);
  });
  CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("Whatever a step throws is told, and the steps behind it have their turn", "[serial]") {
  refusals r;
  bool ran = false;
  r.executor.run([&] {
    r.executor.run([] { throw 7; });
    r.executor.run([&] { ran = true; });
    throw std::runtime_error("broken");
  });
  REQUIRE(r.told.size() == 2);
  CHECK(r.told[0] == "broken");
  CHECK(ran);
}

TEST_CASE("To close an executor waits for the steps that came before and refuses those after", "[serial]") {
  refusals r;
  std::promise<void> begun, may_end;
  bool behind = false, late = false;
  std::thread other([&] {
    r.executor.run([&] {
      r.executor.run([&] { behind = true; });
      begun.set_value();
      may_end.get_future().wait();
    });
  });
  begun.get_future().wait();
  auto closed = std::async(std::launch::async, [&] { r.executor.close(); });
  may_end.set_value();
  closed.get();
  CHECK(behind);
  r.executor.run([&] { late = true; });
  CHECK_FALSE(late);
  other.join();
}
