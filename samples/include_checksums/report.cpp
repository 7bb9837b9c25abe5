#include "include_checksums/report.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <queue>

namespace sample {
namespace {

struct waits {
  double p50 = 0, p99 = 0, most = 0;
};

waits summarize(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double q) {
    return seconds[static_cast<std::size_t>(q * static_cast<double>(seconds.size() - 1))];
  };
  return {at(0.5), at(0.99), seconds.back()};
}

double as_seconds(sluice::duration d) { return std::chrono::duration<double>(d).count(); }

// One line, one pool: each job in order goes to the worker that is free first.
std::vector<double> waits_in_one_pool(const std::vector<const sluice::job*>& in_order, unsigned workers) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (unsigned i = 0; i < workers; ++i)
    free_at.push(0);
  std::vector<double> light;
  for (const auto* j : in_order) {
    const double begins = free_at.top();
    free_at.pop();
    free_at.push(begins + as_seconds(j->history.back().ended - j->history.back().started));
    if (j->queue.value == "default") light.push_back(begins);
  }
  return light;
}

void row(const char* what, const waits& w) {
  std::printf("  %-44s %7.2f s %7.2f s %7.2f s\n", what, w.p50, w.p99, w.most);
}

}  // namespace

void show_queues(const std::vector<sluice::queue_counts>& queues, double seconds, bool redraw) {
  if (redraw) std::printf("\033[%zuA\033[J", queues.size() + 1);
  std::printf("%6.1f s  %-16s %10s %12s %11s %8s\n", seconds, "queue", "enqueued", "processing", "succeeded", "failed");
  for (const auto& q : queues)
    std::printf("          %-16s %10llu %12llu %11llu %8llu\n", q.queue.value.c_str(),
                static_cast<unsigned long long>(q.enqueued), static_cast<unsigned long long>(q.processing),
                static_cast<unsigned long long>(q.succeeded), static_cast<unsigned long long>(q.failed));
  std::fflush(stdout);
}

void show_waits(const std::vector<sluice::job>& done, unsigned light_workers, unsigned heavy_workers) {
  std::vector<const sluice::job*> heavy_first;
  std::vector<double> measured;
  double heavy_time = 0;
  for (const auto& j : done) {
    if (j.history.empty()) continue;
    heavy_first.push_back(&j);
    const auto& last = j.history.back();
    if (j.queue.value == "default") measured.push_back(as_seconds(last.started - j.created_at));
    else heavy_time += as_seconds(last.ended - last.started);
  }
  std::stable_sort(heavy_first.begin(), heavy_first.end(), [](const auto* a, const auto* b) {
    return (a->queue.value != "default") > (b->queue.value != "default");
  });
  std::printf("\nHow long the %zu light jobs waited, beside heavy ones of %.1f s in all:   p50       p99       max\n",
              measured.size(), heavy_time);
  row("queues apart, measured", summarize(measured));
  row("one pool, computed from the same run times",
      summarize(waits_in_one_pool(heavy_first, light_workers + heavy_workers)));
}

}  // namespace sample
