#include "cache_refresh/report.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "cache_refresh/text.hpp"

namespace sample {
namespace {

constexpr std::uint32_t page_size = 200;

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Starts that were given back or lost are no runs.
bool has_failed(const sluice::start_record& start) {
  return is_one_of(start.cause, {"failed", "timed_out", "worker_died"});
}
bool has_run(const sluice::start_record& start) {
  return has_failed(start) || is_one_of(start.cause, {"succeeded", "retry"});
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
  const auto* kind = find_job_kind(job.type.value);
  const auto first = std::find_if(job.history.begin(), job.history.end(), has_run);
  if (!kind || kind->heavy || first == job.history.end()) return;
  const std::chrono::duration<double, std::milli> wait = first->started - due;
  record.light_waits_ms.push_back(std::max(0.0, wait.count()));
}

double rounded(double ms) { return std::round(ms * 10) / 10; }

std::string runs_of_each(const run_record& record, std::size_t columns) {
  std::string text;
  std::size_t n = 0;
  for (const auto& kind : job_kinds()) {
    const auto tally = record.jobs.at(kind.name);
    const auto failed = tally.failures == 0 ? "" : format(" (%u failed)", static_cast<unsigned>(tally.failures));
    text += format("%s  %-20s %4u%s", n % columns == 0 ? "\n" : "", kind.name.c_str(),
                   static_cast<unsigned>(tally.runs), failed.c_str());
    ++n;
  }
  return text;
}

std::string runs_of_servers(const run_record& record) {
  std::string text = "Runs of each server:\n";
  for (const auto& [name, runs] : record.runs_of_servers)
    text += format("  %-40s %4u\n", name.c_str(), static_cast<unsigned>(runs));
  return text;
}

std::string meaning(const run_options& options, const run_record& record) {
  // Several processes have several pools, of which the two sentences below do not speak.
  if (options.role != "all" || record.runs_of_servers.size() > 1) return runs_of_servers(record);
  if (options.pools == "one")
    return R"(Heavy refreshes and light jobs shared one pool: while the heavy ones held its workers, light jobs waited
for them, and the provider was asked for several catalogues at once. Compare: cache_refresh --pools isolated
)";
  if (options.pools == "throttled")
    return R"(A semaphore let no more jobs of both queues call the provider at once than it bears, whatever the number
of workers, and a mutex one heavy refresh at a time. Compare: cache_refresh --pools isolated
)";
  return R"(Heavy refreshes waited for each other on a queue of their own, so no light job waited for one, and the
provider was asked for one catalogue at a time. Compare: cache_refresh --pools one
)";
}

}  // namespace

sluice::result<run_record> record_of(sluice::client& client, const run_plan& plan) {
  run_record record;
  for (const auto& kind : job_kinds())
    record.jobs[kind.name] = {};
  sluice::job_query newest_first;
  newest_first.limit = page_size;
  for (bool more = true; more;) {
    auto page = client.list(newest_first);
    if (!page) return page.error();
    for (const auto& job : page->jobs)
      if (const auto due = plan.due_of(job)) count(record, job, *due);
    more = !page->next.empty() && page->jobs.back().created_at >= plan.start;  // earlier ones are of other runs
    newest_first.after = page->next;
  }
  std::sort(record.light_waits_ms.begin(), record.light_waits_ms.end());
  return record;
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

std::string as_json(const run_options& options, const run_record& record, const provider_counts& asked) {
  nlohmann::ordered_json jobs;
  for (const auto& kind : job_kinds()) {
    const auto tally = record.jobs.at(kind.name);
    jobs[kind.name] = {{"runs", tally.runs}, {"failures", tally.failures}};
  }
  const auto& waits = record.light_waits_ms;
  const nlohmann::ordered_json line{{"pools", options.pools},
                                    {"seconds", options.seconds ? nlohmann::ordered_json(*options.seconds) : nullptr},
                                    {"jobs", std::move(jobs)},
                                    {"light_wait_ms",
                                     {{"p50", rounded(quantile(waits, 0.5))},
                                      {"p99", rounded(quantile(waits, 0.99))},
                                      {"max", rounded(quantile(waits, 1))}}},
                                    {"provider",
                                     {{"peak_in_flight", asked.peak_in_flight},
                                      {"heavy_peak_in_flight", asked.heavy_peak_in_flight},
                                      {"rejected", asked.rejected}}},
                                    {"retries", record.retries},
                                    {"enqueued", record.enqueued},
                                    {"succeeded", record.succeeded},
                                    {"unfinished", record.unfinished},
                                    {"runs_of_servers", record.runs_of_servers}};
  return line.dump();
}

std::string as_text(const run_options& options, const run_record& record, const provider_counts& asked) {
  const auto& waits = record.light_waits_ms;
  std::string text = format("How long %zu light jobs waited: p50 %.0f ms, p99 %.0f ms, at most %.0f ms\n", waits.size(),
                            quantile(waits, 0.5), quantile(waits, 0.99), quantile(waits, 1));
  text += format(
      "The provider had at most %u requests in flight (it bears %u), %u of heavy jobs, and rejected %llu of %llu\n",
      asked.peak_in_flight, provider::capacity, asked.heavy_peak_in_flight,
      static_cast<unsigned long long>(asked.rejected),
      static_cast<unsigned long long>(asked.answered + asked.rejected));
  text += "Runs of each job:" + runs_of_each(record, 4) + "\n";
  text += format("%llu runs were retries; %llu jobs have not ended\n\n",
                 static_cast<unsigned long long>(record.retries), static_cast<unsigned long long>(record.unfinished));
  return text + meaning(options, record);
}

}  // namespace sample
