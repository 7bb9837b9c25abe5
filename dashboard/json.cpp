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
#include "dashboard/problem.hpp"

namespace sluice::web {
namespace {

using json = nlohmann::ordered_json;

std::string dump(const json& j) { return plain_json(j.dump(-1, ' ', false, json::error_handler_t::replace)); }

std::string to_base64(std::string_view bytes) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](std::size_t i) {
      return at + i < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[at + i])) : 0U;
    };
    const auto three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t i = 0; i < 4; ++i)
      out += at + i <= bytes.size() ? digits[three >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

json time_or_null(const std::optional<time_point>& at) { return at ? json(format_time(*at)) : json(nullptr); }

// JSON text in one line.
std::string without_blanks(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string out;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!in_text && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) continue;
    out += c;
    if (in_text && c == '\\') out += text[++i];
    else if (c == '"') in_text = !in_text;
  }
  return out;
}

// A text of a job as JSON, and its exact bytes beside. No tree is made of it: that of an object with very many keys in
// their order would take very long, and would round numbers.
std::string both_of(std::string_view name, const std::string& text) {
  return cat('"', name, "\":", check_json(text, max_json_depth) ? plain_json(without_blanks(text)) : "null", ",\"",
             name, "_text\":", dump(text));
}

// Two objects and what stands between them as one.
std::string joined(const json& head, const std::string& between, const json& tail) {
  auto text = dump(head);
  text.back() = ',';
  const auto rest = dump(tail);
  return cat(text, between, ",", std::string_view(rest).substr(1));
}

json fields_of(const throttler_status& t) {
  return {{"kind", name_of(t.kind)}, {"resource", t.resource}, {"limit", t.limit ? json(*t.limit) : json()},
          {"held", t.held},          {"waiting", t.waiting},   {"next_at", time_or_null(t.next_at)}};
}

std::string text_of(recurring definition, bool with_content) {
  if (!with_content) definition = without_content(std::move(definition));
  auto text = write_recurring(definition);
  const auto args = cat("\"args\":", json_quoted(definition.args));  // no name before it has a quote
  if (const auto at = text.find(args); at != std::string::npos)
    text.replace(at, args.size(), both_of("args", definition.args));
  return text;
}

// An object that is not closed yet.
std::string fields_of(const recurring_status& s, bool with_content) {
  auto text = dump({{"name", s.name},
                    {"paused", s.paused},
                    {"next_at", time_or_null(s.next_at)},
                    {"last_at", time_or_null(s.last_at)},
                    {"last_job", s.last_job.value},
                    {"problem", with_content ? s.problem : ""}});
  text.pop_back();
  return cat(text, ",\"definition\":", s.definition ? text_of(*s.definition, with_content) : "null");
}

json fields_of(const throttler_holder& h) {
  return {{"id", h.id.value}, {"fence", h.fence.value}, {"reserved", h.reserved}, {"since", format_time(h.since)}};
}

json watched(const std::vector<watched_part>& parts, bool with_content) {
  json all = json::array();
  for (const auto& p : parts)
    all.push_back({{"system", p.system},
                   {"what", with_content ? p.what : ""},
                   {"times", p.times},
                   {"failed", p.failed},
                   {"total_us", p.total.count()},
                   {"longest_us", p.longest.count()}});
  return all;
}

}  // namespace

std::optional<progress_report> progress_of(const job& j) {
  const bool is_behind = j.state == job_state::succeeded && j.progress && j.progress->done < 1;
  return is_behind ? std::nullopt : j.progress;
}

std::string json_of(const job& j, bool with_content) {
  json head{{"id", j.id.value},
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
  json out;
  const auto progress = progress_of(j);
  out["progress"] = progress ? json{{"done", progress->done}, {"text", with_content ? progress->text : ""}} : json();
  json::object_t headers;
  if (with_content)
    for (const auto& [name, value] : j.headers)
      headers.emplace_back(name, value);  // by [] each would be looked for among all before it
  out["headers"] = std::move(headers);
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
                              {"watched", watched(s.watched, with_content)}});
  return joined(head,
                cat(both_of("args", with_content ? j.args : ""), ",", both_of("result", with_content ? j.result : "")),
                out);
}

std::string json_page(const job& j, bool with_content) {
  auto text = json_of(j, with_content);
  text.pop_back();
  const auto& flow = j.flow;
  json more{{"group", flow.group.empty() ? json() : json(flow.group.value)},
            {"unique_key", with_content && !flow.unique_key.empty() ? json(flow.unique_key) : json()},
            {"start_by", time_or_null(flow.start_by)},
            {"finish_by", time_or_null(flow.finish_by)}};
  more["parents"] = json::array();
  for (const auto& parent : flow.parents)
    more["parents"].push_back({{"id", parent.id.empty() ? json() : json(parent.id.value)},
                               {"group", parent.group.empty() ? json() : json(parent.group.value)},
                               {"met", parent.met ? json(*parent.met) : json()}});
  return cat(text, ",\"permits\":", dump(j.permits), ",", std::string_view(dump(more)).substr(1));
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
               {"has_filters", s.has_filters},
               {"started_at", format_time(s.started_at)},
               {"heartbeat_at", format_time(s.heartbeat_at)}});
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

std::string json_page(const quarantined_record& q, bool with_content) {
  const auto told = [with_content](const std::string& bytes) {
    return with_content ? to_base64(bytes) : std::string();
  };
  return dump({{"id", q.id.value},
               {"queue", q.queue.value},
               {"since", format_time(q.since)},
               {"wrong", q.wrong},
               {"readable", q.readable},
               {"record", told(q.record)},
               {"history", told(q.history)},
               {"run", told(q.run)}});
}

std::string json_of(const error_group& g) {
  return dump({{"type", g.type.value},
               {"error", g.error},
               {"count", g.count},
               {"first_at", format_time(g.first_at)},
               {"last_at", format_time(g.last_at)},
               {"last_id", g.last_id.value}});
}

std::string json_of(const operator_action& a) {
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

std::string json_of(const recurring_status& s, bool with_content) { return fields_of(s, with_content) + "}"; }

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
  auto next = json::array();
  for (const auto& [utc, local] : next_runs(o))
    next.push_back({{"utc", utc}, {"local", local.empty() ? json() : json(local)}});
  return cat(fields_of(o.status, with_content), ",\"next\":", dump(next), "}");
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

std::string json_of(const job_id& id, const explanation& e, bool with_content) {
  // Behind the head of these stands what the job, or who changed it, said.
  const bool has_content =
      e.reason == explain_reason::final_ || e.reason == explain_reason::retry || e.reason == explain_reason::deferred;
  const auto text = with_content || !has_content ? e.text : e.text.substr(0, e.text.find(": "));
  json out{{"id", id.value},         {"reason", name_of(e.reason)},  {"text", text},
           {"resource", e.resource}, {"when", time_or_null(e.when)}, {"before", e.before}};
  out["holders"] = json::array();
  for (const auto& holder : e.holders)
    out["holders"].push_back(holder.value);
  return dump(out);
}

std::string json_of(const changed_page& c, std::uint64_t refused) {
  json out{{"done", c.done}, {"unchanged", c.unchanged}, {"refused", refused}};
  out["failed"] = json::array();
  for (const auto& [id, why] : c.failed)
    out["failed"].push_back({{"id", id.value}, {"code", name_of(why.code)}, {"detail", told_of(why)}});
  out["records_read"] = c.records_read;
  out["next"] = c.next;
  return dump(out);
}

std::string json_of(const job_id& id) { return cat("{\"id\":", json_quoted(id.value), "}"); }

std::string json_of(const enqueue_report& report) {
  auto text = cat("{\"id\":", json_quoted(report.id.value));
  if (report.what != enqueue_result::stored) text += cat(",\"came\":", json_quoted(name_of(report.what)));
  if (!report.is_kept) text += ",\"kept\":false";
  if (!report.replaced.empty()) text += cat(",\"replaced\":", json_quoted(report.replaced.value));
  return text + "}";
}

std::string json_of(const group_status& g) {
  const auto instant = [](const std::optional<time_point>& at) { return at ? json_quoted(format_time(*at)) : "null"; };
  return cat("{\"group\":", json_quoted(g.name.value), ",\"in\":", g.in.empty() ? "null" : json_quoted(g.in.value),
             ",\"sealed\":", g.sealed ? "true" : "false", ",\"cancelled\":", g.cancelled ? "true" : "false",
             ",\"open\":", g.open, ",\"succeeded\":", g.succeeded, ",\"failed\":", g.failed, ",\"deleted\":", g.deleted,
             ",\"ended_as\":", g.ended_as ? json_quoted(name_of(*g.ended_as)) : "null",
             ",\"seal_by\":", instant(g.seal_by), ",\"created_at\":", instant(g.created_at),
             ",\"finished_at\":", instant(g.finished_at), "}");
}

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
