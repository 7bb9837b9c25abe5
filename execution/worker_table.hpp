// The workers of a pool: who runs what, who rests, and who is called next. Not thread-safe: the pool's lock guards it.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "execution/claimed_run.hpp"

namespace sluice::execution {

using worker_id = std::uint64_t;

// Both are called under the pool's lock.
struct worker_calls {
  std::function<void()> gone;       // the worker is no more: a handler ended its thread, or another retired it
  std::function<void()> given_run;  // it was given a run that an actor of the host makes
};

struct worker {
  bool retired = false;
  bool finished = false;    // retired, and no thread is with it
  bool has_thread = false;  // or waits for one
  bool is_left = false;     // what it ran has ended without it: nobody knows when its thread comes back
  bool idle = false;        // it waits for work, without a thread
  bool called = false;      // it was called and has not looked yet
  worker_id id = 0;
  run_ptr current{};
  worker_calls calls{};
};

class worker_table {
public:
  worker* find(worker_id id) const {
    const auto found = all.find(id);
    return found == all.end() ? nullptr : found->second.get();
  }
  std::uint32_t count() const {
    std::uint32_t n = 0;
    for (const auto& [id, w] : all)
      n += w->retired ? 0 : 1;
    return n;
  }
  void rest(worker& w) {
    if (!w.retired && !std::exchange(w.idle, true)) idle_.push_back(&w);
  }
  void unrest(worker& w) {
    if (std::exchange(w.idle, false)) std::erase(idle_, &w);
  }
  // The last to rest is called first; null: all work.
  worker* next_resting() const { return idle_.empty() ? nullptr : idle_.back(); }
  // Calls one worker, which gets a thread at the end of the pool_section. Each who finds work calls the next, so that
  // short handlers do not wake sixty threads for nothing.
  void wake_one() {
    if (idle_.empty() || waking_) return;
    waking_ = true;
    idle_.back()->called = idle_.back()->has_thread = true;
    called_ = idle_.back()->id;
  }
  // Who was called last, for the one that will let go of the pool's lock: a thread that is woken before only waits for
  // it.
  std::optional<worker_id> take_called() { return std::exchange(called_, std::nullopt); }
  // Of the one that was called: it looks now.
  void looked(worker& w) {
    if (std::exchange(w.called, false)) waking_ = false;
  }

  std::unordered_map<worker_id, std::unique_ptr<worker>> all;
  worker_id last_id = 0;
  bool closed = false;  // none is made any more

private:
  std::vector<worker*> idle_;
  bool waking_ = false;  // somebody was called and has not looked yet
  std::optional<worker_id> called_;
};

}  // namespace sluice::execution
