// One run of a job: from the claim that gave it to this server until the store has taken its end.
#pragma once

#include <atomic>
#include <optional>
#include <stop_token>

#include <sluice/handler.hpp>

#include "core/clock.hpp"
#include "execution/chain_length.hpp"
#include "storage/store.hpp"

namespace sluice::execution {

// awaiting_admission: its throttlers have not let it in yet. queued: it waits for a worker of the pool.
enum class run_phase : std::uint8_t { awaiting_admission, queued, running, ended };

// Of a type whose jobs may share a permit.
struct chaining_type {
  recent_times times;
  std::uint32_t held = 0;  // runs
};

// What changes of a run while its pool holds it.
struct run_state {
  chaining_type* of_type = nullptr;  // the pool's, if its jobs may share a permit
  run_phase phase = run_phase::queued;
  bool admitted = false;                          // by its throttlers
  steady_point lease_ends = steady_point::max();  // by our own clock, counted from before the store was asked
  steady_point received{};                        // from the store, which had claimed it just before
  steady_point queued_since{};
  steady_point began{};
  std::uint64_t actor = 0;  // the host's actor that was asked to run it
  struct {
    stop_reason cause = stop_reason::none;
    steady_point asked{};
    bool overdue_told = false;  // that its handler ignores the request
  } stop{};
  struct {
    std::optional<progress_report> last{};
    bool is_new = false;  // not yet taken
  } progress{};
  std::shared_ptr<const storage::settlement> filed{};  // its end, perhaps not stored yet
  bool server_waits_for_it = true;                     // when it stops
};

struct claimed_run {
  // `lease_ends`: by our own clock.
  explicit claimed_run(steady_point lease_ends = steady_point::max()) { state_.lease_ends = lease_ends; }

  job about;
  std::uint32_t failures = 0;  // failed runs before this one
  std::optional<duration> timeout{};
  steady_point finish_by = steady_point::max();  // also when it begins late
  bool by_actor = false;                         // an actor of the host runs it: the worker's own actor asks it
  sluice::fence chain{};                         // the first of its chain; 0: none
  std::stop_source stop{};
  std::atomic<stop_reason> reason{stop_reason::none};  // of its first stop, set before it

private:
  friend class run_buffer;
  run_state state_{};  // read and written through the pool's lock alone: run_buffer::state_of
};
using run_ptr = std::shared_ptr<claimed_run>;

// The job, for who must not change the run.
inline std::shared_ptr<const job> about_of(const run_ptr& run) { return {run, &run->about}; }

struct ended_run {
  run_ptr run;
  std::shared_ptr<const storage::settlement> settlement;
  outcome elected;
  bool was_admitted = false;  // by its throttlers, after they were asked
};

}  // namespace sluice::execution
