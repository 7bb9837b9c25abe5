// Which queue the jobs of a client go to, by what it was opened with.
#include <sluice/config.hpp>

#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

using namespace sluice;

namespace {

struct refuse_all final : filter {
  result<void> on_enqueue(new_job&) override { return error{errc::refused, "not today"}; }
};

server_options of_mail(const std::string& store) {
  return {.storage = store, .jobs = {{"mail", {.queue = "mail-queue"}}}};
}

// Where a job of this type has gone that named no queue.
std::string queue_of(client& store, const char* type) {
  const auto id = store.enqueue({.type = job_type(type)});
  return store.get(id.value()).value().queue.value;
}

}  // namespace

TEST_CASE("a client that is opened with a server's options sends jobs to the queue of their type") {
  auto opened = client::open(of_mail("sqlite::memory:open"));
  CHECK(queue_of(opened.value(), "mail") == "mail-queue");
  CHECK(queue_of(opened.value(), "report") == "default");
  auto of_a_store = client::open({.storage = "sqlite::memory:open"});
  CHECK(queue_of(of_a_store.value(), "mail") == "default");
}

TEST_CASE("a client that is opened with a server's options and filters runs these") {
  auto opened = client::open(of_mail("sqlite::memory:open"), {{std::make_shared<refuse_all>()}});
  const auto id = opened->enqueue({.type = "mail"});
  REQUIRE_FALSE(id.ok());
  CHECK(id.error().code == errc::refused);
}

TEST_CASE("a client is opened with a file's options at once, or tells what is wrong with them") {
  const sluice::test::temp_dir folder;
  sluice::test::write_file(folder.file("good.json"),
                           R"({"storage": "sqlite::memory:open", "jobs": {"mail": {"queue": "mail-queue"}}})");
  auto opened = client::open(load_options(folder.file("good.json")));
  REQUIRE(opened.ok());
  CHECK(queue_of(*opened, "mail") == "mail-queue");

  const auto missing = client::open(load_options(folder.file("none.json")));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == errc::io_error);
}

TEST_CASE("a client that was moved from says so, and may be assigned another") {
  auto opened = client::open({.storage = "sqlite::memory:open"});
  auto moved = std::move(opened.value());
  CHECK_THROWS_WITH(opened->queues(), "invalid_argument: this client was moved from");
  CHECK_THROWS_AS(opened->as({}), bad_result);
  CHECK_THROWS_AS(opened->enqueue(new_job{.type = "mail"}), bad_result);
  *opened = std::move(moved);
  CHECK(opened->queues().ok());
}
