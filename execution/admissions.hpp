// The way of claimed runs through the throttlers of their types: custom ones one after the other, then all permits in
// one question, then windows in the order of names. Says whom to ask what, and what follows from the answers; whoever
// drives it asks: the gate by message, a test's world at once. Pure. Used by one thread at a time.
#pragma once

#include <unordered_set>

#include "execution/admission_request.hpp"
#include "execution/execution_config.hpp"

namespace sluice::execution {

// Of a throttler, about some runs. Its driver brings the answer by this number.
struct throttler_question {
  std::uint64_t number = 0;
  std::string resource;                // `all_permits`, or a throttler
  bool to_actor = false;               // an actor of the host is asked; else a store_throttler
  std::optional<duration> park_for{};  // as that of store_throttler::acquire
  std::vector<throttle_request> runs;
};

struct admission_step {
  std::vector<throttler_question> questions;
  std::vector<admission_verdict> verdicts;
  // By custom throttler: these let in runs that do not start after all.
  std::map<std::string, std::vector<throttled_end>> not_started;
};

class admissions {
public:
  explicit admissions(std::shared_ptr<const execution_config> config) : config_(std::move(config)) {}

  // May these begin? Nothing follows for those that are on their way already.
  admission_step admit(const std::vector<admission_request>& asks);
  // A throttler has answered. A verdict that is missing lets nobody in.
  admission_step answered(std::uint64_t number, const std::vector<throttle_verdict>& verdicts);
  // The custom throttler of this question is not there, or says nothing: its runs wait in its line for a while.
  admission_step unanswered(std::uint64_t number);
  // The same question again, as one of ours has died with it. None: it was answered.
  admission_step ask_again(std::uint64_t number);

private:
  struct admittee {
    run_ptr run;
    const throttle_plan* plan = nullptr;
    std::vector<std::string> left{};    // resources to ask, the next first
    std::vector<std::string> let_in{};  // by these custom throttlers
  };
  struct open_question {
    std::string resource;
    bool to_actor = false;
    std::optional<duration> park_for{};
    std::vector<admittee> about;
  };

  void begin(const admission_request& ask, std::vector<admittee>& on, admission_step& step);
  void go_on(std::vector<admittee> some, admission_step& step);
  void ask(open_question of, admission_step& step);
  void wait_in_line(const std::string& resource, std::vector<admittee> some, duration after, admission_step& step);
  void defer(const admittee& one, const std::string& resource, duration after, std::string why, admission_step& step);
  void turn_away(const admittee& one, admission_verdict verdict, admission_step& step);
  void judge(admission_verdict verdict, admission_step& step);
  std::optional<open_question> take(std::uint64_t number);

  std::shared_ptr<const execution_config> config_;
  std::map<std::uint64_t, open_question> open_;
  std::uint64_t last_number_ = 0;
  std::unordered_set<sluice::fence> on_their_way_;
};

}  // namespace sluice::execution
