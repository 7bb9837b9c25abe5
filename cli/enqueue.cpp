// Stores jobs: one, or one for each line.
#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>

#include <sluice/exec_key.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/words.hpp"
#include "core/clock.hpp"
#include "core/enqueue_words.hpp"
#include "core/instant.hpp"
#include "core/text.hpp"
#include "throttling/explain.hpp"
#include "wire/json.hpp"
#include "wire/new_job.hpp"
#include "wire/overview.hpp"
#include "wire/query_words.hpp"

namespace sluice::cli {
namespace {

constexpr std::size_t jobs_at_once = 200;

error wrong(std::string why) { return {errc::invalid_argument, std::move(why)}; }

result<duration> delay_of(const command& c) {
  if (!c.at.empty()) {
    const auto at = parse_time(c.at);
    if (parse_duration(c.at)) return wrong(cat("--at takes an instant; a time from now is --in ", c.at));
    if (!at) return wrong(cat("--at ", no_instant(c.at)));
    return std::max(duration(0), *at - system_clock().now());
  }
  if (c.in.empty()) return duration(0);
  const auto in = parse_duration(c.in);
  if (parse_time(c.in)) return wrong(cat("--in takes a time from now; an instant is --at ", c.in));
  if (!in) return wrong(cat("--in ", no_time(c.in, ranges::enqueue_delay)));
  return *in;
}

// A time that an option says, if it was given.
result<void> read_time_of(const char* option, const std::string& text, ranges::range<duration> allowed,
                          std::optional<duration>& into) {
  if (text.empty()) return {};
  into = parse_duration(text);
  return into && allowed.contains(*into) ? result<void>() : wrong(cat(option, " ", no_time(text, allowed)));
}

// A word that an option says, if it was given; which there are is checked by then.
template <class Table, class Value>
void read_word(const Table& table, const std::string& said, Value& into) {
  into = value_of(table, said).value_or(into);
}

// Words about parents, without any.
bool lacks_parents(const command& c) {
  const bool says = !c.on.empty() || !c.unless.empty() || !c.missing.empty() || c.said.after.need > 0;
  return says && c.parents.empty() && c.after_groups.empty();
}

result<std::optional<unique_rule>> unique_of(const command& c) {
  if (!c.unique_by) return std::optional<unique_rule>();
  unique_rule rule;
  rule.by = *c.unique_by;
  rule.per_queue = c.unique_per_queue;
  read_word(enqueue_words::then, c.when_taken, rule.then);
  if (!c.unique_until.empty() && !enqueue_words::read_until(c.unique_until, rule))
    return wire::bad_word("--until", "end, start, or a time of 1ms to 3650d with its unit, as 10m", c.unique_until);
  std::optional<duration> at_most;
  if (auto fine = read_time_of("--at-most", c.at_most, ranges::enqueue_delay, at_most); !fine) return fine.error();
  rule.at_most = at_most.value_or(duration(0));
  return std::optional(std::move(rule));
}

run_after parents_of(const command& c) {
  auto after = c.said.after;
  for (const auto& id : c.parents)
    after.parents.emplace_back(id);
  for (const auto& name : c.after_groups)
    after.groups.emplace_back(name);
  unsigned on = 0;
  for (const auto& end : c.on)
    on |= static_cast<unsigned>(value_of(enqueue_words::on, end).value_or(parent_end::succeeded));
  if (on != 0) after.on = static_cast<parent_end>(on);
  read_word(enqueue_words::unless, c.unless, after.unless);
  read_word(enqueue_words::if_missing, c.missing, after.missing);
  return after;
}

result<new_job> job_of(const command& c) {
  auto job = c.said;
  job.queue = queue_name(c.queue == "-" ? "" : c.queue);
  job.type = job_type(c.type);
  job.id = job_id(c.id);
  const auto delay = delay_of(c);
  if (!delay) return delay.error();
  job.delay = *delay;
  auto headers = headers_of(c);
  if (!headers) return headers.error();
  job.headers = std::move(*headers);
  if (lacks_parents(c))
    return error{errc::invalid_argument,
                 "--on, --need, --unless and --if-missing are about parents: name them by --after or --after-group"};
  job.after = parents_of(c);
  auto unique = unique_of(c);
  if (!unique) return unique.error();
  job.unique = std::move(*unique);
  for (const auto& fine : {read_time_of("--timeout", c.timeout, ranges::timeout, job.timeout),
                           read_time_of("--start-within", c.start_within, ranges::start_within, job.start_within),
                           read_time_of("--finish-within", c.finish_within, ranges::start_within, job.finish_within)})
    if (!fine) return fine.error();
  return job;
}

int told(const result<enqueue_report>& stored, const command& c) {
  if (!stored) {
    const bool lost_quotes =
        (c.args.starts_with('{') || c.args.starts_with('[')) && c.args.find('"') == std::string::npos;
    auto why = stored.error();
    if (lost_quotes && why.code == errc::invalid_argument && !check_json(c.args, max_json_depth))
      why.message += "; a shell keeps the double quotes of JSON between single ones: '{\"name\": \"Ada\"}'";
    return failed(why);
  }
  if (stored->what == enqueue_result::duplicate)
    note(cat("job ", printable(stored->id.value, 200), " has its unique key and stands for it",
             stored->is_kept ? "" : ", though it is not kept any more", "; nothing was stored"));
  if (stored->what == enqueue_result::extended)
    note(cat("job ", printable(stored->id.value, 200),
             " has its unique key and stands for it: that one was given this delay, from now on, and none was stored"));
  if (stored->what == enqueue_result::replaced)
    note(cat("job ", printable(stored->replaced.value, 200), " was deleted: this one takes its place"));
  print_line(c.json ? wire::json_of(*stored) : stored->id.value);
  return 0;
}

bool is_stored(const result<enqueue_report>& said) {
  return said && (said->what == enqueue_result::stored || said->what == enqueue_result::replaced);
}

// None when the store does not tell: what was enqueued is stored nevertheless.
std::vector<server_info> live_servers(client& store) {
  auto servers = store.servers();
  if (!servers) return {};
  const auto lives = system_clock().now() - wire::silent_after;
  std::erase_if(*servers, [&](const server_info& s) { return s.heartbeat_at < lives; });
  return std::move(*servers);
}

void note_filters(const std::vector<server_info>& live) {
  std::string first;
  std::size_t others = 0;
  for (const auto& s : live) {
    if (!s.has_filters) continue;
    if (first.empty()) first = printable(s.name, 200);
    else ++others;
  }
  if (first.empty()) return;
  note(cat("server ", first, others == 0 ? " has" : cat(" and ", others, " more have"),
           " filters, whose on_enqueue is not called for what is enqueued here"));
}

// Names and patterns.
std::vector<std::string> queues_of(const std::vector<server_info>& servers) {
  std::vector<std::string> names;
  for (const auto& s : servers)
    for (const auto& queue : s.queues)  // "name:workers"
      names.push_back(queue.substr(0, queue.rfind(':')));
  return names;
}

// As far as servers tell their types: those built in, and those that they have handlers of.
bool is_known_type(const std::string& name, const std::vector<server_info>& servers) {
  if (name == "noop" || name == exec_job_type) return true;
  return std::any_of(servers.begin(), servers.end(), [&](const server_info& s) {
    return std::find(s.types.begin(), s.types.end(), job_type(name)) != s.types.end();
  });
}

// Before any server runs a queue has none, and that is as it should be.
void note_unserved(const command& c, const std::vector<server_info>& live) {
  const auto tells_nothing = [](const server_info& s) { return s.queues.empty(); };  // it has just begun
  if (live.empty() || c.queue == "-" || std::any_of(live.begin(), live.end(), tells_nothing)) return;
  auto queues = queues_of(live);
  const auto is_named = [&](const std::string& name) {
    return std::find(queues.begin(), queues.end(), name) != queues.end();
  };
  if (is_named(c.type) && !is_named(c.queue) && is_known_type(c.queue, live))
    return note(cat("the queue comes first: did you mean `sluice enqueue ", c.type, " ", c.queue, "`?"));
  if (std::any_of(queues.begin(), queues.end(), [&](const auto& one) { return matches(one, c.queue); })) return;
  std::erase_if(queues, [](const auto& one) { return one.find('*') != std::string::npos; });
  note(cat("no live server serves queue ", c.queue, did_you_mean(c.queue, queues)));
}

void note_unhandled(const job_type& type, const queue_name& queue, const std::vector<server_info>& live) {
  if (const auto lacks = throttling::lacks_handler(type, queue, live))
    note(cat("no live server", queue.empty() ? "" : cat(" of queue ", queue.value), " handles type ", type.value,
             " now: its jobs wait until one does", *lacks));
}

// Once jobs were stored: what servers tell of them, asked once.
void note_servers(client& store, const command& c) {
  const auto live = live_servers(store);
  note_unserved(c, live);
  note_unhandled(job_type(c.type), queue_name(c.queue == "-" ? "" : c.queue), live);
  note_filters(live);
}

// The next line that is not blank, by whatever editor it was written. `number` is that of the line before.
bool next_line(std::istream& lines, std::string& line, std::uint64_t& number) {
  while (std::getline(lines, line)) {
    if (++number == 1) line.erase(0, line.size() - without_bom(line).size());
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") != std::string::npos) return true;
  }
  return false;
}

// Each line is the arguments of one job. With an id, each has its line's number behind it, so that the same lines
// again are the same jobs.
int enqueue_lines(client& store, const command& c, const new_job& like, std::istream& lines) {
  int code = 0;
  bool any_stored = false;
  std::vector<new_job> some;
  std::vector<std::uint64_t> numbers;
  const auto send = [&] {
    if (const auto delay = delay_of(c))  // until an instant it is less by now
      for (auto& job : some)
        job.delay = *delay;
    const auto each = store.enqueue_reporting(std::exchange(some, {}));
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (!each[i]) note(cat("line ", numbers[i], ":"));
      any_stored = any_stored || is_stored(each[i]);
      code = std::max(code, told(each[i], c));
    }
    numbers.clear();
  };
  std::uint64_t number = 0;
  for (std::string line; next_line(lines, line, number);) {
    numbers.push_back(number);
    some.push_back(like);
    some.back().args = std::move(line);
    if (!c.id.empty()) some.back().id.value += cat(":", number);
    if (some.size() == jobs_at_once) send();
  }
  send();
  if (any_stored) note_servers(store, c);
  return lines.bad() ? failed({errc::io_error, cat("cannot read on after line ", number)}) : code;
}

}  // namespace

int enqueue(client& store, const command& c) {
  auto job = job_of(c);
  if (!job) return usage_error(job.error().message);
  std::istringstream file;
  const bool from_file = c.args.starts_with('@');
  if (from_file) {
    auto text = read_file(c.args.substr(1));
    if (!text) return failed(text.error());
    file.str(std::move(*text));
  }
  auto& in = from_file ? static_cast<std::istream&>(file) : std::cin;
  const bool is_source = from_file || c.args == "-";
  if (c.bulk && !is_source) return usage_error("--bulk reads lines: in place of JSON give - or @FILE");
  if (c.bulk) return enqueue_lines(store, c, *job, in);
  job->args = is_source ? std::string(std::istreambuf_iterator<char>(in), {}) : c.args;
  if (is_source && job->args.ends_with('\n'))
    job->args.resize(job->args.size() - (job->args.ends_with("\r\n") ? 2 : 1));
  std::vector<new_job> one;
  one.push_back(std::move(*job));
  const auto stored = store.enqueue_reporting(std::move(one)).front();
  const int code = told(stored, c);
  if (is_stored(stored)) note_servers(store, c);
  return code;
}

void note_uncalled_filters(client& store) { note_filters(live_servers(store)); }
void note_unhandled_type(client& store, const job_type& type, const queue_name& queue) {
  note_unhandled(type, queue, live_servers(store));
}

int enqueue_all(client& store, const command& c) {
  auto text = c.args == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : read_file(c.args);
  if (!text) return failed(text.error());
  std::istringstream lines(std::move(*text));
  std::vector<new_job> jobs;
  std::uint64_t number = 0;
  bool is_fine = true;
  for (std::string line; next_line(lines, line, number);) {
    wire::body_reader body(std::move(line));
    jobs.push_back(wire::read_new_job(body));
    for (const auto& fault : body.faults()) {
      note(cat("line ", number, ": ", fault.pointer, fault.pointer.empty() ? "" : ": ", fault.problem));
      is_fine = false;
    }
  }
  if (!is_fine) return failed({errc::invalid_argument, "none of these was stored"});
  std::set<std::pair<queue_name, job_type>> kinds;
  for (const auto& job : jobs)
    kinds.emplace(job.queue, job.type);
  const auto ids = store.enqueue_all(std::move(jobs));
  if (!ids) return failed(ids.error());
  for (const auto& id : *ids)
    print_line(c.json ? wire::json_of(id) : id.value);
  const auto live = live_servers(store);
  for (const auto& [queue, type] : kinds)
    note_unhandled(type, queue, live);
  note_filters(live);
  return 0;
}

}  // namespace sluice::cli
