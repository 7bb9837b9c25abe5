// How a pool's workers get their starts and put the ends: on their threads, or elsewhere.
#include <algorithm>

#include "actors/pool.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;

// What a stop request makes of an outcome.
outcome as_stopped(outcome result, stop_cause cause) {
  const bool unfinished = result.what == run_end::failed || result.what == run_end::given_back;
  if (cause == stop_cause::timeout && unfinished) {
    result = outcome::failed("timed out: " + result.text);
    result.cause = "timed_out";
  }
  return result;
}

}  // namespace

pool::worker_id pool::add_worker(worker_calls calls) {
  std::unique_lock hold(mutex_);
  join_finished(hold);
  const auto id = ++last_worker_;
  if (closed_) return id;  // a worker that never had a thread
  auto& made = workers_[id];
  made = std::make_unique<worker>();
  made->calls = std::move(calls);
  try {
    // The thread keeps the pool alive: a body that never ends may outlive the server.
    made->thread = std::thread([self = shared_from_this(), id] { self->run(id); });
  } catch (...) {
    workers_.erase(id);
    throw;
  }
  if (on_worker_) on_worker_();
  return id;
}

void pool::retire_worker(worker_id id, const std::string& why) {
  std::unique_lock hold(mutex_);
  const auto found = workers_.find(id);
  if (found == workers_.end() || found->second->retired) return;
  auto& w = *found->second;
  w.retired = true;
  if (w.calls.gone) w.calls.gone();
  w.work.notify_one();
  const auto start = w.current;
  if (start && start->elsewhere) w.current = nullptr;
  if (muted_ || !start || start->now.at != phase::running) return;
  start->now.at = phase::ended;
  --running_;
  const bool unanswered = start->elsewhere && start->now.stopping == stop_cause::timeout;
  auto result = outcome::failed(unanswered ? "the actor that handles it gave no answer in time" : why);
  // Perhaps somebody else has it by now: then this end is refused. It is no failure of the job's.
  if (start->now.stopping == stop_cause::lost) result = outcome::give_back("its lease was lost");
  else result.cause = start->now.stopping == stop_cause::timeout ? "timed_out" : "worker_died";
  end_locked(hold, start, std::move(result));
  hold.unlock();
  stops_.request(start->stop);
}

std::optional<pool::worker_id> pool::runs(sluice::fence f) const {
  std::lock_guard hold(mutex_);
  for (const auto& [id, w] : workers_)
    if (!w->retired && w->current && w->current->about.fence == f && w->current->now.at == phase::running) return id;
  return std::nullopt;
}

void pool::run(worker_id id) {
  // Runs also when the thread is ended from inside a handler.
  struct at_end {
    pool& p;
    worker_id id;
    ~at_end() {
      std::unique_lock hold(p.mutex_);
      auto& w = *p.workers_.at(id);
      if (const auto start = w.current; start && start->now.at == phase::running && !p.muted_) {
        start->now.at = phase::ended;
        --p.running_;
        auto result = outcome::failed("the handler ended its worker's thread");
        result.cause = "worker_died";
        p.end_locked(hold, start, std::move(result));
      }
      if (!std::exchange(w.retired, true) && w.calls.gone) w.calls.gone();
      w.current = nullptr;
      w.finished = true;
      p.settled_.notify_all();
    }
  } guard{*this, id};

  while (const auto start = next(id)) {
    auto result = run_body(*can_run_, start->about, start->stop.get_token(),
                           [this, &start](progress_report said) { say_progress(start, std::move(said)); });
    put(id, start, std::move(result));
  }
}

start_ptr pool::next(worker_id id) {
  std::unique_lock hold(mutex_);
  auto& w = *workers_.at(id);
  for (;;) {
    if (std::exchange(w.called, false)) {
      waking_ = false;
      if (w.current) wake_locked();  // our actor was given something meanwhile: then it is another's turn
    }
    if (w.retired) {
      unrest_locked(w);
      wake_locked();  // somebody else, for what we were called for
      return nullptr;
    }
    if (!w.current && has_next_locked()) {
      begin_locked(w);
      wake_locked();
      if (!w.current->elsewhere) return w.current;
      if (w.calls.handed_over) w.calls.handed_over();
    }
    if (!w.current) rest_locked(w);
    w.work.wait(hold);
  }
}

// The worker takes the first of the run queue.
void pool::begin_locked(worker& w) {
  auto start = std::move(run_queue_.front());
  run_queue_.pop_front();
  start->now.at = phase::running;
  start->now.began = steady_clock::now();
  unrest_locked(w);
  w.current = std::move(start);
  ++running_;
}

void pool::rest_locked(worker& w) {
  if (!w.retired && !std::exchange(w.resting, true)) resting_.push_back(&w);
}

void pool::unrest_locked(worker& w) {
  if (std::exchange(w.resting, false)) std::erase(resting_, &w);
}

// Calls one thread for the first of the run queue. Each who finds work calls the next, so that short bodies do
// not wake sixty threads for nothing.
void pool::wake_locked() {
  if (run_queue_.empty() || resting_.empty() || waking_) return;
  waking_ = true;
  resting_.back()->called = true;
  resting_.back()->work.notify_one();
}

// What runs elsewhere needs no thread to begin.
void pool::hand_over_locked() {
  while (!resting_.empty() && has_next_locked() && run_queue_.front()->elsewhere) {
    auto& w = *resting_.back();
    begin_locked(w);
    if (w.calls.handed_over) w.calls.handed_over();
  }
}

// A new measure weighs an eighth, but one slow body is believed at once.
void pool::ran_locked(const start_ptr& start) {
  start->now.at = phase::ended;
  --running_;
  const auto us =
      static_cast<double>(std::chrono::duration_cast<duration>(steady_clock::now() - start->now.began).count());
  typical_us_ = us > 8 * typical_us_ + 1'000 ? us : typical_us_ + (us - typical_us_) / 8;
  measured_ = true;
}

void pool::put(worker_id id, const start_ptr& start, outcome result) {
  std::unique_lock hold(mutex_);
  workers_.at(id)->current = nullptr;
  if (muted_ || start->now.at != phase::running) return;  // nobody asks, or its end is filed already
  ran_locked(start);
  end_locked(hold, start, as_stopped(std::move(result), start->now.stopping));
}

start_ptr pool::in_hand(worker_id id) const {
  std::lock_guard hold(mutex_);
  const auto found = workers_.find(id);
  if (found == workers_.end() || !found->second->current || !found->second->current->elsewhere) return nullptr;
  return found->second->current;
}

void pool::asked(const start_ptr& start, std::uint64_t actor) {
  std::lock_guard hold(mutex_);
  start->now.handled_by = actor;
}

start_ptr pool::put_elsewhere(worker_id id, const start_ptr& start, outcome result) {
  std::unique_lock hold(mutex_);
  const auto has_it = [&] {
    const auto found = workers_.find(id);
    return found != workers_.end() && found->second->current == start ? found->second.get() : nullptr;
  };
  auto* w = has_it();
  if (!w || muted_) return nullptr;
  if (start->now.at == phase::running) {
    ran_locked(start);
    end_locked(hold, start, as_stopped(std::move(result), start->now.stopping));
    w = has_it();  // it may have been retired while the filters had their say
    if (!w) return nullptr;
  }
  w->current = nullptr;
  if (w->retired || muted_) return nullptr;
  if (has_next_locked() && run_queue_.front()->elsewhere) {
    begin_locked(*w);
    return w->current;
  }
  rest_locked(*w);  // its thread has waited all the time
  wake_locked();
  return nullptr;
}

void pool::handler_died(std::uint64_t actor, const std::string& why) {
  std::unique_lock hold(mutex_);
  if (muted_) return;
  std::vector<start_ptr> lost;
  for (auto& [id, w] : workers_) {
    const auto start = w->current;
    if (!start || !start->elsewhere || start->now.at != phase::running || start->now.handled_by != actor) continue;
    w->current = nullptr;
    rest_locked(*w);
    ran_locked(start);
    lost.push_back(start);
  }
  for (const auto& start : lost) {
    auto result = outcome::failed(why);
    result.cause = "handler_died";
    end_locked(hold, start, std::move(result));
  }
  hand_over_locked();
  wake_locked();
}

void pool::end_locked(std::unique_lock<std::mutex>& hold, const start_ptr& start, outcome result) {
  const auto ran = std::chrono::duration_cast<duration>(steady_clock::now() - start->now.began);
  hold.unlock();
  auto settled = elect(*can_run_, start->about, start->failures, std::move(result), ran);
  hold.lock();
  file_locked({start, std::move(settled.settlement), std::move(settled.elected)});
}

void pool::join_finished(std::unique_lock<std::mutex>& hold) {
  std::vector<std::unique_ptr<worker>> over;
  for (auto at = workers_.begin(); at != workers_.end();) {
    if (at->second->finished) {
      over.push_back(std::move(at->second));
      at = workers_.erase(at);
    } else {
      ++at;
    }
  }
  hold.unlock();
  for (auto& w : over)
    if (w->thread.joinable()) w->thread.join();
  over.clear();  // with what they would call, which may end actors: not under our lock
  hold.lock();
}

}  // namespace sluice::actors
