// A disk that fails below SQLite, and power that does: what was acknowledged is there afterwards, and the store goes
// on.
#include <limits>

#include "storage/contract.hpp"
#include "storage/frail_disk.hpp"
#include "storage/sqlite/database.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

enum class stage : std::uint8_t { absent, waiting, running, done };

// A producer and a server in one, who remember what the store has acknowledged. As theirs do, they ask again when they
// were not told how it went.
class witness {
public:
  explicit witness(unsigned seed) : random_(seed) { REQUIRE(open()); }

  frail_disk& disk() { return disk_; }

  void act() {
    if (!store_ && !open()) return;
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2: enqueue(); break;
      case 3:
      case 4: claim(); break;
      case 5:
      case 6: settle(); break;
      default: close_and_open(); break;
    }
    if (store_) store_->tidy();
  }

  // After a power loss; the server is a new one then.
  void restart() {
    disk_.cut_power();
    store_.reset();
    disk_.restart(random_, 50 * (random_() % 3));
    ++server_;
    REQUIRE(open());
    check();
  }

  void check() {
    for (auto& [id, it] : jobs_) {
      const auto got = apply<storage::get_answer>(storage::get_request{job_id(id)});
      INFO("job " << id);
      REQUIRE(got.has_value());
      const auto is = stage_of(*got);
      CHECK(it.may_be.count(is) == 1);
      if (is == stage::running && it.run) CHECK(got->found->fence == it.run->fence);
      it.may_be = {is};
    }
    const auto told = store_->audit();
    REQUIRE(told.ok());
    CHECK(*told == names{});
  }

  void check_that_it_works() {
    const auto stored = enqueue("last", "other");
    CHECK(stored == errc::none);
    const auto got = apply<storage::claim_answer>(claiming({.queue = "other", .server = "last"}));
    REQUIRE((got && got->jobs.size() == 1));
    const storage::settle_request end{{ended(got->jobs[0].job, how::succeeded)}, {}};
    const auto told = apply<storage::settle_answer>(end);
    CHECK((told && told->each.at(0) == errc::none));
  }

  errc enqueue(const std::string& id, const std::string& queue = "default") {
    auto& it = jobs_[id];
    const auto args = cat('"', std::string(std::hash<std::string>{}(id) % 10 == 0 ? 200'000 : 20, 'x'), '"');
    const auto told =
        apply<storage::enqueue_answer>(storage::enqueue_request{{prepared({.id = id, .queue = queue, .args = args})}});
    if (!told) return learn(it, stage::waiting);
    CHECK(told->each.at(0) == errc::none);
    if (it.may_be.erase(stage::absent) == 1) it.may_be.insert(stage::waiting);
    return told->each.at(0);
  }

private:
  struct memory {
    std::set<stage> may_be{stage::absent};
    std::optional<storage::run_key> run{};
  };

  static stage stage_of(const storage::get_answer& got) {
    if (!got.found) return stage::absent;
    if (got.found->state == job_state::enqueued) return stage::waiting;
    return got.found->state == job_state::processing ? stage::running : stage::done;
  }

  bool open() {
    auto opened = storage::open_store(folder_.url(), &clock_);
    if (opened) store_ = std::move(*opened);
    return opened.ok();
  }

  void close_and_open() {
    store_.reset();
    open();
  }

  // Empty: it was refused, `why_`, and `is_unknown_` when it may have been done all the same.
  template <class Answer>
  std::optional<Answer> apply(const storage::request& r) {
    is_unknown_ = false;
    for (int tries = 0; tries < 3; ++tries) {
      auto answer = std::move(store_->apply({&r, 1}).at(0));
      if (auto* told = std::get_if<Answer>(&answer)) return std::move(*told);
      why_ = code_of(answer);
      is_unknown_ = is_unknown_ || why_ == errc::unknown_outcome;
      CHECK(why_ != errc::storage_damaged);
      if (!is_unknown_) break;
    }
    return std::nullopt;
  }

  errc learn(memory& it, stage perhaps) const {
    if (is_unknown_) it.may_be.insert(perhaps);
    return why_;
  }

  void enqueue() {
    std::string id = cat("j", jobs_.size());
    for (const auto& [other, it] : jobs_)
      if (it.may_be.count(stage::absent) == 1) id = other;
    enqueue(id);
  }

  void claim() {
    const auto got = apply<storage::claim_answer>(
        claiming({.free = static_cast<std::uint32_t>(1 + random_() % 3), .server = cat("s", server_)}));
    if (!got) {
      for (auto& [id, it] : jobs_)
        if (it.may_be.count(stage::waiting) == 1) learn(it, stage::running);
      return;
    }
    for (const auto& one : got->jobs) {
      auto& it = jobs_.at(one.job.id.value);
      INFO("job " << one.job.id.value);
      CHECK(it.may_be.count(stage::waiting) == 1);
      it = {{stage::running}, run_of(one.job)};
    }
  }

  void settle() {
    for (auto& [id, it] : jobs_) {
      if (!it.run || it.may_be != std::set{stage::running}) continue;
      storage::settlement end;
      end.run = *it.run;
      end.cause = "succeeded";
      end.text = "42";
      end.reason = "because";
      const auto told = apply<storage::settle_answer>(storage::settle_request{{end}, {}});
      INFO("job " << id);
      if (told) {
        CHECK(told->each.at(0) == errc::none);
        it.may_be = {stage::done};
      } else {
        learn(it, stage::done);
      }
      return;
    }
  }

  frail_disk disk_;
  const temp_dir folder_;
  const manual_clock clock_;
  std::mt19937 random_;
  std::unique_ptr<storage::store> store_;
  std::map<std::string, memory> jobs_;
  int server_ = 0;
  errc why_ = errc::none;
  bool is_unknown_ = false;
};

}  // namespace

TEST_CASE("What was acknowledged is there after a power loss at any write and any sync", "[sqlite]") {
  int failed = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    witness w(seed);
    std::mt19937 random(seed);
    for (int losses = 0; losses < 3; ++losses) {
      const int within[] = {20, 200, 2'000};
      w.disk().fail(disk_fault::power_fails, 1 + static_cast<int>(random() % within[random() % 3]));
      for (int i = 0; i < 60 && !w.disk().has_failed(); ++i)
        w.act();
      failed += w.disk().has_failed();
      w.restart();
    }
    w.check_that_it_works();
  }
  CHECK(failed > 60);  // of 120: of the others the power was not needed so long
}

TEST_CASE("A disk that fails once costs nothing that was acknowledged, then or after a power loss", "[sqlite]") {
  const auto what = GENERATE(disk_fault::write_fails, disk_fault::half_written, disk_fault::no_room_in_half,
                             disk_fault::sync_fails, disk_fault::read_fails);
  CAPTURE(static_cast<int>(what));
  int failed = 0;
  for (unsigned seed = 1; seed <= 24; ++seed) {
    INFO("seed " << seed);
    witness w(seed);
    const bool is_seldom = what == disk_fault::sync_fails || what == disk_fault::read_fails;
    w.disk().fail(what, static_cast<int>(is_seldom ? seed : seed * seed));
    for (int i = 0; i < 30; ++i)
      w.act();
    failed += w.disk().has_failed();
    w.disk().heal();
    w.act();
    w.restart();
    w.check_that_it_works();
  }
  CHECK(failed > 8);  // of 24
}

TEST_CASE("While a disk takes nothing no job is acknowledged, and all goes on once it does", "[sqlite]") {
  const auto [what, expected] = GENERATE(std::pair(disk_fault::write_fails, errc::unknown_outcome),
                                         std::pair(disk_fault::no_room_in_half, errc::storage_full),
                                         std::pair(disk_fault::sync_fails, errc::storage_unavailable));
  CAPTURE(static_cast<int>(what));
  witness w(1);
  CHECK(w.enqueue("before") == errc::none);
  w.disk().fail(what, 1, std::numeric_limits<int>::max());
  for (int i = 0; i < 10; ++i)
    CHECK(w.enqueue(cat("meanwhile", i)) == expected);
  w.disk().heal();
  CHECK(w.enqueue("meanwhile0") == errc::none);
  w.restart();
  w.check_that_it_works();
}

TEST_CASE("A job that is enqueued again after a failed sync is there after a power loss", "[sqlite]") {
  witness w(1);
  w.disk().fail(disk_fault::sync_fails);
  CHECK(w.enqueue("a") == errc::none);  // asked again, since nobody could say
  REQUIRE(w.disk().has_failed());
  CHECK(w.enqueue("b") == errc::none);
  w.restart();
  w.check_that_it_works();
}

TEST_CASE("What a database did not sync is gone after a power loss on the disk of these tests", "[sqlite]") {
  frail_disk disk;
  const temp_dir folder;
  std::mt19937 random(1);
  {
    storage::sqlite::database db(folder.file("plain.db"));
    db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE jobs(id); INSERT INTO jobs VALUES(1)");
    db.execute("PRAGMA synchronous=OFF; INSERT INTO jobs VALUES(2)");
    disk.cut_power();
  }
  disk.restart(random, 0);
  storage::sqlite::database db(folder.file("plain.db"));
  auto left = db.prepare("SELECT count(*) FROM jobs");
  REQUIRE(left.step());
  CHECK(left.number(0) == 1);
}
