// A bad record stops nobody: it is put aside with its bytes, and counted.
#include <cstdint>
#include <fstream>
#include <random>

#include "storage/flow_words.hpp"
#include "storage/raw_store.hpp"
#include "support/measure.hpp"

using namespace sluice;
using namespace sluice::test;
using std::chrono::steady_clock;

namespace {

template <class World>
struct harmed : World {
  std::string read(const std::string& hash, const std::string& id) { return this->command({"HGET", hash, id}); }
  void overwrite(const std::string& hash, const std::string& id, const std::string& bytes) {
    this->command({"HSET", hash, id, bytes});
  }
  void lose(const std::string& hash, const std::string& id) { this->command({"HDEL", hash, id}); }
  void break_record(const std::string& id) {
    auto bytes = read("jobs", id);
    bytes.at(bytes.size() / 2) = static_cast<char>(bytes[bytes.size() / 2] ^ 0x20);
    overwrite("jobs", id, bytes);
  }
  // Of what has happened to it there is no checksum.
  void break_history(const std::string& id) { overwrite("history", id, "nonsense"); }
  std::uint64_t quarantined() {
    std::uint64_t n = 0;
    for (const auto& q : queues(*this))
      n += q.quarantined;
    return n;
  }
};

#define ON_HARMED_STORES(name) \
  TEMPLATE_TEST_CASE(name, "[contract]", harmed<harmed_file_world>, harmed<harmed_redis_world>)

// Overwrites some bytes, sometimes cuts or lengthens.
std::string to_retry_singly(std::string bytes, std::mt19937_64& random) {
  for (auto n = random() % 6; n > 0; --n)
    bytes[random() % bytes.size()] = static_cast<char>(random());
  if (random() % 8 == 0) bytes.resize(1 + random() % bytes.size());
  if (random() % 8 == 0) bytes.append(1 + random() % 20, static_cast<char>(random()));
  return bytes;
}

struct stock {
  std::vector<job> running;
  std::map<std::string, std::string> portraits;  // before the damage
  names ids;
};

// 200 jobs that have run before: 50 running, 50 scheduled, 50 final, the others ready.
stock stocked(world& w) {
  stock s;
  storage::enqueue_request r;
  for (int i = 0; i < 200; ++i) {
    s.ids.push_back("j" + std::to_string(i));
    r.jobs.push_back(prepared({.id = s.ids.back(),
                               .args = "[\"" + std::string(static_cast<std::size_t>(i), 'x') + "\"]",
                               .headers = {{"n", std::to_string(i)}}}));
  }
  ask(w, r);
  storage::settle_request once;
  for (const auto& j : jobs_of(claim(w, {.free = 200})))
    once.runs.push_back(ended(j, how::retry));
  ask(w, once);
  storage::settle_request twice;
  const auto again = claim(w, {.free = 150});
  for (std::size_t i = 0; i < 150; ++i) {
    if (i < 50) s.running.push_back(again.jobs[i].job);
    else twice.runs.push_back(ended(again.jobs[i].job, i < 100 ? how::retry : how::succeeded, 1h));
  }
  ask(w, twice);
  for (const auto& j : list(w))
    s.portraits[j.id.value] = portrait(j);
  return s;
}

// Harms half of the jobs' records and answers which differ from what they were.
template <class World>
std::set<std::string> harm_half(World& w, const stock& s, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  names victims = s.ids;
  std::shuffle(victims.begin(), victims.end(), random);
  victims.resize(100);
  std::set<std::string> changed;
  for (const auto& id : victims) {
    const auto was = w.read("jobs", id);
    const auto is = to_retry_singly(was, random);
    w.overwrite("jobs", id, is);
    if (is != was) changed.insert(id);
  }
  return changed;
}

// 80 jobs that have run before: 20 running, 20 scheduled, 20 succeeded, 20 ready.
std::vector<job> small_stock(world& w) {
  names all;
  for (int i = 0; i < 80; ++i)
    all.push_back("j" + std::to_string(i));
  put_all(w, all);
  for (const auto& j : jobs_of(claim(w, {.free = 80})))
    REQUIRE(settle(w, j, how::retry) == errc::none);
  const auto again = jobs_of(claim(w, {.free = 60}));
  for (std::size_t i = 20; i < 60; ++i)
    REQUIRE(settle(w, again[i], i < 40 ? how::retry : how::succeeded, 1h) == errc::none);
  return {again.begin(), again.begin() + 20};
}

}  // namespace

ON_HARMED_STORES("Of damaged records each is read right or put aside, and all others go on") {
  TestType w;
  const bool looked_at_first = GENERATE(true, false);
  CAPTURE(looked_at_first);
  const auto before = stocked(w);
  const auto changed = harm_half(w, before, 4711);
  REQUIRE(changed.size() > 50);

  const auto check_each = [&] {
    for (const auto& id : before.ids) {
      INFO(id);
      const auto got = look(w, id);
      CHECK(got.code == (changed.contains(id) ? errc::damaged_record : errc::none));
      CHECK(got.found.has_value() == !changed.contains(id));
      if (looked_at_first && got.found) CHECK(portrait(*got.found) == before.portraits.at(id));
    }
    CHECK(w.quarantined() == changed.size());
  };
  if (looked_at_first) check_each();

  for (const auto& j : before.running) {
    const auto code = settle(w, j);
    if (!changed.contains(j.id.value)) CHECK(code == errc::none);
  }
  w.clock.advance(2h);
  promote(w);
  std::set<std::string> claimed;
  for (const auto& j : jobs_of(claim(w, {.free = 1000}))) {
    claimed.insert(j.id.value);
    CHECK(settle(w, j) == errc::none);
  }
  std::uint64_t healthy = 0;
  for (const auto& [id, was] : before.portraits)
    if (!changed.contains(id) &&
        (was.find(" enqueued ") != std::string::npos || was.find(" scheduled ") != std::string::npos)) {
      ++healthy;
      CHECK(claimed.contains(id));
    }
  CHECK(claimed.size() == healthy);
  if (!looked_at_first) check_each();
  audit(w);
  w.reopen();
  CHECK(w.quarantined() == changed.size());
  audit(w);
}

ON_HARMED_STORES("Whoever comes upon a damaged record puts it aside") {
  TestType w;
  put_all(w, {"a", "b"});
  const auto running = claim_one(w);
  REQUIRE(settle(w, running, how::retry, 1h) == errc::none);
  SECTION("get") {
    w.break_record("a");
    CHECK(look(w, "a").code == errc::damaged_record);
  }
  SECTION("list") {
    w.break_record("a");
    CHECK(ids(list(w)) == names{"b"});
  }
  SECTION("requeue") {
    w.break_history("a");
    CHECK(requeue(w, "a").code == errc::damaged_record);
  }
  SECTION("remove") {
    w.break_history("a");
    CHECK(remove(w, "a").code == errc::damaged_record);
  }
  SECTION("enqueue of the same id") {
    w.break_record("a");
    CHECK(put(w, {.id = "a"}) == errc::id_conflict);
  }
  SECTION("claim") {
    REQUIRE(requeue(w, "a").code == errc::none);
    GENERATE(true, false) ? w.break_record("a") : w.break_history("a");
    CHECK(ids(claim(w, {.free = 5})) == names{"b"});
  }
  SECTION("a claim asked again") {
    REQUIRE(requeue(w, "a").code == errc::none);
    const auto r = claiming({.free = 2});
    REQUIRE(ask(w, r).jobs.size() == 2);
    GENERATE(true, false) ? w.break_record("a") : w.break_history("a");
    CHECK(ids(ask(w, r)) == names{"b"});
  }
  SECTION("settle") {
    REQUIRE(requeue(w, "a").code == errc::none);
    const auto got = claim(w, {.free = 2});
    w.break_history("a");
    CHECK(settle(w, got.jobs[0].job) == errc::none);
    CHECK(settle(w, got.jobs[1].job) == errc::none);
  }
  SECTION("reap") {
    REQUIRE(requeue(w, "a").code == errc::none);
    REQUIRE(claim(w, {.free = 2}).jobs.size() == 2);
    w.break_history("a");
    lose_all(w);
  }
  CHECK(counts(w).quarantined == 1);
  CHECK(look(w, "a").code == errc::damaged_record);
  CHECK(look(w, "b").code == errc::none);
  CHECK(list(w).size() == 1);
  audit(w);
}

ON_HARMED_STORES("The bytes of a damaged record are kept as they were found") {
  TestType w;
  put_all(w, {"a"});
  REQUIRE(settle(w, claim_one(w), how::retry) == errc::none);
  w.break_record("a");
  const auto record = w.read("jobs", "a"), history = w.read("history", "a");
  REQUIRE_FALSE(history.empty());
  CHECK(claim(w).jobs.empty());
  const auto kept = w.read("quarantine", "a");
  CHECK(kept.find(record) != std::string::npos);
  CHECK(kept.find(history) != std::string::npos);
}

ON_HARMED_STORES("A record that strayed to another job is not taken for its own") {
  TestType w;
  put_all(w, {"a", "b", "c"});
  const auto of_a = w.read("jobs", "a");
  w.overwrite("jobs", "a", w.read("jobs", "b"));
  w.overwrite("jobs", "b", of_a);
  CHECK(ids(claim(w, {.free = 9})) == names{"c"});
  CHECK(w.quarantined() == 2);
}

ON_HARMED_STORES("Damaged jobs are counted in the queue that they stood in") {
  TestType w;
  put_suspect(w, "x");
  REQUIRE(put(w, {.id = "o", .queue = "other"}) == errc::none);
  w.break_record("x");
  w.break_record("o");
  CHECK(list(w).empty());
  CHECK(counts(w).quarantined == 1);
  CHECK(counts(w, "other").quarantined == 1);
  CHECK(counts(w).enqueued == 0);

  storage::quarantine_request r{{}, 1, {}};
  names listed;
  do {
    const auto page = w.template ask<storage::quarantine_answer>(r).page;
    for (const auto& one : page.jobs) {
      listed.push_back(cat(one.queue.value, ' ', one.id.value));
      CHECK(one.since == w.clock.now());
    }
    r.after = page.next;
  } while (!r.after.empty());
  CHECK(listed == names{"default x", "other o"});
  r = {queue_name("other"), 200, {}};
  CHECK(w.template ask<storage::quarantine_answer>(r).page.jobs.size() == 1);
  r.after = "x";
  CHECK(refusal(w, r) == errc::invalid_argument);
  audit(w);
}

TEST_CASE("A file with random bytes in it is answered or refused, and never a crash or a hang", "[contract]") {
  sqlite_file_world w;
  stocked(w);
  const auto path = w.folder.file("harmed.db");
  raw_store(w.folder.file("jobs.db")).run("VACUUM INTO '" + path + "'");
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(whole.size() > 20'000);
  std::mt19937_64 random(42);
  int opened_files = 0;
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    for (const auto* tail : {"-wal", "-shm"})
      std::filesystem::remove(path + tail);
    auto bytes = whole;
    for (int n = 0; n < 60; ++n)
      bytes[100 + random() % (bytes.size() - 100)] = static_cast<char>(random());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    auto opened = storage::open_store("sqlite:" + path, &w.clock);
    if (!opened) continue;
    ++opened_files;
    const std::vector<storage::request> all = {
        storage::queues_request{},  storage::list_request{}, storage::expired_request{},
        storage::promote_request{}, claiming({.free = 300}), storage::enqueue_request{{prepared({.id = "new"})}},
        requeuing(job_id("j120")),  removing(job_id("j3")),  storage::prune_request{}};
    for (const auto& r : all) {
      const auto answers = (*opened)->apply({&r, 1});
      CHECK(answers.size() == 1);
    }
    CHECK((*opened)->apply(all).size() == all.size());
  }
  CHECK(opened_files > 10);
}

ON_HARMED_STORES("Of harmed hashes each job is read or put aside, and all others go on") {
  const std::string hash = GENERATE("jobs", "history", "runs");
  const auto seed = GENERATE(range(1, 6));
  CAPTURE(hash, seed);
  TestType w;
  const auto running = small_stock(w);
  std::map<std::string, std::string> before;
  for (const auto& j : list(w))
    before[j.id.value] = portrait(j);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::set<std::string> victims;
  for (const auto& [id, was] : before)
    if (const auto bytes = w.read(hash, id); !bytes.empty() && random() % 2 == 0) {
      // The name of a queue is left whole: nothing tells one from another.
      const auto names_at = hash == "runs" ? bytes.find(':') - 1 : bytes.size();
      w.overwrite(hash, id, to_retry_singly(bytes.substr(0, names_at), random) + bytes.substr(names_at));
      victims.insert(id);
    }
  REQUIRE(!victims.empty());

  for (const auto& j : running) {
    const auto code = settle(w, j);
    if (!victims.contains(j.id.value)) CHECK(code == errc::none);
  }
  w.clock.advance(2h);
  promote(w);
  std::set<std::string> claimed;
  for (int i = 0; i < 3; ++i)
    for (const auto& j : jobs_of(claim(w, {.free = 1000, .allow_suspect = true}))) {
      claimed.insert(j.id.value);
      const auto code = settle(w, j);
      if (!victims.contains(j.id.value)) CHECK(code == errc::none);
    }
  reap(w, expired(w).leases);
  std::set<std::string> listed;
  for (const auto& j : list(w))
    listed.insert(j.id.value);
  for (const auto& [id, was] : before) {
    INFO(id << ": " << was);
    const auto got = look(w, id);
    CHECK((got.code == errc::none || (victims.contains(id) && got.code == errc::damaged_record)));
    CHECK(listed.contains(id) == (got.code == errc::none));
    const bool waited = was.find(" enqueued ") != std::string::npos || was.find(" scheduled ") != std::string::npos;
    if (!victims.contains(id)) CHECK(claimed.contains(id) == waited);
  }
  CHECK(w.quarantined() == before.size() - listed.size());
  audit(w);
  CHECK(put(w, {.id = "new"}) == errc::none);
  CHECK(claim(w, {.free = 10}).jobs.size() >= 1);
}

ON_HARMED_STORES("A running job whose run cannot be read is put aside when its lease would be looked at") {
  TestType w;
  put_all(w, {"a", "b"});
  REQUIRE(claim(w, {.free = 2}).jobs.size() == 2);
  SECTION("its run is broken") { w.overwrite("runs", "a", "what is this"); }
  SECTION("its run is gone") { w.lose("runs", "a"); }
  SECTION("its record is gone") { w.lose("jobs", "a"); }
  w.clock.advance(31s);
  reap(w, expired(w).leases);
  CHECK(ids(claim(w, {.free = 2, .allow_suspect = true})) == names{"b"});
  CHECK(counts(w).quarantined == 1);
  CHECK(counts(w).processing == 1);
  CHECK(look(w, "a").code == errc::damaged_record);
  audit(w);
}

ON_HARMED_STORES("A past that claims an endless history does not keep the store busy") {
  TestType w;
  put_all(w, {"a", "b"});
  REQUIRE(settle(w, claim_one(w), how::retry) == errc::none);
  const auto running = jobs_of(claim(w, {.free = 2}));
  REQUIRE(running.size() == 2);
  w.overwrite("history", "a", "1 0 0 0 400000000 0:0:0:");
  const auto from = steady_clock::now();
  for (const auto& j : running)
    CHECK(settle(w, j) == errc::none);
  CHECK(seconds_since(from) < 4);
  CHECK(look(w, "a").code == errc::damaged_record);
  CHECK(counts(w).quarantined == 1);
  CHECK(get(w, "b").state == job_state::succeeded);
  audit(w);
}

ON_HARMED_STORES("An id in a line without a record is put aside by whoever comes upon it") {
  TestType w;
  put_all(w, {"a", "b"});
  const auto lose = [&](const std::string& id) { w.lose("jobs", id); };
  SECTION("claim") {
    lose("a");
    CHECK(ids(claim(w, {.free = 5})) == names{"b"});
  }
  SECTION("list") {
    lose("a");
    CHECK(ids(list(w)) == names{"b"});
  }
  SECTION("promote, then claim") {
    REQUIRE(settle(w, claim_one(w), how::retry, 1s) == errc::none);
    lose("a");
    w.clock.advance(2s);
    CHECK(promote(w).moved == 1);
    CHECK(ids(claim(w, {.free = 5})) == names{"b"});
  }
  SECTION("settle, then list") {
    const auto a = claim_one(w);
    lose("a");
    settle(w, a);
    CHECK(ids(list(w)) == names{"b"});
  }
  CHECK(counts(w).quarantined == 1);
  CHECK(look(w, "a").code == errc::damaged_record);
  CHECK(look(w, "b").code == errc::none);
  audit(w);
}

ON_HARMED_STORES(
    "A job is not started in a line of another queue or type, and is put aside unless it has its own place") {
  TestType w;
  const auto taken_in = [&](const std::string& queue) {
    return jobs_of(claim(w, {.queue = queue, .types = "work mail"}));
  };
  REQUIRE(put(w, {.id = "moved", .queue = "staging"}) == errc::none);
  w.command({"ZREM", "ready:staging", "moved"});
  w.command({"ZADD", "ready:prod", "1", "moved"});
  CHECK(taken_in("prod").empty());
  CHECK(w.quarantined() == 1);

  REQUIRE(put(w, {.id = "as-another", .type = "mail", .queue = "staging"}) == errc::none);
  w.command({"ZREM", "ready:staging", "as-another"});
  w.command({"SADD", "types:staging", "work"});
  w.command({"ZADD", "type:staging/work", "1", "as-another"});
  CHECK(taken_in("staging").empty());
  CHECK(w.quarantined() == 2);

  REQUIRE(put(w, {.id = "twice", .queue = "staging"}) == errc::none);
  w.command({"ZADD", "ready:prod", "1", "twice"});
  CHECK(taken_in("prod").empty());
  CHECK(w.quarantined() == 2);
  const auto own = taken_in("staging");
  REQUIRE(own.size() == 1);
  CHECK(own[0].id.value == "twice");
  CHECK(settle(w, own[0]) == errc::none);
  audit(w);
}

ON_HARMED_STORES("A job that was stored without a place is stored whole when it is enqueued again") {
  TestType w;
  const auto timed = changed({.id = "timed"}, [](prepared_job& j) { flow_of(j).finish_within = 1h; });
  REQUIRE(put(w, {.id = "plain"}) == errc::none);
  REQUIRE(report(put_jobs(w, {timed})) == "stored");
  for (const auto* id : {"plain", "timed"})
    w.command({"ZREM", "ready:default", id});
  w.command({"HDEL", "flow", "timed"});  // which would have been written behind its place
  w.command({"ZREM", "agenda", "expire - timed"});
  CHECK(put(w, {.id = "plain"}) == errc::none);
  CHECK(report(put_jobs(w, {timed})) == "stored");
  audit(w);
  for (const auto& j : jobs_of(claim(w, {.free = 2})))
    CHECK(settle(w, j) == errc::none);
  // Who was run is there, wherever he stands.
  w.command({"ZREM", "succeeded:default", "plain"});
  CHECK(put(w, {.id = "plain"}) == errc::none);
  CHECK(jobs_of(claim(w)).empty());
}

ON_HARMED_STORES("A key of the wrong type stops only the queue that it belongs to") {
  const std::string kind = GENERATE("ready", "front", "suspect", "scheduled", "processing", "succeeded");
  CAPTURE(kind);
  TestType w;
  const auto busy = [&](const std::string& queue) {
    for (const auto* id : {"1", "2", "3"})
      REQUIRE(put(w, {.id = queue + id, .queue = queue}) == errc::none);
    REQUIRE(settle(w, claim_one(w, {.queue = queue}), how::retry, 1s) == errc::none);
    return claim_one(w, {.queue = queue});
  };
  const auto harmed_job = busy("harmed");
  const auto healthy_job = busy("healthy");
  const auto key = kind + ":harmed";
  w.command({"DEL", key});
  w.command({"SET", key, "a text"});

  w.clock.advance(2s);
  // What looks at all queues says so, too; nothing of it is done by halves.
  for (const storage::request& r : std::vector<storage::request>{
           storage::promote_request{}, storage::expired_request{}, storage::queues_request{}, storage::list_request{},
           storage::prune_request{}, claiming({.free = 5, .allow_suspect = true, .queue = "harmed"}),
           storage::settle_request{{ended(harmed_job, how::succeeded)}, {}},
           storage::enqueue_request{{prepared({.id = "new", .queue = "harmed"})}}}) {
    const auto code = refusal(w, r);
    CHECK((code == errc::none || code == errc::storage_damaged));
  }
  CHECK(settle(w, healthy_job) == errc::none);
  CHECK(put(w, {.id = "another", .queue = "healthy"}) == errc::none);
  CHECK(claim(w, {.free = 5, .queue = "healthy"}).jobs.size() >= 2);

  w.command({"DEL", key});
  promote(w);
  expired(w);
  for (const auto* id : {"harmed1", "harmed2", "harmed3"}) {
    const auto code = look(w, id).code;
    CHECK((code == errc::none || code == errc::damaged_record));
  }
  audit(w);
}

ON_HARMED_STORES("An end that meets harm costs those that came with it nothing") {
  TestType w;
  const std::vector<job> running = {started(w, "a", "healthy"), started(w, "b", "harmed"), started(w, "c", "healthy"),
                                    started(w, "d", "healthy")};
  REQUIRE(put(w, {.id = "e", .queue = "healthy"}) == errc::none);
  const auto key = "succeeded:harmed";
  w.command({"SET", key, "a text"});
  storage::settle_request r;
  for (const auto& j : running)
    r.runs.push_back(ended(j, how::succeeded));
  r.next = claiming({.queue = "healthy"});
  const auto told = apart(w, r);
  CHECK(told.each == std::vector{errc::none, errc::storage_damaged, errc::none, errc::none});
  CHECK(ids(told.next) == names{"e"});
  for (const auto* id : {"a", "c", "d"})
    CHECK(get(w, id).state == job_state::succeeded);
  w.command({"DEL", key});
  const auto again = ask(w, r);  // all of it, as the first time
  CHECK(again.each == std::vector<errc>(4));
  CHECK(ids(again.next) == names{"e"});
  CHECK(get(w, "b").state == job_state::succeeded);
  audit(w);
}

ON_HARMED_STORES("Where no number can be drawn nothing starts, what ends goes on, and nothing is lost") {
  const std::string number = GENERATE("4503599627370496", "9007199254740993", "nonsense", "", "-1", "1.5", "17e14");
  CAPTURE(number);
  TestType w;
  const auto holds = holding(w, "holds", {m});
  parked(w, "waits", {m});
  const auto fails = started(w, "fails"), again = started(w, "again"), back = started(w, "back");
  REQUIRE(settle(w, started(w, "done")) == errc::none);
  REQUIRE(put(w, {.id = "late", .delay = 1s}) == errc::none);
  put_all(w, {"ready", "gone"});
  const auto held = lock(w, "printer");
  const auto drawn = w.command({"GET", "number"});
  w.clock.advance(2s);
  const auto before = portrait(w);

  w.command({"SET", "number", number});
  for (const storage::request& r : std::vector<storage::request>{
           enqueue_of("new"), claiming({.free = 5}), storage::promote_request{}, requeuing(job_id("done")),
           storage::settle_request{{ended(back, how::given_back)}, {}},
           storage::settle_request{{ended(back, how::retry)}, {}},
           storage::reap_request{{{run_of(back), 0, 30s, false}}, 3},
           storage::acquire_permits_request{{wanting(back, {m})}}, taking("scanner")})
    CHECK(refusal(w, r) == errc::storage_damaged);
  CHECK(portrait(w) == before);
  CHECK(*w.store().audit() == names{w.key("number") + " leaves no number to draw, or is none"});

  CHECK(put(w, {.id = "later", .delay = 1h}) == errc::none);
  CHECK(renew(w, back) == errc::none);
  CHECK(ask(w, renewing("printer", held)).code == errc::none);
  CHECK(remove(w, "gone").code == errc::none);
  storage::settle_request r;
  r.runs = {ended(holds, how::succeeded), ended(back, how::given_back), ended(fails, how::failed),
            ended(again, how::retry, 1h)};
  r.next = claiming({.free = 5});
  const auto told = apart(w, r);
  CHECK(told.each == std::vector{errc::none, errc::storage_damaged, errc::none, errc::none});
  CHECK(told.next.jobs.empty());
  CHECK(get(w, "waits").state == job_state::throttled);
  CHECK(holders(w, m).empty());
  CHECK(counts(w).quarantined == 0);

  w.command({"SET", "number", drawn});
  CHECK(reconcile(w) == 1);
  CHECK(settle(w, back, how::given_back) == errc::none);
  CHECK(promote(w).moved == 1);
  const auto got = claim(w, {.free = 9});
  CHECK(ids(got) == names{"waits", "back", "ready", "late"});
  for (const auto& one : got.jobs)
    CHECK(one.job.fence > back.fence);
  audit(w);
}

ON_HARMED_STORES("Numbers are drawn up to two to the fifty-second") {
  TestType w;
  put_all(w, {"a"});
  w.command({"SET", "number", "4503599627370495"});
  CHECK(claim_one(w).fence.value == 4'503'599'627'370'496);
  CHECK(refusal(w, enqueue_of("b")) == errc::storage_damaged);
  CHECK(get(w, "a").state == job_state::processing);
}

ON_HARMED_STORES("The audit goes through all there is, however much that is") {
  TestType w;
  names all;
  for (int i = 0; i < 600; ++i)
    all.push_back("j" + std::to_string(i));
  put_all(w, all);
  REQUIRE(claim(w, {.free = 300}).jobs.size() == 300);
  REQUIRE(w.store().audit().value() == names{});
  std::set<std::string> expected;
  for (int i = 300; i < 600; i += 3) {
    const auto id = "j" + std::to_string(i);
    w.lose("jobs", id);
    expected.insert("job " + id + " is in " + w.key("ready:default") + " but does not exist");
  }
  for (int i = 0; i < 300; i += 3) {
    const auto id = "j" + std::to_string(i);
    w.lose("runs", id);
    expected.insert("job " + id + " is processing without a run");
  }
  for (int i = 0; i < 300; ++i) {
    const auto n = std::to_string(i);
    w.overwrite("history", "ghost" + n, "x");
    expected.insert("there is a history of job ghost" + n + ", which does not exist");
    w.command({"SET", "orphan" + n, "x"});
    expected.insert("key " + w.key("orphan" + n) + " belongs to nobody");
  }
  const auto found = w.store().audit();
  REQUIRE(found.ok());
  CHECK(std::set<std::string>(found->begin(), found->end()) == expected);
}
