// The throttler of all mutexes and semaphores: what a run needs of them is one question to the store.
#pragma once

#include <deque>

#include "execution/store_throttler.hpp"

namespace sluice::execution {

class permits_throttler final : public store_throttler {
public:
  permits_throttler(std::shared_ptr<const execution_config> config, undefined_reason why_undefined)
      : config_(std::move(config)), why_undefined_(std::move(why_undefined)) {}

  void acquire(std::vector<throttle_request> runs, std::optional<duration> park_for, verdicts_callback then) override;
  std::optional<storage::request> next_question(time_point now) override;
  void answered(result<storage::answer> told, time_point now) override;

private:
  struct batch {
    std::vector<throttle_request> runs;
    verdicts_callback then;
  };
  storage::acquire_permits_request::run wish_of(const throttle_request& run) const;
  throttle_verdict verdict_of(const storage::acquire_permits_answer::verdict& said) const;

  const std::shared_ptr<const execution_config> config_;
  const undefined_reason why_undefined_;
  std::deque<batch> waiting_;
  std::vector<batch> asked_;
};

}  // namespace sluice::execution
