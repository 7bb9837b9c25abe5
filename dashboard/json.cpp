#include "dashboard/json.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include <sluice/cron.hpp>

#include "core/pipeline.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice::web {
namespace {

using json = nlohmann::ordered_json;

std::string dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

json time_or_null(const std::optional<time_point>& at) { return at ? json(format_time(*at)) : json(nullptr); }

// A text of a job as JSON, and its exact bytes beside: numbers may be rounded in the one.
void add_json(json& to, const std::string& name, const std::string& text) {
  to[name] = check_json(text, max_json_depth) ? json::parse(text, nullptr, false) : json();
  to[name + "_text"] = text;
}

json fields_of(const throttler_status& t) {
  return {{"kind", name_of(t.kind)}, {"resource", t.resource}, {"limit", t.limit ? json(*t.limit) : json()},
          {"held", t.held},          {"waiting", t.waiting},   {"next_at", time_or_null(t.next_at)}};
}

json fields_of(const recurring_status& s, bool with_content) {
  auto definition = s.definition ? json::parse(write_recurring(*s.definition), nullptr, false) : json();
  if (!with_content && definition.is_object()) definition.erase("args");
  return {{"name", s.name},
          {"paused", s.paused},
          {"next_at", time_or_null(s.next_at)},
          {"last_at", time_or_null(s.last_at)},
          {"last_job", s.last_job.value},
          {"problem", with_content ? s.problem : ""},
          {"definition", std::move(definition)}};
}

json fields_of(const throttler_holder& h) {
  return {{"id", h.id.value}, {"fence", h.fence.value}, {"reserved", h.reserved}, {"since", format_time(h.since)}};
}

json watched(const std::vector<watched_part>& parts) {
  json all = json::array();
  for (const auto& p : parts)
    all.push_back({{"system", p.system},
                   {"what", p.what},
                   {"times", p.times},
                   {"failed", p.failed},
                   {"total_us", p.total.count()},
                   {"longest_us", p.longest.count()}});
  return all;
}

}  // namespace

std::string json_of(const job& j, bool with_content) {
  json out{{"id", j.id.value},
           {"type", j.type.value},
           {"queue", j.queue.value},
           {"state", name_of(j.state)},
           {"attempt", j.attempt},
           {"losses", j.losses},
           {"created_at", format_time(j.created_at)},
           {"retries", j.retry.attempts ? json(*j.retry.attempts) : json()},
           {"timeout_ms", j.timeout ? json(j.timeout->count() / 1000) : json()},
           {"reason", with_content ? j.reason : ""},
           {"line", j.line},
           {"fence", j.fence.value},
           {"server", j.server},
           {"due_at", time_or_null(j.due_at)},
           {"started_at", time_or_null(j.started_at)},
           {"lease_until", time_or_null(j.lease_until)},
           {"finished_at", time_or_null(j.finished_at)}};
  add_json(out, "args", with_content ? j.args : "");
  add_json(out, "result", with_content ? j.result : "");
  out["progress"] =
      j.progress ? json{{"done", j.progress->done}, {"text", with_content ? j.progress->text : ""}} : json();
  out["headers"] = json::object();
  if (with_content)
    for (const auto& [name, value] : j.headers)
      out["headers"][name] = value;
  out["history"] = json::array();
  for (const auto& s : j.history)
    out["history"].push_back({{"attempt", s.attempt},
                              {"cause", s.cause},
                              {"end", s.end ? json(name_of(*s.end)) : json()},
                              {"failure", s.failure},
                              {"throttler", s.throttler},
                              {"fence", s.fence.value},
                              {"server", s.server},
                              {"started", format_time(s.started)},
                              {"ended", format_time(s.ended)},
                              {"error", with_content ? s.error : ""},
                              {"watched", watched(s.watched)}});
  return dump(out);
}

std::string json_of(const queue_counts& q) {
  return dump({{"queue", q.queue.value},
               {"paused", q.paused},
               {"enqueued", q.enqueued},
               {"scheduled", q.scheduled},
               {"throttled", q.throttled},
               {"processing", q.processing},
               {"succeeded", q.succeeded},
               {"failed", q.failed},
               {"deleted", q.deleted},
               {"awaiting", q.awaiting},
               {"quarantined", q.quarantined},
               {"oldest_ready_at", time_or_null(q.oldest_ready)}});
}

std::vector<std::string> json_lines(const std::string& queue, const totals_report& report) {
  std::vector<std::string> lines;
  const auto add = [&](std::optional<time_point> begins, const job_totals& t) {
    lines.push_back(dump({{"queue", queue.empty() ? json() : json(queue)},
                          {"begins_at", time_or_null(begins)},
                          {"enqueued", t.enqueued},
                          {"succeeded", t.succeeded},
                          {"failed", t.failed},
                          {"deleted", t.deleted},
                          {"retried", t.retried},
                          {"lost", t.lost}}));
  };
  add(std::nullopt, report.ever);
  for (const auto& row : report.rows)
    add(row.begins, row.in_it);
  return lines;
}

std::string json_of(const server_info& s) {
  return dump({{"id", s.id.value},
               {"name", s.name},
               {"host", s.host},
               {"pid", s.pid},
               {"queues", s.queues},
               {"running", s.running},
               {"store", name_of(s.store)},
               {"started_at", format_time(s.started_at)},
               {"beat_at", format_time(s.beat_at)}});
}

std::string json_of(const lock_status& l) {
  return dump({{"resource", l.resource},
               {"holder", l.now.holder},
               {"fence", l.now.fence.value},
               {"until", format_time(l.now.until)}});
}

std::string json_of(const quarantined_job& q) {
  return dump({{"id", q.id.value}, {"queue", q.queue.value}, {"since", format_time(q.since)}});
}

std::string json_of(const act& a) {
  return dump({{"at", format_time(a.at)},
               {"until", format_time(a.until)},
               {"by", a.by.name},
               {"through", a.by.through},
               {"what", a.what},
               {"count", a.count},
               {"about", a.about}});
}

std::string json_of(const throttler_status& t) { return dump(fields_of(t)); }

std::string json_of(const throttler_holder& h) { return dump(fields_of(h)); }

std::string json_of(const recurring_status& s, bool with_content) { return dump(fields_of(s, with_content)); }

std::string local_text(time_point at, std::chrono::seconds offset, std::size_t letters) {
  const auto size = static_cast<int>(std::abs(offset.count()));
  std::array<char, 16> tail{};
  std::snprintf(tail.data(), tail.size(), "%c%02d:%02d", offset.count() < 0 ? '-' : '+', size / 3600, size / 60 % 60);
  auto text = format_time(at + offset).substr(0, letters) + tail.data();
  if (size % 60 == 0) return text;
  std::snprintf(tail.data(), tail.size(), ":%02d", size % 60);
  return text + tail.data();
}

std::vector<std::pair<std::string, std::string>> next_runs(const recurring_outlook& o) {
  const auto zone = time_zone::find(o.status.definition ? o.status.definition->zone : "UTC");
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto at : o.next)
    all.emplace_back(format_time(at), zone ? local_text(at, zone->offset_at(at), 23) : "");
  return all;
}

std::string json_page(const recurring_outlook& o, bool with_content) {
  auto out = fields_of(o.status, with_content);
  out["next"] = json::array();
  for (const auto& [utc, local] : next_runs(o))
    out["next"].push_back({{"utc", utc}, {"local", local.empty() ? json() : json(local)}});
  return dump(out);
}

std::string json_page(const throttler_status& t) {
  auto out = fields_of(t);
  out["definition"] = t.definition ? json::parse(write_throttler(*t.definition), nullptr, false) : json();
  for (const auto* list : {"keys", "holders", "waiters"})
    out[list] = json::array();
  for (const auto& k : t.keys)
    out["keys"].push_back({{"key", k.key}, {"used", k.used}, {"limit", k.limit}, {"next_at", time_or_null(k.next)}});
  for (const auto& h : t.holders)
    out["holders"].push_back(fields_of(h));
  for (const auto& id : t.waiters)
    out["waiters"].push_back(id.value);
  return dump(out);
}

std::string json_of(const job_id& id, const explanation& e) {
  json out{{"id", id.value},         {"reason", name_of(e.reason)},  {"text", e.text},
           {"resource", e.resource}, {"when", time_or_null(e.when)}, {"before", e.before}};
  out["holders"] = json::array();
  for (const auto& holder : e.holders)
    out["holders"].push_back(holder.value);
  return dump(out);
}

std::string json_of(const changed_page& c, std::uint64_t refused) {
  json out{{"done", c.done}, {"refused", refused}};
  out["failed"] = json::array();
  for (const auto& [id, why] : c.failed)
    out["failed"].push_back({{"id", id.value}, {"code", name_of(why.code)}, {"detail", why.message}});
  out["looked_at"] = c.looked_at;
  out["next"] = c.next;
  return dump(out);
}

std::string json_of(const job_id& id) { return cat("{\"id\":", json_quoted(id.value), "}"); }

std::string json_done(std::string_view name, std::string_view what, std::string_view done) {
  return cat("{\"", name, "\":", json_quoted(what), ",\"done\":", json_quoted(done), "}");
}

std::string json_triggered(const std::string& name, const job_id& id) {
  return cat("{\"name\":", json_quoted(name), ",\"id\":", json_quoted(id.value), "}");
}

std::string json_fault(const std::string& pointer, const std::string& problem) {
  return dump({{"pointer", pointer}, {"problem", problem}});
}

}  // namespace sluice::web
