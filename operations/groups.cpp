#include "operations/groups.hpp"

#include <algorithm>
#include <memory>

#include "core/no_job.hpp"
#include "core/ranges.hpp"
#include "core/text.hpp"
#include "operations/jobs.hpp"

namespace sluice::operations {
namespace {

// Those that fail anew meanwhile are met again: no more are looked at than had failed when it began.
class requeuing : public std::enable_shared_from_this<requeuing> {
public:
  requeuing(async_store store, group_name group, author by, callback<requeued_members> then)
      : store_(std::move(store)), group_(std::move(group)), by_(std::move(by)), then_(std::move(then)) {}

  void begin(std::uint64_t failed) {
    left_ = failed;
    next();
  }

private:
  void next() {
    if (left_ == 0 || told_.ended_early) return then_(std::move(told_));
    storage::ask_for<storage::names_answer>(store_, storage::failed_members_request{group_, skip_},
                                            [self = shared_from_this()](const result<storage::names_answer>& some) {
                                              if (some) return self->requeue(some->names);
                                              self->told_.ended_early = some.error();
                                              self->next();
                                            });
  }

  void requeue(const std::vector<std::string>& members) {
    left_ = members.size() < storage::largest_page ? 0 : left_ - std::min<std::uint64_t>(left_, members.size());
    skip_ += members.size();  // but for those that are requeued, since they stand among the failed no more
    storage::change_jobs_request wanted{storage::job_change::requeue, {}, job_state::failed, by_};
    for (const auto& member : members)
      if (!member.starts_with('@')) wanted.ids.emplace_back(member);
    change_jobs(store_, wanted, [self = shared_from_this(), ids = wanted.ids](const result<changes>& each) {
      for (std::size_t i = 0; i < ids.size(); ++i)
        self->requeued(ids[i].value, each->at(i));
      self->next();
    });
  }

  void requeued(const std::string& id, const result<storage::change_answer>& one) {
    if (!one) told_.ended_early = one.error();
    else if (one->code != errc::none) told_.refused = storage::refusal(*one);
    else if (one->changed) {
      told_.ids.push_back(id);
      --skip_;
    }
  }

  async_store store_;
  group_name group_;
  author by_;
  callback<requeued_members> then_;
  requeued_members told_;
  std::uint64_t left_ = 0, skip_ = 0;
};

}  // namespace

void change_group(const async_store& store, group_change change, const new_group& group, const callback<bool>& then) {
  if (auto fine = check(group); !fine) return then(fine.error());
  storage::ask_for<storage::change_answer>(store, storage::change_group_request{change, group},
                                           [then](result<storage::change_answer> told) {
                                             if (!told) then(told.error());
                                             else if (told->code == errc::none) then(told->changed);
                                             else then(storage::refusal(*told));
                                           });
}

void find_group(const async_store& store, const group_name& name, const callback<group_status>& then) {
  if (auto fine = check(new_group{name}); !fine) return then(fine.error());
  storage::ask_for<storage::groups_answer>(store, storage::groups_request{name, 1},
                                           [name, then](result<storage::groups_answer> got) {
                                             if (!got) then(got.error());
                                             else if (got->page.groups.empty()) then(no_group(name.value));
                                             else then(std::move(got->page.groups.front()));
                                           });
}

void requeue_failed(const async_store& store, const group_name& name, const author& by,
                    const callback<requeued_members>& then) {
  const auto work = std::make_shared<requeuing>(store, name, by, then);
  find_group(store, name, [work, name, then](const result<group_status>& group) {
    if (!group) then(group.error());
    else if (group->cancelled) then(error{errc::illegal_transition, cat("group ", name.value, " was cancelled")});
    else work->begin(group->failed);
  });
}

}  // namespace sluice::operations
