// What a pool holds: claims come in, ends go out, starts are watched over and stopped.
#include "actors/pool.hpp"

#include <algorithm>

#include "core/log.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t most_ended_bytes = 4 * 1024 * 1024;  // in one order, so that renewals do not wait long

ended_start never_begun(const start_ptr& start, const std::string& why) {
  return {start, given_back({start->about.id, start->about.fence}, why), outcome::give_back(why)};
}

}  // namespace

pool::pool(queue_name name, queue_options o, std::shared_ptr<const bodies> runs)
    : queue(std::move(name)), options(o), can_run_(std::move(runs)) {}

pool::~pool() {
  for (auto& [id, w] : workers_)
    if (w->thread.joinable()) w->thread.detach();  // its thread has ended: it would hold us else
}

void pool::accept(std::vector<start_ptr> starts) {
  std::lock_guard hold(mutex_);
  const auto now = steady_clock::now();
  for (auto& start : starts) {
    if (!held_.try_emplace(start->about.fence, start).second) continue;  // a repeated answer
    start->now.received = start->now.queued_since = now;
    queue_locked(start);
  }
  hand_over_locked();
  wake_locked();
}

void pool::queue_locked(const start_ptr& start) {
  if (draining_) file_locked(never_begun(start, "the server is stopping"));
  // A suspect was claimed for a free worker: it must not wait behind others.
  else if (storage::is_suspect(start->about.losses)) run_queue_.push_front(start);
  else run_queue_.push_back(start);
}

std::vector<start_ptr> pool::hold(std::vector<start_ptr> starts) {
  std::lock_guard hold(mutex_);
  std::vector<start_ptr> taken;
  for (auto& start : starts) {
    if (!held_.try_emplace(start->about.fence, start).second) continue;  // a repeated answer
    start->now.received = steady_clock::now();
    if (draining_) {
      file_locked(never_begun(start, "the server is stopping"));
      continue;
    }
    start->now.at = phase::admitting;
    ++admitting_;
    taken.push_back(start);
  }
  return taken;
}

std::vector<start_ptr> pool::admit(const std::vector<start_ptr>& starts) {
  std::lock_guard hold(mutex_);
  const auto now = steady_clock::now();
  std::vector<start_ptr> over;
  for (const auto& start : starts) {
    if (start->now.at != phase::admitting) {
      if (!start->now.admitted) over.push_back(start);
      continue;
    }
    --admitting_;
    if (start->now.stopping != stop_cause::none) {
      file_locked(never_begun(start, "lost before it began"));
      over.push_back(start);
      continue;
    }
    start->now.at = phase::queued;
    start->now.admitted = true;
    start->now.queued_since = now;
    queue_locked(start);
  }
  hand_over_locked();
  wake_locked();
  return over;
}

bool pool::drop(const start_ptr& start) {
  std::lock_guard hold(mutex_);
  if (start->now.at != phase::admitting) return false;
  --admitting_;
  start->now.at = phase::ended;
  held_.erase(start->about.fence);
  if (draining_ || held_.empty()) settled_.notify_all();
  return true;
}

void pool::turn_away(const start_ptr& start, settled_outcome end) {
  std::lock_guard hold(mutex_);
  if (start->now.at != phase::admitting) return;
  --admitting_;
  file_locked({start, std::move(end.settlement), std::move(end.elected)});
}

std::vector<start_ptr> pool::admitting() const {
  std::lock_guard hold(mutex_);
  std::vector<start_ptr> all;
  for (const auto& [f, start] : held_)
    if (start->now.at == phase::admitting) all.push_back(start);
  return all;
}

std::vector<ended_start> pool::take_ended(std::size_t at_least, std::size_t at_most) {
  std::lock_guard hold(mutex_);
  told_ = false;
  if (out_tray_.size() < at_least) {
    worth_telling_ = at_least;
    return {};
  }
  worth_telling_ = 1;
  std::size_t some = 0, bytes = 0;
  for (; some < out_tray_.size() && some < at_most; ++some) {
    bytes += storage::bytes_of(out_tray_[some].settlement);
    if (some > 0 && bytes > most_ended_bytes) break;
  }
  if (some == out_tray_.size()) return std::exchange(out_tray_, {});
  const auto end = out_tray_.begin() + static_cast<std::ptrdiff_t>(some);
  std::vector<ended_start> first(std::make_move_iterator(out_tray_.begin()), std::make_move_iterator(end));
  out_tray_.erase(out_tray_.begin(), end);
  return first;
}

void pool::tell_of_ended(std::size_t at_least) {
  std::lock_guard hold(mutex_);
  told_ = false;
  worth_telling_ = at_least;
  tell_locked();
}

bool pool::open_claim() {
  std::lock_guard hold(mutex_);
  if (draining_) return false;
  ++open_claims_;
  return true;
}

void pool::claim_answered() {
  std::lock_guard hold(mutex_);
  --open_claims_;
  if (draining_ || held_.empty()) settled_.notify_all();
}

void pool::release(sluice::fence f) {
  std::lock_guard hold(mutex_);
  held_.erase(f);
  if (draining_ || held_.empty()) settled_.notify_all();
}

pool_load pool::load() const {
  std::lock_guard hold(mutex_);
  pool_load l;
  for (const auto& [id, w] : workers_)
    if (!w->retired) ++l.workers;
  l.running = running_;
  l.queued = static_cast<std::uint32_t>(run_queue_.size());
  l.admitting = admitting_;
  l.ended = static_cast<std::uint32_t>(out_tray_.size());
  l.typical_body = duration(static_cast<std::int64_t>(std::max(typical_us_, 1.0)));
  l.measured = measured_;
  return l;
}

void pool::on_ended(std::function<void()> told) {
  std::lock_guard hold(mutex_);
  on_ended_ = std::move(told);
  told_ = false;
  worth_telling_ = 1;
  tell_locked();
}

void pool::on_worker(std::function<void()> told) {
  std::lock_guard hold(mutex_);
  on_worker_ = std::move(told);
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

std::vector<storage::progress_request::said> pool::take_progress() {
  std::lock_guard hold(mutex_);
  std::vector<storage::progress_request::said> all;
  if (!std::exchange(progress_waits_, false)) return all;
  for (const auto& [f, start] : held_)
    if (std::exchange(start->now.progress_is_new, false) && start->now.at == phase::running)
      all.push_back({{start->about.id, f}, *start->now.progress});
  return all;
}

void pool::say_progress(const start_ptr& start, progress_report said) {
  said = bounded(std::move(said));
  {
    std::lock_guard hold(mutex_);
    start->now.progress = std::move(said);
    start->now.progress_is_new = true;
    if (std::exchange(progress_waits_, true)) return;
  }
  if (on_progress_) on_progress_();
}

void pool::ask_to_stop(const start_ptr& start, stop_cause cause, steady_point now) {
  {
    std::lock_guard hold(mutex_);
    auto& course = start->now;
    // As a rule its throttler has parked it, and says so any moment. Let in by now, it does not begin.
    if (course.at == phase::admitting && cause == stop_cause::lost) {
      course.stopping = cause;
      return;
    }
    if (course.at == phase::queued || course.at == phase::admitting) {
      if (course.at == phase::admitting) --admitting_;
      else std::erase(run_queue_, start);
      file_locked(never_begun(start, "stopped before it began"));
      return;
    }
    if (course.at != phase::running || course.stopping != stop_cause::none) return;
    course.stopping = cause;
    course.stop_asked = now;
  }
  stops_.request(start->stop);
}

bool pool::is_stopping(const start_ptr& start) const {
  std::lock_guard hold(mutex_);
  return start->now.stopping != stop_cause::none;
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
  return settled_.wait_until(hold, deadline, [&] {
    return open_claims_ == 0 &&
           std::none_of(held_.begin(), held_.end(), [](const auto& one) { return one.second->now.is_waited_for; });
  });
}

void pool::wait_no_more_for(const start_ptr& start) {
  std::lock_guard hold(mutex_);
  start->now.is_waited_for = false;
  settled_.notify_all();
}

bool pool::holds(sluice::fence f) const {
  std::lock_guard hold(mutex_);
  return held_.contains(f);
}

void pool::mute() {
  std::vector<worker_calls> over;  // ends without our lock
  std::function<void()> told;
  std::lock_guard hold(mutex_);
  muted_ = true;
  told = std::exchange(on_ended_, nullptr);
  for (auto& [id, w] : workers_)
    over.push_back(std::exchange(w->calls, {}));
}

void pool::close(steady_point deadline) {
  std::unique_lock hold(mutex_);
  closed_ = true;
  for (auto& [id, w] : workers_) {
    w->retired = true;
    w->work.notify_one();
  }
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

void pool::give_back_type(const std::string& type, const std::string& why) {
  std::lock_guard hold(mutex_);
  std::erase_if(run_queue_, [&](const start_ptr& start) {
    if (start->about.type.value != type) return false;
    file_locked(never_begun(start, why));
    return true;
  });
}

// The first of the run queue can begin. Those whose leases are over may be somebody else's by now.
bool pool::has_next_locked() {
  while (!run_queue_.empty() && run_queue_.front()->now.lease_ends < steady_clock::now()) {
    const auto start = run_queue_.front();
    run_queue_.pop_front();
    file_locked(never_begun(start, "its lease is over"));
  }
  return !run_queue_.empty();
}

void pool::file_locked(ended_start end) {
  auto& course = end.start->now;
  course.at = phase::ended;
  const auto began = course.began == steady_point{} ? steady_clock::now() : course.began;
  end.settlement.waited = std::chrono::duration_cast<duration>(began - course.received);
  end.settlement.progress = end.start->now.progress;  // also when it was taken: the store may get that too late
  end.start->now.end = std::make_shared<const storage::settlement>(end.settlement);
  out_tray_.push_back(std::move(end));
  tell_locked();
}

void pool::tell_locked() {
  if (out_tray_.size() < std::max<std::size_t>(1, worth_telling_) || std::exchange(told_, true)) return;
  if (on_ended_) on_ended_();
}

}  // namespace sluice::actors
