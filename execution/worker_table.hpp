// The workers of a pool: who runs what, who rests, and who is called next. Not thread-safe: it is reached through
// pool::lock alone.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "execution/run_buffer.hpp"

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
  worker& add(worker_calls calls = {}) {
    auto made = std::make_unique<worker>();
    made->id = ++last_id_;
    made->calls = std::move(calls);
    auto& place = all[last_id_];
    place = std::move(made);
    return *place;
  }
  // Those that are no more. What they would call may end actors: they go without the pool's lock.
  std::vector<std::unique_ptr<worker>> take_finished() {
    std::vector<std::unique_ptr<worker>> over;
    for (auto at = all.begin(); at != all.end();) {
      if (!at->second->finished) {
        ++at;
        continue;
      }
      over.push_back(std::move(at->second));
      at = all.erase(at);
    }
    return over;
  }
  void rest(worker& w) {
    if (!w.retired && !std::exchange(w.idle, true)) idle_.push_back(&w);
  }
  // It takes no more.
  void retire(worker& w) {
    w.retired = true;
    unrest(w);
    w.finished = !w.has_thread;
  }
  void begin(worker& w, run_buffer& runs) {
    unrest(w);
    w.current = runs.begin_next();
  }
  // Somebody begins what waits, if somebody can: what an actor makes at once; for the other the last to rest is called,
  // who gets a thread once the pool's lock is free: one that is woken before only waits for it. Whoever finds work
  // calls the next when he lets go of the lock, so that short handlers do not wake sixty threads for nothing.
  std::optional<worker_id> begin_waiting(run_buffer& runs) {
    while (!idle_.empty() && runs.has_next() && runs.queue.front()->by_actor) {
      auto& last = *idle_.back();
      begin(last, runs);
      if (last.calls.given_run) last.calls.given_run();
    }
    if (runs.queue.empty() || idle_.empty() || waking_) return std::nullopt;
    waking_ = true;
    idle_.back()->called = idle_.back()->has_thread = true;
    return idle_.back()->id;
  }
  // It has a thread, and looks for work.
  void looks(worker& w) {
    if (std::exchange(w.called, false)) waking_ = false;
    unrest(w);
  }

  std::unordered_map<worker_id, std::unique_ptr<worker>> all;
  bool closed = false;  // none is made any more
  bool muted = false;   // they call nobody back and file no end any more

private:
  void unrest(worker& w) {
    if (std::exchange(w.idle, false)) std::erase(idle_, &w);
  }
  worker_id last_id_ = 0;
  std::vector<worker*> idle_;
  bool waking_ = false;  // somebody was called and has not looked yet
};

}  // namespace sluice::execution
