#include "core/throttlers.hpp"

#include <cstdlib>
#include <functional>
#include <sstream>

#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include "core/text.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

// A property over random values; what breaks it is shrunk and shown.
void holds(const std::function<void()>& property) {
  rc::detail::Configuration config;
  config.testParams.seed = 20'260'308;
  config.testParams.maxSuccess = 1000;
  if (const char* wanted = std::getenv("RC_PARAMS")) config = rc::detail::configFromString(wanted, config);
  rc::detail::TestListenerAdapter nobody;
  const auto result =
      rc::detail::checkTestable(property, rc::detail::TestMetadata{}, config.testParams, nobody, config.reproduce);
  INFO("RC_PARAMS=\"seed=" << config.testParams.seed << "\"");
  std::ostringstream shown;
  shown << result;
  INFO(shown.str());
  REQUIRE(result.is<rc::detail::SuccessResult>());
}

std::string filled(const std::string& text, const std::string& args) {
  const auto made = parse_args_template(text);
  INFO(text << " of " << args << ": " << (made ? "" : made.error().message));
  REQUIRE(made.ok());
  const auto got = made->fill(args);
  INFO((got ? "" : got.error().message));
  REQUIRE(got.ok());
  return *got;
}

std::string refusal(const std::string& text, const std::string& args) {
  const auto made = parse_args_template(text);
  REQUIRE(made.ok());
  const auto got = made->fill(args);
  INFO(text << " of " << args);
  REQUIRE_FALSE(got.ok());
  CHECK(got.error().code == errc::invalid_argument);
  return got.error().message;
}

bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("'" << part << "' in: " << text);
  return text.find(part) != std::string::npos;
}

throttler newsletter() {
  throttler t{throttler_kind::dynamic_window, "newsletter"};
  t.interval = 1h;
  t.buckets = 60;
  t.key = "tenant:{tenant_id}";
  t.capacity = 20;
  t.min_limit = 2;
  t.max_limit = 20;
  return t;
}

// Any definition that has nothing but what its kind uses.
rc::Gen<throttler> any_definition() {
  return rc::gen::exec([] {
    throttler t{static_cast<throttler_kind>(*rc::gen::inRange(0, 6)), ""};
    const auto length = *rc::gen::inRange(1, 101);
    t.name = *rc::gen::container<std::string>(static_cast<std::size_t>(length), rc::gen::inRange<char>(' ', '\x7f'));
    const auto number = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
    if (uses(t.kind, "limit")) t.limit = number();
    if (uses(t.kind, "interval")) t.interval = duration(*rc::gen::inRange<std::int64_t>(0, 366LL * 86'400'000'000));
    if (uses(t.kind, "buckets")) t.buckets = *rc::gen::arbitrary<std::uint32_t>();
    if (uses(t.kind, "compatible")) t.compatible = *rc::gen::arbitrary<bool>();
    if (uses(t.kind, "key")) t.key = *rc::gen::string<std::string>();
    if (!printable(t.key, t.key.size()).ends_with(t.key)) t.key = "k";  // only valid UTF-8 is stored as it is
    if (uses(t.kind, "capacity")) t.capacity = number(), t.min_limit = number(), t.max_limit = number();
    if (*rc::gen::arbitrary<bool>()) t.mode = throttler_mode::release;
    return t;
  });
}

// JSON that often is what templates look for, and often is broken.
rc::Gen<std::string> any_args() {
  const std::vector<std::string> parts{"{",    "}",    "[",    "]",       ":",           ",",          "\"a\"", "\"b\"",
                                       "null", "true", "1",    "-7",      "1.5",         "\"x\"",      "\"\"",  "1e9",
                                       "\\",   "\"",   "\xff", "{\"a\":", "\"\\u0001\"", "\"\\ud800\""};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts)), [](const auto& some) {
    std::string all;
    for (const auto& part : some)
      all += part;
    return all;
  });
}

rc::Gen<std::string> any_template() {
  return rc::gen::container<std::string>(rc::gen::elementOf(std::string("{}{}.ab0: A\xc3\xa4\n")));
}

}  // namespace

TEST_CASE("each kind of throttler has a name that is read back") {
  REQUIRE(throttler_kinds().size() == 6);
  for (int i = 0; i < 6; ++i) {
    const auto kind = static_cast<throttler_kind>(i);
    CHECK(name_of(kind) == throttler_kinds()[static_cast<std::size_t>(i)]);
    CHECK(parse_throttler_kind(name_of(kind)) == kind);
  }
  CHECK(name_of(throttler_kind::sliding_window) == "sliding_window");
  CHECK(name_of(static_cast<throttler_kind>(6)).empty());
  for (const auto* none : {"", "Semaphore", "semaphores", " mutex", "window"})
    CHECK_FALSE(parse_throttler_kind(none));
}

TEST_CASE("what happens to a deferred job has a name that is read back") {
  REQUIRE(throttle_actions() == std::vector<std::string>{"wait", "retry", "delete"});
  for (int i = 0; i < 3; ++i) {
    const auto action = static_cast<throttle_action>(i);
    CHECK(name_of(action) == throttle_actions()[static_cast<std::size_t>(i)]);
    CHECK(parse_throttle_action(name_of(action)) == action);
  }
  CHECK(name_of(throttle_action::remove) == "delete");
  CHECK(name_of(static_cast<throttle_action>(3)).empty());
  for (const auto* none : {"", "remove", "Wait"})
    CHECK_FALSE(parse_throttle_action(none));
}

TEST_CASE("a resource tells its kind") {
  CHECK(kind_of("mutex:order:7") == throttler_kind::mutex);
  CHECK(kind_of("dynamic_window:news/tenant:7") == throttler_kind::dynamic_window);
  for (const auto* none : {"", "mutex", ":a", "permits", "Mutex:a", "lock:a"})
    CHECK_FALSE(kind_of(none));
}

TEST_CASE("a resource is its kind and its name, in which case does not count") {
  CHECK(resource_of(throttler_kind::semaphore, "Provider-API") == "semaphore:provider-api");
  CHECK(resource_of(throttler_kind::mutex, "a:b C") == "mutex:a:b c");
  CHECK(resource_of(throttler_kind::fixed_window, "\xc3\x84Z") == "fixed_window:\xc3\x84z");
}

TEST_CASE("a throttler's name is any printable text of 1 to 100 bytes") {
  CHECK(valid_throttler_name("a"));
  CHECK(valid_throttler_name("Gr\xc3\xbc\xc3\x9f Gott / {x}"));
  CHECK(valid_throttler_name(std::string(100, 'n')));
  CHECK_FALSE(valid_throttler_name(std::string(101, 'n')));
  for (const auto* none : {"", "a\nb", "\x1b", "\xff", "\xc2\x9b"})
    CHECK_FALSE(valid_throttler_name(none));
}

TEST_CASE("a definition is stored as what its kind uses, in one order") {
  throttler t{throttler_kind::semaphore, "Provider \"API\"", 4};
  CHECK(write_throttler(t) == R"({"kind":"semaphore","name":"Provider \"API\"","limit":4})");
  t.interval = 1h;
  t.capacity = 9;
  t.mode = throttler_mode::release;
  CHECK(write_throttler(t) == R"({"kind":"semaphore","name":"Provider \"API\"","limit":4,"mode":"release"})");
  CHECK(write_throttler({throttler_kind::mutex, "m", 7}) == R"({"kind":"mutex","name":"m"})");
  CHECK(write_throttler({throttler_kind::custom, "c"}) == R"({"kind":"custom","name":"c"})");
  CHECK(write_throttler({throttler_kind::fixed_window, "github", 5000, 90min, 3}) ==
        R"({"kind":"fixed_window","name":"github","limit":5000,"interval":"90m"})");
  CHECK(write_throttler({throttler_kind::sliding_window, "dropbox", 4, 1h, 3, true}) ==
        R"({"kind":"sliding_window","name":"dropbox","limit":4,"interval":"1h","buckets":3,"compatible":true})");
  CHECK(write_throttler(newsletter()) ==
        R"({"kind":"dynamic_window","name":"newsletter","interval":"1h","buckets":60,"key":"tenant:{tenant_id}",)"
        R"("capacity":20,"min_limit":2,"max_limit":20})");
}

TEST_CASE("a definition comes back as it was stored") {
  holds([] {
    const auto t = *any_definition();
    const auto text = write_throttler(t);
    const auto read = read_throttler(text);
    if (!read) RC_FAIL(read.error().message + ": " + text);
    RC_ASSERT(*read == t);
    RC_ASSERT(write_throttler(*read) == text);
  });
}

TEST_CASE("a definition that is damaged is told as such") {
  const std::string fine = R"({"kind":"semaphore","name":"a","limit":4})";
  REQUIRE(read_throttler(fine).ok());
  const std::string long_name(101, 'n');
  for (const auto& text :
       std::vector<std::string>{"",
                                "{}",
                                "[]",
                                "null",
                                "7",
                                "x",
                                fine.substr(0, 20),
                                fine + "}",
                                fine + std::string(1, '\0'),
                                R"({"name":"a"})",
                                R"({"kind":"semaphore"})",
                                R"({"kind":"semafore","name":"a"})",
                                R"({"kind":1,"name":"a"})",
                                R"({"kind":"semaphore","name":""})",
                                R"({"kind":"semaphore","name":7})",
                                R"({"kind":"mutex","name":")" + long_name + "\"}",
                                R"({"kind":"mutex","name":"\u0001"})",
                                R"({"kind":"semaphore","name":"a","limit":-1})",
                                R"({"kind":"semaphore","name":"a","limit":1.5})",
                                R"({"kind":"semaphore","name":"a","limit":"4"})",
                                R"({"kind":"semaphore","name":"a","limit":null})",
                                R"({"kind":"semaphore","name":"a","limit":18446744073709551616})",
                                R"({"kind":"semaphore","name":"a","interval":"1h"})",
                                R"({"kind":"semaphore","name":"a","limits":4})",
                                R"({"kind":"mutex","name":"a","mode":"free"})",
                                R"({"kind":"mutex","name":"a","mode":true})",
                                R"({"kind":"fixed_window","name":"a","interval":60})",
                                R"({"kind":"fixed_window","name":"a","interval":"1"})",
                                R"({"kind":"sliding_window","name":"a","buckets":4294967296})",
                                R"({"kind":"sliding_window","name":"a","compatible":1})",
                                R"({"kind":"dynamic_window","name":"a","key":[]})",
                                R"({"kind":"mutex","name":"a","x":)" + std::string(50'000, '[') + "}",
                                std::string(100'000, '['),
                                R"({"kind":"mutex","name":"a",)" + std::string(5'000, ' ') + R"("mode":"release"})"}) {
    INFO(text.substr(0, 200));
    const auto read = read_throttler(text);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == errc::damaged_record);
    CHECK(read.error().message.size() < 600);
  }
}

TEST_CASE("no text in the place of a definition does harm") {
  holds([] { (void)read_throttler(*rc::gen::string<std::string>()); });
  holds([] {
    auto text = write_throttler(*any_definition());
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = *rc::gen::arbitrary<char>();
    if (const auto read = read_throttler(text); !read) RC_ASSERT(read.error().code == errc::damaged_record);
  });
}

TEST_CASE("a job type names throttlers by kind and name") {
  CHECK(*parse_throttle_ref("semaphore:provider-api") == throttle_ref{throttler_kind::semaphore, "provider-api"});
  CHECK(*parse_throttle_ref("semaphore:Provider API") == throttle_ref{throttler_kind::semaphore, "Provider API"});
  CHECK(*parse_throttle_ref("mutex:order:{order_id}") == throttle_ref{throttler_kind::mutex, "order:{order_id}"});
  CHECK(*parse_throttle_ref("mutex:one") == throttle_ref{throttler_kind::mutex, "one"});
  CHECK(*parse_throttle_ref("custom:mine:too") == throttle_ref{throttler_kind::custom, "mine:too"});
  CHECK(*parse_throttle_ref("dynamic_window:d") == throttle_ref{throttler_kind::dynamic_window, "d"});
  // A name with braces is written as in a template; what a mutex keeps is the template.
  CHECK(*parse_throttle_ref("fixed_window:a{{b}}") == throttle_ref{throttler_kind::fixed_window, "a{b}"});
  CHECK(*parse_throttle_ref("mutex:a{{b}}") == throttle_ref{throttler_kind::mutex, "a{{b}}"});
  CHECK(parse_throttle_ref("semaphore:" + std::string(100, 'n')).ok());
}

TEST_CASE("a name of a throttler that cannot be one says what is allowed") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "KIND:NAME"},
      {"provider-api", "KIND:NAME"},
      {":a", "must begin with one of mutex, semaphore"},
      {"semafore:a", "did you mean 'semaphore'"},
      {"Semaphore:a", "did you mean 'semaphore'"},
      {"sliding-window:a", "did you mean 'sliding_window'"},
      {"banana:a", "must begin with one of"},
      {"\x1b[2J:a", "\\x1b[2J"},
      {"semaphore:", "empty"},
      {"semaphore:a\nb", "control characters"},
      {"semaphore:\xff", "control characters"},
      {"semaphore:" + std::string(101, 'n'), "at most 100 bytes"},
      {"mutex:" + std::string(101, 'n'), "at most 100 bytes"},
      {"mutex:" + std::string(201, 'n'), "at most 200 bytes"},
      {"semaphore:order:{order_id}", "only a mutex"},
      {"custom:{a}", "only a mutex"},
      {"mutex:order:{order_id", "brace at byte 7 of 'order:{order_id' is not closed"},
      {"semaphore:a}", "closes nothing"},
      {"mutex:{}", "must hold a name"},
  };
  for (const auto& [text, fragment] : wrong) {
    INFO(text);
    const auto parsed = parse_throttle_ref(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == errc::invalid_argument);
    CHECK(has(parsed.error().message, fragment));
  }
}

TEST_CASE("a list of throttlers names each of them once") {
  throttle_list list;
  for (const auto* ref : {"semaphore:a", "mutex:a", "semaphore:b", "mutex:x:{Id}", "mutex:x:{id}", "mutex:x:{{id}}"}) {
    INFO(ref);
    CHECK(list.add(ref).ok());
  }
  for (const auto* again : {"semaphore:a", "semaphore:A", "mutex:X:{id}", "mutex:x:{{ID}}"}) {
    INFO(again);
    const auto added = list.add(again);
    REQUIRE_FALSE(added.ok());
    CHECK(has(added.error().message, "twice"));
  }
  CHECK_FALSE(list.add("a").ok());
}

TEST_CASE("a template is filled with texts, whole numbers and flags of the args") {
  CHECK(filled("order:{order_id}", R"({"order_id": "77-B"})") == "order:77-b");
  CHECK(filled("{a}", R"({"a": 0})") == "0");
  CHECK(filled("{a}", R"({"a": -12})") == "-12");
  CHECK(filled("{a}/{b}", R"({"b": false, "a": true})") == "true/false");
  CHECK(filled("{a}{a}", R"({"a": "x"})") == "xx");
  CHECK(filled("{a b}", R"({"a b": "x"})") == "x");
  CHECK(filled("a{a}", R"({"a": ""})") == "a");
  CHECK(filled("{\xc3\xa4}", "{\"\xc3\xa4\": \"\xc3\x9f\"}") == "\xc3\x9f");
}

TEST_CASE("a big whole number is filled in digit by digit") {
  for (const auto* number : {"9007199254740993", "18446744073709551615", "-9223372036854775808", "18446744073709551616",
                             "-9223372036854775809", "123456789012345678901234567890123456789"})
    CHECK(filled("{n}", std::string("{\"n\": ") + number + "}") == number);
}

TEST_CASE("a dotted path leads through objects and lists") {
  const std::string args = R"({"customer": {"id": 5, "tags": ["x", {"y": [[], [1, 2]]}]}, "list": {"0": "zero"},
                               "id": 6, "other": {"customer": {"id": 7}}, "tags": ["no"]})";
  CHECK(filled("{customer.id}", args) == "5");
  CHECK(filled("{other.customer.id}", args) == "7");
  CHECK(filled("{id}", args) == "6");
  CHECK(filled("{customer.tags.0}", args) == "x");
  CHECK(filled("{customer.tags.1.y.1.1}", args) == "2");
  CHECK(filled("{list.0}", args) == "zero");
  CHECK(filled("{0}", R"(["first", "second"])") == "first");
  CHECK(has(refusal("{customer.tags.00}", args), "is not in the args"));
  CHECK(has(refusal("{customer.tags.2}", args), "is not in the args"));
  CHECK(has(refusal("{customer.id.x}", args), "is not in the args"));
  CHECK(has(refusal("{customer.tags.x}", args), "is not in the args"));
}

TEST_CASE("of equal keys the last one counts") {
  CHECK(filled("{a}", R"({"a": 1, "a": 2})") == "2");
  CHECK(filled("{a.b}", R"({"a": {"b": 1}, "a": {"b": 2}})") == "2");
  CHECK(has(refusal("{a.b}", R"({"a": {"b": 1}, "a": {"c": 2}})"), "is not in"));
  CHECK(has(refusal("{a.b}", R"({"a": {"b": 1}, "a": 2})"), "is not in"));
  CHECK(has(refusal("{a}", R"({"a": 1, "a": null})"), "null"));
}

TEST_CASE("what cannot be filled in is named with its place") {
  CHECK(has(refusal("order:{order_id}", "{}"), "the placeholder {order_id} is not in the args"));
  CHECK(has(refusal("{a.b}", R"({"a": {"b": null}})"), "{a.b} is null in"));
  CHECK(has(refusal("{a}", R"({"a": {"a": 1}})"), "{a} is an object"));
  CHECK(has(refusal("{a}", R"({"a": [1]})"), "{a} is a list"));
  CHECK(has(refusal("{a}", R"({"a": 1.5})"), "{a} is the number 1.5"));
  CHECK(has(refusal("{a}", R"({"a": 1.0})"), "{a} is the number 1.0"));
  CHECK(has(refusal("{a}", R"({"a": 1e3})"), "{a} is the number 1e3"));
  CHECK(has(refusal("{a}", "7"), "is not in"));
  CHECK(has(refusal("{a}{b}", R"({"a": 1})"), "{b} is not in"));
  CHECK(has(refusal("{a}", R"({"a": 1)"), "no JSON at byte"));
  CHECK(has(refusal("{a}", ""), "no JSON"));
  CHECK(has(refusal("{a}", "{\"a\": 1}" + std::string(1, '\0') + "x"), "NUL"));
  CHECK(has(refusal("{a}", R"({"a": ""})"), "empty"));
  CHECK(has(refusal("{a}", R"({"a": "x\ny"})"), "control characters"));
  CHECK(has(refusal("{a}", R"({"a": "\u0000"})"), "control characters"));
  CHECK(has(refusal("{a}", "{\"a\": \"\xff\"}"), "no JSON"));
}

TEST_CASE("deep args are no danger to a template") {
  const std::size_t deep = 200'000;
  std::string args(deep, '[');
  args += std::string(deep, ']');
  CHECK(has(refusal("{0.0.0}", args), "{0.0.0} is a list"));
}

TEST_CASE("a template without placeholders does not look at the args") {
  CHECK(filled("Plain", "no JSON") == "plain");
  CHECK(filled("{{id}}", "") == "{id}");
  CHECK(filled("a}}{{b", "\xff") == "a}{b");
  CHECK_FALSE(parse_args_template("{{id}}")->has_placeholders());
  CHECK(parse_args_template("{id}")->has_placeholders());
}

TEST_CASE("doubled braces stand beside placeholders") {
  CHECK(filled("{{{a}}}", R"({"a": 1})") == "{1}");
  CHECK(filled("{{{{{a}", R"({"a": 1})") == "{{1");
  CHECK(filled("{a}}}", R"({"a": 1})") == "1}");
}

TEST_CASE("a template that cannot be read tells the byte") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "must not be empty"},
      {"{", "byte 1"},
      {"order:{", "byte 7 of 'order:{' is not closed"},
      {"a{b{c}", "byte 2"},
      {"a}", "byte 2 of 'a}' closes nothing"},
      {"{{a}", "byte 4"},
      {"{a}}", "byte 4"},
      {"x{}", "byte 2 of 'x{}' must hold a name"},
      {"{.a}", "must hold a name"},
      {"{a.}", "must hold a name"},
      {"{a..b}", "must hold a name"},
      {"{ a }", "must hold a name"},
      {"a\n", "control characters"},
      {"{\x01}", "control characters"},
      {std::string(201, 'a'), "at most 200 bytes"},
  };
  for (const auto& [text, fragment] : wrong) {
    INFO(text);
    const auto parsed = parse_args_template(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().code == errc::invalid_argument);
    CHECK(has(parsed.error().message, fragment));
  }
}

TEST_CASE("a key without a placeholder is refused, and the braces are offered") {
  const auto refusal = [](std::string_view text) {
    const auto parsed = parse_key_template(text);
    return parsed ? std::string() : parsed.error().message;
  };
  CHECK(refusal("{customer}").empty());
  CHECK(refusal("order:{customer}").empty());
  CHECK(refusal("customer") ==
        "'customer' names none of the args, so it would be alike for all jobs; did you mean "
        "'{customer}'?");
  CHECK(has(refusal("tenant:customer.id"), "did you mean 'tenant:{customer.id}'?"));
  CHECK(has(refusal("overlap/customer"), "did you mean 'overlap/{customer}'?"));
  CHECK(has(refusal("two words"), "write the name of one in braces, as '{customer_id}'"));
  CHECK(has(refusal("{{customer}}"), "write the name of one in braces"));
  CHECK(has(refusal("{customer"), "byte 1"));
}

TEST_CASE("a unique key may be said to be alike for all jobs") {
  const auto constant = parse_unique_template("constant:nightly");
  REQUIRE(constant.ok());
  CHECK(*constant->fill_exactly("{}") == "nightly");
  CHECK(parse_unique_template("{id}").ok());
  CHECK(has(parse_unique_template("id").error().message,
            "did you mean '{id}'? One that is to be alike for all is "
            "written 'constant:id'"));
  CHECK(has(parse_unique_template("constant:{id}").error().message, "has placeholders"));
  CHECK(has(parse_unique_template("constant:").error().message, "must not be empty"));
}

TEST_CASE("a long name is cut and stays distinct") {
  const auto named = [](const std::string& value) { return filled("{a}", "{\"a\": \"" + value + "\"}"); };
  CHECK(named(std::string(100, 'x')) == std::string(100, 'x'));
  const auto first = named(std::string(101, 'x'));
  CHECK(first == std::string(60, 'x') + "~0be19b45728eb2d7");  // for ever: it is an id in the store
  CHECK(first != named(std::string(102, 'x')));
  CHECK(first == named(std::string(101, 'X')));
  CHECK(named(std::string(100, 'x') + "a") != named(std::string(100, 'x') + "b"));
  // Cut between characters: the two-byte one at bytes 60 and 61 goes.
  std::string umlauts = std::string(59, 'x');
  for (int i = 0; i < 40; ++i)
    umlauts += "\xc3\xa4";
  const auto cut = named(umlauts);
  CHECK(cut.starts_with(std::string(59, 'x') + "~"));
  CHECK(cut.size() == 59 + 17);
}

TEST_CASE("no template and no args do harm") {
  holds([] {
    const auto made = parse_args_template(*any_template());
    if (!made) return;
    const auto name = made->fill(*any_args());
    if (name) RC_ASSERT(valid_throttler_name(*name));
    if (!name) RC_ASSERT(!printable(name.error().message).empty());
  });
  holds([] {
    const auto made = parse_args_template("{a}:{a.b}:{a.0}");
    (void)made->fill(*any_args());
    (void)parse_args_template("{a}")->fill(*rc::gen::string<std::string>());
  });
  holds([] {
    (void)parse_throttle_ref(*rc::gen::string<std::string>());
    (void)parse_throttle_ref("mutex:" + *any_template());
    (void)parse_args_template(*rc::gen::string<std::string>());
  });
}

TEST_CASE("any text of the args is filled in as it is, in lower case") {
  holds([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '\x7f'));
    if (text.empty() || text.size() > 98) return;
    const auto name = parse_args_template("k:{a.1}")->fill("{\"a\": [{}, " + json_quoted(text) + "]}");
    RC_ASSERT(name.ok());
    RC_ASSERT("mutex:" + *name == resource_of(throttler_kind::mutex, "k:" + text));
  });
}

TEST_CASE("what differs in two definitions is told field by field") {
  throttler before{.kind = throttler_kind::sliding_window, .name = "w", .limit = 8, .interval = 1h, .buckets = 3};
  auto after = before;
  const auto told = [&] { return changes_between(write_throttler(before), write_throttler(after)); };
  CHECK(told().empty());
  CHECK(changes_between("", write_throttler(after)) == "limit 8, interval 1h, buckets 3");
  after.limit = 16;
  after.name = "W";
  CHECK(told() == "limit 8 → 16");
  after.compatible = true;
  after.mode = throttler_mode::release;
  CHECK(told() == "limit 8 → 16, compatible false → true, mode acquire_and_release → release");
  CHECK(changes_between("{\"limit\":", "what is no definition").empty());
  before = {.kind = throttler_kind::dynamic_window, .name = "d", .limit = 2, .interval = 1min, .buckets = 6};
  before.key = after.key = "{tenant}";
  after = before;
  after.limit = 0;
  after.capacity = after.max_limit = 9;
  after.min_limit = 1;
  CHECK(told() == "limit 2 → none, capacity none → 9, min_limit none → 1, max_limit none → 9");
}
