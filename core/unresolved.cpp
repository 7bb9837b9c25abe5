#include "core/unresolved.hpp"

#include <algorithm>

#include <sluice/exec_key.hpp>

#include "core/codec.hpp"
#include "core/queues.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice {
namespace {

std::string meant_by(std::string_view type, const std::set<std::string, std::less<>>& types) {
  if (type == "noop") return "; `sluice work` has its handler";
  if (type == exec_job_type) return "; `sluice work` has its handler where allow_exec is true";
  return did_you_mean(type, {types.begin(), types.end()});
}

}  // namespace

std::vector<undefined_throttler> undefined_throttlers(const server_options& options) {
  std::set<std::string> defined;
  for (const auto& one : options.throttlers)
    defined.insert(resource_of(one.kind, one.name));
  std::vector<undefined_throttler> all;
  for (const auto& [type, its] : options.jobs)
    for (const auto& text : its.throttle) {
      const auto ref = parse_throttle_ref(text);
      if (!ref || ref->kind == throttler_kind::mutex || ref->kind == throttler_kind::custom) continue;
      const auto resource = resource_of(ref->kind, ref->name);
      if (defined.contains(resource)) continue;
      auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.resource == resource; });
      if (at == all.end()) at = all.insert(all.end(), {resource});
      at->types.push_back(type);
    }
  return all;
}

std::string not_defined(std::string_view resource) {
  return cat("throttler ", printable(resource, 200),
             " is not defined; define it in the configuration or with `sluice throttler set`");
}

std::string describe(const undefined_throttler& one) {
  auto types = one.types;
  for (auto& type : types)
    type.insert(0, "jobs.");
  return cat("throttler ", printable(one.resource, 200), ", which ", listed(types),
             types.size() == 1 ? " names" : " name", ", is not defined");
}

std::string how_to_define(const std::vector<undefined_throttler>& all) {
  std::string text;
  for (const auto& one : all)
    text += describe(one) + "; ";
  return cat(text, "define ", all.size() == 1 ? "it" : "them",
             " under throttlers of the configuration, or in the store with `sluice throttler set ",
             all.empty() ? std::string() : printable(all.front().resource, 200), " …`");
}

result<void> require_custom_code(const server_options& options, const handler_registry& handlers) {
  std::string wrong;
  for (const auto& [type, its] : options.jobs)
    for (const auto& text : its.throttle) {
      const auto ref = parse_throttle_ref(text);
      if (!ref || ref->kind != throttler_kind::custom || !handlers.entries().contains(type)) continue;
      const auto has_it = [&](const auto& given) {
        return std::any_of(given.begin(), given.end(), [&](const auto& one) {
          return resource_of(throttler_kind::custom, one.first) == resource_of(throttler_kind::custom, ref->name);
        });
      };
      if (has_it(handlers.limiters()) || has_it(handlers.throttlers())) continue;
      const auto name = printable(ref->name, 100);
      wrong += cat(wrong.empty() ? "" : "\n", "jobs.", type, ".throttle names custom:", name,
                   ", and this server was given no code for it: add it with handlers.limit(\"", name,
                   "\", …), or with throttle_by_actor");
    }
  return wrong.empty() ? result<void>() : invalid(std::move(wrong));
}

namespace {

void doubt_schedules(const server_options& options, const std::set<std::string, std::less<>>& types,
                     std::vector<std::string>& doubts) {
  for (const auto& one : options.recurring) {
    const auto queue = queue_of_schedule(options, one);
    if (!options_for(options.queues, queue.value))
      doubts.push_back(cat("schedule ", printable(one.name, 200), " enqueues into queue ", printable(queue.value, 200),
                           ", which this server does not serve: its jobs wait until another does"));
    if (!types.contains(one.job.value))
      doubts.push_back(cat("schedule ", printable(one.name, 200), " makes jobs of type ", printable(one.job.value, 200),
                           ", which this server does not know: they wait until another does",
                           meant_by(one.job.value, types)));
    if (one.catch_up_max != recurring().catch_up_max && one.catch_up != catch_up_rule::all)
      doubts.push_back(
          cat("schedule ", printable(one.name, 200), ": catch_up_max has no effect without \"catch_up\": \"all\""));
  }
}

// A configuration may be for several servers, so types that resemble none are told together.
void doubt_types(const server_options& options, const std::set<std::string, std::less<>>& types,
                 std::vector<std::string>& doubts) {
  std::vector<std::string> others, queues;
  for (const auto& [name, its] : options.queues)
    queues.push_back(name);
  for (const auto& [type, its] : options.jobs) {
    const auto name = cat("jobs.", printable(type, 200));
    if (!types.contains(type)) {
      if (const auto meant = meant_by(type, types); meant.empty()) others.push_back(name);
      else doubts.push_back(cat(name, " is of a type that this server has no handler of", meant));
    } else if (!its.queue.empty() && !options_for(options.queues, its.queue.value)) {
      doubts.push_back(cat(name, ".queue is ", printable(its.queue.value, 200),
                           ", which this server does not serve: its jobs wait until another does",
                           did_you_mean(its.queue.value, queues)));
    }
  }
  if (!others.empty())
    doubts.push_back(cat(printable(listed(others), 500), others.size() == 1 ? " is of a type" : " are of types",
                         " that this server has no handler of: their timeouts, retries and throttlers count "
                         "where one has"));
}

void doubt_exec(const server_options& options, const std::set<std::string, std::less<>>& types,
                std::vector<std::string>& doubts) {
  auto its = options.exec;
  its.key_file.clear();  // signs schedules all the same
  if (!types.contains(exec_job_type) && (options.allow_exec || its != exec_options()))
    doubts.push_back(cat(options.allow_exec ? "allow_exec" : "exec", " has no effect: this server has no handler of ",
                         exec_job_type, meant_by(exec_job_type, types)));
  for (const auto& name : its.variables)
    if (name.starts_with("SLUICE_") && its.allow.empty())
      doubts.push_back(cat("exec.variables: ", printable(name, 200),
                           " has no effect: no command gets a variable that begins with SLUICE_"));
}

void doubt_retry(const std::string& where, const retry_policy& retry, std::vector<std::string>& doubts) {
  if (retry.delay && retry.backoff == backoff::polynomial)
    doubts.push_back(cat(where,
                         ".delay has no effect beside the backoff polynomial, whose delays depend on the attempt "
                         "alone; remove it, or write exponential"));
  if (retry.jitter && retry.backoff && *retry.backoff != backoff::exponential)
    doubts.push_back(cat(where, ".jitter has no effect: only exponential has any"));
  if (retry.delay && retry.max_delay && *retry.max_delay < *retry.delay)
    doubts.push_back(cat(where, ".delay has no effect: max_delay is shorter, and so each delay"));
  if (retry.attempts == 0u && (retry.backoff || retry.delay || retry.max_delay || retry.jitter))
    doubts.push_back(cat(where, ".attempts is 0: nothing is retried, and the other settings have no effect"));
}

// Of a queue or a type.
void doubt_times(const std::string& where, const auto& its, std::vector<std::string>& doubts) {
  if (!its.finish_within) return;
  if (its.start_within && *its.start_within > *its.finish_within)
    doubts.push_back(cat(where, ".start_within has no effect: finish_within is over before"));
  if (its.timeout && *its.timeout > *its.finish_within)
    doubts.push_back(cat(where, ".timeout has no effect: finish_within is over before"));
}

bool says_times(const auto& entry) {
  const auto& its = entry.second;
  return its.start_within || its.finish_within || its.timeout;
}
bool says_retry(const auto& entry) { return entry.second.retry != retry_policy(); }

// What a type or a queue says takes each setting that it leaves out from the wider ones: these have an effect there.
void doubt_settings(const server_options& options, std::vector<std::string>& doubts) {
  const auto any = [](const auto& all, const auto& says) { return std::any_of(all.begin(), all.end(), says); };
  const auto retry_of = [](const auto& entry) { return says_retry(entry); };
  const bool types_retry = any(options.jobs, retry_of);
  if (!types_retry && !any(options.queues, retry_of)) doubt_retry("retry", options.retry, doubts);
  const bool types_have_times = any(options.jobs, [](const auto& entry) { return says_times(entry); });
  for (const auto& [name, its] : options.queues) {
    const auto where = cat("queues.", printable(name, 200));
    if (!types_retry) doubt_retry(cat(where, ".retry"), its.retry, doubts);
    if (!types_have_times) doubt_times(where, its, doubts);
  }
  const type_options by_default;
  for (const auto& [type, its] : options.jobs) {
    const auto where = cat("jobs.", printable(type, 200));
    doubt_retry(cat(where, ".retry"), its.retry, doubts);
    doubt_times(where, its, doubts);
    const bool has_permits =
        its.without_overlap || any(its.throttle, [](const std::string& text) {
          const auto ref = parse_throttle_ref(text);
          return ref && (ref->kind == throttler_kind::mutex || ref->kind == throttler_kind::semaphore);
        });
    if (its.strict && !has_permits)
      doubts.push_back(cat(where, ".strict has no effect: only permits of a mutex or a semaphore stay with a job"));
    if (its.throttle.empty() && !its.without_overlap && its.when_throttled != by_default.when_throttled)
      doubts.push_back(cat(where, ".when_throttled has no effect without throttle"));
    if (its.throttle_delay != by_default.throttle_delay && its.when_throttled != throttle_action::retry)
      doubts.push_back(cat(where, ".throttle_delay has no effect without \"when_throttled\": \"retry\""));
  }
}

}  // namespace

std::vector<std::string> doubts_of(const server_options& options, const std::set<std::string, std::less<>>& types) {
  std::vector<std::string> doubts;
  doubt_schedules(options, types, doubts);
  doubt_types(options, types, doubts);
  doubt_exec(options, types, doubts);
  doubt_settings(options, doubts);
  const bool has_special = std::any_of(options.queues.begin(), options.queues.end(), [](const auto& entry) {
    return entry.first.ends_with("-queue") || (entry.first.ends_with('*') && entry.second.workers == 0);
  });
  if (options.special_queue_workers != server_options().special_queue_workers && !has_special)
    doubts.emplace_back("special_queue_workers has no effect: no queue is named *-queue");
  if (const auto all = workers_in_all(options); options.threads > 0 && all > options.threads)
    doubts.push_back(cat("threads: the queues have ", all, " workers, of which ", options.threads,
                         " can work at once; the others claim when it is their turn"));
  return doubts;
}

}  // namespace sluice
