// Lets the runs of a world in as the throttlers of their types say, by the same steps as a server.
#pragma once

#include "execution/election.hpp"
#include "storage/async_store.hpp"

namespace sluice::testing {

class gate {
public:
  // `ask`: answers, and never with an error.
  gate(storage::asker ask, std::shared_ptr<const execution::execution_config> config)
      : ask_(std::move(ask)), config_(std::move(config)) {}

  // A run that is not let in waits in a line of the store, unless there is an end to be stored of it. `admitted`: what
  // its claim told that it has already. A std::runtime_error names a custom throttler that no limiter stands for.
  struct verdict {
    bool is_let_in = true;
    std::optional<execution::elected_end> end{};
  };
  verdict admit(const job& about, std::uint32_t failures, const std::vector<std::string>& admitted) const;

  // Wakes whoever this limiter has room for now.
  void look_at_lines(const std::string& limiter) const;

private:
  template <class Answer, class Request>
  Answer asked(Request r) const {
    return std::get<Answer>(ask_(r));
  }
  verdict take_permits(const execution::throttle_plan& plan, const job& about, std::vector<std::string> permits) const;
  verdict take_slot(const execution::throttle_plan& plan, const job& about, std::uint32_t failures,
                    const std::string& limiter) const;

  storage::asker ask_;
  std::shared_ptr<const execution::execution_config> config_;
};

}  // namespace sluice::testing
