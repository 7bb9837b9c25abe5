#include "wire/new_job.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/clock.hpp"
#include "core/enqueue_words.hpp"
#include "core/instant.hpp"
#include "core/pipeline.hpp"
#include "core/text.hpp"

namespace sluice::wire {
namespace {

constexpr std::uint64_t longest_ms = std::uint64_t{3650} * 24 * 3600 * 1000;

template <class Table, class Value>
void read_word(body_reader& body, const char* key, const Table& table, Value& into) {
  const auto said = body.text(key);
  if (!said) return;
  if (const auto meant = value_of(table, *said)) into = *meant;
  else body.fault(key, cat("must be one of ", joined(texts_of(table), ", ")));
}

void read_unique(body_reader& body, new_job& job) {
  const auto by = body.text("unique_by");
  unique_rule rule;
  if (!by)
    for (const auto* key : {"until", "then", "period_ms", "per_queue", "at_most_ms"})
      if (body.raw_text(key)) body.fault(key, "says something of a unique key: give unique_by, too");
  read_word(body, "until", enqueue_words::until, rule.until);
  read_word(body, "then", enqueue_words::then, rule.then);
  if (const auto period = body.number("period_ms", longest_ms)) rule.period = std::chrono::milliseconds(*period);
  rule.per_queue = body.flag("per_queue").value_or(false);
  if (const auto at_most = body.number("at_most_ms", longest_ms)) rule.at_most = std::chrono::milliseconds(*at_most);
  if (!by) return;
  rule.by = *by;
  job.unique = std::move(rule);
}

// What a new job has to do with others, and with time, by the words of `sluice enqueue`.
void read_flow(body_reader& body, new_job& job) {
  for (auto& id : body.texts("after", max_parents).value_or(std::vector<std::string>()))
    job.after.parents.emplace_back(std::move(id));
  for (auto& name : body.texts("after_groups", max_parents).value_or(std::vector<std::string>()))
    job.after.groups.emplace_back(std::move(name));
  if (const auto on = body.texts("on", std::size(enqueue_words::on))) {
    auto wanted = static_cast<parent_end>(0);
    for (const auto& word : *on) {
      if (const auto end = value_of(enqueue_words::on, word)) wanted = wanted | *end;
      else body.fault("on", cat("must be of ", joined(texts_of(enqueue_words::on), ", ")));
    }
    job.after.on = wanted;
  }
  job.after.need = static_cast<std::uint32_t>(body.number("need", max_parents).value_or(0));
  read_word(body, "unless", enqueue_words::unless, job.after.unless);
  read_word(body, "if_missing", enqueue_words::if_missing, job.after.missing);
  job.group = group_name(body.text("group").value_or(""));
  read_unique(body, job);
  if (const auto within = body.number("start_within_ms", longest_ms))
    job.start_within = std::chrono::milliseconds(*within);
  if (const auto within = body.number("finish_within_ms", longest_ms))
    job.finish_within = std::chrono::milliseconds(*within);
}

}  // namespace

new_job read_new_job(body_reader& body) {
  new_job job;
  job.queue = queue_name(body.text("queue").value_or(""));
  const auto type = body.text("type");
  job.type = job_type(type.value_or(""));
  if (!type) body.fault("type", "must be given");
  job.id = job_id(body.text("id").value_or(""));
  const auto exact = body.text("args_text");
  const auto args = body.raw_text("args");
  if (exact && args) body.fault("args_text", "stands for args: give one of them");
  if (args) job.args = *args;
  if (exact) job.args = *exact;
  for (auto& [name, value] : body.pairs("headers"))
    job.headers.insert({std::move(name), std::move(value)});
  const auto in = body.number("in_ms", longest_ms);
  const auto at = body.text("at");
  if (in && at) body.fault("at", "stands for in_ms: give one of them");
  if (in) job.delay = std::chrono::milliseconds(*in);
  if (at) {
    if (const auto instant = parse_time(*at)) job.delay = std::max(duration(0), *instant - system_clock().now());
    else body.fault("at", no_instant(*at));
  }
  if (const auto timeout = body.number("timeout_ms", longest_ms)) job.timeout = std::chrono::milliseconds(*timeout);
  if (const auto retries = body.number("retries", std::numeric_limits<std::uint32_t>::max()))
    job.retry.attempts = static_cast<std::uint32_t>(*retries);
  read_flow(body, job);
  return job;
}

}  // namespace sluice::wire
