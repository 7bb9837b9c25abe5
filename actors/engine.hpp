// What the actors and threads of one running server share. Made by server::start, gone when the last
// of them is.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include <sluice/cron.hpp>

#include "actors/crew.hpp"
#include "actors/pool.hpp"
#include "actors/type_table.hpp"
#include "actors/watch_list.hpp"
#include "core/log.hpp"
#include "storage/runner.hpp"

namespace sluice::actors {

class lease_keeper;

// The one place for a suspect in a server: a job that may kill it runs beside no other such job. Who wanted it in vain
// is told of by whoever gives it back. Thread-safe.
class suspect_place {
public:
  bool take() { return change(state::free, state::taken, state::wanted); }
  // True when it is free now; else it is wanted from now on.
  bool is_free() { return change(state::free, state::free, state::wanted); }
  // True: somebody wanted it meanwhile.
  bool give_back() { return at_.exchange(state::free) == state::wanted; }

private:
  enum class state : std::uint8_t { free, taken, wanted };
  bool change(state from, state to, state otherwise) {
    auto seen = at_.load();
    while (!at_.compare_exchange_weak(seen, seen == from ? to : otherwise))
      continue;
    return seen == from;
  }
  std::atomic<state> at_{state::free};
};

struct engine : std::enable_shared_from_this<engine> {
  server_options options;
  server_id id;
  server_info self;  // as it is told to the store
  std::shared_ptr<const bodies> can_run;
  std::unique_ptr<type_table> types;
  std::map<std::string, std::shared_ptr<const throttler_route>> custom_throttlers;  // of the host, by name
  watch_list watched;
  std::shared_ptr<crew> all_actors = std::make_shared<crew>();
  std::shared_ptr<storage::runner> runner;
  std::atomic<bool> quiet{false};
  suspect_place suspects;  // taken by the one claim or start that may hold one
  std::atomic<std::uint64_t> next_op{1};

  // How often the store refused this server's renewals. Who could not renew then may have been anybody.
  std::atomic<std::uint64_t> refused_renewals{0};

  // Set by a stop: who begins after it does nothing.
  std::atomic<bool> stopped{false};

  // Why the server can go on no more; the first time counts, and is told once. Told with the lock held, so that a stop
  // waits: what `told` needs may be gone after it.
  void fatal(const error& why) {
    std::lock_guard hold(fatal_mutex_);
    if (fatal_) return;
    fatal_ = why;
    if (on_fatal_) on_fatal_(why);
    else log::error("the server cannot go on: ", to_string(why));
  }
  void on_fatal(const std::function<void(const error&)>& told) {
    std::lock_guard hold(fatal_mutex_);
    on_fatal_ = told;
    if (fatal_ && told) told(*fatal_);
  }
  // From here on nobody is told.
  void end_fatal() {
    std::lock_guard hold(fatal_mutex_);
    on_fatal_ = nullptr;
    if (!fatal_) fatal_ = error{errc::not_running, {}};
  }

  // Stores what the configuration says of throttlers and schedules. Waits for the store, as long as this for each step.
  result<void> store_configuration(duration patience);
  // Does it again, on a thread of its own, since the store has forgotten this server: it came back empty, or as it was
  // long ago.
  void restore_configuration();
  std::atomic<bool> must_restore{false};  // that failed, or came too early: the next beat begins it again
  // Waits until that has ended.
  void end_restoring();
  // The version of the zone files by which schedules are planned, as it was read last.
  std::string zones() const {
    std::lock_guard hold(mutex_);
    return zones_;
  }
  // Reads them anew, on a thread of its own: their folder may be slow. Nothing while that goes on.
  void read_zones();
  // Whether the configuration defines a throttler, named as in the store; also by one of its lines.
  bool configures(std::string_view resource) const;

  // The queue's pool, made when missing.
  std::shared_ptr<pool> pool_of(const std::string& queue, const queue_options& how);
  // Whether a start is with a pool of this server, be it only its end that is not stored yet.
  bool holds(sluice::fence f) const {
    const auto all = pools();
    return std::any_of(all.begin(), all.end(), [&](const auto& p) { return p->holds(f); });
  }
  std::vector<std::shared_ptr<pool>> pools() const {
    std::lock_guard hold(mutex_);
    std::vector<std::shared_ptr<pool>> all;
    for (const auto& [name, p] : pools_)
      all.push_back(p);
    return all;
  }

  std::shared_ptr<lease_keeper> keeper;

private:
  std::mutex restoring_mutex_;
  std::atomic<bool> restoring_{false};
  std::jthread restorer_;
  std::mutex fatal_mutex_;
  std::optional<error> fatal_;
  std::function<void(const error&)> on_fatal_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<pool>> pools_;
  std::string zones_ = time_zone_version();
  std::atomic<bool> reading_zones_{false};
  std::jthread zone_reader_;
};

using engine_ptr = std::shared_ptr<engine>;

// Checks the options, opens the store and tells it that this server lives. No actor runs yet.
result<engine_ptr> open_engine(const server_options& options, const handler_registry& handlers,
                               const filter_list& filters);

}  // namespace sluice::actors
