#include "storage/machine/records.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/codec.hpp"
#include "core/last_run.hpp"
#include "core/text.hpp"
#include "storage/messages.hpp"

namespace sluice::storage::machine {
namespace {

constexpr double millionths = 1e6;

// Reads from the front. After anything wrong `good` is false and all answers are empty.
class reader {
public:
  explicit reader(std::string_view text) : rest_(text) {}

  bool good() const { return good_; }
  bool finished() const { return good_ && rest_.empty(); }
  std::string_view rest() const { return rest_; }

  // Digits and the mark behind them.
  template <class T = std::uint64_t>
  T number(char mark = ' ') {
    T n{};
    const auto* end = rest_.data() + rest_.size();
    const auto read = std::from_chars(rest_.data(), end, n);
    if (read.ec != std::errc{} || read.ptr == end || *read.ptr != mark) {
      fail();
      return T{};
    }
    rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()) + 1);
    return n;
  }
  // Digits, and what stands behind them.
  template <class T>
  T last_number() {
    T n{};
    const auto* end = rest_.data() + rest_.size();
    const auto read = std::from_chars(rest_.data(), end, n);
    if (read.ec != std::errc{}) {
      fail();
      return T{};
    }
    rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()));
    return n;
  }
  void mark(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) fail();
    else rest_.remove_prefix(1);
  }
  std::string_view text() {
    const auto size = number<std::size_t>(':');
    if (size > rest_.size()) return fail();
    const auto t = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return t;
  }

private:
  std::string_view fail() {
    good_ = false;
    rest_ = {};
    return {};
  }

  std::string_view rest_;
  bool good_ = true;
};

watched_part read_watched(reader& in) {
  in.mark(' ');
  watched_part part;
  part.times = in.number();
  part.failed = in.number();
  part.total = duration(in.number<std::int64_t>());
  part.longest = duration(in.number<std::int64_t>());
  part.system = in.text();
  part.what = in.text();
  return part;
}

// The codes of an end that was settled.
void read_end(reader& in, run_record& run) {
  in.mark('|');
  const auto end = in.number<unsigned>();
  run.failure = in.number() != 0;
  run.throttler = in.text();
  const bool known =
      end >= static_cast<unsigned>(run_end::succeeded) && end <= static_cast<unsigned>(run_end::deferred);
  if (known) run.end = static_cast<run_end>(end);
}

// The resource, of which it may be a chain: "chain:FENCE:RESOURCE".
std::string read_permit(std::string_view name, std::uint64_t& chain) {
  constexpr std::string_view begins = "chain:";
  if (name.starts_with(begins)) {
    reader in(name.substr(begins.size()));
    chain = in.number(':');
    name = in.rest();
  }
  return std::string(name);
}

struct stored_history {
  std::uint32_t attempt = 0, losses = 0;
  std::uint32_t failures = 0;  // runs that failed, for the retry policy
  std::string reason, result;
  std::optional<progress_report> reported;
  std::vector<run_record> history;
};

std::optional<stored_history> read_history(std::string_view value) {
  stored_history p;
  if (value.empty()) return p;
  reader in(value);
  p.attempt = in.number<std::uint32_t>();
  p.losses = in.number<std::uint32_t>();
  in.number();  // the fence that was settled last is the rules' business
  p.failures = in.number<std::uint32_t>();
  const auto n = in.number<std::uint32_t>();
  p.reason = in.text();
  p.result = in.text();
  if (const auto said = in.text(); !said.empty()) {
    p.reported = read_report(said);
    if (!p.reported) return std::nullopt;
  }
  if (n > history_limit) return std::nullopt;
  for (std::uint32_t i = 0; i < n && in.good(); ++i) {
    reader row(in.text());
    run_record run;
    run.fence.value = row.number();
    run.attempt = row.number<std::uint32_t>();
    const auto claimed = row.number<std::int64_t>();
    const auto ended = row.number<std::int64_t>();
    run.server = row.text();
    run.cause = row.text();
    run.error = row.text();
    const auto waited = row.last_number<std::int64_t>();
    if (row.rest().starts_with('|')) read_end(row, run);
    while (row.good() && !row.finished())
      run.watched.push_back(read_watched(row));
    if (!row.good()) return std::nullopt;
    run.started = from_micros(claimed + std::min(waited, ended - claimed));
    run.ended = from_micros(ended);
    p.history.push_back(std::move(run));
  }
  if (!in.finished()) return std::nullopt;
  return p;
}

// Of a throttled job's admission: the fence of the run that was parked, and the resource that it waits for.
struct known_wait {
  std::uint64_t fence = 0;
  std::string resource;
};
std::optional<known_wait> read_wait(std::string_view admission) {
  reader in(admission);
  known_wait w;
  in.number();  // its place in the line
  in.number();  // failed wake-ups
  w.fence = in.number();
  in.number();  // permits that it has
  in.number();  // slots
  w.resource = in.text();
  return in.good() ? std::optional(std::move(w)) : std::nullopt;
}

}  // namespace

std::optional<job_state> state_of(std::string_view kind) {
  if (kind == "ready" || kind == "front" || kind == "suspect" || kind.starts_with("type:")) return job_state::enqueued;
  return parse_job_state(std::string(kind));
}

std::string counted(std::string_view text) { return std::to_string(text.size()).append(":").append(text); }

std::string write_ended(std::string_view cause, std::string_view error, duration waited) {
  return counted(cause).append(counted(error)).append(std::to_string(std::max<std::int64_t>(0, waited.count())));
}

std::string write_ended(const settlement& end) {
  const bool succeeded = end.end == run_end::succeeded;  // then the text is the result
  auto row = write_ended(end.cause, succeeded ? std::string_view() : end.text, end.waited);
  row += cat('|', static_cast<unsigned>(end.end), ' ', end.failure ? 1 : 0, ' ', counted(end.throttler));
  for (const auto& part : end.watched)
    row += cat(' ', part.times, ' ', part.failed, ' ', part.total.count(), ' ', part.longest.count(), ' ',
               counted(part.system), counted(part.what));
  return row;
}

std::string write_report(const progress_report& said) {
  return std::to_string(std::llround(said.done * millionths)).append(" ").append(said.text);
}

std::optional<progress_report> read_report(std::string_view text) {
  reader in(text);
  progress_report report;
  report.done = static_cast<double>(in.number()) / millionths;
  report.text = in.rest();
  return in.good() ? std::optional(std::move(report)) : std::nullopt;
}

job_values job_values_at(const item& reply, std::size_t from) {
  return {reply[from].text(),     reply[from + 1].text(), reply[from + 2].text(),
          reply[from + 3].text(), reply[from + 4].text(), reply[from + 5].text()};
}

std::optional<stored_run> read_run(std::string_view row) {
  reader in(row);
  stored_run s;
  s.fence = in.number();
  s.attempt = in.number<std::uint32_t>();
  in.number();  // whether there is a history
  s.started = in.number<std::int64_t>();
  s.lease = in.number<std::int64_t>();
  s.renewals = in.number();
  in.number();  // op
  in.text();    // queue
  reader inline_permits(in.text());
  while (inline_permits.good() && !inline_permits.finished())
    s.inline_permits.push_back(read_permit(inline_permits.text(), s.chain));
  s.server = in.rest();
  return in.good() && inline_permits.good() ? std::optional(std::move(s)) : std::nullopt;
}

quarantined_record read_quarantined(const job_id& id, std::string_view bytes) {
  quarantined_record q;
  q.id = id;
  reader in(bytes);
  q.record = in.text();
  q.history = in.text();
  q.run = in.text();
  if (!in.finished()) {
    q.record = bytes;
    q.history.clear();
    q.run.clear();
  }
  q.readable = in.finished() && decode_content(id, q.record).has_value();
  const auto add = [&](bool fine, std::string_view what) {
    if (!fine) q.wrong += cat(q.wrong.empty() ? "" : "; ", what);
  };
  add(in.finished(), "what is kept of it has lost its form");
  if (q.record.empty()) add(false, "its record is lost");
  else add(q.readable, "its record has another form or another checksum than Sluice wrote");
  add(read_history(q.history).has_value(), "its history has lost its form");
  add(q.run.empty() || read_run(q.run), "its run has lost its form");
  if (q.wrong.empty()) q.wrong = "nothing: all of it can be read by now";
  return q;
}

std::map<std::size_t, std::vector<std::string>> read_admitted(std::string_view told) {
  std::map<std::size_t, std::vector<std::string>> all;
  reader in(told);
  while (in.good() && !in.finished()) {
    auto& has = all[in.number<std::size_t>()];
    for (auto n = in.number<std::size_t>(); n > 0 && in.good(); --n)
      has.emplace_back(in.text());
  }
  return all;
}

std::vector<std::string> permits_of(const stored_job& known, std::string_view admission) {
  auto all = known.inline_permits;
  reader in(admission);
  in.number();  // its place in the line
  in.number();  // failed wake-ups
  in.number();  // the fence
  auto has = in.number();
  in.number();  // slots
  in.text();    // what it waits for
  for (; has > 0 && in.good(); --has)
    if (const auto resource = in.text(); in.good()) all.emplace_back(resource);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

namespace {

std::optional<stored_job> read_job(const job_values& told, std::optional<job_content> content) {
  const job_id id{std::string(told.id)};
  auto history = read_history(told.history);
  const auto state = state_of(told.kind);
  if (!content || !history || !state) return std::nullopt;
  std::int64_t score = 0;
  std::from_chars(told.score.data(), told.score.data() + told.score.size(), score);

  stored_job known;
  known.failures = history->failures;
  auto& about = known.about;
  about.id = id;
  about.type = std::move(content->type);
  about.queue = std::move(content->queue);
  about.args = std::move(content->args);
  about.headers = std::move(content->headers);
  about.retry = content->retry;
  about.timeout = content->timeout;
  about.created_at = content->created_at;
  about.state = *state;
  about.attempt = history->attempt;
  about.losses = history->losses;
  about.reason = std::move(history->reason);
  about.result = std::move(history->result);
  about.progress = std::move(history->reported);
  about.history = std::move(history->history);
  if (const auto* last = last_run(about)) about.fence = last->fence;
  if (*state == job_state::scheduled) about.due_at = from_micros(score);
  if (is_final(*state)) about.finished_at = from_micros(score);
  if (*state == job_state::processing) {
    auto run = read_run(told.run);
    if (!run) return std::nullopt;
    about.fence.value = run->fence;
    about.attempt = run->attempt;
    about.started_at = from_micros(run->started);
    about.lease_until = from_micros(score);
    about.server = std::move(run->server);
    known.inline_permits = std::move(run->inline_permits);
    known.chain.value = run->chain;
  }
  if (*state == job_state::throttled) {
    if (auto wait = read_wait(told.run)) {
      about.fence.value = wait->fence;
      about.line = std::move(wait->resource);
      about.reason = messages::waits_for(about.line);
    }
  }
  if (*state == job_state::enqueued && told.kind != "ready") {
    about.line = told.kind;
    if (told.kind.starts_with("type:")) about.reason = messages::type_unknown(about.type);
  }
  return known;
}

}  // namespace

std::optional<stored_job> read_job(const job_values& told) {
  return read_job(told, decode_content(job_id(std::string(told.id)), told.record));
}

std::optional<stored_job> read_job_with_first_args(const job_values& told) {
  return read_job(told, decode_unsealed(job_id(std::string(told.id)), told.record));
}

}  // namespace sluice::storage::machine
