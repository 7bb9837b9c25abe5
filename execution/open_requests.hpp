// What a queue's dispatcher has asked of the store and has no answer to.
#pragma once

#include <array>

#include "execution/claimed_run.hpp"

namespace sluice::execution {

struct open_request {
  std::uint64_t number = 0;
  std::uint32_t slot = 0;
  std::vector<ended_run> ending;
  std::optional<storage::claim_request> claim{};
  std::uint32_t wanted = 0;       // jobs
  std::uint64_t op = 0;           // of the claim
  bool suspect_reserved = false;  // execution_context::suspects is ours
  steady_point sent{};            // for the first time
  std::uint32_t failures = 0;
  bool sent_again_later = false;  // the store refused it, and a timer runs
  bool handlers_told = false;     // these are ends that the store refused before
};
using open_request_ptr = std::shared_ptr<open_request>;

// Two at most settle and claim at the same time. Beside them those about ends that the store refused, which are asked
// again after a while.
class open_requests {
public:
  // None when both are under way.
  std::optional<std::uint32_t> free_slot() const {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot)
      if (!slots_[slot]) return slot;
    return std::nullopt;
  }
  // One that is under way, if one is.
  open_request_ptr any() const { return slots_[0] ? slots_[0] : slots_[1]; }
  void add(const open_request_ptr& request) { slots_.at(request->slot) = request; }
  void add_refused(const open_request_ptr& request) { refused_.push_back(request); }
  // True: it was one of those that the store refused.
  bool remove(const open_request_ptr& request) {
    if (std::erase(refused_, request) > 0) return true;
    slots_.at(request->slot).reset();
    return false;
  }
  open_request_ptr find(std::uint64_t number) const {
    for (const auto& one : slots_)
      if (one && one->number == number) return one;
    for (const auto& one : refused_)
      if (one->number == number) return one;
    return nullptr;
  }
  std::vector<open_request_ptr> all() const {
    auto all = refused_;
    for (const auto& one : slots_)
      if (one) all.push_back(one);
    return all;
  }
  // Jobs, by all that are under way.
  std::uint32_t wanted() const {
    std::uint32_t n = 0;
    for (const auto& one : slots_)
      n += one ? one->wanted : 0;
    return n;
  }
  std::size_t refused_ends() const {
    std::size_t n = 0;
    for (const auto& one : refused_)
      n += one->ending.size();
    return n;
  }

private:
  std::array<open_request_ptr, 2> slots_;
  std::vector<open_request_ptr> refused_;
};

}  // namespace sluice::execution
