#include "cache_refresh/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/fetch.hpp"

namespace sample {
namespace {

template <class... Values>
std::string line(const char* form, Values... values) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), form, values...);
  return text.data();
}

unsigned long long shown(std::uint64_t n) { return n; }

// The milliseconds that a part `q` of all does not exceed.
double quantile(std::vector<double>& all, double q) {
  if (all.empty()) return 0;
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(q * double(all.size() - 1))];
}

struct queue_tally {
  std::size_t jobs = 0, failed = 0, retries = 0;
  std::vector<double> waited_ms, took_ms;

  void count(const sluice::job& job) {
    using ms = std::chrono::duration<double, std::milli>;
    ++jobs;
    failed += job.state == sluice::job_state::failed;
    retries += job.attempt > 1 ? job.attempt - 1 : 0;
    if (job.history.empty()) return;
    waited_ms.push_back(ms(job.history.front().started - job.created_at).count());
    took_ms.push_back(ms(job.history.back().ended - job.history.back().started).count());
  }
  std::string told(const std::string& name) {
    return line("%-18s%6zu%8zu%9zu%10.0f%8.0f%8.0f%11.0f%8.0f\n", name.c_str(), jobs, failed, retries,
                std::max(0.0, quantile(waited_ms, 0.5)), quantile(waited_ms, 0.99), quantile(waited_ms, 1),
                quantile(took_ms, 0.5), quantile(took_ms, 1));
  }
};

// All jobs that have ended since then, page by page.
sluice::result<std::map<std::string, queue_tally>> tally(sluice::client& client, sluice::time_point since) {
  std::map<std::string, queue_tally> queues;
  for (const auto state : {sluice::job_state::succeeded, sluice::job_state::failed}) {
    sluice::job_query query;
    query.state = state;
    query.from = since;
    query.with_args = false;
    query.limit = 200;
    do {
      const auto page = client.list(query);
      if (!page) return page.error();
      for (const auto& job : page->jobs)
        queues[job.queue.value].count(job);
      query.after = page->next;
    } while (!query.after.empty());
  }
  return queues;
}

// The provider that comes with this sample counts what it was asked; others need not.
std::string told_by(const std::string& provider) {
  try {
    const auto counts = nlohmann::json::parse(fetch(provider + "/counts"));
    const auto n = [&](const char* name) { return counts.at(name).get<unsigned>(); };
    return line("provider: at most %u requests at a time, and it bears %u; it answered %u and refused %u\n",
                n("peak_in_flight"), n("capacity"), n("answered"), n("rejected"));
  } catch (const std::exception&) {
    return {};
  }
}

struct job_counts {
  std::uint64_t waiting = 0, processing = 0, ended = 0;
};

sluice::result<job_counts> count_jobs(sluice::client& client) {
  const auto queues = client.queues();
  if (!queues) return queues.error();
  job_counts all;
  for (const auto& q : *queues) {
    all.waiting += q.enqueued + q.scheduled + q.throttled;
    all.processing += q.processing;
    all.ended += q.succeeded + q.failed;
  }
  return all;
}

}  // namespace

sluice::result<std::string> progress_line(sluice::client& client, cache& entries) {
  const auto now = count_jobs(client);
  if (!now) return now.error();
  return line("%3zu entries   jobs: %3llu wait, %2llu run, %5llu have ended", entries.names().size(),
              shown(now->waiting), shown(now->processing), shown(now->ended));
}

sluice::result<std::string> final_report(sluice::client& client, cache& entries, const std::string& provider,
                                         sluice::time_point since) {
  auto queues = tally(client, since);
  if (!queues) return queues.error();
  const auto left = count_jobs(client);
  if (!left) return left.error();
  std::string text =
      "                                            waited until begun, ms         took, ms\n"
      "queue               jobs  failed  retries       p50     p99    most        p50    most\n";
  for (auto& [name, queue] : *queues)
    text += queue.told(name);
  text += line("\ncache: %zu entries\n", entries.names().size());
  text += told_by(provider);
  if (left->waiting > 0) text += line("left: %llu jobs wait in the store for the next server\n", shown(left->waiting));
  return text;
}

}  // namespace sample
