#include <random>

#include <cxxabi.h>

#include "actors/bodies.hpp"
#include "core/log.hpp"
#include "core/queues.hpp"
#include "core/ranges.hpp"
#include "core/retry.hpp"
#include "core/watching.hpp"

namespace sluice::actors {
namespace {

const type_options* options_of_type(const server_options& options, const std::string& type) {
  const auto found = options.jobs.find(type);
  return found == options.jobs.end() ? nullptr : &found->second;
}

// Turns a failed run into a retry, or into the end that the narrowest policy names.
class retry_filter final : public filter {
public:
  explicit retry_filter(const server_options& options) : options_(options) {}

  void elect(election& e) override {
    if (e.chosen.what != run_end::failed && e.chosen.what != run_end::given_up) return;
    static const retry_policy nothing;
    const auto* type = options_of_type(options_, e.about.type.value);
    const auto* queue = options_for(options_.queues, e.about.queue.value);
    const auto policy =
        narrowest({&e.about.retry, type ? &type->retry : &nothing, queue ? &queue->retry : &nothing, &options_.retry});
    const auto decision = decide_retry(policy, e.failures, roll());
    if (e.chosen.what == run_end::failed && decision.again) {
      e.chosen.what = run_end::retry;
      e.chosen.delay = decision.delay;
      e.chosen.cause = e.chosen.cause.empty() ? "failed" : e.chosen.cause;
    } else {
      e.chosen.what = decision.otherwise == when_exhausted::remove ? run_end::removed : run_end::given_up;
    }
  }

private:
  static double roll() {
    thread_local std::minstd_rand engine{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 1)(engine);
  }

  server_options options_;
};

bool concerns(const filter_entry& entry, const job& about) {
  return entry.only_for.empty() || entry.only_for == about.type;
}

// Calls user code that has no say in what happens next.
template <class F>
void guarded(const char* what, const job& about, F&& call) {
  try {
    call();
  } catch (const std::exception& e) {
    log::error("a filter's ", what, " threw for job ", about.id.value, ": ", words_of(e));
  } catch (...) {
    log::error("a filter's ", what, " threw something that is no exception for job ", about.id.value);
  }
}

using step = std::function<outcome(job_context&)>;

step inside(const bodies& b, const job& about, std::size_t from, const step& body) {
  for (; from < b.filters.size(); ++from) {
    if (!concerns(b.filters[from], about)) continue;
    return [&b, &about, from, body](job_context& context) {
      return b.filters[from].filter->around(context, inside(b, about, from + 1, body));
    };
  }
  return body;
}

// A thread that is ended unwinds with an exception that is no object: the sanitizer takes its reference
// for a null one.
__attribute__((no_sanitize("null"))) outcome run_inside(const bodies& b, const job& about, const handler& body,
                                                        job_context& context) {
  try {
    // Without filters of the user's there is nothing to wrap.
    auto ended = b.filters.size() == 1 ? body(context) : inside(b, about, 0, body)(context);
    if (ended.what == run_end::succeeded && ended.text.empty()) ended.text = context.result();
    return ended;
  } catch (ended_early& early) {
    return std::move(early.how);
  } catch (const stopped&) {
    if (!context.stop_requested()) return outcome::failed("the handler stopped without being asked to");
    return outcome::give_back("stopped on request");
  } catch (const std::exception& e) {
    return outcome::failed(words_of(e));
  } catch (const char* text) {
    return outcome::failed(text ? text : "the handler threw a null text");
  } catch (const std::string& text) {
    return outcome::failed(text);
  } catch (abi::__forced_unwind&) {
    throw;  // the thread is being ended (pthread_exit); its pool turns that into a failed start
  } catch (...) {
    return outcome::failed("the handler threw something that is no std::exception");
  }
}

}  // namespace

std::shared_ptr<bodies> make_bodies(const handler_registry& handlers, filter_list filters,
                                    const server_options& options, throttle_plans plans) {
  auto made = std::make_shared<bodies>();
  auto at_once = std::make_shared<std::set<std::string, std::less<>>>();
  for (const auto& [type, entry] : handlers.entries()) {
    if (entry.route) made->elsewhere.insert(type);
    if (!entry.options.prefetch) at_once->insert(type);
  }
  auto permits = std::make_shared<const storage::permits_by_type>(permits_of_claims(plans));
  // A job that waits in a pool keeps its permits from others: only the store knows how scarce they are.
  for (const auto& [type, plan] : plans)
    if (!permits->contains(type) && !(plan.permits.empty() && plan.mutexes.empty())) at_once->insert(type);
  filters.push_back({std::make_shared<retry_filter>(options), retry_order, {}});
  made->handlers = handlers;
  made->filters = in_order(std::move(filters));
  made->at_once = std::move(at_once);
  made->throttles = std::move(plans);
  made->permits = std::move(permits);
  return made;
}

outcome run_body(const bodies& b, const job& about, const std::stop_token& stop, job_context::progress_sink progress) {
  const auto found = b.handlers.entries().find(about.type.value);
  if (found == b.handlers.entries().end())
    return outcome::give_back("this server knows no handler for type " + about.type.value);
  job_context context(about, stop, std::move(progress));
  auto ended = run_inside(b, about, found->second.run, context);
  ended.watched = context.take_watched();
  if (!ended.watched.empty()) log::info("job ", about.id.value, " (", about.type.value, "): ", in_words(ended.watched));
  return ended;
}

settled_outcome elect(const bodies& b, const job& about, std::uint32_t failures, outcome candidate, duration ran) {
  bool failure = false;
  election e{about, failures, candidate};
  // Whoever makes a failure of it, the handler or a filter, makes it count.
  const auto count = [&] {
    failure = failure || candidate.what == run_end::failed || candidate.what == run_end::given_up;
    e.failures = failures + (failure ? 1 : 0);
  };
  count();
  for (const auto& entry : b.filters) {
    if (concerns(entry, about)) guarded("elect", about, [&] { entry.filter->elect(e); });
    count();
  }
  failure = failure && candidate.what != run_end::succeeded;

  settled_outcome made;
  auto& end = made.settlement;
  end.start = {about.id, about.fence};
  end.end = candidate.what;
  end.failure = failure;
  end.ran = ran;
  end.watched = candidate.watched;
  constexpr auto longest = ranges::enqueue_delay.most;
  candidate.delay = std::clamp(candidate.delay, duration::zero(), longest);
  const bool later = candidate.what == run_end::retry || candidate.what == run_end::deferred;
  end.delay = later ? candidate.delay : duration::zero();
  end.cause = candidate.cause.empty() ? std::string(name_of(candidate.what)) : candidate.cause;
  end.text = bounded_utf8(candidate.text, candidate.what == run_end::succeeded ? max_result_bytes : max_error_bytes);
  const auto why = printable(candidate.text, 200);
  switch (candidate.what) {
    case run_end::succeeded: break;
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

storage::settlement given_back(const storage::start_key& start, const std::string& why) {
  storage::settlement end;
  end.start = start;
  end.end = run_end::given_back;
  end.cause = name_of(end.end);
  end.text = end.reason = "given back: " + why;
  return end;
}

void tell_applied(const bodies& b, const job& about, const outcome& stored) {
  for (const auto& entry : b.filters)
    if (concerns(entry, about)) guarded("applied", about, [&] { entry.filter->applied(about, stored); });
}

std::optional<duration> timeout_of(const server_options& options, const job& about) {
  if (about.timeout) return about.timeout;
  if (const auto* type = options_of_type(options, about.type.value); type && type->timeout) return type->timeout;
  if (const auto* queue = options_for(options.queues, about.queue.value); queue && queue->timeout)
    return queue->timeout;
  return options.timeout;
}

}  // namespace sluice::actors
