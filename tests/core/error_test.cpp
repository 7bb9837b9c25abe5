#include <memory>
#include <set>
#include <string>

#include <sluice/error.hpp>

#include "support/catch.hpp"

using namespace sluice;

namespace {

constexpr int code_count = static_cast<int>(errc::io_error) + 1;

}  // namespace

TEST_CASE("every code has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i < code_count; ++i) {
    const auto name = name_of(static_cast<errc>(i));
    CAPTURE(i, name);
    CHECK_FALSE(name.empty());
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    CHECK(names.insert(name).second);
  }
}

TEST_CASE("every code has a sentence of its own") {
  std::set<std::string_view> sentences;
  for (int i = 0; i < code_count; ++i) {
    const auto sentence = describe(static_cast<errc>(i));
    CAPTURE(i, sentence);
    CHECK(sentence.size() > 10);
    CHECK(sentence.ends_with('.'));
    CHECK(sentences.insert(sentence).second);
  }
}

TEST_CASE("the names of codes are those of the enum") {
  CHECK(name_of(errc::id_conflict) == "id_conflict");
  CHECK(name_of(errc::stale_fence) == "stale_fence");
  CHECK(name_of(errc::unknown_outcome) == "unknown_outcome");
  CHECK(name_of(errc::io_error) == "io_error");
}

TEST_CASE("a number that is no code does no harm") {
  CHECK_FALSE(name_of(static_cast<errc>(255)).empty());
  CHECK_FALSE(describe(static_cast<errc>(255)).empty());
  CHECK_FALSE(is_transient(static_cast<errc>(255)));
}

TEST_CASE("waiting helps against what passes") {
  for (const auto code : {errc::storage_full, errc::storage_busy, errc::storage_unavailable, errc::overloaded})
    CHECK(is_transient(code));
}

TEST_CASE("waiting does not help against what stays") {
  for (const auto code : {errc::none, errc::invalid_argument, errc::invalid_config, errc::not_served, errc::too_large,
                          errc::refused, errc::id_conflict, errc::not_found, errc::illegal_transition,
                          errc::stale_fence, errc::damaged_record, errc::storage_lost, errc::storage_damaged,
                          errc::storage_newer, errc::storage_older, errc::not_running, errc::io_error})
    CHECK_FALSE(is_transient(code));
}

TEST_CASE("an error reads as its code and its message") {
  CHECK(to_string(error{errc::not_found, "no job 7"}) == "not_found: no job 7");
  const auto bare = to_string(error{errc::not_found, {}});
  CHECK(bare.find(describe(errc::not_found)) != std::string::npos);
}

TEST_CASE("a result is a value or an error") {
  result<int> good = 7;
  CHECK(good.ok());
  CHECK(*good == 7);
  result<int> bad = error{errc::refused, "no"};
  CHECK_FALSE(bad.ok());
  CHECK(bad.error().code == errc::refused);
  result<void> done;
  CHECK(done.ok());
  result<void> failed = error{errc::timed_out, {}};
  CHECK_FALSE(failed);
  CHECK(failed.error().code == errc::timed_out);
}

TEST_CASE("a value can be moved out of a result") {
  result<std::string> made = std::string(100, 'x');
  const std::string taken = std::move(made).value();
  CHECK(taken.size() == 100);
}

TEST_CASE("reading the value of an error throws its words") {
  const result<int> none = error{errc::not_found, "there is no job a"};
  CHECK_THROWS_WITH(*none, "not_found: there is no job a");
  CHECK_THROWS_AS(none.value(), bad_result);
  CHECK_THROWS_WITH(result<void>(error{errc::timed_out, ""}).value(), to_string(error{errc::timed_out, ""}));
  CHECK_NOTHROW(result<void>().value());
}

TEST_CASE("results go on with each other") {
  const result<int> seven = 7;
  const result<int> none = error{errc::not_found, "gone"};
  CHECK(seven.value_or(1) == 7);
  CHECK(none.value_or(1) == 1);
  const auto half = [](int n) -> result<int> {
    return n % 2 == 0 ? result<int>(n / 2) : error{errc::refused, "is odd"};
  };
  CHECK(result<int>(8).and_then(half).and_then(half).value() == 2);
  CHECK(seven.and_then(half).error().message == "is odd");
  CHECK(none.and_then(half).error().message == "gone");
  CHECK(seven.transform([](int n) { return std::to_string(n); }).value() == "7");
  CHECK(none.transform([](int) {}).error().message == "gone");
  CHECK(result<std::unique_ptr<int>>(std::make_unique<int>(3)).transform([](auto p) { return *p; }).value() == 3);
  CHECK(result<void>().and_then([] { return result<int>(4); }).value() == 4);
}
