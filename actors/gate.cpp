#include <map>

#include "actors/throttler_directory.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "execution/admissions.hpp"
#include "execution/dispatcher.hpp"

namespace sluice::actors {
namespace {

// A custom throttler that gives no answer lets nobody in; CAF 0.17 never answers a dropped promise.
constexpr auto custom_throttler_timeout = std::chrono::seconds(10);
constexpr auto ask_again_after = std::chrono::milliseconds(100);

struct gate_state {
  static inline const char* name = "gate";

  gate_actor::pointer self = nullptr;
  server_context_ptr e;
  std::optional<throttler_directory> throttlers;
  std::optional<admissions> on_their_way;
  // CAF 0.17 never answers for an actor that died with the question in hand.
  struct asked_throttler {
    caf::actor_addr who;
    std::string resource;
  };
  std::map<std::uint64_t, asked_throttler> asked;  // by the question's number

  void admit(std::vector<admission_request> asks) {
    // A supervisor's successor asks again for what was let in meanwhile, too: that one may run already.
    std::erase_if(asks, [this](const auto& ask) { return !e->queues.awaits_admission(ask.run); });
    carry_out(on_their_way->admit(asks));
  }

  void carry_out(admission_step step) {
    for (auto& [resource, ends] : step.not_started)
      throttlers->notify_run_ended(resource, std::move(ends));
    judge(std::move(step.verdicts));
    for (auto& question : step.questions)
      ask(std::move(question));
  }

  void ask(throttler_question q) {
    if (q.to_actor) {
      const auto custom = throttlers->custom(q.resource);
      if (!custom) return carry_out(on_their_way->unanswered(q.number));
      return request(q, custom, caf::duration(custom_throttler_timeout), acquire_atom::value, std::move(q.runs));
    }
    const auto own = throttlers->own(q.resource);
    if (!q.park_for) return request(q, own, caf::infinite, acquire_atom::value, std::move(q.runs));
    request(q, own, caf::infinite, park_atom::value, std::move(q.runs),
            static_cast<std::uint64_t>(q.park_for->count()));
  }

  template <class Actor, class... What>
  void request(const throttler_question& q, const Actor& throttler, const caf::duration& timeout, What&&... what) {
    asked[q.number] = {throttler.address(), q.resource};
    self->request(throttler, timeout, std::forward<What>(what)...)
        .then([this, number = q.number](const std::vector<throttle_verdict>& verdicts) { answered(number, verdicts); },
              [this, number = q.number](const caf::error& why) { unanswered(number, caf::to_string(why)); });
  }

  void answered(std::uint64_t number, const std::vector<throttle_verdict>& verdicts) {
    if (asked.erase(number) > 0) carry_out(on_their_way->answered(number, verdicts));
  }

  // Its throttler has died, or says nothing. No news when it was answered already, by its throttler or by that death.
  void unanswered(std::uint64_t number, const std::string& why) {
    const auto found = asked.find(number);
    if (found == asked.end()) return;
    const auto resource = std::move(found->second.resource);
    asked.erase(found);
    if (e->stopped) return;
    log::warn("throttler ", printable(resource, 200), " gave no answer (", why, "); asking again");
    if (e->config->is_custom_actor(resource)) return carry_out(on_their_way->unanswered(number));
    self->delayed_send(self, ask_again_after, again_atom::value, number);
  }

  void again(std::uint64_t number) { carry_out(on_their_way->ask_again(number)); }

  void over(const std::vector<throttled_end>& ends) {
    std::map<std::string, std::vector<throttled_end>> by_custom;
    for (const auto& end : ends) {
      const auto plan = e->config->throttles.find(end.about->type.value);
      if (plan == e->config->throttles.end()) continue;
      for (const auto& resource : plan->second.custom)
        if (e->config->is_custom_actor(resource)) by_custom[resource].push_back(end);
    }
    for (auto& [resource, some] : by_custom)
      throttlers->notify_run_ended(resource, std::move(some));
  }

  void down(const caf::actor_addr& who) {
    throttlers->forget(who);
    std::vector<std::uint64_t> in_hand;
    for (const auto& [number, throttler] : asked)
      if (throttler.who == who) in_hand.push_back(number);
    for (const auto number : in_hand)
      unanswered(number, "it died");
  }

  // Straight to the queues of these runs.
  void judge(std::vector<admission_verdict> verdicts) {
    std::map<std::string_view, std::vector<admission_verdict>> by_queue;
    for (auto& verdict : verdicts) {
      const std::string_view queue = verdict.run->about.queue.value;
      by_queue[queue].push_back(std::move(verdict));
    }
    for (auto& [queue, some] : by_queue)
      if (const auto found = e->queues.dispatcher_of(queue)) found->judged(std::move(some));
  }
};

gate_actor::behavior_type gate(gate_actor::stateful_pointer<gate_state> self, server_context_ptr e) {
  install_handlers(self, e, "gate");
  self->set_down_handler([self](caf::down_msg& down) { self->state.down(down.source); });
  auto& s = self->state;
  s.self = self;
  s.e = std::move(e);
  s.throttlers.emplace(self, s.e);
  s.on_their_way.emplace(s.e->config);
  for (const auto& [custom, route] : s.e->custom_throttlers)
    if (const auto actor = route->to()) s.throttlers->name_custom(custom, actor);
  return {
      [self](admit_atom, const asks_ptr& asks) { self->state.admit(*asks); },
      [self](ended_runs_atom, const std::vector<throttled_end>& ends) { self->state.over(ends); },
      [self](open_atom, const names_ptr& names) { self->state.throttlers->look_at_lines(*names); },
      [self](set_throttler_actor_atom, const std::string& name, const throttler_actor& actor) {
        self->state.throttlers->name_custom(name, actor);
      },
      [self](again_atom, std::uint64_t number) { self->state.again(number); },
  };
}

}  // namespace

gate_actor spawn_gate(caf::local_actor* parent, server_context_ptr e) {
  count_actor(e);
  auto made = parent->system().spawn(gate, std::move(e));
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
