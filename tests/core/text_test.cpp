#include "core/text.hpp"
#include "support/catch.hpp"

using namespace sluice;

namespace {

const std::string mark = "... (truncated)";
const std::string nul_byte(1, '\0');

}  // namespace

TEST_CASE("words are joined by what stands between, and listed as a sentence has them") {
  using words = std::vector<std::string>;
  CHECK(joined({}, ", ").empty());
  CHECK(joined({"a"}, ", ") == "a");
  CHECK(joined({"", "a", "b"}, ", ") == ", a, b");
  CHECK(listed({}).empty());
  CHECK(listed(words{"a"}) == "a");
  CHECK(listed(words{"a", "b"}) == "a and b");
  CHECK(listed({"a", "b", "c"}) == "a, b and c");
}

TEST_CASE("names are made of letters and digits and four signs") {
  for (const auto* name : {"a", "Z", "0", "game-cache-queue", "order.paid", "a:b", "A_b.C:d-9", "-", "."})
    CHECK(valid_name(name));
  for (const auto* name : {"", " ", "a b", "a/b", "a*", "a\n", "\xc3\xa4", "a,b", "a=b", "{a}", "a\\b", "\"a\""})
    CHECK_FALSE(valid_name(name));
  CHECK_FALSE(valid_name(nul_byte));
}

TEST_CASE("a name has at most 200 bytes") {
  CHECK(valid_name(std::string(200, 'x')));
  CHECK_FALSE(valid_name(std::string(201, 'x')));
}

TEST_CASE("JSON has no character that a terminal acts upon, or that turns the direction of writing") {
  CHECK(json_quoted("a\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8z") == R"("a\u007f\u009b\u202e\u2066\u2028z")");
  CHECK(json_quoted("gr\xc3\xbc\xc3\x9f \xe2\x82\xac") == "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac\"");
}

TEST_CASE("printable text stays as it is") {
  CHECK(printable("").empty());
  CHECK(printable("plain text: ok!") == "plain text: ok!");
  CHECK(printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST_CASE("control characters are shown as hex escapes") {
  CHECK(printable("\x1b[2J") == "\\x1b[2J");
  CHECK(printable("a\r\nb") == "a\\x0d\\x0ab");
  CHECK(printable("\t") == "\\x09");
  CHECK(printable("\x7f") == "\\x7f");
  CHECK(printable("a" + nul_byte + "b") == "a\\x00b");
  // C1 controls in UTF-8: terminals obey U+009B as they obey ESC [.
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");
  CHECK(printable("a\xe2\x80\xaez") == "a\\xe2\\x80\\xaez");  // turns what follows
  CHECK(printable("a\xe2\x80\xa8z") == "a\\xe2\\x80\\xa8z");  // begins a line
}

TEST_CASE("invalid UTF-8 is shown as hex escapes") {
  CHECK(printable("\xff") == "\\xff");
  CHECK(printable("\x80x") == "\\x80x");
  CHECK(printable("\xc3") == "\\xc3");                             // cut off
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");                    // cut off
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");           // overlong
  CHECK(printable("\xf0\x80\x80\xaf") == "\\xf0\\x80\\x80\\xaf");  // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  CHECK(printable("\xc3(") == "\\xc3(");
}

TEST_CASE("printable text of any bytes has no control characters") {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string shown = printable(std::string{static_cast<char>(first), static_cast<char>(second)});
      for (const char c : shown)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) FAIL(first << " " << second);
    }
  }
}

TEST_CASE("long text is cut off with a mark") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdefg", 6) == "abcdef" + mark);
  CHECK(printable(std::string(100'000, 'x')).size() == 16 * 1024 + mark.size());
}

TEST_CASE("printable text before the mark never exceeds its limit") {
  const auto text = GENERATE(as<std::string>{}, "abc\x1b\x1b\x1b", "ab\xe2\x82\xac\xe2\x82\xac", "\x01\x02\x03\x04");
  for (std::size_t most = 1; most < 12; ++most) {
    const auto shown = printable(text, most);
    CAPTURE(most, shown);
    REQUIRE(shown.size() <= most + (shown.ends_with(mark) ? mark.size() : 0));
  }
}

TEST_CASE("bounded text is valid and cut between characters") {
  CHECK(bounded_utf8("abc", 3) == "abc");
  CHECK(bounded_utf8("abcd", 3) == "abc" + mark);
  CHECK(bounded_utf8("a\xff\xc3", 10) == "a??");
  CHECK(bounded_utf8("a\xe2\x82\xac", 3) == "a" + mark);
  CHECK(bounded_utf8("a\xe2\x82\xac", 4) == "a\xe2\x82\xac");
  CHECK(bounded_utf8("", 0).empty());
  CHECK(bounded_utf8("a\nb", 3) == "a\nb");
}

TEST_CASE("text that may lose nothing has its bad bytes as hex escapes, and keeps its control characters") {
  CHECK(escaped_utf8("f\xfcr\n?\xff?", 100) == "f\\xfcr\n?\\xff?");
  CHECK(escaped_utf8("caf\xc3\xa9", 5) == "caf\xc3\xa9");
  CHECK(escaped_utf8("a\xff", 5) == "a\\xff");
  CHECK(escaped_utf8("a\xff", 4) == "a" + mark);
  CHECK(escaped_utf8("a\xe2\x82\xac", 3) == "a" + mark);
  CHECK(escaped_utf8("", 0).empty());
}

TEST_CASE("a byte order mark is dropped at the head of a text only") {
  CHECK(without_bom("\xEF\xBB\xBFkey") == "key");
  CHECK(without_bom("key\xEF\xBB\xBF") == "key\xEF\xBB\xBF");
  CHECK(without_bom("\xEF\xBB") == "\xEF\xBB");
  CHECK(without_bom("").empty());
}

TEST_CASE("a slip of the pen finds the word that was meant") {
  const std::vector<std::string> words{"workers", "prefetch", "retry", "timeout"};
  CHECK(nearest("worker", words) == "workers");
  CHECK(nearest("wrokers", words) == "workers");
  CHECK(nearest("prefetsh", words) == "prefetch");
  CHECK(nearest("time_out", words) == "timeout");
  CHECK(nearest("retry", words) == "retry");
}

TEST_CASE("a word that is like no other finds nothing") {
  CHECK_FALSE(nearest("throttlers", {"workers", "prefetch", "retry"}));
  CHECK_FALSE(nearest("banana", {"workers", "prefetch", "retry"}));
  CHECK_FALSE(nearest("anything", {}));
}

TEST_CASE("of several near words the nearest is found") {
  CHECK(nearest("maxdelay", {"max_losses", "delay", "max_delay"}) == "max_delay");
  CHECK(nearest("grac", {"grade", "grace"}) == "grace");
}

TEST_CASE("a star in a pattern stands for any run of characters") {
  CHECK(matches("*", ""));
  CHECK(matches("*", "anything"));
  CHECK(matches("tenant-*-queue", "tenant-7-queue"));
  CHECK(matches("tenant-*-queue", "tenant-a-queue-b-queue"));
  CHECK(matches("tenant-*-queue", "tenant--queue"));
  CHECK(matches("a*b*c", "a1b2b3c"));
  CHECK(matches("**a", "xa"));
  CHECK(matches("a*", "a"));
  CHECK(matches("default", "default"));
}

TEST_CASE("a pattern matches the whole name or not at all") {
  CHECK_FALSE(matches("default", "default2"));
  CHECK_FALSE(matches("default", "my-default"));
  CHECK_FALSE(matches("tenant-*-queue", "tenant-queue"));
  CHECK_FALSE(matches("tenant-*-queue", "tenant-7-queues"));
  CHECK_FALSE(matches("*a", "ab"));
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("a.c", "abc"));
  CHECK_FALSE(matches("A", "a"));
}

TEST_CASE("a pattern of many stars answers at once") {
  std::string pattern;
  for (int i = 0; i < 60; ++i)
    pattern += "*a";
  CHECK_FALSE(matches(pattern + "b", std::string(200, 'a')));
  CHECK(matches(pattern, std::string(200, 'a')));
}

TEST_CASE("the checksum of stored records is FNV 1a for ever") {
  CHECK(fnv1a("") == 0xcbf29ce484222325ULL);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8cULL);
  CHECK(fnv1a("foobar") == 0x85944171f73967e8ULL);
}
