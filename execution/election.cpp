#include "execution/election.hpp"

#include <random>

#include "core/log.hpp"
#include "core/queues.hpp"
#include "core/ranges.hpp"
#include "core/retry.hpp"
#include "execution/filters.hpp"

namespace sluice::execution {
namespace {

// Turns a failed run into a retry, or into the end that the narrowest policy names.
class retry_filter final : public filter {
public:
  explicit retry_filter(const server_options& options) : options_(options) {}

  void elect(election& e) override {
    if (e.chosen.what != run_end::failed && e.chosen.what != run_end::given_up) return;
    static const retry_policy nothing;
    const auto* type = type_options_of(options_, e.about.type.value);
    const auto* queue = options_for(options_.queues, e.about.queue.value);
    const auto policy =
        narrowest({&e.about.retry, type ? &type->retry : &nothing, queue ? &queue->retry : &nothing, &options_.retry});
    const auto decision = decide_retry(policy, e.failures, roll());
    if (e.chosen.what == run_end::failed && decision.again) {
      e.chosen.what = run_end::retry;
      e.chosen.delay = decision.delay;
      e.chosen.cause = e.chosen.cause.empty() ? "failed" : e.chosen.cause;
    } else {
      // Who is not over in time has failed, whatever becomes of others.
      const bool removes = decision.otherwise == when_exhausted::remove && e.chosen.cause != "deadline";
      e.chosen.what = removes ? run_end::removed : run_end::given_up;
    }
  }

private:
  static double roll() {
    thread_local std::minstd_rand generator{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 1)(generator);
  }

  server_options options_;
};

// Calls user code that has no say in what happens next.
template <class F>
void guarded(const char* what, const job& about, F&& call) {
  try {
    call();
  } catch (const std::exception& e) {
    log::error("a filter's ", what, " threw for job ", about.id.value, ": ", message_of(e));
  } catch (...) {
    log::error("a filter's ", what, " threw something that is no exception for job ", about.id.value);
  }
}

constexpr std::size_t max_next_bytes = 4 * 1024 * 1024, max_next_parents = 500;

bool runs_again(const outcome& one) { return one.what == run_end::retry || one.what == run_end::deferred; }

// Of a handler or a filter: it would run without end.
void fail_if_in_the_past(outcome& candidate) {
  if (!runs_again(candidate) || candidate.delay >= duration::zero()) return;
  candidate.text =
      cat("asked to run again in ", format_duration(candidate.delay), ", which must be 0s or more: ", candidate.text);
  candidate.what = run_end::failed;
  candidate.delay = duration::zero();
}

// The jobs that an end is to store, or why they cannot be.
result<std::vector<prepared_job>> prepared_next(const execution_config& config, std::vector<new_job> wanted) {
  const auto bad = [](std::string why) { return error{errc::invalid_argument, std::move(why)}; };
  if (wanted.size() > max_next) return bad(cat("an end carries at most ", max_next, " jobs, not ", wanted.size()));
  std::vector<prepared_job> all;
  std::size_t bytes = 0, parents = 0;
  for (auto& job : wanted) {
    auto one = config.pipeline.prepare(std::move(job), system_clock().now());
    if (!one) return error{one.error().code, "a job that it carries is refused: " + one.error().message};
    bytes += one->record.size();
    parents += one->parents();
    all.push_back(std::move(*one));
  }
  if (bytes > max_next_bytes) return bad(cat("the jobs that an end carries have 4 MiB at most, not ", bytes, " bytes"));
  if (parents > max_next_parents)
    return bad(cat("the jobs that an end carries name at most ", max_next_parents, " parents, not ", parents));
  return all;
}

}  // namespace

std::shared_ptr<filter> make_retry_filter(const server_options& options) {
  return std::make_shared<retry_filter>(options);
}

elected_end elect(const execution_config& config, const job& about, std::uint32_t failures, outcome candidate,
                  duration ran) {
  fail_if_in_the_past(candidate);
  bool failure = false;
  election e{about, failures, candidate};
  // Whoever makes a failure of it, the handler or a filter, makes it count.
  const auto count = [&] {
    failure = failure || candidate.what == run_end::failed || candidate.what == run_end::given_up;
    e.failures = failures + (failure ? 1 : 0);
  };
  count();
  for (const auto& entry : config.filters) {
    if (concerns(entry, about)) guarded("elect", about, [&] { entry.filter->elect(e); });
    fail_if_in_the_past(candidate);
    count();
  }
  std::vector<prepared_job> next;
  if (candidate.what == run_end::succeeded && !candidate.next.empty()) {
    if (auto prepared = prepared_next(config, std::exchange(candidate.next, {})); prepared) next = std::move(*prepared);
    else {  // it would be so each time
      candidate.what = run_end::given_up;
      candidate.text = prepared.error().message;
      count();
    }
  }
  failure = failure && candidate.what != run_end::succeeded;

  elected_end made;
  auto& end = made.settlement;
  end.run = {about.id, about.fence};
  end.type = about.type;
  end.end = candidate.what;
  end.failure = failure;
  end.ran = ran;
  end.watched = candidate.watched;
  constexpr auto longest = ranges::enqueue_delay.most;
  candidate.delay = std::clamp(candidate.delay, duration::zero(), longest);
  end.delay = runs_again(candidate) ? candidate.delay : duration::zero();
  end.cause = candidate.cause.empty() ? std::string(name_of(candidate.what)) : candidate.cause;
  end.text = bounded_utf8(candidate.text, candidate.what == run_end::succeeded ? max_result_bytes : max_error_bytes);
  const auto why = printable(candidate.text, 200);
  switch (candidate.what) {
    case run_end::succeeded: end.next = std::move(next); break;
    case run_end::retry:
    case run_end::deferred:
      end.reason = failure ? cat("retry ", e.failures, " in ",
                                 format_duration(std::chrono::round<std::chrono::milliseconds>(end.delay)), ": ", why)
                           : cat("again in ", format_duration(end.delay), ": ", why);
      break;
    case run_end::given_back: end.reason = cat("given back: ", why); break;
    case run_end::failed:
    case run_end::given_up:
      end.reason = cat(e.failures > 1 ? cat("failed ", e.failures, " times: ") : std::string("failed: "), why);
      break;
    case run_end::removed: end.reason = cat("deleted after ", e.failures, " failed runs: ", why); break;
  }
  made.elected = std::move(candidate);
  return made;
}

void end_as_cancelled(elected_end& made) {
  auto& end = made.settlement;
  if (end.end == run_end::succeeded) return;
  end.end = made.elected.what = run_end::removed;
  end.cause = made.elected.cause = "cancelled";
  end.delay = made.elected.delay = duration(0);
  end.reason = cat("cancelled: ", printable(made.elected.text, 200));
}

storage::settlement given_back(const storage::run_key& run, const std::string& why) {
  storage::settlement end;
  end.run = run;
  end.end = run_end::given_back;
  end.cause = name_of(end.end);
  end.text = end.reason = "given back: " + why;
  return end;
}

elected_end end_without_run(const execution_config& config, const admission_verdict& verdict) {
  const auto& about = verdict.run->about;
  elected_end made;
  if (verdict.what == admission::rejected) {
    made = elect(config, about, verdict.run->failures, outcome::do_not_retry(verdict.why), duration(0));
    made.settlement.cause = "rejected";
    return made;
  }
  const auto& plan = config.throttles.find(about.type.value)->second;
  const bool retries = plan.otherwise == throttle_action::retry;
  const bool again = retries || verdict.what == admission::undecided;
  auto& end = made.settlement;
  end.run = {about.id, about.fence};
  end.type = about.type;
  end.end = again ? run_end::deferred : run_end::removed;
  end.cause = "throttled";
  end.text = verdict.why;
  end.throttler = verdict.resource;
  if (again) end.delay = retries ? std::max(plan.delay, verdict.after) : verdict.after;
  using namespace std::chrono;
  const duration told = end.delay < 10s ? duration(ceil<milliseconds>(end.delay)) : duration(ceil<seconds>(end.delay));
  end.reason = again ? cat(verdict.why, "; again in ", format_duration(told)) : cat("deleted: ", verdict.why);
  made.elected.what = end.end;
  made.elected.text = verdict.why;
  made.elected.delay = end.delay;
  return made;
}

void notify_applied(const execution_config& config, const job& about, const outcome& stored) {
  for (const auto& entry : config.filters)
    if (concerns(entry, about)) guarded("applied", about, [&] { entry.filter->applied(about, stored); });
}

}  // namespace sluice::execution
