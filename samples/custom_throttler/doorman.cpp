#include "custom_throttler/doorman.hpp"

#include <algorithm>
#include <map>

namespace sample {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using sluice::throttle_verdict;

// A throttler may answer messages of its own, too.
using doorman_actor = sluice::throttler_actor::extend<caf::replies_to<count_atom>::with<std::uint64_t, std::uint64_t>>;

constexpr sluice::duration ask_again = 25ms;
constexpr auto nobody_at_the_door = 700ms;  // so that one sees the jobs wait

// As TCP does: a little more with each success, half at a failure.
struct doorman_state {
  static inline const char* name = "doorman";
  double limit = max_inside;
  std::map<sluice::fence, steady::time_point> inside;  // each start has a fence of its own
  steady::time_point last_cut{};

  throttle_verdict judge(const sluice::throttle_request& asked) {
    if (inside.size() >= static_cast<std::size_t>(limit)) return {sluice::admission::deferred, ask_again, {}};
    inside[asked.about->fence] = steady::now();
    return {};
  }

  void over(const sluice::throttled_end& end) {
    // Whoever it does not know was let in by the doorman before it. So starts are told apart, not counted: a mere
    // number would go below the truth here, and let in too many.
    const auto found = inside.find(end.about->fence);
    if (found == inside.end()) return;
    const auto let_in = found->second;
    inside.erase(found);
    if (end.ran == 0s) return;  // was not started after all, and says nothing of the bank
    if (!end.failed) {
      limit = std::min<double>(max_inside, limit + 1 / limit);
    } else if (let_in >= last_cut) {  // failures of one crowd are one piece of news
      limit = std::max(1.0, limit / 2);
      last_cut = steady::now();
    }
  }
};

doorman_actor::behavior_type doorman(doorman_actor::stateful_pointer<doorman_state> self) {
  return {[self](sluice::acquire_atom, const std::vector<sluice::throttle_request>& asked) {
            std::vector<throttle_verdict> verdicts;
            for (const auto& one : asked)
              verdicts.push_back(self->state.judge(one));
            return verdicts;
          },
          [self](sluice::ended_runs_atom, const std::vector<sluice::throttled_end>& ends) {
            for (const auto& end : ends)
              self->state.over(end);
          },
          [self](count_atom) -> caf::result<std::uint64_t, std::uint64_t> {
            return {static_cast<std::uint64_t>(self->state.limit), std::uint64_t{self->state.inside.size()}};
          }};
}

using spawn_atom = caf::atom_constant<caf::atom("spawn")>;

}  // namespace

caf::behavior owner_of_doorman(caf::event_based_actor* self) {
  struct owned {
    sluice::server_actor server;
    doorman_actor doorman;
  };
  auto mine = std::make_shared<owned>();
  self->set_down_handler([self, mine](const caf::down_msg& down) {
    if (down.source != mine->doorman.address()) return;
    mine->doorman = nullptr;
    self->delayed_send(self, nobody_at_the_door, spawn_atom::value);
  });
  return {
      [self, mine](up_atom, const sluice::server_actor& server) {
        mine->server = server;
        self->send(self, spawn_atom::value);
      },
      [self, mine](spawn_atom) {
        mine->doorman = self->spawn<caf::monitored>(doorman);
        // Until this is said, jobs that name custom:adaptive wait in the store.
        self->send(mine->server, sluice::set_throttler_actor_atom::value, std::string("adaptive"),
                   sluice::throttler_actor(mine->doorman));
      },
      [self, mine](kill_atom) {
        if (mine->doorman) self->send_exit(mine->doorman, caf::exit_reason::kill);
      },
      [self, mine](count_atom) -> caf::result<std::uint64_t, std::uint64_t> {
        if (!mine->doorman) return caf::make_error(caf::sec::invalid_argument, "there is no doorman");
        return self->delegate(mine->doorman, count_atom::value);
      },
  };
}

}  // namespace sample
