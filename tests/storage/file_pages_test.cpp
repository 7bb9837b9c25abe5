// What a file keeps when all that happened in it is over and was pruned.
#include "storage/contract.hpp"
#include "storage/programs.hpp"
#include "storage/sqlite/database.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

using requests = std::vector<storage::request>;

const names three_queues = {"default", "other", "third"};
const names windows = {"fixed_window:f", "sliding_window:v", "dynamic_window:d"};

// What may stay: a number, a bit for each queue and each type that nobody knew there, and of each limiter that ever was
// its version; and what is counted, for as long as that is kept.
const std::set<std::string> may_stay = {"number",        "queues",         "served",      "limiters", "schema",
                                        "types:default", "types:other",    "types:third", "totals",   "totals_before",
                                        "total_sizes",   "minutes:494444", "hours:20601"};

std::string text_of(std::size_t size) { return '"' + std::string(size, 'x') + '"'; }

// In one commit.
std::vector<storage::answer> ask_all(world& w, const requests& all) {
  auto told = w.store().apply(all);
  for (const auto& one : told)
    REQUIRE(code_of(one) == errc::none);
  return told;
}

// Those that hold something; free ones are used before the file grows.
std::int64_t pages(const sqlite_file_world& w) {
  storage::sqlite::database file(w.folder.file("jobs.db"));
  const auto number = [&](const char* sql) {
    auto q = file.prepare(sql);
    REQUIRE(q.step());
    return q.number(0);
  };
  return number("PRAGMA page_count") - number("PRAGMA freelist_count");
}

// Without the prefix.
names keys_in(const sqlite_file_world& w) {
  storage::sqlite::database file(w.folder.file("jobs.db"));
  names all;
  auto q = file.prepare("SELECT name FROM keys ORDER BY name");
  while (q.step())
    all.push_back(q.text(0).substr(std::string("{sluice}:").size()));
  return all;
}

// 1,200 jobs, some of them long, delayed, or of a type that nobody knows.
void enqueue_many(world& w) {
  for (int part = 0; part < 20; ++part) {
    storage::enqueue_request r;
    for (int i = 0; i < 60; ++i)
      r.jobs.push_back(prepared({.id = cat("job.", part, '.', i),
                                 .type = i % 10 == 0 ? "unknown" : "work",
                                 .queue = three_queues[static_cast<std::size_t>(i) % 3],
                                 .args = text_of(i % 15 == 1 ? 9'000 : 50),
                                 .delay = i % 7 == 0 ? duration(1h) : duration(0)}));
    for (const auto code : ask(w, r).each)
      REQUIRE(code == errc::none);
  }
}

// Some of a queue run: they take permits and ask a window, which parks some; of the others most end, in every way.
void work(world& w, const std::string& queue, const std::string& server, int round) {
  const auto which = static_cast<std::size_t>(round);
  const auto got = claim(w, {.free = 24, .queue = queue, .server = server});
  REQUIRE_FALSE(got.jobs.empty());
  std::vector<storage::acquire_permits_request::run> takes;
  std::vector<storage::run_key> asks;
  storage::settle_request ends;
  for (std::size_t i = 0; i < got.jobs.size(); ++i) {
    const auto& j = got.jobs[i].job;
    if (i % 3 == 0) takes.push_back(wanting(j, wishes[(i + which) % wishes.size()], {.strict = i % 2 == 0}));
    if (i % 4 == 0) asks.push_back(run_of(j));
    if (i % 8 == 7) continue;  // its lease is lost
    ends.runs.push_back(ended(j, static_cast<how>(1 + i % 7), 10s));
    if (i % 5 == 0) ends.runs.back().text = text_of(6'000);
  }
  const auto& window = windows[which % windows.size()];
  take_all(w, takes);
  update_limiter(w, step_of(limiter_record_of(w, window), window, w.clock.now(), asks));
  ask(w, ends);
}

void take_locks(world& w) {
  requests takes, releases;
  for (int n = 0; n < 200; ++n)
    takes.emplace_back(taking(cat("lock ", n)));
  const auto told = ask_all(w, takes);
  for (std::size_t n = 0; n < told.size(); n += 3)  // the others are left to lapse
    releases.emplace_back(releasing(cat("lock ", n), std::get<storage::lock_answer>(told[n]).now.value().fence));
  ask_all(w, releases);
}

void put_schedules(world& w) {
  requests all;
  for (int n = 0; n < 100; ++n) {
    storage::update_schedule_request r;
    r.name = cat("nightly.", n);
    r.record = text_of(200);
    r.next_at = w.clock.now() + 1h;
    r.place = {1s, 1min, 1};
    r.enqueue.push_back({w.clock.now(), prepared({.id = cat("nightly.job.", n)})});
    all.emplace_back(r);
  }
  for (const auto& one : ask_all(w, all))
    REQUIRE(std::get<storage::update_schedule_answer>(one).updated);
}

void remove_schedules(world& w) {
  requests all;
  for (const auto& row : w.ask<storage::schedules_answer>(storage::schedules_request{}).rows) {
    storage::update_schedule_request r;
    r.name = row.name;
    r.version = row.version;
    all.emplace_back(r);
  }
  REQUIRE(all.size() == 100);
  for (const auto& one : ask_all(w, all))
    REQUIRE(std::get<storage::update_schedule_answer>(one).updated);
}

void remove_what_is_not_final(world& w) {
  storage::change_jobs_request some{storage::job_change::remove, {}};
  const auto remove_some = [&] {
    for (const auto& one : w.ask<storage::change_jobs_answer>(some).each)
      REQUIRE(one.code == errc::none);
    some.ids.clear();
  };
  job_query query;
  query.limit = storage::largest_page;
  for (const auto& j : list(w, query)) {
    if (!is_final(j.state)) some.ids.push_back(j.id);
    if (some.ids.size() == storage::max_changed) remove_some();
  }
  remove_some();
}

void remove_throttlers(world& w) {
  for (const auto& row : all_throttlers(w)) {
    INFO(row.resource);
    REQUIRE(undefine(w, row.resource).code == errc::none);
  }
}

void prune_all(world& w) {
  storage::prune_request all;
  all.retention.succeeded = all.retention.failed = all.retention.deleted = {{}, 0};
  all.server_age = 1min;
  while (ask(w, all).more) {
  }
}

}  // namespace

TEST_CASE("After everything was pruned a file uses the pages of a new one and at most two more", "[sqlite]") {
  sqlite_file_world w;
  const auto when_new = pages(w);
  beat(w, serving("leaves", {"default:8", "other:8"}));
  beat(w, serving("falls silent", {"third:8"}));
  define(w, "semaphore:s", 2);
  for (const auto& name : windows)
    define(w, window_definition(name, 1));
  enqueue_many(w);
  take_locks(w);
  put_schedules(w);
  for (int round = 0; round < 8; ++round) {
    work(w, "default", "leaves", round);
    work(w, "other", "leaves", round);
    work(w, "third", "falls silent", round);
    w.clock.advance(5s);
  }
  pause(w, "third");
  for (const auto state : {job_state::enqueued, job_state::scheduled, job_state::throttled, job_state::processing,
                           job_state::succeeded, job_state::failed, job_state::deleted}) {
    INFO(name_of(state));
    std::uint64_t there = 0;
    for (const auto& q : queues(w))
      there += count_of(q, state);
    CHECK(there > 0);
  }
  CHECK(pages(w) > when_new + 100);

  lose_all(w);
  w.clock.advance(1h);
  promote(w);
  pause(w, "third", false);
  leave(w, server_id("leaves"));
  remove_what_is_not_final(w);
  remove_schedules(w);
  remove_throttlers(w);
  w.clock.advance(48h);
  expired(w);  // nobody runs any more, which is noticed where leases are looked at
  prune_all(w);

  CHECK(list(w).empty());
  CHECK(servers(w).empty());
  for (const auto& key : keys_in(w)) {
    INFO(key);
    CHECK(may_stay.count(key) == 1);
  }
  CHECK(pages(w) <= when_new + 2);
  audit(w);
}
