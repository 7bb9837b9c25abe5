// A file that SQLite cannot make sense of, and one of which a single key is harmed.
#include <fstream>
#include <mutex>

#include <sluice/log.hpp>

#include "core/log.hpp"
#include "storage/contract.hpp"
#include "storage/raw_store.hpp"
#include "storage/sqlite/file_check.hpp"
#include "support/process.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::size_t page = 4'096;

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A page that belongs to nothing: SQLite goes on without a word, and finds it only when it looks at everything.
void lose_a_page(const std::string& path) {
  raw_store(path).run(
      "CREATE TABLE extra(x); INSERT INTO extra VALUES(1); PRAGMA writable_schema=ON; "
      "DELETE FROM sqlite_master WHERE name='extra'");
}

error write_refused(world& w, const std::string& id = "new") {
  const auto r = enqueue_of(id);
  auto answers = w.store().apply({&r, 1});
  REQUIRE(std::holds_alternative<error>(answers.at(0)));
  return std::get<error>(answers[0]);
}

// What is logged meanwhile.
class logged {
public:
  logged() {
    set_log_sink([this](log_level, std::string_view line) {
      std::lock_guard hold(mutex_);
      all_.append(line).append("\n");
    });
    set_log_level(log_level::warn);
  }
  ~logged() {
    set_log_level(log_level::off);
    log::flush(std::chrono::seconds(10));
    set_log_sink({});
  }

  int count(const std::string& words) {
    std::lock_guard hold(mutex_);
    int found = 0;
    for (std::size_t at = 0; (at = all_.find(words, at)) != std::string::npos; at += words.size())
      ++found;
    return found;
  }

private:
  std::mutex mutex_;
  std::string all_;
};

}  // namespace

TEST_CASE("A file that SQLite finds damaged is written no more, and stays as it is", "[sqlite]") {
  const temp_dir folder;
  const auto path = folder.file("harmed.db");
  {
    world w(folder.url());
    for (int i = 0; i < 200; ++i)
      put_all(w, {"j" + std::to_string(i)});
    raw_store(folder.file("jobs.db")).run("VACUUM INTO '" + path + "'");
  }
  auto bytes = contents(path);
  REQUIRE(bytes.size() > 4 * page);
  for (std::size_t i = page; i < bytes.size(); ++i)  // all but the first page, which says what is in the file
    bytes[i] = static_cast<char>(i * 31 + 7);
  bytes[18] = bytes[19] = 2;  // WAL, as in any store, or to open it would change that
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;

  world w(folder.url("harmed.db"));
  CHECK_FALSE(w.store().has_failed_for_good());
  CHECK(refusal(w, get_of("j1")) == errc::storage_damaged);
  CHECK(w.store().has_failed_for_good());
  const auto why = write_refused(w);
  CHECK(why.code == errc::storage_damaged);
  CHECK(why.message.find("nothing is written any more") != std::string::npos);
  const bool untouched = contents(path) == bytes;
  CHECK(untouched);
}

TEST_CASE("A check finds what no request comes upon, and then nothing is written any more", "[sqlite]") {
  sqlite_file_world w;
  put_all(w, {"a"});
  lose_a_page(w.folder.file("jobs.db"));
  put_all(w, {"b"});  // nobody notices
  w.store().check_in_background();
  int tries = 0;
  CHECK(eventually([&] { return refusal(w, enqueue_of("c" + std::to_string(tries++))) == errc::storage_damaged; }));
  CHECK(write_refused(w).message.find("never used") != std::string::npos);
  CHECK(w.store().has_failed_for_good());
  CHECK(get(w, "a").state == job_state::enqueued);  // looks go on
}

TEST_CASE("A check of a sound file changes nothing, and ends with its store", "[sqlite]") {
  const temp_dir folder;
  for (int i = 0; i < 20; ++i) {
    world w(folder.url());
    w.store().check_in_background();
    w.store().check_in_background();
    put_all(w, {"a" + std::to_string(i)});
    CHECK_FALSE(w.store().has_failed_for_good());
  }
  CHECK(storage::sqlite::find_damage(folder.file("jobs.db"), {}) == "");
}

TEST_CASE("A key that is harmed by itself stops what touches it and not the file", "[sqlite]") {
  harmed_file_world w;
  REQUIRE(put(w, {.id = "a", .queue = "harmed"}) == errc::none);
  w.raw.run("UPDATE keys SET kind=9 WHERE name=CAST('{sluice}:ready:harmed' AS BLOB)");
  const std::vector<storage::request> both = {claiming({.queue = "harmed"}),
                                              storage::enqueue_request{{prepared({.id = "b", .queue = "healthy"})}}};
  const auto answers = w.store().apply(both);
  CHECK(code_of(answers.at(0)) == errc::storage_damaged);
  CHECK(code_of(answers.at(1)) == errc::none);
  CHECK_FALSE(w.store().has_failed_for_good());
  CHECK(ids(claim(w, {.queue = "healthy"})) == names{"b"});
}

TEST_CASE("A file of ours without its tables is told of when it is opened, and left as it is", "[sqlite]") {
  const auto what = GENERATE(as<std::string>(), "DROP TABLE members",
                             "DROP TABLE keys; DROP TABLE fields; DROP TABLE scores; DROP TABLE members");
  CAPTURE(what);
  const temp_dir folder;
  REQUIRE(storage::open_store(folder.url()).ok());
  raw_store(folder.file("jobs.db")).run(what);
  for (const auto mode : {open_mode::may_make, open_mode::must_exist, open_mode::read_only}) {
    const auto opened = storage::open_store(folder.url(), nullptr, mode);
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code == errc::storage_damaged);
    CHECK(opened.error().message.find("tables are missing") != std::string::npos);
  }
  storage::sqlite::database file(folder.file("jobs.db"));
  auto members = file.prepare("SELECT count(*) FROM sqlite_master WHERE name='members'");
  REQUIRE(members.step());
  CHECK(members.number(0) == 0);
}

TEST_CASE("A log that a reader keeps from being cut back is told of once", "[sqlite]") {
  const bool somebody_reads = GENERATE(true, false);
  CAPTURE(somebody_reads);
  sqlite_file_world w;
  put_all(w, {"a"});
  storage::sqlite::database reader(w.folder.file("jobs.db"), storage::sqlite::database::access::look);
  if (somebody_reads) {
    reader.execute("BEGIN");
    reader.prepare("SELECT count(*) FROM keys").run();
  }
  logged lines;
  const auto large = '"' + std::string(1'000'000, 'x') + '"';
  for (int i = 0; i < 90; ++i) {
    REQUIRE(refusal(w, enqueue_of("large" + std::to_string(i), large)) == errc::none);
    w.store().tidy();
  }
  const auto size = std::filesystem::file_size(w.folder.file("jobs.db-wal")) / (1024 * 1024);
  CHECK((size > 64) == somebody_reads);
  if (somebody_reads) CHECK(eventually([&] { return lines.count("cannot be cut back") == 1; }));
  else CHECK(lines.count("cannot be cut back") == 0);
}
