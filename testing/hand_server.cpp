#include "testing/hand_server.hpp"

#include <sluice/cron.hpp>

#include <algorithm>

#include "core/queues.hpp"
#include "core/ranges.hpp"
#include "core/text.hpp"
#include "core/unresolved.hpp"
#include "execution/definitions.hpp"
#include "execution/dispatcher.hpp"
#include "execution/run_handler.hpp"
#include "operations/throttlers.hpp"

namespace sluice::testing {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// For one answer of a store in memory: only a machine that stands still exceeds it.
constexpr duration timeout = 1min;
constexpr std::size_t max_rounds = 100;  // of what is put off; more would have no end

void require(const result<void>& done) {
  if (!done) fail(done.error().message);
}

// True until its end; then it is as it was.
class mark {
public:
  explicit mark(bool& what) : what_(what), before_(std::exchange(what, true)) {}
  ~mark() { what_ = before_; }
  mark(const mark&) = delete;

private:
  bool& what_;
  const bool before_;
};

}  // namespace

storage::answer site::answer_to(const storage::request& r) const {
  auto answers = store->call({r}, steady_clock::now() + timeout);
  if (const auto* failed = std::get_if<error>(&answers.at(0))) fail("the world's store: ", to_string(*failed));
  return std::move(answers[0]);
}

void site::advance(duration by, const hand_server* asleep) {
  constexpr duration most = 24h * 36'525;
  if (by < 0s || by > most) fail("the clock goes forward only, and 100 years at most");
  for (auto* server : servers)
    if (server != asleep) server->wake_up();
  for (const auto until = time->now() + by;;) {
    auto next = steady_point::max();
    for (auto* server : servers)
      if (server != asleep) next = std::min(next, server->work_off());
    const auto left = until - time->now();
    if (left <= 0s) return;
    const auto in = std::chrono::ceil<duration>(next - time->steady_now());
    time->advance(std::clamp<duration>(in, duration(1), left));
  }
}

std::optional<duration> site::next_due() const {
  auto next = steady_point::max();
  for (auto* server : servers) {
    server->wake_up();
    server->work_off();
    next = std::min(next, server->next_of_store());
  }
  const auto in = std::chrono::ceil<duration>(next - time->steady_now());
  constexpr duration never = 24h * 365 * 40;
  return in < never ? std::optional(in) : std::nullopt;
}

// What its dispatchers ask of a supervisor.
struct hand_server::world_link final : execution::supervisor_link {
  void call_later(duration, execution::timer what) override { timers.push_back(what); }
  void ask_gate(std::vector<execution::admission_request>) override {}  // the server claims by itself
  void notify_run_ended(const execution::run_ptr& run, bool failed, duration ran) override {
    ends.push_back({execution::about_of(run), failed, ran});
  }
  void call_filters() override { filters_wait = true; }
  void wake_all_queues() override {}

  std::vector<execution::timer> timers;
  std::vector<throttled_end> ends;
  bool filters_wait = false;
};

// Answers before it returns.
class hand_server::world_store final : public execution::store_access {
public:
  explicit world_store(hand_server& of)
      : store_access(of.site_->store, [](const error&) {}), store_(of.site_->store), of_(of) {}

  void submit(requests asked, answered done, storage::priority) override {
    if (of_.ends_are_lost_ && std::holds_alternative<storage::settle_request>(asked.at(0))) return;
    auto answers = store_->call(asked, steady_clock::now() + timeout);
    for (std::size_t i = 0; i < asked.size(); ++i)
      of_.note_answer(asked[i], answers[i]);
    done(std::move(answers));
  }

private:
  std::shared_ptr<storage::shared_store> store_;
  hand_server& of_;
};

void hand_server::note_answer(const storage::request& asked, const storage::answer& told) {
  if (const auto* failed = std::get_if<error>(&told)) failed_ = to_string(*failed);
  if (const auto* renewed = std::get_if<storage::renew_answer>(&told); renewed && in_hand_) {
    const auto& runs = std::get<storage::renew_request>(asked).runs;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (renewed->each[i] == errc::none && runs[i].fence == in_hand_->about.fence) ++renewals_;
  }
  const auto* settled = std::get_if<storage::settle_answer>(&told);
  if (!settled) return;
  const auto& ends = std::get<storage::settle_request>(asked).runs;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (settled->each[i] == errc::none) last_end_ = ends[i].end;
    else if (settled->each[i] != errc::stale_fence) failed_ = describe(settled->each[i]);
  }
}

hand_server::hand_server(server_options options, filter_list filters, std::shared_ptr<site> at)
    : options_(std::move(options)),
      filters_(std::move(filters)),
      site_(std::move(at)),
      watch_([this](const queue_name& queue, fence f) { replace_worker(queue, f); }) {
  self_.id = server_id(cat("world-", ++site_->made));
  self_.name = self_.id.value;
  const auto ask = [this](const storage::request& r) { return site_->answer_to(r); };
  require(check(options_));
  require(execution::store_definitions(options_, ask));
  require(operations::require_defined(undefined_throttlers(options_), ask));
  add({});
  site_->servers.push_back(this);
}

hand_server::~hand_server() {
  std::erase(site_->servers, this);
  for (auto& [name, q] : queues_)
    q.of.dispatcher->end();
}

void hand_server::add(const handler_registry& more) {
  if (in_hand_ || in_step_) fail("what a world calls cannot add handlers to it");
  for (const auto& [type, entry] : more.entries()) {
    if (entry.route) fail("type ", type, " is handled by an actor; a world runs functions only");
    handlers_.add(type, entry);
  }
  for (const auto& [name, by] : more.limiters())
    handlers_.limit(name, by);
  auto types = std::make_shared<execution::type_names>();
  for (const auto& [type, entry] : handlers_.entries())
    types->insert(type);
  known_types_ = std::move(types);

  auto plans = execution::make_throttle_plans(options_.jobs);
  if (!plans) fail("the options: ", to_string(plans.error()));
  auto config = execution::make_execution_config(handlers_, filters_, options_, std::move(*plans));
  config->time = site_->time;
  auto made = std::make_shared<execution::execution_context>();
  made->options = options_;
  made->id = self_.id;
  made->config = std::move(config);
  made->store = std::make_shared<world_store>(*this);
  made->known_types = [this] { return known_types_; };
  made->quiet = true;  // its dispatchers claim nothing
  if (context_) made->stopped = context_->stopped.load();
  for (auto& [name, q] : queues_)
    q.of.dispatcher->end();
  queues_.clear();
  duties_.reset();
  context_ = std::move(made);
  gate_.emplace([this](const storage::request& r) { return site_->answer_to(r); }, site_->time, actors_,
                context_->config);
  const auto look_at_lines = [this](const std::vector<std::string>& limiters) {
    bool any = false;
    for (const auto& limiter : limiters)
      any = gate_->look_at_lines(limiter) || any;
    if (any) duties_->at(scheduler::duty::promote, site_->time->steady_now());
  };
  duties_.emplace(*context_, self_,
                  execution::duties::parts{.look_at_lines = look_at_lines,
                                           .sweep = [] {},
                                           .beaten = [](bool) {},
                                           .zones_version = [zones = time_zone_version()] { return zones; },
                                           .read_zones = [] {}},
                  scheduler::timetable());
}

void hand_server::stand_in(const std::string& throttler, throttler_function by) {
  if (!by.decide) fail("nothing can decide for throttler custom:", throttler, ": its function is empty");
  if (throttler.empty()) fail("a throttler has a name");
  actors_[resource_of(throttler_kind::custom, throttler)] = std::move(by);
}

bool hand_server::serves(const queue_name& queue) const { return options_for(options_.queues, queue.value) != nullptr; }

std::vector<queue_name> hand_server::served_queues() const {
  std::vector<queue_name> names;
  for (auto& q : site_->ask<storage::queues_answer>(storage::queues_request{}).queues)
    if (serves(q.queue)) names.push_back(std::move(q.queue));
  return names;
}

hand_server::queue_here& hand_server::queue_of(const queue_name& queue) {
  auto& q = queues_[queue.value];
  if (q.link) return q;
  q.of = context_->queues.of(queue.value, {.workers = 1, .prefetch = 0}, context_);
  q.of.pool->workers.on_progress([this] { execution::lease_watch::store_progress(*context_); });
  q.worker = q.of.pool->workers.add_without_thread();
  q.link = std::make_shared<world_link>();
  q.of.dispatcher->attach(q.link);
  return q;
}

std::optional<hand_server::claimed> hand_server::claim(const queue_name& queue) {
  if (in_hand_) fail("a handler cannot run the jobs of the world that runs it");
  if (in_step_) fail("a filter, or a function for a throttler, cannot run the jobs of the world that calls it");
  if (is_stopped()) return std::nullopt;
  const auto lease_ends = site_->time->steady_now() + options_.lease;
  auto got = site_->ask<storage::claim_answer>(storage::claim_request{.server = self_.id,
                                                                      .queue = queue,
                                                                      .op = ++claims_,
                                                                      .free = 1,
                                                                      .allow_suspect = true,
                                                                      .lease = options_.lease,
                                                                      .types = known_types_,
                                                                      .no_prefetch = context_->config->no_prefetch});
  if (got.jobs.empty()) return std::nullopt;
  auto run = execution::make_run(*context_, got.jobs[0], lease_ends);
  return claimed{std::move(run), std::move(got.jobs[0].admitted)};
}

void hand_server::give_back(const claimed& one, const std::string& why) const {
  const auto& about = one.run->about;
  auto end = execution::given_back({about.id, about.fence}, why);
  site_->ask<storage::settle_answer>(storage::settle_request{{std::move(end)}, std::nullopt});
}

bool hand_server::let_in(const claimed& one) {
  auto& q = queue_of(one.run->about.queue);
  q.of.pool->lock()->hold({one.run});
  execution::admission_verdict verdict;
  try {
    const mark inside(in_step_);
    verdict = gate_->admit(one);
  } catch (...) {
    q.of.pool->lock()->end_admission(one.run, std::nullopt);
    give_back(one, "its throttlers could not be asked");
    throw;
  }
  q.of.dispatcher->judged({verdict});
  settle();
  return verdict.what == admission::granted;
}

void hand_server::run(const claimed& one) {
  auto& q = queue_of(one.run->about.queue);
  {
    struct held {
      execution::run_ptr& run;
      ~held() { run = nullptr; }
    } until_its_end{in_hand_ = one.run};
    renewals_ = 0;
    q.of.pool->workers.run_next_here(q.worker);
  }
  settle();
  if (is_stopped()) leave();
}

storage::expired_lease hand_server::lose(const claimed& one) {
  {
    const mark lost(ends_are_lost_);
    run(one);
  }
  add({});  // what is started again holds no runs
  return {{one.run->about.id, one.run->about.fence}, renewals_, options_.lease, false};
}

void hand_server::replace_worker(const queue_name& queue, fence f) {
  auto& q = queue_of(queue);
  if (q.of.pool->workers.retire_overdue(f)) q.worker = q.of.pool->workers.add_without_thread();
}

void hand_server::settle() {
  const mark inside(in_step_);
  bool more = true;
  for (std::size_t round = 0; std::exchange(more, false); ++round) {
    if (!failed_.empty()) fail("the world's store: ", std::exchange(failed_, {}));
    if (round > max_rounds) fail("a world's server does not come to rest");
    for (auto& [name, q] : queues_) {
      if (std::exchange(q.link->filters_wait, false)) {
        q.of.dispatcher->call_filters();
        more = true;
      }
      for (const auto timer : std::exchange(q.link->timers, {})) {
        q.of.dispatcher->again(timer);
        more = true;
      }
      while (!q.link->ends.empty()) {  // what one throws costs the others nothing
        const auto end = std::move(q.link->ends.front());
        q.link->ends.erase(q.link->ends.begin());
        gate_->notify_run_ended(end);
      }
    }
  }
}

void hand_server::ask(execution::duties::requests asked) {
  while (!asked.empty()) {
    std::vector<storage::answer> answers;
    for (const auto& r : asked)
      answers.push_back(site_->answer_to(r));
    asked = duties_->answered(answers, site_->time->steady_now());
  }
}

void hand_server::beat() {
  if (is_stopped()) return;
  // Nobody is woken of a queue that nobody serves.
  for (const auto& queue : served_queues())
    queue_of(queue);
  site_->ask<storage::heartbeat_answer>(duties_->beat());
  last_beat_ = site_->time->steady_now();
  duties_->at(scheduler::duty::find_lost, site_->time->steady_now());
}

steady_point hand_server::work_off() {
  if (in_step_) fail("a filter, or a function for a throttler, cannot move the clock of the world that calls it");
  if (is_stopped()) return watch();
  if (site_->time->steady_now() >= last_beat_ + scheduler::heartbeat_every) beat();
  {
    const mark inside(in_step_);
    duties_->at(scheduler::duty::promote, site_->time->steady_now());
    for (auto asked = duties_->due(site_->time->steady_now()); !asked.empty();
         asked = duties_->due(site_->time->steady_now()))
      ask(std::move(asked));
  }
  return std::min(duties_->next(), watch());
}

steady_point hand_server::next_of_store() const {
  if (is_stopped()) return steady_point::max();
  return std::min(duties_->next(scheduler::duty::promote), duties_->next(scheduler::duty::fire));
}

steady_point hand_server::watch() {
  if (!in_hand_) return steady_point::max();
  const mark inside(in_step_);
  const auto next = watch_.look(context_, site_->time->steady_now());
  settle();
  return next;
}

void hand_server::stop() {
  context_->stopped = true;
  for (const auto& p : context_->queues.pools())
    p->drain(site_->time->steady_now());
  settle();
  if (!in_hand_) leave();
}

void hand_server::leave() const { site_->answer_to(storage::deregister_request{self_.id}); }

}  // namespace sluice::testing
