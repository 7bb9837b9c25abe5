#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "core/log.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

bool says(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

// Standard error is another file for as long as this lives.
class standard_error_is {
public:
  explicit standard_error_is(int file) : before_(::dup(2)) {
    std::fflush(stderr);
    ::dup2(file, 2);
  }
  ~standard_error_is() {
    std::fflush(stderr);
    ::dup2(before_, 2);
    ::close(before_);
  }
  standard_error_is(const standard_error_is&) = delete;

private:
  int before_;
};

// The log is heard from `least` up, and as it was before afterwards.
class listening {
public:
  explicit listening(log_level least) { set_log_level(least); }
  ~listening() {
    set_log_level(log_level::off);
    log::flush(timeout);
    set_log_sink({});
    set_log_format(log_format::text);
  }
  listening(const listening&) = delete;

  static constexpr auto timeout = 30s;
};

// What `act` logs to standard error.
template <class F>
std::string logged(log::level least, F act) {
  const test::temp_dir folder;
  const int file = ::open(folder.file("log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  {
    const standard_error_is here(file);
    const listening now(least);
    act();
  }
  ::close(file);
  std::ifstream in(folder.file("log"));
  return {std::istreambuf_iterator<char>(in), {}};
}

// The number in "7 lines of the log were lost"; 0 of another line.
int losses(const std::string& line) { return says(line, " of the log w") && says(line, " lost") ? std::stoi(line) : 0; }

}  // namespace

TEST_CASE("the password of a URL is masked") {
  CHECK(log::redact("redis://user:hunter2@host:6379/0") == "redis://user:***@host:6379/0");
  CHECK(log::redact("redis://:hunter2@host") == "redis://:***@host");
  CHECK(log::redact("redis://u:hun@ter2@host/0") == "redis://u:***@host/0");
  CHECK(log::redact("from redis://a:hunter2@h/0 to redis://b:hunter2@i/0") ==
        "from redis://a:***@h/0 to redis://b:***@i/0");
  CHECK(log::redact(R"("redis+unix://u:hunter2@/run/redis.sock")") == R"("redis+unix://u:***@/run/redis.sock")");
}

TEST_CASE("what may be the password of a URL is masked, though it is written wrong") {
  CHECK(log::redact("redis//u:hunter2@host/0") == "redis//u:***@host/0");
  CHECK(log::redact("redis://u:hun/ter2@host/0") == "redis://u:***@host/0");
  CHECK(log::redact("redis://u:hun?ter2@host and a:b@c") == "redis://u:***@host and a:b@c");
}

TEST_CASE("a URL without a password stays as it is") {
  for (const auto* text :
       {"redis://host:6379/0", "sqlite:sluice.db", "see http://host and a:b@c", "http://user@host/", "://", "http://"})
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

TEST_CASE("where a secret stands is told, and no secret") {
  for (const auto* text : {"secret_variable: stands for secret_file: give one of them",
                           "/dashboard/proxy_secret_file: cannot read /etc/sluice/proxy",
                           "redis://h/0?password_file=/run/secrets/redis&password_variable=REDIS_AUTH"})
    CHECK(log::redact(text) == text);
  CHECK(log::redact("password_file_key=hunter2") == "password_file_key=***");
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
    log::error("broken");
  });
  CHECK(says(out, "Z info job 7 done\n"));
  CHECK(says(out, "Z warning careful\n"));
  CHECK(says(out, "Z error broken\n"));
  CHECK_FALSE(says(out, "not this"));
}

TEST_CASE("a line of the log may be an object of JSON") {
  const auto out = logged(log::level::debug, [] {
    set_log_format(log_format::json);
    log::debug("{} %v \"quoted\" \\ \n\xff \xc3\xa9");
    log::warn("token=hunter2");
  });
  std::istringstream lines(out);
  std::string line;
  REQUIRE(std::getline(lines, line));
  const auto first = nlohmann::json::parse(line);
  CHECK(first.size() == 3);
  CHECK(first.at("level") == "debug");
  CHECK(first.at("message") == "{} %v \"quoted\" \\ \\x0a\\xff \xc3\xa9");
  const std::string time = first.at("time");
  CHECK(time.size() == std::string("2026-03-08T07:00:00.000Z").size());
  CHECK(time.back() == 'Z');
  REQUIRE(std::getline(lines, line));
  CHECK(nlohmann::json::parse(line).at("level") == "warning");
  CHECK(nlohmann::json::parse(line).at("message") == "token=***");
  CHECK_FALSE(std::getline(lines, line));
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
    REQUIRE(log::flush(listening::timeout));
    set_log_sink([](log_level, std::string_view) { throw 1; });
    log::warn("nobody hears this");
    REQUIRE(log::flush(listening::timeout));
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

TEST_CASE("of warnings that differ in their numbers alone ten are told, and then how many more there were") {
  std::vector<std::string> lines;
  logged(log::level::info, [&] {
    set_log_sink([&](log_level, std::string_view line) { lines.emplace_back(line); });
    for (int i = 0; i < 5000; ++i) {
      log::warn("queue q has no thread (", i, ")");
      if (i < 100) log::warn("job order-", i, " has failed");    // each is another's
      if (i < 30) log::info("job ", i, " was deleted by anna");  // what people do is told each time
    }
    log::warn("something else");
    REQUIRE(log::flush(listening::timeout));
  });
  std::map<std::string, int> seen;
  for (auto line : lines) {
    if (says(line, " more lines like this one")) continue;
    std::erase_if(line, [](unsigned char c) { return std::isdigit(c) != 0; });
    ++seen[line];
  }
  CHECK(seen["job  was deleted by anna"] == 30);
  CHECK(seen["something else"] == 1);
  CHECK(seen["job order- has failed"] == 100);
  const auto told = seen["queue q has no thread ()"];
  CHECK(told >= 10);
  CHECK(told <= 50);  // ten in each ten seconds
  std::uint64_t left_out = 0;
  for (const auto& line : lines)
    if (says(line, " more lines like this one: queue q")) left_out += std::stoull(line);
  CHECK(left_out + static_cast<std::uint64_t>(told) == 5000);
}

TEST_CASE("a sink that blocks stops nobody who logs, and the lines lost are counted and told") {
  const listening now(log_level::info);
  std::vector<std::pair<log_level, std::string>> heard;
  std::promise<void> let_go;
  set_log_sink([&heard, held = let_go.get_future().share()](log_level at, std::string_view line) {
    held.wait();
    heard.emplace_back(at, line);
  });
  constexpr int threads = 4, each = 40'000;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([] {
      for (int n = 0; n < each; ++n)
        log::info("line");
    });
  for (auto& t : all)
    t.join();
  CHECK_FALSE(log::flush(20ms));
  let_go.set_value();
  REQUIRE(log::flush(listening::timeout));
  int lost = 0;
  for (const auto& [at, line] : heard) {
    CHECK((line == "line" || (losses(line) > 0 && at == log_level::warn)));
    lost += losses(line);
  }
  CHECK(lost > 0);
  const auto whole = std::count_if(heard.begin(), heard.end(), [](const auto& h) { return h.second == "line"; });
  CHECK(whole + lost == threads * each);
}

TEST_CASE("a pipe that nobody reads stops nobody who logs, and gets each line once it is read") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | GENERATE(0, O_NONBLOCK)) == 0);
  constexpr int said = 2000;
  std::string text;
  {
    const standard_error_is here(ends[1]);
    const listening now(log_level::info);
    for (int i = 0; i < said; ++i)
      log::info("line ", std::string(100, '.'), '!');
    CHECK_FALSE(log::flush(20ms));
    pollfd more{ends[0], POLLIN, 0};
    char some[4096];
    while (std::count(text.begin(), text.end(), '\n') < said && ::poll(&more, 1, 30'000) == 1)
      text.append(some, static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], some, sizeof some))));
    CHECK(log::flush(listening::timeout));
  }
  ::close(ends[0]);
  ::close(ends[1]);
  std::istringstream lines(text);
  int whole = 0;
  for (std::string line; std::getline(lines, line);)
    whole += says(line, "Z info line ...") && line.ends_with("..!");
  CHECK(whole == said);
}

TEST_CASE("lines that could not be written are counted and told when writing works again") {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  const auto out = logged(log::level::info, [&] {
    {
      const standard_error_is here(full);
      log::info("nobody sees this");
      log::info("nor this");
      CHECK(log::flush(listening::timeout));
    }
    log::info("works again");
  });
  ::close(full);
  CHECK(says(out, "Z warning 2 lines of the log were lost\n"));
  CHECK(out.find("were lost") < out.find("works again"));
  CHECK_FALSE(says(out, "this"));
}
