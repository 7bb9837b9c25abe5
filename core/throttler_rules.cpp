// What a definition of a throttler may say.
#include "core/ranges.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice {
namespace {

using enum throttler_kind;

using ranges::throttle_buckets;
using ranges::throttle_interval;
using ranges::throttle_limit;

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

result<void> number_within(const ranges::range<std::uint64_t>& allowed, std::uint64_t value, const char* field) {
  if (allowed.contains(value)) return {};
  if (value == 0) return invalid(cat(field, " must be given: a number of ", allowed.least, " to ", allowed.most));
  return invalid(cat(field, " must be ", allowed.least, " to ", allowed.most, ", not ", value));
}

result<void> check_throttler_name(throttler_kind kind, const std::string& name) {
  if (name.empty() || name.size() > longest_throttler_name)
    return invalid(cat("name must have 1 to ", longest_throttler_name, " bytes, not ", name.size()));
  if (printable(name, name.size()) != name)
    return invalid(cat("name '", printable(name), "' must be UTF-8 without control characters; take them out"));
  // "KIND:NAME/KEY" is the line of a key.
  if (kind != mutex && kind != semaphore && name.find('/') != std::string::npos)
    return invalid(cat("name '", printable(name), "' must not hold a '/'; use '-' or '.'"));
  return {};
}

// What the kind has no use for must be as it is by default: whoever set it meant something else.
result<void> check_unused(const throttler& t) {
  for (const auto& field : throttler_fields())
    if (field.is_set(t) && !uses(t.kind, field.name)) return invalid(cat(field.name, " ", not_of(t.kind)));
  return {};
}

result<void> check_interval(const throttler& t) {
  if (throttle_interval.contains(t.interval)) return {};
  if (t.interval == duration{0}) return invalid("interval must be given: a time of 1s to 366d");
  return invalid(cat("interval must be ", format_duration(throttle_interval.least), " to 366d, not ",
                     format_duration(t.interval)));
}

result<void> check_buckets(const throttler& t) {
  if (auto fine = number_within(throttle_buckets, t.buckets, "buckets"); !fine) return fine;
  if (t.interval >= t.buckets * shortest_bucket) return {};
  return invalid(cat("buckets must be ", format_duration(shortest_bucket), " or longer each: in an interval of ",
                     format_duration(t.interval), " at most ", t.interval / shortest_bucket, ", not ", t.buckets));
}

result<void> check_shares(const throttler& t) {
  if (t.key.empty()) return invalid("key must be a template over args, as tenant:{tenant_id}, and is empty");
  if (const auto sound = parse_args_template(t.key); !sound) return invalid(cat("key ", sound.error().message));
  const bool ranged = t.min_limit != 0 || t.max_limit != 0;
  if (t.limit != 0 && ranged)
    return invalid(
        "limit is the same for each key and min_limit and max_limit share the capacity: leave out one or the other");
  if (!ranged) {
    if (auto fine = number_within(throttle_limit, t.limit, "limit (or min_limit and max_limit)"); !fine) return fine;
    if (t.capacity == 0) return {};
    return number_within({t.limit, throttle_limit.most}, t.capacity, "capacity, if there is one,");
  }
  if (auto fine = number_within(throttle_limit, t.capacity, "capacity"); !fine) return fine;
  if (auto fine = number_within({1, t.capacity}, t.max_limit, "max_limit"); !fine) return fine;
  return number_within({1, t.max_limit}, t.min_limit, "min_limit");
}

result<void> check_fields(const throttler& t) {
  if (name_of(t.kind).empty()) return invalid("its kind is none that there is");
  if (auto fine = check_throttler_name(t.kind, t.name); !fine) return fine;
  if (auto fine = check_unused(t); !fine || t.kind == mutex || t.kind == custom) return fine;
  if (t.kind == semaphore) return number_within(throttle_limit, t.limit, "limit");
  if (auto fine = check_interval(t); !fine) return fine;
  if (t.kind != fixed_window)
    if (auto fine = check_buckets(t); !fine) return fine;
  return t.kind == dynamic_window ? check_shares(t) : number_within(throttle_limit, t.limit, "limit");
}

}  // namespace

result<void> check(const throttler& definition) {
  auto fine = check_fields(definition);
  if (fine) return fine;
  return invalid(cat(words_of(definition.kind), " '", printable(definition.name, longest_throttler_name),
                     "': ", fine.error().message));
}

}  // namespace sluice
