#include "operations/groups.hpp"
#include "client/parts.hpp"

namespace sluice {

using operations::group_change;

result<void> client::parts::change_group(operations::group_change change, const new_group& group,
                                         std::string_view noted_as) {
  const auto changed = carry_out<bool>(
      [&](const auto& store, const auto& then) { operations::change_group(store, change, group, then); });
  if (!changed) return changed.error();
  if (*changed) note(noted_as, {group.name.value});
  return {};
}

result<void> client::create_group(const new_group& group) {
  return parts_->change_group(group_change::create, group, "make group");
}
result<void> client::seal_group(const group_name& name) {
  return parts_->change_group(group_change::seal, {name}, "seal group");
}
result<void> client::cancel_group(const group_name& name) {
  return parts_->change_group(group_change::cancel, {name}, "cancel group");
}

result<group_status> client::group(const group_name& name) {
  return parts_->carry_out<group_status>(
      [&](const auto& store, const auto& then) { operations::find_group(store, name, then); });
}

result<group_page> client::groups(std::uint32_t limit, const std::string& after) {
  if (auto fine = check_limit(limit); !fine) return fine.error();
  auto got = parts_->ask_for<storage::groups_answer>(storage::groups_request{{}, limit, after});
  if (!got) return got.error();
  return std::move(got->page);
}

result<std::uint64_t> client::requeue_failed(const group_name& name) {
  const auto told = parts_->carry_out<operations::requeued_members>(
      [&](const auto& store, const auto& then) { operations::requeue_failed(store, name, parts_->options.by, then); });
  if (!told) return told.error();
  parts_->note("requeue", told->ids);
  return told->count();
}

}  // namespace sluice
