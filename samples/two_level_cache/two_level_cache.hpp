// A cache in two levels: this process's memory, over a level that all processes share.
//
// An entry is a list of pages; a single value is a list of one. It has two times to live. Until the shorter one is
// over, that of its state, it is Active and whoever reads it is answered from memory. Then one reader of all processes
// rebuilds it under a lock, and meanwhile (Inprogress) all others are answered at once with the old value, which lives
// longer.
//
//   NotExist ── a reader takes the lock ──► Inprogress ── all pages stored ──► Active ── state's time over ──► NotExist
//                                            └── the load failed, or the lock ran out ──► NotExist, the old value stays
//
// Inprogress is stored nowhere but in the lock: a process that dies in a rebuild takes it along when the lock's time to
// live is over, and the next reader rebuilds.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>

#include <sluice/lock.hpp>

#include "two_level_cache/shared_level.hpp"

namespace sample {

enum class cache_state { not_exist, in_progress, active };

struct cache_times {
  sluice::duration state = std::chrono::minutes(1);
  sluice::duration data = std::chrono::hours(1);  // longer than `state`: how long an old value is better than none
  sluice::duration lock = std::chrono::seconds(30);
  // How long the process does not ask again for an entry that another process rebuilds.
  sluice::duration recheck_interval = std::chrono::milliseconds(50);
};

// What a loader returns: a page, and how many there are as far as it knows.
struct loaded_page {
  std::string value;
  std::uint32_t pages = 1;
};
// Called with none of the cache's mutexes held, for page 1, 2 and so on; throws when it has nothing. It must come to an
// end by itself, with a timeout: as long as it goes on the lock is renewed, and nobody else loads.
using page_loader = std::function<loaded_page(std::uint32_t number)>;
using value_loader = std::function<std::string()>;

struct reading {
  // None: there was never one or its data's time is over; or the list has no such page.
  std::shared_ptr<const std::string> value{};
  // Active: as fresh as the entry should be. Inprogress: somebody rebuilds it. NotExist: the next reader tries.
  cache_state state = cache_state::not_exist;
  sluice::time_point active_until{};  // of the last complete rebuild, also when that time is over
  bool loaded = false;                // by this call
  std::string failure{};              // what went wrong in this call, or in the load that it waited for; empty: nothing
};

class two_level_cache {
public:
  using clock = std::function<sluice::time_point()>;

  // `shared` and `locks` must outlive it and be those of all processes that share the entries, whose times must be the
  // same and whose clocks must agree. Throws std::invalid_argument when the times do not fit each other.
  two_level_cache(shared_level& shared, sluice::lock_manager& locks, cache_times times, clock now = wall_clock);

  // Any thread. Of those who find no active value one in each process asks for the lock, and one of all loads, in its
  // own call; the others wait for nobody when there is an old value. When there is none, they wait for the load of
  // another thread of this process, but not for that of another process. A load that fails leaves the old value, is
  // told by `failure` to who made it and to who waited for it, and is tried again by the next who reads. A key is 1 to
  // 190 bytes of UTF-8 without control characters.
  reading value(const std::string& key, const value_loader& load);
  // Page `number` of a list, from 1. In the first rebuild a page can be read as soon as it is there; in later ones new
  // pages replace old ones one by one, so two pages may be of two rebuilds.
  reading page(const std::string& key, std::uint32_t number, const page_loader& load);

  static sluice::time_point wall_clock();

private:
  struct flight;
  struct entry;

  std::shared_ptr<entry> entry_of(const std::string& key);
  reading answer(const entry& of, std::uint32_t number) const;
  // Both hold the mutex when they begin and end, and let go of it meanwhile. They say what went wrong.
  std::string look(std::unique_lock<std::mutex>& hold, entry& of, const std::string& key, std::uint32_t number);
  std::string lead(std::unique_lock<std::mutex>& hold, entry& of, const std::string& key, std::uint32_t number,
                   const page_loader& load, bool& loaded);
  void rebuild(entry& of, const std::string& key, const sluice::held_lock& lock, const page_loader& load);
  void prune_when_due();

  shared_level& shared_;
  sluice::lock_manager& locks_;
  const cache_times times_;
  const clock now_;
  std::mutex mutex_;  // of all entries; held for no load, no lock and no look into the shared level
  std::unordered_map<std::string, std::shared_ptr<entry>> entries_;
  sluice::time_point next_prune_{};
};

}  // namespace sample
