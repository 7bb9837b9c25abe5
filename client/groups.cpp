#include "client/parts.hpp"
#include "core/no_job.hpp"
#include "core/ranges.hpp"
#include "storage/requeue_failed.hpp"

namespace sluice {
namespace {

using what = storage::change_group_request::what;

}  // namespace

result<void> client::parts::change_group(storage::change_group_request asked, std::string_view noted_as) {
  const auto name = asked.group.name;
  if (auto fine = check(asked.group); !fine) return fine;
  auto told = change({std::move(asked)}).front();
  if (!told) return told.error();
  if (told->changed) note(noted_as, {name.value});
  return {};
}

result<void> client::create_group(const new_group& group) {
  return parts_->change_group({what::create, group}, "make group");
}
result<void> client::seal_group(const group_name& name) {
  return parts_->change_group({what::seal, {name}}, "seal group");
}
result<void> client::cancel_group(const group_name& name) {
  return parts_->change_group({what::cancel, {name}}, "cancel group");
}

result<group_status> client::group(const group_name& name) {
  if (auto fine = check(new_group{name}); !fine) return fine.error();
  auto got = parts_->ask_for<storage::groups_answer>(storage::groups_request{name, 1});
  if (!got) return got.error();
  if (got->page.groups.empty()) return no_group(name.value);
  return std::move(got->page.groups.front());
}

result<group_page> client::groups(std::uint32_t limit, const std::string& after) {
  if (auto fine = check_limit(limit); !fine) return fine.error();
  auto got = parts_->ask_for<storage::groups_answer>(storage::groups_request{{}, limit, after});
  if (!got) return got.error();
  return std::move(got->page);
}

result<std::uint64_t> client::requeue_failed(const group_name& name) {
  const auto told = parts_->carry_out<storage::requeued_members>(
      [&](const auto& store, const auto& then) { storage::requeue_failed(store, name, parts_->options.by, then); });
  if (!told) return told.error();
  parts_->note("requeue", told->ids);
  return told->count();
}

}  // namespace sluice
