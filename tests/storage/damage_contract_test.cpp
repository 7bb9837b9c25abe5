// A bad record stops nobody: it is put aside with its bytes, and counted.
#include <cstdint>
#include <fstream>
#include <random>

#include "storage/contract.hpp"
#include "storage/side_door.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

struct harmed_world : sqlite_file_world {
  side_door door{folder.file("jobs.db")};

  std::string read(const std::string& column, const std::string& id) {
    return door.bytes("SELECT " + column + " FROM jobs WHERE id=?", id);
  }
  void break_record(const std::string& id, const std::string& column = "record") {
    auto bytes = read(column, id);
    bytes.at(bytes.size() / 2) = static_cast<char>(bytes[bytes.size() / 2] ^ 0x20);
    door.overwrite(column, id, bytes);
  }
  std::uint64_t quarantined() {
    std::uint64_t n = 0;
    for (const auto& q : queues(*this))
      n += q.quarantined;
    return n;
  }
};

// Overwrites some bytes, sometimes cuts or lengthens.
std::string harmed(std::string bytes, std::mt19937_64& random) {
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
  for (const auto& j : claim(w, {.free = 200}).jobs)
    once.starts.push_back(ended(j, how::retry));
  ask(w, once);
  storage::settle_request twice;
  const auto again = claim(w, {.free = 150});
  for (std::size_t i = 0; i < 150; ++i) {
    if (i < 50) s.running.push_back(again.jobs[i]);
    else twice.starts.push_back(ended(again.jobs[i], i < 100 ? how::retry : how::succeeded, 1h));
  }
  ask(w, twice);
  for (const auto& j : list(w))
    s.portraits[j.id.value] = portrait(j);
  return s;
}

// Harms half of the jobs and answers which differ from what they were.
std::set<std::string> harm_half(harmed_world& w, const stock& s, const std::string& column, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  names victims = s.ids;
  std::shuffle(victims.begin(), victims.end(), random);
  victims.resize(100);
  std::set<std::string> changed;
  w.door.run("BEGIN");
  for (const auto& id : victims) {
    const auto was = w.read(column, id);
    const auto is = harmed(was, random);
    w.door.overwrite(column, id, is);
    if (is != was) changed.insert(id);
  }
  w.door.run("COMMIT");
  return changed;
}

}  // namespace

TEST_CASE("Of damaged records each is read right or put aside, and all others go on", "[contract]") {
  harmed_world w;
  const std::string column = GENERATE("record", "progress");
  const bool looked_at_first = GENERATE(true, false);
  CAPTURE(column, looked_at_first);
  const auto before = stocked(w);
  const auto changed = harm_half(w, before, column, 4711);
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
  for (const auto& j : claim(w, {.free = 1000}).jobs) {
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

TEST_CASE("Whoever comes upon a damaged record puts it aside", "[contract]") {
  harmed_world w;
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
    w.break_record("a", "progress");
    CHECK(requeue(w, "a").code == errc::damaged_record);
  }
  SECTION("remove") {
    w.break_record("a", "progress");
    CHECK(remove(w, "a").code == errc::damaged_record);
  }
  SECTION("enqueue of the same id") {
    w.break_record("a");
    CHECK(put(w, {.id = "a"}) == errc::id_conflict);
  }
  SECTION("claim") {
    REQUIRE(requeue(w, "a").code == errc::none);
    w.break_record("a", GENERATE("record", "progress"));
    CHECK(ids(claim(w, {.free = 5})) == names{"b"});
  }
  SECTION("a claim asked again") {
    REQUIRE(requeue(w, "a").code == errc::none);
    const auto r = claiming({.free = 2});
    REQUIRE(ask(w, r).jobs.size() == 2);
    w.break_record("a", GENERATE("record", "progress"));
    CHECK(ids(ask(w, r)) == names{"b"});
  }
  SECTION("settle") {
    REQUIRE(requeue(w, "a").code == errc::none);
    const auto got = claim(w, {.free = 2});
    w.break_record("a", "progress");
    CHECK(settle(w, got.jobs[0]) == errc::none);
    CHECK(settle(w, got.jobs[1]) == errc::none);
  }
  SECTION("reap") {
    REQUIRE(requeue(w, "a").code == errc::none);
    REQUIRE(claim(w, {.free = 2}).jobs.size() == 2);
    w.break_record("a", "progress");
    lose_all(w);
  }
  CHECK(counts(w).quarantined == 1);
  CHECK(look(w, "a").code == errc::damaged_record);
  CHECK(look(w, "b").code == errc::none);
  CHECK(list(w).size() == 1);
  audit(w);
}

TEST_CASE("The bytes of a damaged record are kept as they were found", "[contract]") {
  harmed_world w;
  put_all(w, {"a"});
  REQUIRE(settle(w, claim_one(w), how::retry) == errc::none);
  w.break_record("a");
  const auto record = w.read("record", "a");
  const auto progress = w.read("progress", "a");
  CHECK(claim(w).jobs.empty());
  CHECK(w.door.bytes("SELECT record FROM quarantine WHERE id=?", "a") == record);
  CHECK(w.door.bytes("SELECT progress FROM quarantine WHERE id=?", "a") == progress);
}

TEST_CASE("A record that strayed to another job is not taken for its own", "[contract]") {
  harmed_world w;
  put_all(w, {"a", "b", "c"});
  const auto of_a = w.read("record", "a");
  w.door.overwrite("record", "a", w.read("record", "b"));
  w.door.overwrite("record", "b", of_a);
  CHECK(ids(claim(w, {.free = 9})) == names{"c"});
  CHECK(w.quarantined() == 2);
}

TEST_CASE("Damaged jobs are counted in the queue that they stood in", "[contract]") {
  harmed_world w;
  put_suspect(w, "x");
  REQUIRE(put(w, {.id = "o", .queue = "other"}) == errc::none);
  w.break_record("x");
  w.break_record("o");
  CHECK(list(w).empty());
  CHECK(counts(w).quarantined == 1);
  CHECK(counts(w, "other").quarantined == 1);
  CHECK(counts(w).enqueued == 0);
  audit(w);
}

TEST_CASE("A file with random bytes in it is answered or refused, and never a crash or a hang", "[contract]") {
  sqlite_file_world w;
  stocked(w);
  const auto path = w.folder.file("harmed.db");
  side_door(w.folder.file("jobs.db")).run("VACUUM INTO '" + path + "'");
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(whole.size() > 20'000);
  std::mt19937_64 random(42);
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
    const std::vector<storage::request> all = {storage::queues_request{},
                                               storage::list_request{},
                                               storage::expired_request{},
                                               storage::promote_request{},
                                               claiming({.free = 300}),
                                               storage::enqueue_request{{prepared({.id = "new"})}},
                                               storage::requeue_request{job_id("j120")},
                                               storage::remove_request{job_id("j3")},
                                               storage::prune_request{}};
    for (const auto& r : all) {
      const auto answers = (*opened)->apply({&r, 1});
      CHECK(answers.size() == 1);
    }
    CHECK((*opened)->apply(all).size() == all.size());
  }
}
