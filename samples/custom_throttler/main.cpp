// Throttlers of one's own beside built-in ones, in a host's actor system. A bank bears six calls at once, and fewer
// when it is ill:
//
//   transfer    custom:adaptive, an actor that learns what the bank bears (doorman.cpp), and semaphore:bank
//   statement   custom:bucket, a pure function over a text in the store (token_bucket.cpp), and semaphore:bank
//
// The actor is killed in the middle of it. Its successor knows nothing of whom it had let in, but the semaphore does: a
// permit belongs to a job in the store, not to an actor.
//
//   custom_throttler [--transfers 150] [--statements 60] [--store URL] [--unthrottled]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include <sluice/actors.hpp>
#include <sluice/sluice.hpp>

#include "common/promises.hpp"
#include "custom_throttler/bank.hpp"
#include "custom_throttler/doorman.hpp"
#include "custom_throttler/token_bucket.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* usage =
    R"(usage: custom_throttler [--transfers 150] [--statements 60] [--store URL] [--unthrottled]

Jobs call a bank under a semaphore, a token bucket and an adaptive throttler; the last is an actor, which is killed
and respawned on the way. Exit code 1: a promise was broken.

  --transfers N, --statements N   how many jobs there are. Default: 150, 60
  --store URL     as sqlite:jobs.db. Default: sqlite::memory:
  --unthrottled   the same without throttlers, to see what they are for
  --help          this text
)";

constexpr std::uint64_t tokens_a_second = 20, burst = 10;
constexpr auto timeout = 5s;  // for the others at the roll call

struct numbered {
  unsigned number = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(numbered, number)

struct host_settings : caf::actor_system_config {
  host_settings() {
    set("scheduler.policy", caf::atom("sharing"));  // docs/embedding.md says why
    set("scheduler.max-throughput", std::size_t{100});
  }
};

sluice::server_options options_of(const sample::words& words) {
  sluice::server_options options;
  options.storage = words.store;
  options.queues["default"].workers = 8;
  options.throttlers = {
      {.kind = sluice::throttler_kind::semaphore, .name = "bank", .limit = sample::bank::calls_at_once}};
  auto& transfer = options.jobs["transfer"];
  transfer.throttle = {"custom:adaptive", "semaphore:bank"};
  transfer.retry.attempts = 30;
  transfer.retry.delay = 50ms;
  options.jobs["statement"].throttle = {"custom:bucket", "semaphore:bank"};
  options.jobs["roll_call"].throttle = {"semaphore:bank"};
  if (words.switches.at("--unthrottled"))
    for (auto& [type, how] : options.jobs)
      how.throttle.clear();
  return options;
}

// What came of the jobs, as the clerks are told.
struct tally {
  std::atomic<unsigned> stored = 0, succeeded = 0, ended = 0;
  std::atomic<bool> over = false;
};

// Enqueues by message, is told of each end, and quits after the last.
caf::behavior clerk(caf::event_based_actor* self, const sluice::server_actor& server,
                    const std::vector<sluice::new_job>& jobs, tally* count, const caf::actor& owner) {
  const auto all = static_cast<unsigned>(jobs.size());
  const auto one_more = [self, all, count, owner] {
    // In the middle of it, with jobs running and jobs waiting.
    if (++count->ended == all / 3 && owner) self->send(owner, sample::kill_atom::value);
    if (count->ended < all) return;
    count->over = true;
    self->quit();
  };
  for (const auto& job : jobs)
    self->request(server, caf::infinite, sluice::enqueue_atom::value, job, caf::actor(self))
        .then([count](const sluice::job_id&) { ++count->stored; },
              [one_more](const caf::error& e) {
                std::printf("not stored: %s\n", sluice::to_string(sluice::error_of(e)).c_str());
                one_more();
              });
  return {[count, one_more](const sluice::job_ended& end) {
    count->succeeded += end.about.state == sluice::job_state::succeeded ? 1 : 0;
    one_more();
  }};
}

std::vector<sluice::new_job> jobs_of(const std::string& type, unsigned count) {
  std::vector<sluice::new_job> jobs;
  for (unsigned n = 1; n <= count; ++n)
    jobs.push_back(sluice::make_job(type, numbered{n}));
  return jobs;
}

unsigned long long count_of(std::uint64_t n) { return n; }

// Until the clerk has heard of all ends; shows meanwhile how the doorman sees it.
void follow(caf::scoped_actor& self, const caf::actor& owner, const tally& count, const sample::bank& bank) {
  for (const auto begin = std::chrono::steady_clock::now(); !count.over;) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%5.1f s %4u transfers, %2zu statements; ", seconds, bank.booked(), bank.statements().size());
    self->request(owner, 1s, sample::count_atom::value)
        .receive(
            [&](std::uint64_t limit, std::uint64_t inside) {
              std::printf("the doorman lets in %llu, %llu are inside", count_of(limit), count_of(inside));
            },
            [&](const caf::error&) { std::printf("nobody is at the door"); });
    std::printf("%s\n", bank.is_ill() ? "; the bank is ill" : "");
    std::fflush(stdout);
    for (int i = 0; i < 10 && !count.over; ++i)
      std::this_thread::sleep_for(20ms);
  }
}

// Whom the doorman believes inside. He is told of ends by message, so the last may be on its way.
std::uint64_t still_inside(caf::scoped_actor& self, const caf::actor& owner) {
  std::uint64_t inside = 1;
  for (int i = 0; i < 100 && inside > 0; ++i) {
    if (i > 0) std::this_thread::sleep_for(20ms);
    self->request(owner, 1s, sample::count_atom::value)
        .receive([&](std::uint64_t, std::uint64_t now) { inside = now; }, [](const caf::error&) {});
  }
  return inside;
}

unsigned max_in_a_second(std::vector<sluice::time_point> times) {
  std::sort(times.begin(), times.end());
  std::size_t most = 0;
  for (std::size_t begin = 0, end = 0; end < times.size(); ++end) {
    while (times[end] - times[begin] >= 1s)
      ++begin;
    most = std::max(most, end - begin + 1);
  }
  return static_cast<unsigned>(most);
}

}  // namespace

int main(int argc, char** argv) {
  const auto words = sample::read_words(
      argc, argv, usage,
      {.switches = sample::may_be_unthrottled, .numbers = {{"--transfers", 150}, {"--statements", 60}}});
  sluice::set_log_level(sluice::log_level::warn);

  sample::bank bank;
  sample::meeting roll_call(sample::bank::calls_at_once);
  sluice::handler_registry handlers;
  handlers.handle<numbered>("transfer", [&](const numbered& args) { bank.transfer(args.number); });
  handlers.handle<numbered>("statement",
                            [&](const numbered& args) { return std::to_string(bank.statement(args.number)); });
  handlers.handle("roll_call", [&](sluice::job_context&) {
    return roll_call.wait(timeout) ? sluice::outcome::succeeded()
                                   : sluice::outcome::do_not_retry("some of the bank's permits never came back");
  });
  handlers.limit("bucket", std::make_shared<sample::token_bucket>(tokens_a_second, burst));
  // The doorman is spawned by its owner, who names it when the server is there; until then its jobs wait.
  sluice::throttle_by_actor(handlers, "adaptive", sluice::throttler_actor());

  tally work, probe;
  host_settings settings;
  caf::actor_system system(settings);
  auto server = sample::must(sluice::spawn_server(system, options_of(words), handlers));
  caf::scoped_actor self(system);
  const auto owner = system.spawn(sample::owner_of_doorman);
  self->send(owner, sample::up_atom::value, server.handle());

  auto jobs = jobs_of("transfer", words.numbers.at("--transfers"));
  const auto statements = jobs_of("statement", words.numbers.at("--statements"));
  jobs.insert(jobs.end(), statements.begin(), statements.end());
  const auto busy = system.spawn(clerk, server.handle(), jobs, &work, owner);
  follow(self, owner, work, bank);
  self->wait_for(busy);

  // Is any permit still with a job that has ended, or was let in by the actor that died? These jobs end only when as
  // many of them are at work at once as the semaphore has permits.
  self->wait_for(
      system.spawn(clerk, server.handle(), jobs_of("roll_call", sample::bank::calls_at_once), &probe, caf::actor()));
  const auto inside = still_inside(self, owner);
  server.stop();  // before the system ends
  self->send_exit(owner, caf::exit_reason::user_shutdown);

  const auto most = max_in_a_second(bank.statements());
  // A second's tokens, a burst, and what may begin a little after its token.
  const auto allowed = burst + tokens_a_second + tokens_a_second * sample::token_bucket::begins_within / 1s;
  std::printf("\nThe bank refused %u transfers, which were tried again.\n", bank.refused());
  sample::promises promises;
  const auto text = [](auto n) { return std::to_string(n); };
  promises.check(
      work.stored == jobs.size() && work.succeeded == jobs.size() && bank.booked() == words.numbers.at("--transfers"),
      "no job was lost: " + text(work.succeeded.load()) + " of " + text(jobs.size()) + " succeeded");
  promises.check(bank.peak() <= sample::bank::calls_at_once,
                 "at most 6 calls at once: there were at most " + text(bank.peak()));
  promises.check(most <= allowed,
                 "at most " + text(allowed) + " statements in any second: there were at most " + text(most));
  promises.check(bank.refused() <= words.numbers.at("--transfers") / 4,
                 "the doorman learned: the bank refused no more than a quarter");
  promises.check(probe.succeeded == sample::bank::calls_at_once, "no permit leaked: 6 jobs hold one each at the end");
  promises.check(inside == 0, "the doorman knows of nobody inside");
  return promises.exit_code();
}
