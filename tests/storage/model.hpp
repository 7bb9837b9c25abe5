// What storage/store.hpp and docs/job_lifecycle.md promise, as a small store in plain memory: slow, obvious, and
// written from the contract. Random programs compare every store with it (random_programs_test.cpp).
//
// It leaves open what the contract leaves open: fences are taken from the store's answers, of jobs that ended in the
// same instant the store says which it pruned, and the store's own words (reasons, errors) only have to be there. Every
// queue is served. Jobs and locks are in model.cpp, what jobs have to do with others and with time in model_flow.cpp,
// permits in model_permits.cpp, limiters and windows in model_limiters.cpp, what is compared in model_look.cpp and
// in_words.cpp.
#pragma once

#include <functional>

#include "core/codec.hpp"
#include "storage/contract.hpp"
#include "storage/window_count.hpp"

namespace sluice::test {

// The locks that programs take, and the limiters that they step. The last one's limiter is whatever a program says.
inline const names lock_names = {"the printer", "the scanner"};
inline const names limiter_names = {"fixed_window:f", "sliding_window:v", "dynamic_window:d", "custom:door"};
// The lines in which jobs wait for them: a dynamic window has one for each key.
inline const names limiter_lines = {"fixed_window:f", "sliding_window:v", "dynamic_window:d/x", "dynamic_window:d/y",
                                    "custom:door"};

// The groups that programs make.
inline const names group_names = {"g", "h"};

// Where a job waits for a limiter.
std::string line_for(const std::string& limiter, const job_id& id);

class model {
public:
  using still_there = std::function<bool(const std::string&)>;

  model(const clock& clock, still_there kept) : clock_(clock), kept_(std::move(kept)) {}

  // Carries out what the store was asked and answers as the store should have. `told` is the store's answer: its
  // fences are taken over.
  storage::answer carry_out(const storage::request& asked, const storage::answer& told);

  // Whether jobs became ready or due, or lines open at another time, since this was asked last.
  // Who was ready only until the same commit claimed it is work for nobody.
  bool made_work();

  // All that can be looked at: jobs by id, the lines in their order, the counts. The second one looks at a
  // store.
  std::string look() const;
  static std::string look(world& w);

private:
  // A parent of a job: another, or a group as @NAME.
  struct parent_link {
    std::string name;
    std::uint64_t birth = 0;  // which one of that name; 0: it was not there
    std::optional<bool> met;  // none: its end is open
  };
  // Of a job, or of a group as @NAME; without a state: the first failure in a group.
  using ending = std::pair<std::string, std::optional<job_state>>;
  struct stored_job {
    job seen;  // as the store should show it
    job_content content;
    std::uint32_t failures = 0;
    sluice::fence settled;  // the last run that was settled
    std::uint64_t op = 0;   // the claim that took it
    std::uint64_t renewals = 0;
    bool asked_to_end = false;  // its run
    duration lease{0};
    std::uint64_t place = 0;                  // in its line
    std::uint64_t first = 0;                  // its number in the lines of resources; 0: admitted since
    std::uint32_t failed_wakeups = 0;         // wakes that ended in parking again
    std::map<std::string, time_point> slots;  // by resource: good until then
    // What it has to do with others, and with time.
    std::uint64_t birth = 0;           // no other job has it, also under the same id
    std::uint64_t step = 0;            // in which it was stored
    std::vector<parent_link> parents;  // none: it waits for nobody, and will not again
    run_after after;
    duration delay{0};      // from its release on
    bool is_unmet = false;  // it was deleted since too many parents ended otherwise
    std::string group;
    std::optional<job_state> counted;  // in its group, as what it has ended
    std::string key;
    unique_until key_until = unique_until::end;
    std::optional<duration> start_within, finish_within;
    std::optional<time_point> start_by, finish_by;
  };
  struct known_group {
    std::uint64_t birth = 0;
    std::string in;
    std::optional<job_state> counted;  // in that one
    bool sealed = false, cancelled = false;
    std::map<job_state, std::uint64_t> ended;
    std::uint64_t open = 0;
    std::set<std::string> left_alone;  // members that run, and were asked to end with it
    time_point seal_by{}, forget_at{};
    bool finished = false;
  };
  struct unique_key {
    std::string owner, next;  // next: who waits for the end of the owner
    unique_until until = unique_until::end;
    time_point since{}, over{};
  };
  using known_jobs = std::vector<stored_job*>;
  struct permit {
    sluice::fence run{};  // 0: its job does not run
    bool strict = false;
    bool reserved = false;
    sluice::fence chain{};  // which it has it with; 0: alone
    time_point since{};
    std::uint64_t number = 0;  // grows with each
  };

  struct held_lock {
    lock_holder who;
    std::string token;
    duration lease{0};
  };

  storage::enqueue_answer apply(const storage::enqueue_request& r);
  storage::change_answer apply(const storage::change_group_request& r);
  storage::claim_answer apply(const storage::claim_request& r, const storage::claim_answer& told);
  storage::settle_answer apply(const storage::settle_request& r, const storage::settle_answer& told);
  storage::renew_answer apply(const storage::renew_request& r);
  storage::progress_answer apply(const storage::progress_request& r);
  storage::promote_answer apply(const storage::promote_request& r, const storage::promote_answer& told);
  storage::expired_answer apply(const storage::expired_request& r) const;
  storage::reap_answer apply(const storage::reap_request& r);
  storage::prune_answer apply(const storage::prune_request& r);
  storage::change_jobs_answer apply(const storage::change_jobs_request& r);
  storage::change_answer apply(const storage::pause_request& r);
  storage::acquire_permits_answer apply(const storage::acquire_permits_request& r);
  storage::define_answer apply(const storage::define_request& r);
  storage::change_answer apply(const storage::undefine_request& r);
  storage::reconcile_answer apply(const storage::reconcile_request& r);
  storage::read_limiter_answer apply(const storage::read_limiter_request& r) const;
  storage::update_limiter_answer apply(const storage::update_limiter_request& r);
  storage::lock_answer apply(const storage::lock_request& r, const storage::lock_answer& told);

  using note = storage::enqueue_answer::note;
  storage::enqueue_answer store_all_or_none(const storage::enqueue_request& r);
  // Its code, and what more there is to say of it.
  std::pair<errc, std::optional<note>> enqueue_one(const prepared_job& wanted);
  struct key_answer {
    bool stored = true;
    note::what what{};
    std::string about;
  };
  key_answer ask_for_key(const prepared_job& wanted, const std::vector<parent_link>& parents);
  errc settle_one(const storage::settlement& end);
  storage::change_answer requeue(const job_id& id);
  storage::change_answer remove(const job_id& id);
  storage::change_answer cancel(const job_id& id);

  // Flow.
  void begin_step();
  void name(const std::vector<prepared_job>& jobs);
  void end_step();
  void tell_ends();  // of all that ended in this step
  void let_go(const std::string& name, job_state as);
  void tell_children(const ending& end);
  bool place_child(stored_job& j);  // whether it goes on or ends
  void release(stored_job& j);
  bool is_met(const stored_job& j) const;
  bool is_hopeless(const stored_job& j) const;  // whether too many parents ended otherwise
  std::uint64_t birth_of(const std::string& name) const;
  std::optional<job_state> end_of(const std::string& name) const;  // none: it has not ended
  bool is_parent_of_some(const std::string& name) const;           // who has not ended
  bool end_waiting(stored_job& j, job_state as, const std::string& cause);
  using way = std::pair<job_state, std::string>;  // to end, and the cause
  std::optional<way> over_for(const stored_job& j) const;
  std::optional<way> why_not_start(const stored_job& j) const;
  void end_those_met();
  static bool has_begun(const stored_job& j) { return j.seen.attempt > 0 || j.seen.losses > 0; }
  std::optional<time_point> next_over(const stored_job& j) const;
  void start_clock(stored_job& j, time_point from);
  void take_key(const std::string& key, const std::string& id, unique_until until, duration period);
  void free_key(stored_job& j);
  void take_key_again(stored_job& j);
  const unique_key* held_by_another(const stored_job& j) const;
  bool is_over(const unique_key& k) const { return k.until == unique_until::period && clock_.now() >= k.over; }
  std::optional<errc> go_on(stored_job& j);  // by a person; why that cannot be
  void await_again(std::vector<std::string> parents);
  void count_again(std::optional<job_state>& counted, const std::string& group, std::vector<std::string>& again);
  bool is_cancelled(const std::string& group) const;
  // Whether one of these, or one that such a parent awaits, is the group or one that it is in.
  bool awaits_group(const std::vector<parent_link>& parents, const std::string& group) const;
  bool is_finished(const known_group& g) const { return (g.sealed || g.cancelled) && g.open == 0; }
  std::optional<errc> why_closed(const std::string& group, const group_run& by);
  void finish(const std::string& group);
  bool cancel_group(const std::string& group);
  void cancel_members(const std::string& group);
  void work_off();  // what is owed, or is over
  std::optional<time_point> next_of_flow() const;
  errc reap_one(const storage::expired_lease& seen, std::uint32_t max_losses);
  storage::acquire_permits_answer::verdict take_one(const storage::acquire_permits_request::run& asked);
  std::uint32_t prune_state(job_state state, const retention_rule& rule, std::uint32_t limit);

  std::optional<lock_holder> holder_of(const std::string& resource) const;
  void draw(sluice::fence drawn);
  stored_job* find(const job_id& id);
  stored_job* running(const storage::run_key& run);  // null when it is no longer the job's current one
  known_jobs where(const std::function<bool(const stored_job&)>& is_one);
  known_jobs waiters(const std::string& resource);      // those whose queues run, in line
  known_jobs in_turn(const storage::claim_request& r);  // the ready jobs that a claim may meet
  // What the permits of its type mean for a job that a claim meets.
  struct finding {
    const storage::claim_permits* plan = nullptr;
    std::string busy;   // what keeps a newcomer from them
    bool roomy = true;  // half of each is free, and nobody has to do with it yet
    bool takes = false;
  };
  finding look_at(const stored_job& j, const storage::claim_request& r, std::set<std::string>& records_read) const;
  known_jobs followers(const storage::claim_request& r, const std::string& type, const std::string& resource,
                       std::uint32_t by);
  // Who claims next from the line of a resource in a queue.
  struct turn {
    time_point until{};
    std::string next;
  };
  using line_name = std::pair<std::string, std::string>;
  bool is_left_to_another(const line_name& line, const std::string& server) const;
  bool waited_for(const std::string& resource) const;  // by somebody whose queue runs
  std::uint64_t held(const std::string& resource) const;
  void start(stored_job& j, const storage::claim_request& r, sluice::fence drawn);
  void move(stored_job& j, job_state to, const std::string& line = {});
  void to_tail(stored_job& j) { move(j, job_state::enqueued, storage::is_suspect(j.seen.losses) ? "suspect" : ""); }
  std::optional<std::uint64_t> limit_of(const std::string& resource) const;  // none: not defined
  bool has_room(const std::string& resource);                                // for a newcomer
  std::uint64_t pass_on(const std::string& resource);                        // to the oldest waiters: how many
  void grant(stored_job& j, const std::string& resource, permit p);
  void wake(stored_job& j);
  void park(stored_job& j, const std::string& resource, const names& free);
  void wait_in(stored_job& j, const std::string& resource);
  void pass_on_lapsed(const storage::promote_request& r);
  std::uint64_t reconcile_lines(const std::function<bool(const stored_job&)>& is_one);
  void give_back(stored_job& j);  // its run ended
  void end_before_begin(stored_job& j);
  void free_permit(const std::string& resource, const std::string& id);
  bool return_to_line(stored_job& j);  // as one of a chain that was given back
  void pass_on_freed();
  names permits_of(const stored_job& j) const;
  names admitted(const stored_job& j) const;  // its permits and slots

  storage::limiter_record view(const std::string& limiter) const;
  storage::acquire_permits_answer::verdict park_one(const storage::update_limiter_request::park& asked);
  void redefine_window(const std::string& limiter, bool changed);
  void forget_window(const std::string& limiter, bool was_defined);
  void count(const storage::update_limiter_request& r);  // whom a window lets in
  void open_at(const storage::update_limiter_request::next_check& o, time_point until);
  names open_limiters(const storage::promote_request& r);
  bool stands_still(const std::string& resource) const;  // all who wait there are of queues that do not run
  std::uint64_t waiting_in(const std::string& resource, bool running) const;
  static void add_to_history(stored_job& j, run_record row);
  void remember_hand(stored_job& j, const std::string& cause);
  void remember(stored_job& j, const std::string& cause, const std::string& why, duration waited);

  const clock& clock_;
  still_there kept_;
  std::map<std::string, stored_job> jobs_;
  std::set<std::string> paused_;
  std::map<std::tuple<server_id, queue_name, std::uint32_t>, std::uint64_t> last_op_;
  std::map<std::string, storage::define_request> definitions_;
  std::map<std::string, std::map<std::string, permit>> permits_;  // by resource and job
  names freed_;                                                   // and not passed on yet
  names returned_;                                                // to their lines, by those of chains
  std::map<line_name, turn> turns_;
  std::set<std::string> passed_on_;         // by the step that is carried out
  std::map<std::string, held_lock> locks_;  // of some the lease is over
  struct known_limiter {
    std::uint64_t version = 0;
    std::string state;
  };
  std::map<std::string, known_limiter> limiters_;
  std::map<std::string, window_count> counted_;    // by window: the runs that it let in
  std::map<std::string, time_point> next_checks_;  // by line
  bool moved_checks_ = false;                      // timers must look
  std::uint64_t places_ = 0;
  sluice::fence last_fence_;
  std::set<std::string> made_work_;  // jobs that became ready or due
  bool cancels_ = false;             // runs were asked to end

  std::map<std::string, known_group> groups_;
  std::map<std::string, unique_key> keys_;
  std::uint64_t births_ = 0, steps_ = 0;
  std::vector<ending> ended_;           // by this step, and not told yet
  std::vector<ending> ended_runs_;      // as ended_; they are told behind the others
  std::set<std::string> ending_;        // to those that this step stores they have not ended
  std::set<std::string> named_;         // by the call of this step as new
  known_jobs met_too_late_;             // by this claim
  std::vector<ending> owed_;            // ends that are told by the next promote
  std::set<std::string> owed_cancels_;  // of groups
  names freed_with_others_;             // by those that ended without a run of their own
};

}  // namespace sluice::test
