#include <cstring>
#include <limits>
#include <random>

#include "core/clock.hpp"
#include "core/codec.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

const job_id id("01jobid");
constexpr std::int64_t encoded_day = 1'780'000'000'123'456;

job_content full_content() {
  job_content c;
  c.type = job_type("process_order");
  c.queue = queue_name("orders-queue");
  c.args = R"({"order_id": 7, "note": "gr)"
           "\xc3\xbc"
           R"("})";
  c.headers = {{"trace", "abc"}, {"empty", ""}, {"binary", std::string("\0\xff\n", 3)}};
  c.retry = {3, backoff::exponential, duration(10s), duration(1h), 0.25, when_exhausted::remove};
  c.timeout = 5min;
  c.created_at = from_micros(encoded_day);
  return c;
}

// Any handler with a right checksum: what only a bug could have written.
std::string sealed(std::string body) {
  auto sum = fnv1a(body, fnv1a(id.value));
  for (int i = 0; i < 4; ++i, sum >>= 8)
    body += static_cast<char>(sum & 0xff);
  return body;
}

}  // namespace

TEST_CASE("all that an enqueuer said reads back") {
  const auto said = full_content();
  const auto read = decode_content(id, encode(id, said));
  REQUIRE(read);
  CHECK(read->type == said.type);
  CHECK(read->queue == said.queue);
  CHECK(read->args == said.args);
  CHECK(read->headers == said.headers);
  CHECK(read->retry == said.retry);
  CHECK(read->timeout == said.timeout);
  CHECK(read->created_at == said.created_at);
  CHECK(read->same_job(said));
}

TEST_CASE("two contents differ in parts that have names, and headers may be left out") {
  const auto one = full_content();
  auto other = one;
  other.created_at += 1s;
  other.timeout.reset();
  other.retry = {};
  CHECK(one.what_differs(other).empty());
  other.headers["more"] = "1";
  CHECK(one.what_differs(other) == std::vector<std::string>{"headers"});
  CHECK(one.what_differs(other, {"more"}).empty());
  CHECK(other.what_differs(one, {"more"}).empty());
  CHECK(one.what_differs(other, {"less"}) == std::vector<std::string>{"headers"});
  other.type = job_type("another");
  other.queue = queue_name("another");
  other.args = "[\"another\"]";
  CHECK(one.what_differs(other, {"more"}) == std::vector<std::string>{"type", "queue", "args"});
}

TEST_CASE("a job that says nothing of itself reads back") {
  job_content said;
  said.type = job_type("t");
  const auto read = decode_content(id, encode(id, said));
  REQUIRE(read);
  CHECK(read->headers.empty());
  CHECK(read->retry == retry_policy{});
  CHECK_FALSE(read->timeout);
  CHECK(read->created_at == time_point{});
}

TEST_CASE("a job that was created when its id was made says so in a few bytes") {
  const auto now = from_micros(encoded_day);
  const auto own = make_job_id(now);
  job_content said;
  said.type = job_type("noop");
  said.queue = queue_name("default");
  said.args = R"({"n":1,"t":0})";
  said.created_at = now;
  const auto bytes = encode(own, said);
  CHECK(bytes.size() <= 30);  // 32 with what Redis puts around it, which is what it rounds up to
  const auto read = decode_content(own, bytes);
  REQUIRE(read);
  CHECK(read->queue == said.queue);
  CHECK(read->args == said.args);
  CHECK(read->created_at == now);
}

TEST_CASE("the instant of creation reads back whatever the id is") {
  const auto now = from_micros(encoded_day);
  job_content said;
  said.type = job_type("t");
  for (const auto at : {now, now + 1us, now + 1ms, now - 1ms, from_micros(-1), from_micros(0)}) {
    said.created_at = at;
    for (const auto& its :
         {make_job_id(now), make_job_id(from_micros(0)), id, job_id(std::string(26, 'u')), job_id()}) {
      const auto read = decode_content(its, encode(its, said));
      REQUIRE(read);
      CHECK(read->created_at == at);
    }
  }
}

TEST_CASE("the default queue and any other read back") {
  for (const auto* name : {"default", "", "defaults", "other"}) {
    auto said = full_content();
    said.queue = queue_name(name);
    const auto read = decode_content(id, encode(id, said));
    REQUIRE(read);
    CHECK(read->queue == said.queue);
  }
}

TEST_CASE("each of headers, a policy and a timeout alone reads back") {
  const auto full = full_content();
  std::vector<job_content> said(4, full);
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (i != 0) said[i].headers.clear();
    if (i != 1) said[i].retry = {};
    if (i != 2) said[i].timeout.reset();
  }
  for (const auto& one : said) {
    const auto read = decode_content(id, encode(id, one));
    REQUIRE(read);
    CHECK(read->same_job(one));
    CHECK(read->retry == one.retry);
    CHECK(read->timeout == one.timeout);
  }
}

TEST_CASE("each field of a retry policy reads back alone") {
  std::vector<retry_policy> policies(8);
  policies[0].attempts = 0;
  policies[1].backoff = backoff::polynomial;
  policies[2].delay = 0s;
  policies[3].max_delay = 24h * 365;
  policies[4].jitter = 0.0;
  policies[5].then = when_exhausted::fail;
  policies[6].attempts = 1000;
  policies[7].jitter = 1.0;
  for (const auto& policy : policies) {
    auto said = full_content();
    said.retry = policy;
    const auto read = decode_content(id, encode(id, said));
    REQUIRE(read);
    CHECK(read->retry == policy);
  }
}

TEST_CASE("a jitter of up to six digits reads back exactly") {
  job_content said;
  for (int millionths = 0; millionths <= 1'000'000; millionths += 997) {
    said.retry.jitter = millionths / 1e6;
    const auto read = decode_content(id, encode(id, said));
    REQUIRE(read);
    CHECK(read->retry.jitter == said.retry.jitter);
  }
}

TEST_CASE("extreme times and sizes read back") {
  auto said = full_content();
  said.created_at = from_micros(GENERATE(std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()));
  said.args = std::string(1024 * 1024, ' ');
  const auto read = decode_content(id, encode(id, said));
  REQUIRE(read);
  CHECK(read->created_at == said.created_at);
  CHECK(read->args == said.args);
}

TEST_CASE("a record with any one byte changed is refused") {
  const auto content = encode(id, full_content());
  for (const int change : {0x01, 0x80, 0xff}) {
    for (std::size_t at = 0; at < content.size(); ++at) {
      auto damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      if (decode_content(id, damaged)) FAIL("content with byte " << at << " changed was accepted");
    }
  }
}

TEST_CASE("a record cut off anywhere is refused") {
  const auto content = encode(id, full_content());
  for (std::size_t size = 0; size < content.size(); ++size)
    if (decode_content(id, content.substr(0, size))) FAIL("content of " << size << " bytes was accepted");
}

TEST_CASE("a record with bytes added is refused") {
  CHECK_FALSE(decode_content(id, encode(id, full_content()) + "x"));
  CHECK_FALSE(decode_content(id, "x" + encode(id, full_content())));
}

TEST_CASE("a record of another job is refused") {
  CHECK_FALSE(decode_content(job_id("01jobie"), encode(id, full_content())));
}

TEST_CASE("random bytes are refused without harm") {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 300, '\0');
    for (auto& byte : bytes)
      byte = static_cast<char>(random());
    if (!bytes.empty() && round % 2 == 0) bytes[0] = static_cast<char>(8 + round / 2 % 8);
    if (decode_content(id, bytes)) FAIL("random content was accepted");
  }
}

TEST_CASE("random bytes under a right checksum do no harm") {
  std::mt19937 random(2);
  std::size_t accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string body(1 + random() % 60, static_cast<char>(8 + round % 8));
    for (std::size_t i = 1; i < body.size(); ++i)
      body[i] = static_cast<char>(round % 3 == 0 ? random() : random() % 4);
    const auto bytes = sealed(body);
    accepted += decode_content(id, bytes).has_value();
  }
  CHECK(accepted > 0);
  CHECK(accepted < 50'000);
}

TEST_CASE("a record that promises more than it holds is refused") {
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  CHECK_FALSE(decode_content(id, sealed("\x0f" + huge)));
  CHECK_FALSE(decode_content(id, sealed("\x0f\1t\1q\2{}" + huge)));
}
