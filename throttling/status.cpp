#include "throttling/status.hpp"

#include "core/throttlers.hpp"
#include "throttling/windows.hpp"

namespace sluice::throttling {
namespace {

std::optional<std::uint64_t> limit_of(throttler_kind kind, const std::optional<throttler>& definition) {
  if (definition && definition->mode == throttler_mode::release) return std::nullopt;
  if (kind == throttler_kind::mutex) return 1;
  if (!definition || kind == throttler_kind::custom) return std::nullopt;
  if (kind != throttler_kind::dynamic_window) return definition->limit;
  return definition->capacity > 0 ? std::optional(definition->capacity) : std::nullopt;
}

void sooner(std::optional<time_point>& next, const std::optional<time_point>& other) {
  if (other && (!next || *other < *next)) next = other;
}

void count_runs(throttler_status& status, const std::vector<limiter_view>& views) {
  const bool keyed = status.kind == throttler_kind::dynamic_window;
  for (const auto& view : views) {
    status.held += view.used;
    if (keyed) status.keys.push_back(view);
    else sooner(status.next_at, view.next);
  }
}

void count_runs_of_key(throttler_status& status, const std::vector<limiter_view>& views, const std::string& key) {
  const auto& by = *status.definition;
  const bool limited = by.mode == throttler_mode::acquire_and_release;
  status.limit = limited && by.limit > 0 ? std::optional(by.limit) : std::nullopt;
  for (const auto& view : views) {
    if (view.key != key) continue;
    status.held = view.used;
    if (limited) status.limit = view.limit;
    sooner(status.next_at, view.next);
    status.keys.push_back(view);
  }
}

}  // namespace

bool is_limiter(throttler_kind kind) { return kind != throttler_kind::mutex && kind != throttler_kind::semaphore; }

std::string throttler_of(const storage::throttler_row& row) {
  const bool of_key = row.definition.empty() && kind_of(row.resource) == throttler_kind::dynamic_window;
  return of_key ? row.resource.substr(0, row.resource.find('/')) : row.resource;
}

throttler_status status_of(const storage::throttler_row& row, const storage::limiter_record& limiter) {
  throttler_status status;
  status.resource = row.resource;
  status.kind = kind_of(row.resource).value_or(throttler_kind::custom);
  const auto& text = row.definition.empty() ? limiter.definition : row.definition;
  if (auto read = read_throttler(text); !text.empty() && read) status.definition = std::move(*read);
  status.limit = limit_of(status.kind, status.definition);
  status.waiting = row.waiting;
  if (row.waiting > 0) status.next_at = row.next_at;
  if (!is_limiter(status.kind)) {
    status.held = row.held;
    return status;
  }
  const auto by = status.definition ? make_limiter(*status.definition) : nullptr;
  if (!by) return status;
  const auto views = by->describe(limiter.state, limiter.now);
  const auto whole = throttler_of(row);
  if (whole == row.resource) count_runs(status, views);
  else count_runs_of_key(status, views, row.resource.substr(whole.size() + 1));
  return status;
}

void add_line(throttler_status& status, const storage::throttler_row& line) {
  status.waiting += line.waiting;
  if (line.waiting > 0) sooner(status.next_at, line.next_at);
}

}  // namespace sluice::throttling
