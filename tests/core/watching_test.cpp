#include "core/watching.hpp"

#include <thread>

#include <sluice/filter.hpp>
#include <sluice/handler.hpp>

#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

struct run {
  job about;
  job_context context{about, {}};
};

}  // namespace

TEST_CASE_METHOD(run, "what a watched part returns passes through") {
  CHECK(context.watch("REDIS", "Load", [] { return 7; }) == 7);
  int there = 1;
  int& same = context.watch("REDIS", "Ref", [&]() -> int& { return there; });
  CHECK(&same == &there);
  context.watch("REDIS", "Void", [&] { there = 2; });
  CHECK(there == 2);
  const auto moved = context.watch("REDIS", "Move", [] { return std::make_unique<int>(3); });
  CHECK(*moved == 3);
  const auto parts = context.take_watched();
  REQUIRE(parts.size() == 4);
  CHECK(parts[0].system == "REDIS");
  CHECK(parts[0].what == "Load");
  CHECK(parts[0].times == 1);
  CHECK(parts[0].failed == 0);
  CHECK(context.take_watched().empty());
}

TEST_CASE_METHOD(run, "an exception passes through a watched part and it counts as failed") {
  CHECK_THROWS_AS(context.watch("HTTP", "GET", [] { throw std::runtime_error("gone"); }), std::runtime_error);
  CHECK_THROWS_AS(context.watch("HTTP", "GET", [&] { context.retry_in(1s, "later"); }), ended_early);
  context.watch("HTTP", "GET", [] {});
  try {
    throw 1;
  } catch (int) {
    context.watch("HTTP", "POST", [] {});  // while another is handled
  }
  const auto parts = context.take_watched();
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].times == 3);
  CHECK(parts[0].failed == 2);
  CHECK(parts[1].failed == 0);
}

TEST_CASE_METHOD(run, "repeated names are one entry with their sum and the longest") {
  context.watched("REDIS", "Save", 5ms, false);
  context.watched("REDIS", "Save", 9ms, true);
  context.watched("REDIS", "Load", 1ms, false);
  context.watched("REDIS", "Save", -1s, false);
  const auto parts = context.take_watched();
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].times == 3);
  CHECK(parts[0].failed == 1);
  CHECK(parts[0].total == 14ms);
  CHECK(parts[0].longest == 9ms);
  CHECK(in_words(parts) == "REDIS Save 14ms (3 times, longest 9ms, 1 failed), REDIS Load 1ms");
}

TEST_CASE_METHOD(run, "entries and names are bounded") {
  for (int i = 0; i < 40; ++i)
    context.watched("s", std::to_string(i), 1ms, false);
  context.watched("s", "3", 1ms, false);
  auto parts = context.take_watched();
  REQUIRE(parts.size() == 16);
  CHECK(parts[3].times == 2);
  CHECK(parts[15].system == "(others)");
  CHECK(parts[15].times == 25);
  context.watched(std::string(39, 's') + "\xc3\xa4", std::string(1000, 'w'), 1ms, false);
  parts = context.take_watched();
  CHECK(parts.at(0).system == std::string(39, 's'));
  CHECK(parts.at(0).what == std::string(80, 'w'));
}

TEST_CASE_METHOD(run, "parts may be watched from several threads") {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i)
        context.watch("CPU", "spin", [] {});
    });
  for (auto& t : threads)
    t.join();
  CHECK(context.take_watched().at(0).times == 4000);
}

TEST_CASE_METHOD(run, "the watch filter watches the whole run by its type") {
  about.type = job_type("send_email");
  watch_filter filter;
  CHECK(filter.around(context, [](job_context&) { return outcome::succeeded("42"); }).text == "42");
  CHECK(filter.around(context, [](job_context&) { return outcome::failed("no"); }).what == run_end::failed);
  CHECK(filter.around(context, [](job_context&) { return outcome::give_back("later"); }).what == run_end::given_back);
  const auto parts = context.take_watched();
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].system == "JOB");
  CHECK(parts[0].what == "send_email");
  CHECK(parts[0].times == 3);
  CHECK(parts[0].failed == 1);
}
