#include "client/watched_ends.hpp"

#include <algorithm>

#include "core/job_state.hpp"
#include "operations/jobs.hpp"

namespace sluice {
namespace {

// Else the next look asks again.
bool is_over(const result<job>& now) { return now ? is_final(now->state) : !is_transient(now.error().code); }

}  // namespace

void watched_ends::add(const job_id& id, listener tell) { all_[id].push_back({std::move(tell), looks_}); }

std::vector<job_id> watched_ends::next_look() {
  ++looks_;
  std::vector<job_id> ids;
  auto at = all_.upper_bound(looked_until_);
  for (auto n = std::min(all_.size(), in_next_look_); n > 0; --n, ++at) {
    if (at == all_.end()) at = all_.begin();
    ids.push_back(at->first);
  }
  if (!ids.empty()) looked_until_ = ids.back();
  return ids;
}

std::vector<watched_ends::end> watched_ends::seen(const std::vector<job_id>& ids,
                                                  std::vector<storage::answer>& answers) {
  std::vector<end> ends;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto how = operations::job_of(ids[i], answers.at(i));
    if (how) bytes += how->args.size() + how->result.size();
    const auto found = all_.find(ids[i]);
    if (found == all_.end() || !is_over(how)) continue;
    // Who came while the store was asked may have enqueued or requeued the job meanwhile: the next look is his.
    auto& waiters = found->second;
    const auto told =
        std::stable_partition(waiters.begin(), waiters.end(), [this](const waiter& w) { return w.since == looks_; });
    end one{ids[i], std::move(how), {}};
    for (auto w = told; w != waiters.end(); ++w)
      one.listeners.push_back(std::move(w->tell));
    waiters.erase(told, waiters.end());
    if (waiters.empty()) all_.erase(found);
    if (!one.listeners.empty()) ends.push_back(std::move(one));
  }
  in_next_look_ = most_in_a_look;
  if (bytes > 0) in_next_look_ = std::clamp<std::size_t>(ids.size() * bytes_of_a_look / bytes, 1, most_in_a_look);
  return ends;
}

std::vector<watched_ends::end> watched_ends::give_up(const std::function<error(const job_id&)>& why) {
  std::vector<end> ends;
  for (auto& [id, waiters] : all_) {
    end one{id, why(id), {}};
    for (auto& w : waiters)
      one.listeners.push_back(std::move(w.tell));
    ends.push_back(std::move(one));
  }
  all_.clear();
  return ends;
}

}  // namespace sluice
