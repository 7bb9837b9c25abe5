// What a pool holds: every run from its claim until the store has its end. Not thread-safe: it is reached through
// pool::lock alone.
#pragma once

#include "execution/claim_plan.hpp"
#include "execution/election.hpp"
#include "execution/ended_runs.hpp"
#include "execution/run_chains.hpp"

namespace sluice::execution {

// How long handlers ran of late.
class handler_times {
public:
  // A new measure weighs an eighth, but one slow handler is believed at once.
  void note(duration ran) {
    const auto us = static_cast<double>(ran.count());
    typical_us_ = us > 8 * typical_us_ + 1'000 ? us : typical_us_ + (us - typical_us_) / 8;
    measured_ = true;
  }
  duration typical() const { return duration(static_cast<std::int64_t>(std::max(typical_us_, 1.0))); }
  bool measured() const { return measured_; }

private:
  double typical_us_ = 0;
  bool measured_ = false;
};

class run_buffer {
public:
  explicit run_buffer(std::shared_ptr<const execution_config> runs_by);

  std::unordered_map<sluice::fence, run_ptr> held{};
  std::deque<run_ptr> queue{};  // of those held: they wait for a worker
  run_chains chains;
  ended_runs ended{};                     // of those held: nobody has taken their ends to the store yet
  std::vector<std::stop_source> stops{};  // of handlers that are to hear of it when the lock is free
  std::uint32_t open_claims = 0;          // their answers are still to come
  bool draining = false;                  // nothing begins any more
  bool progress_waits = false;            // to be taken

  run_state& state_of(const run_ptr& run) const { return run->state_; }
  pool_load load() const;  // but its workers

  // A claim is under way from here to its `claim_answered`, and the pool does not count as empty. False once the pool
  // drains: then nothing may be claimed.
  bool open_claim();
  void claim_answered(bool is_refused = false);
  // Nothing was held for so long, and no claim was refused, which may be done by halves.
  bool is_idle(duration for_long) const;

  // Takes over claimed runs. Those of an answer that came before are left out.
  void accept(const std::vector<run_ptr>& runs);
  // The same of runs that throttlers must let in first. Answers those that were not held before.
  std::vector<run_ptr> hold(std::vector<run_ptr> runs);
  // Answers those that have ended meanwhile.
  std::vector<run_ptr> admit(const std::vector<run_ptr>& runs);
  // It is not let in, and ends so. Without an end it waits in the store, or is no longer ours. False: it has ended
  // already.
  bool end_admission(const run_ptr& run, std::optional<elected_end> end);
  // The store has taken the end of this run, or refused it for good.
  void release(sluice::fence f);

  // Whether the first that waits can begin. Those whose leases are over may be somebody else's by now: they end.
  bool has_next();
  // The first that waits runs from now on.
  run_ptr begin_next();
  // Its handler is over, or nobody waits for it any more (then its time says nothing). Answers how long it ran. Its end
  // must be filed soon.
  duration stop_running(const run_ptr& run, bool is_over);
  // Its end is there to be taken, and the next of its chain may begin.
  void file(const run_ptr& run, elected_end end);
  // The same of one that no handler has begun; nothing when one has.
  void give_back(const run_ptr& run, const std::string& why);
  // Of one that has not begun: it is given back. Else its handler is asked to stop. The first cause stands, but for one
  // that was cancelled and goes on until it is late or lost.
  void ask_to_stop(const run_ptr& run, stop_reason cause, steady_point now);

private:
  bool take(const run_ptr& run);
  void enqueue(const run_ptr& run, bool first = false);
  void end_turn(const run_ptr& run);
  steady_point now() const;

  const std::shared_ptr<const execution_config> config_;
  pool_load counts_{};
  handler_times times_{};
  steady_point used_;  // when a run was let go or a claim was refused last
};

}  // namespace sluice::execution
