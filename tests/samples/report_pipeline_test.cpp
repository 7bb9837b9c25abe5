// samples/report_pipeline, killed and started again.
#include "samples/killed_sample.hpp"
#include "support/places.hpp"

namespace sluice::test {

TEST_CASE("report_pipeline: a report is built once of all its pages, whenever its program is killed") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  killed_sample s(program_path("report_pipeline"), store);
  const auto members = [&] {
    const auto group = s.w.client->group("pages");
    return group ? group->open + group->succeeded + group->failed + group->deleted : 0;
  };
  s.kill_when("there is a group", [&] { return s.w.client->group("pages").ok(); });
  s.kill_when("the list has added pages", [&] { return members() > 1; });
  s.kill_when("a page has failed", [&] { return s.book.entries("failed") > 0; });
  s.kill_when("half of the pages are fetched", [&] { return s.book.things("fetched") > 500; });
  s.kill_when("all pages have ended", [&] { return s.book.entries("tidied") > 0; });
  CHECK(s.kills >= 3);

  const auto last = s.to_its_end();
  INFO(last.out << last.err);
  CHECK(last.exit_code == 0);
  CHECK(last.out.ends_with("\n1000 pages, 1 failed, requeued, report built once\n"));
  CHECK(s.book.entries("built") == 1);
  CHECK(s.w.all(job_state::succeeded).size() == 1'004);  // the pages, and one job for each step

  const auto again = s.to_its_end();
  INFO(again.out << again.err);
  CHECK(again.exit_code == 0);
  CHECK(s.book.entries("built") == 1);
}

TEST_CASE("report_pipeline: a program that is killed as it builds the report has built one all the same") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  // It ends right behind this moment: where it was faster than the signal, another one is killed.
  std::unique_ptr<killed_sample> killed;
  for (int tries = 0; tries < 20 && (!killed || killed->kills == 0); ++tries) {
    killed = std::make_unique<killed_sample>(program_path("report_pipeline"), store);
    killed->kill_when("the report is built", [&] { return killed->book.entries("built") > 0; });
  }
  REQUIRE(killed->kills > 0);
  auto& s = *killed;
  const auto last = s.to_its_end();
  INFO(last.out << last.err);
  CHECK(last.exit_code == 0);
  const auto report = s.w.get("build_report");
  CHECK(report.result == "a report of 1000 pages");
  CHECK(s.book.entries("built") <= 1 + report.losses);
}

}  // namespace sluice::test
