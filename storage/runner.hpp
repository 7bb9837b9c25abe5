// How the threads of a process share a store. One is at it at a time: it takes whatever waits, applies it as one batch
// and answers each. Under load that is group commit. A caller who finds nobody there goes himself, which spares two
// changes of thread; what is submitted a thread of the runner takes. Where a store has another way in, a second thread
// takes what may be applied beside while somebody is at the first.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "storage/store.hpp"

namespace sluice::storage {

// When it is an order's turn, among those that wait.
enum class turn : std::uint8_t {
  last,    // behind all that was asked before
  beside,  // so, or at the second way in: before, beside or after what others asked, and answered at the same time
  first,   // before all but others of its kind, with little else in its commit; else as `beside`. For renewals
};

class runner {
public:
  using requests = std::vector<request>;
  using answers = std::vector<answer>;
  using answered = std::function<void(answers)>;
  using listener = std::function<void(const hint&)>;

  // `time`: the store's clock, kept as long as the store when it is not the process's own.
  explicit runner(std::unique_ptr<store> opened, std::shared_ptr<const clock> time = nullptr);
  // Everything submitted before is applied first, with one try and no waiting for other processes.
  ~runner();
  runner(const runner&) = delete;

  // Queues the requests; they are applied in order, within one commit. `done` is called on a thread of the
  // runner and must not block. Never refuses: for callers who bound themselves by leases.
  void submit(requests asked, answered done, turn when = turn::last);

  // The blocking form for everybody else: waits for room and for the answers. What could not even be
  // begun by the deadline is withdrawn and answered with storage_busy; what had begun, with
  // unknown_outcome.
  answers call(requests asked, steady_point deadline);

  // `told` is called, from any thread, when there may be new work. It must not block.
  class subscription {
  public:
    ~subscription();

  private:
    friend class runner;
    runner* from = nullptr;
    std::list<listener>::iterator at;
  };
  std::unique_ptr<subscription> subscribe(listener told);

  // How many orders wait for their turn.
  std::size_t waiting() {
    std::lock_guard hold(mutex_);
    return waiting_.size();
  }

  // Whether what is marked `beside` may be applied by two at a time.
  bool has_two_ways() const { return second_ != nullptr; }

  // As the store was found when it was opened.
  sluice::durability durability() const { return durability_; }
  const std::string& settings() const { return settings_; }

  void check_in_background() { store_->check_in_background(); }
  // Of the store, for what is told on the runner's thread.
  bool has_failed_for_good() const { return store_->has_failed_for_good(); }

  // Whether this is one of its own threads, which cannot wait for themselves.
  bool is_here() const {
    const auto me = std::this_thread::get_id();
    return me == thread_.get_id() || me == second_thread_.get_id();
  }

  // By the clock that the store was opened with.
  time_point now() const { return time_->now(); }

private:
  struct job_order {
    requests asked;
    answered done;
    std::size_t weight = 0;
    steady_point since{};
    turn when = turn::last;
    bool is_waited_for = false;  // nobody's code is run with its answers
  };
  enum class who : std::uint8_t { first_thread, second_thread, caller };
  using orders = std::vector<std::shared_ptr<job_order>>;

  void run();
  void take_turn(who me);
  void run_beside();
  bool beside_waits() const;
  // From the front of the line, as many as one commit may hold. The second thread takes those marked `beside`; a caller
  // takes nothing whose answers would run other people's code on his thread.
  orders take(who me);
  void carry_out(store& in, const orders& taken);
  void wait_for_store(const error& why);
  void tell_listeners(const hint& meant);

  std::shared_ptr<const clock> time_;  // outlives the store
  std::unique_ptr<store> store_;
  std::unique_ptr<store> second_;  // null when the store has no other way in
  sluice::durability durability_;
  std::string settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable beside_;
  std::condition_variable room_;
  std::deque<std::shared_ptr<job_order>> waiting_;
  std::size_t waiting_weight_ = 0;
  bool busy_ = false;  // somebody is at the first way in
  bool stopping_ = false;
  std::optional<error> away_;  // why the store cannot be asked now
  std::mutex listeners_mutex_;
  std::list<listener> listeners_;
  std::unique_ptr<watch> watch_;
  std::thread thread_;
  std::thread second_thread_;
};

// One runner per store and process: the same file answers the same runner while anybody uses it.
// `sqlite::memory:` is one store as well, shared by this process's servers and clients and gone with the
// last of them; `sqlite::memory:NAME` is another.
// With a `time` of the caller's the store must not be open yet (invalid_argument), and goes by it for whoever
// opens the URL while anybody uses it. What is opened to look only is apart from what may write.
result<std::shared_ptr<runner>> open_runner(const std::string& url, std::shared_ptr<const clock> time = nullptr,
                                            open_mode mode = open_mode::may_make,
                                            const machine::edition* known = nullptr);
// The same for a server, which also raises a store of an older layout when it is the first of its version and no other
// works there. storage_older names those that do: ask again when they have ended.
result<std::shared_ptr<runner>> open_server_runner(const std::string& url, std::shared_ptr<const clock> time = nullptr,
                                                   const machine::edition* known = nullptr);

}  // namespace sluice::storage
