// How the threads of a process share a store. One is at it at a time: it takes whatever waits, applies it as one batch
// and answers each. Under load that is group commit. A caller who finds nobody there goes himself, which spares two
// changes of thread; so does the thread that hears of other processes' work, with what its listeners submit then. What
// others submit a thread of the shared store takes. Where a store has another connection, a second thread takes what
// may be applied beside while somebody is at the first.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <unistd.h>

#include "core/per_process.hpp"
#include "storage/store.hpp"

namespace sluice::storage {

// When it is a submission's turn, among those that wait.
enum class priority : std::uint8_t {
  in_order,   // behind all that was asked before
  unordered,  // so, or at the second connection: before, beside or after what others asked, and answered at the same
              // time
  urgent,     // before all but others of its kind, with little else in its commit; else as `unordered`. For renewals
};

// A child that was forked has no thread of its parent's. There all that is asked is answered with not_running at once,
// and nothing of the parent's is touched: it is neither closed nor destroyed.
class shared_store : public std::enable_shared_from_this<shared_store> {
public:
  using requests = std::vector<request>;
  using answers = std::vector<answer>;
  using answered = std::function<void(answers)>;
  using listener = std::function<void(const hint&)>;

  // `time`: the store's clock, kept as long as the store when it is not the process's own.
  explicit shared_store(std::unique_ptr<store> opened, std::shared_ptr<const clock> time = nullptr);
  // Everything submitted before is applied first, with one try and no waiting for other processes.
  ~shared_store();
  shared_store(const shared_store&) = delete;

  // Queues the requests; they are applied in order, within one commit. `done` is called on a thread of the
  // shared store and must not block. Never refuses: for callers who bound themselves by leases.
  void submit(requests asked, answered done, priority when = priority::in_order);

  // The blocking form for everybody else: waits for room and for the answers. What could not even be
  // begun by the deadline is withdrawn and answered with storage_busy; what had begun, with
  // unknown_outcome.
  answers call(requests asked, steady_point deadline);

  // `callback` is called, from any thread and several at a time, when there may be new work, until the subscription
  // has ended. It must not block, nor end its own subscription.
  class subscription {
  public:
    ~subscription();

  private:
    friend class shared_store;
    struct call {
      std::shared_mutex under_way;  // whoever ends the subscription waits for calls that have begun
      listener callback;
    };
    shared_store* from = nullptr;
    std::shared_ptr<call> made;
  };
  std::unique_ptr<subscription> subscribe(listener callback);

  // How many submissions wait for their turn.
  std::size_t waiting() {
    if (!is_of_this_process()) return 0;
    std::lock_guard hold(mutex_);
    return waiting_.size();
  }

  // Whether what is marked `unordered` may be applied by two at a time.
  bool has_second_connection() const { return second_ != nullptr; }

  // As the store was found when it was opened.
  sluice::durability durability() const { return durability_; }
  const std::string& settings() const { return settings_; }

  void check_in_background() { store_->check_in_background(); }
  // Of the store, for what is told on the shared store's thread.
  bool has_failed_for_good() const { return store_->has_failed_for_good(); }

  // Whether this is one of its own threads, which cannot wait for themselves.
  bool is_here() const {
    const auto me = std::this_thread::get_id();
    return me == thread_.get_id() || me == second_thread_.get_id() || me == hints_thread_.load();
  }

  // False in a child that was forked from the process that opened it.
  bool is_of_this_process() const { return opener_ == ::getpid(); }

  // By the clock that the store was opened with.
  time_point now() const { return time_->now(); }

private:
  struct pending_submission {
    requests asked;
    answered done;
    std::size_t weight = 0;
    steady_point since{};
    priority when = priority::in_order;
    bool is_waited_for = false;  // nobody's code is run with its answers
    bool by_hint = false;        // by the hints thread, which may carry it out itself
  };
  enum class who : std::uint8_t { first_thread, second_thread, hints_thread, caller };
  using submissions = std::vector<std::shared_ptr<pending_submission>>;

  answers refuse_forked(std::size_t count) const { return answers(count, of_other_process(opener_)); }
  void run();
  void take_turn(who me);
  void run_second();
  bool unordered_waits() const;
  // From the front of the line, as many as one commit may hold. The second thread takes those marked `unordered`; a
  // caller takes nothing whose answers would run other people's code on his thread, and the hints thread only what it
  // submitted, so that it hears the next hint soon.
  submissions take(who me);
  // Answers what work it made: listeners are told once the store is free for others.
  hint carry_out(store& in, const submissions& taken);
  void wait_for_store(const error& why);
  void notify_listeners(const hint& meant);
  void hear(const hint& meant);

  const pid_t opener_ = ::getpid();
  std::shared_ptr<const clock> time_;  // outlives the store
  std::unique_ptr<store> store_;
  std::unique_ptr<store> second_;  // null when the store has no other connection
  sluice::durability durability_;
  std::string settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable unordered_;
  std::condition_variable room_;
  std::deque<std::shared_ptr<pending_submission>> waiting_;
  std::size_t waiting_weight_ = 0;
  bool busy_ = false;     // somebody is at the first connection
  bool hearing_ = false;  // the hints thread will look at what waits in a moment
  bool stopping_ = false;
  std::optional<error> away_;  // why the store cannot be asked now
  std::mutex listeners_mutex_;
  std::vector<std::shared_ptr<subscription::call>> listeners_;
  std::unique_ptr<watch> watch_;
  std::atomic<std::thread::id> hints_thread_;
  std::thread thread_;
  std::thread second_thread_;
};

// One shared store per store and process, never one of a process that this one was forked from: the same file answers
// the same shared store while anybody uses it. `sqlite::memory:` is one store as well, shared by this process's servers
// and clients and gone with the last of them; `sqlite::memory:NAME` is another. With a `time` of the caller's the store
// must not be open yet (invalid_argument), and goes by it for whoever opens the URL while anybody uses it. What is
// opened to look only is apart from what may write.
result<std::shared_ptr<shared_store>> open_shared_store(const std::string& url,
                                                        std::shared_ptr<const clock> time = nullptr,
                                                        open_mode mode = open_mode::may_make,
                                                        const machine::library* known = nullptr);
// The same for a server, which also raises a store of an older layout when it is the first of its version and no other
// works there. storage_older names those that do: ask again when they have ended.
result<std::shared_ptr<shared_store>> open_shared_store_for_server(const std::string& url,
                                                                   std::shared_ptr<const clock> time = nullptr,
                                                                   const machine::library* known = nullptr);

}  // namespace sluice::storage
