#include "core/pipeline.hpp"

#include <algorithm>
#include <set>

#include <sluice/handler.hpp>

#include "core/codec.hpp"
#include "core/queues.hpp"
#include "core/ranges.hpp"
#include "core/text.hpp"

namespace sluice {
namespace {

error bad(std::string text) { return {errc::invalid_argument, std::move(text)}; }

result<void> check_name(std::string_view what, const std::string& name) {
  if (valid_name(name)) return {};
  return bad(cat(what, " '", printable(name, 60), "' must be 1 to 200 characters of A-Z a-z 0-9 _ . : -"));
}

result<void> check_limits(const new_job& job) {
  for (auto checked : {job.type.empty() ? bad("the job type is missing") : check_name("job type", job.type.value),
                       check_name("queue", job.queue.value), check_name("job id", job.id.value),
                       check(job.retry, "retry"), check_timeout(job.timeout, "timeout")})
    if (!checked) return checked;
  if (!ranges::enqueue_delay.contains(job.delay)) return bad("delay must be 0 to 10 years");
  if (job.args.size() > max_args_bytes)
    return error{errc::too_large,
                 cat("args have ", job.args.size(), " bytes; at most ", max_args_bytes, " are stored")};
  if (auto json = check_json(job.args, max_json_depth); !json) return bad("args: " + json.error().message);
  std::size_t header_bytes = 0;
  for (const auto& [name, value] : job.headers) {
    if (auto named = check_name("header", name); !named) return named;
    header_bytes += name.size() + value.size();
  }
  if (header_bytes > max_headers_bytes)
    return error{errc::too_large,
                 cat("headers have ", header_bytes, " bytes; at most ", max_headers_bytes, " are stored")};
  return {};
}

result<void> check_parents(const new_job& job) {
  const auto& after = job.after;
  if (after.parents.size() > max_parents)
    return bad(cat("a job runs after at most ", max_parents, " others, and ", after.parents.size(), " are named"));
  std::set<std::string_view> seen;
  for (const auto& parent : after.parents) {
    if (parent.empty()) return bad("the id of a parent is missing");
    if (auto named = check_name("parent", parent.value); !named) return named;
    if (parent == job.id) return bad(cat("job ", job.id.value, " cannot run after itself"));
    if (!seen.insert(parent.value).second) return bad(cat("parent ", parent.value, " is named twice"));
  }
  if (after.need > after.parents.size())
    return bad(cat("need is ", after.need, ", and there are ", after.parents.size(), " parents"));
  const auto on = static_cast<unsigned>(after.on);
  if (on == 0 || on > static_cast<unsigned>(parent_end::finished))
    return bad("on must be succeeded, failed, deleted, or several of them");
  return {};
}

}  // namespace

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
  if (auto fine = check_parents(job); !fine) return fine.error();

  prepared_job ready{job.id, job.queue, job.delay, {}, std::move(job.after)};
  ready.record = encode(job.id, job_content{std::move(job.type), std::move(job.queue), std::move(job.args),
                                            std::move(job.headers), job.retry, job.timeout, now});
  return ready;
}

}  // namespace sluice
