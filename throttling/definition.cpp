#include "throttling/definition.hpp"

#include "core/ranges.hpp"
#include "core/text.hpp"

namespace sluice::throttling {
namespace {

using enum throttler_kind;

constexpr std::size_t longest_name = 100;
constexpr ranges::range<std::uint64_t> allowed_runs{1, 1'000'000'000};
constexpr ranges::range<duration> interval{1s, 366 * ranges::day};
constexpr ranges::range<std::uint64_t> allowed_buckets{1, 1000};
constexpr duration shortest_bucket = 1s;

const char* words_of(throttler_kind kind) {
  switch (kind) {
    case mutex: return "mutex";
    case semaphore: return "semaphore";
    case fixed_window: return "fixed window";
    case sliding_window: return "sliding window";
    case dynamic_window: return "dynamic window";
    case custom: return "custom throttler";
  }
  return "throttler";
}

error bad(std::string what) { return {errc::invalid_argument, std::move(what)}; }

result<void> within(const ranges::range<std::uint64_t>& allowed, std::uint64_t value, const char* field) {
  if (allowed.contains(value)) return {};
  if (value == 0) return bad(cat(field, " must be given: a number of ", allowed.least, " to ", allowed.most));
  return bad(cat(field, " must be ", allowed.least, " to ", allowed.most, ", not ", value));
}

result<void> check_name(throttler_kind kind, const std::string& name) {
  if (name.empty() || name.size() > longest_name)
    return bad(cat("name must have 1 to ", longest_name, " bytes, not ", name.size()));
  if (printable(name, name.size()) != name)
    return bad(cat("name '", printable(name), "' must be UTF-8 without control characters; take them out"));
  // "KIND:NAME/KEY" is the line of a key.
  if (kind != mutex && kind != semaphore && name.find('/') != std::string::npos)
    return bad(cat("name '", printable(name), "' must not hold a '/'; use '-' or '.'"));
  return {};
}

// What the kind has no use for must be as it is by default: whoever set it meant something else.
result<void> check_unused(const throttler& t) {
  const bool window = t.kind == fixed_window || t.kind == sliding_window || t.kind == dynamic_window;
  const bool cut = t.kind == sliding_window || t.kind == dynamic_window;
  const bool shared = t.kind == dynamic_window;
  struct field {
    const char* name;
    bool used, set;
  };
  for (const auto& [name, used, set] :
       {field{"limit", window || t.kind == semaphore, t.limit != 0},
        field{"interval", window, t.interval != duration{0}}, field{"buckets", cut, t.buckets != 0},
        field{"compatible", cut, t.compatible}, field{"key", shared, !t.key.empty()},
        field{"capacity", shared, t.capacity != 0}, field{"min_limit", shared, t.min_limit != 0},
        field{"max_limit", shared, t.max_limit != 0}})
    if (set && !used) return bad(cat(name, " does not belong to a ", words_of(t.kind), "; leave it out"));
  return {};
}

result<void> check_interval(const throttler& t) {
  if (interval.contains(t.interval)) return {};
  if (t.interval == duration{0}) return bad("interval must be given: a time of 1s to 366d");
  return bad(cat("interval must be ", format_duration(interval.least), " to 366d, not ", format_duration(t.interval)));
}

result<void> check_buckets(const throttler& t) {
  if (auto fine = within(allowed_buckets, t.buckets, "buckets"); !fine) return fine;
  if (t.interval >= t.buckets * shortest_bucket) return {};
  return bad(cat("buckets must be ", format_duration(shortest_bucket), " or longer each: in an interval of ",
                 format_duration(t.interval), " at most ", t.interval / shortest_bucket, ", not ", t.buckets));
}

result<void> check_shares(const throttler& t) {
  if (t.key.empty()) return bad("key must be a template over args, as tenant:{tenant_id}, and is empty");
  const bool ranged = t.min_limit != 0 || t.max_limit != 0;
  if (t.limit != 0 && ranged)
    return bad(
        "limit is the same for each key and min_limit and max_limit share the capacity: leave out one or the other");
  if (!ranged) {
    if (auto fine = within(allowed_runs, t.limit, "limit (or min_limit and max_limit)"); !fine) return fine;
    if (t.capacity == 0) return {};
    return within({t.limit, allowed_runs.most}, t.capacity, "capacity, if there is one,");
  }
  if (auto fine = within(allowed_runs, t.capacity, "capacity"); !fine) return fine;
  if (auto fine = within({1, t.capacity}, t.max_limit, "max_limit"); !fine) return fine;
  return within({1, t.max_limit}, t.min_limit, "min_limit");
}

result<void> check_fields(const throttler& t) {
  if (auto fine = check_name(t.kind, t.name); !fine) return fine;
  if (auto fine = check_unused(t); !fine || t.kind == mutex || t.kind == custom) return fine;
  if (t.kind == semaphore) return within(allowed_runs, t.limit, "limit");
  if (auto fine = check_interval(t); !fine) return fine;
  if (t.kind != fixed_window)
    if (auto fine = check_buckets(t); !fine) return fine;
  return t.kind == dynamic_window ? check_shares(t) : within(allowed_runs, t.limit, "limit");
}

}  // namespace

result<void> check(const throttler& definition) {
  auto fine = check_fields(definition);
  if (fine) return fine;
  return bad(
      cat(words_of(definition.kind), " '", printable(definition.name, longest_name), "': ", fine.error().message));
}

}  // namespace sluice::throttling
