#include <map>

#include "client/parts.hpp"
#include "client/status.hpp"
#include "core/throttlers.hpp"
#include "throttling/definition.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t shown = 20;  // holders, and waiters

error no_throttler(const std::string& resource) {
  return {errc::not_found, cat("there is no throttler ", printable(resource, 200))};
}

}  // namespace

result<void> client::parts::each_throttler(std::string after, const std::function<bool(storage::throttler_row)>& look) {
  storage::throttlers_request asked;
  asked.after = std::move(after);
  do {
    auto got = ask_for<storage::throttlers_answer>(asked);
    if (!got) return got.error();
    for (auto& row : got->throttlers)
      if (!look(std::move(row))) return {};
    asked.after = std::move(got->next);
  } while (!asked.after.empty());
  return {};
}

result<storage::cell_view> client::parts::cell_of(const std::string& resource) {
  if (const auto kind = kind_of(resource); !kind || !has_cell(*kind)) return storage::cell_view();
  auto got = ask_for<storage::cell_answer>(storage::cell_request{resource});
  if (!got) return got.error();
  return std::move(got->cell);
}

// Whoever waits for a dynamic window waits in the line of a key.
result<void> client::parts::add_keys(throttler_status& status) {
  const auto prefix = status.resource + "/";
  std::vector<std::string> lines;
  auto read = each_throttler(prefix, [&](const storage::throttler_row& line) {
    if (!line.resource.starts_with(prefix)) return false;
    add_line(status, line);
    if (lines.size() < shown) lines.push_back(line.resource);
    return true;
  });
  if (!read) return read;
  for (const auto& line : lines) {
    const auto left = shown - static_cast<std::uint32_t>(status.waiters.size());
    if (left == 0) break;
    auto got = ask_for<storage::throttler_answer>(storage::throttler_request{line, left});
    if (!got) return got.error();
    for (auto& id : got->waiters)
      status.waiters.push_back(std::move(id));
  }
  return {};
}

result<void> client::set_throttler(const sluice::throttler& definition) {
  if (auto fine = throttling::check(definition); !fine) return fine;
  const auto got = parts_->ask_for<storage::define_answer>(storage::to_define(definition));
  return got ? result<void>() : result<void>(got.error());
}

result<void> client::remove_throttler(throttler_kind kind, const std::string& name) {
  return parts_->change(storage::undefine_request{resource_of(kind, name)});
}

result<std::vector<throttler_status>> client::throttlers() {
  std::vector<storage::throttler_row> rows, lines;  // lines of keys
  const auto read = parts_->each_throttler({}, [&](storage::throttler_row row) {
    (throttler_of(row) == row.resource ? rows : lines).push_back(std::move(row));
    return true;
  });
  if (!read) return read.error();
  std::vector<throttler_status> all;
  std::map<std::string, std::size_t> place;
  for (const auto& row : rows) {
    const auto cell = parts_->cell_of(row.resource);
    if (!cell) return cell.error();
    place[row.resource] = all.size();
    all.push_back(status_of(row, *cell));
  }
  for (const auto& line : lines)
    if (const auto at = place.find(throttler_of(line)); at != place.end()) add_line(all[at->second], line);
  return all;
}

result<throttler_status> client::throttler(throttler_kind kind, const std::string& name) {
  const auto resource = resource_of(kind, name);
  auto got = parts_->ask_for<storage::throttler_answer>(storage::throttler_request{resource, shown});
  if (!got) return got.error();
  const auto cell = parts_->cell_of(throttler_of(got->about));
  if (!cell) return cell.error();
  auto status = status_of(got->about, *cell);
  for (const auto& h : got->holders)
    status.holders.push_back({h.id, h.fence, h.reserved, h.since});
  status.waiters = std::move(got->waiters);
  if (throttler_of(got->about) == resource && kind == throttler_kind::dynamic_window)
    if (const auto added = parts_->add_keys(status); !added) return added.error();
  const bool known =
      status.definition || status.held + status.waiting > 0 || kind == throttler_kind::mutex || cell->version > 0;
  if (!known) return no_throttler(resource);
  return status;
}

}  // namespace sluice
