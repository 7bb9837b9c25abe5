// What a queue's dispatcher and its pool exchange: claimed runs come in, ended runs go out. Thread-safe.
#pragma once

#include "execution/claim_plan.hpp"
#include "execution/pool_core.hpp"

namespace sluice::execution {

class run_exchange {
public:
  explicit run_exchange(pool_core& core) : core_(core) {}

  // Takes over claimed runs; workers begin them at once. Those of an answer that came before are left out.
  void accept(const std::vector<run_ptr>& runs);
  // The same of runs that throttlers must let in first: they are held, and begin once they are admitted. Answers those
  // that were not held before.
  std::vector<run_ptr> hold(std::vector<run_ptr> runs);
  // Answers those that have ended meanwhile.
  std::vector<run_ptr> admit(const std::vector<run_ptr>& runs);
  // It waits in the store, or is no longer ours. False: it has ended already.
  bool forget(const run_ptr& run);
  // It is not let in, and ends without a handler. Nothing when it has ended already.
  void reject(const run_ptr& run, elected_end end);
  std::vector<run_ptr> awaiting_admission() const;
  bool awaits_admission(const run_ptr& run) const;

  // A claim is under way from here to its `claim_answered`, and the pool does not count as empty. False once the pool
  // drains: then nothing may be claimed.
  bool open_claim();
  void claim_answered(bool is_refused = false);
  // Nothing was held for so long, and no claim was refused, which may be done by halves: from now on nothing is. False:
  // it works on.
  bool end_if_idle(duration for_long);
  bool is_idle(duration for_long) const;

  // See ended_runs.
  std::vector<ended_run> take_ended(std::size_t at_least = 1, std::size_t at_most = SIZE_MAX);
  void notify_when_ended(std::size_t at_least);
  void on_ended(const std::function<void()>& told);
  // The store has taken the end of this run, or refused it for good.
  void release(sluice::fence f);

  pool_load load() const;
  // For a claim: what is wanted of the types whose jobs may share a permit. Where chains may grow, each is asked for
  // once a turn.
  using chains_of_types = decltype(storage::claim_request::chains);
  chains_of_types ask_for_chains(bool may_grow);

private:
  pool_core& core_;
};

}  // namespace sluice::execution
