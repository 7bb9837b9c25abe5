#include "throttling/status.hpp"

#include "core/throttlers.hpp"
#include "support/catch.hpp"
#include "throttling/support.hpp"
#include "throttling/windows.hpp"

using namespace sluice;
using namespace sluice::test;
using throttling::add_line;
using throttling::status_of;
using throttling::throttler_of;

namespace {

const time_point now = time_point(1'790'000'000s);

storage::throttler_row row_of(const throttler& definition) {
  storage::throttler_row row;
  row.resource = resource_of(definition.kind, definition.name);
  row.definition = write_throttler(definition);
  return row;
}

// The limiter after these were let in.
storage::limiter_record counting(const throttler& definition, const std::vector<limiter_request>& wanted) {
  storage::limiter_record limiter;
  limiter.version = 1;
  limiter.now = now;
  limiter.definition = write_throttler(definition);
  limiter.state = throttling::make_limiter(definition)->take("", now, wanted).state;
  return limiter;
}

}  // namespace

TEST_CASE("a semaphore shows what is held of its limit") {
  throttler t{.kind = throttler_kind::semaphore, .name = "Api", .limit = 4};
  auto row = row_of(t);
  row.held = 3;
  row.waiting = 2;
  auto status = status_of(row, {});
  CHECK(status.resource == "semaphore:api");
  CHECK(status.kind == throttler_kind::semaphore);
  CHECK(status.definition == t);
  CHECK(status.limit == 4);
  CHECK(status.held == 3);
  CHECK(status.waiting == 2);
  CHECK_FALSE(status.next_at);
  t.mode = throttler_mode::release;
  row.definition = write_throttler(t);
  CHECK_FALSE(status_of(row, {}).limit);
  row.definition = "not what was written";
  CHECK_FALSE(status_of(row, {}).definition);
}

TEST_CASE("a mutex shows its one permit without a definition") {
  storage::throttler_row row;
  row.resource = "mutex:order:7";
  row.held = 1;
  const auto status = status_of(row, {});
  CHECK(status.limit == 1);
  CHECK(status.held == 1);
  CHECK_FALSE(status.definition);
}

TEST_CASE("a window shows what counts now and when the next start fits") {
  const auto t = fixed(2, 1h);
  auto row = row_of(t);
  auto status = status_of(row, counting(t, {{"", 1}}));
  CHECK(status.limit == 2);
  CHECK(status.held == 1);
  CHECK_FALSE(status.next_at);
  status = status_of(row, counting(t, {{"", 5}}));
  CHECK(status.held == 2);
  REQUIRE(status.next_at);
  CHECK(*status.next_at > now);
  CHECK(status.keys.empty());
  row.waiting = 3;
  row.next_at = now + 5s;
  CHECK(status_of(row, counting(t, {{"", 5}})).next_at == now + 5s);
}

TEST_CASE("a dynamic window shows its keys, and counts the lines of its keys as its own") {
  const auto t = balanced(10, 2, 8, 1h, 4);
  auto whole = status_of(row_of(t), counting(t, {{"a", 3}, {"b", 1}}));
  CHECK(whole.limit == 10);
  CHECK(whole.held == 4);
  REQUIRE(whole.keys.size() == 2);
  CHECK(whole.keys[0].key == "a");
  CHECK(whole.keys[0].used == 3);

  storage::throttler_row line;
  line.resource = "dynamic_window:w/a";
  line.waiting = 2;
  line.next_at = now + 9s;
  CHECK(throttler_of(line) == whole.resource);
  add_line(whole, line);
  line.next_at = now + 7s;
  add_line(whole, line);
  CHECK(whole.waiting == 4);
  CHECK(whole.next_at == now + 7s);

  const auto one = status_of(line, counting(t, {{"a", 3}, {"b", 1}}));
  CHECK(one.held == 3);
  CHECK(one.limit == whole.keys[0].limit);
  CHECK(one.waiting == 2);
  line.resource = "dynamic_window:w/nobody";
  CHECK(status_of(line, counting(t, {{"a", 3}})).held == 0);
}
