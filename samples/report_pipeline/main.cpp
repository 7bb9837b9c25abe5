// A report of a thousand pages: one job fetches the list of them, a job for each fetches the page, and when all have
// succeeded one job builds the report. Nobody watches over that; the store knows what runs after what:
//
//   fetch_list ──adds──▶ group "pages" ──succeeded──────▶ build_report
//                                      ──first failure──▶ tell_failure
//                                      ──finished───────▶ tidy_up
//
// One page is missing, so that its job fails for good. Then the report is not built, until the page is there and its
// job was requeued. Every name is known beforehand: a program that was killed does the same again, and nothing is
// there twice.
//
//   report_pipeline [--folder PATH] [--store URL] [--careless]
#include <cstdio>

#include <sluice/sluice.hpp>

#include "common/book.hpp"
#include "common/folder.hpp"
#include "common/promises.hpp"
#include "common/work.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* usage = R"(usage: report_pipeline [--folder PATH] [--store URL] [--careless]

A job fetches a list of 1000 pages, a job for each fetches the page, and one job builds a report of all. One page is
missing at first, and its job is requeued when it is there. Exit code 1: a promise was broken.

  --folder PATH   where the book of what happened is kept, and the store. A program that was killed goes on with what
                  it finds there. Default: a new temporary folder
  --store URL     as redis://localhost. Default: an SQLite file in the folder
  --careless      the report is to run after the list instead of after the pages, to see what the group is for
  --help          this text
)";

constexpr unsigned pages = 1'000;
constexpr unsigned missing_page = 13;
constexpr std::uint32_t links = 100'000;  // of the chain that makes a page: a millisecond or so

struct page_args {
  unsigned number = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(page_args, number)

sluice::job_id id_of(unsigned page) { return sluice::job_id("page-" + std::to_string(page)); }

sluice::server_options options_of(const std::string& store) {
  sluice::server_options options;
  options.storage = store;
  options.lease = 1s;       // short, so that a killed program is soon made up for; 30 s is usual
  options.max_losses = 20;  // who kills the program often does not fail the pages that it had claimed
  options.queues["default"].workers = 4;
  options.queues["alerts"].workers = 1;  // does not wait behind a thousand pages
  return options;
}

// What the jobs do. Each notes its run in the book, and could be run again; one that throws is.
class pipeline {
public:
  pipeline(sluice::client& client, sample::book& book) : client_(client), book_(book) {}

  void handle_all(sluice::server& server) {
    server.handle("fetch_list", [this](sluice::job_context& job) { return fetch_list(job); });
    server.handle("fetch_page", [this](const page_args& page, sluice::job_context& job) { return fetch(page, job); });
    server.handle("build_report", [this](sluice::job_context& job) { return build_report(job); });
    server.handle("tell_failure", [this](sluice::job_context& job) { return tell_failure(job); });
    server.handle("tidy_up", [this](sluice::job_context& job) { book_.note("tidied", {}, job.fence().value); });
  }

private:
  // The list is a member of the group too: while it runs it may add to it, though the group is sealed, and the group
  // cannot end before it. When it is run again its pages are the same jobs. So many are added by the run, since an
  // outcome carries 100 at most.
  std::string fetch_list(const sluice::job_context& job) {
    std::vector<sluice::new_job> all;
    for (unsigned number = 1; number <= pages; ++number) {
      auto page = sluice::make_job("fetch_page", page_args{number});
      page.id = id_of(number);
      page.group = "pages";
      page.added_by = {job.id(), job.fence()};
      all.push_back(std::move(page));
    }
    for (const auto& stored : client_.enqueue(std::move(all)))  // in one round trip
      if (!stored) throw std::runtime_error(sluice::to_string(stored.error()));
    book_.note("listed", {}, job.fence().value);
    return std::to_string(pages) + " pages";
  }

  sluice::outcome fetch(const page_args& page, const sluice::job_context& job) {
    if (page.number == missing_page && book_.entries("put there") == 0) {
      book_.note("failed", job.id().value, job.fence().value);
      return sluice::outcome::do_not_retry("404: there is no page " + std::to_string(page.number));
    }
    const auto text = sample::checksum_chain("page " + std::to_string(page.number), links);
    book_.note("fetched", job.id().value, job.fence().value);
    return sluice::outcome::succeeded(std::to_string(text));
  }

  std::string tell_failure(const sluice::job_context& job) {
    const auto group = client_.group("pages");
    if (!group) throw std::runtime_error(sluice::to_string(group.error()));
    book_.note("told", {}, job.fence().value);
    return "the first page failed when " + std::to_string(group->open) + " were still to come";
  }

  std::string build_report(const sluice::job_context& job) {
    const auto found = book_.things("fetched");
    book_.note("built", {}, job.fence().value);
    return "a report of " + std::to_string(found) + " pages";
  }

  sluice::client& client_;
  sample::book& book_;
};

sluice::new_job step(const std::string& type) {
  sluice::new_job made;
  made.type = sluice::job_type(type);
  made.id = sluice::job_id(type);  // there is one of each, so its type is a good name for it
  return made;
}

sluice::new_job after_pages(const std::string& type, sluice::parent_end on) {
  auto made = step(type);
  made.after.groups = {"pages"};
  made.after.on = on;
  return made;
}

// All that is to happen, said before anything of it has. Saying it again changes nothing.
void plan(sluice::client& client, bool careless) {
  auto list = step("fetch_list");
  list.group = "pages";
  auto told = after_pages("tell_failure", sluice::parent_end::first_failure);
  told.queue = "alerts";
  auto report = after_pages("build_report", sluice::parent_end::succeeded);
  if (careless) report.after = {.parents = {"fetch_list"}};

  sample::must(client.create_group({.name = "pages"}));
  for (auto& stored : client.enqueue({list, told, report, after_pages("tidy_up", sluice::parent_end::finished)}))
    sample::must(std::move(stored));
  sample::must(client.seal_group("pages"));  // from now on only its members add to it
}

// A person puts the missing page there, and has the failed job run again. The report, which was deleted as its group
// had failed, waits for the group again by that.
void mend(sluice::client& client, sample::book& book) {
  book.note("put there");
  const auto requeued = sample::must(client.requeue_failed("pages"));
  std::printf("failed pages that were requeued: %s\n", std::to_string(requeued).c_str());
}

// Whether it has succeeded once, and is once in the book: but for runs that were lost with their program, which may
// have come as far as the book.
bool ran_once(sluice::client& client, sample::book& book, const sluice::job_id& id, const std::string& entry) {
  const auto job = sample::must(client.get(id));
  unsigned succeeded = 0;
  for (const auto& run : job.history)
    succeeded += run.end == sluice::run_end::succeeded ? 1 : 0;
  const auto noted = book.entries(entry);
  return job.state == sluice::job_state::succeeded && succeeded == 1 && noted >= 1 && noted <= 1 + job.losses;
}

unsigned requeues_of(const sluice::job& page) {
  unsigned count = 0;
  for (const auto& entry : page.history)
    count += entry.cause == "requeued" ? 1 : 0;
  return count;
}

int judge(sluice::client& client, sample::book& book) {
  const auto text = [](auto n) { return std::to_string(n); };
  const auto fetched = book.things("fetched"), failed = book.things("failed");
  const auto requeued = requeues_of(sample::must(client.get(id_of(missing_page))));
  const auto group = sample::must(client.group("pages"));
  const auto report = sample::must(client.get("build_report"));

  sample::promises promises;
  promises.check(fetched == pages, "every page was fetched: " + text(fetched));
  promises.check(failed == 1 && requeued == 1,
                 "one failed for good and was requeued: " + text(failed) + " and " + text(requeued));
  promises.check(group.open == 0 && group.failed == 0 && group.succeeded == pages + 1,
                 "the list and its pages have succeeded: " + text(group.succeeded) + " jobs");
  promises.check(ran_once(client, book, "fetch_list", "listed"), "the list was fetched once");
  promises.check(ran_once(client, book, "tell_failure", "told"), "the failure was told once");
  promises.check(ran_once(client, book, "tidy_up", "tidied"), "it was tidied up once");
  promises.check(ran_once(client, book, "build_report", "built"), "the report was built once");
  promises.check(report.result == "a report of 1000 pages", "it has all pages: it is " + report.result);
  if (promises.exit_code() == 0) std::printf("1000 pages, 1 failed, requeued, report built once\n");
  return promises.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  const auto words = sample::read_words(
      argc, argv, usage, {.store = "", .switches = {{"--careless", false}}, .texts = {{"--folder", ""}}});
  sluice::set_log_level(sluice::log_level::error);  // pages that fail or are lost are expected here
  const sample::folder folder(words.texts.at("--folder"));
  sample::book book(folder.file("book.db"));
  const auto options = options_of(words.store.empty() ? "sqlite:" + folder.file("jobs.db") : words.store);

  auto client = sample::must(sluice::client::open(options));
  pipeline jobs(client, book);
  sluice::server server(options);
  jobs.handle_all(server);
  sample::must(server.start());

  plan(client, words.switches.at("--careless"));
  std::printf("%s\n", sample::must(client.wait("tell_failure", 60s)).result.c_str());
  sample::must(client.wait("tidy_up", 60s));  // all pages have ended, one as failed
  mend(client, book);
  sample::must(client.wait("build_report", 60s));
  server.stop();
  return judge(client, book);
}
