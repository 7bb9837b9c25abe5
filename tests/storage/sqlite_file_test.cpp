// What only a file can suffer: to be somebody else's, full, or gone.
#include <fstream>

#include "storage/contract.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

errc open_refusal(const std::string& url) {
  manual_clock clock;
  const auto opened = storage::open_store(url, &clock);
  return opened ? errc::none : opened.error().code;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string text_of(std::size_t size) { return '"' + std::string(size, 'x') + '"'; }

// Why the first of these jobs was not stored.
errc why_not_stored(world& w, const storage::request& r) {
  const auto told = w.store().apply({&r, 1}).at(0);
  const auto* each = std::get_if<storage::enqueue_answer>(&told);
  return each ? each->each.at(0) : code_of(told);
}

// Enqueues until the store is full; answers how many went in.
std::size_t fill(world& w) {
  for (std::size_t n = 0; n < 10'000; ++n) {
    const auto code = why_not_stored(w, enqueue_of("fill" + std::to_string(n), text_of(5'000)));
    if (code == errc::none) continue;
    CHECK(code == errc::storage_full);
    return n;
  }
  FAIL("it never became full");
  return 0;
}

}  // namespace

TEST_CASE("All that was answered is there when the file is opened again", "[sqlite]") {
  sqlite_file_world w;
  put_suspect(w, "x");
  put_all(w, {"a", "b", "c"});
  REQUIRE(put(w, {.id = "later", .delay = 1h}) == errc::none);
  REQUIRE(put(w, {.id = "m", .type = "mail"}) == errc::none);
  REQUIRE(settle(w, claim_one(w)) == errc::none);
  REQUIRE(settle(w, claim_one(w), how::given_back) == errc::none);
  const auto running = claim_one(w);
  CHECK(claim(w, {.free = 5}).jobs.size() == 1);
  pause(w, "other");
  const auto before = portrait(w);
  for (int i = 0; i < 3; ++i) {
    w.reopen();
    CHECK(portrait(w) == before);
    audit(w);
  }
  CHECK(counts(w, "other").paused);
  CHECK(settle(w, running) == errc::none);
}

TEST_CASE("A store says how much of a crash it survives", "[sqlite]") {
  sqlite_file_world w;
  CHECK(w.store().durability() == (w.folder.is_in_memory() ? durability::volatile_ : durability::power_safe));
  CHECK(sqlite_memory_world().store().durability() == durability::volatile_);
}

TEST_CASE("A file on a file system in memory survives no restart, and says why", "[sqlite]") {
  if (!temp_dir::is_in_memory("/dev/shm")) {
    WARN("there is no file system in memory here: skipped");
    return;
  }
  struct in_memory {
    const std::filesystem::path folder = cat("/dev/shm/sluice-test-", ::getpid());
    in_memory() { std::filesystem::create_directory(folder); }
    ~in_memory() { std::filesystem::remove_all(folder); }
  } at;
  const auto opened = storage::open_store(cat("sqlite:", (at.folder / "jobs.db").string()));
  REQUIRE(opened.ok());
  CHECK((*opened)->durability() == durability::volatile_);
  CHECK((*opened)->settings().find("on a file system in memory") != std::string::npos);
}

TEST_CASE("A score that is no number is refused by the file, and in an older file it is told of and read by nobody") {
  sqlite_file_world w;
  put_all(w, {"a", "b"});
  raw_store raw(w.folder.file("jobs.db"));
  const std::string harm = "UPDATE scores SET score='x' WHERE member=CAST('a' AS BLOB)";
  CHECK_THROWS(raw.run(harm));
  raw.run("PRAGMA ignore_check_constraints=ON");
  raw.run(harm);
  const auto findings = w.store().audit();
  REQUIRE(findings.ok());
  CHECK(std::count_if(findings->begin(), findings->end(), [](const auto& f) {
          return f.find("with a score that is no number") != std::string::npos;
        }) == 1);
  CHECK(w.store().repair([](const auto&) {}).ok());
  CHECK(claim(w, {.free = 2}).jobs.size() == 1);
  CHECK(promote(w).moved == 0);
}

TEST_CASE("A URL that names no store is refused before anything is opened", "[sqlite]") {
  for (const auto* url : {"", "jobs.db", "sqlite:", "sqlite://x", "sqlite::temp:", "sqlite:folder/", "sqlite:x?y=1",
                          "sqlite:x?max_pages=", "sqlite:x?max_pages=-1", "sqlite:x?max_pages=8", "mysql:x"}) {
    CAPTURE(url);
    const auto known = storage::check_url(url);
    CHECK_FALSE(known.ok());
    CHECK(open_refusal(url) == errc::invalid_argument);
  }
  const temp_dir folder;
  CHECK(open_refusal(folder.url("no/such/folder/jobs.db")) == errc::io_error);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("A file of another layout is refused and left as it is", "[sqlite]") {
  sqlite_file_world w;
  put_all(w, {"a"});
  raw_store(w.folder.file("jobs.db")).run("PRAGMA user_version=99");
  CHECK(open_refusal(w.url()) == errc::storage_newer);
  raw_store(w.folder.file("jobs.db")).run("PRAGMA user_version=2");
  CHECK(open_refusal(w.url()) == errc::storage_older);  // of before the first release
  raw_store(w.folder.file("jobs.db")).run("PRAGMA user_version=5");
  w.reopen();
  CHECK(ids(claim(w)) == names{"a"});
}

TEST_CASE("A database of somebody else is refused and left as it is", "[sqlite]") {
  const temp_dir folder;
  const auto path = folder.file("jobs.db");
  storage::sqlite::database(path).execute("CREATE TABLE theirs(x); INSERT INTO theirs VALUES('precious')");
  const auto before = contents(path);
  REQUIRE(before.size() > 4'000);
  CHECK(open_refusal(folder.url()) == errc::storage_damaged);
  const bool untouched = contents(path) == before;
  CHECK(untouched);
  storage::sqlite::database theirs(path);
  auto kept = theirs.prepare("SELECT x FROM theirs");
  REQUIRE(kept.step());
  CHECK(kept.text(0) == "precious");
  auto mode = theirs.prepare("PRAGMA journal_mode");
  REQUIRE(mode.step());
  CHECK(mode.text(0) == "delete");
}

TEST_CASE("A file that is no database is refused and left as it is", "[sqlite]") {
  const temp_dir folder;
  const auto path = folder.file("jobs.db");
  const std::size_t size = GENERATE(2, 17, 99, 100, 512, 4'096, 100'000);
  CAPTURE(size);
  std::string garbage(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    garbage[i] = static_cast<char>(i * 31 + 7);
  std::ofstream(path, std::ios::binary) << garbage;
  CHECK(open_refusal(folder.url()) == errc::storage_damaged);
  const bool untouched = contents(path) == garbage;
  CHECK(untouched);
}

TEST_CASE("A full store refuses new jobs and keeps the others", "[sqlite]") {
  const temp_dir folder;
  world w(GENERATE(true, false) ? "sqlite::memory:?max_pages=64" : folder.url() + "?max_pages=64");
  const auto n = fill(w);
  REQUIRE(n > 5);
  CHECK(counts(w).enqueued == n);
  CHECK(look(w, "fill" + std::to_string(n)).code == errc::not_found);
  CHECK(why_not_stored(w, enqueue_of("more", text_of(100'000))) == errc::storage_full);  // and again
  CHECK(why_not_stored(w, enqueue_of("fill0", text_of(5'000))) == errc::none);           // it is there
  CHECK(get(w, "fill0").args == text_of(5'000));
  audit(w);
}

TEST_CASE("A full store takes jobs again when old ones were pruned", "[sqlite]") {
  const temp_dir folder;
  world w(folder.url() + "?max_pages=64");
  for (int i = 0; i < 3; ++i) {
    REQUIRE(why_not_stored(w, enqueue_of("done" + std::to_string(i), text_of(5'000))) == errc::none);
    REQUIRE(settle(w, claim_one(w)) == errc::none);
  }
  const auto n = fill(w);
  storage::prune_request all;
  all.retention.succeeded = {{}, 0};
  CHECK(ask(w, all).removed == 3);
  CHECK(why_not_stored(w, enqueue_of("now", text_of(5'000))) == errc::none);
  CHECK(counts(w).enqueued == n + 1);
  audit(w);
}

TEST_CASE("A full store still runs and settles the jobs that it holds", "[sqlite]") {
  const temp_dir folder;
  world w(folder.url() + "?max_pages=64");
  const auto n = fill(w);
  std::size_t settled = 0;
  for (; settled < n; ++settled) {
    const auto r = claiming({});
    const auto answers = w.store().apply(std::vector<storage::request>{r});
    if (code_of(answers.at(0)) != errc::none) break;
    const auto& got = std::get<storage::claim_answer>(answers[0]);
    if (refusal(w, storage::settle_request{{ended(got.jobs.at(0).job, how::succeeded)}, {}}) != errc::none) break;
  }
  CHECK(settled == n);
}

TEST_CASE("An end that is too large for the room there is costs those that came with it nothing", "[sqlite]") {
  const temp_dir folder;
  world w(folder.url() + "?max_pages=64");
  put_all(w, {"a", "large", "b", "c"});
  storage::settle_request all;
  for (const auto& j : jobs_of(claim(w, {.free = 4})))
    all.runs.push_back(ended(j, how::succeeded));
  REQUIRE(all.runs.size() == 4);
  all.runs[1].text = text_of(1'000'000);
  CHECK(apart(w, all).each == std::vector{errc::none, errc::storage_full, errc::none, errc::none});
  CHECK(get(w, "large").state == job_state::processing);
  all.runs[1].text = "small";
  CHECK(ask(w, all).each == std::vector<errc>(4));
  CHECK(get(w, "large").result == "small");
  audit(w);
}

TEST_CASE("A full store ends many jobs at a time, behind a large one too", "[sqlite]") {
  world w("sqlite::memory:?max_pages=256");
  REQUIRE(why_not_stored(w, enqueue_of("large", text_of(120'000))) == errc::none);
  std::size_t n = 1;
  for (bool full = false; !full;) {
    storage::enqueue_request some;
    for (int i = 0; i < 50; ++i)
      some.jobs.push_back(prepared({.id = "j" + std::to_string(n + static_cast<std::size_t>(i))}));
    full = why_not_stored(w, some) == errc::storage_full;
    n += full ? 0 : 50;
  }
  REQUIRE(n > 200);
  std::size_t settled = 0;
  for (auto got = claim(w, {.free = 64}); !got.jobs.empty(); got = claim(w, {.free = 64})) {
    storage::settle_request all;
    for (const auto& j : jobs_of(got))
      all.runs.push_back(ended(j, how::succeeded));
    REQUIRE(refusal(w, all) == errc::none);
    settled += got.jobs.size();
  }
  CHECK(settled == n);
}

TEST_CASE("A full store goes on where it was once it may be larger", "[sqlite]") {
  const temp_dir folder;
  std::size_t n = 0;
  {
    world w(folder.url() + "?max_pages=64");
    n = fill(w);
  }
  {
    world w(folder.url() + "?max_pages=32");  // less than it has
    CHECK(counts(w).enqueued == n);
    CHECK(why_not_stored(w, enqueue_of("more", text_of(20'000))) == errc::storage_full);
  }
  world w(folder.url());
  CHECK(why_not_stored(w, enqueue_of("more", text_of(20'000))) == errc::none);
  CHECK(claim(w, {.free = 1000}).jobs.size() == n + 1);
  audit(w);
}

TEST_CASE("What does not fit costs the others of its batch nothing", "[sqlite]") {
  const temp_dir folder;
  world w(folder.url() + "?max_pages=64");
  put_all(w, {"a"});
  const auto running = claim_one(w);
  const std::vector<storage::request> batch = {enqueue_of("small"),
                                               storage::settle_request{{ended(running, how::succeeded)}, {}},
                                               enqueue_of("big", text_of(800'000))};
  const auto answers = w.store().apply(batch);
  CHECK(code_of(answers.at(0)) == errc::none);
  CHECK(code_of(answers.at(1)) == errc::none);
  CHECK(code_of(answers.at(2)) == errc::storage_full);
  CHECK(w.store().made_work());
  CHECK(look(w, "small").code == errc::none);
  CHECK(look(w, "big").code == errc::not_found);
  CHECK(get(w, "a").state == job_state::succeeded);
  CHECK(settle(w, running) == errc::none);
  REQUIRE(put(w, {.id = "elsewhere", .queue = "new-queue"}) == errc::none);
  audit(w);
}

TEST_CASE("A file that was removed or replaced is lost, and every later request says so", "[sqlite]") {
  sqlite_file_world w;
  put_all(w, {"a"});
  const auto path = w.folder.file("jobs.db");
  SECTION("removed") { std::filesystem::remove(path); }
  SECTION("moved away") { std::filesystem::rename(path, path + ".old"); }
  SECTION("replaced") {
    manual_clock clock;
    REQUIRE(storage::open_store(w.folder.url("other.db"), &clock).ok());
    std::filesystem::rename(w.folder.file("other.db"), path);
  }
  SECTION("its lock removed") { std::filesystem::remove(path + ".lock"); }
  SECTION("its log removed") { std::filesystem::remove(path + "-wal"); }
  SECTION("its shared memory removed") { std::filesystem::remove(path + "-shm"); }
  SECTION("its lock replaced") {
    std::ofstream(path + ".new");
    std::filesystem::rename(path + ".new", path + ".lock");
  }
  CHECK(why_not_stored(w, enqueue_of("b")) == errc::storage_lost);
  CHECK(why_not_stored(w, enqueue_of("b")) == errc::storage_lost);
  CHECK(refusal(w, get_of("a")) == errc::storage_lost);
  CHECK(refusal(w, claiming({})) == errc::storage_lost);
  CHECK(refusal(w, storage::queues_request{}) == errc::storage_lost);
  CHECK_FALSE(w.store().made_work());
}
