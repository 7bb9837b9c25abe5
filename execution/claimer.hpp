// What a queue knows of its claims: whether to claim, how many jobs, and what a claim's answer means. Not thread-safe:
// its dispatcher's executor guards it.
#pragma once

#include "execution/admission_request.hpp"
#include "execution/claim_plan.hpp"
#include "execution/open_requests.hpp"
#include "execution/pool.hpp"

namespace sluice::execution {

struct execution_context;

// The run of a job that was claimed. `one`: its job is moved out.
run_ptr make_run(const execution_context& of, storage::claimed_job& one, steady_point lease_ends);

class claimer {
public:
  explicit claimer(std::shared_ptr<pool> of) : pool_(std::move(of)) {}

  // There may be jobs that were not asked for.
  void look() { look_ = true; }
  void resume() { paused_ = false; }

  // Not where actors of the host run all that is claimed.
  static bool needs_threads(const execution_context& of);
  // How many to ask for now; `coming`: what another claim has asked for; `threads`: of this queue. The claim counts as
  // open then.
  claim_size size(const execution_context& of, std::uint32_t coming, bool ends_something,
                  const std::shared_ptr<thread_shares::share>& threads);
  // The claim of `request`, whose number, slot and ends are set.
  // `alone`: no other request is under way.
  storage::claim_request claim(execution_context& of, open_request& request, claim_size size, bool alone);

  // What a claim brought.
  struct claimed_runs {
    std::vector<run_ptr> ready;               // for the pool
    std::vector<admission_request> to_admit;  // throttlers must let them in first
    steady_point first_timeout = steady_point::max();
    bool suspect_place_is_free = false;  // somebody else wants it
    bool has_chains = false;
  };
  claimed_runs take(execution_context& of, const open_request& request, storage::claim_answer& answer);
  // Its request has its answer: the claim is open no more.
  void answered(execution_context& of, const open_request& request, const storage::claim_answer& answer);
  // The store refused a claim that came without ends. Answers when to claim again.
  duration refused(const open_request& request);

  // The place for a suspect is given back. True: others want it, and go first.
  bool release_suspect_slot(execution_context& of);
  // Nobody has been told of so many refusals in a row.
  bool is_worth_a_line() const { return refused_in_a_row_ % 16 == 0; }

private:
  // A claim that was refused and may have been done by halves: the next of its slot is this one, asked again, as long
  // as the leases that it may have given are good.
  struct claim_mark {
    std::uint64_t op = 0;
    steady_point sent{};
  };

  std::shared_ptr<pool> pool_;
  bool look_ = true;
  bool paused_ = false;         // the store refused one that came alone
  bool suspect_waits_ = false;  // as the last claim told
  bool others_first_ = false;   // another queue wants the place for a suspect that this one gave back
  std::uint32_t refused_in_a_row_ = 0;
  std::array<std::optional<claim_mark>, 2> half_done_;
};

// How long to wait before the store is asked again that refused so often in a row.
duration retry_delay(std::uint32_t failures);

}  // namespace sluice::execution
