#include "client/parts.hpp"
#include "core/no_job.hpp"
#include "core/ranges.hpp"

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
  const auto known = group(name);
  if (!known) return known.error();
  if (known->cancelled) return error{errc::illegal_transition, cat("group ", name.value, " was cancelled")};
  // Those that fail anew meanwhile are met again: no more are looked at than had failed when it began.
  std::uint64_t requeued = 0, looked_at = 0;
  std::optional<error> refused;
  for (std::uint64_t skip = 0; looked_at < known->failed;) {
    const auto some = parts_->ask_for<storage::names_answer>(storage::failed_members_request{name, skip});
    if (!some) return some.error();
    std::vector<job_id> ids;
    for (const auto& member : some->names)
      if (!member.starts_with('@')) ids.emplace_back(member);
    std::uint64_t done = 0;
    for (const auto& one : parts_->change<storage::requeue_request>("requeue", ids, job_state::failed)) {
      done += one && one->changed;
      if (!one) refused = one.error();
    }
    requeued += done;
    skip += some->names.size() - done;  // those stay among the failed
    looked_at += some->names.size();
    if (some->names.size() < storage::largest_page) break;
  }
  if (requeued == 0 && refused) return *refused;
  return requeued;
}

}  // namespace sluice
