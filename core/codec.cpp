#include "core/codec.hpp"

#include <algorithm>
#include <cmath>

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"

namespace sluice {
namespace {

// A record of a job begins with its version, and in the lowest bits with what it says of itself. Its scripts look at
// the first of these (storage/rules/values.lua).
constexpr unsigned char content_version = 1 << 3;
constexpr unsigned char names_queue = 1;    // else its queue is `default_queue`
constexpr unsigned char has_more = 2;       // headers, a retry policy or a timeout
constexpr unsigned char created_apart = 4;  // else it was created in the millisecond that its id names
constexpr unsigned char content_flags = names_queue | has_more | created_apart;
constexpr unsigned char schedule_version = 1;
// The lowest bytes of the sum: a change of any one byte changes them too.
constexpr std::uint64_t sum_size = 4;

class writer {
public:
  explicit writer(unsigned char head) { out_ += static_cast<char>(head); }

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
    for (auto sum = fnv1a(out_, fnv1a(id.value)), left = sum_size; left > 0; --left, sum >>= 8)
      out_ += static_cast<char>(sum);  // its lowest byte first, on every machine
    return std::move(out_);
  }

private:
  std::string out_;
};

// Reads what `writer` wrote. After any bad field `good` is false and all answers are empty.
class reader {
public:
  reader(const job_id& id, std::string_view bytes) {
    if (bytes.size() < 1 + sum_size) return;
    const auto body = bytes.substr(0, bytes.size() - sum_size);
    std::uint64_t sum = 0;
    for (auto i = bytes.size(); i > body.size(); --i)
      sum = sum << 8 | static_cast<unsigned char>(bytes[i - 1]);
    if (sum == (fnv1a(body, fnv1a(id.value)) & 0xffff'ffff)) *this = reader(body);
  }

  explicit reader(std::string_view body) {
    if (body.empty()) return;
    head_ = static_cast<unsigned char>(body[0]);
    rest_ = body.substr(1);
    good_ = true;
  }

  unsigned char head() const { return head_; }

  bool finished() const { return good_ && rest_.empty(); }
  bool good() const { return good_; }

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
  unsigned char head_ = 0;
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

}  // namespace

std::vector<std::string> job_content::what_differs(const job_content& other,
                                                   const std::vector<std::string>& left_out) const {
  const auto that_count = [&](auto all) {
    for (const auto& name : left_out)
      all.erase(name);
    return all;
  };
  std::vector<std::string> parts;
  if (type != other.type) parts.emplace_back("type");
  if (queue != other.queue) parts.emplace_back("queue");
  if (args != other.args) parts.emplace_back("args");
  if (that_count(headers) != that_count(other.headers)) parts.emplace_back("headers");
  return parts;
}

std::string encode(const job_id& id, const job_content& content) {
  const bool more = !content.headers.empty() || content.retry != retry_policy{} || content.timeout;
  const auto ms = milliseconds_of(id);
  const auto created = micros(content.created_at);
  const bool apart = !ms || created < 0 || created / 1000 != *ms;
  auto head = content_version;
  if (content.queue.value != default_queue) head |= names_queue;
  if (more) head |= has_more;
  if (apart) head |= created_apart;

  writer out(head);
  out.text(content.type.value);
  if ((head & names_queue) != 0) out.text(content.queue.value);
  out.text(content.args);
  if (more) {
    out.number(content.headers.size());
    for (const auto& [name, value] : content.headers) {
      out.text(name);
      out.text(value);
    }
    write_retry(out, content.retry);
    out.maybe(as_number(content.timeout));
  }
  out.number(static_cast<std::uint64_t>(apart ? created : created % 1000));
  return std::move(out).sealed(id);
}

namespace {

std::optional<time_point> read_created(const job_id& id, reader& in) {
  const auto said = static_cast<std::int64_t>(in.number());
  if ((in.head() & created_apart) != 0) return from_micros(said);
  const auto ms = milliseconds_of(id);
  if (!ms || said < 0 || said >= 1000) return std::nullopt;
  return from_micros(*ms * 1000 + said);
}

std::optional<job_content> read_content(const job_id& id, reader in) {
  if ((in.head() & ~content_flags) != content_version) return std::nullopt;
  job_content content;
  content.type.value = in.text();
  content.queue.value = (in.head() & names_queue) != 0 ? in.text() : std::string(default_queue);
  content.args = in.text();
  if ((in.head() & has_more) != 0) {
    for (auto n = in.number(); n > 0 && in.good(); --n) {
      auto name = in.text();
      content.headers[std::move(name)] = in.text();
    }
    content.retry = read_retry(in);
    content.timeout = as_duration(in.maybe());
  }
  const auto created = read_created(id, in);
  if (!created || !in.finished()) return std::nullopt;
  content.created_at = *created;
  return content;
}

}  // namespace

std::optional<job_content> decode_content(const job_id& id, std::string_view bytes) {
  return read_content(id, reader(id, bytes));
}

std::optional<job_content> decode_unsealed(const job_id& id, std::string_view body) {
  return read_content(id, reader(body));
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
  reader in(job_id(name), bytes);
  if (in.head() != schedule_version) return std::nullopt;
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
