#include "dashboard/metrics.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>

#include <sluice/version.hpp>

#include "core/text.hpp"
#include "dashboard/routes.hpp"
#include "storage/numbers.hpp"
#include "wire/overview.hpp"

namespace sluice::web {
namespace {

using labels = std::vector<std::pair<std::string_view, std::string>>;

std::string number(double value) {
  char text[40];
  return {text, std::to_chars(text, std::end(text), value).ptr};
}
std::string number(std::uint64_t value) { return std::to_string(value); }

double seconds(duration d) { return static_cast<double>(d.count()) / 1e6; }
double seconds(time_point at) { return static_cast<double>(micros(at)) / 1e6; }

// Writes all lines of a name together, behind its help and type.
class family {
public:
  family(std::string& to, std::string_view name, std::string_view type, std::string_view help) : to_(to), name_(name) {
    to_ += cat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }

  template <class Value>
  void add(const labels& of, Value value, std::string_view behind = {}) {
    to_ += cat(name_, behind);
    if (!of.empty()) {
      to_ += '{';
      for (const auto& [key, text] : of) {
        if (key != of.front().first) to_ += ',';
        to_ += cat(key, "=\"");
        escape(text);
        to_ += '"';
      }
      to_ += '}';
    }
    to_ += cat(" ", number(value), "\n");
  }

  void add(const labels& of, const storage::histogram& from) {
    const auto seen = from.look();
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < seen.counts.size(); ++i) {
      below += seen.counts[i];
      auto with_bound = of;
      with_bound.emplace_back("le", i < seen.bounds.size() ? number(seconds(seen.bounds[i])) : "+Inf");
      add(with_bound, below, "_bucket");
    }
    add(of, seen.seconds, "_sum");
    add(of, below, "_count");
  }

private:
  void escape(const std::string& text) {
    for (const char c : bounded_utf8(text, 300))
      if (c == '\\') to_ += "\\\\";
      else if (c == '"') to_ += "\\\"";
      else if (c == '\n') to_ += "\\n";
      else to_ += c;
  }

  std::string& to_;
  std::string_view name_;
};

// Sums what is beyond the cap.
struct capped {
  std::string_view metric;
  std::map<std::string, std::uint64_t>& overflow;
  std::size_t seen = 0;

  std::string name(const std::string& of) {
    if (++seen <= max_labels) return of;
    ++overflow[std::string(metric)];
    return "other";
  }
};

void add_process(std::string& to) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto time = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  family(to, "process_cpu_seconds_total", "counter", "Processor time of the process.")
      .add({}, time(used.ru_utime) + time(used.ru_stime));
  std::uint64_t pages = 0, ignored = 0;
  std::ifstream("/proc/self/statm") >> ignored >> pages;
  family(to, "process_resident_memory_bytes", "gauge", "Memory of the process that is in use.")
      .add({}, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  std::uint64_t files = 0;
  if (auto* folder = ::opendir("/proc/self/fd")) {
    while (::readdir(folder))
      ++files;
    ::closedir(folder);
  }
  family(to, "process_open_fds", "gauge", "Open files of the process.").add({}, files > 3 ? files - 3 : 0);
  rlimit most{};
  ::getrlimit(RLIMIT_NOFILE, &most);
  family(to, "process_max_fds", "gauge", "How many files it may open.").add({}, std::uint64_t{most.rlim_cur});
  std::string all;
  std::ifstream stat("/proc/self/stat");
  std::getline(stat, all);
  std::ifstream whole("/proc/stat");
  double booted = 0;
  for (std::string word; whole >> word;)
    if (word == "btime") whole >> booted;
  // Fields are counted behind the name, which may hold anything.
  all.erase(0, std::min(all.size(), all.rfind(')') + 2));
  constexpr int start_field = 19;
  std::size_t at = 0;
  for (int i = 0; i < start_field && at != std::string::npos; ++i)
    at = all.find(' ', at + 1);
  double ticks = 0;
  if (at != std::string::npos) std::from_chars(all.data() + at + 1, all.data() + all.size(), ticks);
  family(to, "process_start_time_seconds", "gauge", "When the process began.")
      .add({}, booted + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

void add_queues(std::string& to, const known_store& known, std::map<std::string, std::uint64_t>& overflow) {
  struct sums {
    queue_counts counts;
    bool paused = false;
    std::optional<time_point> oldest;
  };
  std::map<std::string, sums> queues;
  capped names{"sluice_jobs", overflow};
  for (const auto& q : known.queues) {
    auto& sum = queues[names.name(q.queue.value)];
    add_counts(sum.counts, q);
    sum.paused = sum.paused || q.paused;
    if (q.oldest_ready && (!sum.oldest || *q.oldest_ready < *sum.oldest)) sum.oldest = q.oldest_ready;
  }
  family jobs(to, "sluice_jobs", "gauge", "Jobs that are kept now; final ones go when their retention is over.");
  for (const auto& one : queues)
    for_each_count(one.second.counts, [&](std::string_view state, std::uint64_t n) {
      if (state != "quarantined") jobs.add({{"queue", one.first}, {"state", std::string(state)}}, n);
    });
  family aside(to, "sluice_jobs_quarantined", "gauge", "Records that cannot be read and were put aside.");
  for (const auto& [name, sum] : queues)
    aside.add({{"queue", name}}, sum.counts.quarantined);
  family paused(to, "sluice_queue_paused", "gauge", "1 when the queue starts nothing.");
  for (const auto& [name, sum] : queues)
    paused.add({{"queue", name}}, std::uint64_t{sum.paused});
  family oldest(to, "sluice_queue_oldest_ready_timestamp_seconds", "gauge",
                "Since when the first of the enqueued jobs has been ready; 0 when none is.");
  for (const auto& [name, sum] : queues)
    oldest.add({{"queue", name}}, sum.oldest ? seconds(*sum.oldest) : 0);
  family workers(to, "sluice_queue_workers", "gauge", "Workers of the servers that are alive.");
  std::map<std::string, std::uint64_t> by_name;
  capped worker_names{"sluice_queue_workers", overflow};
  for (const auto& [name, n] : wire::workers_of(known))
    by_name[queues.contains(name) ? name : queues.contains("other") ? "other" : worker_names.name(name)] += n;
  for (const auto& [name, n] : by_name)
    workers.add({{"queue", name}}, n);
}

void add_store(std::string& to, const board& on, const known_store& known,
               std::map<std::string, std::uint64_t>& overflow) {
  family(to, "sluice_store_info", "gauge", "Which store it is, and what it keeps.")
      .add({{"backend", on.backend}, {"durability", std::string(name_of(on.shared_store->durability()))}},
           std::uint64_t{1});
  add_queues(to, known, overflow);
  std::uint64_t silent = 0;
  for (const auto& server : known.servers)
    silent += wire::is_silent(server, known) ? 1 : 0;
  family servers(to, "sluice_servers", "gauge", "Servers by whether they have told of late that they live.");
  servers.add({{"state", "alive"}}, known.servers.size() - silent);
  servers.add({{"state", "silent"}}, silent);

  struct throttler_sums {
    std::uint64_t limit = 0, held = 0, waiting = 0;
  };
  std::map<std::pair<std::string, std::string>, throttler_sums> throttlers;
  capped throttler_names{"sluice_throttler_limit", overflow};
  for (const auto& t : known.throttlers) {
    const auto name = t.resource.substr(std::min(t.resource.size(), t.resource.find(':') + 1));
    auto& sum = throttlers[{std::string(name_of(t.kind)), throttler_names.name(name)}];
    sum.limit += t.limit.value_or(0);
    sum.held += t.held;
    sum.waiting += t.waiting;
  }
  for (const auto& [name, help, field] :
       {std::tuple("sluice_throttler_limit", "Permits or slots of defined throttlers; 0: none is said.",
                   &throttler_sums::limit),
        std::tuple("sluice_throttler_held", "How many are held or count now.", &throttler_sums::held),
        std::tuple("sluice_throttler_waiting", "Jobs that wait for it.", &throttler_sums::waiting)}) {
    family one(to, name, "gauge", help);
    for (const auto& [of, sum] : throttlers)
      one.add({{"kind", of.first}, {"name", of.second}}, sum.*field);
  }

  std::map<std::string, std::pair<double, bool>> schedules;  // the next instant, and whether it is paused
  capped schedule_names{"sluice_schedule_next_timestamp_seconds", overflow};
  for (const auto& s : known.schedules) {
    auto& one = schedules[schedule_names.name(s.name)];
    const auto next = s.next_at ? seconds(*s.next_at) : 0;
    if (one.first == 0 || (next > 0 && next < one.first)) one.first = next;
    one.second = one.second || s.paused;
  }
  family next(to, "sluice_schedule_next_timestamp_seconds", "gauge", "When it runs next; 0: it is paused or cannot.");
  for (const auto& [name, one] : schedules)
    next.add({{"schedule", name}}, one.first);
  family paused(to, "sluice_schedule_paused", "gauge", "1 when it is paused.");
  for (const auto& [name, one] : schedules)
    paused.add({{"schedule", name}}, std::uint64_t{one.second});
}

void add_types(std::string& to, std::map<std::string, std::uint64_t>& overflow) {
  auto& counted = storage::numbers::here().types;
  const auto types = counted.all();
  if (counted.has_others()) ++overflow["sluice_type_ends_total"];
  family ended(to, "sluice_type_ends_total", "counter", "Runs of this process that ended, by type of job and by how.");
  for (const auto& [name, type] : types)
    for (std::size_t i = 0; i < storage::end_kinds.size(); ++i)
      if (storage::end_kinds[i] != run_end::given_back)
        ended.add({{"type", name}, {"outcome", std::string(name_of(storage::end_kinds[i]))}},
                  type->ended[i].load(std::memory_order_relaxed));
  family ran(to, "sluice_type_run_duration_seconds", "histogram", "How long handlers ran, by type of job.");
  for (const auto& [name, type] : types)
    ran.add({{"type", name}}, type->ran);
}

void add_counted(std::string& to, std::map<std::string, std::uint64_t>& overflow) {
  using storage::numbers;
  auto& all = numbers::here();
  const auto queues = all.queues.all();
  if (all.queues.has_others()) ++overflow["sluice_enqueued_total"];
  const auto load = [](const storage::tally& n) { return n.load(std::memory_order_relaxed); };
  family enqueued(to, "sluice_enqueued_total", "counter",
                  "Jobs that this process stored; what is stored again under its id counts again.");
  for (const auto& [name, q] : queues)
    enqueued.add({{"queue", name}}, load(q->enqueued));
  family started(to, "sluice_claimed_total", "counter",
                 "Jobs that this process claimed; one that a throttler parks is claimed again.");
  for (const auto& [name, q] : queues)
    started.add({{"queue", name}}, load(q->started));
  family ended(to, "sluice_ends_total", "counter", "Runs of this process that ended, by how.");
  for (const auto& [name, q] : queues)
    for (std::size_t i = 0; i < storage::end_kinds.size(); ++i)
      ended.add({{"queue", name}, {"outcome", std::string(name_of(storage::end_kinds[i]))}}, load(q->ended[i]));
  family ran(to, "sluice_run_duration_seconds", "histogram", "How long handlers ran.");
  for (const auto& [name, q] : queues)
    ran.add({{"queue", name}}, q->ran);
  add_types(to, overflow);
  family waited(to, "sluice_wait_duration_seconds", "histogram",
                "From ready to claimed; all of one claim count as its first.");
  for (const auto& [name, q] : queues)
    waited.add({{"queue", name}}, q->waited);
  family(to, "sluice_occurrence_delay_seconds", "histogram", "How late occurrences of schedules were enqueued.")
      .add({}, all.occurrence_delay);
  family(to, "sluice_leases_lost_total", "counter", "Runs that this process took from servers that were silent.")
      .add({}, load(all.leases_lost));
  family(to, "sluice_stale_fences_total", "counter", "Ends and renewals of runs that were no longer the server's.")
      .add({}, load(all.stale_fences));
  family parked(to, "sluice_parked_total", "counter",
                "Runs that a throttler did not let in, whose jobs wait in the store.");
  parked.add({{"kind", "permit"}}, load(all.parked_for_permits));
  parked.add({{"kind", "window"}}, load(all.parked_for_windows));
  family requests(to, "sluice_store_requests_total", "counter", "What this process asked of its stores.");
  for (const auto& [name, n] : all.requests())
    requests.add({{"request", std::string(name)}}, n);
  family errors(to, "sluice_store_errors_total", "counter", "Requests that were not carried out.");
  for (const auto& [code, n] : all.errors())
    errors.add({{"code", code}}, n);
  family(to, "sluice_store_commit_duration_seconds", "histogram", "How long commits took.").add({}, all.commits);
  family(to, "sluice_store_committed_requests_total", "counter", "Requests in these commits together.")
      .add({}, load(all.requests_in_commits));
}

void add_http(std::string& to, const board& on) {
  const auto seen = on.numbers.look();
  family answered(to, "sluice_http_requests_total", "counter", "Requests by route and status.");
  for (const auto& [of, n] : seen.answered)
    answered.add({{"route", of.first}, {"code", std::to_string(of.second)}}, n);
  family refused(to, "sluice_http_refused_total", "counter", "What could not be read as a request.");
  for (const auto& [reason, n] : seen.refused)
    refused.add({{"reason", reason}}, n);
  family(to, "sluice_http_request_duration_seconds", "histogram", "How long answers took.").add({}, on.numbers.took());
}

}  // namespace

std::string metrics_text(const board& on, const snapshot::known& known, duration scrape) {
  std::string to;
  to.reserve(256 * 1024);
  std::map<std::string, std::uint64_t> overflow;
  family(to, "sluice_build_info", "gauge", "The version of Sluice.")
      .add({{"version", SLUICE_VERSION}}, std::uint64_t{1});
  if (known) {
    const bool up = known->at && !known->away;
    family(to, "sluice_up", "gauge", "1 when the store answers.").add({}, std::uint64_t{up});
    if (up) add_store(to, on, *known, overflow);
  }
  add_counted(to, overflow);
  family(to, "sluice_store_waiting_requests", "gauge", "Requests that wait for the store.")
      .add({}, std::uint64_t{on.shared_store->waiting()});
  add_http(to, on);
  add_process(to);
  family lost(to, "sluice_label_overflow", "gauge", "How many objects are told as other, by metric.");
  for (const auto& [metric, n] : overflow)
    lost.add({{"metric", metric}}, n);
  family(to, "sluice_scrape_duration_seconds", "gauge", "How long this answer took to be made.")
      .add({}, seconds(scrape));
  return to;
}

http_response show_metrics(visit& v) {
  const auto began = std::chrono::steady_clock::now();
  const auto known = v.on.options.store_metrics ? v.on.known->look() : nullptr;
  http_response said;
  said.type = "text/plain; version=0.0.4; charset=utf-8";
  said.body = metrics_text(v.on, known, std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - began));
  return said;
}

}  // namespace sluice::web
