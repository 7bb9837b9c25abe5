#include <algorithm>
#include <map>
#include <unordered_map>

#include "actors/spawn.hpp"
#include "core/log.hpp"
#include "core/text.hpp"

namespace sluice::actors {
namespace {

using namespace std::chrono_literals;

// A custom throttler that gives no answer lets nobody in; CAF 0.17 never answers a dropped promise.
constexpr auto custom_patience = std::chrono::seconds(10);
constexpr duration custom_away = 1s;  // when jobs are asked about again, whose custom throttler is not there
constexpr auto ask_again = std::chrono::milliseconds(100);

// A start on its way through its throttlers.
struct passage {
  start_ptr start;
  const throttle_plan* plan = nullptr;
  std::vector<std::string> left;      // resources to ask, the next first; `permits_step` stands for all its permits
  std::vector<std::string> let_in{};  // by these custom throttlers
};
constexpr const char* permits_step = "permits";

struct gate_state {
  static inline const char* name = "gate";

  gate_actor::pointer self = nullptr;
  engine_ptr e;
  storage_actor store;
  permits_actor permits;
  std::map<std::string, cell_actor> cells;
  std::map<std::string, throttler_actor> customs;
  std::map<std::uint64_t, std::vector<passage>> to_ask_again;
  std::uint64_t last_again = 0;
  // CAF 0.17 never answers for an actor that died with the question in hand.
  struct question {
    caf::actor_addr to;
    bool of_host = false;  // a custom throttler is asked, not one of ours
    std::string resource;
    std::vector<passage> about;
  };
  std::map<std::uint64_t, question> open_questions;
  std::uint64_t last_question = 0;
  std::unordered_map<sluice::fence, judged_actor> askers;  // of the starts on their way, each once

  void admit(const judged_actor& asker, const std::vector<admission_ask>& asks) {
    std::vector<passage> all;
    for (const auto& ask : asks) {
      // A supervisor's successor asks again for what is on its way: then only the answer goes elsewhere.
      if (!askers.insert_or_assign(ask.start->about.fence, asker).second) continue;
      const auto plan = e->can_run->throttles.find(ask.start->about.type.value);
      if (plan == e->can_run->throttles.end()) {
        all.push_back({ask.start, nullptr, {}});
        continue;
      }
      const auto needed = plan->second.permits_for(ask.start->about);
      if (!needed) {
        judge({ask.start, admission::rejected, 0s, needed.error().message});
        continue;
      }
      const auto has = [&](const std::string& resource) {
        return std::find(ask.admitted.begin(), ask.admitted.end(), resource) != ask.admitted.end();
      };
      passage p{ask.start, &plan->second, {}};
      for (const auto& custom : plan->second.custom)
        if (is_custom_actor(custom) || !has(custom)) p.left.push_back(custom);
      // What was reserved for a strict job becomes its own when it is taken.
      const bool takes = plan->second.strict && !needed->empty();
      if (takes || !std::all_of(needed->begin(), needed->end(), has)) p.left.emplace_back(permits_step);
      for (const auto& window : plan->second.windows)
        if (std::none_of(ask.admitted.begin(), ask.admitted.end(),
                         [&](const std::string& slot) { return slot == window || slot.starts_with(window + "/"); }))
          p.left.push_back(window);
      all.push_back(std::move(p));
    }
    advance(std::move(all));
  }

  // Each is asked about at its next throttler, those of one throttler together; who has none left is admitted.
  void advance(std::vector<passage> all) {
    std::map<std::string, std::vector<passage>> next;
    std::map<judged_actor, std::vector<admission_verdict>> through;
    for (auto& p : all) {
      if (!p.left.empty()) {
        next[p.left.front()].push_back(std::move(p));
        continue;
      }
      if (const auto asker = asker_of(p.start)) through[asker].push_back({p.start, admission::granted, 0s, {}});
    }
    for (auto& [asker, verdicts] : through)
      tell(asker, std::move(verdicts));
    for (auto& [resource, some] : next)
      ask(resource, std::move(some));
  }

  void ask(const std::string& resource, std::vector<passage> some) {
    if (resource == permits_step) return request(permits_of(), false, resource, std::move(some), caf::infinite);
    if (!is_custom_actor(resource)) return request(cell(resource), false, resource, std::move(some), caf::infinite);
    const auto custom = customs.find(resource);
    if (custom == customs.end()) return wait_in_line(resource, std::move(some), custom_away);
    request(custom->second, true, resource, std::move(some), caf::duration(custom_patience));
  }

  template <class Actor>
  void request(const Actor& throttler, bool of_host, const std::string& resource, std::vector<passage> some,
               const caf::duration& patience) {
    auto asked = requests_of(some);
    const auto number = ask_of(throttler, of_host, resource, std::move(some));
    self->request(throttler, patience, acquire_atom::value, std::move(asked))
        .then([this, number](const std::vector<throttle_verdict>& verdicts) { answered(number, verdicts); },
              [this, number](const caf::error& why) { unanswered(number, caf::to_string(why)); });
  }

  template <class Actor>
  std::uint64_t ask_of(const Actor& throttler, bool of_host, const std::string& resource, std::vector<passage> some) {
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

  static std::vector<throttle_request> requests_of(const std::vector<passage>& some) {
    std::vector<throttle_request> asked;
    asked.reserve(some.size());
    for (const auto& p : some)
      asked.push_back(
          {std::shared_ptr<const job>(p.start, &p.start->about), p.plan->otherwise == throttle_action::wait});
    return asked;
  }

  // A verdict that is missing lets nobody in, nor does one that only ours may say: the store knows nothing of it.
  static throttle_verdict verdict_of(const question& q, const std::vector<throttle_verdict>& verdicts, std::size_t i) {
    using enum admission;
    throttle_verdict away{later, custom_away, {}};
    if (i >= verdicts.size()) return away;
    const auto what = verdicts[i].what;
    return !q.of_host || what == granted || what == later || what == rejected ? verdicts[i] : away;
  }

  void answered(question& q, const std::vector<throttle_verdict>& verdicts) {
    const auto& resource = q.resource;
    std::vector<passage> on, later;
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
        case admission::later:
          after = std::max(after, std::max<duration>(said.after, 1ms));
          if (p.plan->otherwise == throttle_action::wait) later.push_back(std::move(p));
          else defer(p, said.resource.empty() ? resource : said.resource, after, std::move(said.why));
          break;
        case admission::rejected:
        case admission::parked:
        case admission::gone:
        case admission::refused: turn_away(p, {p.start, said.what, said.after, said.why}); break;
      }
    }
    if (!later.empty()) wait_in_line(resource, std::move(later), after);
    advance(std::move(on));
  }

  // Of a custom throttler: it says when, the store keeps who waits.
  void wait_in_line(const std::string& resource, std::vector<passage> some, duration after) {
    std::vector<passage> waiting;
    for (auto& p : some) {
      if (p.plan->otherwise == throttle_action::wait) waiting.push_back(std::move(p));
      else defer(p, resource, after);
    }
    if (waiting.empty()) return;
    auto asked = requests_of(waiting);
    const auto keeper = cell(resource);
    const auto number = ask_of(keeper, false, resource, std::move(waiting));
    self->request(keeper, caf::infinite, park_atom::value, std::move(asked), static_cast<std::uint64_t>(after.count()))
        .then([this, number](const std::vector<throttle_verdict>& verdicts) { answered(number, verdicts); },
              [this, number](const caf::error& why) { unanswered(number, caf::to_string(why)); });
  }

  // Its throttler has died, or says nothing.
  void unanswered(const std::string& resource, std::vector<passage> some, const std::string& why) {
    if (e->stopped) return;
    log::warn("throttler ", printable(resource, 200), " gave no answer (", why, "); asking again");
    if (is_custom_actor(resource)) return wait_in_line(resource, std::move(some), custom_away);
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

  bool is_custom_actor(const std::string& resource) const {
    return resource.starts_with("custom:") && !e->can_run->limiters.contains(resource);
  }

  void defer(const passage& p, const std::string& resource, duration after, std::string why = {}) {
    if (why.empty()) why = cat("deferred by ", printable(resource, 200));
    turn_away(p, {p.start, admission::later, after, std::move(why), resource == permits_step ? "" : resource});
  }

  // A custom throttler that let it in is told that it does not start after all.
  void turn_away(const passage& p, admission_verdict verdict) {
    for (const auto& resource : p.let_in)
      tell_over(resource, {{std::shared_ptr<const job>(p.start, &p.start->about), false, 0s}});
    judge(std::move(verdict));
  }

  void over(const std::vector<throttled_end>& ends) {
    std::map<std::string, std::vector<throttled_end>> by_custom;
    for (const auto& end : ends) {
      const auto plan = e->can_run->throttles.find(end.about->type.value);
      if (plan == e->can_run->throttles.end()) continue;
      for (const auto& resource : plan->second.custom)
        if (is_custom_actor(resource)) by_custom[resource].push_back(end);
    }
    for (auto& [resource, some] : by_custom)
      tell_over(resource, std::move(some));
  }

  void tell_over(const std::string& resource, std::vector<throttled_end> ends) {
    if (const auto custom = customs.find(resource); custom != customs.end())
      caf::anon_send(custom->second, over_atom::value, std::move(ends));
  }

  // --- Who is asked.

  // What it spawned ends with it, however it ends: its successor has its own.
  ~gate_state() { end_all(); }

  permits_actor permits_of() {
    if (!permits) permits = spawn_permits(self, e, store);
    return permits;
  }

  cell_actor cell(const std::string& resource) {
    auto& found = cells[resource];
    if (!found) found = spawn_cell(self, e, resource, store);
    return found;
  }

  void open(const std::vector<std::string>& names) {
    // Who has no such custom throttler cannot say who may run.
    for (const auto& resource : names)
      if (!resource.starts_with("custom:") || e->can_run->limiters.contains(resource) || customs.contains(resource))
        caf::anon_send(cell(resource), open_atom::value);
  }

  void name_custom(const std::string& custom, const throttler_actor& actor) {
    const auto resource = resource_of(throttler_kind::custom, custom);
    if (!actor) return void(customs.erase(resource));
    self->monitor(actor);
    customs[resource] = actor;
    open({resource});  // whoever waits is asked about at once
  }

  void down(const caf::actor_addr& who) {
    if (permits && permits.address() == who) permits = nullptr;
    std::erase_if(cells, [&](const auto& c) { return c.second && c.second.address() == who; });
    std::erase_if(customs, [&](const auto& c) {
      const bool gone = c.second.address() == who;
      if (gone)
        log::warn("throttler ", printable(c.first, 200), " is gone; jobs that name it wait until it is named again");
      return gone;
    });
    std::vector<std::uint64_t> in_hand;
    for (const auto& [number, q] : open_questions)
      if (q.to == who) in_hand.push_back(number);
    for (const auto number : in_hand)
      unanswered(number, "it died");
  }

  void use(const storage_actor& other) {
    store = other;
    if (permits) caf::anon_send(permits, store_atom::value, store);
    for (const auto& [resource, actor] : cells)
      caf::anon_send(actor, store_atom::value, store);
  }

  void end_all() {
    if (permits) caf::anon_send_exit(permits, caf::exit_reason::user_shutdown);
    for (const auto& [resource, actor] : cells)
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }

  judged_actor asker_of(const start_ptr& start) {
    const auto found = askers.find(start->about.fence);
    if (found == askers.end()) return {};
    auto asker = std::move(found->second);
    askers.erase(found);
    return asker;
  }

  void judge(admission_verdict verdict) {
    if (const auto asker = asker_of(verdict.start)) tell(asker, {std::move(verdict)});
  }
  void tell(const judged_actor& asker, std::vector<admission_verdict> verdicts) {
    caf::anon_send(asker, judged_atom::value,
                   verdicts_ptr(std::make_shared<const std::vector<admission_verdict>>(std::move(verdicts))));
  }
};

gate_actor::behavior_type gate(gate_actor::stateful_pointer<gate_state> self, engine_ptr e,
                               const storage_actor& store) {
  arm(self, e, "gate");
  self->set_down_handler([self](caf::down_msg& down) { self->state.down(down.source); });
  auto& s = self->state;
  s.self = self;
  s.store = store;
  s.e = std::move(e);
  for (const auto& [custom, route] : s.e->custom_throttlers)
    if (const auto actor = route->to()) s.name_custom(custom, actor);
  return {
      [self](admit_atom, const judged_actor& asker, const asks_ptr& asks) { self->state.admit(asker, *asks); },
      [self](over_atom, const std::vector<throttled_end>& ends) { self->state.over(ends); },
      [self](open_atom, const names_ptr& names) { self->state.open(*names); },
      [self](throttle_atom, const std::string& name, const throttler_actor& actor) {
        self->state.name_custom(name, actor);
      },
      [self](again_atom, std::uint64_t number) { self->state.again(number); },
      [self](store_atom, const storage_actor& other) { self->state.use(other); },
  };
}

}  // namespace

gate_actor spawn_gate(caf::local_actor* parent, engine_ptr e, const storage_actor& store) {
  enlist(e);
  auto made = parent->system().spawn(gate, std::move(e), store);
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
