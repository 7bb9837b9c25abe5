#include "throttling/windows.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "throttling/counts.hpp"

namespace sluice::throttling {
namespace {

constexpr std::uint64_t max_keys = 1000;
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();

std::uint64_t left(std::uint64_t limit, std::uint64_t used) { return limit > used ? limit - used : 0; }
time_point instant(std::int64_t us) { return time_point(duration(us)); }

// A key that counts something or waits.
struct contender {
  std::string_view key;
  const std::vector<bucket_count>* kept = nullptr;
  std::size_t gone = 0;  // how many of these count no more
  std::uint64_t used = 0;
  std::uint64_t granted = 0;  // of these, now
  bool waits = false;
  std::uint64_t place = nowhere;
};

// All of them, first at the newest bucket, then at later ones.
class field {
public:
  field(const counts& kept, const std::vector<std::string_view>& wanted) {
    for (const auto& k : kept.keys) {
      auto& who = known(k.key);
      who.kept = &k.buckets;
      for (const auto& b : k.buckets)
        who.used += b.count;
      used_ += who.used;
    }
    for (const auto& key : wanted) {
      auto& who = known(key);
      if (!std::exchange(who.waits, true)) waiting_.push_back(index_.at(key));
    }
    give_places();
  }

  const std::vector<contender>& all() const { return all_; }
  contender& of(std::string_view key) { return all_[index_.at(key)]; }
  std::uint64_t used() const { return used_; }
  std::uint64_t active() const { return active_; }

  // Places stay as they are.
  void grant(contender& who, std::uint64_t runs) {
    who.granted += runs;
    who.used += runs;
    used_ += runs;
  }

  // `oldest` is the first bucket that still counts. False when nothing has changed.
  bool move_to(std::int64_t oldest) {
    bool changed = false;
    for (auto& who : all_)
      for (; who.kept && who.gone < who.kept->size() && (*who.kept)[who.gone].bucket < oldest; ++who.gone) {
        who.used -= (*who.kept)[who.gone].count;
        used_ -= (*who.kept)[who.gone].count;
        changed = true;
      }
    if (changed) give_places();
    return changed;
  }

private:
  contender& known(std::string_view key) {
    const auto [at, added] = index_.try_emplace(key, all_.size());
    if (added) all_.push_back({key});
    return all_[at->second];
  }

  void give_places() {
    active_ = 0;
    for (auto& who : all_)
      who.place = who.used > 0 ? active_++ : nowhere;
    for (const auto i : waiting_)
      if (all_[i].place == nowhere) all_[i].place = active_++;
  }

  std::vector<contender> all_;  // those that count something in order of activation, then the others as they came
  std::unordered_map<std::string_view, std::size_t> index_;
  std::vector<std::size_t> waiting_;
  std::uint64_t used_ = 0, active_ = 0;
};

class bucket_window final : public window {
public:
  explicit bucket_window(const throttler& t)
      : by_(grid_of(t)),
        keyed_(t.kind == throttler_kind::dynamic_window),
        limit_(t.limit),
        min_(t.min_limit),
        max_(t.max_limit) {
    if (!keyed_) {
      places_ = 1;
    } else if (t.capacity > 0) {
      capacity_ = t.capacity;
      places_ = t.capacity / std::max<std::uint64_t>(limit_ > 0 ? limit_ : min_, 1);
    }
  }

  limiter_step take(std::string_view state, time_point now, std::span<const limiter_request> wanted) const override {
    auto kept = load(by_, state, now);
    const auto opens = full_until(by_, kept);
    const bool full = kept.at(now) < opens;
    const auto names = keys_of(wanted);

    limiter_step step;
    std::vector<std::string_view> denied;
    field here(kept, names);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      auto& who = here.of(names[i]);
      const auto granted = full ? 0 : std::min(wanted[i].count, room(here, who));
      here.grant(who, granted);
      step.each.push_back({granted, {}});
      if (granted < wanted[i].count) denied.push_back(names[i]);
    }
    add_granted(here, kept);
    if (!denied.empty()) {
      const auto next = openings(kept, names, denied, full ? kept.newest : kept.newest + 1);
      for (std::size_t i = 0, d = 0; i < wanted.size(); ++i)
        if (step.each[i].granted < wanted[i].count)
          step.each[i].next = instant(std::max(by_.begin_of(next[d++]), opens));
    }
    step.state = write(kept);
    step.from = std::min(now, instant(by_.begin_of(kept.newest)));
    step.until = instant(by_.begin_of(kept.newest + 1));
    return step;
  }

  std::vector<limiter_view> describe(std::string_view state, time_point now) const override {
    const auto kept = load(by_, state, now);
    const auto opens = full_until(by_, kept);
    const bool full = kept.at(now) < opens;
    std::vector<std::string_view> names;
    for (const auto& k : kept.keys)
      names.emplace_back(k.key);

    std::vector<limiter_view> rows;
    const field here(kept, names);
    const auto next = openings(kept, names, names, full ? kept.newest : kept.newest + 1);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto& who = here.all()[i];
      rows.push_back({std::string(who.key), who.used, share(here, who), {}});
      if (full || room(here, who) == 0) rows.back().next = instant(std::max(by_.begin_of(next[i]), opens));
    }
    if (full && rows.empty()) {
      const auto whole = capacity_ == unlimited ? limit_ : capacity_;
      rows.push_back({"", whole, whole, instant(opens)});
    }
    return rows;
  }

private:
  std::vector<std::string_view> keys_of(std::span<const limiter_request> wanted) const {
    std::vector<std::string_view> names;
    for (const auto& w : wanted)
      names.push_back(keyed_ ? std::string_view(w.key) : std::string_view());
    return names;
  }

  std::uint64_t share(const field& there, const contender& who) const {
    if (who.place >= places_) return 0;
    if (!keyed_ || limit_ > 0) return limit_;
    const auto n = std::min(there.active(), places_);
    const auto even = capacity_ / n + (who.place < capacity_ % n ? 1 : 0);
    return std::min(std::max(even, min_), max_);
  }

  std::uint64_t room(const field& there, const contender& who) const {
    return std::min(left(share(there, who), who.used), left(capacity_, there.used()));
  }

  // What was granted counts in the newest bucket. `here` was made of `kept` and is not looked at afterwards.
  static void add_granted(const field& here, counts& kept) {
    const auto before = kept.keys.size();
    for (std::size_t i = 0; i < here.all().size(); ++i) {
      const auto& who = here.all()[i];
      if (who.granted == 0) continue;
      if (i >= before) kept.keys.push_back({std::string(who.key), {}});
      auto& buckets = i < before ? kept.keys[i].buckets : kept.keys.back().buckets;
      if (buckets.empty() || buckets.back().bucket != kept.newest) buckets.push_back({kept.newest, 0});
      buckets.back().count += who.granted;
    }
  }

  // The first bucket at which a key that counts something does no more; the one after the newest when none does.
  std::int64_t place_free(const field& there, std::int64_t newest) const {
    std::optional<std::int64_t> first;
    for (const auto& who : there.all())
      if (who.kept && who.place < places_) {
        const auto free = who.kept->back().bucket + by_.spans + 1;
        first = std::min(first.value_or(free), free);
      }
    return first.value_or(newest + 1);
  }

  // The first bucket, from `bucket` on, at which each of `asked` has room, when nothing is granted before and `wanted`
  // still wait; where none is known, the first at which a place is free.
  std::vector<std::int64_t> openings(const counts& kept, const std::vector<std::string_view>& wanted,
                                     const std::vector<std::string_view>& asked, std::int64_t bucket) const {
    field then(kept, wanted);
    const auto last = kept.newest + by_.spans + 1;  // here nothing of now counts
    std::vector<std::int64_t> found(asked.size(), place_free(then, kept.newest));
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (then.of(asked[i]).place < places_) open.push_back(i);
    for (const auto begin = bucket; bucket <= last && !open.empty(); ++bucket) {
      if (!then.move_to(bucket - by_.spans) && bucket > begin) continue;
      std::erase_if(open, [&](std::size_t i) {
        const bool fits = room(then, then.of(asked[i])) > 0;
        if (fits) found[i] = bucket;
        return fits;
      });
    }
    return found;
  }

  grid by_;
  bool keyed_;
  std::uint64_t limit_, min_, max_;
  std::uint64_t capacity_ = unlimited;
  std::uint64_t places_ = max_keys;
};

}  // namespace

std::shared_ptr<const window> make_limiter(const throttler& definition) {
  switch (definition.kind) {
    case throttler_kind::fixed_window:
    case throttler_kind::sliding_window:
    case throttler_kind::dynamic_window: return std::make_shared<bucket_window>(definition);
    case throttler_kind::mutex:
    case throttler_kind::semaphore:
    case throttler_kind::custom: break;
  }
  return nullptr;
}

}  // namespace sluice::throttling
