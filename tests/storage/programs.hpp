// Random programs: what a few servers, throttlers and people ask of a store, who get in each other's way.
#pragma once

#include <rapidcheck.h>

#include "storage/model.hpp"

namespace sluice::test {

// One step. Each verb takes what it needs of the small numbers; all of them shrink to 0.
enum class verb {
  enqueue,
  claim,
  settle,
  renew,
  progress,
  promote,
  find_expired,
  reap,
  prune,
  requeue,
  remove,
  cancel,
  group,
  pause,
  take,
  ask,             // a window
  update_limiter,  // a limiter, in any way
  define,
  reconcile,
  lock,
  wait,
  set_back,
  reopen,
  audit
};

struct command {
  verb what = verb::enqueue;
  int job = 0;     // of 6
  int other = 0;   // above 0: a second job in the same request
  int queue = 0;   // of 2
  int server = 0;  // of 3
  int which = 0;   // 0: the latest start or claim, 1: the one before, 2: one that never was
  int choice = 0;  // of 6: the end, the state to prune, the window
  int types = 0;   // of 5: which are known
  int amount = 0;  // of 3
  int more = 0;    // of 3
  int time = 0;    // of 4
  bool flag = false;
  bool joined = false;       // one commit with the next
  bool all_or_none = false;  // of enqueued jobs
  int connection = 0;        // through which it is asked
  int flow = 0;              // of 14: what an enqueued or carried job has to do with others; 0: nothing
  int whom = 0;              // of 6: which of them
  int more_of = 0;           // of 7
};

struct program {
  std::vector<command> steps;
  int look_every = 4;  // steps. One that has failed is looked at behind each.
};
std::ostream& operator<<(std::ostream& out, const program& p);

rc::Gen<program> any_program(int longest, int connections = 1);

inline const names queue_names = {"default", "other"};
inline const names job_names = {"a", "b", "c", "d", "e", "f"};
// What jobs take of permits.
inline const std::vector<names> wishes = {
    {"mutex:m"}, {"mutex:m", "mutex:n"}, {"mutex:n"}, {"semaphore:s"}, {"mutex:n", "semaphore:s"}};
inline constexpr std::uint32_t all_of_them = 1'000;

// A window as programs define it: more, or less, each time; its intervals stay as they are.
storage::define_request window_definition(const std::string& limiter, int more);
// What a throttler's actor would ask of the store about these runs, by the limiter as it was seen.
storage::update_limiter_request step_of(const storage::limiter_record& seen, const std::string& limiter, time_point now,
                                        const std::vector<storage::run_key>& runs, bool may_park = true);

// A server that serves all queues is alive.
storage::heartbeat_request somebody_serves();

// Turns commands into requests. Remembers every run, lost lease and limiter that it was told of, so that what it says
// is often old.
class crowd {
public:
  explicit crowd(world& w) : w_(w) { serve(); }

  static bool asks(const command& c);
  void pass_time(const command& c);
  // Somebody serves all queues, at any time.
  void serve();

  storage::request request(const command& c);
  // The same of calls that come together, as of threads of one process.
  std::vector<storage::request> requests(const command& c);
  void remember(const storage::request& asked, const storage::answer& told);

  // Runs a whole program, each step a commit.
  void play(const program& p);
  storage::answer ask(const storage::request& r);

  // Every run that ever was, oldest first for each job; and every lock that was taken.
  const std::map<std::string, std::vector<fence>>& starts() const { return starts_; }
  const std::map<std::string, std::vector<fence>>& locks() const { return locks_; }

private:
  storage::claim_request claim(const command& c);
  storage::lock_request lock(const command& c);
  prepared_job made(const std::string& id, const command& c);
  void carry(storage::settlement& end, const command& c);
  storage::request ask_window(const command& c);
  storage::update_limiter_request update_limiter(const command& c);
  storage::settlement end_of(storage::run_key run, run_end end, const command& c);
  std::vector<storage::run_key> runs_of(const command& c) const;
  fence fence_of(const std::string& id, int which) const { return fence_of(starts_, id, which); }
  static fence fence_of(const std::map<std::string, std::vector<fence>>& drawn, const std::string& name, int which);
  bool lapses_alone();
  duration never_twice(duration delay);
  void remember(const storage::claim_answer& got);

  world& w_;
  std::map<std::string, std::vector<fence>> starts_;
  std::map<std::string, std::vector<fence>> locks_;
  std::map<std::string, fence> chains_;                               // the latest of each type
  std::map<std::string, std::vector<storage::limiter_record>> seen_;  // of each limiter, the latest last
  int last_token_ = 0;
  std::vector<storage::expired_lease> lost_;
  std::map<std::tuple<int, int, int>, std::vector<std::uint64_t>> ops_;
  std::uint64_t last_op_ = 0;
  int delays_ = 0;
};

}  // namespace sluice::test
