#include "client/asking.hpp"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "core/log.hpp"
#include "core/text.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr duration first_pause = 20ms;
constexpr duration longest_pause = 500ms;
constexpr duration longest_wait_for_it = 24h * 365;

}  // namespace

storage::answer ask(storage::shared_store& of, const storage::request& r, duration timeout) {
  return std::move(ask(of, storage::shared_store::requests{r}, timeout).front());
}

storage::answer ask_once(storage::shared_store& of, const storage::request& r, duration timeout) {
  return std::move(of.call({r}, steady_clock::now() + std::min(timeout, longest_wait_for_it)).front());
}

storage::shared_store::answers ask(storage::shared_store& of, const storage::shared_store::requests& all,
                                   duration timeout) {
  const auto deadline = steady_clock::now() + std::min(timeout, longest_wait_for_it);
  storage::shared_store::answers answers(all.size());
  std::vector<bool> unknown(all.size());
  std::vector<std::size_t> open(all.size());  // places of those that are asked
  std::iota(open.begin(), open.end(), 0);
  auto asked = all;
  for (duration pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    auto told = of.call(std::move(asked), deadline);
    std::vector<std::size_t> again;
    auto needed = pause;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const auto i = open[k];
      answers[i] = std::move(told[k]);
      // What was perhaps done is so already by that, or has gone on since and is in no state for it to be done again.
      const auto perhaps_done = [](storage::change_answer& one) {
        one.changed = true;
        if (one.code == errc::illegal_transition) one.code = errc::unknown_outcome;
      };
      if (auto* one = std::get_if<storage::change_answer>(&answers[i]); one && unknown[i]) perhaps_done(*one);
      if (auto* some = std::get_if<storage::change_jobs_answer>(&answers[i]); some && unknown[i])
        std::for_each(some->each.begin(), some->each.end(), perhaps_done);
      // A store that is full refuses before it looks what is there already.
      if (auto* stored = std::get_if<storage::enqueue_answer>(&answers[i]); stored && unknown[i])
        std::replace(stored->each.begin(), stored->each.end(), errc::storage_full, errc::unknown_outcome);
      const auto* failed = std::get_if<error>(&answers[i]);
      if (!failed) continue;
      unknown[i] = unknown[i] || failed->code == errc::unknown_outcome;
      // Full does not mend itself within a deadline; the caller decides.
      if (is_transient(failed->code) && failed->code != errc::storage_full) again.push_back(i);
      // A store that is held by another is waited for as a whole, or not at all: cut off in between, we
      // could not say whether it was stored.
      if (failed->code == errc::storage_busy) needed = storage::busy_timeout + pause;
    }
    if (again.empty() || steady_clock::now() + needed >= deadline) break;
    std::this_thread::sleep_for(pause);
    open = std::move(again);
    asked.clear();
    for (const auto i : open)
      asked.push_back(all[i]);
  }
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (auto* failed = std::get_if<error>(&answers[i]); failed && unknown[i]) failed->code = errc::unknown_outcome;
  return answers;
}

result<std::shared_ptr<storage::shared_store>> open_within(const std::string& url, open_mode mode, duration timeout) {
  const auto deadline = steady_clock::now() + std::min(timeout, longest_wait_for_it);
  bool is_told = false;
  for (duration pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    auto opened = storage::open_shared_store(url, nullptr, mode);
    if (opened) return opened;
    const auto& why = opened.error();
    if (why.code != errc::storage_unavailable && why.code != errc::storage_busy) return opened;
    // As above: a file that is held is waited for as a whole, or not at all.
    const auto needed = why.code == errc::storage_busy ? storage::busy_timeout + pause : pause;
    if (steady_clock::now() + needed >= deadline) return opened;
    if (!std::exchange(is_told, true))
      log::warn("a store cannot be opened yet; the client goes on trying until its deadline: ", to_string(why));
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace sluice
