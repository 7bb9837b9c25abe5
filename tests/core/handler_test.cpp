// Which functions are handlers, and what they are called with.
#include <sluice/json.hpp>

#include "support/catch.hpp"

namespace sluice::test {
namespace {

struct order {
  int number = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(order, number)

std::string number_of(const order& args) { return std::to_string(args.number); }

// The result of a run by the one handler of a registry, or why there is none.
std::string result_of_run(const handler_registry& handlers, const std::string& args = R"({"number": 7})") {
  job about;
  about.type = "order";
  about.args = args;
  job_context context(about, {});
  try {
    return handlers.entries().at("order").run(context).text;
  } catch (const std::exception& failed) {
    return failed.what();
  }
}

template <class F>
std::string result_by(F run) {
  return result_of_run(handler_registry().handle("order", std::move(run)));
}

}  // namespace

TEST_CASE("a handler is given the args that its function takes") {
  CHECK(result_by([](const order& args) { return args.number; }) == "7");
  CHECK(result_by([](order args) { return args.number; }) == "7");
  CHECK(result_by([n = 1](const order& args) mutable { return args.number + n++; }) == "8");
  CHECK(result_by(number_of) == "7");
  CHECK(result_by(std::function<std::string(const order&)>(number_of)) == "7");
  CHECK(result_by([](const order& args, job_context& c) { return c.type().value + std::to_string(args.number); }) ==
        "order7");
}

TEST_CASE("a handler takes the context alone, or nothing") {
  CHECK(result_by([](job_context& c) { return c.args(); }) == R"({"number": 7})");
  CHECK(result_by([](const job_context& c) { return c.type().value; }) == "order");
  CHECK(result_by([](auto& c) { return c.args(); }) == R"({"number": 7})");
  CHECK(result_by([] { return "done"; }) == "done");
}

TEST_CASE("args that only their handler's words name are made for a function that takes anything") {
  handler_registry handlers;
  handlers.handle<order>("order", [](const auto& args) { return args.number; });
  CHECK(result_of_run(handlers) == "7");
  handlers.handle<std::string>("order", [](const std::string& args) { return args + "!"; });
  CHECK(result_of_run(handlers, R"("a text")") == "a text!");
}

TEST_CASE("args that do not fit are a failed run that says why") {
  const auto run = [](const order& args) { return args.number; };
  CHECK(result_of_run(handler_registry().handle("order", run), "{}").find("number") != std::string::npos);
}

TEST_CASE("what a function takes decides whether it is a handler") {
  using plain = void(const order&);
  STATIC_REQUIRE(handler_function<plain*>);
  STATIC_REQUIRE(handler_function<plain*, order>);
  STATIC_REQUIRE(handler_function<void (*)(const order&, job_context&)>);
  STATIC_REQUIRE_FALSE(handler_function<void (*)(order&)>);
  STATIC_REQUIRE_FALSE(handler_function<void (*)(job_context&, const order&)>);
  STATIC_REQUIRE_FALSE(handler_function<void (*)(std::string)>);
  STATIC_REQUIRE(handler_function<void (*)(std::string), std::string>);
}

TEST_CASE("args that are nested without end do not fit any handler, and harm nobody") {
  job about;
  about.id = job_id("deep");
  about.args = std::string(500'000, '[') + std::string(500'000, ']');
  const auto read = args_of<nlohmann::json>(about);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message == "job deep: it is nested deeper than 1000 levels");
  about.args = R"({"a":"[[\"[", "b":[1]})";
  CHECK(args_of<nlohmann::json>(about).ok());
}

}  // namespace sluice::test
