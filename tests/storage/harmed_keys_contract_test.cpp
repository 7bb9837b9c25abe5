// Every kind of key that there is (docs/store_layout.md), harmed by bytes that nobody of us wrote: whoever asks is
// answered, and jobs of another queue run.
#include <random>

#include "storage/contract.hpp"
#include "storage/named_value.hpp"
#include "storage/raw_store.hpp"
#include "support/measure.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const names resources = {"mutex:m", "mutex:n", "mutex:c", "semaphore:s", window};
const names stocked_ids = {"fired", "done", "failed", "gone",  "lost",  "alien", "holds",  "waits", "windowed",
                           "runs",  "took", "had",    "woken", "ready", "later", "broken", "child"};

const storage::log_action_request noted_pause{{"anna", "dashboard"}, "pause", {"idle"}, 1};

// Starts that run.
struct stock {
  job holds, runs, inline_permits, other;
};

// What a request was answered, if it was not refused.
template <class Answer>
std::optional<Answer> told(world& w, const storage::request& r) {
  auto answers = w.store().apply({&r, 1});
  auto* found = std::get_if<Answer>(&answers.at(0));
  return found ? std::optional(std::move(*found)) : std::nullopt;
}

storage::update_limiter_request changed_window(world& w) {
  storage::update_limiter_request r;
  r.limiter = window;
  if (const auto read = told<storage::read_limiter_answer>(w, storage::read_limiter_request{window}))
    r.version = read->limiter.version;
  r.state = "state";
  r.from = w.clock.now();
  r.until = w.clock.now() + 1h;
  return r;
}
storage::update_schedule_request changed_schedule(world& w, const std::string& fires) {
  storage::update_schedule_request r;
  r.name = "nightly";
  const auto read = told<storage::schedule_answer>(w, storage::schedule_request{"nightly"});
  if (read && read->row) r.version = read->row->version;
  r.record = "record";
  r.next_at = w.clock.now() + 1min;
  r.overlap = overlap_rule::queue_one;
  r.enqueue.push_back({w.clock.now(), prepared({.id = fires})});
  return r;
}

// A job in each line, and something under each key.
template <class World>
stock stocked(World& w) {
  stock s;
  put_all(w, {"early"});
  REQUIRE(remove(w, "early").code == errc::none);
  w.clock.advance(1h);  // its minute and hour are over
  REQUIRE(define(w, "semaphore:s", 1) == defined::added);
  REQUIRE(define(w, {.resource = window, .text = "{}", .permits = std::nullopt, .config = "any"}) == defined::added);
  beat(w, serving("s1", {"default", "other"}));
  lock(w, "printer");
  auto nightly = changed_schedule(w, "fired");
  nightly.place = storage::schedule_place{0s, 60s};
  nightly.expected_last_place = 0;
  REQUIRE(w.template ask<storage::update_schedule_answer>(nightly).updated);
  put_all(w, {"done"});
  REQUIRE(settle(w, claim_one(w), how::retry, 1h) == errc::none);  // "fired"
  REQUIRE(settle(w, claim_one(w)) == errc::none);
  REQUIRE(settle(w, started(w, "failed"), how::failed) == errc::none);
  started(w, "gone");
  REQUIRE(remove(w, "gone").code == errc::none);
  put_suspect(w, "lost");
  REQUIRE(put(w, {.id = "alien", .type = "alien"}) == errc::none);
  REQUIRE(claim(w).jobs.empty());
  s.holds = holding(w, "holds", {"mutex:n"});
  REQUIRE(take(w, s.holds, {"semaphore:s"}, {.strict = true}) == "granted");
  parked(w, "waits", {"mutex:n"});
  const auto windowed = started(w, "windowed");
  auto r = changed_window(w);
  r.parks = {{run_of(windowed), window}};
  r.next_checks = {{window, w.clock.now() + 1s}};
  REQUIRE(update_limiter(w, r).parked.at(0).what == admission::parked);
  s.runs = started(w, "runs");
  put_all(w, {"took"});
  s.inline_permits = claim_one(w, {.permits = {{"work", {{"mutex:c"}}}}});
  const auto had = holding(w, "had", {"mutex:m"});
  parked(w, "woken", {"mutex:m"});
  REQUIRE(settle(w, had) == errc::none);
  put_all(w, {"broken", "ready"});
  w.command({"HSET", "jobs", "broken", ""});
  REQUIRE(look(w, "broken").code == errc::damaged_record);
  REQUIRE(put(w, {.id = "later", .delay = 1h}) == errc::none);
  storage::enqueue_request child{{prepared({.id = "child"})}};
  flow_of(child.jobs[0]).after.parents = {job_id("done"), job_id("later"), job_id("runs")};
  REQUIRE(ask(w, child).each.at(0) == errc::none);
  for (const auto* id : {"o1", "o2", "o3"})
    REQUIRE(put(w, {.id = id, .queue = "other"}) == errc::none);
  s.other = claim_one(w, {.queue = "other"});
  pause(w, "idle");
  w.template ask<storage::done_answer>(noted_pause);
  REQUIRE(w.store().audit().value() == names{});
  return s;
}

// A key, and what stands in it that may be harmed.
struct kind_of_key {
  std::string command, key;
  names members;
};

const std::vector<kind_of_key>& all_keys() {
  static const std::vector<kind_of_key> all = [] {
    std::vector<kind_of_key> found;
    const auto add = [&](const std::string& command, const names& keys, const names& members) {
      for (const auto& key : keys)
        found.push_back({command, key, members});
    };
    add("HSET", {"jobs", "history", "runs", "admission", "quarantine", "flow"}, stocked_ids);
    add("ZADD", {"after:done", "after:later", "after:runs", "awaiting:default"}, stocked_ids);
    add("ZADD", {"agenda"}, {"edges s done", "edges f runs", "again - done"});
    add("HSET", {"holders:mutex:n", "holders:mutex:m", "holders:semaphore:s"}, stocked_ids);
    add("HSET", {"claim_permits", "definitions", "limits", "configs", "limiters"}, resources);
    add("HSET", {"claims"}, {"0 7:defaults1"});
    add("HSET", {"turns"}, {"7:defaultmutex:c"});
    add("HSET", {"servers"}, {"s1"});
    add("HSET", {"locks"}, {"printer"});
    add("HSET", {"totals", "totals_before"}, {"default"});
    add("HSET", {"minutes:494444", "hours:20601"}, {"", "default"});
    add("HSET", {"total_sizes"}, {"minutes:494444", "hours:20601"});
    add("HSET", {"kept_bytes"}, {"failed:default", "quarantined:default"});
    add("HSET", {"schedules", "places"}, {"nightly"});
    for (const auto* line : {"ready", "front", "suspect", "throttled", "scheduled", "processing", "succeeded", "failed",
                             "deleted", "quarantined"})
      add("ZADD", {cat(line, ":default")}, stocked_ids);
    add("ZADD", {"type:default/alien", "wait:default/mutex:n", "wait:default/" + window}, stocked_ids);
    add("ZADD", {"due", "ending", "served"}, {"default"});
    add("ZADD", {"busy", "waiting", "next_checks"}, resources);
    add("ZADD", {"reserved"}, {"7:mutex:mwoken", "11:semaphore:sholds"});
    add("ZADD", {"lock_ends"}, {"printer"});
    add("ZADD", {"firing", "schedule_names"}, {"nightly"});
    add("SADD", {"queues", "paused", "waits:mutex:n", "waits:" + window}, {"default"});
    add("SADD", {"types:default"}, {"work"});
    add("ZADD", {"operator_log"}, {act_value(1), "1 1 1 1 4:anna"});
    return found;
  }();
  return all;
}

// Digits, spaces and colons more often than others: they are what values are read by.
char any_byte(std::mt19937_64& random) {
  constexpr std::string_view likely = "0123456789 :";
  return random() % 2 == 0 ? likely[random() % likely.size()] : static_cast<char>(random());
}
std::string any_bytes(std::mt19937_64& random) {
  std::string bytes(random() % 40, ' ');
  for (auto& b : bytes)
    b = any_byte(random);
  return bytes;
}
std::string to_retry_singly(std::string bytes, std::mt19937_64& random) {
  if (bytes.empty()) return any_bytes(random);
  for (auto n = random() % 4; n > 0; --n)
    bytes[random() % bytes.size()] = any_byte(random);
  if (random() % 5 == 0) bytes.resize(random() % bytes.size());
  if (random() % 5 == 0) bytes += any_bytes(random);
  if (random() % 5 == 0) bytes.insert(random() % (bytes.size() + 1), "999999999");
  return bytes;
}
std::string any_score(std::mt19937_64& random) {
  static const names odd = {
      "0", "-1", "0.5", "1", "inf", "-inf", "1e300", "-1e300", "1780000000000000", "1e18", "9007199254740993"};
  return random() % 3 == 0 ? std::to_string(random() >> 11) : odd[random() % odd.size()];
}

template <class World>
void harm(World& w, const kind_of_key& k, std::mt19937_64& random) {
  const auto member = random() % 4 == 0 ? any_bytes(random) : k.members[random() % k.members.size()];
  if (k.command == "HSET")
    w.command({"HSET", k.key, member, to_retry_singly(w.command({"HGET", k.key, member}), random)});
  else if (k.command == "ZADD") w.command({"ZADD", k.key, any_score(random), member});
  else w.command({"SADD", k.key, member});
}

void check_answers(world& w, const std::vector<storage::request>& all) {
  const auto answers = w.store().apply(all);
  REQUIRE(answers.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO("request " << i << ", of kind " << all[i].index());
    const auto code = code_of(answers[i]);
    CHECK((code == errc::none || code == errc::storage_damaged));
  }
}

// Asks for page after page until one is refused, or `turn` says that it was the last.
template <class Answer, class Request, class Turn>
void check_pages(world& w, Request r, Turn turn) {
  for (int pages = 0; pages < 200; ++pages) {
    const auto page = told<Answer>(w, r);
    if (!page || !turn(*page, r)) return;
  }
  FAIL("pages without end");
}

void check_looks(world& w) {
  std::vector<storage::request> all = {storage::queues_request{},
                                       storage::queue_names_request{},
                                       storage::ready_request{{"default", "other"}},
                                       storage::servers_request{},
                                       storage::schedules_request{},
                                       storage::schedule_request{"nightly"},
                                       storage::due_request{},
                                       storage::read_limiter_request{window},
                                       storage::locks_request{},
                                       storage::quarantine_request{},
                                       storage::totals_request{},
                                       storage::operator_log_request{}};
  for (const auto& id : stocked_ids) {
    all.emplace_back(storage::get_request{job_id(id)});
    all.emplace_back(storage::explain_request{job_id(id)});
  }
  for (const auto& resource : resources)
    all.emplace_back(storage::throttler_request{resource, 20});
  check_answers(w, all);

  storage::list_request jobs;
  jobs.query.limit = 2;
  check_pages<storage::list_answer>(w, jobs, [](const auto& page, auto& r) {
    r.query.after = page.page.next;
    return !r.query.after.empty();
  });
  const auto go_on = [](const auto& page, auto& r) {
    r.after = page.page.next;
    return !r.after.empty();
  };
  check_pages<storage::operator_log_answer>(w, storage::operator_log_request{2, ""}, go_on);
  for (const auto& resource : resources) {
    check_pages<storage::holders_answer>(w, storage::holders_request{resource, 1, ""}, go_on);
    check_pages<storage::waiters_answer>(w, storage::waiters_request{resource, 1, ""}, go_on);
  }
  check_pages<storage::throttlers_answer>(w, storage::throttlers_request{2, ""}, [](const auto& page, auto& r) {
    r.after = page.next;
    return !r.after.empty();
  });
}

void check_steps(world& w, const stock& s) {
  check_answers(
      w, {enqueue_of("new"), storage::renew_request{{run_of(s.runs), run_of(s.holds), run_of(s.inline_permits)}, 30s},
          storage::progress_request{{{run_of(s.runs), {0.5, "half"}}}}, requeuing(job_id("failed")),
          requeuing(job_id("later")), removing(job_id("ready")), removing(job_id("waits")),
          storage::pause_request{queue_name("default"), false}, storage::heartbeat_request{serving("s1", {"default"})},
          storage::promote_request{},
          storage::acquire_permits_request{{wanting(s.runs, {"mutex:n"}), wanting(s.inline_permits, {"semaphore:s"})}},
          cancelling(job_id("holds")), cancelling(job_id("woken")), taking("printer"),
          storage::lock_request{storage::lock_request::verb::read, "printer"}, noted_pause});
  auto opened = changed_window(w);
  opened.wakes = {{window, 3}};
  opened.next_checks = {{window, w.clock.now() + 1s}};
  storage::settle_request ends{
      {ended(s.runs, how::retry), ended(s.holds, how::succeeded), ended(s.inline_permits, how::failed)},
      claiming({.free = 2, .allow_suspect = true})};
  check_answers(w, {opened, changed_schedule(w, "fired-again"), ends});
  for (int round = 0; round < 3; ++round) {
    w.clock.advance(1min);
    const auto lost = told<storage::expired_answer>(w, storage::expired_request{});
    if (lost) check_answers(w, {storage::reap_request{lost->leases, 3}});
    check_answers(
        w,
        {storage::promote_request{},
         claiming({.free = 20, .allow_suspect = true, .types = "work alien", .permits = {{"work", {{"mutex:c"}}}}})});
  }
  check_pages<storage::reconcile_answer>(w, storage::reconcile_request{2, ""}, [](const auto& page, auto& r) {
    r.after = page.next;
    return !r.after.empty();
  });
  storage::prune_request prune;
  prune.retention.succeeded = prune.retention.failed = prune.retention.deleted = {duration(1s), 1};
  prune.server_age = 1s;
  check_answers(w, {storage::define_request{"semaphore:s", "other", 2, "other"}, storage::undefine_request{window},
                    prune, storage::deregister_request{server_id("s1")}});
}

// Of another queue than the one that was harmed.
void check_other_queue(world& w, const stock& s) {
  CHECK(put(w, {.id = "o4", .queue = "other"}) == errc::none);
  CHECK(settle(w, s.other) == errc::none);
  CHECK(ids(claim(w, {.free = 9, .queue = "other"})) == names{"o2", "o3", "o4"});
}

constexpr double timeout = 20;  // seconds, for all that a test asks of one store

}  // namespace

#define ON_HARMED_STORES(name) TEMPLATE_TEST_CASE(name, "[contract]", harmed_file_world, harmed_redis_world)

ON_HARMED_STORES("Whatever bytes stand under a key everybody is answered and another queue runs") {
  for (std::size_t i = 0; i < all_keys().size(); ++i) {
    const auto& k = all_keys()[i];
    CAPTURE(k.key);
    TestType w;
    const auto s = stocked(w);
    std::mt19937_64 random(i);
    for (int n = 0; n < 10; ++n)
      harm(w, k, random);
    const auto from = std::chrono::steady_clock::now();
    CHECK(w.store().audit().ok());
    check_other_queue(w, s);
    check_looks(w);
    check_steps(w, s);
    CHECK(w.store().audit().ok());
    CHECK(seconds_since(from) < timeout);
  }
}

ON_HARMED_STORES("A queue that is harmed costs no other a renewal that is asked beside it") {
  TestType w;
  REQUIRE(put(w, {.id = "a"}) == errc::none);
  REQUIRE(put(w, {.id = "b", .queue = "other"}) == errc::none);
  const auto harmed = claim_one(w), sound = claim_one(w, {.queue = "other"});
  w.command({"DEL", "processing:default"});
  w.command({"SET", "processing:default", "x"});
  w.clock.advance(10s);
  const std::vector<storage::request> asked = {storage::renew_request{{run_of(harmed)}, 30s},
                                               storage::renew_request{{run_of(sound)}, 30s}};
  const auto told = w.store().apply(asked);
  CHECK(code_of(told.at(0)) == errc::storage_damaged);
  REQUIRE(code_of(told.at(1)) == errc::none);
  CHECK(std::get<storage::renew_answer>(told.at(1)).each == std::vector{errc::none});
  CHECK(get(w, "b").lease_until == w.clock.now() + 30s);
}

ON_HARMED_STORES("Who is woken when a run that cannot be read is put aside is named in the hint") {
  TestType w;
  holding(w, "a", {"mutex:m"});
  parked(w, "b", {"mutex:m"}, "other");
  w.command({"HSET", "runs", "a", "nonsense"});
  w.clock.advance(1min);
  beat(w, serving("s1", {"default:1", "other:1"}));
  REQUIRE(expired(w).leases.empty());
  CHECK(w.store().made_work().queues.contains("other"));
}

ON_HARMED_STORES("A job alone that meets a harmed key is not stored") {
  TestType w;
  put_all(w, {"a", "b"});
  const std::string key = GENERATE(as<std::string>(), "ready:default", "totals", "queues");
  w.command({"DEL", key});
  w.command({"SET", key, "a text"});
  CHECK(refusal(w, storage::enqueue_request{{prepared({.id = "c"})}}) == errc::storage_damaged);
  w.command({"DEL", key});
  CHECK(look(w, "c").code == errc::not_found);
  CHECK(put(w, {.id = "c"}) == errc::none);
  CHECK(get(w, "c").state == job_state::enqueued);
}

ON_HARMED_STORES("A claim that meets harmed holders takes nothing") {
  TestType w;
  const auto has = holding(w, "has", {"mutex:m"});
  parked(w, "woken", {"mutex:m"});
  REQUIRE(settle(w, has) == errc::none);
  put_all(w, {"plain"});
  w.command({"DEL", "holders:mutex:m"});
  w.command({"SET", "holders:mutex:m", "x"});
  CHECK(refusal(w, claiming({.free = 5})) == errc::storage_damaged);
  CHECK(counts(w).processing == 0);
}

ON_HARMED_STORES("Whatever key is of the wrong type everybody is answered") {
  // What any claim reads, or any end while jobs wait for others.
  const std::set<std::string> of_all = {"jobs",        "history",        "runs",   "claims", "ending",
                                        "served",      "queues",         "paused", "totals", "totals_before",
                                        "total_sizes", "minutes:494444", "flow",   "agenda"};
  for (const auto& k : all_keys()) {
    CAPTURE(k.key);
    TestType w;
    const auto s = stocked(w);
    w.command({"DEL", k.key});
    w.command({"SET", k.key, "a text"});
    const auto from = std::chrono::steady_clock::now();
    const auto found = w.store().audit();
    REQUIRE(found.ok());
    CHECK_FALSE(found->empty());
    w.clock.advance(1min);  // its totals go to the lists of their hour
    if (!of_all.contains(k.key)) check_other_queue(w, s);
    check_looks(w);
    check_steps(w, s);
    CHECK(seconds_since(from) < timeout);
  }
}
