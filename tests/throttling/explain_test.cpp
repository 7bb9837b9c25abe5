#include "throttling/explain.hpp"

#include "core/text.hpp"
#include "support/catch.hpp"

using namespace sluice;
using throttling::explain;
using namespace std::chrono_literals;

namespace {

const time_point now = time_point(1'790'000'000s);
const time_point later = now + 90s;
const std::string later_text = format_time(later);

storage::explain_answer seen(job_state state) {
  storage::explain_answer s;
  s.found.emplace();
  s.found->id = job_id("it");
  s.found->type = job_type("mail");
  s.found->queue = queue_name("default");
  s.found->state = state;
  s.served = true;
  return s;
}

storage::explain_answer ended(job_state state, const std::string& reason) {
  auto s = seen(state);
  s.found->reason = reason;
  s.found->finished_at = later;
  return s;
}

// Scheduled, after a run that ended so.
storage::explain_answer scheduled(run_end end, const std::string& text, std::uint32_t failures = 0,
                                  const std::string& throttler = {}) {
  auto s = seen(job_state::scheduled);
  s.found->due_at = later;
  s.found->reason = "words for people";
  s.failures = failures;
  run_record run;
  run.cause = "a word";
  run.error = text;
  run.end = end;
  run.failure = failures > 0;
  run.throttler = throttler;
  s.found->history.push_back(run);
  return s;
}

storage::explain_answer throttled(const std::string& resource, std::uint64_t before) {
  auto s = seen(job_state::throttled);
  s.found->line = resource;
  s.before = before;
  s.waits_for.about.resource = resource;
  return s;
}

// Who has a permit; a name with a '?' is promised to that job.
storage::explain_answer held(std::vector<std::string> names, std::uint64_t all, std::uint64_t before = 0) {
  auto s = throttled("semaphore:provider-api", before);
  s.waits_for.about.held = all;
  for (const auto& name : names) {
    const bool reserved = name.ends_with('?');
    s.waits_for.holders.push_back({job_id(name.substr(0, name.size() - (reserved ? 1 : 0))), fence{7}, reserved, now});
  }
  return s;
}

void says(const storage::explain_answer& s, explain_reason reason, const std::string& text,
          const std::vector<server_info>& servers = {}) {
  const auto e = explain(s, now, servers);
  CHECK(e.text == text);
  CHECK(name_of(e.reason) == name_of(reason));
}

server_info handling(std::vector<job_type> types, const std::string& queue = "default:2") {
  server_info info;
  info.queues = {queue};
  info.types = std::move(types);
  info.all_types = true;
  info.heartbeat_at = now;
  return info;
}

}  // namespace

TEST_CASE("the sentence without content lacks what the job or who changed it said, and nothing else") {
  auto again = scheduled(run_end::failed, "card 4711: refused; call me", 2);
  again.finish_by = later + 1h;
  const auto e = explain(again, now);
  const auto end = "; it has failed unless it is over by " + format_time(later + 1h);
  CHECK(e.text == "retry 2 at " + later_text + ": card 4711: refused; call me" + end);
  CHECK(e.without_content == "retry 2 at " + later_text + end);
  CHECK(explain(ended(job_state::failed, "failed: card 4711"), now).without_content == "is failed");
  CHECK(explain(ended(job_state::failed, "card 4711"), now).without_content == "is failed");
  const auto waits = explain(throttled("semaphore:a: b", 0), now);
  CHECK(waits.without_content == waits.text);
}

TEST_CASE("each reason of an explanation is one word") {
  std::set<std::string> words;
  for (int i = 0; i < 13; ++i)
    words.emplace(name_of(static_cast<explain_reason>(i)));
  CHECK(words == std::set<std::string>{"awaiting", "deferred", "due", "final", "no_worker", "paused", "queued_behind",
                                       "retry", "running", "unknown_type", "unserved", "waits_for_permit",
                                       "waits_for_slot"});
  CHECK(name_of(static_cast<explain_reason>(13)).empty());
}

TEST_CASE("a job that no claim has come to is of an unknown type when all servers of its queue say so") {
  auto s = seen(job_state::enqueued);
  s.before = 3;
  const std::string behind = "behind 3 jobs of queue default";
  const std::string unknown = "no server that serves queue default knows its type mail";
  const auto others = handling({job_type("noop"), job_type("reports")});
  const auto mails = handling({job_type("mail")});
  const auto elsewhere = handling({job_type("mail")}, "other:1");
  says(s, explain_reason::queued_behind, behind);
  says(s, explain_reason::unknown_type, unknown, {others});
  says(s, explain_reason::unknown_type, unknown, {others, elsewhere});
  says(s, explain_reason::unknown_type, unknown + "; did you mean 'mails'?",
       {others, handling({job_type("mails")}, "def*:1")});
  says(s, explain_reason::queued_behind, behind, {others, mails});
  says(s, explain_reason::queued_behind, behind, {elsewhere});

  auto dead = mails;
  dead.heartbeat_at = now - storage::served_for - 1us;
  says(s, explain_reason::unknown_type, unknown, {others, dead});
  auto cut = others;
  cut.all_types = false;
  says(s, explain_reason::queued_behind, behind, {others, cut});
  s.found->line = "type:mail";
  says(s, explain_reason::unknown_type, unknown, {others, cut});
}

TEST_CASE("a final job is explained by its reason") {
  says(ended(job_state::succeeded, ""), explain_reason::final_, "is succeeded");
  says(ended(job_state::failed, "failed: exit 7"), explain_reason::final_, "is failed: exit 7");
  says(ended(job_state::failed, "failed 3 times: exit 7"), explain_reason::final_, "is failed: failed 3 times: exit 7");
  says(ended(job_state::deleted, "deleted by hand"), explain_reason::final_, "is deleted: deleted by hand");
  says(ended(job_state::deleted, "deleted: deferred by mutex:a"), explain_reason::final_,
       "is deleted: deferred by mutex:a");
  CHECK(explain(ended(job_state::succeeded, ""), now).when == later);
}

TEST_CASE("a running job is explained by its server, also in a paused queue") {
  auto s = seen(job_state::processing);
  s.found->started_at = now;
  s.found->server = "web-1";
  s.paused = true;
  s.served = false;
  says(s, explain_reason::running, "runs since " + format_time(now) + " on web-1");
  CHECK(explain(s, now).when == now);
}

TEST_CASE("a scheduled job is explained by why it was scheduled") {
  auto fresh = seen(job_state::scheduled);
  fresh.found->due_at = later;
  fresh.paused = true;
  says(fresh, explain_reason::due, "is due at " + later_text);
  CHECK(explain(fresh, now).when == later);
  CHECK(explain(fresh, later).text == "is due since " + later_text + " and enters its queue when a server looks");
  says(scheduled(run_end::retry, "exit 7", 2), explain_reason::retry, "retry 2 at " + later_text + ": exit 7");
  says(scheduled(run_end::retry, "rate limited: slow down"), explain_reason::retry,
       "again at " + later_text + ": rate limited: slow down");
  says(scheduled(run_end::retry, ""), explain_reason::retry, "again at " + later_text);
  CHECK(explain(scheduled(run_end::retry, ""), now).when == later);
  const auto off = scheduled(run_end::deferred, "not now", 0, "semaphore:a");
  says(off, explain_reason::deferred, "was deferred by semaphore:a and is asked again at " + later_text);
  CHECK(explain(off, now).resource == "semaphore:a");
  const auto unnamed = scheduled(run_end::deferred, "deferred by permits");
  says(unnamed, explain_reason::deferred, "was deferred and is asked again at " + later_text + ": deferred by permits");
  CHECK(explain(unnamed, now).resource.empty());
}

TEST_CASE("an awaiting job is explained by its parents that have not ended") {
  auto s = seen(job_state::awaiting);
  s.paused = true;  // which does not matter yet
  s.open_parents = {job_id("a")};
  says(s, explain_reason::awaiting, "awaits a");
  s.open_parents = {job_id("a"), job_id("b"), job_id("c"), job_id("d")};
  says(s, explain_reason::awaiting, "awaits a, b and 2 more");
  CHECK(explain(s, now).holders.size() == 4);
  s.parents = 5;
  s.need = 2;
  says(s, explain_reason::awaiting,
       "awaits a, b and 2 more; it needs 2 of its 5 parents, and none ended as it wants so far");
  s.met = 1;
  says(s, explain_reason::awaiting,
       "awaits a, b and 2 more; it needs 2 of its 5 parents, and 1 ended as it wants so far");
  s.parents = s.need = s.met = 0;
  s.open_parents.clear();
  says(s, explain_reason::awaiting,
       "its parents have ended otherwise than it wants, and it is kept; requeue or delete it");
}

TEST_CASE("a job that awaits a group is told what keeps that from ending") {
  auto s = seen(job_state::awaiting);
  s.open_parents = {job_id("@pages")};
  group_status g;
  g.name = group_name("pages");
  g.open = 2;
  g.seal_by = later;
  s.open_groups = {g};
  says(s, explain_reason::awaiting,
       "awaits group pages; group pages is not sealed, and cannot end before: seal it, or it is cancelled at " +
           format_time(later));
  s.open_groups[0].sealed = true;
  says(s, explain_reason::awaiting, "awaits group pages");
  s.open_groups[0].cancelled = true;
  says(s, explain_reason::awaiting,
       "awaits group pages; group pages was cancelled, and ends with the last of its 2 open members");
  s.open_groups[0].open = 1;
  says(s, explain_reason::awaiting, "awaits group pages; group pages was cancelled, and ends with its last member");
}

TEST_CASE("a job that will not run any more is told why") {
  auto s = seen(job_state::enqueued);
  s.paused = true;
  const std::string paused = "its queue default is paused";
  s.cancelled_group = group_name("pages");
  says(s, explain_reason::paused, paused + "; its group pages was cancelled, so it will not run, and is deleted");
  s.cancelled_group = {};
  s.start_by = later;
  says(s, explain_reason::paused, paused + "; it is deleted unless it starts by " + format_time(later));
  s.start_by = now;
  says(s, explain_reason::paused, paused + "; it will not run, and is deleted: it was to start by " + format_time(now));
  s.start_by.reset();
  s.finish_by = now;
  says(s, explain_reason::paused,
       paused + "; it will not run, and has failed: it was to be over by " + format_time(now));
}

TEST_CASE("a queue that does not run explains whoever waits in it") {
  for (auto s : {seen(job_state::enqueued), throttled("mutex:a", 2)}) {
    s.served = false;
    says(s, explain_reason::unserved, "no server that is alive serves its queue default");
    s.paused = true;
    says(s, explain_reason::paused, "its queue default is paused");
  }
}

TEST_CASE("an enqueued job is explained by who is before it, or that nobody is free") {
  auto s = seen(job_state::enqueued);
  s.running = 4;
  says(s, explain_reason::no_worker, "no worker of queue default is free (4 run)");
  s.running = 1;
  says(s, explain_reason::no_worker, "no worker of queue default is free (1 runs)");
  s.running = 0;
  says(s, explain_reason::no_worker, "is next of queue default, and a server is about to take it");
  s.before = 1;
  says(s, explain_reason::queued_behind, "behind 1 job of queue default");
  s.before = 12;
  says(s, explain_reason::queued_behind, "behind 12 jobs of queue default");
  CHECK(explain(s, now).before == 12);
  s.before = storage::max_counted;
  says(s, explain_reason::queued_behind, "behind 10000 jobs of queue default");
  s.before = storage::max_counted + 1;
  says(s, explain_reason::queued_behind, "behind more than 10,000 jobs of queue default");
  s.found->line = "type:mail";
  says(s, explain_reason::unknown_type, "no server that serves queue default knows its type mail");
  s.found->type = job_type("exec");
  says(s, explain_reason::unknown_type,
       "no server that serves queue default knows its type exec; a server takes exec jobs only when its configuration "
       "has "
       "\"allow_exec\": true");
  s.found->line = "suspect";
  s.before = 0;
  says(s, explain_reason::no_worker,
       "is next of queue default after a lost run, and each server runs one such job at a time");
}

TEST_CASE("who waits for a permit is told who has one") {
  const std::string what = "waits for semaphore:provider-api";
  says(held({}, 0), explain_reason::waits_for_permit, what + "; it is next");
  says(held({"a"}, 1, 1), explain_reason::waits_for_permit, what + ", held by a; 1 waits before it");
  says(held({"a", "b"}, 2, 3), explain_reason::waits_for_permit, what + ", held by a and b; 3 wait before it");
  says(held({"a"}, 1, storage::max_counted + 1), explain_reason::waits_for_permit,
       what + ", held by a; more than 10,000 wait before it");
  says(held({"a", "b", "c"}, 3), explain_reason::waits_for_permit, what + ", held by a, b and c; it is next");
  says(held({"a", "b", "c", "d"}, 4), explain_reason::waits_for_permit, what + ", held by a, b and 2 more; it is next");
  says(held({"a", "b"}, 100), explain_reason::waits_for_permit, what + ", held by a, b and 98 more; it is next");
  says(held({"c?"}, 1), explain_reason::waits_for_permit, what + ", promised to c; it is next");
  says(held({"c?", "a"}, 2), explain_reason::waits_for_permit, what + ", held by a, promised to c; it is next");
  says(held({"c?", "a", "d?", "b"}, 5), explain_reason::waits_for_permit,
       what + ", held by a, b and 3 more; it is next");
  auto for_all = held({"a"}, 1);
  for_all.found->line = "mutex:customer";
  for_all.found->args = R"({"customer": "ann"})";
  says(for_all, explain_reason::waits_for_permit,
       "waits for mutex:customer, held by a, and is one for all values of customer: one for each is written "
       "mutex:{customer}; it is next");
  const auto e = explain(held({"a", "b", "c", "d", "e", "f"}, 6, 2), now);
  CHECK(e.resource == "semaphore:provider-api");
  CHECK(e.before == 2);
  CHECK(e.holders == std::vector{job_id("a"), job_id("b"), job_id("c"), job_id("d"), job_id("e")});
  CHECK_FALSE(e.when);
}

TEST_CASE("who waits for a window is told when it opens") {
  auto s = throttled("fixed_window:github", 3);
  says(s, explain_reason::waits_for_slot, "waits for a slot of fixed_window:github; 3 wait before it");
  s.waits_for.about.next_at = later;
  says(s, explain_reason::waits_for_slot,
       "waits for a slot of fixed_window:github at " + later_text + "; 3 wait before it");
  CHECK(explain(s, now).when == later);
  CHECK(explain(s, later).text == "waits for a slot of fixed_window:github, which is asked now; 3 wait before it");
  auto own = throttled("custom:breaker", 0);
  own.waits_for.about.next_at = later;
  says(own, explain_reason::waits_for_slot,
       "waits for custom:breaker, which is asked at " + later_text + "; it is next");
}
