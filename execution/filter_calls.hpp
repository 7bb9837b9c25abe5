// What a queue's dispatcher leaves to its filters. The code of users' filters may take its time, so it runs on the
// thread of the queue's supervisor, and no step of the dispatcher waits for it. Thread-safe.
#pragma once

#include "execution/admission_request.hpp"
#include "execution/pool.hpp"

namespace sluice::execution {

struct execution_context;

class filter_calls {
public:
  filter_calls(std::weak_ptr<execution_context> of, std::shared_ptr<pool> runs_in)
      : context_(std::move(of)), pool_(std::move(runs_in)) {}

  // An end that the store has taken, or refused for good.
  struct stored_end {
    ended_run end;
    errc answer = errc::none;
  };
  void add_stored(std::vector<stored_end> ends);
  // Runs that throttlers have rejected.
  void add_rejected(std::vector<admission_verdict> runs);

  // How many runs wait for them.
  std::size_t waiting() const {
    const mutex_lock held(lock_);
    return stored_.size() + rejected_.size();
  }

  // Tells the filters of what is stored and asks them how the rejected runs end, and is done with these runs. Answers
  // how many they were.
  std::size_t call();

private:
  void finish(execution_context& of, const stored_end& one);

  const std::weak_ptr<execution_context> context_;
  const std::shared_ptr<pool> pool_;
  mutable mutex lock_;
  std::vector<stored_end> stored_ SLUICE_GUARDED_BY(lock_);
  std::vector<admission_verdict> rejected_ SLUICE_GUARDED_BY(lock_);
};

}  // namespace sluice::execution
