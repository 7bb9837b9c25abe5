// Which functions are handlers, and what they are called with.
#include <optional>
#include <set>

#include <sluice/json.hpp>

#include "support/catch.hpp"
#include "support/measure.hpp"

namespace sluice::test {
namespace {

struct order {
  int number = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(order, number)

struct bought {
  std::string sku;
  std::int16_t count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(bought, sku, count)
struct basket {
  std::string customer;
  float weight = 0;
  std::vector<bought> lines;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(basket, customer, weight, lines)

struct shipment {
  std::string customer;
  int count = 1;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(shipment, customer, count)

struct bytes {
  std::uint64_t all = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(bytes, all)

// It clamps, and is never written.
struct read_only {
  int percent = 0;
};
[[maybe_unused]] void from_json(const nlohmann::json& tree, read_only& into) {
  into.percent = std::min(100, tree.at("percent").get<int>());
}
[[noreturn]] void to_json(nlohmann::json&, const read_only&) { throw std::runtime_error("it is only read"); }

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

TEST_CASE("a member of args that seems to be misspelt is warned of, once for each type of job") {
  handler_registry handlers;
  handlers.handle("ship", [](const shipment& args) { return args.customer; });
  const auto said_of = [&](const std::string& type, const std::string& args) {
    const log_lines heard;
    for (int run = 0; run < 2; ++run) {
      job about;
      about.type = job_type(type);
      about.args = args;
      job_context context(about, {});
      CHECK(handlers.entries().at("ship").run(context).what == run_end::succeeded);
    }
    return heard.lines();
  };
  const auto slip = said_of("ship-to-nobody", R"({"custmer": "ann"})");
  REQUIRE(slip.size() == 1);
  CHECK(slip[0].find("args of ship-to-nobody have 'custmer', which seems to be misspelt; did you mean "
                     "'customer'?") != std::string::npos);
  CHECK(said_of("ship-by-default", R"({"customer": "ann"})").empty());
  CHECK(said_of("ship-with-more", R"({"customer": "ann", "note": "fragile"})").empty());
}

TEST_CASE("a second handler of a type takes the place of the first, which is warned of") {
  const log_lines heard;
  handler_registry handlers;
  handlers.handle("twice", [](job_context&) {});
  CHECK(heard.lines().empty());
  handlers.handle("twice", [](job_context&) {});
  CHECK(heard.has("type twice was given a second handler: it takes the place of the first"));
}

TEST_CASE("text that is no UTF-8 is stored with replacement characters, and the first of a process is warned of") {
  const log_lines heard;
  CHECK(json_conversion<std::string>::write("caf\xc3\xa9") == "\"caf\xc3\xa9\"");
  CHECK(heard.lines().empty());
  for (int i = 0; i < 2; ++i)
    CHECK(json_conversion<std::string>::write("caf\xe9") == "\"caf\xef\xbf\xbd\"");
  REQUIRE(heard.lines().size() == 1);
  CHECK(heard.has("a value is stored with replacement characters, since it holds text that is no UTF-8: "));
}

TEST_CASE("a number that is larger than any integer is told") {
  job about;
  about.id = job_id("b");
  about.args = R"({"all": 18446744073709551616})";
  const auto read = args_of<bytes>(about);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message == "job b: /all: 1.8446744073709552e+19 does not fit the number that it is read as");
}

TEST_CASE("args that do not fit are told with their place, and what was wanted and found there") {
  const auto [text, said] = GENERATE(table<std::string, std::string>({
      {R"({"customer": 5, "weight": 0.1, "lines": []})", "/customer: type must be string, but is number"},
      {R"({"customer": "a", "weight": 0.1, "lines": [{"sku": "x", "count": 1}, {"sku": "x", "count": "7"}]})",
       "/lines/1/count: type must be number, but is string"},
      {R"({"customer": "a", "weight": 0.1, "lines": [{"sku": "x"}]})", "/lines/0: key 'count' not found"},
      {R"({"customer": "a", "weight": null, "lines": []})", "/weight: type must be number, but is null"},
      {R"([])", "type must be object, but is array"},
      {R"({"customer": "a", "weight": 0.1, "lines": [[]]})", "/lines/0: type must be object, but is array"},
      {R"({"customer": "a", "weight": 0.1, "lines": [{"sku": "x", "count": 99999}]})",
       "/lines/0/count: 99999 does not fit the number that it is read as"},
      {R"({"customer": "a", "weight": 1e300, "lines": []})",
       "/weight: 1e+300 does not fit the number that it is read as"},
  }));
  job about;
  about.id = job_id("b");
  about.args = text;
  const auto read = args_of<basket>(about);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message == "job b: " + said);
}

TEST_CASE("numbers that fit are taken, however they are written") {
  job about;
  about.args =
      R"({"customer": "a", "weight": 0.1, "lines": [{"sku": "x", "count": -32768}, {"sku": "y", "count": 2.0}]})";
  const auto read = args_of<basket>(about);
  REQUIRE(read.ok());
  CHECK(read->lines[0].count == -32768);
  CHECK(read->lines[1].count == 2);
}

TEST_CASE("a number is refused only where its type could not hold it") {
  const auto fits = [](auto of, const std::string& text) {
    job about;
    about.args = text;
    return args_of<decltype(of)>(about).ok();
  };
  CHECK_FALSE(fits(std::uint64_t(), "-1"));
  CHECK_FALSE(fits(std::uint32_t(), "-1"));
  CHECK_FALSE(fits(std::int64_t(), "18446744073709551615"));
  CHECK(fits(std::uint64_t(), "18446744073709551615"));
  CHECK(fits(std::int64_t(), "-9223372036854775808"));
  CHECK_FALSE(fits(int(), "1e10"));
  CHECK_FALSE(fits(std::int64_t(), "99999999999999999999"));
  CHECK(fits(int(), "1e3"));
  CHECK(fits(int(), "1.5"));  // as the library reads it
  CHECK(fits(double(), "99999999999"));
  CHECK(fits(std::set<int>(), "[300, 44]"));
  CHECK(fits(std::set<int>(), "[70000, 4464, 70000]"));
  CHECK(fits(std::set<int>(), "[70000, 4464]"));
  CHECK(fits(std::vector<int>(), "[1, 2, 2147483647]"));
  CHECK_FALSE(fits(std::vector<int>(), "[1, 2, 2147483648]"));
  CHECK(fits(read_only(), R"({"percent": 356})"));
}

TEST_CASE("a handler may answer a result or an optional") {
  const auto end_of = [](auto run) {
    job about;
    job_context context(about, {});
    handler_registry handlers;
    handlers.handle("order", run);
    return handlers.entries().at("order").run(context);
  };
  CHECK(end_of([]() -> result<int> { return 7; }).text == "7");
  CHECK(end_of([]() -> std::optional<std::string> { return "a"; }).text == "a");
  CHECK(end_of([]() -> std::optional<int> { return std::nullopt; }).what == run_end::succeeded);
  CHECK(end_of([]() -> result<void> { return {}; }).what == run_end::succeeded);
  const auto failed = end_of([]() -> result<int> { return error{errc::io_error, "no room"}; });
  CHECK(failed.what == run_end::failed);
  CHECK(failed.text == "io_error: no room");
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
