#include "core/pipeline.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include <sluice/exec_key.hpp>
#include <sluice/handler.hpp>

#include "core/codec.hpp"
#include "core/queues.hpp"
#include "core/ranges.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice {
namespace {

constexpr std::size_t longest_key = 100;

// Of what is too long for a key, or no text for one: 128 bits and its length.
std::string hashed(std::string_view text) {
  std::array<char, 64> all{};
  const auto first = fnv1a(text), second = fnv1a(text, first ^ 0x9e3779b97f4a7c15ULL);
  std::snprintf(all.data(), all.size(), "~%016llx%016llx%zx", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(second), text.size());
  return all.data();
}

result<void> check_limits(const new_job& job) {
  for (auto checked : {job.type.empty() ? invalid("the job type is missing") : check_name("job type", job.type.value),
                       check_name("queue", job.queue.value), check_name("job id", job.id.value),
                       check(job.retry, "retry"), check_timeout(job.timeout, "timeout")})
    if (!checked) return checked;
  if (!ranges::enqueue_delay.contains(job.delay)) return invalid("delay must be 0 to 10 years");
  if (job.args.size() > max_args_bytes)
    return error{errc::too_large,
                 cat("args have ", job.args.size(), " bytes; at most ", max_args_bytes, " are stored")};
  if (auto json = check_json(job.args, max_json_depth); !json) return invalid("args: " + json.error().message);
  return check_headers(job.headers);
}

result<void> check_parents(const new_job& job) {
  const auto& after = job.after;
  const auto all = after.parents.size() + after.groups.size();
  if (all > max_parents)
    return invalid(cat("a job runs after at most ", max_parents, " others, and ", all, " are named"));
  std::set<std::string_view> seen;
  for (const auto& parent : after.parents) {
    if (parent.empty()) return invalid("the id of a parent is missing");
    if (auto named = check_name("parent", parent.value); !named) return named;
    if (parent == job.id) return invalid(cat("job ", job.id.value, " cannot run after itself"));
    if (!seen.insert(parent.value).second) return invalid(cat("parent ", parent.value, " is named twice"));
  }
  for (const auto& group : after.groups) {
    if (group.empty()) return invalid("the name of a group to run after is missing");
    if (auto named = check_name("group", group.value); !named) return named;
    if (group == job.group) return invalid(cat("a job of group ", group.value, " cannot run after that group"));
    if (!seen.insert(group.value).second && std::count(after.groups.begin(), after.groups.end(), group) > 1)
      return invalid(cat("group ", group.value, " is named twice"));
  }
  if (after.need > all) return invalid(cat("need is ", after.need, ", and there are ", all, " parents"));
  if (after.on == parent_end::first_failure)
    return after.parents.empty() && all > 0
               ? result<void>()
               : invalid("first_failure is of groups: name groups, and no jobs, to run after");
  const auto on = static_cast<unsigned>(after.on);
  if (on == 0 || on > static_cast<unsigned>(parent_end::finished))
    return invalid("on must be succeeded, failed, deleted, or several of them, or first_failure alone");
  return {};
}

result<void> check_group(const new_job& job) {
  if (job.group.empty()) return job.added_by.id.empty() ? result<void>() : invalid("added_by is said without a group");
  if (auto named = check_name("group", job.group.value); !named) return named;
  return job.added_by.id.empty() ? result<void>() : check_name("added_by", job.added_by.id.value);
}

result<void> check_times(const new_job& job) {
  for (const auto& [name, time] : {std::pair("start_within", job.start_within), {"finish_within", job.finish_within}})
    if (time && !ranges::start_within.contains(*time)) return invalid(cat(name, " must be 0 to 10 years"));
  if (job.delay > duration(0) && job.finish_within && *job.finish_within <= job.delay)
    return invalid(cat("it would never run: it is due after ", format_duration(job.delay),
                       ", and finish_within is over ", format_duration(*job.finish_within),
                       " after its enqueue; make that longer, or the delay shorter"));
  return {};
}

// The key of a job, empty when it has none. The type is part of it.
result<std::string> key_of(const new_job& job) {
  if (!job.unique) return std::string();
  const auto& rule = *job.unique;
  if (auto fine = check(rule, "unique"); !fine) return fine.error();
  if (rule.then == when_taken::coalesce && (!job.after.parents.empty() || !job.after.groups.empty()))
    return invalid("unique: coalesce needs a job that runs after no others");
  auto key = job.type.value + "/";
  if (rule.per_queue) key += job.queue.value + "/";
  if (rule.by.empty() || rule.by == "*") return key + hashed(job.args);
  const auto filled = parse_unique_template(rule.by)->fill_exactly(job.args);
  if (!filled) return invalid(cat("unique.by '", printable(rule.by, 60), "': ", filled.error().message));
  return key + (filled->size() <= longest_key ? *filled : hashed(*filled));
}

using header_map = std::map<std::string, std::string>;

// Those that filters added, or gave another value. A signature is left out: it says by which key a job may run.
std::vector<std::string> headers_of_filters(const header_map& said, const header_map& passed) {
  std::vector<std::string> names;
  for (const auto& [name, value] : passed) {
    const auto before = said.find(name);
    const bool is_as_said = before != said.end() && before->second == value;
    if (!is_as_said && name != signature_header) names.push_back(name);
  }
  return names;
}

template <class T>
void keep_first(std::optional<T>& said, const std::optional<T>& otherwise) {
  if (!said) said = otherwise;
}

}  // namespace

result<void> check_headers(const std::map<std::string, std::string>& headers) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers) {
    if (auto named = check_name("header", name); !named) return named;
    bytes += name.size() + value.size();
  }
  if (bytes <= max_headers_bytes) return {};
  return error{errc::too_large, cat("headers have ", bytes, " bytes; at most ", max_headers_bytes, " are stored")};
}

outcome filter::around(job_context& context, const std::function<outcome(job_context&)>& next) { return next(context); }

progress_report bounded(progress_report said) {
  said.done = said.done > 0 ? std::min(said.done, 1.0) : 0.0;  // NaN is none
  said.text = bounded_utf8(said.text, max_progress_bytes);
  return said;
}

filter_list in_order(filter_list filters) {
  std::stable_sort(filters.begin(), filters.end(), [](const auto& a, const auto& b) { return a.order < b.order; });
  return filters;
}

result<prepared_job> enqueue_pipeline::prepare(new_job job, time_point now) const {
  if (job.id.empty()) job.id = make_job_id(now);
  const auto said = filters_.empty() ? header_map() : job.headers;
  for (const auto& entry : filters_) {
    if (!entry.only_for.empty() && entry.only_for != job.type) continue;
    try {
      if (auto passed = entry.filter->on_enqueue(job); !passed) return passed.error();
    } catch (const std::exception& e) {
      return error{errc::refused, cat("an enqueue filter threw: ", printable(message_of(e), 300))};
    } catch (...) {
      return error{errc::refused, "an enqueue filter threw something that is no exception"};
    }
  }
  if (job.queue.empty()) job.queue = queue_of_type(types_, job.type);
  if (job.queue.empty()) job.queue = queue_name(std::string(default_queue));
  if (auto within = check_limits(job); !within) return within.error();
  if (const auto found = types_.find(job.type.value); found != types_.end()) {
    keep_first(job.start_within, found->second.start_within);
    keep_first(job.finish_within, found->second.finish_within);
    keep_first(job.unique, found->second.unique);
  }
  if (const auto* its = options_for(queues_, job.queue.value)) {
    keep_first(job.start_within, its->start_within);
    keep_first(job.finish_within, its->finish_within);
  }
  for (const auto& check : {check_parents, check_group, check_times})
    if (auto fine = check(job); !fine) return fine.error();
  auto key = key_of(job);
  if (!key) return key.error();

  prepared_job ready{job.id, job.queue, job.delay, {}};
  flow_options flow{std::move(job.after),
                    std::move(job.group),
                    std::move(job.added_by),
                    std::move(*key),
                    job.unique.value_or(unique_rule{}),
                    job.start_within,
                    job.finish_within};
  if (!filters_.empty()) ready.headers_of_filters = headers_of_filters(said, job.headers);
  if (!flow.is_empty()) ready.flow = std::make_shared<const flow_options>(std::move(flow));
  ready.record = encode(job.id, job_content{std::move(job.type), std::move(job.queue), std::move(job.args),
                                            std::move(job.headers), job.retry, job.timeout, now});
  return ready;
}

}  // namespace sluice
