#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

#include "core/log.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace sluice;

namespace {

bool says(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

// What `act` writes to standard error.
template <class F>
std::string logged(log::level least, F act) {
  const test::temp_dir folder;
  std::fflush(stderr);
  const int before = ::dup(2);
  const int file = ::open(folder.file("log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(file, 2);
  set_log_level(least);
  act();
  set_log_level(log_level::off);
  std::fflush(stderr);
  ::dup2(before, 2);
  ::close(before);
  ::close(file);
  std::ifstream in(folder.file("log"));
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("the password of a URL is masked") {
  CHECK(log::redact("redis://user:hunter2@host:6379/0") == "redis://user:***@host:6379/0");
  CHECK(log::redact("redis://:hunter2@host") == "redis://:***@host");
  CHECK(log::redact("redis://u:hun@ter2@host/0") == "redis://u:***@host/0");
  CHECK(log::redact("from redis://a:hunter2@h/0 to redis://b:hunter2@i/0") ==
        "from redis://a:***@h/0 to redis://b:***@i/0");
  CHECK(log::redact(R"("redis+unix://u:hunter2@/run/redis.sock")") == R"("redis+unix://u:***@/run/redis.sock")");
}

TEST_CASE("a URL without a password stays as it is") {
  for (const auto* text : {"redis://host:6379/0", "http://host/a:b@c", "sqlite:sluice.db", "see http://host and a:b@c",
                           "http://user@host/", "://", "http://"})
    CHECK(log::redact(text) == text);
}

TEST_CASE("the values of secret keys in JSON are masked") {
  const auto text =
      GENERATE(as<std::string>{}, R"({"password":"hunter2"})", R"({"password": "hunter2", "a": 1})",
               R"({"db_password":"hunter2"})", R"({"PASSWORD":"hunter2"})", R"({"token":"hunter2"})",
               R"({"access_token" : "hunter2"})", R"({"tokenValue":"hunter2"})", R"({"client_secret":"hunter2"})",
               R"({"authorization":"Bearer hunter2"})", R"({"Authorization":"Basic hunter2"})",
               R"({"cookie":"sid=hunter2"})", R"({"cookie":"a=b; sid=hunter2"})", R"({"api_key":"hunter2"})",
               R"({"password":"a\"hunter2"})", R"({"password":"with spaces, hunter2"})", R"({'secret': 'hunter2'})",
               R"({"passwd":"hunter2"})", R"({"passphrase":"hunter2"})", R"({"password":"hunter2)");
  CAPTURE(text);
  const auto masked = log::redact(text);
  CHECK_FALSE(says(masked, "hunter2"));
  CHECK(says(masked, "***"));
}

TEST_CASE("secret values that are no texts are masked") {
  const auto text = GENERATE(as<std::string>{}, R"({"token":8675309})", R"({"token":[8675309,1]})",
                             R"({"tokens":["a","8675309"]})", R"({"secret":{"id": "8675309"}})");
  CAPTURE(text);
  CHECK_FALSE(says(log::redact(text), "8675309"));
}

TEST_CASE("secret keys in JSON within a JSON text are masked") {
  CHECK_FALSE(says(log::redact(R"({"args":"{\"password\":\"hunter2\"}"})"), "hunter2"));
}

TEST_CASE("the values of secret keys in other forms are masked") {
  const auto text = GENERATE(as<std::string>{}, "password=hunter2", "password = hunter2", "password: hunter2",
                             "a=1 token=hunter2 b=2", "https://h/?access_token=hunter2&b=2", "SECRET=hunter2",
                             "Authorization: Bearer hunter2", "authorization: basic hunter2", "Cookie: sid=hunter2",
                             "Set-Cookie: sid=hunter2; Path=/", "X-Api-Key: hunter2", "apikey=hunter2",
                             "password='hunter2 and more'", "my_secret_value=hunter2", "--password=hunter2");
  CAPTURE(text);
  const auto masked = log::redact(text);
  CHECK_FALSE(says(masked, "hunter2"));
  CHECK(says(masked, "***"));
}

TEST_CASE("all of a header of credentials is masked") {
  const auto text = GENERATE(as<std::string>{}, "Cookie: theme=dark; sid=hunter2", "Authorization: Token hunter2",
                             "Authorization: Bearer  hunter2", "authorization=ApiKey hunter2");
  CAPTURE(text);
  CHECK_FALSE(says(log::redact(text), "hunter2"));
}

TEST_CASE("what stands beside a secret stays") {
  CHECK(log::redact("a=1 token=hunter2 b=2") == "a=1 token=*** b=2");
  CHECK(says(log::redact(R"({"password":"hunter2","user":"ann"})"), R"("user":"ann")"));
  CHECK(says(log::redact("https://h/?access_token=hunter2&page=2"), "&page=2"));
}

TEST_CASE("text without secrets stays as it is") {
  for (const auto* text : {"", "job 7 failed", "a secret", "the token", "queue=default workers=2",
                           R"({"kind":"token"})", "password", "token=", "12:30:00"})
    CHECK((log::redact(text) == text || std::string(text) == "token="));
}

TEST_CASE("a line of the log has its level and its text") {
  const auto out = logged(log::level::info, [] {
    log::debug("not this");
    log::info("job ", 7, " done");
    log::warn("careful");
  });
  CHECK(says(out, "job 7 done\n"));
  CHECK(says(out, "info"));
  CHECK(says(out, "warn"));
  CHECK_FALSE(says(out, "not this"));
}

TEST_CASE("nobody can forge a line of the log") {
  const auto out = logged(log::level::info, [] { log::error("job \r\n2026-01-01 info all is well \x1b[2J\xff"); });
  CHECK(std::count(out.begin(), out.end(), '\n') == 1);
  CHECK(says(out, "\\x0d\\x0a2026-01-01"));
  CHECK(says(out, "\\x1b[2J\\xff"));
}

TEST_CASE("the log masks secrets itself") {
  const auto out =
      logged(log::level::info, [] { log::info("opened redis://u:hunter2@host and {\"token\":\"hunter2\"}"); });
  CHECK(says(out, "redis://u:***@host"));
  CHECK_FALSE(says(out, "hunter2"));
}

TEST_CASE("braces in a line of the log are only braces") {
  CHECK(says(logged(log::level::info, [] { log::info("{} {0} {:x} %s %n"); }), "{} {0} {:x} %s %n"));
}

TEST_CASE("a program may take the lines, masked and escaped, and give them back") {
  std::vector<std::pair<log_level, std::string>> lines;
  const auto text = logged(log::level::info, [&] {
    set_log_sink([&](log_level at, std::string_view line) { lines.emplace_back(at, line); });
    log::debug("too small");
    log::warn("token=hunter2\nnext");
    set_log_sink([](log_level, std::string_view) { throw 1; });
    log::warn("nobody hears this");
    set_log_sink({});
    log::info("on standard error");
  });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].first == log_level::warn);
  CHECK(lines[0].second.find("hunter2") == std::string::npos);
  CHECK(lines[0].second.find('\n') == std::string::npos);
  CHECK(says(text, "on standard error"));
  CHECK_FALSE(says(text, "nobody"));
  CHECK_FALSE(says(text, "next"));
}
