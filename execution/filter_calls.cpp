#include "execution/filter_calls.hpp"

#include "core/job_state.hpp"
#include "core/log.hpp"
#include "execution/election.hpp"
#include "execution/execution_context.hpp"

namespace sluice::execution {

void filter_calls::add_stored(std::vector<stored_end> ends) {
  const mutex_lock held(lock_);
  std::move(ends.begin(), ends.end(), std::back_inserter(stored_));
}

void filter_calls::add_rejected(std::vector<admission_verdict> runs) {
  const mutex_lock held(lock_);
  std::move(runs.begin(), runs.end(), std::back_inserter(rejected_));
}

std::size_t filter_calls::call() {
  const auto of = context_.lock();
  if (!of) return 0;
  std::vector<stored_end> stored;
  std::vector<admission_verdict> rejected;
  {
    const mutex_lock held(lock_);
    stored = std::exchange(stored_, {});
    rejected = std::exchange(rejected_, {});
  }
  for (const auto& one : rejected) {
    if (!pool_->awaits_admission(one.run)) continue;  // a supervisor's successor had it judged again
    auto end = end_without_run(*of->config, one);
    pool_->lock()->end_admission(one.run, std::move(end));
  }
  for (const auto& one : stored) {
    if (one.answer == errc::none) notify_applied(*of->config, one.end.run->about, one.end.elected);
    finish(*of, one);
  }
  return stored.size() + rejected.size();
}

void filter_calls::finish(execution_context& of, const stored_end& one) {
  const auto& about = one.end.run->about;
  const auto& settlement = *one.end.settlement;
  if (one.answer == errc::none) {
    const bool for_good = settlement.end == run_end::failed || settlement.end == run_end::given_up;
    if (settlement.failure)
      log::write(for_good ? log::level::error : log::level::warn,
                 cat("job ", about.id.value, " (", about.type.value, "): ", settlement.reason));
    if (!goes_on(settlement.end)) of.watched.ended(about.id);
  } else {
    log::warn("the end (", settlement.cause, ") of job ", about.id.value, " was refused: ",
              one.answer == errc::stale_fence
                  ? "this run was lost before; its lease ran out, or the job was taken from it"
                  : describe(one.answer));
  }
  pool_->lock()->release(about.fence);  // at last: a stop waits for this
}

}  // namespace sluice::execution
