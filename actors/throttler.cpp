// A throttler of Sluice's own, as an actor: what it asks goes to the store, one question at a time.
#include "actors/store_question.hpp"
#include "core/text.hpp"
#include "execution/store_throttler.hpp"

namespace sluice::actors {
namespace {

// Jobs wait until it is defined. A store that came back empty, or of which a person removed a throttler, gets it from
// the configuration again by the next beat.
std::string why_undefined(server_context& e, std::string_view resource) {
  if (e.definitions.defines(resource)) {
    e.definitions.restore_later();
    return cat("throttler ", printable(resource, 200),
               " is not in the store, which gets it from the configuration again");
  }
  auto why = not_defined(resource);
  if (e.definitions.is_first_told_of(resource)) log::error(why, "; until then its jobs wait");
  return why;
}

struct throttler_state {
  static inline const char* name = "throttler";
  using verdicts = std::vector<throttle_verdict>;

  store_throttler_actor::pointer self = nullptr;
  server_context_ptr e;
  std::unique_ptr<store_throttler> decides;
  store_question question;

  caf::result<verdicts> acquire(std::vector<throttle_request> runs, std::optional<duration> park_for) {
    auto promise = self->make_response_promise<verdicts>();
    decides->acquire(std::move(runs), park_for, [promise](verdicts each) mutable { promise.deliver(std::move(each)); });
    ask();
    return promise;
  }

  void look_at_lines() {
    decides->look_at_lines();
    ask();
  }

  void ask() {
    if (question.open()) return;
    auto asked = decides->next_question(e->store->now());
    if (!asked) return;
    question.ask(self, std::move(*asked), [this](result<storage::answer> told) {
      decides->answered(std::move(told), e->store->now());
      ask();
    });
  }
};

store_throttler_actor::behavior_type throttler(store_throttler_actor::stateful_pointer<throttler_state> self,
                                               server_context_ptr e, const std::string& resource) {
  const bool has_permits = resource == all_permits;
  install_handlers(self, e, has_permits ? "permits" : "limiter");
  auto& s = self->state;
  s.self = self;
  s.question.begin(has_permits ? "mutexes and semaphores" : cat("throttler ", printable(resource, 200)), e->store);
  s.decides = make_store_throttler(resource, e->config, [context = e.get()](std::string_view undefined) {
    return why_undefined(*context, undefined);
  });
  s.e = std::move(e);
  return behavior_with_question<store_throttler_actor>(
      self,
      [self](acquire_atom, std::vector<throttle_request>& runs) {
        return self->state.acquire(std::move(runs), std::nullopt);
      },
      [](ended_runs_atom, const std::vector<throttled_end>&) {
      },  // the store gives back permits; slots come back with time
      [self](open_atom) { self->state.look_at_lines(); },
      [self](park_atom, std::vector<throttle_request>& runs, std::uint64_t us) {
        return self->state.acquire(std::move(runs), duration(us));
      });
}

}  // namespace

store_throttler_actor spawn_throttler(caf::local_actor* parent, server_context_ptr e, std::string resource) {
  count_actor(e);
  auto made = parent->system().spawn(throttler, std::move(e), std::move(resource));
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
