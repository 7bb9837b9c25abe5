// The jobs whose ends somebody waits for: which the store is asked for next, and who is told what by its answer. An end
// is what it is to a host's observers (actors/facade_jobs.cpp): a final state that the store has, or that it has no
// such job. No thread and no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <sluice/job.hpp>

#include "storage/store.hpp"

namespace sluice {

class watched_ends {
public:
  using listener = std::function<void(const result<job>&)>;
  struct end {
    job_id id;
    result<job> how;
    std::vector<listener> listeners;
  };

  // Jobs of one look; fewer when those of the last one had more than this many bytes of args and results.
  static constexpr std::size_t most_in_a_look = storage::largest_page;
  static constexpr std::size_t bytes_of_a_look = storage::max_answer_bytes;

  void add(const job_id& id, listener tell);

  // Begins a look: those that it is the turn of. None when nobody waits. One look at a time.
  std::vector<job_id> next_look();
  // What the look that was begun last brought, for each. Whoever is told is forgotten; the caller tells, without a
  // lock.
  std::vector<end> seen(const std::vector<job_id>& ids, std::vector<storage::answer>& answers);

  // All who wait, with what `why` says for each job. They are forgotten.
  std::vector<end> give_up(const std::function<error(const job_id&)>& why);

private:
  struct waiter {
    listener tell;
    std::uint64_t since = 0;  // the look that was begun last before
  };

  std::map<job_id, std::vector<waiter>> all_;
  job_id looked_until_;
  std::uint64_t looks_ = 0;
  std::size_t in_next_look_ = most_in_a_look;
};

}  // namespace sluice
