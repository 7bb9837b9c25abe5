// Who may make a store, and who only looks at one.
#include <fstream>

#include "storage/contract.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

error refused_open(const std::string& url, open_mode mode) {
  auto opened = storage::open_store(url, nullptr, mode);
  REQUIRE_FALSE(opened.ok());
  return opened.error();
}

std::set<std::string> files_in(const temp_dir& folder) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    found.insert(entry.path().filename().string());
  return found;
}

// What is asked of one who only looks.
struct reader {
  explicit reader(const world& w) : store(std::move(*storage::open_store(w.url(), &w.clock, open_mode::read_only))) {}

  std::vector<storage::answer> ask(std::vector<storage::request> all) { return store->apply(all); }

  std::unique_ptr<storage::store> store;
};

}  // namespace

TEST_CASE("A store that is not there is not made by who does not make one", "[sqlite]") {
  const auto mode = GENERATE(open_mode::must_exist, open_mode::read_only);
  const temp_dir folder;
  const auto why = refused_open(folder.url(), mode);
  CHECK(why.code == errc::not_found);
  CHECK(why.message.find("there is no store at " + folder.file("jobs.db")) != std::string::npos);
  CHECK(files_in(folder).empty());
  std::ofstream(folder.file("empty.db"));
  CHECK(refused_open(folder.url("empty.db"), mode).code == errc::not_found);
  CHECK(std::filesystem::file_size(folder.file("empty.db")) == 0);
  CHECK(files_in(folder).count("empty.db.lock") == 0);
  CHECK(refused_open("sqlite::memory:", mode).code == errc::not_found);
}

TEST_CASE("Who names a store that is not there is told of one that is called alike", "[sqlite]") {
  const sqlite_file_world w;
  CHECK(refused_open(w.folder.url("job.db"), open_mode::read_only).message.ends_with("; did you mean jobs.db?"));
  CHECK(refused_open(w.folder.url("quite-another.db"), open_mode::read_only).message.find("mean") == std::string::npos);
}

TEST_CASE("A prefix of Redis without a layout is no store, and stays so", "[redis]") {
  const auto mode = GENERATE(open_mode::must_exist, open_mode::read_only);
  redis_server server;
  CHECK(refused_open(server.url(), mode).code == errc::not_found);
  CHECK(server.command({"DBSIZE"}).integer == 0);
  REQUIRE(storage::open_store(server.url()).ok());
  CHECK(storage::open_store(server.url(), nullptr, mode).ok());
}

TEST_CASE("One who looks at a file takes no lock and makes none", "[sqlite]") {
  sqlite_file_world w;
  put_all(w, {"a"});
  for (const auto* tail : {"jobs.db.lock", "jobs.db.turn"})
    std::filesystem::rename(w.folder.file(tail), w.folder.file(std::string("kept-") + tail));
  {
    reader r(w);
    CHECK(code_of(r.ask({storage::list_request{}}).at(0)) == errc::none);
    const auto findings = r.store->audit();
    REQUIRE(findings.ok());
    CHECK(findings->empty());
  }
  CHECK(files_in(w.folder).count("jobs.db.lock") == 0);
  CHECK(files_in(w.folder).count("jobs.db.turn") == 0);
}

TEMPLATE_TEST_CASE("One who looks sees what others write and writes nothing", "[contract]", sqlite_file_world,
                   redis_world) {
  TestType w;
  reader r(w);
  put_all(w, {"a"});
  const auto answers = r.ask({get_of("a"), enqueue_of("b"), claiming({}), get_of("a")});
  CHECK(std::get<storage::get_answer>(answers.at(0)).code == errc::none);
  CHECK(code_of(answers.at(1)) == errc::invalid_argument);
  CHECK(code_of(answers.at(2)) == errc::invalid_argument);
  CHECK(std::get<storage::get_answer>(answers.at(3)).code == errc::none);
  CHECK(look(w, "b").code == errc::not_found);
  CHECK(get(w, "a").state == job_state::enqueued);
}

TEMPLATE_TEST_CASE("A record that cannot be read is told of and left where it is by one who looks", "[contract]",
                   harmed_file_world, harmed_redis_world) {
  TestType w;
  put_all(w, {"a", "b"});
  w.command({"HSET", "jobs", "a", "no record"});
  reader r(w);
  for (int i = 0; i < 2; ++i) {
    const auto answers = r.ask({get_of("a"), storage::list_request{}, storage::queues_request{}});
    CHECK(std::get<storage::get_answer>(answers.at(0)).code == errc::damaged_record);
    CHECK(ids(std::get<storage::list_answer>(answers.at(1)).page.jobs) == names{"b"});
    CHECK(std::get<storage::queues_answer>(answers.at(2)).queues.at(0).quarantined == 0);
  }
  CHECK(look(w, "a").code == errc::damaged_record);  // by one who may write
  CHECK(counts(w).quarantined == 1);
}
