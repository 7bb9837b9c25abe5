// A throttler of Sluice's own, whose state is in the store: it turns runs that want in into requests, and answers into
// verdicts. Whoever drives it carries the requests to the store and back: an actor by message, a test's world at once.
// Pure but for the log and what `why_undefined` does. Used by one thread at a time.
#pragma once

#include <functional>

#include <sluice/throttling.hpp>

#include "execution/execution_config.hpp"

namespace sluice::execution {

class store_throttler {
public:
  using verdicts_callback = std::function<void(std::vector<throttle_verdict>)>;

  store_throttler() = default;
  store_throttler(const store_throttler&) = delete;
  virtual ~store_throttler() = default;

  // These want in; `then` is told a verdict for each, in their order. `park_for`: an actor of the host has said that
  // they wait: none is let in, and they are asked about again after this.
  virtual void acquire(std::vector<throttle_request> runs, std::optional<duration> park_for,
                       verdicts_callback then) = 0;
  // Whoever waits in its lines may be woken.
  virtual void look_at_lines() {}

  // What to ask the store now; none: there is nothing to ask. The next question waits for `answered`. `now`: by the
  // store's clock.
  virtual std::optional<storage::request> next_question(time_point now) = 0;
  // An error: asking again would not help.
  virtual void answered(result<storage::answer> told, time_point now) = 0;
};

// Names all permits of a run, which are one question, where others are named by their resource.
inline constexpr const char* all_permits = "permits";

// `why_undefined`: what a job is told that names a throttler which the store does not know.
using undefined_reason = std::function<std::string(std::string_view resource)>;
// `resource`: `all_permits`, or a limiter: a window, or a custom throttler.
std::unique_ptr<store_throttler> make_store_throttler(const std::string& resource,
                                                      std::shared_ptr<const execution_config> config,
                                                      undefined_reason why_undefined);

// What a run is told whose throttler is not defined, or whose store refuses to say.
throttle_verdict undecided(std::string why);
throttle_verdict undecided_by_store(const error& why);

}  // namespace sluice::execution
