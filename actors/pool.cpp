#include "actors/pool.hpp"

#include <algorithm>

#include "core/log.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;

// A start that never began: no body ran, so no filter has a say.
ended_start never_begun(const start_ptr& start, const std::string& why) {
  ended_start end{start, {}, outcome::give_back(why)};
  end.settlement.start = {start->about.id, start->about.fence};
  end.settlement.end = storage::settlement::how::given_back;
  end.settlement.cause = "given_back";
  end.settlement.text = end.settlement.reason = "given back: " + why;
  return end;
}

// What a stop request makes of an outcome.
outcome as_stopped(outcome result, stop_cause cause) {
  const bool unfinished = result.what == outcome::kind::failed || result.what == outcome::kind::given_back;
  if (cause == stop_cause::timeout && unfinished) {
    result = outcome::failed("timed out: " + result.text);
    result.cause = "timed_out";
  }
  return result;
}

}  // namespace

pool::pool(queue_name name, queue_options o, std::shared_ptr<const bodies> runs)
    : queue(std::move(name)), options(o), can_run_(std::move(runs)) {}

void pool::accept(std::vector<start_ptr> starts) {
  std::lock_guard hold(mutex_);
  const auto now = steady_clock::now();
  for (auto& start : starts) {
    if (!held_.try_emplace(start->about.fence, start).second) continue;  // a repeated answer
    start->now.queued_since = now;
    if (draining_) {
      file_locked(never_begun(start, "the server is stopping"));
    } else if (start->about.losses > 0) {
      run_queue_.push_front(start);  // a suspect was claimed for a free worker: it must not wait behind others
    } else {
      run_queue_.push_back(start);
    }
  }
  if (!run_queue_.empty() && idle_ > 0 && !waking_) {
    waking_ = true;
    work_.notify_one();
  }
}

std::vector<ended_start> pool::take_ended() {
  std::lock_guard hold(mutex_);
  told_ = false;
  return std::exchange(out_tray_, {});
}

bool pool::open_claim() {
  std::lock_guard hold(mutex_);
  if (draining_) return false;
  claim_open_ = true;
  return true;
}

void pool::claim_answered() {
  std::lock_guard hold(mutex_);
  claim_open_ = false;
  if (held_.empty()) settled_.notify_all();
}

void pool::release(sluice::fence f) {
  std::lock_guard hold(mutex_);
  held_.erase(f);
  if (held_.empty()) settled_.notify_all();
}

pool_load pool::load() const {
  std::lock_guard hold(mutex_);
  pool_load l;
  for (const auto& [id, w] : workers_)
    if (!w->retired) ++l.workers;
  l.running = running_;
  l.queued = static_cast<std::uint32_t>(run_queue_.size());
  l.typical_body = duration(static_cast<std::int64_t>(std::max(typical_us_, 1.0)));
  l.measured = measured_;
  return l;
}

void pool::on_ended(std::function<void()> told) {
  std::lock_guard hold(mutex_);
  on_ended_ = std::move(told);
  told_ = !out_tray_.empty();
  if (told_) on_ended_();
}

pool::worker_id pool::add_worker(std::function<void()> gone) {
  std::unique_lock hold(mutex_);
  join_finished(hold);
  const auto id = ++last_worker_;
  auto& made = workers_[id];
  made = std::make_unique<worker>();
  made->gone = std::move(gone);
  try {
    // The thread keeps the pool alive: a body that never ends may outlive the server.
    made->thread = std::thread([self = shared_from_this(), id] { self->run(id); });
  } catch (...) {
    workers_.erase(id);
    throw;
  }
  return id;
}

void pool::retire_worker(worker_id id, const std::string& why) {
  std::unique_lock hold(mutex_);
  const auto found = workers_.find(id);
  if (found == workers_.end() || found->second->retired) return;
  auto& w = *found->second;
  w.retired = true;
  if (w.gone) w.gone();
  work_.notify_all();
  const auto start = w.current;
  if (muted_ || !start || start->now.at != phase::running) return;
  start->now.at = phase::ended;
  --running_;
  auto result = outcome::failed(why);
  result.cause = start->now.stopping == stop_cause::timeout ? "timed_out" : "worker_died";
  end_locked(hold, start, std::move(result));
  hold.unlock();
  start->stop.request_stop();
}

std::optional<pool::worker_id> pool::runs(sluice::fence f) const {
  std::lock_guard hold(mutex_);
  for (const auto& [id, w] : workers_)
    if (!w->retired && w->current && w->current->about.fence == f && w->current->now.at == phase::running) return id;
  return std::nullopt;
}

std::vector<std::pair<start_ptr, held_start::course>> pool::held() const {
  std::lock_guard hold(mutex_);
  std::vector<std::pair<start_ptr, held_start::course>> all;
  all.reserve(held_.size());
  for (const auto& [f, start] : held_)
    all.emplace_back(start, start->now);
  return all;
}

void pool::renewed(const start_ptr& start, steady_point lease_ends) {
  std::lock_guard hold(mutex_);
  start->now.lease_ends = lease_ends;
}

bool pool::report_once(const start_ptr& start) {
  std::lock_guard hold(mutex_);
  return !std::exchange(start->now.reported, true);
}

void pool::ask_to_stop(const start_ptr& start, stop_cause cause, steady_point now) {
  {
    std::lock_guard hold(mutex_);
    auto& course = start->now;
    if (course.at == phase::queued) {
      std::erase(run_queue_, start);
      file_locked(never_begun(start, "stopped before it began"));
      return;
    }
    if (course.at != phase::running || course.stopping != stop_cause::none) return;
    course.stopping = cause;
    course.stop_asked = now;
  }
  start->stop.request_stop();  // calls the body's own callbacks: never under our lock
}

void pool::drain(steady_point now) {
  {
    std::lock_guard hold(mutex_);
    draining_ = true;
  }
  for (const auto& [start, course] : held())
    ask_to_stop(start, stop_cause::shutdown, now);
}

void pool::give_back_older(steady_point then) {
  std::lock_guard hold(mutex_);
  while (!run_queue_.empty() && run_queue_.back()->now.queued_since < then) {
    const auto start = run_queue_.back();
    run_queue_.pop_back();
    file_locked(never_begun(start, "waited for a worker too long"));
  }
}

bool pool::wait_until_empty(steady_point deadline) {
  std::unique_lock hold(mutex_);
  return settled_.wait_until(hold, deadline, [&] { return held_.empty() && !claim_open_; });
}

void pool::mute() {
  std::lock_guard hold(mutex_);
  muted_ = true;
  on_ended_ = nullptr;
  for (auto& [id, w] : workers_)
    w->gone = nullptr;
}

void pool::close(steady_point deadline) {
  std::unique_lock hold(mutex_);
  for (auto& [id, w] : workers_)
    w->retired = true;
  work_.notify_all();
  settled_.wait_until(hold, deadline, [&] {
    return std::all_of(workers_.begin(), workers_.end(), [](const auto& e) { return e.second->finished; });
  });
  join_finished(hold);
  for (auto& [id, w] : workers_) {
    if (!w->thread.joinable()) continue;
    log::warn("a body on queue ", queue.value, " ignores its stop request; its thread is left behind");
    w->thread.detach();
  }
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
      if (!std::exchange(w.retired, true) && w.gone) w.gone();
      w.current = nullptr;
      w.finished = true;
      p.settled_.notify_all();
    }
  } guard{*this, id};

  while (const auto start = next(id)) {
    auto result = run_body(*can_run_, start->about, start->stop.get_token());
    put(id, start, std::move(result));
  }
}

start_ptr pool::next(worker_id id) {
  std::unique_lock hold(mutex_);
  auto& w = *workers_.at(id);
  for (;;) {
    if (w.retired) return nullptr;
    if (!run_queue_.empty()) {
      auto start = std::move(run_queue_.front());
      run_queue_.pop_front();
      start->now.at = phase::running;
      start->now.began = steady_clock::now();
      w.current = start;
      ++running_;
      // Each who finds work wakes the next, so that short bodies do not wake sixty threads for nothing.
      if (!run_queue_.empty() && idle_ > 0 && !waking_) {
        waking_ = true;
        work_.notify_one();
      }
      return start;
    }
    ++idle_;
    work_.wait(hold);
    --idle_;
    waking_ = false;
  }
}

void pool::put(worker_id id, const start_ptr& start, outcome result) {
  std::unique_lock hold(mutex_);
  workers_.at(id)->current = nullptr;
  if (muted_ || start->now.at != phase::running) return;  // nobody asks, or its end is filed already
  start->now.at = phase::ended;
  --running_;
  // A new measure weighs an eighth, but one slow body is believed at once.
  const auto us =
      static_cast<double>(std::chrono::duration_cast<duration>(steady_clock::now() - start->now.began).count());
  typical_us_ = us > 8 * typical_us_ + 1'000 ? us : typical_us_ + (us - typical_us_) / 8;
  measured_ = true;
  end_locked(hold, start, as_stopped(std::move(result), start->now.stopping));
}

void pool::end_locked(std::unique_lock<std::mutex>& hold, const start_ptr& start, outcome result) {
  const auto ran = std::chrono::duration_cast<duration>(steady_clock::now() - start->now.began);
  hold.unlock();
  auto settled = elect(*can_run_, start->about, start->failures, std::move(result), ran);
  hold.lock();
  file_locked({start, std::move(settled.settlement), std::move(settled.elected)});
}

void pool::file_locked(ended_start end) {
  end.start->now.at = phase::ended;
  end.start->now.end = end.settlement;
  out_tray_.push_back(std::move(end));
  if (!std::exchange(told_, true) && on_ended_) on_ended_();
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
  hold.lock();
}

}  // namespace sluice::actors
