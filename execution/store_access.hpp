// The handle by which all parts of a server ask its store. The storage actor holds it open: when that actor dies, what
// is asked waits here until its successor has opened it again. Thread-safe.
#pragma once

#include <deque>

#include "core/mutex.hpp"
#include "storage/shared_store.hpp"

namespace sluice::execution {

class store_access {
public:
  using requests = storage::shared_store::requests;
  using answered = storage::shared_store::answered;

  // Open at first, so that a server can ask before its actors run. `on_refusal` is told, on a thread of the store, of
  // each error that it answers.
  store_access(std::shared_ptr<storage::shared_store> store, std::function<void(const error&)> on_refusal)
      : store_(std::move(store)), on_refusal_(std::make_shared<const refusal>(std::move(on_refusal))) {}

  virtual ~store_access() = default;

  // As the shared store's. What is submitted while nobody holds it open is asked later, in the same order; but what
  // is urgent, as renewals are, goes at once.
  virtual void submit(requests asked, answered done, storage::priority when = storage::priority::in_order);
  // Waits for the answers. storage_busy while nobody holds it open.
  std::vector<storage::answer> call(requests asked, steady_point deadline);

  // Opens it. Whoever did so last closes it by that number.
  std::uint64_t open();
  void close(std::uint64_t opened);
  // At the end of a server: nobody closes it any more.
  void open_for_good();

  const storage::shared_store& shared_store() const { return *store_; }
  // What answers, for who is told when the handle may be gone: valid while an answer is told.
  storage::shared_store* who_answers() const { return store_.get(); }
  std::unique_ptr<storage::shared_store::subscription> subscribe(storage::shared_store::listener told) {
    return store_->subscribe(std::move(told));
  }
  time_point now() const { return store_->now(); }

private:
  using refusal = std::function<void(const error&)>;
  struct waiting {
    requests asked;
    answered done;
    storage::priority when;
  };
  void pass_on(waiting one);

  const std::shared_ptr<storage::shared_store> store_;
  const std::shared_ptr<const refusal> on_refusal_;
  mutex lock_;
  std::deque<waiting> waiting_ SLUICE_GUARDED_BY(lock_);
  std::uint64_t opened_ SLUICE_GUARDED_BY(lock_) = 0;
  bool is_open_ SLUICE_GUARDED_BY(lock_) = true;
  bool stays_open_ SLUICE_GUARDED_BY(lock_) = false;
};

}  // namespace sluice::execution
