// Two versions of Sluice on one store: of one layout they work side by side, of two layouts each leaves the other's
// store alone.
#include <algorithm>
#include <fstream>

#include "core/recurring.hpp"
#include "core/text.hpp"
#include "storage/contract.hpp"
#include "storage/flow_words.hpp"
#include "storage/raw_store.hpp"
#include "storage/shared_store.hpp"
#include "storage/sqlite/script_engine.hpp"
#include "storage/versions.hpp"

using namespace sluice;
using namespace sluice::test;
namespace machine = sluice::storage::machine;

namespace {

// What a call without arguments is told.
std::string said_to(harmed_file_world& w, const machine::library& known, machine::verb v) {
  constexpr std::string_view prefix = "{sluice}";
  storage::sqlite::database db(w.folder.file("jobs.db"));
  storage::sqlite::keyspace keys(db, prefix);
  storage::sqlite::script_engine engine(keys, prefix, storage::sqlite::script_engine::bounds(), known);
  std::string said;
  db.execute("BEGIN IMMEDIATE");
  keys.begin();
  keys.begin_call(true);
  try {
    engine.run(machine::call(v), "1", "", [](const machine::item& /*unused*/) {});
  } catch (const storage::sqlite::command_error& e) {
    said = e.message;
  }
  keys.flush();
  db.execute("COMMIT");
  return said;
}
std::string said_to(harmed_redis_world& w, const machine::library& known, machine::verb v) {
  auto prefix = w.key("");
  prefix.pop_back();
  auto& server = harmed_redis_world::server();
  server.command({"FUNCTION", "LOAD", "REPLACE", known.for_redis("tried")});
  return server.command({"FCALL", known.name_of(v, "tried"), "1", prefix, "", ""}).text;
}

// All that is stored, in some words.
std::string stored_in(harmed_file_world& w) {
  storage::sqlite::database db(w.folder.file("jobs.db"));
  std::string all;
  for (const auto* sql :
       {"SELECT quote(name)||kind||size||quote(text) FROM keys", "SELECT key||quote(field)||quote(value) FROM fields",
        "SELECT key||score||quote(member) FROM scores",
        "SELECT quote(name)||quote(field1)||quote(field2)||quote(field3)||quote(field4)||quote(places) FROM members",
        "PRAGMA user_version"}) {
    auto rows = db.prepare(sql);
    while (rows.step())
      all += rows.text(0) + "\n";
  }
  return all;
}
std::string stored_in(harmed_redis_world& w) {
  return harmed_redis_world::server()
      .command({"EVAL",
                "local all, said = redis.call('KEYS', ARGV[1]), '' "
                "table.sort(all) "
                "for _, key in ipairs(all) do said = redis.sha1hex(said .. key .. redis.call('DUMP', key)) end "
                "return said",
                "0", w.key("*")})
      .text;
}

template <class World>
struct versions_of {
  World w;  // of this version
  version later = later_layout(), released = released_layout_4(), other = sibling();

  result<storage::raising> raise() { return storage::raise_layout(w.url(), &w.clock, &later.known); }
  std::shared_ptr<const sluice::clock> time() { return {std::shared_ptr<void>(), &w.clock}; }
};

template <class World>
void put_store_of_layout_4(World& w) {
  const auto made = store_of_layout_4();
  for (std::size_t i = 1; i < made.size(); ++i)
    w.command(made[i]);
  const time_point then{duration(std::stoll(made.front().at(1)))};
  w.clock.advance(then - w.clock.now());
}

error why(world& w, const storage::request& r) {
  const auto told = w.store().apply({&r, 1}).at(0);
  const auto* refused = std::get_if<error>(&told);
  return refused ? *refused : error{};
}

}  // namespace

#define ON_STORES_OF_VERSIONS(name) TEMPLATE_TEST_CASE(name, "[contract]", harmed_file_world, harmed_redis_world)

ON_STORES_OF_VERSIONS("Every released call refuses a store of a later layout and writes nothing") {
  versions_of<TestType> v;
  put_all(v.w, {"a", "b"});
  claim_one(v.w);
  REQUIRE(v.raise().ok());
  const auto before = stored_in(v.w);
  REQUIRE(v.released.verbs.size() >= 38);
  for (const auto verb : v.released.verbs) {
    CAPTURE(machine::about(verb).name);
    const auto said = said_to(v.w, v.released.known, verb);
    CAPTURE(said);
    CHECK(said.find("LAYOUT 6 4") != std::string::npos);
  }
  const bool untouched = stored_in(v.w) == before;
  CHECK(untouched);
}

ON_STORES_OF_VERSIONS("Every call of a later layout but the one that raises refuses a store and writes nothing") {
  versions_of<TestType> v;
  put_all(v.w, {"a", "b"});
  claim_one(v.w);
  beat(v.w, serving("s1", {"default:1"}));
  const auto before = stored_in(v.w);
  for (const auto verb : v.later.verbs) {
    CAPTURE(machine::about(verb).name);
    if (verb != machine::verb::raise) CHECK(said_to(v.w, v.later.known, verb).find("LAYOUT 5 6") != std::string::npos);
  }
  for (const auto mode : {open_mode::may_make, open_mode::must_exist, open_mode::read_only}) {
    const auto opened = storage::open_store(v.w.url(), &v.w.clock, mode, &v.later.known);
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code == errc::storage_older);
    CHECK(opened.error().message.find("sluice upgrade") != std::string::npos);
  }
  const bool untouched = stored_in(v.w) == before;
  CHECK(untouched);
}

ON_STORES_OF_VERSIONS("Who is connected while the layout is raised is refused and what it ran is not lost") {
  versions_of<TestType> v;
  put_all(v.w, {"a", "b"});
  const auto a = claim_one(v.w);
  const auto raised = v.raise();
  REQUIRE(raised.ok());
  CHECK(raised->from == 5);
  CHECK(raised->to == 6);
  CHECK(raised->waits_for.empty());

  storage::settle_request settles;
  settles.runs.push_back(ended(a, how::succeeded));
  const storage::request steps[] = {settles,
                                    storage::renew_request{{run_of(a)}, 30s},
                                    claiming({.free = 1}),
                                    storage::enqueue_request{{prepared({.id = "c"})}},
                                    storage::get_request{job_id("a")},
                                    storage::queues_request{},
                                    storage::heartbeat_request{serving("s1", {"default:1"})}};
  for (const auto& step : steps) {
    const auto refused = why(v.w, step);
    CHECK(refused.code == errc::storage_newer);
    CHECK(refused.message.find("has layout 6") != std::string::npos);
    CHECK(refused.message.find("knows layout 5") != std::string::npos);
  }
  for (const auto mode : {open_mode::may_make, open_mode::must_exist, open_mode::read_only}) {
    const auto again = storage::open_store(v.w.url(), &v.w.clock, mode);
    REQUIRE_FALSE(again.ok());
    CHECK(again.error().code == errc::storage_newer);
  }

  world later(v.w.url(), true, &v.later.known);
  CHECK(counts(later).processing == 1);
  CHECK(counts(later).quarantined == 0);
  CHECK(get(later, "a").fence == a.fence);
  CHECK(settle(later, a) == errc::none);  // the run was taken over
  CHECK(ids(claim(later)) == names{"b"});
}

ON_STORES_OF_VERSIONS("A layout is raised only when no server is alive and once") {
  versions_of<TestType> v;
  put_all(v.w, {"a"});
  beat(v.w, serving("s1", {"default:1"}));
  v.w.clock.advance(50s);
  beat(v.w, serving("s2", {"default:1"}));
  const auto before = stored_in(v.w);
  auto waits = v.raise();
  REQUIRE(waits.ok());
  std::sort(waits->waits_for.begin(), waits->waits_for.end());
  CHECK(waits->waits_for == names{"s1", "s2"});
  const bool untouched = stored_in(v.w) == before;
  CHECK(untouched);

  v.w.clock.advance(20s);  // s1 was killed
  CHECK(v.raise()->waits_for == names{"s2"});
  leave(v.w, server_id("s2"));
  CHECK(v.raise()->waits_for.empty());
  const auto again = v.raise();
  REQUIRE(again.ok());
  CHECK(again->from == 6);
  CHECK(again->to == 6);
  CHECK(storage::raise_layout(v.w.url(), &v.w.clock).error().code == errc::storage_newer);
}

ON_STORES_OF_VERSIONS("A store that the release of layout 4 made is raised with all that it holds, and goes on") {
  TestType w;
  put_store_of_layout_4(w);
  const auto raise = [&] { return storage::raise_layout(w.url(), &w.clock); };
  CHECK(refusal(w, storage::queues_request{}) == errc::storage_older);
  CHECK(raise()->waits_for == names{"shop-1-28624"});
  w.clock.advance(61s);
  const auto raised = raise();
  REQUIRE(raised.ok());
  CHECK(raised->from == 4);
  CHECK(raised->to == 5);
  CHECK(raised->waits_for.empty());
  CHECK(w.store().audit().value() == names{});

  const auto has = counts(w);
  CHECK(has.enqueued == 4);
  CHECK(has.processing == 2);
  CHECK(has.scheduled == 1);
  CHECK(has.awaiting == 2);
  CHECK(has.throttled == 1);
  CHECK(has.succeeded == 2);
  CHECK(has.deleted == 1);
  CHECK(w.template ask<storage::servers_answer>(storage::servers_request{}).servers.empty());

  names acts;
  for (const auto& a : w.template ask<storage::operator_log_answer>(storage::operator_log_request{}).page.actions)
    acts.push_back(cat(a.by.name, " ", a.what, " ", a.about.at(0), " ", a.count));
  CHECK(acts == names{"root@shop-1 delete done 1", "root@shop-1 requeue failed 1", "root@shop-1 pause idle 1",
                      "root@shop-1 make group g 1"});
  const auto schedule = [&](const char* name) {
    return w.template ask<storage::schedule_answer>(storage::schedule_request{name});
  };
  const auto pulse = schedule("pulse"), nightly = schedule("nightly");
  REQUIRE(pulse.row);
  CHECK(pulse.row->version > 0);
  CHECK(decode_schedule("pulse", pulse.row->record));
  REQUIRE(pulse.row->runs.size() == 2);
  CHECK(state(w, pulse.row->runs.back().id.value) == job_state::succeeded);
  CHECK(pulse.row->next_at > pulse.row->runs.back().at);
  REQUIRE(nightly.row);
  CHECK(nightly.row->place);
  CHECK(nightly.places.size() == 1);
  const auto limits = w.template ask<storage::throttlers_answer>(storage::throttlers_request{}).throttlers;
  REQUIRE(limits.size() == 2);
  CHECK(limits[1].resource == "semaphore:s");
  CHECK(limits[1].held == 2);
  CHECK(limits[1].waiting == 1);

  // What ran is lost with its server, and hands its permit on; a child and a group go on.
  beat(w, serving("s1", {"default:1"}));
  for (const auto code : reap(w, expired(w).leases).each)
    CHECK(code == errc::none);
  CHECK(state(w, "parked") == job_state::enqueued);
  for (const auto& j : claim(w, {.free = 20, .types = "exec noop"}).jobs)
    CHECK(settle(w, j.job) == errc::none);
  CHECK(state(w, "child") == job_state::enqueued);
  CHECK(seal(w, "g").code == errc::none);
  work_off(w);
  CHECK(state(w, "behind") == job_state::enqueued);
  CHECK(w.store().audit().value() == names{});
}

ON_STORES_OF_VERSIONS("Of a store of layout 4 what cannot be read stays as it is, and its jobs go on") {
  TestType w;
  put_store_of_layout_4(w);
  w.command({"HSET", "schedules", "bad", "no schedule"});
  w.command({"HSET", "schedules", "half", "7 2 3:rec1:a5 x"});
  w.command({"ZADD", "operator_log", "5", "5 5 5"});
  w.clock.advance(61s);
  REQUIRE(storage::raise_layout(w.url(), &w.clock)->to == 5);
  const auto schedule = [&](const char* name) {
    return w.template ask<storage::schedule_answer>(storage::schedule_request{name}).row.value();
  };
  CHECK(schedule("bad").version == 0);
  CHECK(schedule("bad").record == "no schedule");
  CHECK(schedule("half").version == 7);
  CHECK(schedule("half").record == "rec");
  CHECK(schedule("half").runs.size() == 1);
  CHECK(w.template ask<storage::operator_log_answer>(storage::operator_log_request{}).page.actions.size() == 4);
  CHECK(counts(w).enqueued == 4);
}

ON_STORES_OF_VERSIONS("A store of layout 4 with a key of another type is not raised, and nothing of it is changed") {
  TestType w;
  put_store_of_layout_4(w);
  const std::string key = GENERATE("schedules", "places", "operator_log", "servers", "claims");
  CAPTURE(key);
  w.command({"DEL", key});
  w.command({"SET", key, "x"});
  w.clock.advance(61s);
  const auto before = stored_in(w);
  CHECK(storage::raise_layout(w.url(), &w.clock).error().code == errc::storage_damaged);
  const bool untouched = stored_in(w) == before;
  CHECK(untouched);
}

ON_STORES_OF_VERSIONS("A word of the rules that nobody knows is damage, and not taken for another") {
  TestType w;
  auto text = machine::current_text();
  replace(text, "return answer('none')", "return answer('mine')");
  const machine::library known(machine::layout, text);
  world other(w.url(), true, &known);
  const storage::lock_request take{storage::lock_request::verb::take, "r", "me", "token", {}, 30s};
  const auto told = why(other, take);
  CHECK(told.code == errc::storage_damaged);
  CHECK(told.message.find("'mine'") != std::string::npos);
}

ON_STORES_OF_VERSIONS("The first server alone raises a store and names whom it waits for until then") {
  versions_of<TestType> v;
  put_all(v.w, {"a"});
  beat(v.w, serving("s1", {"default:1"}));
  const auto open = [&] { return storage::open_shared_store_for_server(v.w.url(), v.time(), &v.later.known); };
  const auto waits = open();
  REQUIRE_FALSE(waits.ok());
  CHECK(waits.error().code == errc::storage_older);
  CHECK(waits.error().message.ends_with("servers that run with layout 5: s1"));
  CHECK(refusal(v.w, storage::queues_request{}) == errc::none);

  leave(v.w, server_id("s1"));
  const auto client = storage::open_shared_store(v.w.url(), v.time(), open_mode::may_make, &v.later.known);
  REQUIRE_FALSE(client.ok());  // who only enqueues raises nothing
  CHECK(client.error().code == errc::storage_older);
  CHECK(refusal(v.w, storage::queues_request{}) == errc::none);
  CHECK(open().ok());
  CHECK(refusal(v.w, storage::queues_request{}) == errc::storage_newer);
}

ON_STORES_OF_VERSIONS("A layout that nobody knows how to raise is refused and left as it is") {
  versions_of<TestType> v;
  put_all(v.w, {"a"});
  CHECK(storage::raise_layout(v.w.url(), &v.w.clock)->to == 5);
  v.w.command({"SET", "schema", "3"});
  const auto before = stored_in(v.w);
  CHECK(refusal(v.w, storage::queues_request{}) == errc::storage_older);
  CHECK(v.raise().error().code == errc::storage_older);
  CHECK(storage::raise_layout(v.w.url(), &v.w.clock).error().code == errc::storage_older);
  const bool untouched = stored_in(v.w) == before;
  CHECK(untouched);
}

ON_STORES_OF_VERSIONS("A layout that is no number of one is damage and nobody raises it") {
  versions_of<TestType> v;
  put_all(v.w, {"a"});
  v.w.command({"SET", "schema", GENERATE("04", "4 ", "0", "-1", "four")});
  const auto before = stored_in(v.w);
  CHECK(refusal(v.w, storage::queues_request{}) == errc::storage_damaged);
  CHECK(v.raise().error().code == errc::storage_damaged);
  CHECK(storage::raise_layout(v.w.url(), &v.w.clock).error().code == errc::storage_damaged);
  const bool untouched = stored_in(v.w) == before;
  CHECK(untouched);
}

ON_STORES_OF_VERSIONS("Whoever puts something into a store that says no layout says it") {
  TestType w;
  w.command({"DEL", "schema"});
  SECTION("a delayed job") { CHECK(put(w, {.id = "a", .delay = 5s}) == errc::none); }
  SECTION("a queue that is paused") { pause(w, "default"); }
  SECTION("a beat") { beat(w, serving("s1", {"default:1"})); }
  CHECK(w.command({"GET", "schema"}) == "5");
}

ON_STORES_OF_VERSIONS("Versions of one layout go on with what the other began") {
  versions_of<TestType> v;
  world sibling_of(v.w.url(), true, &v.other.known);
  const auto pass = [&](duration d) {
    v.w.clock.advance(d);
    sibling_of.clock.advance(d);
  };
  const bool others_first = GENERATE(true, false);
  CAPTURE(others_first);
  world& one = others_first ? sibling_of : v.w;
  world& other = others_first ? v.w : sibling_of;

  beat(one, serving("s1", {"default:1"}));
  CHECK(beat(other, serving("s1", {"default:1"})));
  CHECK(put(one, {.id = "now"}) == errc::none);
  CHECK(put(one, {.id = "later", .delay = 1s}) == errc::none);
  const auto first = claim_one(other);
  CHECK(renew(one, first) == errc::none);
  CHECK(take(one, first, {"mutex:m"}) == "granted");
  CHECK(settle(other, first, how::retry, 5s) == errc::none);
  CHECK(renew(one, first) == errc::stale_fence);
  pass(10s);
  promote(other);
  const auto both = claim(one, {.free = 2});
  CHECK(ids(both) == names{"later", "now"});
  pass(31s);
  for (const auto code : reap(other, expired(other).leases).each)
    CHECK(code == errc::none);
  const auto again = claim(one, {.free = 2});
  REQUIRE(again.jobs.size() == 2);
  CHECK(take(one, again.jobs[0].job, {"mutex:m"}) == "granted");
  for (const auto& start : again.jobs)
    CHECK(settle(other, start.job) == errc::none);
  CHECK(count_of(counts(one), job_state::succeeded) == 2);
  CHECK(list(other).size() == 2);
  const auto found = one.store().audit();
  REQUIRE(found.ok());
  CHECK(found->empty());
}

TEST_CASE("Libraries of other versions are named and deleted when asked and who still uses one loads it again",
          "[redis]") {
  versions_of<harmed_redis_world> v;
  world sibling_of(v.w.url(), true, &v.other.known);
  REQUIRE(put(sibling_of, {.id = "a"}) == errc::none);
  const auto others = [&](bool remove) {
    const auto named = storage::other_libraries(v.w.url(), remove);
    REQUIRE(named.ok());
    return names(named->begin(), named->end());
  };
  const auto named = others(false);
  CHECK(std::count(named.begin(), named.end(), v.other.known.name()) == 1);
  CHECK(std::count(named.begin(), named.end(), machine::current_library().name()) == 0);
  CHECK(others(true) == named);
  CHECK(others(false).empty());
  CHECK(put(sibling_of, {.id = "b"}) == errc::none);
  CHECK(others(false) == names{v.other.known.name()});
  CHECK(claim(v.w, {.free = 2}).jobs.size() == 2);
}

TEST_CASE("The rules of this layout are kept for the tests of later ones", "[.freeze]") {
  std::ofstream("rules.lua") << machine::current_text();
}
