// The workers of a pool: who runs what, who rests, and who is called next. Not thread-safe: the pool's lock guards it.
#pragma once

#include <condition_variable>
#include <functional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "execution/claimed_run.hpp"

namespace sluice::execution {

using worker_id = std::uint64_t;

// Both are called under the pool's lock.
struct worker_calls {
  std::function<void()> gone;       // the worker is no more: its thread died, or another retired it
  std::function<void()> given_run;  // it was given a run that an actor of the host makes
};

struct worker {
  std::thread thread;
  bool retired = false;
  bool finished = false;
  std::shared_ptr<std::condition_variable> work = std::make_shared<std::condition_variable>();
  bool idle = false;    // its thread waits for work
  bool called = false;  // it was called and has not looked yet
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
  // Calls one thread, which the pool_section wakes at its end. Each who finds work calls the next, so that short
  // handlers do not wake sixty threads for nothing.
  void wake_one() {
    if (idle_.empty() || waking_) return;
    waking_ = true;
    idle_.back()->called = true;
    to_notify_ = idle_.back()->work;
  }
  // Of who was called last, for who will let go of the pool's lock: a thread that is woken before only waits for it.
  std::shared_ptr<std::condition_variable> take_notification() { return std::exchange(to_notify_, nullptr); }
  // Of who was called: he looks now.
  void looked(worker& w) {
    if (std::exchange(w.called, false)) waking_ = false;
  }

  std::unordered_map<worker_id, std::unique_ptr<worker>> all;
  worker_id last_id = 0;
  bool closed = false;  // none is made any more

private:
  std::vector<worker*> idle_;
  bool waking_ = false;  // somebody was called and has not looked yet
  std::shared_ptr<std::condition_variable> to_notify_;
};

}  // namespace sluice::execution
