#include "core/json_object.hpp"

#include "support/catch.hpp"

namespace {

struct parcel {
  std::string to = "Ann";
  std::string letter = "secret";
  std::string args = R"({"n": 1.50, "big": 12345678901234567890})";
  std::optional<int> weight{};
  std::map<std::string, std::string> marks{{"a", "b"}};
  std::vector<sluice::time_point> seen{sluice::time_point{}};
  bool is_late = false;
};
void show(auto& v, const parcel& p) {
  v("to", p.to)("letter", p.letter, {.is_content = true})("weight", p.weight);
  v("args", sluice::given_json{p.args}, {.is_content = true})("marks", p.marks, {.is_content = true});
  v("late", p.is_late, {.is_given = p.is_late})("seen", p.seen, {.is_detail = true});
}

}  // namespace

using namespace sluice;

TEST_CASE("a value is written by the names of its members, and JSON that was given as it was given, and as a text") {
  CHECK(json_for({}, parcel{}) ==
        R"({"to":"Ann","letter":"secret","weight":null,"args":{"n":1.50,"big":12345678901234567890},)"
        R"("args_text":"{\"n\": 1.50, \"big\": 12345678901234567890}","marks":{"a":"b"}})");
}

TEST_CASE("who may not see content is shown empty members in its place") {
  CHECK(json_for({.sees_content = false}, parcel{}) ==
        R"({"to":"Ann","letter":"","weight":null,"args":null,"args_text":"","marks":{}})");
}

TEST_CASE("details are shown of one thing alone, and what is left out at times when it is there") {
  const auto text = json_for({.sees_details = true}, parcel{.weight = 3, .is_late = true});
  CHECK(text.find(R"("weight":3)") != std::string::npos);
  CHECK(text.ends_with(R"("late":true,"seen":["1970-01-01T00:00:00.000Z"]})"));
}

TEST_CASE("args that are no JSON are null, and are told as a text") {
  const auto text = json_for({}, parcel{.args = "{\"a\":"});
  CHECK(text.find(R"("args":null,"args_text":"{\"a\":")") != std::string::npos);
}

TEST_CASE("no text in JSON breaks out of it, moves a terminal or is invalid UTF-8") {
  CHECK(json_quoted("a\"\\\n\x1b\x7f") == R"("a\"\\\n\u001b\u007f")");
  CHECK(json_quoted("caf\xc3\xa9 \xff") == "\"caf\xc3\xa9 \xef\xbf\xbd\"");
  CHECK(json_quoted("\xe2\x80\xae") == R"("\u202e")");
}

TEST_CASE("base64 is read as it is written") {
  for (const auto& bytes :
       {std::string(), std::string("a"), std::string("ab"), std::string("abc"), std::string("\xff\0\x10z", 4)})
    CHECK(from_base64(to_base64(bytes)) == bytes);
  CHECK(to_base64("ab") == "YWI=");
  CHECK_FALSE(from_base64("a b"));
}
