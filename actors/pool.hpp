// A queue's pool: its worker threads, the starts it holds, the run queue between the supervisor and
// the threads, and the out-tray back. The server owns it, not the supervisor: a supervisor that dies
// is replaced and finds everything here. All members are thread-safe unless they say otherwise.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "actors/bodies.hpp"
#include "core/stop_caller.hpp"

namespace sluice::actors {

enum class stop_cause : std::uint8_t { none, shutdown, timeout, lost };

// One start, from its claim until the store has taken its end.
struct held_start {
  job about;
  std::uint32_t failures = 0;
  std::optional<duration> timeout{};
  bool elsewhere = false;  // an actor of the host runs it: the worker's own actor asks it
  std::stop_source stop{};

  // What changes while it is held: read and written under the pool's lock.
  struct course {
    enum class phase : std::uint8_t { admitting, queued, running, ended } at = phase::queued;
    stop_cause stopping = stop_cause::none;
    steady_point lease_ends = steady_point::max();  // by our own clock, counted from before the store was asked
    steady_point received{};                        // from the store, which had claimed it just before
    steady_point queued_since{};
    steady_point began{};
    steady_point stop_asked{};
    bool reported = false;                             // that it ignores its stop request
    std::uint64_t handled_by = 0;                      // the host's actor that was asked, when elsewhere
    std::optional<progress_report> progress{};         // the last that the body said
    bool progress_is_new = false;                      // not yet taken
    bool admitted = false;                             // by its throttlers
    bool is_waited_for = true;                         // by a stop
    std::shared_ptr<const storage::settlement> end{};  // once filed, perhaps not stored; a look copies no result
  } now{};
};
using phase = held_start::course::phase;
using start_ptr = std::shared_ptr<held_start>;

struct ended_start {
  start_ptr start;
  storage::settlement settlement;
  outcome elected;
};

// What a claim is planned from.
struct pool_load {
  std::uint32_t workers = 0;
  std::uint32_t running = 0;
  std::uint32_t queued = 0;
  std::uint32_t admitting = 0;
  std::uint32_t ended = 0;   // and not yet taken
  duration typical_body{0};  // of late
  bool measured = false;     // false: nothing ran yet
};

class pool : public std::enable_shared_from_this<pool> {
public:
  pool(queue_name queue, queue_options options, std::shared_ptr<const bodies> can_run);
  ~pool();

  const queue_name queue;
  const queue_options options;

  // --- The supervisor's side.
  // Takes over claimed starts; threads begin them at once.
  void accept(std::vector<start_ptr> starts);
  // The same of starts that throttlers must let in first: they are held, and begin once they are admitted.
  // Those that were not held before are answered.
  std::vector<start_ptr> hold(std::vector<start_ptr> starts);
  // Those that have ended meanwhile are answered.
  std::vector<start_ptr> admit(const std::vector<start_ptr>& starts);
  // It waits in the store, or is no longer ours.
  bool drop(const start_ptr& start);  // false: it has ended already
  // It is not let in, and ends without a run. Nothing when it has ended already.
  void turn_away(const start_ptr& start, settled_outcome end);
  // Those that are still held so.
  std::vector<start_ptr> admitting() const;

  // The first of them. None when fewer than `at_least` have ended; then `on_ended` tells when so many have.
  std::vector<ended_start> take_ended(std::size_t at_least = 1, std::size_t at_most = SIZE_MAX);
  // As when so few were asked for: tells when `at_least` have ended, perhaps at once.
  void tell_of_ended(std::size_t at_least);
  // A claim is under way from here to its `claim_answered`, and the pool does not count as empty. False once
  // the pool drains: then nothing may be claimed.
  bool open_claim();
  void claim_answered();
  // The store has taken the end of this start, or refused it for good.
  void release(sluice::fence f);
  pool_load load() const;
  // Called under the pool's lock, at most once until the next take_ended or tell_of_ended, when the out-tray has got
  // something, or as much as was asked for.
  void on_ended(std::function<void()> told);
  // Called under the pool's lock when a worker has come: who asked for work before asked for too little.
  void on_worker(std::function<void()> told);

  // --- Workers. A worker is a number; its thread runs until it is retired.
  using worker_id = std::uint64_t;
  // Both are called under the pool's lock.
  struct worker_calls {
    std::function<void()> gone;         // the worker is no more: its thread died, or another retired it
    std::function<void()> handed_over;  // it was given a start that runs elsewhere
  };
  worker_id add_worker(worker_calls calls);
  // The worker takes no more. What it runs now is that job's failed start (`why`), reported as ended.
  void retire_worker(worker_id id, const std::string& why);
  // Who runs this start, if it still runs.
  std::optional<worker_id> runs(sluice::fence f) const;

  // --- Starts that run elsewhere. The worker is taken while its own actor waits for the answer.
  // What this worker was handed over, if it still has it.
  start_ptr in_hand(worker_id id) const;
  // This actor of the host was asked to run it.
  void asked(const start_ptr& start, std::uint64_t actor);
  // Files the end, unless somebody did, and hands over the next; null when there is none for this worker.
  start_ptr put_elsewhere(worker_id id, const start_ptr& start, outcome result);
  // That actor of the host has died: what it had in hand has failed (`why`).
  void handler_died(std::uint64_t actor, const std::string& why);
  // Gives back what waits in the run queue of this type.
  void give_back_type(const std::string& type, const std::string& why);

  // --- Watching over the starts.
  std::vector<std::pair<start_ptr, held_start::course>> held() const;
  void renewed(const start_ptr& start, steady_point lease_ends);
  // True the first time.
  bool report_once(const start_ptr& start);
  // What bodies have said of their progress since the last time.
  std::vector<storage::progress_request::said> take_progress();
  // `told` is called from bodies, with no lock held, when there is something to take.
  void on_progress(std::function<void()> told) { on_progress_ = std::move(told); }
  // Asks the body to stop; a start that has not begun is given back. The first cause stands.
  void ask_to_stop(const start_ptr& start, stop_cause cause, steady_point now);
  // Perhaps before its token says so.
  bool is_stopping(const start_ptr& start) const;

  // --- Stopping.
  // No start begins any more: those in the run queue are given back, the running are asked to stop.
  void drain(steady_point now);
  // Gives back what has waited in the run queue since before `then`: bodies became slow.
  void give_back_older(steady_point then);
  // Nothing is held any more, but ends that are not waited for.
  bool wait_until_empty(steady_point deadline);
  // The store finds this end's job damaged: it is asked again, and a stop does not wait for it.
  void wait_no_more_for(const start_ptr& start);
  bool holds(sluice::fence f) const;
  // Calls nobody back and files no end any more: what was called may be gone.
  void mute();
  // No worker is made any more. Retires all; joins those that end, lets go of those that do not by `deadline`.
  void close(steady_point deadline);

private:
  struct worker {
    std::thread thread;
    bool retired = false;
    bool finished = false;
    std::condition_variable work{};
    bool resting = false;  // its thread waits for work
    bool called = false;   // it was woken and has not looked yet
    start_ptr current{};
    worker_calls calls{};
  };

  void run(worker_id id);
  void say_progress(const start_ptr& start, progress_report said);
  start_ptr next(worker_id id);
  void put(worker_id id, const start_ptr& start, outcome result);
  void queue_locked(const start_ptr& start);
  void begin_locked(worker& w);
  void rest_locked(worker& w);
  void unrest_locked(worker& w);
  void wake_locked();
  void hand_over_locked();
  void ran_locked(const start_ptr& start);
  // With the lock held; lets go of it to run the election filters, then files the end.
  void end_locked(std::unique_lock<std::mutex>& hold, const start_ptr& start, outcome result);
  void file_locked(ended_start end);
  bool has_next_locked();
  void tell_locked();
  void join_finished(std::unique_lock<std::mutex>& hold);

  const std::shared_ptr<const bodies> can_run_;
  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::deque<start_ptr> run_queue_;
  std::vector<ended_start> out_tray_;
  bool told_ = false;
  std::size_t worth_telling_ = 1;  // ends in the out-tray
  std::function<void()> on_ended_;
  std::function<void()> on_worker_;
  stop_caller stops_;                  // calls the bodies' own callbacks
  std::function<void()> on_progress_;  // set before the first worker
  bool progress_waits_ = false;
  std::unordered_map<sluice::fence, start_ptr> held_;
  std::unordered_map<worker_id, std::unique_ptr<worker>> workers_;
  worker_id last_worker_ = 0;
  std::vector<worker*> resting_;  // the last to rest is called first
  std::uint32_t running_ = 0;
  std::uint32_t admitting_ = 0;
  bool waking_ = false;  // somebody was woken and has not looked yet
  bool draining_ = false;
  bool closed_ = false;
  std::uint32_t open_claims_ = 0;
  bool muted_ = false;
  double typical_us_ = 0;
  bool measured_ = false;
};

}  // namespace sluice::actors
