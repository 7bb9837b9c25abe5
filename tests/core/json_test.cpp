#include "core/pipeline.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"

using namespace sluice;

namespace {

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

}  // namespace

TEST_CASE("any well formed JSON is accepted") {
  const auto text =
      GENERATE(as<std::string>{}, "{}", "[]", "null", "true", "-1.5e3", "\"a\"", " {\"a\": [1, {\"b\": 2}]} ",
               "\"\\u20ac\"", "\"\xe2\x82\xac\"", "{\"a\":1,\"a\":2}", "123456789012345678901234567890");
  CAPTURE(text);
  CHECK(check_json(text, 64).ok());
}

TEST_CASE("what is no JSON is refused with its place") {
  const auto text = GENERATE(as<std::string>{}, "", " ", "{", "[1,]", "{a:1}", "{'a':1}", "nul", "1 2", "{} {}",
                             "\"\xff\"", "\"\n\"", "// c\n{}", "NaN", "[1}", "\"\\ud800\"", "01", "\x1b[2J");
  CAPTURE(text);
  const auto checked = check_json(text, 64);
  REQUIRE_FALSE(checked.ok());
  CHECK(checked.error().code == errc::invalid_argument);
  CHECK(checked.error().message.find("at byte") != std::string::npos);
  CHECK(checked.error().message.find('\x1b') == std::string::npos);
}

TEST_CASE("a NUL byte after the JSON is refused") {
  CHECK_FALSE(check_json(std::string("{}\0", 3), 64).ok());
  CHECK_FALSE(check_json(std::string("[1]\0", 4), 64).ok());
  CHECK_FALSE(check_json(std::string("{}\0 anything", 12), 64).ok());
}

TEST_CASE("JSON of 64 levels is accepted and of 65 refused") {
  CHECK(check_json(nested(64), max_json_depth).ok());
  const auto checked = check_json(nested(65), max_json_depth);
  REQUIRE_FALSE(checked.ok());
  CHECK(checked.error().message.find("64 levels") != std::string::npos);
}

TEST_CASE("objects count as levels like lists") {
  std::string open;
  std::string close;
  for (int i = 0; i < 32; ++i) {
    open += "{\"a\":[";
    close += "]}";
  }
  CHECK(check_json(open + close, 64).ok());
  CHECK_FALSE(check_json(open + "{}" + close, 64).ok());
}

TEST_CASE("levels side by side do not add up") {
  std::string text = "[";
  for (int i = 0; i < 200; ++i)
    text += nested(10) + ",";
  CHECK(check_json(text + "1]", 11).ok());
}

TEST_CASE("a hundred thousand opening brackets are refused without harm") {
  CHECK_FALSE(check_json(std::string(100'000, '['), 64).ok());
  CHECK_FALSE(check_json(nested(100'000), 64).ok());
  std::string objects;
  for (int i = 0; i < 100'000; ++i)
    objects += "{\"a\":";
  CHECK_FALSE(check_json(objects, 64).ok());
}

TEST_CASE("quoted text is a JSON string whatever its bytes") {
  CHECK(json_quoted("") == "\"\"");
  CHECK(json_quoted("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(json_quoted("\n\x1b") == "\"\\n\\u001b\"");
  CHECK(json_quoted("\xff\xc3") == "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  std::string all;
  for (int i = 0; i < 256; ++i)
    all += static_cast<char>(i);
  CHECK(check_json(json_quoted(all), 1).ok());
}
