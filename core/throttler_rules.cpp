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

// What is wrong of a definition, field by field.
class fault_list {
public:
  void add(std::string_view field, std::string problem) {
    all.push_back({std::string(field), cat(field, " ", problem)});
  }
  // `called`: the field as it is told, when that is not its name.
  void check_number(const ranges::range<std::uint64_t>& allowed, std::uint64_t value, std::string_view field,
                    std::string_view called = {}) {
    if (allowed.contains(value)) return;
    const auto problem = value == 0 ? cat("must be given: a number of ", allowed.least, " to ", allowed.most)
                                    : cat("must be ", allowed.least, " to ", allowed.most, ", not ", value);
    all.push_back({std::string(field), cat(called.empty() ? field : called, " ", problem)});
  }

  std::vector<throttler_fault> all;
};

void check_throttler_name(const throttler& t, fault_list& faults) {
  const auto& name = t.name;
  const auto shown = cat("'", printable(name), "' ");
  if (name.empty() || name.size() > longest_throttler_name)
    return faults.add("name", cat("must have 1 to ", longest_throttler_name, " bytes, not ", name.size()));
  if (printable(name, name.size()) != name)
    return faults.add("name", cat(shown, "must be UTF-8 without control characters; take them out"));
  // "KIND:NAME/KEY" is the line of a key.
  if (t.kind != mutex && t.kind != semaphore && name.find('/') != std::string::npos)
    faults.add("name", cat(shown, "must not hold a '/'; use '-' or '.'"));
}

// What the kind has no use for must be as it is by default: whoever set it meant something else.
void check_unused(const throttler& t, fault_list& faults) {
  for (const auto& field : throttler_fields())
    if (field.is_set(t) && !uses(t.kind, field.name)) faults.add(field.name, not_of(t.kind));
}

void check_interval(const throttler& t, fault_list& faults) {
  if (throttle_interval.contains(t.interval)) return;
  if (t.interval == duration{0}) return faults.add("interval", "must be given: a time of 1s to 366d");
  faults.add("interval",
             cat("must be ", format_duration(throttle_interval.least), " to 366d, not ", format_duration(t.interval)));
}

void check_buckets(const throttler& t, fault_list& faults) {
  if (!throttle_buckets.contains(t.buckets)) return faults.check_number(throttle_buckets, t.buckets, "buckets");
  if (!throttle_interval.contains(t.interval) || t.interval >= t.buckets * shortest_bucket) return;
  faults.add("buckets",
             cat("must be ", format_duration(shortest_bucket), " or longer each: in an interval of ",
                 format_duration(t.interval), " at most ", t.interval / shortest_bucket, ", not ", t.buckets));
}

void check_key(const throttler& t, fault_list& faults) {
  if (t.key.empty()) return faults.add("key", "must be a template over args, as tenant:{tenant_id}, and is empty");
  if (const auto sound = parse_key_template(t.key); !sound) faults.add("key", sound.error().message);
}

// Each of these stands within the one before it, so the first that is wrong is told.
void check_shares(const throttler& t, fault_list& faults) {
  if (t.limit != 0)
    return faults.add(
        "limit", "is the same for each key and min_limit and max_limit share the capacity: leave out one or the other");
  if (!throttle_limit.contains(t.capacity)) return faults.check_number(throttle_limit, t.capacity, "capacity");
  const ranges::range<std::uint64_t> of_most{1, t.capacity};
  if (!of_most.contains(t.max_limit)) return faults.check_number(of_most, t.max_limit, "max_limit");
  faults.check_number({1, t.max_limit}, t.min_limit, "min_limit");
}

void check_limit_of_keys(const throttler& t, fault_list& faults) {
  if (!throttle_limit.contains(t.limit))
    return faults.check_number(throttle_limit, t.limit, "limit", "limit (or min_limit and max_limit)");
  if (t.capacity != 0)
    faults.check_number({t.limit, throttle_limit.most}, t.capacity, "capacity", "capacity, if there is one,");
}

void check_dynamic(const throttler& t, fault_list& faults) {
  check_key(t, faults);
  const bool is_ranged = t.min_limit != 0 || t.max_limit != 0;
  is_ranged ? check_shares(t, faults) : check_limit_of_keys(t, faults);
}

}  // namespace

std::vector<throttler_fault> faults_of(const throttler& t) {
  fault_list faults;
  if (name_of(t.kind).empty()) return {{"kind", "its kind is none that there is"}};
  check_throttler_name(t, faults);
  check_unused(t, faults);
  if (t.kind == mutex || t.kind == custom) return faults.all;
  if (t.kind != semaphore) check_interval(t, faults);
  if (t.kind == sliding_window || t.kind == dynamic_window) check_buckets(t, faults);
  if (t.kind == dynamic_window) check_dynamic(t, faults);
  else faults.check_number(throttle_limit, t.limit, "limit");
  return faults.all;
}

std::string told_of(const throttler& t, const throttler_fault& fault) {
  return cat(words_of(t.kind), " '", printable(t.name, longest_throttler_name), "': ", fault.problem);
}

result<void> check(const throttler& definition) {
  const auto faults = faults_of(definition);
  return faults.empty() ? result<void>() : invalid(told_of(definition, faults.front()));
}

}  // namespace sluice
