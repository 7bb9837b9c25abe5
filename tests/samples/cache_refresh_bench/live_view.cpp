#include "samples/cache_refresh_bench/live_view.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "samples/cache_refresh_bench/schedules.hpp"
#include "samples/text.hpp"

namespace sample {
namespace {

using namespace std::chrono_literals;

// A server beats every ten seconds; one that was killed stays in the list for a while.
constexpr auto silent_after = 30s;
constexpr std::size_t widest = 79;  // a line that wraps could not be drawn over

unsigned long long shown(std::uint64_t n) { return n; }

// Seven heavy jobs must fit on a line.
std::string short_name(const std::string& name) { return name.substr(0, name.find("Cache")); }

std::string title(const run_options& options) {
  return (options.seconds ? "of " + std::to_string(*options.seconds) + " s, " : "") + "pools: " + options.pools;
}

// Retention may have removed some since.
std::uint64_t since(std::uint64_t before, std::uint64_t now) { return now - std::min(before, now); }

}  // namespace

live_view::live_view(sluice::client& client, const sluice::server_options& served, const run_options& options,
                     const provider& asked, bool terminal)
    : client_(client), served_(served), title_(title(options)), provider_(asked), terminal_(terminal) {
  if (const auto queues = client_.queues())
    for (const auto& q : *queues)
      before_[q.queue.value] = {q.succeeded, q.failed};
}

void live_view::show_when_due(const std::string& phase) {
  if (std::chrono::steady_clock::now() < next_) return;
  show(phase);
  next_ = std::chrono::steady_clock::now() + (terminal_ ? 200ms : 2000ms);
}

void live_view::show(const std::string& phase) {
  const auto lines = table(phase);
  if (terminal_ && drawn_ > 0) std::printf("\033[%zuA\033[J", drawn_);
  for (const auto& text : lines)
    std::printf("%s\n", text.substr(0, widest).c_str());
  if (!terminal_) std::printf("\n");
  std::fflush(stdout);
  drawn_ = lines.size();
}

std::vector<std::string> live_view::table(const std::string& phase) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  std::vector<std::string> lines{format("%6.1f s %s%s", seconds, title_.c_str(), phase.c_str()),
                                 format("%-16s %7s %8s %9s %10s %9s %6s %7s", "queue", "workers", "enqueued",
                                        "throttled", "processing", "succeeded", "failed", "oldest")};
  std::map<std::string, sluice::queue_counts> counted;
  if (auto queues = client_.queues())
    for (auto& q : *queues)
      counted[q.queue.value] = std::move(q);
  auto serving = workers();
  for (const auto& [name, queue] : served_.queues)
    lines.push_back(queue_line(name, serving[name], counted[name]));
  const auto p = provider_.counts();
  lines.push_back(format("provider: %2u in flight, %u of them heavy; at most %u; %llu answered, %llu rejected",
                         p.in_flight, p.heavy_in_flight, p.peak_in_flight, shown(p.answered), shown(p.rejected)));
  lines.push_back(heavy_line());
  return lines;
}

// Of all processes that serve the store, by what each has told it: "default:7".
std::map<std::string, std::uint32_t> live_view::workers() {
  std::map<std::string, std::uint32_t> workers;
  const auto servers = client_.servers();
  if (!servers) return workers;
  for (const auto& server : *servers) {
    if (std::chrono::system_clock::now() - server.heartbeat_at > silent_after) continue;
    for (const auto& queue : server.queues) {
      const auto colon = queue.rfind(':');
      if (colon == std::string::npos) continue;
      const auto count = std::strtoul(queue.c_str() + colon + 1, nullptr, 10);
      workers[queue.substr(0, colon)] += static_cast<std::uint32_t>(count);
    }
  }
  return workers;
}

std::string live_view::queue_line(const std::string& name, std::uint32_t workers, const sluice::queue_counts& counts) {
  const auto before = before_[name];
  return format("%-16s %7u %8llu %9llu %10llu %9llu %6llu %7s", name.c_str(), workers, shown(counts.enqueued),
                shown(counts.throttled), shown(counts.processing), shown(since(before.succeeded, counts.succeeded)),
                shown(since(before.failed, counts.failed)), oldest_wait(name, counts).c_str());
}

// Of the next to go of those that wait for a worker, and of those that wait for a permit.
std::string live_view::oldest_wait(const std::string& name, const sluice::queue_counts& counts) {
  double seconds = -1;
  for (const auto state : {sluice::job_state::enqueued, sluice::job_state::throttled}) {
    if ((state == sluice::job_state::enqueued ? counts.enqueued : counts.throttled) == 0) continue;
    sluice::job_query first;
    first.state = state;
    first.queue = sluice::queue_name(name);
    first.limit = 1;
    const auto page = client_.list(first);
    if (!page || page->jobs.empty()) continue;
    const std::chrono::duration<double> wait = std::chrono::system_clock::now() - page->jobs.front().created_at;
    seconds = std::max(seconds, wait.count());
  }
  return seconds < 0 ? "-" : format("%.1f s", seconds);
}

// How far the heavy jobs are that run now, by what they last reported.
std::string live_view::heavy_line() {
  std::string text = "heavy in %:";
  sluice::job_query running;
  running.state = sluice::job_state::processing;
  const auto page = client_.list(running);
  if (!page) return text;
  for (const auto& job : page->jobs)
    if (is_heavy(job.args))
      text += format(" %s %.0f", short_name(job.type.value).c_str(), job.progress ? 100 * job.progress->done : 0.0);
  return text;
}

}  // namespace sample
