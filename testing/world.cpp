// A server without actors: it claims, runs and settles one run at a time, on the thread that asks.
#include <sluice/config.hpp>
#include <sluice/cron.hpp>
#include <sluice/testing.hpp>

#include <algorithm>
#include <atomic>

#include "core/queues.hpp"
#include "core/ranges.hpp"
#include "core/text.hpp"
#include "core/unresolved.hpp"
#include "execution/definitions.hpp"
#include "execution/election.hpp"
#include "execution/run_handler.hpp"
#include "scheduler/schedules.hpp"
#include "storage/shared_store.hpp"
#include "testing/gate.hpp"
#include "throttling/managing.hpp"

namespace sluice::testing {

// Moved by the test's thread, read by the store's.
class hand_clock final : public clock {
public:
  time_point now() const override { return from_micros(now_us_); }
  void advance(duration by) { now_us_ += by.count(); }

private:
  std::atomic<std::int64_t> now_us_{micros(system_clock().now())};
};

namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// For one answer of a store in memory: only a machine that stands still exceeds it.
constexpr duration timeout = 1min;

template <class... Ts>
[[noreturn]] void fail(const Ts&... parts) {
  throw std::runtime_error(cat(parts...));
}

template <class T>
T value_of(result<T> got, std::string_view what) {
  if (!got) fail(what, ": ", to_string(got.error()));
  return std::move(*got);
}

server_options of_every_queue() {
  server_options options;
  options.queues = {{"*", {}}};
  return options;
}

client_options access(server_options options, const std::string& url, filter_list filters) {
  options.storage = url;
  auto made = client_of(options);
  made.filters = std::move(filters);
  return made;
}

// One run: the job as it was claimed.
struct started_job {
  job about;
  std::uint32_t failures = 0;
  std::vector<std::string> admitted{};  // what its throttlers gave it before

  storage::run_key key() const { return {about.id, about.fence}; }
};

void count(drained& done, run_end end) {
  switch (end) {
    case run_end::succeeded: ++done.succeeded; break;
    case run_end::failed:
    case run_end::given_up: ++done.failed; break;
    case run_end::removed: ++done.deleted; break;
    case run_end::retry:
    case run_end::deferred: ++done.retried; break;
    case run_end::given_back: ++done.given_back; break;
  }
}

}  // namespace

struct world::parts {
  const server_options options;
  const filter_list filters;
  const std::string url = "sqlite::memory:world-" + random_token();
  const std::shared_ptr<hand_clock> time = std::make_shared<hand_clock>();
  const std::shared_ptr<storage::shared_store> shared_store =
      value_of(storage::open_shared_store(url, time), "the world's store");
  sluice::client client = value_of(sluice::client::open(access(options, url, filters)), "the world's client");
  const server_id me{"world"};
  handler_registry handlers{};
  std::shared_ptr<const execution::execution_config> config{};
  std::optional<testing::gate> gate{};
  const std::string zones = time_zone_version();  // by which schedules are planned
  std::shared_ptr<const std::set<std::string, std::less<>>> types{};
  std::uint64_t claims = 0;
  bool in_handler = false;

  storage::answer answer_to(const storage::request& r) const {
    auto answers = shared_store->call({r}, steady_clock::now() + timeout);
    if (const auto* failed = std::get_if<error>(&answers.at(0))) fail("the world's store: ", to_string(*failed));
    return std::move(answers[0]);
  }
  template <class Answer, class Request>
  Answer ask(Request r) const {
    return std::get<Answer>(answer_to(std::move(r)));
  }

  void begin() {
    const auto ask = [this](const storage::request& r) { return answer_to(r); };
    const auto is_fine = [](const result<void>& done) {
      if (!done) fail(done.error().message);
    };
    is_fine(check(options));
    is_fine(execution::store_definitions(options, ask));
    is_fine(throttling::require_defined(undefined_throttlers(options), ask));
  }

  void add(const handler_registry& more) {
    for (const auto& [type, entry] : more.entries()) {
      if (entry.route) fail("type ", type, " is handled by an actor; a world runs functions only");
      handlers.add(type, entry);
    }
    if (!more.throttlers().empty())
      fail("throttler custom:", more.throttlers().begin()->first, " is an actor; a world asks limiters only");
    for (const auto& [name, by] : more.limiters())
      handlers.limit(name, by);
    auto made = execution::make_execution_config(handlers, filters, options,
                                                 value_of(execution::make_throttle_plans(options.jobs), "the options"));
    for (const auto& [name, by] : handlers.limiters())
      made->limiters[resource_of(throttler_kind::custom, name)] = by;
    config = std::move(made);
    gate.emplace([this](const storage::request& r) { return answer_to(r); }, config);
    auto known = std::make_shared<std::set<std::string, std::less<>>>();
    for (const auto& [type, entry] : handlers.entries())
      known->insert(type);
    types = std::move(known);
  }

  bool serves(const queue_name& queue) const { return options_for(options.queues, queue.value) != nullptr; }
  void check_served(const queue_name& queue) const {
    if (!serves(queue)) fail("queue '", queue.value, "' is not among the options' queues");
  }

  job get(const job_id& id) { return value_of(client.get(id), "the world's store"); }

  std::optional<started_job> claim(const queue_name& queue) {
    if (in_handler) fail("a handler cannot run the jobs of the world that runs it");
    auto got = ask<storage::claim_answer>(storage::claim_request{.server = me,
                                                                 .queue = queue,
                                                                 .op = ++claims,
                                                                 .free = 1,
                                                                 .allow_suspect = true,
                                                                 .lease = options.lease,
                                                                 .types = types,
                                                                 .no_prefetch = config->no_prefetch});
    if (got.jobs.empty()) return std::nullopt;
    return started_job{std::move(got.jobs[0].job), got.jobs[0].failures, std::move(got.jobs[0].admitted)};
  }

  // False when its throttlers do not let it in. `ended`: how, if it does not wait in a line.
  bool may_run(const started_job& s, std::optional<run_end>* ended = nullptr) {
    auto said = gate->admit(s.about, s.failures, s.admitted);
    if (said.end && settle(said.end->settlement) == errc::none) {
      execution::notify_applied(*config, s.about, said.end->elected);
      if (ended) *ended = said.end->settlement.end;
    }
    return said.is_let_in;
  }

  // The first whom its throttlers let in.
  std::optional<started_job> start_next(const queue_name& queue) {
    for (;;) {
      auto next = claim(queue);
      if (!next || may_run(*next)) return next;
    }
  }

  outcome run_handler(const started_job& s) {
    struct mark {
      bool& in;
      ~mark() { in = false; }
    } inside{in_handler = true};
    const auto what = config;  // a handler may add others
    return execution::run_handler(*what, s.about, {}, [&](progress_report said) { say(s, std::move(said)); });
  }

  void say(const started_job& s, progress_report said) {
    ask<storage::progress_answer>(storage::progress_request{{{s.key(), bounded(std::move(said))}}});
  }

  errc settle(storage::settlement end) {
    const auto told = ask<storage::settle_answer>(storage::settle_request{{std::move(end)}, std::nullopt}).each.at(0);
    if (told != errc::none && told != errc::stale_fence) fail("the world's store: ", describe(told));
    return told;
  }

  // How it ended; nothing when the store refused that, since the job was taken away meanwhile.
  std::optional<run_end> run(const started_job& s) {
    const auto began = time->now();
    auto ended = run_handler(s);
    const auto settled = execution::elect(*config, s.about, s.failures, std::move(ended), time->now() - began);
    if (settle(settled.settlement) != errc::none) return std::nullopt;
    execution::notify_applied(*config, s.about, settled.elected);
    return settled.settlement.end;
  }

  void give_back(const started_job& s) { settle(execution::given_back(s.key(), "the test runs a job behind it")); }

  std::vector<queue_name> served_queues() {
    std::vector<queue_name> names;
    for (auto& q : ask<storage::queues_answer>(storage::queues_request{}).queues)
      if (serves(q.queue)) names.push_back(std::move(q.queue));
    return names;
  }

  // Of all queues when `only` is empty.
  drained drain(const queue_name& only, std::uint32_t limit) {
    drained done;
    std::map<std::string, std::uint32_t> starts;
    std::uint32_t all_starts = 0;
    for (bool more = true; std::exchange(more, false);) {
      for (const auto& queue : only.empty() ? served_queues() : std::vector{only}) {
        while (const auto s = claim(queue)) {
          more = true;
          ++starts[s->about.type.value];
          std::optional<run_end> end;
          if (may_run(*s, &end)) {
            ++done.runs;
            end = run(*s);
          }
          if (end) count(done, *end);
          if (++all_starts > limit) endless(starts, limit);
        }
      }
    }
    done.left = list(job_state::enqueued, only);
    return done;
  }

  [[noreturn]] static void endless(const std::map<std::string, std::uint32_t>& runs, std::uint32_t limit) {
    const auto most =
        std::max_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    fail("the drain has made more than ", limit, " starts, ", most->second, " of them of type ", most->first,
         ": does it make work without end?");
  }

  std::vector<job> list(std::optional<job_state> state, const queue_name& queue) {
    job_query query;
    query.state = state;
    query.queue = queue;
    query.limit = 200;
    std::vector<job> all;
    do {
      auto page = value_of(client.list(query), "the world's store");
      std::move(page.jobs.begin(), page.jobs.end(), std::back_inserter(all));
      query.after = std::move(page.next);
    } while (!query.after.empty());
    return all;
  }

  // Does what is due. Answers until something is due next.
  std::optional<duration> work_off() {
    beat();
    for (;;) {
      const auto got = ask<storage::promote_answer>(storage::promote_request{});
      for (const auto& limiter : got.open)
        gate->look_at_lines(limiter);
      const bool is_due = got.schedule_in && *got.schedule_in <= 0s;
      if (is_due) fire();
      if (is_due || !got.open.empty()) continue;
      auto next = got.next_in;
      if (got.schedule_in) next = std::min(next.value_or(*got.schedule_in), *got.schedule_in);
      if (!next || *next > 0s) return next;
    }
  }

  // Nobody is woken of a queue that nobody serves.
  void beat() {
    storage::heartbeat_request alive;
    alive.server.id = me;
    alive.server.name = me.value;
    for (const auto& queue : served_queues())
      alive.server.queues.push_back(queue.value + ":1");
    ask<storage::heartbeat_answer>(std::move(alive));
  }

  void fire() {
    const auto due = ask<storage::due_answer>(storage::due_request{});
    const auto prepare = [this](new_job job) { return config->pipeline.prepare(std::move(job), time->now()); };
    for (const auto& row : due.rows)
      ask<storage::update_schedule_answer>(scheduler::firing(row, due.now, zones, prepare).update);
  }

  // Time goes from one thing that is due to the next.
  void advance(duration by) {
    const auto until = time->now() + by;
    for (auto next = work_off(); next && time->now() + *next <= until; next = work_off())
      time->advance(*next);
    if (const auto left = until - time->now(); left > 0s) time->advance(left);
    work_off();
  }
};

world::world() : world(of_every_queue()) {}

world::world(server_options options, const handler_registry& handlers, filter_list filters)
    : parts_(new parts{std::move(options), std::move(filters)}) {
  parts_->begin();
  parts_->add(handlers);
}

world::~world() = default;

world& world::add(const handler_registry& more) {
  parts_->add(more);
  return *this;
}

sluice::client& world::client() { return parts_->client; }
const std::string& world::storage() const { return parts_->url; }

time_point world::now() const { return parts_->time->now(); }

void world::advance(duration by) {
  if (by < 0s) fail("the clock goes forward only");
  parts_->advance(by);
}

std::optional<duration> world::next_due() { return parts_->work_off(); }

bool world::advance_to_next() {
  const auto in = next_due();
  if (in) advance(*in);
  return in.has_value();
}

drained world::drain(std::uint32_t limit) { return parts_->drain({}, limit); }

drained world::drain(const queue_name& queue, std::uint32_t limit) {
  parts_->check_served(queue);
  return parts_->drain(queue, limit);
}

std::optional<job> world::run_next(const queue_name& queue) {
  parts_->check_served(queue);
  const auto next = parts_->start_next(queue);
  if (!next) return std::nullopt;
  parts_->run(*next);
  return parts_->get(next->about.id);
}

job world::run(new_job asked) {
  const auto id = value_of(parts_->client.enqueue(std::move(asked)), "run");
  const auto waiting = parts_->get(id);
  if (waiting.state != job_state::enqueued) fail("job ", id.value, " cannot start: it is ", name_of(waiting.state));
  parts_->check_served(waiting.queue);
  std::vector<started_job> before;
  auto next = parts_->claim(waiting.queue);
  for (; next && next->about.id != id; next = parts_->claim(waiting.queue))
    before.push_back(std::move(*next));
  for (const auto& s : before)
    parts_->give_back(s);
  if (!next && !parts_->types->contains(waiting.type.value))
    fail("job ", id.value, " cannot start: there is no handler for type ", waiting.type.value);
  if (!next) fail("job ", id.value, " cannot start: queue ", waiting.queue.value, " is paused");
  if (!parts_->may_run(*next))
    fail("job ", id.value, " cannot start: it ", value_of(parts_->client.explain(id), "run").text);
  parts_->run(*next);
  return parts_->get(id);
}

std::optional<job> world::lose_next(const queue_name& queue) {
  parts_->check_served(queue);
  const auto next = parts_->start_next(queue);
  if (!next) return std::nullopt;
  (void)parts_->run_handler(*next);
  const storage::expired_lease lease{next->key(), 0, parts_->options.lease, false};
  parts_->ask<storage::reap_answer>(storage::reap_request{{lease}, parts_->options.max_losses});
  return parts_->get(next->about.id);
}

std::vector<job> world::jobs(const job_filter& which) const {
  auto all = parts_->list(std::nullopt, which.queue);
  std::erase_if(all, [&](const job& j) {
    return (!which.type.empty() && j.type != which.type) || (which.state && j.state != *which.state);
  });
  std::reverse(all.begin(), all.end());
  return all;
}

job world::only(const std::string& type) const {
  auto all = jobs({.type = job_type(type)});
  if (all.size() != 1) fail("there are ", all.size(), " jobs of type ", type, ", not one");
  return std::move(all[0]);
}

}  // namespace sluice::testing
