// Throttlers, as a client changes them and looks at them, and why a job does not run.
#include "core/throttlers.hpp"
#include "client/parts.hpp"
#include "operations/jobs.hpp"
#include "operations/throttlers.hpp"

namespace sluice {

using operations::async_store;
using operations::callback;

result<throttler_change> client::set_throttler(const sluice::throttler& definition) {
  auto set = parts_->carry_out<throttler_change>([&](const async_store& store, const callback<throttler_change>& then) {
    operations::set_throttler(store, definition, then);
  });
  if (set && !set->changes.empty()) parts_->note("set throttler", {cat(set->resource, ": ", set->changes)});
  else if (set && set->is_new) parts_->note("set throttler", {set->resource});
  return set;
}

result<void> client::remove_throttler(throttler_kind kind, const std::string& name) {
  const auto removed = parts_->carry_out<std::string>([&](const async_store& store, const callback<std::string>& then) {
    operations::remove_throttler(store, kind, name, then);
  });
  if (!removed) return removed.error();
  parts_->note("remove throttler", {*removed});
  return {};
}

result<std::vector<throttler_status>> client::throttlers() {
  return parts_->carry_out<std::vector<throttler_status>>(operations::all_throttlers);
}

result<throttler_status> client::throttler(throttler_kind kind, const std::string& name) {
  return parts_->carry_out<throttler_status>([&](const async_store& store, const callback<throttler_status>& then) {
    operations::one_throttler(store, kind, name, then);
  });
}

result<holder_page> client::holders(throttler_kind kind, const std::string& name, std::uint32_t limit,
                                    const std::string& after) {
  if (auto fine = check_limit(limit); !fine) return fine.error();
  auto got = parts_->ask_for<storage::holders_answer>(storage::holders_request{resource_of(kind, name), limit, after});
  if (!got) return got.error();
  if (got->page.holders.empty())
    if (const auto known = throttler(kind, name); !known) return known.error();
  return std::move(got->page);
}

result<waiter_page> client::waiters(throttler_kind kind, const std::string& name, std::uint32_t limit,
                                    const std::string& after) {
  if (auto fine = check_limit(limit); !fine) return fine.error();
  if (kind == throttler_kind::dynamic_window && name.find('/') == std::string::npos)
    return error{errc::invalid_argument,
                 cat("a dynamic window has a line for each of its keys: name ", printable(name, 200), "/KEY")};
  auto got = parts_->ask_for<storage::waiters_answer>(storage::waiters_request{resource_of(kind, name), limit, after});
  if (!got) return got.error();
  if (got->page.waiters.empty())
    if (const auto known = throttler(kind, name); !known) return known.error();
  return std::move(got->page);
}

result<explanation> client::explain(const job_id& id) {
  return parts_->carry_out<explanation>([&](const async_store& store, const callback<explanation>& then) {
    operations::explain_job(
        store, id, [this] { return parts_->shared_store->now(); }, then);
  });
}

}  // namespace sluice
