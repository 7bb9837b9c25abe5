#include "core/codec.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/clock.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"

namespace sluice {
namespace {

constexpr char content_version = 1;
constexpr char progress_version = 1;
constexpr char reported_version = 2;  // with a report
constexpr char watched_version = 3;   // with or without one, and with what each start watched
constexpr char schedule_version = 1;

class writer {
public:
  explicit writer(char version) { out_ += version; }

  void number(std::uint64_t n) {
    for (; n >= 0x80; n >>= 7)
      out_ += static_cast<char>(n | 0x80);
    out_ += static_cast<char>(n);
  }
  void text(std::string_view t) {
    number(t.size());
    out_ += t;
  }
  void time(time_point at) { number(static_cast<std::uint64_t>(micros(at))); }
  // 0 for absent, else the value plus one.
  void maybe(std::optional<std::uint64_t> n) { number(n ? *n + 1 : 0); }

  std::string sealed(const job_id& id) && {
    const auto sum = fnv1a(out_, fnv1a(id.value));
    char bytes[sizeof sum];
    std::memcpy(bytes, &sum, sizeof sum);
    out_.append(bytes, sizeof sum);
    return std::move(out_);
  }

private:
  std::string out_;
};

// Reads what `writer` wrote. After any bad field `good` is false and all answers are empty.
class reader {
public:
  // Reads versions up to `newest`.
  reader(const job_id& id, std::string_view bytes, char newest) {
    std::uint64_t sum = 0;
    if (bytes.size() < 1 + sizeof sum) return;
    const auto body = bytes.substr(0, bytes.size() - sizeof sum);
    std::memcpy(&sum, bytes.data() + body.size(), sizeof sum);
    if (body[0] < 1 || body[0] > newest || sum != fnv1a(body, fnv1a(id.value))) return;
    version_ = body[0];
    rest_ = body.substr(1);
    good_ = true;
  }

  bool finished() const { return good_ && rest_.empty(); }
  bool good() const { return good_; }
  char version() const { return version_; }

  std::uint64_t number() {
    std::uint64_t n = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return fail();
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      n |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return n;
    }
    return fail();
  }
  std::string text() {
    const auto size = number();
    if (size > rest_.size()) return fail(), std::string();
    std::string t(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return t;
  }
  time_point time() { return from_micros(static_cast<std::int64_t>(number())); }
  std::optional<std::uint64_t> maybe() {
    const auto n = number();
    return n == 0 ? std::nullopt : std::optional(n - 1);
  }

private:
  std::uint64_t fail() {
    good_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  char version_ = 0;
  bool good_ = false;
};

std::optional<std::uint64_t> as_number(const std::optional<duration>& d) {
  return d ? std::optional<std::uint64_t>(d->count()) : std::nullopt;
}
std::optional<duration> as_duration(std::optional<std::uint64_t> n) {
  return n ? std::optional(duration(static_cast<std::int64_t>(*n))) : std::nullopt;
}

// Fractions are stored in millionths.
constexpr double scale = 1e6;
std::uint64_t scaled(double fraction) { return static_cast<std::uint64_t>(std::llround(fraction * scale)); }

void write_retry(writer& out, const retry_policy& retry) {
  if (retry == retry_policy{}) return out.number(0);
  out.number(1);
  out.maybe(retry.attempts);
  out.maybe(retry.backoff ? std::optional<std::uint64_t>(static_cast<std::uint64_t>(*retry.backoff)) : std::nullopt);
  out.maybe(as_number(retry.delay));
  out.maybe(as_number(retry.max_delay));
  out.maybe(retry.jitter ? std::optional(scaled(*retry.jitter)) : std::nullopt);
  out.maybe(retry.then ? std::optional<std::uint64_t>(static_cast<std::uint64_t>(*retry.then)) : std::nullopt);
}

retry_policy read_retry(reader& in) {
  retry_policy retry;
  if (in.number() == 0) return retry;
  if (const auto n = in.maybe()) retry.attempts = static_cast<std::uint32_t>(*n);
  if (const auto n = in.maybe()) retry.backoff = static_cast<backoff>(*n);
  retry.delay = as_duration(in.maybe());
  retry.max_delay = as_duration(in.maybe());
  if (const auto n = in.maybe()) retry.jitter = static_cast<double>(*n) / scale;
  if (const auto n = in.maybe()) retry.then = static_cast<when_exhausted>(*n);
  return retry;
}

bool has_watched(const job_progress& progress) {
  return std::any_of(progress.history.begin(), progress.history.end(),
                     [](const start_record& start) { return !start.watched.empty(); });
}

void write_watched(writer& out, const std::vector<watched_part>& parts) {
  out.number(parts.size());
  for (const auto& part : parts) {
    out.text(part.system);
    out.text(part.what);
    out.number(part.times);
    out.number(part.failed);
    out.number(static_cast<std::uint64_t>(part.total.count()));
    out.number(static_cast<std::uint64_t>(part.longest.count()));
  }
}

std::vector<watched_part> read_watched(reader& in) {
  std::vector<watched_part> parts;
  for (auto n = in.number(); n > 0 && in.good(); --n) {
    watched_part part;
    part.system = in.text();
    part.what = in.text();
    part.times = in.number();
    part.failed = in.number();
    part.total = duration(static_cast<std::int64_t>(in.number()));
    part.longest = duration(static_cast<std::int64_t>(in.number()));
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::string encode(const job_id& id, const job_content& content) {
  writer out(content_version);
  out.text(content.type.value);
  out.text(content.queue.value);
  out.text(content.args);
  out.number(content.headers.size());
  for (const auto& [name, value] : content.headers) {
    out.text(name);
    out.text(value);
  }
  write_retry(out, content.retry);
  out.maybe(as_number(content.timeout));
  out.time(content.created_at);
  return std::move(out).sealed(id);
}

std::optional<job_content> decode_content(const job_id& id, std::string_view bytes) {
  reader in(id, bytes, content_version);
  job_content content;
  content.type.value = in.text();
  content.queue.value = in.text();
  content.args = in.text();
  for (auto n = in.number(); n > 0 && in.good(); --n) {
    auto name = in.text();
    content.headers[std::move(name)] = in.text();
  }
  content.retry = read_retry(in);
  content.timeout = as_duration(in.maybe());
  content.created_at = in.time();
  if (!in.finished()) return std::nullopt;
  return content;
}

std::string encode(const job_id& id, const job_progress& progress) {
  const bool watched = has_watched(progress);
  writer out(watched ? watched_version : progress.reported ? reported_version : progress_version);
  out.text(progress.reason);
  out.text(progress.result);
  out.number(progress.failures);
  if (watched) out.number(progress.reported ? 1 : 0);
  if (progress.reported) {
    out.number(scaled(progress.reported->done));
    out.text(progress.reported->text);
  }
  out.number(progress.history.size());
  for (const auto& start : progress.history) {
    out.number(start.fence.value);
    out.number(start.attempt);
    out.text(start.cause);
    out.text(start.server);
    out.text(start.error);
    out.time(start.started);
    out.time(start.ended);
    if (watched) write_watched(out, start.watched);
  }
  return std::move(out).sealed(id);
}

std::optional<job_progress> decode_progress(const job_id& id, std::string_view bytes) {
  job_progress progress;
  if (bytes.empty()) return progress;
  reader in(id, bytes, watched_version);
  progress.reason = in.text();
  progress.result = in.text();
  progress.failures = static_cast<std::uint32_t>(in.number());
  if (in.version() == reported_version || (in.version() == watched_version && in.number() == 1)) {
    auto& report = progress.reported.emplace();
    report.done = static_cast<double>(in.number()) / scale;
    report.text = in.text();
  }
  for (auto n = in.number(); n > 0 && in.good(); --n) {
    start_record start;
    start.fence.value = in.number();
    start.attempt = static_cast<std::uint32_t>(in.number());
    start.cause = in.text();
    start.server = in.text();
    start.error = in.text();
    start.started = in.time();
    start.ended = in.time();
    if (in.version() == watched_version) start.watched = read_watched(in);
    progress.history.push_back(std::move(start));
  }
  if (!in.finished()) return std::nullopt;
  return progress;
}

std::string encode(const std::string& name, const schedule_record& record) {
  writer out(schedule_version);
  out.text(record.definition);
  out.text(record.config);
  out.text(record.zones);
  out.time(record.mark);
  out.number(record.paused ? 1 : 0);
  out.text(record.problem);
  return std::move(out).sealed(job_id(name));
}

std::optional<schedule_record> decode_schedule(const std::string& name, std::string_view bytes) {
  reader in(job_id(name), bytes, schedule_version);
  schedule_record record;
  record.definition = in.text();
  record.config = in.text();
  record.zones = in.text();
  record.mark = in.time();
  record.paused = in.number() != 0;
  record.problem = in.text();
  if (!in.finished()) return std::nullopt;
  return record;
}

}  // namespace sluice
