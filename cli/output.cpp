#include "cli/output.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <unistd.h>

#include "core/log.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "core/watching.hpp"
#include "wire/json.hpp"

namespace sluice::cli {

std::string ago(time_point at) {
  const auto now = std::chrono::time_point_cast<duration>(std::chrono::system_clock::now());
  const auto s = std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now - at).count());
  if (s < 120) return cat(s, " s");
  if (s < 7200) return cat(s / 60, " min");
  if (s < 48 * 3600) return cat(s / 3600, " h");
  return cat(s / 86400, " d");
}

namespace {

// A line of a page about one thing.
std::string page_line(std::string_view name, const std::string& value) {
  return cat(name, std::string(12 - name.size(), ' '), printable(value), '\n');
}

// What a custom one counts is known to its own code alone.
std::string held_of(const throttler_status& t) {
  return t.kind == throttler_kind::custom ? "-" : std::to_string(t.held);
}

bool numeric(const std::string& cell) {
  return !cell.empty() && std::all_of(cell.begin(), cell.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What whoever typed a command can do about its failure.
std::string_view help_with(const error& e) {
  switch (e.subject) {
    case error_subject::job:
      return "`sluice jobs` lists those there are: one that ended is kept as long as `retention` says";
    case error_subject::queue: return "`sluice queues` lists all";
    case error_subject::group: return "`sluice groups` lists all";
    case error_subject::throttler: return "`sluice throttlers` lists all";
    case error_subject::schedule: return "`sluice recurring list` lists all";
    case error_subject::quarantine: return "`sluice quarantine list` lists those there are";
    case error_subject::store: return "the first `sluice enqueue` or `sluice work` on it makes it";
    case error_subject::other: break;
  }
  const bool is_refused = e.message.ends_with(std::strerror(EACCES));
  return is_refused ? "the command must run as a user who may read and write it" : "";
}

}  // namespace

std::string table::text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  std::vector<bool> right(widths.size(), true);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  for (std::size_t r = 1; r < rows_.size(); ++r)
    for (std::size_t c = 0; c < rows_[r].size(); ++c)
      right[c] = right[c] && numeric(rows_[r][c]);
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - row[c].size(), ' ');
      line += (c ? "  " : "") + (rows_.size() > 1 && right[c] ? pad + row[c] : row[c] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string jobs_table(const std::vector<job>& jobs, bool with_args) {
  std::vector<std::string> titles{"ID", "TYPE", "QUEUE", "STATE", "ATTEMPT", "LOSSES", "CREATED", "REASON"};
  if (with_args) titles.insert(titles.begin() + 2, "ARGS");
  table t(titles);
  for (const auto& j : jobs) {
    std::vector<std::string> row{printable(j.id.value),        printable(j.type.value, 40),
                                 printable(j.queue.value, 40), std::string(name_of(j.state)),
                                 std::to_string(j.attempt),    std::to_string(j.losses),
                                 format_time(j.created_at),    printable(j.reason, 60)};
    if (with_args) row.insert(row.begin() + 2, printable(j.args, args_shown));
    t.add(row);
  }
  return t.text();
}

std::string errors_table(const std::vector<wire::error_group>& errors) {
  table t({"COUNT", "TYPE", "ERROR", "FIRST", "LAST", "LAST ID"});
  for (const auto& e : errors)
    t.add({std::to_string(e.count), printable(e.type.value, 40), printable(e.error, 100), format_time(e.first_at),
           format_time(e.last_at), printable(e.last_id.value)});
  return t.text();
}

std::string locks_table(const std::vector<lock_status>& locks) {
  table t({"RESOURCE", "HOLDER", "FENCE", "UNTIL"});
  for (const auto& l : locks)
    t.add(
        {printable(l.resource), printable(l.now.holder), std::to_string(l.now.fence.value), format_time(l.now.until)});
  return t.text();
}

std::string quarantine_table(const std::vector<quarantined_job>& jobs) {
  table t({"ID", "QUEUE", "SINCE"});
  for (const auto& q : jobs)
    t.add({printable(q.id.value), printable(q.queue.value), format_time(q.since)});
  return t.text();
}

// Bytes that are no text are escaped.
std::string quarantined_page_text(const quarantined_record& q) {
  const auto part = [](std::string_view name, const std::string& bytes) {
    constexpr std::size_t all_of_it = 16 * 1024 * 1024;
    return cat(name, std::string(12 - name.size(), ' '), bytes.empty() ? "none" : cat(bytes.size(), " bytes"), '\n',
               bytes.empty() ? std::string() : cat("  ", printable(bytes, all_of_it), '\n'));
  };
  return page_line("id", q.id.value) + page_line("queue", q.queue.value) + page_line("since", format_time(q.since)) +
         page_line("wrong", q.wrong) + page_line("can requeue", q.readable ? "yes" : "no") + part("record", q.record) +
         part("history", q.history) + part("run", q.run);
}

bool may_ask() { return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0; }

bool says_yes(const std::string& question) {
  log::flush(std::chrono::seconds(1));
  std::fprintf(stderr, "%s [y/N] ", question.c_str());
  const int said = std::getchar();
  return said == 'y' || said == 'Y';
}

std::string groups_table(const std::vector<group_status>& groups) {
  table t({"GROUP", "IN", "OPEN", "SUCCEEDED", "FAILED", "DELETED", "STATE", "SEAL BY", "CREATED", "FINISHED"});
  for (const auto& g : groups) {
    std::string state(g.ended_as ? name_of(*g.ended_as) : g.cancelled ? "cancelled" : g.sealed ? "sealed" : "open");
    if (g.ended_as && g.cancelled) state += ", cancelled";
    t.add({printable(g.name.value), g.in.empty() ? "-" : printable(g.in.value), cat(g.open), cat(g.succeeded),
           cat(g.failed), cat(g.deleted), state, g.seal_by ? format_time(*g.seal_by) : "-", format_time(g.created_at),
           g.finished_at ? format_time(*g.finished_at) : "-"});
  }
  return t.text();
}

std::string operator_log_table(const std::vector<operator_action>& actions) {
  constexpr std::size_t max_named = 3;
  table t({"WHEN", "WHO", "THROUGH", "WHAT", "COUNT", "ABOUT"});
  for (const auto& a : actions) {
    std::string about;
    const auto named = std::min(a.about.size(), max_named);
    for (std::size_t i = 0; i < named; ++i)
      about += (i == 0 ? "" : ", ") + printable(a.about[i]);
    if (a.count > named) about += cat(" and ", a.count - named, " more");
    t.add({format_time(a.at), printable(a.by.name), printable(a.by.through), printable(a.what), std::to_string(a.count),
           about});
  }
  return t.text();
}

std::string queues_table(const std::vector<queue_counts>& queues) {
  table t({"QUEUE", "PAUSED", "ENQUEUED", "SCHEDULED", "AWAITING", "THROTTLED", "PROCESSING", "SUCCEEDED", "FAILED",
           "DELETED", "QUARANTINED", "OLDEST READY"});
  for (const auto& q : queues)
    t.add({printable(q.queue.value), q.paused ? "yes" : "no", std::to_string(q.enqueued), std::to_string(q.scheduled),
           std::to_string(q.awaiting), std::to_string(q.throttled), std::to_string(q.processing),
           std::to_string(q.succeeded), std::to_string(q.failed), std::to_string(q.deleted),
           std::to_string(q.quarantined), q.oldest_ready ? ago(*q.oldest_ready) : ""});
  return t.text();
}

std::string totals_table(const totals_report& report) {
  table t({"FROM", "ENQUEUED", "SUCCEEDED", "FAILED", "DELETED", "RETRIED", "LOST"});
  const auto add = [&](const std::string& from, const job_totals& n) {
    t.add({from, std::to_string(n.enqueued), std::to_string(n.succeeded), std::to_string(n.failed),
           std::to_string(n.deleted), std::to_string(n.retried), std::to_string(n.lost)});
  };
  for (const auto& row : report.rows)
    add(format_time(row.begins), row.in_it);
  add("ever", report.ever);
  return t.text();
}

std::string servers_table(const std::vector<server_info>& servers) {
  table t({"SERVER", "HOST", "PID", "RUNNING", "QUEUES", "STORE", "FILTERS", "UP", "LAST BEAT"});
  for (const auto& s : servers) {
    std::string queues;
    for (const auto& q : s.queues)
      queues += (queues.empty() ? "" : " ") + printable(q);
    t.add({printable(s.name), printable(s.host), std::to_string(s.pid), std::to_string(s.running), queues,
           std::string(name_of(s.store)), s.has_filters ? "yes" : "no", ago(s.started_at),
           ago(s.heartbeat_at) + " ago"});
  }
  return t.text();
}

std::string throttlers_table(const std::vector<throttler_status>& throttlers) {
  table t({"KIND", "RESOURCE", "LIMIT", "HELD", "WAITING", "NEXT"});
  for (const auto& one : throttlers)
    t.add({std::string(name_of(one.kind)), printable(one.resource), one.limit ? std::to_string(*one.limit) : "-",
           held_of(one), std::to_string(one.waiting), one.next_at ? format_time(*one.next_at) : ""});
  return t.text();
}

std::string holders_table(const std::vector<throttler_holder>& holders) {
  table t({"HOLDER", "FENCE", "SINCE"});
  for (const auto& h : holders)
    t.add({printable(h.id.value), h.reserved ? "promised" : std::to_string(h.fence.value), format_time(h.since)});
  return t.text();
}

std::string waiters_table(const std::vector<job_id>& waiters) {
  table t({"WAITER"});
  for (const auto& id : waiters)
    t.add({printable(id.value)});
  return t.text();
}

std::string recurring_table(const std::vector<recurring_status>& all) {
  table t({"NAME", "JOB", "WHEN", "NEXT", "LAST", "LAST JOB", "REMARK"});
  for (const auto& one : all) {
    std::string job, when;
    if (one.definition) {
      const auto& d = *one.definition;
      job = d.job.value;
      when = d.cron.empty() ? "every " + format_duration(d.every) : d.cron;
      if (d.zone != "UTC") when += " " + d.zone;
    }
    t.add(
        {printable(one.name), printable(job, 40), printable(when, 60), one.next_at ? format_time(*one.next_at) : "-",
         one.last_at ? format_time(*one.last_at) : "-", printable(one.last_job.value),
         cat(one.paused ? "paused" : "", one.paused && !one.problem.empty() ? "; " : "", printable(one.problem, 200))});
  }
  return t.text();
}

std::string throttler_page_text(const throttler_status& t) {
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) { out += page_line(name, value); };
  line("resource", t.resource);
  if (t.definition) line("definition", write_throttler(*t.definition));
  if (t.limit) line("limit", std::to_string(*t.limit));
  line("held", held_of(t));
  line("waiting", std::to_string(t.waiting));
  if (t.next_at) line("next", format_time(*t.next_at));
  table keys({"KEY", "USED", "LIMIT", "NEXT"});
  for (const auto& k : t.keys)
    keys.add({printable(k.key), std::to_string(k.used), std::to_string(k.limit), k.next ? format_time(*k.next) : ""});
  if (!t.keys.empty()) out += '\n' + keys.text();
  if (!t.holders.empty()) out += '\n' + holders_table(t.holders);
  if (!t.waiters.empty()) out += '\n' + waiters_table(t.waiters);
  return out;
}

std::string recurring_page_text(const recurring_outlook& o) {
  const auto& s = o.status;
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out += page_line(name, value);
  };
  line("name", s.name);
  if (s.definition) {
    const auto& d = *s.definition;
    line("job", d.job.value);
    line("queue", d.queue.value);
    line("args", d.args);
    if (d.cron.empty()) line("every", format_duration(d.every));
    else line("cron", d.cron);
    line("zone", d.zone);
    line("stagger", std::string(name_of(d.stagger)));
    line("catch up", cat(name_of(d.catch_up), d.catch_up == catch_up_rule::all ? cat(", ", d.catch_up_max) : ""));
    line("overlap", std::string(name_of(d.overlap)));
    for (const auto& [name, value] : d.headers)
      line("header", cat(name, "=", value));
  }
  line("paused", s.paused ? "yes" : "no");
  if (s.last_at) line("last", format_time(*s.last_at));
  line("last job", s.last_job.value);
  line("problem", s.problem);
  table next({s.paused ? "NEXT, IF RESUMED NOW" : "NEXT", "LOCAL"});
  for (const auto& [utc, local] : wire::next_runs(o))
    next.add({format_time(utc), local.value_or("")});
  return o.next.empty() ? out : out + '\n' + next.text();
}

std::string job_page_text(const job& j) {
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out += page_line(name, value);
  };
  line("id", j.id.value);
  line("type", j.type.value);
  line("queue", j.queue.value);
  line("state", std::string(name_of(j.state)));
  line("reason", j.reason);
  line("line", j.line);
  line("attempt", std::to_string(j.attempt));
  line("losses", std::to_string(j.losses));
  line("created", format_time(j.created_at));
  if (j.due_at) line("due", format_time(*j.due_at));
  if (j.started_at) line("started", format_time(*j.started_at));
  if (j.lease_until) line("lease until", format_time(*j.lease_until));
  if (j.flow.start_by) line("start by", format_time(*j.flow.start_by));
  if (j.flow.finish_by) line("finish by", format_time(*j.flow.finish_by));
  line("group", j.flow.group.value);
  line("unique key", j.flow.unique_key);
  for (const auto& parent : j.flow.parents)
    line("after", cat(parent.id.empty() ? cat("group ", parent.group.value) : parent.id.value,
                      !parent.met   ? ", which has not ended"
                      : *parent.met ? ", which ended as it wants"
                                    : ", which did not end as it wants"));
  line("server", j.server);
  for (const auto& resource : j.permits)
    line("permit", resource);
  if (const auto p = wire::progress_of(j)) line("progress", cat(static_cast<int>(p->done * 100), " % ", p->text));
  if (j.finished_at) line("finished", format_time(*j.finished_at));
  line("args", j.args);
  for (const auto& [name, value] : j.headers)
    line("header", cat(name, ": ", value));
  line("result", j.result);
  if (j.history.empty()) return out;
  table t({"ATTEMPT", "CAUSE", "STARTED", "ENDED", "SERVER", "ERROR"});
  for (const auto& s : j.history)
    t.add({std::to_string(s.attempt), printable(s.cause, 40), format_time(s.started), format_time(s.ended),
           printable(s.server, 60), printable(s.error, 120)});
  out += '\n' + t.text();
  for (const auto& s : j.history)
    for (const auto& part : s.watched)
      line("watched", cat("in attempt ", s.attempt, ": ", in_words(part)));
  return out;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void print_line(const std::string& text) { print(text + '\n'); }

void note(const std::string& text) {
  log::flush(std::chrono::seconds(1));  // what led here stands before it, and nothing comes between two notes
  std::fprintf(stderr, "sluice: %s\n", printable(text).c_str());
}

std::string sentence_of(const error& e) {
  auto text = e.message.empty() ? std::string(describe(e.code)) : e.message;
  if (const auto help = help_with(e); !help.empty()) text += cat(text.ends_with('?') ? " " : "; ", help);
  return cat(text, " (", name_of(e.code), ")");
}

int failed(const error& e) {
  note(log::redact(sentence_of(e)));
  return 1;
}

int usage_error(const std::string& text) {
  note(log::redact(text));
  return 2;
}

}  // namespace sluice::cli
