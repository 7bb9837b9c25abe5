// The throttler whose state is one limiter of the store: a window, or a limiter of the user's. Any number of servers
// have one for the same limiter; whose update comes second decides anew.
#pragma once

#include <deque>

#include "execution/limiter_rule.hpp"
#include "execution/store_throttler.hpp"

namespace sluice::execution {

class limiter_throttler final : public store_throttler {
public:
  limiter_throttler(std::string resource, std::shared_ptr<const execution_config> config,
                    undefined_reason why_undefined)
      : resource_(resource),
        config_(std::move(config)),
        why_undefined_(std::move(why_undefined)),
        rule_(std::move(resource)) {}

  void acquire(std::vector<throttle_request> runs, std::optional<duration> park_for, verdicts_callback then) override;
  void look_at_lines() override { must_read_ = true; }
  std::optional<storage::request> next_question(time_point now) override;
  void answered(result<storage::answer> told, time_point now) override;

private:
  struct batch {
    std::vector<throttle_verdict> verdicts;
    std::size_t left = 0;
    verdicts_callback then;
    std::optional<duration> park_for{};
  };
  struct waiting_ask {
    std::shared_ptr<batch> of;
    std::size_t place = 0;  // of its verdict
    std::shared_ptr<const job> about;
    limiter_ask ask;
  };
  enum class question { none, read, update, forget_next_check };

  std::optional<storage::request> decide(time_point now);
  bool name_line(waiting_ask& one) const;
  void hold_back(limiter_update& planned, time_point now) const;
  void saw(storage::limiter_record limiter, time_point now);
  void updated(const storage::update_limiter_answer& told);
  void refused(const error& why);
  void judge_waiting(const throttle_verdict& verdict);
  static void judge(const waiting_ask& one, throttle_verdict verdict);

  const std::string resource_;
  const std::shared_ptr<const execution_config> config_;
  const undefined_reason why_undefined_;
  limiter_rule rule_;
  std::deque<waiting_ask> waiting_;
  bool must_read_ = false;  // to look at the lines
  bool is_look_ = false;    // what was read is for that
  std::optional<storage::limiter_record> seen_;
  time_point seen_at_{};  // by our store's clock
  int refusals_ = 0;      // in a row, of updates that came too late

  struct {
    question what = question::none;
    std::vector<waiting_ask> asks;  // of an update
    limiter_update planned{};
  } open_;
};

}  // namespace sluice::execution
