#include "dashboard/routes.hpp"

#include <algorithm>
#include <charconv>

#include <sluice/exec_key.hpp>

#include "core/never_destroyed.hpp"
#include "core/text.hpp"

namespace sluice::web {
namespace {

using enum access_need;
using enum answered_from;

constexpr std::string_view job_words[] = {"state", "queue", "type",  "id_begins", "server", "header",   "since",
                                          "until", "match", "error", "limit",     "after",  "with_args"};

// Their scripts make them of the API.
constexpr std::string_view pages[] = {"/",
                                      "/queues",
                                      "/queues/{name}",
                                      "/jobs",
                                      "/jobs/{id}",
                                      "/enqueue",
                                      "/throttlers",
                                      "/throttlers/{kind}/{name}",
                                      "/recurring",
                                      "/recurring/{name}",
                                      "/servers",
                                      "/groups",
                                      "/groups/{name}",
                                      "/locks",
                                      "/quarantine",
                                      "/quarantine/{id}",
                                      "/errors",
                                      "/log"};

std::vector<route> all_of_api() {
  const std::vector<std::string_view> page{"limit", "after"};
  const std::vector<std::string_view> jobs(std::begin(job_words), std::end(job_words));
  return {
      {"GET", "/api/v1", view, memory, {}, show_api},
      {"GET", "/api/v1/openapi.json", view, memory, {}, show_openapi},
      {"GET", "/api/v1/overview", view, memory, {}, show_overview},
      {"GET", "/api/v1/servers", view, memory, page, list_servers},
      {"GET", "/api/v1/queues", view, memory, page, list_queues},
      {"GET", "/api/v1/queues/{name}", view, memory, {}, show_queue},
      {"PUT", "/api/v1/queues/{name}/pause", operate, store, {}, pause_queue},
      {"DELETE", "/api/v1/queues/{name}/pause", operate, store, {}, resume_queue},
      {"GET", "/api/v1/totals", view, reads, {"queue", "by", "since", "until"}, show_totals},
      {"GET", "/api/v1/jobs", view, reads, jobs, list_jobs},
      {"POST", "/api/v1/jobs", operate, store, {}, enqueue_job},
      {"POST", "/api/v1/jobs/all-or-none", operate, store, {}, enqueue_all},
      {"POST", "/api/v1/jobs/actions", operate, store, {}, change_jobs},
      {"GET", "/api/v1/jobs/{id}", view, reads, {}, show_job},
      {"DELETE", "/api/v1/jobs/{id}", operate, store, {}, delete_job},
      {"GET", "/api/v1/jobs/{id}/explanation", view, reads, {}, explain_job},
      {"POST", "/api/v1/jobs/{id}/requeue", operate, store, {}, requeue_job},
      {"POST", "/api/v1/jobs/{id}/cancel", operate, store, {}, cancel_job},
      {"GET", "/api/v1/jobs/{id}/args", view, reads, {}, show_args},
      {"GET", "/api/v1/jobs/{id}/result", view, reads, {}, show_result},
      {"GET", "/api/v1/errors", view, reads, {"queue", "type", "since", "until", "after"}, list_errors},
      {"GET", "/api/v1/throttlers", view, reads, page, list_throttlers},
      {"GET", "/api/v1/throttlers/{kind}/{name}", view, reads, {}, show_throttler},
      {"PUT", "/api/v1/throttlers/{kind}/{name}", administer, store, {}, set_throttler},
      {"DELETE", "/api/v1/throttlers/{kind}/{name}", administer, store, {}, remove_throttler},
      {"GET", "/api/v1/throttlers/{kind}/{name}/holders", view, reads, page, list_holders},
      {"GET", "/api/v1/throttlers/{kind}/{name}/waiters", view, reads, page, list_waiters},
      {"GET",
       "/api/v1/schedules",
       view,
       reads,
       {"name", "queue", "type", "paused", "sort", "limit", "after"},
       list_schedules},
      {"GET", "/api/v1/schedules/{name}", view, reads, {}, show_schedule},
      {"PUT", "/api/v1/schedules/{name}", administer, store, {}, set_schedule},
      {"DELETE", "/api/v1/schedules/{name}", administer, store, {}, remove_schedule},
      {"PUT", "/api/v1/schedules/{name}/pause", operate, store, {}, pause_schedule},
      {"DELETE", "/api/v1/schedules/{name}/pause", operate, store, {}, resume_schedule},
      {"POST", "/api/v1/schedules/{name}/trigger", operate, store, {}, trigger_schedule},
      {"GET", "/api/v1/groups", view, reads, page, list_groups},
      {"GET", "/api/v1/groups/{name}", view, reads, {}, show_group},
      {"PUT", "/api/v1/groups/{name}", operate, store, {}, create_group},
      {"POST", "/api/v1/groups/{name}/seal", operate, store, {}, seal_group},
      {"POST", "/api/v1/groups/{name}/cancel", operate, store, {}, cancel_group},
      {"POST", "/api/v1/groups/{name}/requeue-failed", operate, store, {}, requeue_failed_of_group},
      {"GET", "/api/v1/locks", view, reads, page, list_locks},
      {"GET", "/api/v1/quarantine", view, reads, {"queue", "limit", "after"}, list_quarantine},
      {"GET", "/api/v1/quarantine/{id}", view, reads, {}, show_quarantined},
      {"DELETE", "/api/v1/quarantine/{id}", operate, store, {}, drop_quarantined},
      {"POST", "/api/v1/quarantine/{id}/requeue", operate, store, {}, requeue_quarantined},
      {"GET", "/api/v1/log", view, reads, page, list_operator_log},
      {"GET", "/metrics", metrics, memory, {}, show_metrics},
      {"GET", "/health/live", nothing, memory, {}, show_live},
      {"GET", "/health/ready", nothing, memory, {}, show_ready},
  };
}

const std::vector<route>& all() {
  static const auto& them = *never_destroyed<std::vector<route>>([] {
    auto made = all_of_api();
    for (const auto page : pages)
      made.push_back({"GET", page, view, memory, {}, show_page, true});
    made.push_back({"GET", "/assets/{hash}/{name}", view, memory, {}, show_asset, true});
    return made;
  }());
  return them;
}

// Whether a path is of a pattern, and what stands there for its names.
bool fits(std::string_view pattern, const std::vector<std::string>& path, std::vector<std::string>& names) {
  std::size_t at = 0;
  pattern.remove_prefix(1);
  while (!pattern.empty()) {
    const auto slash = std::min(pattern.find('/'), pattern.size());
    const auto segment = pattern.substr(0, slash);
    pattern.remove_prefix(std::min(slash + 1, pattern.size()));
    if (at == path.size() || path[at].empty()) return false;
    if (segment.starts_with('{')) names.push_back(path[at]);
    else if (segment != path[at]) return false;
    ++at;
  }
  return at == path.size();
}

}  // namespace

std::span<const route> routes() { return all(); }

found_route find_route(const http_request& request) {
  const std::string_view method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  found_route found;
  for (const auto& one : routes()) {
    std::vector<std::string> names;
    if (!fits(one.pattern, request.path, names)) continue;
    if (one.method == method) {
      // A name in full goes before one for which anything may stand.
      if (found.way && found.names.size() <= names.size()) continue;
      found.way = &one;
      found.names = std::move(names);
    }
    found.allowed += cat(found.allowed.empty() ? "" : ", ", one.method == "GET" ? "GET, HEAD" : one.method);
  }
  return found;
}

std::string visit::parameter(std::string_view name) const {
  for (const auto& [key, value] : request.query)
    if (key == name) return value;
  return {};
}

std::vector<std::string> visit::parameters(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : request.query)
    if (key == name) values.push_back(value);
  return values;
}

result<std::uint32_t> visit::limit() const {
  constexpr std::uint32_t usual = 50;
  const auto text = parameter("limit");
  if (text.empty()) return usual;
  std::uint32_t n = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || n < 1 || n > storage::largest_page)
    return error{errc::invalid_argument, cat("limit must be 1 to ", storage::largest_page)};
  return n;
}

client visit::changing() const {
  return on.store.as({who.name.empty() ? cat("somebody at ", request.peer) : who.name, "dashboard"});
}

std::optional<http_response> refused_command(const visit& v, const job_type& type) {
  if (type.value != exec_job_type || v.on.options.allow_exec) return std::nullopt;
  return problem(403,
                 "jobs of type exec run commands: this dashboard takes them only with users and \"allow_exec\": true");
}

std::optional<http_response> wrong_with(body_reader& body) {
  const auto& faults = body.faults();
  return faults.empty() ? std::nullopt : std::optional(wrong_body(faults));
}

std::optional<http_response> unexpected_body(const visit& v) {
  if (v.request.body.empty()) return std::nullopt;
  body_reader body(v.request.body);
  return wrong_with(body);
}

http_response changed(visit& v, std::string_view kind, const std::string& name, const result<void>& how,
                      std::string_view done) {
  v.about = {name};
  if (!how) return problem(how.error());
  return json_answer(json_done(kind, name, done));
}

http_response json_answer(std::string body, unsigned status) {
  http_response said;
  said.status = status;
  said.body = std::move(body);
  return said;
}

http_response json_page_answer(std::string_view name, const std::vector<std::string>& items, const std::string& next,
                               const std::string& more) {
  std::string body = cat("{\"", name, "\":[");
  for (const auto& item : items) {
    if (&item != &items.front()) body += ',';
    body += item;
  }
  body += cat("],\"next\":", json_quoted(next), more, "}");
  return json_answer(std::move(body));
}

}  // namespace sluice::web
