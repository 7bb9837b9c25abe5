#include "storage/requeue_failed.hpp"

#include <algorithm>
#include <memory>

#include "core/no_job.hpp"
#include "core/ranges.hpp"
#include "core/text.hpp"

namespace sluice::storage {
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
    ask_for<names_answer>(store_, failed_members_request{group_, skip_},
                          [self = shared_from_this()](const result<names_answer>& some) {
                            if (some) return self->requeue(some->names);
                            self->told_.ended_early = some.error();
                            self->next();
                          });
  }

  void requeue(const std::vector<std::string>& members) {
    left_ = members.size() < largest_page ? 0 : left_ - std::min<std::uint64_t>(left_, members.size());
    skip_ += members.size();  // but for those that are requeued, since they stand among the failed no more
    open_ = 1;
    for (const auto& member : members) {
      if (member.starts_with('@')) continue;
      ++open_;
      ask_for<change_answer>(
          store_, requeue_request{job_id(member), job_state::failed, by_},
          [self = shared_from_this(), member](const result<change_answer>& one) { self->requeued(member, one); });
    }
    settled();
  }

  void requeued(const std::string& id, const result<change_answer>& one) {
    if (!one) told_.ended_early = one.error();
    else if (one->code != errc::none) told_.refused = error{one->code, one->message};
    else if (one->changed) {
      told_.ids.push_back(id);
      --skip_;
    }
    settled();
  }

  void settled() {
    if (--open_ == 0) next();
  }

  async_store store_;
  group_name group_;
  author by_;
  callback<requeued_members> then_;
  requeued_members told_;
  std::uint64_t left_ = 0, skip_ = 0, open_ = 0;
};

}  // namespace

void requeue_failed(const async_store& store, const group_name& name, const author& by,
                    const callback<requeued_members>& then) {
  if (auto fine = check(new_group{name}); !fine) return then(fine.error());
  const auto work = std::make_shared<requeuing>(store, name, by, then);
  ask_for<groups_answer>(store, groups_request{name, 1}, [work, name, then](const result<groups_answer>& known) {
    if (!known) return then(known.error());
    if (known->page.groups.empty()) return then(no_group(name.value));
    const auto& group = known->page.groups.front();
    if (group.cancelled) return then(error{errc::illegal_transition, cat("group ", name.value, " was cancelled")});
    work->begin(group.failed);
  });
}

}  // namespace sluice::storage
