#include "client/asking.hpp"

#include <thread>

namespace sluice {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr duration first_pause = 20ms;
constexpr duration longest_pause = 500ms;
constexpr duration longest_patience = 24h * 365;

}  // namespace

storage::answer ask(storage::runner& of, const storage::request& r, duration patience) {
  const auto deadline = steady_clock::now() + std::min(patience, longest_patience);
  bool unknown = false;
  for (duration pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    auto answers = of.call({r}, deadline);
    const auto* failed = std::get_if<error>(&answers.at(0));
    if (!failed) return std::move(answers[0]);
    unknown = unknown || failed->code == errc::unknown_outcome;
    // Full does not mend itself within a deadline; the caller decides.
    const bool again = waiting_helps(failed->code) && failed->code != errc::storage_full;
    // A store that is held by another is waited for as a whole, or not at all: cut off in between, we
    // could not say whether it was stored.
    const auto needed = failed->code == errc::storage_busy ? storage::patience_with_others + pause : pause;
    if (!again || steady_clock::now() + needed >= deadline)
      return unknown ? storage::answer(error{errc::unknown_outcome, failed->message}) : std::move(answers[0]);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace sluice
