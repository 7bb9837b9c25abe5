// The words that the contract suite speaks: short forms of the store's requests, and the audit that
// every scenario ends with.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "core/job_state.hpp"
#include "core/text.hpp"
#include "storage/in_words.hpp"
#include "storage/settle_in_parts.hpp"
#include "support/catch.hpp"
#include "support/worlds.hpp"

namespace sluice::test {

// A scenario in a `world& w`: compiled once, and a test case of that name for each store. A file and a store in memory
// differ in little: where a file matters, as when a store is opened again, the scenario is one of
// ON_EACH_STORE_AND_FILE. A run that has no time for all takes a tenth of the others on a file (support/drawn.py).
#define ON_EACH_STORE(name) SLUICE_ON_EACH_STORE(name, "[contract]", __COUNTER__)
#define ON_EACH_STORE_AND_FILE(name) SLUICE_ON_EACH_STORE(name, "[contract][file]", __COUNTER__)
#define SLUICE_ON_EACH_STORE(name, tags, n) SLUICE_SCENARIO(name, tags, n)
#define SLUICE_SCENARIO(name, tags, n)                                                  \
  static void scenario_##n(world& w);                                                   \
  TEMPLATE_TEST_CASE(name, tags, sqlite_file_world, sqlite_memory_world, redis_world) { \
    TestType store;                                                                     \
    scenario_##n(store);                                                                \
  }                                                                                     \
  static void scenario_##n(world& w)

using namespace std::chrono_literals;

// The mutex and the window that most cases speak of.
inline const std::string m = "mutex:m";
inline const std::string window = "fixed_window:w";

// One request alone; an error of the whole request ends the test.
inline storage::enqueue_answer ask(world& w, const storage::enqueue_request& r) {
  return w.ask<storage::enqueue_answer>(r);
}
inline storage::claim_answer ask(world& w, const storage::claim_request& r) { return w.ask<storage::claim_answer>(r); }
inline storage::settle_answer ask(world& w, const storage::settle_request& r) {
  return w.ask<storage::settle_answer>(r);
}
inline storage::renew_answer ask(world& w, const storage::renew_request& r) { return w.ask<storage::renew_answer>(r); }
inline storage::prune_answer ask(world& w, const storage::prune_request& r) { return w.ask<storage::prune_answer>(r); }
inline storage::list_answer ask(world& w, const storage::list_request& r) { return w.ask<storage::list_answer>(r); }
inline storage::expired_answer ask(world& w, const storage::expired_request& r) {
  return w.ask<storage::expired_answer>(r);
}

struct job_words {
  std::string id;
  std::string type = "work";
  std::string queue = "default";
  std::string args = "{}";
  duration delay{0};
  std::map<std::string, std::string> headers = {};
};

inline prepared_job prepared(const job_words& words) {
  new_job job;
  job.id.value = words.id;
  job.type.value = words.type;
  job.queue.value = words.queue;
  job.args = words.args;
  job.delay = words.delay;
  job.headers = words.headers;
  auto made = enqueue_pipeline({}, {}).prepare(job, from_micros(1'779'000'000'000'000));
  if (!made) throw std::runtime_error(to_string(made.error()));
  return std::move(*made);
}
// What ties a job to others, to be changed.
inline flow_options& flow_of(prepared_job& job) {
  auto own = std::make_shared<flow_options>(job.flow ? *job.flow : flow_options{});
  job.flow = own;
  return *own;
}
inline const flow_options& flow_of(const prepared_job& job) {
  static const flow_options none;
  return job.flow ? *job.flow : none;
}

inline errc put(world& w, const job_words& words) {
  return ask(w, storage::enqueue_request{{prepared(words)}}).each.at(0);
}

// Jobs of type "work" in the queue "default".
inline void put_all(world& w, const names& ids) {
  storage::enqueue_request r;
  for (const auto& id : ids)
    r.jobs.push_back(prepared({.id = id}));
  for (const auto code : ask(w, r).each)
    REQUIRE(code == errc::none);
}

struct claim_words {
  std::uint32_t free = 1;
  std::uint32_t ahead = 0;
  bool allow_suspect = false;
  std::string queue = "default";
  std::string server = "s1";
  std::uint64_t op = 0;  // 0: a new one
  duration lease = 30s;
  std::string types = "work";  // words
  std::string no_prefetch = "";
  std::uint32_t slot = 0;
  storage::permits_by_type permits{};
  std::map<std::string, storage::claim_request::chain, std::less<>> chains{};
};

inline std::shared_ptr<const std::set<std::string, std::less<>>> words_of(const std::string& text) {
  std::istringstream in(text);
  using words = std::istream_iterator<std::string>;
  return std::make_shared<const std::set<std::string, std::less<>>>(words(in), words());
}

inline storage::claim_request claiming(const claim_words& words) {
  static std::uint64_t ops = 1'000;
  storage::claim_request r;
  r.server.value = words.server;
  r.queue.value = words.queue;
  r.op = words.op == 0 ? ++ops : words.op;
  r.free = words.free;
  r.ahead = words.ahead;
  r.allow_suspect = words.allow_suspect;
  r.lease = words.lease;
  r.types = words_of(words.types);
  r.no_prefetch = words_of(words.no_prefetch);
  r.slot = words.slot;
  r.permits = std::make_shared<const storage::permits_by_type>(words.permits);
  r.chains = words.chains;
  return r;
}

inline storage::claim_answer claim(world& w, const claim_words& words = {}) { return ask(w, claiming(words)); }

// The next job, which must be there.
inline job claim_one(world& w, claim_words words = {}) {
  words.free = 1;
  auto got = claim(w, words);
  REQUIRE(got.jobs.size() == 1);
  return got.jobs[0].job;
}

// Of each that was claimed.
inline std::vector<job> jobs_of(const storage::claim_answer& got) {
  std::vector<job> all;
  for (const auto& one : got.jobs)
    all.push_back(one.job);
  return all;
}
inline std::vector<names> admitted(const storage::claim_answer& got) {
  std::vector<names> all;
  for (const auto& one : got.jobs)
    all.push_back(one.admitted);
  return all;
}
inline std::vector<std::uint32_t> failures(const storage::claim_answer& got) {
  std::vector<std::uint32_t> all;
  for (const auto& one : got.jobs)
    all.push_back(one.failures);
  return all;
}

inline names ids(const std::vector<job>& jobs) {
  names found;
  for (const auto& j : jobs)
    found.push_back(j.id.value);
  return found;
}
inline names ids(const storage::claim_answer& got) { return ids(jobs_of(got)); }

inline storage::run_key run_of(const job& j) { return {j.id, j.fence}; }

using how = run_end;

inline storage::settlement ended(const job& j, how end, duration delay = 0s) {
  storage::settlement s;
  s.run = run_of(j);
  s.end = end;
  s.cause = end == how::succeeded ? "succeeded" : end == how::given_back ? "given_back" : "failed";
  s.text = end == how::succeeded ? "42" : "it broke";
  s.reason = "because";
  s.delay = delay;
  s.failure = end == how::failed || end == how::given_up || end == how::retry;
  return s;
}

inline errc settle(world& w, const storage::settlement& s) {
  return ask(w, storage::settle_request{{s}, {}}).each.at(0);
}
inline errc settle(world& w, const job& j, how end = how::succeeded, duration delay = 0s) {
  return settle(w, ended(j, end, delay));
}

inline errc renew(world& w, const job& j, duration lease = 30s) {
  return ask(w, storage::renew_request{{run_of(j)}, lease}).each.at(0);
}

inline storage::expired_answer expired(world& w) { return ask(w, storage::expired_request{}); }
inline storage::reap_answer reap(world& w, std::vector<storage::expired_lease> leases, std::uint32_t max_losses = 3) {
  return w.ask<storage::reap_answer>(storage::reap_request{std::move(leases), max_losses});
}

// Takes away all starts whose leases end within `lease`.
inline void lose_all(world& w, duration lease = 30s, std::uint32_t max_losses = 3) {
  w.clock.advance(lease + 1s);
  for (const auto code : reap(w, expired(w).leases, max_losses).each)
    REQUIRE(code == errc::none);
}

// A job with two lost runs, at the tail of its queue.
inline void put_suspect(world& w, const std::string& id, const std::string& type = "work") {
  REQUIRE(put(w, {.id = id, .type = type}) == errc::none);
  for (int losses = 0; losses < 2; ++losses) {
    REQUIRE(ids(claim(w, {.types = type})) == names{id});
    lose_all(w);
  }
}

// What such a claim takes is lost, and is lost again.
inline void lose_twice(world& w, const claim_words& words) {
  for (int losses = 0; losses < 2; ++losses) {
    REQUIRE(claim(w, words).jobs.size() == words.free);
    lose_all(w);
  }
}

inline storage::promote_answer promote(world& w, std::uint32_t limit = 1000) {
  return w.ask<storage::promote_answer>(storage::promote_request{limit});
}

inline storage::change_jobs_request requeuing(const job_id& id, std::optional<job_state> only_in = {},
                                              const author& by = {}) {
  return {storage::job_change::requeue, {id}, only_in, by};
}
inline storage::change_jobs_request removing(const job_id& id, std::optional<job_state> only_in = {},
                                             const author& by = {}) {
  return {storage::job_change::remove, {id}, only_in, by};
}
inline storage::change_jobs_request cancelling(const job_id& id, std::optional<job_state> only_in = {},
                                               const author& by = {}) {
  return {storage::job_change::cancel, {id}, only_in, by};
}
inline storage::change_answer change(world& w, const storage::change_jobs_request& wanted) {
  return w.ask<storage::change_jobs_answer>(wanted).each.at(0);
}
inline storage::change_answer requeue(world& w, const std::string& id) { return change(w, requeuing(job_id(id))); }
inline storage::change_answer remove(world& w, const std::string& id) { return change(w, removing(job_id(id))); }
inline storage::change_answer cancel(world& w, const std::string& id, const author& by = {}) {
  return change(w, cancelling(job_id(id), {}, by));
}
// Whether it was otherwise before.
inline bool pause(world& w, const std::string& queue, bool paused = true) {
  return w.ask<storage::change_answer>(storage::pause_request{queue_name(queue), paused}).changed;
}

// Whether it was known before.
inline bool beat(world& w, const server_info& info) {
  return w.ask<storage::heartbeat_answer>(storage::heartbeat_request{info}).known;
}
inline server_info serving(const std::string& id, const names& queues) {
  server_info info;
  info.id.value = id;
  info.name = id;
  info.queues = queues;
  return info;
}
inline void leave(world& w, const server_id& id) { w.ask<storage::done_answer>(storage::deregister_request{id}); }
inline std::vector<server_info> servers(world& w) {
  return w.ask<storage::servers_answer>(storage::servers_request{}).servers;
}

inline storage::get_answer look(world& w, const std::string& id) {
  return w.ask<storage::get_answer>(storage::get_request{job_id(id)});
}
inline job get(world& w, const std::string& id) {
  auto got = look(w, id);
  INFO("job " << id);
  REQUIRE(got.found.has_value());
  return std::move(*got.found);
}

// All pages.
inline std::vector<job> list(world& w, job_query query = {}) {
  std::vector<job> all;
  do {
    auto page = w.ask<storage::list_answer>(storage::list_request{query}).page;
    std::move(page.jobs.begin(), page.jobs.end(), std::back_inserter(all));
    query.after = page.next;
  } while (!query.after.empty());
  return all;
}

inline std::vector<queue_counts> queues(world& w) {
  return w.ask<storage::queues_answer>(storage::queues_request{}).queues;
}
inline queue_counts counts(world& w, const std::string& queue = "default") {
  for (const auto& q : queues(w))
    if (q.queue.value == queue) return q;
  return {};
}
inline std::uint64_t count_of(const queue_counts& q, job_state state) {
  switch (state) {
    case job_state::enqueued: return q.enqueued;
    case job_state::scheduled: return q.scheduled;
    case job_state::awaiting: return q.awaiting;
    case job_state::throttled: return q.throttled;
    case job_state::processing: return q.processing;
    case job_state::succeeded: return q.succeeded;
    case job_state::failed: return q.failed;
    case job_state::deleted: return q.deleted;
  }
  return 0;
}

struct take_words {
  bool strict = false;
  bool park = true;
};

inline storage::acquire_permits_request::run wanting(const job& j, names permits, take_words words = {}) {
  return {run_of(j), std::move(permits), words.strict, words.park};
}
inline names take_all(world& w, std::vector<storage::acquire_permits_request::run> runs) {
  return in_words(w.ask<storage::acquire_permits_answer>(storage::acquire_permits_request{std::move(runs)}).each);
}
inline std::string take(world& w, const job& j, names permits, take_words words = {}) {
  return take_all(w, {wanting(j, std::move(permits), words)}).at(0);
}

// A new job that runs.
inline job started(world& w, const std::string& id, const std::string& queue = "default") {
  REQUIRE(put(w, {.id = id, .queue = queue}) == errc::none);
  auto j = claim_one(w, {.queue = queue});
  REQUIRE(j.id.value == id);
  return j;
}
// ... and has these permits.
inline job holding(world& w, const std::string& id, const names& permits, take_words words = {},
                   const std::string& queue = "default") {
  auto j = started(w, id, queue);
  REQUIRE(take(w, j, permits, words) == "granted");
  return j;
}
// A new job that waits for the first of these.
inline job parked(world& w, const std::string& id, const names& permits, const std::string& queue = "default") {
  auto j = started(w, id, queue);
  REQUIRE(take(w, j, permits).starts_with("parked "));
  return j;
}

using defined = storage::define_answer::how;
inline defined define(world& w, const storage::define_request& r) { return w.ask<storage::define_answer>(r).what; }
inline defined define(world& w, const std::string& resource, std::uint64_t permits) {
  return define(w, {.resource = resource, .text = cat("{\"limit\":", permits, "}"), .permits = permits, .config = ""});
}
inline storage::change_answer undefine(world& w, const std::string& resource) {
  return w.ask<storage::change_answer>(storage::undefine_request{resource});
}

inline storage::throttler_answer one_throttler(world& w, const std::string& resource, std::uint32_t limit = 20) {
  return w.ask<storage::throttler_answer>(storage::throttler_request{resource, limit});
}
// By id, since those of the same instant are told of in any order.
inline names holders(world& w, const std::string& resource) {
  const auto told = one_throttler(w, resource, 200);
  CHECK(told.about.held == told.holders.size());
  auto all = in_words(told.holders);
  std::sort(all.begin(), all.end());
  return all;
}
inline names waiters(world& w, const std::string& resource) {
  const auto told = one_throttler(w, resource, 200);
  CHECK(told.about.waiting == told.waiters.size());
  names all;
  for (const auto& id : told.waiters)
    all.push_back(id.value);
  return all;
}
// All pages.
inline std::vector<storage::throttler_row> all_throttlers(world& w, std::uint32_t limit = 200) {
  std::vector<storage::throttler_row> all;
  storage::throttlers_request r{limit, ""};
  do {
    auto page = w.ask<storage::throttlers_answer>(r);
    REQUIRE(page.throttlers.size() <= limit);
    std::move(page.throttlers.begin(), page.throttlers.end(), std::back_inserter(all));
    r.after = page.next;
  } while (!r.after.empty());
  return all;
}

// From the first resource to the last.
inline std::uint64_t reconcile(world& w, std::uint32_t limit = 1000) {
  std::uint64_t woken = 0;
  storage::reconcile_request r{limit, ""};
  do {
    const auto told = w.ask<storage::reconcile_answer>(r);
    woken += told.woken;
    r.after = told.next;
  } while (!r.after.empty());
  return woken;
}
inline storage::explain_answer explain(world& w, const std::string& id) {
  return w.ask<storage::explain_answer>(storage::explain_request{job_id(id)});
}
inline storage::limiter_record limiter_record_of(world& w, const std::string& id) {
  return w.ask<storage::read_limiter_answer>(storage::read_limiter_request{id}).limiter;
}
inline storage::update_limiter_answer update_limiter(world& w, const storage::update_limiter_request& r) {
  return w.ask<storage::update_limiter_answer>(r);
}

// Locks. A taking by "a" is always the same taking; asked for without a token it is a new one.
struct lock_words {
  std::string holder = "a";
  duration lease = 30s;
  std::string token = "";
};
inline storage::lock_request taking(const std::string& resource, const lock_words& words = {}) {
  static std::uint64_t tokens = 0;
  return {storage::lock_request::verb::take,
          resource,
          words.holder,
          words.token.empty() ? cat("token ", ++tokens) : words.token,
          {},
          words.lease};
}
inline storage::lock_request renewing(const std::string& resource, sluice::fence fence, duration lease = 30s) {
  return {storage::lock_request::verb::renew, resource, "", "", fence, lease};
}
inline storage::lock_request releasing(const std::string& resource, sluice::fence fence) {
  return {storage::lock_request::verb::release, resource, "", "", fence, {}};
}
inline storage::lock_answer ask(world& w, const storage::lock_request& r) { return w.ask<storage::lock_answer>(r); }
inline storage::lock_answer take_lock(world& w, const std::string& resource, const lock_words& words = {}) {
  return ask(w, taking(resource, words));
}
// One that must be free.
inline sluice::fence lock(world& w, const std::string& resource, const lock_words& words = {}) {
  const auto told = take_lock(w, resource, words);
  REQUIRE(told.code == errc::none);
  REQUIRE(told.now.has_value());
  CHECK(told.now->holder == words.holder);
  return told.now->fence;
}
inline std::string who_holds(world& w, const std::string& resource) {
  return in_words(ask(w, storage::lock_request{storage::lock_request::verb::read, resource}).now);
}

inline storage::request enqueue_of(const std::string& id, const std::string& args = "{}") {
  return storage::enqueue_request{{prepared({.id = id, .args = args})}};
}
inline storage::request get_of(const std::string& id) { return storage::get_request{job_id(id)}; }

inline errc code_of(const storage::answer& a) {
  const auto* e = std::get_if<error>(&a);
  return e ? e->code : errc::none;
}
// With what a request as a whole is refused.
inline errc refusal(world& w, const storage::request& r) { return code_of(w.store().apply({&r, 1}).at(0)); }

// As a shared store has it done again that was refused as a whole.
inline storage::settle_answer apart(world& w, const storage::settle_request& r) {
  const auto refused = w.store().apply(std::vector<storage::request>{r});
  REQUIRE(code_of(refused.at(0)) != errc::none);
  return std::get<storage::settle_answer>(storage::settle_in_parts(w.store(), r, std::get<error>(refused[0])).told);
}

inline std::string portrait(world& w) {
  std::string all;
  for (const auto& j : list(w))
    all += portrait(j) + "\n";
  return all;
}

// What must hold at any time: the counts are a recount, each job is listed once and in its state only,
// and each says what its state needs.
inline void audit(world& w) {
  std::map<std::pair<std::string, job_state>, std::uint64_t> recount;
  std::set<std::string> seen;
  std::set<std::uint64_t> fences;
  for (const auto& j : list(w)) {
    INFO(portrait(j));
    CHECK(seen.insert(j.id.value).second);
    ++recount[{j.queue.value, j.state}];
    CHECK(j.lease_until.has_value() == (j.state == job_state::processing));
    CHECK(j.server.empty() == (j.state != job_state::processing));
    CHECK(j.due_at.has_value() == (j.state == job_state::scheduled));
    CHECK(j.finished_at.has_value() == is_final(j.state));
    CHECK((j.line.empty() || j.state == job_state::enqueued || j.state == job_state::throttled));
    if (j.state == job_state::throttled) CHECK_FALSE(j.line.empty());
    CHECK(j.history.size() <= 20);
    if (j.state == job_state::processing) CHECK(fences.insert(j.fence.value).second);
  }
  for (const auto& q : queues(w)) {
    for (int n = 1; n <= 8; ++n) {
      const auto state = static_cast<job_state>(n);
      INFO(q.queue.value << ' ' << name_of(state));
      const auto recounted = recount[{q.queue.value, state}];
      CHECK(count_of(q, state) == recounted);
      job_query query;
      query.state = state;
      query.queue = q.queue;
      CHECK(list(w, query).size() == recounted);
      recount.erase({q.queue.value, state});
    }
  }
  CHECK(recount.empty());  // a queue that is not told of
  const auto findings = w.store().audit();
  REQUIRE(findings.ok());
  CHECK(*findings == names{});
}

}  // namespace sluice::test
