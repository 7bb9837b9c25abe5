// Stores jobs: one, or one for each line.
#include <algorithm>
#include <iostream>
#include <sstream>

#include <sluice/exec_key.hpp>

#include "cli/commands.hpp"
#include "cli/exec/exec_handler.hpp"
#include "cli/output.hpp"
#include "cli/server_notes.hpp"
#include "cli/words.hpp"
#include "core/clock.hpp"
#include "core/enqueue_words.hpp"
#include "core/instant.hpp"
#include "core/pipeline.hpp"
#include "core/text.hpp"
#include "wire/json.hpp"
#include "wire/new_job.hpp"
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

// What is said of a job and has no effect, as of types and queues in a configuration.
void note_no_effect(const command& c, const new_job& job) {
  const auto at = parse_time(c.at);
  if (at && *at < system_clock().now() - std::chrono::seconds(2))
    note(cat("--at ", c.at, " has passed: the job is due at once"));
  if (job.start_within == duration(0)) note("--start-within 0s: the job is deleted unless a worker has it at once");
  if (const auto& within = job.finish_within) {
    if (*within == duration(0)) return note("--finish-within 0s: the job fails at once, and never runs");
    if (job.start_within > within) note("--start-within has no effect: --finish-within is over before");
    if (job.timeout > within) note("--timeout has no effect: --finish-within is over before");
  }
  if (job.after.on != parent_end::finished) return;
  if (std::find(c.on.begin(), c.on.end(), "finished") != c.on.end() && c.on.size() > 1)
    note("--on finished is any end: the others beside it have no effect");
  if (!c.unless.empty() && job.after.missing != when_missing::unmet)
    note("--unless has no effect: each parent ends as --on finished wants it");
}

// The delay until --at was counted by this machine's clock, and is from then on by the store's.
void note_other_time(client& store, const command& c, const enqueue_report& stored) {
  const auto at = parse_time(c.at);
  if (!at || (!is_stored(stored) && stored.what != enqueue_result::same)) return;
  const auto kept = store.get(stored.id);
  if (!kept || !kept->due_at || std::chrono::abs(*kept->due_at - *at) < std::chrono::seconds(5)) return;
  note(cat("the job is due at ", format_time(*kept->due_at), " and not as --at says: ",
           is_stored(stored) ? "the store's clock is not this machine's, or it took long to answer"
                             : "it was stored before"));
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
  std::uint64_t stored = 0;
  std::vector<new_job> some;
  std::vector<std::uint64_t> numbers;
  const auto send = [&] {
    if (const auto delay = delay_of(c))  // until an instant it is less by now
      for (auto& job : some)
        job.delay = *delay;
    const auto each = store.enqueue_reporting(std::exchange(some, {}));
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (!each[i]) note(cat("line ", numbers[i], ":"));
      stored += is_stored(each[i]) ? 1 : 0;
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
  if (stored > 0) note_servers(store, {{{c.queue, c.type}, stored}});
  return lines.bad() ? failed({errc::io_error, cat("cannot read on after line ", number)}) : code;
}

}  // namespace

int enqueue(client& store, const command& c) {
  auto job = job_of(c);
  if (!job) return usage_error(job.error().message);
  if (const auto fine = check_key(c, c.type == exec_job_type); !fine) return failed(fine.error());
  note_no_effect(c, *job);
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
  const auto exec_fault = c.type == exec_job_type ? exec::fault_of_args(job->args) : std::string();
  std::vector<new_job> one;
  one.push_back(std::move(*job));
  const auto stored = store.enqueue_reporting(std::move(one)).front();
  const int code = told(stored, c);
  if (is_stored(stored) && !exec_fault.empty()) note(cat("the job will fail: ", exec_fault));
  if (is_stored(stored)) note_servers(store, {{{c.queue, c.type}, 1}});
  if (stored) note_other_time(store, c, *stored);
  return code;
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
  stored_kinds stored;
  bool any_exec = false;
  for (const auto& job : jobs) {
    ++stored[{job.queue.value, job.type.value}];
    any_exec = any_exec || job.type.value == exec_job_type;
  }
  if (const auto fine = check_key(c, any_exec); !fine) return failed(fine.error());
  const auto ids = store.enqueue_all(std::move(jobs));
  if (!ids) return failed(ids.error());
  for (const auto& id : *ids)
    print_line(c.json ? wire::json_of(id) : id.value);
  note_servers(store, stored);
  return 0;
}

}  // namespace sluice::cli
