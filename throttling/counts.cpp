#include "throttling/counts.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/text.hpp"

namespace sluice::throttling {
namespace {

constexpr std::string_view version = "1 ";
constexpr std::int64_t farthest = std::int64_t{1} << 61;  // of an instant, so that sums of two are still numbers
constexpr std::uint64_t max_starts = std::uint64_t{1} << 62;

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t ceiling_of(std::int64_t a, std::int64_t b) { return -floor_of(-a, b); }

std::string sealed(std::string body) {
  const auto sum = fnv1a(body);
  return std::move(body.append("#").append(std::to_string(sum)));
}

std::string_view body_of(std::string_view state) { return state.substr(0, state.rfind('#')); }

// Reads from the front. After anything wrong `good` is false and all answers are empty.
class reader {
public:
  explicit reader(std::string_view text) : rest_(text) {}

  bool good() const { return good_; }
  bool finished() const { return rest_.empty(); }

  bool take(std::string_view mark) {
    const bool there = rest_.starts_with(mark);
    if (there) rest_.remove_prefix(mark.size());
    return there;
  }
  void must(std::string_view mark) {
    if (!take(mark)) fail();
  }
  template <class T>
  T number(T least, T most, char mark) {
    T n{};
    const auto* end = rest_.data() + rest_.size();
    const auto read = std::from_chars(rest_.data(), end, n);
    if (read.ec != std::errc{} || read.ptr == end || *read.ptr != mark || n < least || n > most) return fail(), T{};
    rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()) + 1);
    return n;
  }
  std::optional<std::int64_t> instant(std::int64_t most) {
    if (take("- ")) return std::nullopt;
    return number<std::int64_t>(-farthest, most, ' ');
  }
  std::string text() {
    const auto size = number<std::size_t>(0, rest_.size(), ':');
    if (size > rest_.size()) return fail(), std::string();
    std::string t(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return t;
  }

private:
  void fail() {
    good_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool good_ = true;
};

// The buckets of a key, each as AGE=COUNT, from the oldest on.
std::vector<bucket_count> read_buckets(reader& in, std::int64_t newest, std::int64_t oldest, std::uint64_t& room) {
  std::vector<bucket_count> all;
  do {
    const auto youngest = all.empty() ? newest - oldest : newest - all.back().bucket - 1;
    const auto age = in.number<std::int64_t>(0, youngest, '=');
    const auto count = in.number<std::uint64_t>(1, room, ',');
    room -= count;
    all.push_back({newest - age, count});
  } while (in.good() && !in.take(";"));
  return all;
}

std::optional<counts> read(std::string_view state) {
  const auto body = body_of(state);
  if (state != sealed(std::string(body))) return std::nullopt;
  reader in(body);
  counts kept;
  in.must(version);
  kept.width = in.number<std::int64_t>(1, farthest, ' ');
  if (!in.good()) return std::nullopt;
  const auto last = farthest / kept.width;
  kept.newest = in.number<std::int64_t>(-last, last, ' ');
  const auto now_at_most = (kept.newest + 1) * kept.width;
  kept.lost = in.instant(now_at_most);
  kept.dropped = in.instant(now_at_most);
  auto room = max_starts;
  while (in.good() && !in.finished()) {
    auto key = in.text();
    kept.keys.push_back({std::move(key), read_buckets(in, kept.newest, -last, room)});
  }
  if (!in.good()) return std::nullopt;
  return kept;
}

counts empty_at(const grid& by, time_point now) {
  counts kept;
  kept.width = by.width;
  kept.newest = by.bucket_of(now.time_since_epoch().count());
  return kept;
}

void regrid(const grid& by, counts& kept, time_point now) {
  const auto at = kept.at(now);
  for (auto& key : kept.keys) {
    std::vector<bucket_count> moved;
    for (const auto& old : key.buckets) {
      const auto bucket = by.bucket_of(std::min((old.bucket + 1) * kept.width - 1, at));
      if (moved.empty() || moved.back().bucket != bucket) moved.push_back({bucket, 0});
      moved.back().count += old.count;
    }
    key.buckets = std::move(moved);
  }
  for (auto* before : {&kept.lost, &kept.dropped})
    if (*before) *before = std::min(**before, at);
  kept.width = by.width;
  kept.newest = by.bucket_of(at);
}

void let_go(const grid& by, counts& kept) {
  const auto oldest = kept.newest - by.spans;
  for (auto& [key, buckets] : kept.keys) {
    const auto still = std::find_if(buckets.begin(), buckets.end(), [&](const auto& b) { return b.bucket >= oldest; });
    if (still == buckets.begin()) continue;
    const auto end = by.begin_of(std::prev(still)->bucket + 1);
    kept.dropped = std::max(kept.dropped.value_or(end), end);
    buckets.erase(buckets.begin(), still);
  }
  std::erase_if(kept.keys, [](const auto& key) { return key.buckets.empty(); });
}

}  // namespace

std::int64_t grid::bucket_of(std::int64_t instant) const { return floor_of(instant, width); }

std::int64_t counts::at(time_point now) const { return std::max(now.time_since_epoch().count(), newest * width); }

grid grid_of(const throttler& definition) {
  const bool cut = definition.kind != throttler_kind::fixed_window;
  grid by;
  by.buckets = cut ? std::max<std::int64_t>(definition.buckets, 1) : 1;
  by.width = std::max<std::int64_t>(ceiling_of(definition.interval.count(), by.buckets), 1);
  // An interval that is not aligned reaches into one bucket more than it has.
  by.spans = by.buckets == 1 || definition.compatible ? by.buckets - 1 : by.buckets;
  return by;
}

std::string write(const counts& kept) {
  const auto instant = [](const std::optional<std::int64_t>& i) { return i ? std::to_string(*i) : std::string("-"); };
  std::string body(version);
  for (const auto& part :
       {std::to_string(kept.width), std::to_string(kept.newest), instant(kept.lost), instant(kept.dropped)})
    body.append(part).append(" ");
  for (const auto& [key, buckets] : kept.keys) {
    body.append(std::to_string(key.size())).append(":").append(key);
    for (const auto& [bucket, count] : buckets)
      body.append(std::to_string(kept.newest - bucket)).append("=").append(std::to_string(count)).append(",");
    body.append(";");
  }
  return sealed(std::move(body));
}

counts load(const grid& by, std::string_view state, time_point now) {
  if (state.empty()) return empty_at(by, now);
  const auto instant = now.time_since_epoch().count();
  auto kept = read(state);
  if (!kept || kept->at(now) - instant > by.spans * by.width + by.interval()) {
    auto none = empty_at(by, now);
    none.lost = instant;
    return none;
  }
  if (kept->width != by.width) regrid(by, *kept, now);
  kept->newest = std::max(kept->newest, by.bucket_of(instant));
  let_go(by, *kept);
  return *std::move(kept);
}

std::int64_t full_until(const grid& by, const counts& kept) {
  auto until = std::numeric_limits<std::int64_t>::min();
  if (kept.lost) until = *kept.lost + by.interval();
  if (kept.dropped) {
    // Where fewer buckets are summed it is enough that all of them begin later.
    const auto all_known = by.begin_of(ceiling_of(*kept.dropped, by.width) + by.spans);
    until = std::max(until, std::min(*kept.dropped + by.interval(), all_known));
  }
  return until;
}

}  // namespace sluice::throttling
