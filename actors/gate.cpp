#include <algorithm>
#include <map>
#include <unordered_set>

#include "actors/throttler_directory.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "execution/dispatcher.hpp"

namespace sluice::actors {
namespace {

using namespace std::chrono_literals;

// A custom throttler that gives no answer lets nobody in; CAF 0.17 never answers a dropped promise.
constexpr auto custom_throttler_timeout = std::chrono::seconds(10);
constexpr duration custom_away = 1s;  // when jobs are asked about again, whose custom throttler is not there
constexpr auto ask_again = std::chrono::milliseconds(100);

// A run on its way through its throttlers.
struct pending_admission {
  run_ptr run;
  const throttle_plan* plan = nullptr;
  std::vector<std::string> left;      // resources to ask, the next first; `permits_step` stands for all its permits
  std::vector<std::string> let_in{};  // by these custom throttlers
};
constexpr const char* permits_step = "permits";

struct gate_state {
  static inline const char* name = "gate";

  gate_actor::pointer self = nullptr;
  server_context_ptr e;
  std::optional<throttler_directory> throttlers;
  std::map<std::uint64_t, std::vector<pending_admission>> to_ask_again;
  std::uint64_t last_again = 0;
  // CAF 0.17 never answers for an actor that died with the question in hand.
  struct question {
    caf::actor_addr to;
    bool of_host = false;  // a custom throttler is asked, not one of ours
    std::string resource;
    std::vector<pending_admission> about;
  };
  std::map<std::uint64_t, question> open_questions;
  std::uint64_t last_question = 0;
  std::unordered_set<sluice::fence> on_their_way;

  void admit(const std::vector<admission_request>& asks) {
    std::vector<pending_admission> all;
    for (const auto& ask : asks) {
      const auto& about = ask.run->about;
      // A supervisor's successor asks again for what is on its way, or was let in meanwhile: that one may run already.
      if (!e->queues.awaits_admission(ask.run) || !on_their_way.insert(about.fence).second) continue;
      const auto plan = e->config->throttles.find(about.type.value);
      if (plan == e->config->throttles.end()) {
        all.push_back({ask.run, nullptr, {}});
        continue;
      }
      auto left = find_steps_left(plan->second, about, ask.admitted,
                                  [this](const std::string& custom) { return throttlers->is_custom_actor(custom); });
      if (!left) {
        judge({ask.run, admission::rejected, 0s, left.error().message});
        continue;
      }
      pending_admission p{ask.run, &plan->second, std::move(left->custom)};
      if (!left->permits.empty()) p.left.emplace_back(permits_step);
      p.left.insert(p.left.end(), left->windows.begin(), left->windows.end());
      all.push_back(std::move(p));
    }
    advance(std::move(all));
  }

  // Each is asked about at its next throttler, those of one throttler together; who has none left is admitted.
  void advance(std::vector<pending_admission> all) {
    std::map<std::string, std::vector<pending_admission>> next;
    std::vector<admission_verdict> through;
    for (auto& p : all) {
      if (!p.left.empty()) next[p.left.front()].push_back(std::move(p));
      else through.push_back({p.run, admission::granted, 0s, {}});
    }
    judge(std::move(through));
    for (auto& [resource, some] : next)
      ask(resource, std::move(some));
  }

  void ask(const std::string& resource, std::vector<pending_admission> some) {
    if (resource == permits_step)
      return request(throttlers->permits(), false, resource, std::move(some), caf::infinite);
    if (!throttlers->is_custom_actor(resource))
      return request(throttlers->limiter(resource), false, resource, std::move(some), caf::infinite);
    const auto custom = throttlers->custom(resource);
    if (!custom) return wait_in_line(resource, std::move(some), custom_away);
    request(custom, true, resource, std::move(some), caf::duration(custom_throttler_timeout));
  }

  template <class Actor>
  void request(const Actor& throttler, bool of_host, const std::string& resource, std::vector<pending_admission> some,
               const caf::duration& timeout) {
    auto asked = requests_of(some);
    const auto number = ask_of(throttler, of_host, resource, std::move(some));
    self->request(throttler, timeout, acquire_atom::value, std::move(asked))
        .then([this, number](const std::vector<throttle_verdict>& verdicts) { answered(number, verdicts); },
              [this, number](const caf::error& why) { unanswered(number, caf::to_string(why)); });
  }

  template <class Actor>
  std::uint64_t ask_of(const Actor& throttler, bool of_host, const std::string& resource,
                       std::vector<pending_admission> some) {
    open_questions[++last_question] = {throttler.address(), of_host, resource, std::move(some)};
    return last_question;
  }

  // Nothing when it was answered already, by its throttler or by the throttler's death.
  std::optional<question> take_question(std::uint64_t number) {
    const auto found = open_questions.find(number);
    if (found == open_questions.end()) return std::nullopt;
    auto taken = std::move(found->second);
    open_questions.erase(found);
    return taken;
  }

  void answered(std::uint64_t number, const std::vector<throttle_verdict>& verdicts) {
    if (auto q = take_question(number)) answered(*q, verdicts);
  }
  void unanswered(std::uint64_t number, const std::string& why) {
    if (auto q = take_question(number)) unanswered(q->resource, std::move(q->about), why);
  }

  static std::vector<throttle_request> requests_of(const std::vector<pending_admission>& some) {
    std::vector<throttle_request> asked;
    asked.reserve(some.size());
    for (const auto& p : some)
      asked.push_back({std::shared_ptr<const job>(p.run, &p.run->about), p.plan->otherwise == throttle_action::wait});
    return asked;
  }

  // A verdict that is missing lets nobody in, nor does one that only ours may say: the store knows nothing of it.
  static throttle_verdict verdict_of(const question& q, const std::vector<throttle_verdict>& verdicts, std::size_t i) {
    using enum admission;
    throttle_verdict away{deferred, custom_away, {}};
    if (i >= verdicts.size()) return away;
    const auto what = verdicts[i].what;
    return !q.of_host || what == granted || what == deferred || what == rejected ? verdicts[i] : away;
  }

  void answered(question& q, const std::vector<throttle_verdict>& verdicts) {
    const auto& resource = q.resource;
    std::vector<pending_admission> on, later;
    duration after = 0s;
    for (std::size_t i = 0; i < q.about.size(); ++i) {
      auto& p = q.about[i];
      auto said = verdict_of(q, verdicts, i);
      switch (said.what) {
        case admission::granted:
          if (q.of_host) p.let_in.push_back(resource);
          p.left.erase(p.left.begin());
          on.push_back(std::move(p));
          break;
        case admission::deferred:
          after = std::max(after, std::max<duration>(said.after, 1ms));
          if (p.plan->otherwise == throttle_action::wait) later.push_back(std::move(p));
          else defer(p, said.resource.empty() ? resource : said.resource, after, std::move(said.why));
          break;
        case admission::rejected:
        case admission::parked:
        case admission::stale:
        case admission::undecided: reject(p, {p.run, said.what, said.after, said.why}); break;
      }
    }
    if (!later.empty()) wait_in_line(resource, std::move(later), after);
    advance(std::move(on));
  }

  // Of a custom throttler: it says when, the store keeps who waits.
  void wait_in_line(const std::string& resource, std::vector<pending_admission> some, duration after) {
    std::vector<pending_admission> waiting;
    for (auto& p : some) {
      if (p.plan->otherwise == throttle_action::wait) waiting.push_back(std::move(p));
      else defer(p, resource, after);
    }
    if (waiting.empty()) return;
    auto asked = requests_of(waiting);
    const auto keeper = throttlers->limiter(resource);
    const auto number = ask_of(keeper, false, resource, std::move(waiting));
    self->request(keeper, caf::infinite, park_atom::value, std::move(asked), static_cast<std::uint64_t>(after.count()))
        .then([this, number](const std::vector<throttle_verdict>& verdicts) { answered(number, verdicts); },
              [this, number](const caf::error& why) { unanswered(number, caf::to_string(why)); });
  }

  // Its throttler has died, or says nothing.
  void unanswered(const std::string& resource, std::vector<pending_admission> some, const std::string& why) {
    if (e->stopped) return;
    log::warn("throttler ", printable(resource, 200), " gave no answer (", why, "); asking again");
    if (throttlers->is_custom_actor(resource)) return wait_in_line(resource, std::move(some), custom_away);
    to_ask_again[++last_again] = std::move(some);
    self->delayed_send(self, ask_again, again_atom::value, last_again);
  }

  void again(std::uint64_t number) {
    const auto found = to_ask_again.find(number);
    if (found == to_ask_again.end()) return;
    auto some = std::move(found->second);
    to_ask_again.erase(found);
    advance(std::move(some));
  }

  void defer(const pending_admission& p, const std::string& resource, duration after, std::string why = {}) {
    if (why.empty()) why = cat("deferred by ", printable(resource, 200));
    reject(p, {p.run, admission::deferred, after, std::move(why), resource == permits_step ? "" : resource});
  }

  // A custom throttler that let it in is told that it does not start after all.
  void reject(const pending_admission& p, admission_verdict verdict) {
    for (const auto& resource : p.let_in)
      throttlers->notify_run_ended(resource, {{std::shared_ptr<const job>(p.run, &p.run->about), false, 0s}});
    judge(std::move(verdict));
  }

  void over(const std::vector<throttled_end>& ends) {
    std::map<std::string, std::vector<throttled_end>> by_custom;
    for (const auto& end : ends) {
      const auto plan = e->config->throttles.find(end.about->type.value);
      if (plan == e->config->throttles.end()) continue;
      for (const auto& resource : plan->second.custom)
        if (throttlers->is_custom_actor(resource)) by_custom[resource].push_back(end);
    }
    for (auto& [resource, some] : by_custom)
      throttlers->notify_run_ended(resource, std::move(some));
  }

  void down(const caf::actor_addr& who) {
    throttlers->forget(who);
    std::vector<std::uint64_t> in_hand;
    for (const auto& [number, q] : open_questions)
      if (q.to == who) in_hand.push_back(number);
    for (const auto number : in_hand)
      unanswered(number, "it died");
  }

  void judge(admission_verdict verdict) {
    std::vector<admission_verdict> one;
    one.push_back(std::move(verdict));
    judge(std::move(one));
  }

  // Straight to the queues of these runs.
  void judge(std::vector<admission_verdict> verdicts) {
    std::map<std::string_view, std::vector<admission_verdict>> by_queue;
    for (auto& verdict : verdicts) {
      if (on_their_way.erase(verdict.run->about.fence) == 0) continue;  // judged already
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
