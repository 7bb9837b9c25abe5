// Laws of windows over random definitions and clocks, against references that remember every run. A program that
// breaks a law is shrunk, and printed with the seed; RC_PARAMS="seed=N max_success=N" runs others.
#include <cstdlib>

#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include "support/catch.hpp"
#include "throttling/counts.hpp"
#include "throttling/support.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

using instant = std::int64_t;

constexpr instant second = 1'000'000;
constexpr instant year = 365 * 24 * 3600 * second;

instant floor_of(instant a, instant b) { return (a - ((a % b) + b) % b) / b; }
time_point at(instant us) { return time_point(duration(us)); }

// A definition as arithmetic, worked out apart from the code.
struct rules {
  throttler as;
  instant buckets, width, spans, interval;
  bool aligned;  // it promises for aligned buckets only

  explicit rules(const throttler& t) : as(t) {
    buckets = t.kind == throttler_kind::fixed_window ? 1 : t.buckets;
    interval = t.interval.count();
    width = (interval + buckets - 1) / buckets;
    aligned = buckets == 1 || t.compatible;
    spans = aligned ? buckets - 1 : buckets;
  }
  instant bucket(instant t) const { return floor_of(t, width); }
};

struct run {
  instant when;
  int key;
  std::uint64_t count;
};
using runs = std::vector<run>;
constexpr int any_key = -1;

template <class Fits>
std::uint64_t sum(const runs& all, int key, Fits fits) {
  std::uint64_t n = 0;
  for (const auto& s : all)
    if ((key == any_key || s.key == key) && fits(s.when)) n += s.count;
  return n;
}

// What the fullest interval that is promised anything holds.
std::uint64_t fullest(const runs& all, const rules& r, int key = any_key) {
  std::uint64_t most = 0;
  for (const auto& first : all)
    most = std::max(most, sum(all, key, [&](instant t) {
                      const auto b = r.bucket(first.when);
                      return r.aligned ? r.bucket(t) >= b && r.bucket(t) < b + r.buckets
                                       : t >= first.when && t < first.when + r.interval;
                    }));
  return most;
}

// What a start at `now` must not make too much of.
std::uint64_t promised(const runs& all, const rules& r, instant now, int key = any_key) {
  return sum(all, key,
             [&](instant t) { return r.aligned ? r.bucket(t) > r.bucket(now) - r.buckets : t > now - r.interval; });
}

// What is summed at `now`.
std::uint64_t summed(const runs& all, const rules& r, instant now, int key = any_key) {
  return sum(all, key, [&](instant t) { return r.bucket(t) >= r.bucket(now) - r.spans; });
}

// One step of a program.
struct move {
  int how = 0;     // of 7: what the clock does before
  int amount = 0;  // of 1000
  std::uint64_t count = 0;
  int key = 0;
  int change = 0;  // of 6, where definitions change
};

std::ostream& operator<<(std::ostream& out, const move& m) {
  return out << "{" << m.how << ", " << m.amount << ", " << m.count << ", " << m.key << ", " << m.change << "}";
}

instant forward(const rules& r, instant now, const move& m) {
  const auto begin = (r.bucket(now) + 1 + m.amount % (r.buckets + 2)) * r.width;
  switch (m.how) {
    case 0: return now;
    case 1: return now + r.width * m.amount / 1000;
    case 2: return begin;
    case 3: return begin - 1;
    case 4: return now + r.interval * m.amount / 500;
    case 5: return now + r.width;
    default: return m.amount < 200 ? now + year : now + 1;
  }
}

instant backward(const rules& r, instant now, const move& m) {
  switch (m.how) {
    case 0: return now - 1;
    case 1: return now - r.width * m.amount / 1000;
    case 2: return now - r.width * (m.amount % (2 * r.buckets + 3));
    case 3: return r.bucket(now) * r.width - 1;
    default: return m.amount < 200 ? now - year : now;
  }
}

rc::Gen<std::vector<move>> moves() {
  using rc::gen::inRange;
  using rc::gen::set;
  return rc::gen::scale(
      0.7,
      rc::gen::container<std::vector<move>>(rc::gen::resize(
          rc::kNominalSize, rc::gen::build<move>(set(&move::how, inRange(0, 7)), set(&move::amount, inRange(0, 1000)),
                                                 set(&move::count, inRange<std::uint64_t>(0, 7)),
                                                 set(&move::key, inRange(0, 5)), set(&move::change, inRange(0, 6))))));
}

// Intervals that need not divide into equal buckets.
duration some_interval(std::uint32_t buckets) {
  return duration(buckets * second + *rc::gen::element<instant>(0, 1, 999'999, 3 * second + 7, 60 * second));
}

throttler any_single() {
  const auto limit = *rc::gen::inRange<std::uint64_t>(1, 9);
  const auto buckets = *rc::gen::inRange<std::uint32_t>(1, 7);
  if (*rc::gen::inRange(0, 3) == 0) return fixed(limit, some_interval(1));
  return sliding(limit, some_interval(buckets), buckets, *rc::gen::arbitrary<bool>());
}

throttler any_dynamic() {
  const auto buckets = *rc::gen::inRange<std::uint32_t>(1, 5);
  auto t = dynamic(0, 0, some_interval(buckets), buckets);
  t.compatible = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    t.min_limit = *rc::gen::inRange<std::uint64_t>(1, 4);
    t.max_limit = t.min_limit + *rc::gen::inRange<std::uint64_t>(0, 6);
    t.capacity = t.max_limit + *rc::gen::inRange<std::uint64_t>(0, 8);
  } else {
    t.limit = *rc::gen::inRange<std::uint64_t>(1, 4);
    if (*rc::gen::arbitrary<bool>()) t.capacity = t.limit + *rc::gen::inRange<std::uint64_t>(0, 9);
  }
  return t;
}

instant any_begin() {
  return *rc::gen::element<instant>(0, -7 * second - 3, 1'772'928'000'000'001, 9'007'199'254'740'993);
}

// What is true of every step.
void must_be_in_order(const limiter_step& step, instant now, const std::vector<limiter_request>& wanted) {
  RC_ASSERT(step.from <= at(now));
  RC_ASSERT(step.until > at(now));
  RC_ASSERT(step.each.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    RC_ASSERT(step.each[i].granted <= wanted[i].count);
    RC_ASSERT(step.each[i].next.has_value() == (step.each[i].granted < wanted[i].count));
    if (step.each[i].next) RC_ASSERT(*step.each[i].next > at(now));
  }
}

std::uint64_t take(kept_window& window, instant now, std::uint64_t count) {
  const std::vector<limiter_request> wanted{{"", count}};
  const auto step = window.step(at(now), wanted);
  must_be_in_order(step, now, wanted);
  if (const auto next = step.each[0].next) {
    // Unless something is granted meanwhile, it opens then and not before.
    const kept_window after{window.definition, step.state};
    RC_ASSERT(after.step(*next, {{"", 1}}).each[0].granted == 1U);
    if (*next - 1us >= at(now)) RC_ASSERT(after.step(*next - 1us, {{"", 1}}).each[0].granted == 0U);
    RC_ASSERT(after.describe(at(now)).front().next == next);
  }
  window.state = step.state;
  return step.each[0].granted;
}

template <class Law>
void holds(const std::string& law, int how_many, Law check) {
  rc::detail::Configuration config;
  config.testParams.seed = 20'260'308;
  config.testParams.maxSuccess = how_many;
  if (const char* wanted = std::getenv("RC_PARAMS")) config = rc::detail::configFromString(wanted, config);
  rc::detail::TestMetadata about;
  about.id = about.description = law;
  rc::detail::TestListenerAdapter nobody;
  const auto result = rc::detail::checkTestable(check, about, config.testParams, nobody, config.reproduce);
  std::ostringstream words;
  rc::detail::printResultMessage(result, words);
  INFO("RC_PARAMS=\"seed=" << config.testParams.seed << " max_success=" << config.testParams.maxSuccess << "\"");
  INFO(words.str());
  REQUIRE(result.template is<rc::detail::SuccessResult>());
}

}  // namespace

TEST_CASE("no interval holds more starts than the limit and none is refused that fits") {
  holds("limit", 500, [] {
    kept_window window{any_single()};
    const rules r(window.definition);
    runs all;
    auto now = any_begin();
    for (const auto& m : *moves()) {
      now = forward(r, now, m);
      const auto used = summed(all, r, now);
      const auto granted = take(window, now, m.count);
      RC_ASSERT(granted == std::min(m.count, r.as.limit - used));
      all.push_back({now, 0, granted});
    }
    RC_ASSERT(fullest(all, r) <= r.as.limit);
  });
}

TEST_CASE("a clock that goes back and forth never leads to more than the limit in the buckets that are summed") {
  holds("wild clock", 500, [] {
    kept_window window{any_single()};
    const rules r(window.definition);
    runs all;  // by the begin of the bucket that they count in
    auto now = any_begin();
    std::optional<instant> newest, lost;
    for (const auto& m : *moves()) {
      now = m.change < 3 ? forward(r, now, m) : backward(r, now, m);
      if (newest && *newest * r.width - now > (r.spans + r.buckets) * r.width) {
        newest = r.bucket(now);
        lost = now;
        all.clear();
      }
      newest = std::max(newest.value_or(r.bucket(now)), r.bucket(now));
      const auto stands = std::max(now, *newest * r.width);
      const bool full = lost && stands < *lost + r.buckets * r.width;
      const auto fits = full ? 0 : r.as.limit - summed(all, r, stands);
      const auto granted = take(window, now, m.count);
      RC_ASSERT(granted == std::min(m.count, fits));
      if (granted > 0) all.push_back({*newest * r.width, 0, granted});
    }
  });
}

TEST_CASE("however a clock is set back and a definition changes no interval of real time holds more than the limit") {
  holds("set back", 500, [] {
    const auto drawn = [] {
      const auto buckets = *rc::gen::inRange<std::uint32_t>(2, 7);
      return sliding(*rc::gen::inRange<std::uint64_t>(1, 9), some_interval(buckets), buckets);
    };
    kept_window window{drawn()};
    runs all;  // by real time
    auto real = any_begin();
    instant behind = 0;
    for (const auto& m : *moves()) {
      if (m.change == 5) window.definition = drawn();
      const rules r(window.definition);
      if (m.change < 4) {
        real = forward(r, real, m);
      } else {
        behind += real - backward(r, real, m);
      }
      const auto granted = take(window, real - behind, m.count);
      if (granted == 0) continue;
      all.push_back({real, 0, granted});
      RC_ASSERT(promised(all, r, real) <= r.as.limit);
    }
  });
}

TEST_CASE("whatever becomes of a definition no start is granted that breaks it") {
  holds("other definition", 1000, [] {
    kept_window window{any_single()};
    runs all;
    auto now = any_begin();
    for (const auto& m : *moves()) {
      if (m.change == 0) {
        window.definition = any_single();
      } else if (m.change == 1) {
        window.definition.limit = 1 + static_cast<std::uint64_t>(m.amount) % 8;
      }
      const rules r(window.definition);
      now = forward(r, now, m);
      const auto granted = take(window, now, m.count);
      if (granted == 0) continue;
      all.push_back({now, 0, granted});
      RC_ASSERT(promised(all, r, now) <= r.as.limit);
    }
    // Nothing stays full for ever.
    const rules r(window.definition);
    RC_ASSERT(take(window, now + 2 * r.buckets * r.width, 100) == r.as.limit);
  });
}

TEST_CASE("whatever becomes of a definition tenants never count more than it allows") {
  holds("other dynamic definition", 500, [] {
    kept_window window{any_dynamic()};
    runs all;
    auto now = any_begin();
    for (const auto& m : *moves()) {
      if (m.change == 0) window.definition = any_dynamic();
      const rules r(window.definition);
      now = forward(r, now, m);
      const std::vector<limiter_request> wanted{{std::to_string(m.key), m.count}};
      const auto step = window.step(at(now), wanted);
      must_be_in_order(step, now, wanted);
      window.state = step.state;
      if (step.each[0].granted == 0) continue;
      all.push_back({now, m.key, step.each[0].granted});
      RC_ASSERT(promised(all, r, now, m.key) <= std::max(r.as.limit, r.as.max_limit));
      if (r.as.capacity > 0) RC_ASSERT(promised(all, r, now) <= r.as.capacity);
    }
  });
}

TEST_CASE("a state of random bytes grants nothing for an interval and then what is allowed") {
  holds("damage", 500, [] {
    kept_window window{any_single()};
    const rules r(window.definition);
    auto now = any_begin();
    for (const auto& m : *moves()) {
      now = forward(r, now, m);
      take(window, now, m.count);
    }
    const auto written = window.state;
    if (*rc::gen::arbitrary<bool>()) {
      window.state = *rc::gen::arbitrary<std::string>();
    } else if (!written.empty()) {
      const auto where = *rc::gen::inRange<std::size_t>(0, written.size());
      window.state = written.substr(0, where) + *rc::gen::arbitrary<std::string>() +
                     written.substr(where + *rc::gen::inRange<std::size_t>(0, 2));
    }
    RC_PRE(!window.state.empty() && window.state != written);
    const auto opens = now + r.buckets * r.width;
    runs all;
    for (const auto& m : *moves()) {
      const auto granted = take(window, now, m.count);
      if (now < opens) RC_ASSERT(granted == 0U);
      all.push_back({now, 0, granted});
      now = forward(r, now, m);
    }
    RC_ASSERT(fullest(all, r) <= r.as.limit);
    window.state = "?";
    take(window, now, 1);
    RC_ASSERT(take(window, now + r.buckets * r.width, 100) == r.as.limit);
  });
}

TEST_CASE("random bytes are never a state that leads anywhere else") {
  holds("bytes", 2000, [] {
    const kept_window window{*rc::gen::arbitrary<bool>() ? any_single() : any_dynamic(),
                             "?" + *rc::gen::arbitrary<std::string>()};
    const auto now = any_begin();
    const auto step = window.step(at(now), {{"a", 5}, {"b", 5}});
    must_be_in_order(step, now, {{"a", 5}, {"b", 5}});
    RC_ASSERT(step.each[0].granted + step.each[1].granted == 0U);
    RC_ASSERT(window.describe(at(now)).size() == 1U);
  });
}

TEST_CASE("a state that is read is written as it was") {
  holds("round trip", 300, [] {
    kept_window window{any_dynamic()};
    const rules r(window.definition);
    const auto big = std::uint64_t{1} << 56U;
    window.definition.limit = window.definition.max_limit = window.definition.capacity = big;
    window.definition.min_limit = 1;
    auto now = any_begin();
    for (const auto& m : *moves()) {
      now = forward(r, now, m);
      window.take(at(now), {{*rc::gen::arbitrary<std::string>(), (std::uint64_t{1} << 53U) + m.count}});
      RC_ASSERT(throttling::write(throttling::load(throttling::grid_of(window.definition), window.state, at(now))) ==
                window.state);
      const std::vector<limiter_request> nobody;
      RC_ASSERT(window.step(at(now), nobody).state == window.state);
    }
  });
}

namespace {

// Who counts something, in order of activation; rewritten from the words of the rule.
struct tenants_model {
  rules r;
  runs all{};
  std::vector<int> active{};

  std::uint64_t max_places() const {
    const auto& t = r.as;
    return t.capacity == 0 ? 1000 : t.capacity / (t.limit > 0 ? t.limit : t.min_limit);
  }

  std::vector<std::uint64_t> take(instant now, const std::vector<std::pair<int, std::uint64_t>>& wanted) {
    const auto& t = r.as;
    std::erase_if(active, [&](int key) { return summed(all, r, now, key) == 0; });
    auto places = active;
    for (const auto& [key, count] : wanted)
      if (std::find(places.begin(), places.end(), key) == places.end()) places.push_back(key);
    const auto n = std::min<std::uint64_t>(places.size(), max_places());
    std::vector<std::uint64_t> each;
    for (const auto& [key, count] : wanted) {
      const auto i = static_cast<std::uint64_t>(std::find(places.begin(), places.end(), key) - places.begin());
      auto share = t.limit;
      if (share == 0) share = std::clamp(t.capacity / n + (i < t.capacity % n ? 1 : 0), t.min_limit, t.max_limit);
      const auto used = summed(all, r, now, key), total = summed(all, r, now);
      auto granted = i < n && share > used ? std::min(count, share - used) : 0;
      if (t.capacity > 0) granted = std::min(granted, t.capacity - total);
      all.push_back({now, key, granted});
      each.push_back(granted);
    }
    active = places;  // without those that count nothing, as seen the next time
    return each;
  }
};

}  // namespace

TEST_CASE("tenants share a capacity as the rule says and never count more") {
  holds("dynamic", 500, [] {
    kept_window window{any_dynamic()};
    const rules r(window.definition);
    tenants_model model{r};
    auto now = any_begin();
    const auto program = *moves();
    for (std::size_t i = 0; i < program.size();) {
      now = forward(r, now, program[i]);
      std::vector<std::pair<int, std::uint64_t>> asked;
      std::vector<limiter_request> wanted;
      for (auto n = 1 + program[i].amount % 5; n > 0 && i < program.size(); --n, ++i) {
        asked.emplace_back(program[i].key, program[i].count + 1);
        wanted.push_back({std::to_string(program[i].key), program[i].count + 1});
      }
      const auto step = window.step(at(now), wanted);
      must_be_in_order(step, now, wanted);
      const auto expected = model.take(now, asked);
      for (std::size_t k = 0; k < wanted.size(); ++k)
        RC_ASSERT(step.each[k].granted == expected[k]);
      window.state = step.state;

      // The earliest of the next instants is one at which somebody can start, if all of them have places.
      std::optional<time_point> next;
      for (const auto& g : step.each)
        if (g.next && (!next || *g.next < *next)) next = g.next;
      if (next && *next - 1us >= at(now)) {
        const auto early = window.step(*next - 1us, wanted);
        for (std::size_t k = 0; k < wanted.size(); ++k)
          if (step.each[k].granted < wanted[k].count) RC_ASSERT(early.each[k].granted == 0U);
      }
      if (next && model.active.size() <= model.max_places()) {
        const auto then = window.step(*next, wanted);
        RC_ASSERT(std::any_of(then.each.begin(), then.each.end(), [](const auto& g) { return g.granted > 0; }));
      }
    }
    for (int key = 0; key < 5; ++key)
      RC_ASSERT(fullest(model.all, r, key) <= (r.as.limit > 0 ? r.as.limit : r.as.max_limit));
    if (r.as.capacity > 0) RC_ASSERT(fullest(model.all, r) <= r.as.capacity);
  });
}
