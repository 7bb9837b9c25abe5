#include "config/load.hpp"

#include <algorithm>

#include "config/dashboard.hpp"
#include "config/reader.hpp"
#include "config/recurring.hpp"
#include "config/throttlers.hpp"
#include "core/enqueue_words.hpp"
#include "core/queues.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice::config {
namespace {

retry_policy read_retry(reader& from) {
  retry_policy retry;
  const auto* at = from.any("retry");
  if (!at) return retry;
  reader r(*at, from.pointer("retry"), from.faults());
  keep(retry.attempts, r.number("attempts", ranges::attempts));
  keep(retry.backoff, r.choice("backoff", {"polynomial", "fixed", "exponential"}));
  keep(retry.delay, r.time("delay", ranges::retry_delay));
  keep(retry.max_delay, r.time("max_delay", ranges::retry_delay));
  keep(retry.jitter, r.fraction("jitter"));
  keep(retry.then, r.choice("then", {"fail", "delete"}));
  return retry;
}

retention_rule read_rule(reader& from, std::string_view key, retention_rule fallback) {
  const auto* at = from.any(key);
  if (!at) return fallback;
  reader r(*at, from.pointer(key), from.faults());
  retention_rule rule;  // what is given replaces the default as a whole
  keep(rule.age, r.time("age", ranges::kept_for));
  keep(rule.count, r.number("count", ranges::kept_count));
  if (at->is_object() && at->empty()) r.fault_at("", "must say \"age\", \"count\" or both");
  return rule;
}

// A name of a queue or, with '*' in it, a pattern of names.
bool check_queue_name(const std::string& name, bool pattern_allowed, const std::string& pointer,
                      std::vector<fault>& faults) {
  std::string plain = name;
  if (pattern_allowed) std::replace(plain.begin(), plain.end(), '*', 'x');
  if (valid_name(plain)) return true;
  faults.push_back({pointer, cat(name_rule, pattern_allowed ? ", or a pattern with *" : "")});
  return false;
}

void read_queues(reader& from, server_options& options) {
  const auto* at = from.any("queues");
  if (!at) return;
  if (!at->is_object() || at->empty()) {
    from.fault_at("queues", "must be an object with at least one queue, e.g. {\"default\": {}}");
    return;
  }
  options.queues.clear();
  for (const auto& [name, value] : at->items()) {
    const auto pointer = from.pointer("queues") + "/" + pointer_part(name);
    check_queue_name(name, true, pointer, from.faults());
    reader r(value, pointer, from.faults());
    queue_options queue;
    queue.workers = default_workers(name, options.special_queue_workers);
    keep(queue.workers, r.number("workers", ranges::workers));
    keep(queue.prefetch, r.number("prefetch", ranges::prefetch));
    queue.retry = read_retry(r);
    keep(queue.timeout, r.time("timeout", ranges::timeout));
    keep(queue.start_within, r.time("start_within", ranges::within_of_all));
    keep(queue.finish_within, r.time("finish_within", ranges::within_of_all));
    options.queues[name] = queue;
  }
}

std::optional<unique_rule> read_unique(reader& from) {
  const auto* at = from.any("unique");
  if (!at) return std::nullopt;
  unique_rule rule;
  reader r(*at, from.pointer("unique"), from.faults());
  if (const auto by = r.text("by")) {
    rule.by = *by;
    const auto parsed = parse_unique_template(*by);
    if (!by->empty() && *by != "*" && !parsed) r.fault_at("by", parsed.error().message);
  }
  if (const auto until = r.text("until"); until && !enqueue_words::read_until(*until, rule))
    r.fault_at("until", "must be start, end, or a period of 1ms to 3650d, as 10m");
  if (const auto then = r.choice("then", texts_of(enqueue_words::then))) rule.then = enqueue_words::then[*then].value;
  keep(rule.per_queue, r.flag("per_queue"));
  keep(rule.at_most, r.time("at_most", ranges::unique_period));
  if (rule.then == when_taken::coalesce && rule.until != unique_until::end)
    r.fault_at("then", "coalesce needs a key that is held until the end");
  if (rule.then != when_taken::extend && rule.at_most > duration(0))
    r.fault_at("at_most", "says something of \"then\": \"extend\" alone");
  return rule;
}

void read_jobs(reader& from, server_options& options) {
  const auto* at = from.any("jobs");
  if (!at) return;
  if (!at->is_object()) return from.fault_at("jobs", "must be an object of job types");
  for (const auto& [type, value] : at->items()) {
    const auto pointer = from.pointer("jobs") + "/" + pointer_part(type);
    if (!valid_name(type)) from.faults().push_back({pointer, std::string(name_rule)});
    reader r(value, pointer, from.faults());
    type_options job;
    if (const auto queue = r.text("queue"); queue && check_queue_name(*queue, false, r.pointer("queue"), from.faults()))
      job.queue = queue_name(*queue);
    job.retry = read_retry(r);
    keep(job.timeout, r.time("timeout", ranges::timeout));
    keep(job.start_within, r.time("start_within", ranges::within_of_all));
    keep(job.finish_within, r.time("finish_within", ranges::within_of_all));
    job.unique = read_unique(r);
    read_throttling(r, type, job);
    options.jobs[type] = job;
  }
}

void read_exec(reader& from, exec_options& o) {
  const auto* at = from.any("exec");
  if (!at) return;
  reader r(*at, from.pointer("exec"), from.faults());
  o.allow = r.texts("allow");
  if (const auto* allow = r.any("allow"); allow && allow->is_array() && allow->empty())
    r.fault_at("allow", "must name a program; leave it out where any may run, and say allow_exec false where none may");
  if (std::any_of(o.allow.begin(), o.allow.end(), [](const std::string& path) { return !path.starts_with('/'); }))
    r.fault_at("allow", "must be whole paths of programs, as [\"/usr/bin/date\"]");
  keep(o.user, r.text("user"));
  keep(o.folder, r.text("folder"));
  o.variables = r.texts("variables");
  for (const auto& name : o.variables)
    if (name != "*" && name.find_first_of(" \t\r\n=*") != std::string::npos)
      r.fault_at("variables", cat("must be names of variables, or \"*\" alone for all, not ", json_quoted(name)));
  keep(o.processor_time, r.time("processor_time", ranges::processor_time));
  keep(o.memory_mib, r.number("memory_mib", ranges::exec_limit));
  keep(o.file_mib, r.number("file_mib", ranges::exec_limit));
  keep(o.open_files, r.number("open_files", ranges::exec_files));
  keep(o.processes, r.number("processes", ranges::exec_limit));
  keep(o.new_privileges, r.flag("new_privileges"));
  const auto key_file = r.text("key_file");
  keep(o.key_file, key_file);
}

// Answers the keys that a configuration may have.
std::vector<std::string> read_all(const json& tree, const checks& by, const std::string& text, loaded& into) {
  auto& o = into.options;
  reader r(tree, "", into.faults);
  if (const auto url = r.text("storage")) {
    o.storage = *url;
    if (by.store_url)
      if (const auto known = by.store_url(*url); !known) r.fault_at("storage", known.error().message);
  }
  if (const auto name = r.text("server_name")) {
    o.server_name = *name;
    if (!valid_name(*name)) r.fault_at("server_name", std::string(name_rule));
  }
  keep(o.lease, r.time("lease", ranges::lease));
  keep(o.renew_every, r.time("renew_every", ranges::renew_every));
  if (o.renew_every > o.lease / 2)
    r.fault_at("renew_every", cat("must be at most half of the lease (", format_duration(o.lease), ")"));
  keep(o.grace, r.time("grace", ranges::grace));
  keep(o.max_losses, r.number("max_losses", ranges::max_losses));
  keep(o.sweep_interval, r.time("sweep_interval", ranges::sweep_interval));
  keep(o.special_queue_workers, r.number("special_queue_workers", ranges::workers));
  keep(o.threads, r.number("threads", ranges::threads));
  keep(o.timeout, r.time("timeout", ranges::timeout));
  o.retry = read_retry(r);
  if (const auto* at = r.any("retention")) {
    reader kept(*at, r.pointer("retention"), into.faults);
    o.retention.succeeded = read_rule(kept, "succeeded", o.retention.succeeded);
    o.retention.failed = read_rule(kept, "failed", o.retention.failed);
    o.retention.deleted = read_rule(kept, "deleted", o.retention.deleted);
    keep(o.retention.bytes, kept.number("bytes", ranges::kept_bytes));
  }
  keep(o.require_durability, r.choice("require_durability", {"volatile", "crash_safe", "power_safe"}));
  if (const auto replicas = r.number("wait_replicas", {0, 100}); replicas && *replicas > 0) {
    // The store's URL says it too, for those who have no file.
    if (!o.storage.starts_with("redis"))
      r.fault_at("wait_replicas", "needs a Redis store; remove it, or name one as storage");
    else if (o.storage.find("wait_replicas=") != std::string::npos)
      r.fault_at("wait_replicas", "is said in the storage URL too; say it once");
    else o.storage += cat(o.storage.find('?') == std::string::npos ? "?" : "&", "wait_replicas=", *replicas);
  }
  keep(o.allow_exec, r.flag("allow_exec"));
  read_exec(r, o.exec);
  // Before any queue is read, since a queue may need them.
  for (auto& [name, q] : o.queues)
    q.workers = default_workers(name, o.special_queue_workers);
  read_queues(r, o);
  read_jobs(r, o);
  read_throttlers(r, o);
  read_recurring(r, by, text, o);
  read_dashboard(r, by, o);
  if (o.dashboard) warn_of(*o.dashboard, o, into.warnings);
  return r.known();
}

std::vector<std::string> known_keys() {
  loaded nothing;
  return read_all(json::object(), {}, {}, nothing);
}

}  // namespace

loaded load(const source& from, const checks& by) {
  loaded result;
  const json file = parse_document(from.text, result.faults);
  if (file.is_null() && !result.faults.empty()) return result;
  if (!file.is_object()) {
    result.faults.push_back({"", "must be one JSON object"});
    return result;
  }
  const auto tree = apply_overrides(file, from, known_keys(), result);
  read_all(tree, by, from.text, result);
  name_variables(from, file, tree, result.faults);
  return result;
}

}  // namespace sluice::config
