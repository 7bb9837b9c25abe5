// What a store keeps is bounded by bytes, and names of queues that nobody uses go.
#include "storage/flow_words.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// What a job of so many bytes of args weighs, about: the rest of what is kept of it is less than a tenth of that here.
constexpr std::size_t weight = 10'000;

void finish_heavy(world& w, const names& all, how end, const std::string& queue = "default") {
  for (const auto& id : all) {
    REQUIRE(put(w, job_words{.id = id, .queue = queue, .args = "\"" + std::string(weight, 'x') + "\""}) == errc::none);
    REQUIRE(settle(w, claim_one(w, {.queue = queue}), end) == errc::none);
    w.clock.advance(1s);
  }
}

storage::prune_request keeping(std::uint64_t jobs, std::uint32_t limit = 1000) {
  storage::prune_request r;
  r.retention = {{}, {}, {}, jobs * weight + jobs * weight / 10};
  r.limit = limit;
  return r;
}

names kept(world& w) {
  auto all = ids(list(w));
  std::sort(all.begin(), all.end());
  return all;
}

names known_queues(world& w) {
  names all;
  for (const auto& q : queues(w))
    all.push_back(q.queue.value);
  return all;
}

totals_report totals(world& w, totals_query query = {}) {
  return w.ask<storage::totals_answer>(storage::totals_request{std::move(query)}).report;
}

// Its job has come and gone.
void use(world& w, const std::string& queue) {
  REQUIRE(put(w, job_words{.id = queue, .queue = queue}) == errc::none);
  REQUIRE(settle(w, claim_one(w, {.queue = queue})) == errc::none);
}

storage::prune_answer forget_jobs(world& w) {
  storage::prune_request r;
  r.retention.succeeded = {{}, 0};
  return ask(w, r);
}

}  // namespace

ON_EACH_STORE("Of each final state the newest are kept that have so many bytes, over all queues") {
  finish_heavy(w, {"f1", "f2", "f3"}, how::failed);
  finish_heavy(w, {"f4"}, how::failed, "other");
  finish_heavy(w, {"s1", "s2"}, how::succeeded);
  finish_heavy(w, {"d1"}, how::removed);
  CHECK(ask(w, keeping(4)).removed == 0);
  CHECK(ask(w, keeping(2)).removed == 2);
  CHECK(kept(w) == names{"d1", "f3", "f4", "s1", "s2"});
  CHECK(ask(w, keeping(2)).removed == 0);
  finish_heavy(w, {"f5"}, how::failed);
  CHECK(ask(w, keeping(2)).removed == 1);
  CHECK(kept(w) == names{"d1", "f4", "f5", "s1", "s2"});
  audit(w);
}

ON_EACH_STORE("Beyond its bytes a state loses so many jobs a step, and there is more") {
  finish_heavy(w, {"a", "b", "c"}, how::failed);
  const auto told = ask(w, keeping(1, 1));
  CHECK(told.removed == 1);
  CHECK(told.more);
  CHECK(ask(w, keeping(1, 1)).removed == 1);
  CHECK(ask(w, keeping(1, 1)).removed == 0);
  CHECK(kept(w) == names{"c"});
}

ON_EACH_STORE("What history a job has counts among its bytes") {
  put_all(w, {"a", "b"});
  for (int i = 0; i < 2; ++i) {
    auto end = ended(claim_one(w), how::failed);
    end.text = std::string(weight, 'x');
    REQUIRE(settle(w, end) == errc::none);
    w.clock.advance(1s);
  }
  CHECK(ask(w, keeping(1)).removed == 1);
  CHECK(kept(w) == names{"b"});
}

ON_EACH_STORE("con-14 A parent that must stay beyond the bytes is no reason to remove another in its place") {
  finish_heavy(w, {"p", "a", "b"}, how::failed);
  auto child = prepared({.id = "c"});
  flow_of(child).after.parents = {job_id("p")};
  flow_of(child).after.on = parent_end::deleted;
  flow_of(child).after.unless = when_unmet::keep;
  REQUIRE(ask(w, storage::enqueue_request{{child}}).each.at(0) == errc::none);
  CHECK(ask(w, keeping(2)).removed == 0);
  CHECK(ask(w, keeping(1)).removed == 1);
  CHECK(kept(w) == names{"b", "c", "p"});
  audit(w);
}

ON_EACH_STORE("What leaves by a requeue or comes at one instant weighs as the rest do") {
  storage::enqueue_request many;
  for (int i = 0; i < 1'500; ++i)
    many.jobs.push_back(prepared({.id = cat("j", i), .args = "\"" + std::string(1000, 'x') + "\""}));
  ask(w, many);
  for (int part = 0; part < 3; ++part) {
    storage::settle_request ends;
    for (const auto& j : jobs_of(claim(w, {.free = 500})))
      ends.runs.push_back(ended(j, how::failed));
    ask(w, ends);
  }
  REQUIRE(counts(w).failed == 1'500);
  const auto about_two_thirds = [] {
    storage::prune_request r;
    r.retention = {{}, {}, {}, 1'250'000};
    r.limit = 5'000;
    return r;
  }();
  while (ask(w, about_two_thirds).more)
    ;
  const auto left = counts(w).failed;
  CHECK(left > 850);
  CHECK(left < 1'100);
  for (int i = 0; i < 1'500; ++i)
    if (i % 2 == 0) requeue(w, cat("j", i));
  const auto after = counts(w).failed;
  REQUIRE(after < left);
  CHECK(ask(w, about_two_thirds).removed == 0);
  CHECK(counts(w).failed == after);
  audit(w);
}

ON_EACH_STORE("A history is some 64 KiB at most: the errors of older runs are cut in their middle, and say so") {
  put_all(w, {"a"});
  std::string last;
  for (int i = 0; i < 25; ++i) {
    auto end = ended(claim_one(w), how::retry);
    end.text.clear();
    for (int k = 0; end.text.size() < 16'000; ++k)
      end.text += cat("\xC3\xA4", i, "-", k, " ");
    last = end.text;
    end.reason = end.text;
    REQUIRE(settle(w, end) == errc::none);
  }
  const auto found = get(w, "a");
  REQUIRE(found.history.size() == 20);
  CHECK(found.history.back().error == last);
  CHECK(found.reason == last);
  std::size_t bytes = found.reason.size();
  for (const auto& run : found.history) {
    bytes += run.error.size();
    CHECK(bounded_utf8(run.error, run.error.size()) == run.error);
  }
  CHECK(bytes < 64 * 1024);
  CHECK(bytes > 48 * 1024);
  const auto& first = found.history.front();
  CHECK(first.attempt == 6);
  CHECK(first.error.substr(0, 6) == "\xC3\xA4\x35-0 ");
  CHECK(first.error.find(" bytes were cut) ... ") != std::string::npos);
  CHECK(first.error.ends_with(" "));
  CHECK(first.error.size() < 1'100);
  audit(w);
}

ON_EACH_STORE("A history of runs that cannot be cut loses the oldest, and stays readable") {
  put_all(w, {"a"});
  for (int i = 0; i < 15; ++i) {
    auto end = ended(claim_one(w), how::retry);
    for (int k = 0; k < 16; ++k)
      end.watched.push_back({cat("system", k), std::string(300, 'w'), 1, 0, 1ms, 1ms});
    REQUIRE(settle(w, end) == errc::none);
  }
  const auto found = get(w, "a");
  CHECK(found.history.size() < 15);
  CHECK(found.history.size() > 5);
  CHECK(found.history.back().attempt == 15);
  audit(w);
}

ON_EACH_STORE("The name of a queue goes when nobody has used it for a week, and what it brought stays counted") {
  use(w, "old");
  use(w, "default");
  CHECK(forget_jobs(w).removed == 2);
  w.clock.advance(24h * 6);
  use(w, "default");
  forget_jobs(w);
  CHECK(known_queues(w) == names{"default", "old"});
  const auto before = totals(w).ever;
  w.clock.advance(24h + 1min);
  forget_jobs(w);
  CHECK(known_queues(w) == names{"default"});
  CHECK(totals(w).ever == before);
  audit(w);

  use(w, "old");
  CHECK(known_queues(w) == names{"default", "old"});
  CHECK(totals(w, {.queue = queue_name("old")}).ever == job_totals{.enqueued = 1, .succeeded = 1});
  audit(w);
}

ON_EACH_STORE("A queue keeps its name while it has a job, is paused, is served or is named by a schedule") {
  REQUIRE(put(w, job_words{.id = "waits", .queue = "full"}) == errc::none);
  REQUIRE(put(w, job_words{.id = "alien", .type = "alien", .queue = "typed"}) == errc::none);
  CHECK(claim(w, {.queue = "typed"}).jobs.empty());
  pause(w, "paused");
  for (const auto* queue : {"served", "planned", "gone"})
    use(w, queue);
  storage::update_schedule_request schedule;
  schedule.name = "nightly";
  schedule.record = "a record that names planned";
  schedule.next_at = w.clock.now() + 1h;
  w.ask<storage::update_schedule_answer>(schedule);
  forget_jobs(w);
  w.clock.advance(24h * 8);
  beat(w, serving("s1", {"served"}));
  forget_jobs(w);
  CHECK(known_queues(w) == names{"full", "paused", "planned", "served", "typed"});
  pause(w, "paused", false);
  forget_jobs(w);
  CHECK(known_queues(w) == names{"full", "planned", "served", "typed"});
  audit(w);
}

ON_EACH_STORE("Of very many names that nobody uses some go in each step, and in the end all") {
  for (int i = 0; i < 700; ++i)
    REQUIRE(put(w, job_words{.id = cat("q", i), .queue = cat("q", i)}) == errc::none);
  for (int i = 0; i < 700; ++i)
    REQUIRE(settle(w, claim_one(w, {.queue = cat("q", i)})) == errc::none);
  forget_jobs(w);
  w.clock.advance(24h * 8);
  std::size_t left = 700;
  for (int minute = 0; minute < 30 && left > 0; ++minute, w.clock.advance(1min)) {
    while (forget_jobs(w).more) {
      const auto now = known_queues(w).size();
      CHECK(now < left);
      CHECK(left - now <= 100);
      left = now;
    }
    left = known_queues(w).size();
  }
  CHECK(left == 0);
  audit(w);
}
