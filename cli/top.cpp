// `sluice top`: how everything stands, what is wrong first; drawn anew each second on a terminal, told once elsewhere.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <thread>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/words.hpp"
#include "client/asking.hpp"
#include "client/snapshot.hpp"
#include "core/clock.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "wire/json.hpp"
#include "wire/overview.hpp"

namespace sluice::cli {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto between_looks = 1s;
constexpr std::size_t max_troubles = 8;
constexpr std::size_t max_queues = 30;
constexpr std::size_t max_throttlers = 10;
constexpr std::size_t max_types = 40;
constexpr duration answer_timeout = 1s;
// Types are read from jobs one by one, so less often, and of so many pages of 200 at most.
constexpr auto between_looks_at_types = 5s;
constexpr unsigned max_pages = 5;
constexpr duration of_late = 1h;

// How many jobs came to an end in each queue, and when that was looked at.
struct ends_seen {
  std::map<std::string, std::uint64_t> ended;
  steady_clock::time_point at{};
};

// Those with the most to do first.
std::vector<queue_counts> busiest(const wire::known_store& known) {
  auto queues = known.queues;
  const auto work = [](const queue_counts& q) { return q.processing + q.enqueued + q.throttled; };
  std::stable_sort(queues.begin(), queues.end(), [&](const auto& a, const auto& b) { return work(a) > work(b); });
  if (queues.size() > max_queues) queues.resize(max_queues);
  return queues;
}

// Nothing when the store does not tell.
std::optional<ends_seen> check_ends(storage::shared_store& store, const std::vector<queue_counts>& queues) {
  ends_seen seen;
  const auto later = system_clock().now() + 24h;  // those since ever alone
  storage::shared_store::requests all;
  for (const auto& queue : queues)
    all.push_back(storage::totals_request{{queue.queue, totals_step::hour, later, {}}});
  if (!all.empty()) {
    const auto answers = ask(store, all, answer_timeout);
    for (std::size_t i = 0; i < queues.size(); ++i) {
      const auto* totals = std::get_if<storage::totals_answer>(&answers[i]);
      if (!totals) return std::nullopt;
      const auto& ever = totals->report.ever;
      seen.ended[queues[i].queue.value] = ever.succeeded + ever.failed + ever.deleted;
    }
  }
  seen.at = steady_clock::now();
  return seen;
}

// Tenths a second. Nothing where one look lacks, or totals began anew between the two.
std::optional<std::uint64_t> rate_of(const std::string& queue, const std::optional<ends_seen>& now,
                                     const std::optional<ends_seen>& before) {
  if (!now || !before || !before->ended.contains(queue) || !now->ended.contains(queue)) return std::nullopt;
  const std::chrono::duration<double> passed = now->at - before->at;
  const auto then = before->ended.at(queue), ended = now->ended.at(queue);
  if (passed.count() <= 0 || ended < then) return std::nullopt;
  return static_cast<std::uint64_t>(10 * static_cast<double>(ended - then) / passed.count());
}

// What jobs themselves tell of their types: the store keeps no totals of these.
struct type_line {
  std::string type;
  std::uint64_t running = 0, failed_last_hour = 0;
  std::optional<time_point> running_since{};  // the first of them
};
struct types_seen {
  std::vector<type_line> types;  // those with the most of both first
  bool cut = false;              // there were more jobs than it reads
};
void show(auto& v, const type_line& t) {
  v("type", t.type)("running", t.running)("running_since", t.running_since)("failed_last_hour", t.failed_last_hour);
}

std::vector<type_line> busiest(const std::map<std::string, type_line>& by_type) {
  std::vector<type_line> types;
  for (const auto& [name, line] : by_type)
    types.push_back(line);
  const auto jobs = [](const type_line& t) { return t.running + t.failed_last_hour; };
  std::stable_sort(types.begin(), types.end(), [&](const auto& a, const auto& b) { return jobs(a) > jobs(b); });
  if (types.size() <= max_types) return types;
  type_line other{"other"};
  for (auto one = types.begin() + max_types; one != types.end(); ++one) {
    other.running += one->running;
    other.failed_last_hour += one->failed_last_hour;
    if (!other.running_since || (one->running_since && *one->running_since < *other.running_since))
      other.running_since = one->running_since;
  }
  types.resize(max_types);
  types.push_back(std::move(other));
  return types;
}

// Nothing when the store does not tell.
std::optional<types_seen> check_types(storage::shared_store& store, time_point now) {
  types_seen seen;
  std::map<std::string, type_line> by_type;
  const auto read = [&](job_query wanted, const std::function<void(type_line&, const job&)>& note) {
    wanted.limit = storage::largest_page;
    wanted.with_args = false;
    for (unsigned pages = 0; pages < max_pages; ++pages) {
      const auto told = ask_for<storage::list_answer>(store, storage::list_request{wanted}, answer_timeout);
      if (!told) return false;
      for (const auto& job : told->page.jobs) {
        auto& line = by_type[job.type.value];
        line.type = job.type.value;
        note(line, job);
      }
      wanted.after = told->page.next;
      if (wanted.after.empty()) return true;
    }
    return seen.cut = true;
  };
  job_query running, failed;
  running.state = job_state::processing;
  failed.state = job_state::failed;
  failed.from = now - of_late;
  const bool is_told = read(running,
                            [](type_line& line, const job& j) {
                              ++line.running;
                              if (j.started_at && (!line.running_since || *j.started_at < *line.running_since))
                                line.running_since = j.started_at;
                            }) &&
                       read(failed, [](type_line& line, const job&) { ++line.failed_last_hour; });
  if (!is_told) return std::nullopt;
  seen.types = busiest(by_type);
  return seen;
}

// The overview of the API, and its objects of each queue and throttler; of a queue with what this program knows beside.
struct queue_line {
  queue_counts queue;
  std::uint64_t workers = 0;
  std::optional<double> ended_a_second{};
};
struct whole_page {
  wire::overview overview;
  std::vector<queue_line> queues;
  std::vector<throttler_status> throttlers;
  std::optional<std::vector<type_line>> types{};
  bool types_cut = false;
};
void show(auto& v, const queue_line& q) {
  describe(v, q.queue);
  v("workers", q.workers)("ended_a_second", q.ended_a_second);
}
void show(auto& v, const whole_page& p) {
  v("overview", p.overview)("queues", p.queues)("throttlers", p.throttlers);
  v("types", p.types)("types_cut", p.types_cut);
}

std::string json_of(const wire::known_store& known, const std::optional<ends_seen>& now,
                    const std::optional<ends_seen>& before, const std::optional<types_seen>& types) {
  const auto workers = wire::workers_of(known);
  whole_page page{wire::overview_of(known), {}, known.throttlers};
  for (const auto& q : known.queues) {
    const auto of_it = workers.find(q.queue.value);
    const auto tenths = rate_of(q.queue.value, now, before);
    page.queues.push_back({q, of_it == workers.end() ? 0 : of_it->second,
                           tenths ? std::optional(static_cast<double>(*tenths) / 10) : std::nullopt});
  }
  if (types) {
    page.types = types->types;
    page.types_cut = types->cut;
  }
  return wire::json_of(page);
}

// A line that says what to type next, where that is not plain; else nothing.
std::string command_for(const wire::trouble& t, const wire::known_store& known, const command& c) {
  const auto unknown = std::find_if(known.unknown.begin(), known.unknown.end(),
                                    [&](const auto& one) { return one.queue.value == t.about; });
  if (t.kind != "unknown_type" || unknown == known.unknown.end() || unknown->most.empty()) return {};
  const auto& type = unknown->most.front().first.value;
  std::vector<std::string> words{"sluice", "jobs", "--state", "enqueued", "--queue", t.about, "--type", type};
  for (auto at = c.typed.begin(); at != c.typed.end(); ++at) {
    if (!at->starts_with("--store")) continue;
    words.push_back(*at);
    if (*at == "--store" && at + 1 != c.typed.end()) words.push_back(*++at);
  }
  return cat("  ", printable(log::redact(shell_line(words))), "  (lists those of type ", printable(type, 200), ")\n");
}

std::string types_text(const types_seen& seen) {
  if (seen.types.empty()) return {};
  table types({"TYPE", "RUNNING", "LONGEST FOR", "FAILED IN 1 H"});
  for (const auto& t : seen.types)
    types.add({printable(t.type, 40), std::to_string(t.running), t.running_since ? ago(*t.running_since) : "-",
               std::to_string(t.failed_last_hour)});
  return cat('\n', types.text(), seen.cut ? "and more jobs, whose types were not looked at\n" : "");
}

std::string page_of(const command& c, const wire::known_store& known, const std::vector<queue_counts>& busy,
                    const std::optional<ends_seen>& now, const std::optional<ends_seen>& before,
                    const std::optional<types_seen>& types) {
  const auto number_of = [](std::size_t n, std::string_view what) { return cat(n, ' ', what, n == 1 ? "" : "s"); };
  std::string out =
      cat(known.at ? format_time(*known.at) : "", "  ", number_of(known.queues.size(), "queue"), ", ",
          number_of(known.servers.size(), "server"), ", ", number_of(known.schedules.size(), "schedule"), '\n');
  const auto troubles = wire::troubles_of(known);
  for (std::size_t i = 0; i < std::min(troubles.size(), max_troubles); ++i)
    out += cat("! ", printable(troubles[i].text, 300), '\n', command_for(troubles[i], known, c));
  if (troubles.size() > max_troubles) out += cat("! and ", troubles.size() - max_troubles, " more\n");
  if (troubles.empty()) out += "all is well\n";

  const auto workers = wire::workers_of(known);
  table queues({"QUEUE", "READY", "SCHEDULED", "THROTTLED", "RUNNING", "WORKERS", "FAILED", "ENDED/S"});
  for (const auto& q : busy) {
    const auto of_it = workers.find(q.queue.value);
    const auto rate = rate_of(q.queue.value, now, before);
    queues.add({cat(printable(q.queue.value, 40), q.paused ? " (paused)" : ""), std::to_string(q.enqueued),
                std::to_string(q.scheduled), std::to_string(q.throttled), std::to_string(q.processing),
                std::to_string(of_it == workers.end() ? 0 : of_it->second), std::to_string(q.failed),
                rate ? std::to_string(*rate / 10) : "-"});
  }
  out += '\n' + queues.text();
  if (busy.size() < known.queues.size()) out += cat("and ", known.queues.size() - busy.size(), " more\n");

  table throttlers({"THROTTLER", "LIMIT", "HELD", "WAITING"});
  std::size_t shown = 0;
  for (const auto& t : known.throttlers)
    if ((t.held > 0 || t.waiting > 0) && ++shown <= max_throttlers)
      throttlers.add({printable(t.resource, 60), t.limit ? std::to_string(*t.limit) : "-", std::to_string(t.held),
                      std::to_string(t.waiting)});
  if (shown > 0) out += '\n' + throttlers.text();
  if (shown > max_throttlers) out += cat("and ", shown - max_throttlers, " more\n");
  if (types) out += types_text(*types);
  return out;
}

// As much as the terminal has room for, from its first line.
void draw(const std::string& page) {
  winsize size{};
  const bool has_size = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1;
  std::istringstream lines(page);
  std::string out = "\x1b[H\x1b[2J";
  int row = 0;
  for (std::string line; std::getline(lines, line) && (!has_size || ++row < size.ws_row);)
    out += cat(has_size ? std::string_view(line).substr(0, size.ws_col) : std::string_view(line), '\n');
  print(out);
  std::fflush(stdout);
}

}  // namespace

int show_top(const command& c) {
  auto shared_store = storage::open_shared_store(c.store, nullptr, mode_of(c));
  if (!shared_store) return failed(shared_store.error());
  snapshot looks(*shared_store);
  const bool is_live = ::isatty(STDOUT_FILENO) && !c.json && !c.once;
  struct sigaction stop {};
  stop.sa_handler = [](int) { ::_exit(0); };  // it has only looked, and may be waiting for a store that is away
  if (is_live) ::sigaction(SIGINT, &stop, nullptr);
  std::optional<ends_seen> before;
  std::optional<types_seen> types;
  steady_point next_look_at_types{};
  for (bool is_first = true;; is_first = false) {
    const auto known = looks.look();
    if (!known->at && !c.json)
      return failed(known->away.value_or(error{errc::storage_unavailable, "the store does not answer"}));
    const auto busy = busiest(*known);
    auto now = known->away ? std::nullopt : check_ends(**shared_store, busy);
    const bool is_told = is_live || !is_first || !now;  // a rate needs two looks
    if (known->away) types.reset();
    else if (is_told && steady_clock::now() >= next_look_at_types) {
      types = check_types(**shared_store, known->at.value_or(system_clock().now()));
      next_look_at_types = steady_clock::now() + between_looks_at_types;
    }
    if (is_live) {
      draw(page_of(c, *known, busy, now, before, types));
    } else if (is_told) {
      print(c.json ? json_of(*known, now, before, types) + '\n' : page_of(c, *known, busy, now, before, types));
      return known->away || !known->at ? 1 : 0;
    }
    if (now) before = std::move(now);
    std::this_thread::sleep_for(between_looks);
  }
}

}  // namespace sluice::cli
