#include "samples/cache_refresh_bench/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "samples/text.hpp"

namespace sample {
namespace {

constexpr std::uint32_t page_size = 200;
// A minute of the backend takes a second, by what the configurations say.
constexpr auto second_of_the_backend = sluice::duration(std::chrono::seconds(1)) / 60;

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Starts that were given back or lost are no runs.
bool has_failed(const sluice::run_record& start) {
  return is_one_of(start.cause, {"failed", "timed_out", "worker_died"});
}
bool has_run(const sluice::run_record& start) {
  return has_failed(start) || is_one_of(start.cause, {"succeeded", "retry"});
}

// As a header has it: "2026-03-08T03:00:00.000Z".
std::optional<sluice::time_point> read_instant(const std::string& text) {
  using namespace std::chrono;
  int y = 0, h = 0, min = 0, s = 0, ms = 0;
  unsigned m = 0, d = 0;
  if (std::sscanf(text.c_str(), "%d-%u-%uT%d:%d:%d.%dZ", &y, &m, &d, &h, &min, &s, &ms) != 7) return std::nullopt;
  return sys_days(year(y) / month(m) / day(d)) + hours(h) + minutes(min) + seconds(s) + milliseconds(ms);
}

std::string header_of(const sluice::job& job, const char* name) {
  const auto at = job.headers.find(name);
  return at == job.headers.end() ? std::string() : at->second;
}

// Asked for by a server that found its cache empty.
bool is_triggered(const sluice::job& job, const run_plan& plan) {
  return job.created_at >= plan.start && plan.schedules.contains(header_of(job, sluice::recurring_header)) &&
         header_of(job, sluice::occurrence_header).empty();
}

// The occurrence of the run for which the job was enqueued, if it is one's.
std::optional<sluice::time_point> occurrence_of(const sluice::job& job, const run_plan& plan) {
  const auto schedule = plan.schedules.find(header_of(job, sluice::recurring_header));
  const auto at = read_instant(header_of(job, sluice::occurrence_header));
  if (schedule == plan.schedules.end() || !at || *at < schedule->second.first || *at >= plan.end) return std::nullopt;
  return at;
}

double ms_between(sluice::time_point from, sluice::time_point to) {
  return std::max(0.0, std::chrono::duration<double, std::milli>(to - from).count());
}

void count(run_record& record, const sluice::job& job, sluice::time_point due) {
  auto& tally = record.jobs[job.type.value];
  std::uint64_t runs = 0;
  for (const auto& start : job.history) {
    if (has_run(start)) ++runs, ++record.runs_of_servers[start.server];
    tally.failures += has_failed(start) ? 1 : 0;
  }
  tally.runs += runs;
  record.retries += runs > 1 ? runs - 1 : 0;
  record.succeeded += job.state == sluice::job_state::succeeded ? 1 : 0;
  record.unfinished += sluice::is_final(job.state) ? 0 : 1;
  const auto first = std::find_if(job.history.begin(), job.history.end(), has_run);
  if (first != job.history.end() && !is_heavy(job.args))
    record.light_waits_ms.push_back(ms_between(due, first->started));
}

// By schedule, each with its occurrences that have a job.
using found_occurrences = std::map<std::string, std::set<sluice::time_point>>;

// Of an interval it is known when each of its occurrences was; those of a cron expression are not looked for.
void count_occurrences(run_record& record, const run_plan& plan, const found_occurrences& found) {
  std::map<std::int64_t, std::uint32_t> at_once;
  for (const auto& [name, schedule] : plan.schedules) {
    const auto its = found.find(name);
    const auto fired = its == found.end() ? std::set<sluice::time_point>() : its->second;
    record.fired += fired.size();
    for (const auto at : fired)
      record.max_at_once = std::max(record.max_at_once, ++at_once[at.time_since_epoch() / second_of_the_backend]);
    if (schedule.every == sluice::duration::zero()) continue;
    for (auto at = schedule.first; at < plan.end; at += schedule.every)
      record.missed += fired.contains(at) ? 0 : 1;
  }
}

double rounded(double ms) { return std::round(ms * 10) / 10; }

unsigned long long shown(std::uint64_t n) { return n; }

std::string runs_of_each(const run_record& record, std::size_t columns) {
  std::string text;
  std::size_t n = 0;
  for (const auto& [name, tally] : record.jobs) {
    const auto failed = tally.failures == 0 ? "" : format(" (%llu failed)", shown(tally.failures));
    text +=
        format("%s  %-20s %4llu%s", n++ % columns == 0 ? "\n" : "", name.c_str(), shown(tally.runs), failed.c_str());
  }
  return text;
}

std::string runs_of_servers(const run_record& record) {
  std::string text = "Runs of each server:\n";
  for (const auto& [name, runs] : record.runs_of_servers)
    text += format("  %-40s %4llu\n", name.c_str(), shown(runs));
  return text;
}

std::string meaning(const run_options& options, const run_record& record) {
  // Several processes have several pools, of which the sentences below do not speak.
  if (!options.with_server || record.runs_of_servers.size() > 1) return runs_of_servers(record);
  if (options.pools == "one")
    return R"(Heavy refreshes and light jobs shared one pool: while the heavy ones held its workers, light jobs waited
for them, and the provider was asked for several catalogues at once. Compare: --pools isolated
)";
  if (options.pools == "isolated")
    return R"(Heavy refreshes waited for each other on a queue of their own, so no light job waited for one. But all that
was due in the same minute still started at the same instant. Compare: --pools staggered
)";
  if (options.pools == "staggered")
    return R"(Each schedule had a part of its minute for itself, so light jobs met few others. But what is asked for at
once, as at the start, reached the provider at once, more than it bears. Compare: --pools throttled
)";
  return R"(The timetable came from the configuration, each schedule had a part of its minute for itself, heavy refreshes
waited for each other on a queue of their own, and a semaphore let no more jobs of both queues call the provider at
once than it bears. What each of these is worth: --pools one, isolated, staggered; all four in turn: --pools all
)";
}

// All in this state; of final ones those that ended in the run, which come first.
sluice::result<void> for_each_job(sluice::client& client, sluice::job_state state, sluice::time_point start,
                                  const std::function<void(const sluice::job&)>& look_at) {
  sluice::job_query query;
  query.state = state;
  query.limit = page_size;
  for (bool more = true; more;) {
    const auto page = client.list(query);
    if (!page) return page.error();
    for (const auto& job : page->jobs)
      look_at(job);
    more = !page->next.empty() && (!sluice::is_final(state) || page->jobs.back().finished_at >= start);
    query.after = page->next;
  }
  return {};
}

}  // namespace

sluice::result<run_record> record_of(sluice::client& client, const run_plan& plan,
                                     const std::vector<sluice::recurring>& schedules) {
  run_record record;
  for (const auto& schedule : schedules)
    record.jobs[schedule.job.value] = {};
  found_occurrences found;
  std::set<std::string> seen;  // a job may move on to another state between two pages
  const auto look_at = [&](const sluice::job& job) {
    if (!seen.insert(job.id.value).second) return;
    if (is_triggered(job, plan)) {
      ++record.enqueued;
      return count(record, job, job.created_at);
    }
    const auto at = occurrence_of(job, plan);
    if (!at) return;
    count(record, job, *at);
    record.late_ms.push_back(ms_between(*at, job.created_at));
    if (!found[header_of(job, sluice::recurring_header)].insert(*at).second) ++record.doubled;
  };
  using enum sluice::job_state;
  for (const auto state : {enqueued, scheduled, throttled, processing, succeeded, failed, deleted})
    if (const auto done = for_each_job(client, state, plan.start, look_at); !done) return done.error();
  count_occurrences(record, plan, found);
  record.enqueued += record.fired;
  std::sort(record.light_waits_ms.begin(), record.light_waits_ms.end());
  std::sort(record.late_ms.begin(), record.late_ms.end());
  return record;
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

std::string as_json(const run_options& options, const run_summary& run) {
  using json = nlohmann::ordered_json;
  const auto& record = run.record;
  json jobs;
  for (const auto& [name, tally] : record.jobs)
    jobs[name] = {{"runs", tally.runs}, {"failures", tally.failures}};
  const auto& waits = record.light_waits_ms;
  const auto& late = record.late_ms;
  const json line{
      {"pools", options.pools},
      {"seconds", options.seconds ? json(*options.seconds) : nullptr},
      {"recurring",
       {{"fired", record.fired},
        {"missed", record.missed},
        {"doubled", record.doubled},
        {"late_ms",
         {{"p50", rounded(quantile(late, 0.5))},
          {"p99", rounded(quantile(late, 0.99))},
          {"max", rounded(quantile(late, 1))}}}}},
      {"max_at_once", record.max_at_once},
      {"max_of_a_minute", {{"false", run.peaks.off}, {"true", run.peaks.by_name}, {"even", run.peaks.even}}},
      {"jobs", std::move(jobs)},
      {"light_wait_ms",
       {{"p50", rounded(quantile(waits, 0.5))},
        {"p95", rounded(quantile(waits, 0.95))},
        {"p99", rounded(quantile(waits, 0.99))},
        {"max", rounded(quantile(waits, 1))}}},
      {"provider",
       {{"peak_in_flight", run.asked.peak_in_flight},
        {"heavy_peak_in_flight", run.asked.heavy_peak_in_flight},
        {"permits", run.permits ? json(*run.permits) : nullptr},
        {"answered", run.asked.answered},
        {"rejected", run.asked.rejected}}},
      {"retries", record.retries},
      {"enqueued", record.enqueued},
      {"succeeded", record.succeeded},
      {"unfinished", record.unfinished},
      {"runs_of_servers", record.runs_of_servers}};
  return line.dump();
}

std::string as_text(const run_options& options, const run_summary& run) {
  const auto& record = run.record;
  const auto& waits = record.light_waits_ms;
  const auto& late = record.late_ms;
  const auto count = record.jobs.size();
  std::string text = format(
      "A minute of the backend took a second here. The run began with empty caches, so all %zu were asked for at "
      "once.\n"
      "\n",
      count);
  text += format(
      "recurring   %zu schedules fired %llu times; %llu occurrences were missed, %llu fired twice;\n"
      "            enqueued p50 %.1f ms, p99 %.1f ms, at most %.1f ms after their instants\n",
      count, shown(record.fired), shown(record.missed), shown(record.doubled), quantile(late, 0.5),
      quantile(late, 0.99), quantile(late, 1));
  text += format(
      "staggering  at most %u of them in one second of the backend's minute. If all %zu were due in each minute: %d\n"
      "            with \"stagger\": false, %d with true (by a hash of the name), %d with \"even\"\n",
      record.max_at_once, count, run.peaks.off, run.peaks.by_name, run.peaks.even);
  text += format(
      "isolation   %zu light jobs waited p50 %.0f ms, p95 %.0f ms, p99 %.0f ms, at most %.0f ms until they began;\n"
      "            at most %u heavy job%s at a time asked the provider\n",
      waits.size(), quantile(waits, 0.5), quantile(waits, 0.95), quantile(waits, 0.99), quantile(waits, 1),
      run.asked.heavy_peak_in_flight, run.asked.heavy_peak_in_flight == 1 ? "" : "s");
  text +=
      format("throttling  at most %u requests at a time; %s, the provider bears %u; it refused %llu of %llu\n",
             run.asked.peak_in_flight,
             run.permits ? format("the semaphore lets in %llu", shown(*run.permits)).c_str() : "there is no throttler",
             provider::capacity, shown(run.asked.rejected), shown(run.asked.answered + run.asked.rejected));
  text += format("jobs        %llu enqueued, %llu succeeded, %llu have not ended; %llu runs were retries\n\n",
                 shown(record.enqueued), shown(record.succeeded), shown(record.unfinished), shown(record.retries));
  text += "Runs of each job:" + runs_of_each(record, 4) + "\n\n";
  return text + meaning(options, record);
}

std::string as_table(const std::vector<std::pair<run_options, run_summary>>& runs) {
  std::string text =
      "            light jobs waited, ms           starts in  requests   of heavy  refused\n"
      "pools         p50     p95     p99     max    a second*  at a time       jobs    (503)  missed  twice\n";
  for (const auto& [options, run] : runs) {
    const auto& waits = run.record.light_waits_ms;
    text += format("%-10s %6.0f  %6.0f  %6.0f  %6.0f  %11u  %9u  %9u  %7llu  %6llu  %5llu\n", options.pools.c_str(),
                   quantile(waits, 0.5), quantile(waits, 0.95), quantile(waits, 0.99), quantile(waits, 1),
                   run.record.max_at_once, run.asked.peak_in_flight, run.asked.heavy_peak_in_flight,
                   shown(run.asked.rejected), shown(run.record.missed), shown(run.record.doubled));
  }
  return text + "* of the backend's minute, at most; what was asked for at the start is not counted in\n";
}

}  // namespace sample
