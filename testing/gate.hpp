// Lets the runs of a world in as the throttlers of their types say, by the steps of a server's gate.
#pragma once

#include "core/clock.hpp"
#include "execution/admissions.hpp"
#include "execution/store_throttler.hpp"
#include "storage/async_store.hpp"

namespace sluice::testing {

// What stands for a throttler that is an actor: by resource.
struct throttler_function {
  std::function<throttle_verdict(const throttle_request&)> decide;
  std::function<void(const throttled_end&)> ended;
};
using throttler_functions = std::map<std::string, throttler_function>;

class gate {
public:
  // `ask`: answers, and never with an error.
  gate(storage::asker ask, std::shared_ptr<const clock> time, const throttler_functions& actors,
       std::shared_ptr<const execution::execution_config> config)
      : ask_(std::move(ask)), time_(std::move(time)), actors_(actors), config_(config), steps_(std::move(config)) {}

  // A std::runtime_error names a custom throttler for which neither limiter nor function stands.
  execution::admission_verdict admit(const execution::admission_request& one);
  // Wakes those for whom this limiter has room now. False: another server's code decides.
  bool look_at_lines(const std::string& limiter);
  // A run that was let in has ended.
  void notify_run_ended(const throttled_end& end) const;

private:
  execution::admission_verdict verdict_on(const execution::admission_request& one);
  void tell_ended(const std::string& custom, const throttled_end& end) const;
  std::vector<throttle_verdict> ask(const execution::throttler_question& q);
  execution::store_throttler& own(const std::string& resource);
  void work_off(execution::store_throttler& by) const;

  storage::asker ask_;
  std::shared_ptr<const clock> time_;
  const throttler_functions& actors_;
  std::shared_ptr<const execution::execution_config> config_;
  execution::admissions steps_;
  std::map<std::string, std::unique_ptr<execution::store_throttler>> own_;
};

}  // namespace sluice::testing
