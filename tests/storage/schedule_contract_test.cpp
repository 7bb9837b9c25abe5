// Schedules: kept by name and version, told of when they are due, and fired in the step that moves them on.
#include "storage/contract.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

using happened = storage::update_schedule_answer::how;

storage::schedule_answer look_at(world& w, const std::string& name) {
  return w.ask<storage::schedule_answer>(storage::schedule_request{name});
}
std::optional<storage::schedule_row> schedule(world& w, const std::string& name) { return look_at(w, name).row; }

storage::update_schedule_answer update_limiter(world& w, const storage::update_schedule_request& r) {
  return w.ask<storage::update_schedule_answer>(r);
}

// A change of what stands there now.
storage::update_schedule_request changing(world& w, const std::string& name, duration next_in) {
  storage::update_schedule_request r;
  const auto before = schedule(w, name);
  r.name = name;
  r.version = before ? before->version : 0;
  r.record = "record of " + name;
  r.next_at = w.clock.now() + next_in;
  if (before) r.place = before->place;
  return r;
}

void put_schedule(world& w, const std::string& name, duration next_in) {
  REQUIRE(update_limiter(w, changing(w, name, next_in)).updated);
}

storage::update_schedule_request::occurrence occurrence(const std::string& id, time_point at,
                                                        const std::string& queue = "default") {
  return {at, prepared({.id = id, .queue = queue})};
}

// Fires these ids; the schedule is due again a minute later.
storage::update_schedule_request firing(world& w, const std::string& name, const names& all,
                                        overlap_rule rule = overlap_rule::allow) {
  auto r = changing(w, name, 1min);
  r.overlap = rule;
  for (const auto& id : all)
    r.enqueue.push_back(occurrence(id, w.clock.now()));
  return r;
}

std::string fire(world& w, const std::string& name, const names& all, overlap_rule rule = overlap_rule::allow) {
  const auto told = update_limiter(w, firing(w, name, all, rule));
  REQUIRE(told.updated);
  std::string codes;
  for (const auto one : told.each)
    codes += one == happened::enqueued ? 'e' : one == happened::there ? 't' : 'o';
  return codes;
}

storage::schedules_answer page_behind(world& w, const std::string& after) {
  return w.ask<storage::schedules_answer>(storage::schedules_request{3, after});
}

storage::due_answer due(world& w, std::uint32_t limit = 100) {
  return w.ask<storage::due_answer>(storage::due_request{limit});
}

names names_of(const std::vector<storage::schedule_row>& rows) {
  names all;
  for (const auto& row : rows)
    all.push_back(row.name);
  return all;
}

names runs_of(world& w, const std::string& name) {
  names all;
  const auto row = schedule(w, name);
  for (const auto& run : row->runs)
    all.push_back(run.id.value);
  return all;
}

}  // namespace

ON_EACH_STORE("A schedule is kept as it was put") {
  CHECK_FALSE(schedule(w, "s").has_value());
  auto r = changing(w, "s", 10s);
  r.record = std::string("\0\xff bytes", 8);
  const auto told = update_limiter(w, r);
  REQUIRE(told.updated);
  CHECK(told.now == w.clock.now());
  REQUIRE(told.row);
  CHECK(w.store().made_work());  // others may have to wake up sooner
  const auto kept = schedule(w, "s");
  REQUIRE(kept);
  CHECK(kept->name == "s");
  CHECK(kept->record == *r.record);
  CHECK(kept->next_at == r.next_at);
  CHECK(kept->version > 0);
  CHECK(kept->version == told.row->version);
  CHECK(kept->runs.empty());
  CHECK_FALSE(kept->place.has_value());
  audit(w);
}

ON_EACH_STORE("A schedule is changed only as it was read") {
  const auto old = changing(w, "s", 10s);
  put_schedule(w, "s", 20s);
  auto told = update_limiter(w, old);  // it was not there
  CHECK_FALSE(told.updated);
  REQUIRE(told.row);
  CHECK(told.row->next_at == w.clock.now() + 20s);
  auto second = changing(w, "s", 30s);
  const auto third = changing(w, "s", 40s);
  REQUIRE(update_limiter(w, second).updated);
  CHECK_FALSE(w.store().apply(std::vector<storage::request>{third}).empty());
  CHECK(schedule(w, "s")->next_at == w.clock.now() + 30s);
  second.record.reset();  // with an old version nothing is removed either
  CHECK_FALSE(update_limiter(w, second).updated);
  CHECK(schedule(w, "s").has_value());
}

ON_EACH_STORE("A removed schedule is gone and may come again with another version") {
  put_schedule(w, "s", 10s);
  REQUIRE(fire(w, "s", {"a"}) == "e");
  const auto old = changing(w, "s", 10s);
  auto removing = old;
  removing.record.reset();
  const auto told = update_limiter(w, removing);
  CHECK(told.updated);
  CHECK_FALSE(told.row.has_value());
  CHECK_FALSE(schedule(w, "s").has_value());
  w.clock.advance(1h);
  CHECK(due(w).rows.empty());
  CHECK_FALSE(update_limiter(w, old).updated);
  put_schedule(w, "s", 10s);
  CHECK(schedule(w, "s")->version != old.version);
  CHECK(runs_of(w, "s").empty());
  audit(w);
}

ON_EACH_STORE("Schedules are told of when they are due the longest first") {
  CHECK_FALSE(due(w).next_in.has_value());
  CHECK_FALSE(promote(w).schedule_in.has_value());
  put_schedule(w, "b", 20s);
  put_schedule(w, "a", 30s);
  put_schedule(w, "c", 1h);
  auto r = changing(w, "never", 1s);
  r.next_at.reset();
  REQUIRE(update_limiter(w, r).updated);
  CHECK(due(w).rows.empty());
  CHECK(due(w).next_in == duration(20s));
  CHECK(promote(w).schedule_in == duration(20s));
  w.clock.advance(20s - 1us);
  CHECK(due(w).rows.empty());
  w.clock.advance(1us);
  CHECK(names_of(due(w).rows) == names{"b"});
  CHECK(due(w).next_in == duration(10s));
  CHECK(promote(w).schedule_in == duration(0));
  w.clock.advance(10s);
  CHECK(names_of(due(w).rows) == names{"b", "a"});
  CHECK(due(w).now == w.clock.now());
  CHECK(names_of(due(w, 1).rows) == names{"b"});
  CHECK(due(w, 1).next_in == duration(0));
  CHECK(due(w).next_in == duration(1h - 30s));
}

ON_EACH_STORE("Firing enqueues and moves the schedule on in one step") {
  put_schedule(w, "s", 10s);
  w.clock.advance(10s);
  const auto first = firing(w, "s", {"a", "b"});
  const auto second = first;  // another server that saw the same
  auto told = update_limiter(w, first);
  CHECK(told.each == std::vector{happened::enqueued, happened::enqueued});
  CHECK(w.store().made_work());
  CHECK(schedule(w, "s")->next_at == w.clock.now() + 1min);
  CHECK(due(w).rows.empty());
  CHECK_FALSE(update_limiter(w, second).updated);
  CHECK(ids(list(w)).size() == 2);
  const auto kept = schedule(w, "s");
  REQUIRE(kept->runs.size() == 2);
  CHECK(kept->runs[1].id.value == "b");
  CHECK(kept->runs[1].at == w.clock.now());
  CHECK(ids(claim(w, {.free = 9})) == names{"a", "b"});
  audit(w);
}

ON_EACH_STORE("An occurrence whose id is there already is no second job") {
  put_schedule(w, "s", 10s);
  REQUIRE(put(w, {.id = "a", .args = "[1]"}) == errc::none);
  CHECK(fire(w, "s", {"a", "b", "b"}) == "tet");
  CHECK(get(w, "a").args == "[1]");
  CHECK(runs_of(w, "s") == names{"b"});
  audit(w);
}

ON_EACH_STORE("Occurrences that may overlap are all enqueued") {
  put_schedule(w, "s", 10s);
  CHECK(fire(w, "s", {"a", "b"}) == "ee");
  claim_one(w);
  CHECK(fire(w, "s", {"c"}) == "e");
}

ON_EACH_STORE("With skip nothing is enqueued until the last run is final") {
  const auto skip = overlap_rule::skip;
  put_schedule(w, "s", 10s);
  CHECK(fire(w, "s", {"a", "b"}, skip) == "eo");
  CHECK(fire(w, "s", {"c"}, skip) == "o");
  auto a = claim_one(w);
  CHECK(fire(w, "s", {"d"}, skip) == "o");
  REQUIRE(settle(w, a, how::retry, 10s) == errc::none);
  CHECK(fire(w, "s", {"e"}, skip) == "o");  // it will run again
  w.clock.advance(10s);
  REQUIRE(promote(w).moved == 1);
  a = claim_one(w);
  REQUIRE(settle(w, a) == errc::none);
  CHECK(fire(w, "s", {"f"}, skip) == "e");
  CHECK(runs_of(w, "s").back() == "f");
  audit(w);
}

ON_EACH_STORE("With queue_one one job waits beside the running one") {
  const auto one = overlap_rule::queue_one;
  put_schedule(w, "s", 10s);
  CHECK(fire(w, "s", {"a", "b"}, one) == "eo");
  const auto a = claim_one(w);
  CHECK(fire(w, "s", {"c", "d"}, one) == "eo");
  CHECK(fire(w, "s", {"e"}, one) == "o");
  REQUIRE(settle(w, a) == errc::none);
  CHECK(fire(w, "s", {"f"}, one) == "o");
  claim_one(w);
  CHECK(fire(w, "s", {"g"}, one) == "e");
  audit(w);
}

ON_EACH_STORE("A deleted or pruned job does not hold its schedule up") {
  put_schedule(w, "s", 10s);
  REQUIRE(fire(w, "s", {"a"}, overlap_rule::skip) == "e");
  REQUIRE(remove(w, "a").code == errc::none);
  REQUIRE(fire(w, "s", {"b"}, overlap_rule::skip) == "e");
  REQUIRE(settle(w, claim_one(w)) == errc::none);
  storage::prune_request all;
  all.retention = {{{}, 0}, {{}, 0}, {{}, 0}};
  CHECK(ask(w, all).removed == 2);
  CHECK(fire(w, "s", {"c"}, overlap_rule::skip) == "e");
}

ON_EACH_STORE("Of a schedule's jobs the last twenty are remembered") {
  put_schedule(w, "s", 10s);
  names all;
  for (int i = 0; i < 25; ++i)
    all.push_back(cat("j", i));
  CHECK(fire(w, "s", all) == std::string(25, 'e'));
  CHECK(runs_of(w, "s") == names(all.begin() + 5, all.end()));
  CHECK(fire(w, "s", {"k"}) == "e");
  CHECK(runs_of(w, "s").size() == storage::runs_remembered);
  CHECK(runs_of(w, "s").back() == "k");
}

ON_EACH_STORE("A place is taken only among those that were seen") {
  const auto placing = [&](const std::string& name, duration offset, std::uint64_t among) {
    auto r = changing(w, name, 10s);
    r.place = {offset, 1min, 0};
    r.expected_last_place = among;
    return r;
  };
  REQUIRE(update_limiter(w, placing("a", 0s, 0)).updated);
  CHECK_FALSE(update_limiter(w, placing("b", 30s, 0)).updated);  // meanwhile there is another
  auto seen = look_at(w, "b");
  REQUIRE(seen.places.size() == 1);
  CHECK(seen.places[0].offset == 0s);
  CHECK(seen.places[0].span == 1min);
  REQUIRE(update_limiter(w, placing("b", 30s, seen.places[0].number)).updated);
  const auto b = schedule(w, "b")->place;
  REQUIRE(b);
  CHECK(b->offset == 30s);
  CHECK(b->number > seen.places[0].number);
  CHECK(fire(w, "b", {"j"}) == "e");  // it keeps its place
  CHECK(schedule(w, "b")->place->number == b->number);
  put_schedule(w, "c", 10s);  // of no place: nobody minds
  CHECK(look_at(w, "c").places.size() == 2);
  auto removing = changing(w, "b", 10s);
  removing.record.reset();
  REQUIRE(update_limiter(w, removing).updated);
  CHECK(look_at(w, "c").places.size() == 1);
  auto without = changing(w, "a", 10s);
  without.place.reset();
  REQUIRE(update_limiter(w, without).updated);
  CHECK(look_at(w, "c").places.empty());
  audit(w);
}

ON_EACH_STORE("Schedules are listed by name page after page") {
  for (const auto* name : {"d", "B", "a", "c"})
    put_schedule(w, name, 10s);
  auto page = page_behind(w, "");
  CHECK(names_of(page.rows) == names{"B", "a", "c"});
  CHECK(page.next == "c");
  CHECK(page.now == w.clock.now());
  page = page_behind(w, page.next);
  CHECK(names_of(page.rows) == names{"d"});
  CHECK(page.next.empty());
}

TEMPLATE_TEST_CASE("Schedules survive the end of the process", "[contract]", sqlite_file_world, redis_world) {
  TestType w;
  put_schedule(w, "s", 10s);
  REQUIRE(fire(w, "s", {"a"}) == "e");
  const auto before = schedule(w, "s");
  w.reopen();
  const auto after = schedule(w, "s");
  REQUIRE(after);
  CHECK(after->version == before->version);
  CHECK(after->record == before->record);
  CHECK(after->next_at == before->next_at);
  CHECK(runs_of(w, "s") == names{"a"});
}

TEMPLATE_TEST_CASE("A schedule that cannot be read is told with its bytes and may be written anew", "[contract]",
                   harmed_file_world, harmed_redis_world) {
  TestType w;
  put_schedule(w, "s", 10s);
  w.command({"HSET", "schedules", "s", "no schedule"});
  w.clock.advance(10s);
  const auto told = due(w);
  REQUIRE(told.rows.size() == 1);
  CHECK(told.rows[0].version == 0);
  CHECK(told.rows[0].record == "no schedule");
  put_schedule(w, "s", 10s);
  CHECK(schedule(w, "s")->record == "record of s");
  CHECK(due(w).rows.empty());
}
