// The throttler whose state is one limiter of the store: a window, or a limiter of the user's. Any number of servers
// have one for the same limiter; whose update comes second decides anew.
#include <algorithm>
#include <deque>

#include "actors/store_question.hpp"
#include "core/text.hpp"
#include "execution/limiter_rule.hpp"

namespace sluice::actors {
namespace {

using namespace std::chrono_literals;

constexpr int max_refusals = 50;  // in a row by the store, before a line in the log

struct limiter_actor_state {
  static inline const char* name = "limiter";
  using promise = caf::typed_response_promise<std::vector<throttle_verdict>>;

  struct waiting_ask {
    limiter_ask ask;
    std::shared_ptr<const job> about;
    std::size_t place = 0;  // of its verdict
  };
  struct batch {
    std::vector<throttle_verdict> verdicts;
    std::size_t left = 0;
    promise told;
    std::optional<duration> park_for{};
  };
  using batch_ptr = std::shared_ptr<batch>;

  limiter_actor::pointer self = nullptr;
  server_context_ptr e;
  std::string resource;
  store_question question;
  std::deque<std::pair<batch_ptr, waiting_ask>> waiting;
  bool must_read = false;  // at the lines
  std::optional<storage::limiter_record> seen;
  time_point seen_at{};  // by the shared store's clock
  limiter_rule rule{};
  int refusals = 0;

  caf::result<std::vector<throttle_verdict>> acquire(std::vector<throttle_request> runs,
                                                     std::optional<duration> park_for) {
    auto told = self->make_response_promise<std::vector<throttle_verdict>>();
    if (runs.empty()) {
      told.deliver(std::vector<throttle_verdict>());
      return told;
    }
    auto b = std::make_shared<batch>(batch{std::vector<throttle_verdict>(runs.size()), runs.size(), told, park_for});
    for (std::size_t i = 0; i < runs.size(); ++i)
      waiting.push_back({b, {{{}, {runs[i].about->id, runs[i].about->fence}, runs[i].may_park}, runs[i].about, i}});
    go();
    return told;
  }

  void open() {
    must_read = true;
    go();
  }

  void go() {
    if (question.open() || (waiting.empty() && !must_read)) return;
    if (!seen || must_read) {
      question.ask(self, storage::read_limiter_request{resource}, [this](result<storage::answer> answer) {
        if (!answer) return refused({}, answer.error());
        saw(std::move(std::get<storage::read_limiter_answer>(*answer).limiter));
        if (std::exchange(must_read, false) && seen->lines.empty() && waiting.empty()) return forget_next_check();
        decide();
      });
      return;
    }
    decide();
  }

  void saw(storage::limiter_record limiter) {
    seen = std::move(limiter);
    seen_at = e->store->now();
    rule.read(seen->definition, e->config->limiters);
  }

  time_point now() const { return seen->now + (e->store->now() - seen_at); }

  void decide() {
    if (!rule.is_defined()) {
      const auto verdict = undefined(*e, resource);
      while (!waiting.empty()) {
        auto [b, ask] = std::move(waiting.front());
        waiting.pop_front();
        judge(b, ask.place, verdict);
      }
      seen.reset();  // it may be defined by the next time
      return;
    }
    auto taken = std::make_shared<std::vector<std::pair<batch_ptr, waiting_ask>>>();
    while (!waiting.empty() && taken->size() < asks_in_a_step) {
      auto next = std::move(waiting.front());
      waiting.pop_front();
      if (name_line(next)) taken->push_back(std::move(next));
    }
    step(taken);
  }

  // The line it would wait in; false: it has its verdict.
  bool name_line(std::pair<batch_ptr, waiting_ask>& one) {
    auto& [b, ask] = one;
    auto line = rule.line_of(*ask.about);
    if (!line) {
      judge(b, ask.place, {admission::rejected, {}, line.error().message});
      return false;
    }
    ask.ask.resource = std::move(*line);
    return true;
  }

  void step(const std::shared_ptr<std::vector<std::pair<batch_ptr, waiting_ask>>>& taken) {
    std::vector<limiter_ask> asks;
    for (const auto& [b, ask] : *taken)
      asks.push_back(ask.ask);
    auto planned = rule.plan(*seen, now(), asks);
    hold_back(*taken, planned);
    const auto update = std::make_shared<const storage::update_limiter_request>(std::move(planned.update));
    question.ask(self, *update, [this, taken, update, each = std::move(planned.each)](result<storage::answer> answer) {
      if (!answer) return refused(*taken, answer.error());
      auto& updated = std::get<storage::update_limiter_answer>(*answer);
      saw(std::move(updated.limiter));
      if (!updated.updated) {
        // Another was first, or the time of what we decided is over.
        if (++refusals % max_refusals == 0)
          log::warn("throttler ", printable(resource, 200), ": ", max_refusals,
                    " updates in a row came too late, after those of other servers or the time that they were "
                    "for; trying on");
        waiting.insert(waiting.begin(), std::make_move_iterator(taken->begin()), std::make_move_iterator(taken->end()));
        return decide();
      }
      refusals = 0;
      for (std::size_t i = 0; i < taken->size(); ++i) {
        const auto& [b, ask] = (*taken)[i];
        auto verdict = throttle_verdict{admission::stale, {}, {}};
        switch (each[i].what) {
          case admission::granted:
            if (let_in(update, updated, ask.ask.run)) verdict.what = admission::granted;
            break;
          case admission::deferred: verdict = {admission::deferred, each[i].after, {}}; break;
          case admission::parked:
            if (waits(update, updated, ask.ask.run)) verdict.what = admission::parked;
            break;
          default: break;  // no plan says these
        }
        judge(b, ask.place, std::move(verdict));
      }
      go();
    });
  }

  // What the store says of one that the step let in, or parked.
  static bool let_in(const std::shared_ptr<const storage::update_limiter_request>& asked,
                     const storage::update_limiter_answer& told, const storage::run_key& run) {
    for (std::size_t i = 0; i < asked->let_in.size() && i < told.let_in.size(); ++i)
      if (asked->let_in[i].fence == run.fence) return told.let_in[i] == errc::none;
    return false;
  }
  static bool waits(const std::shared_ptr<const storage::update_limiter_request>& asked,
                    const storage::update_limiter_answer& told, const storage::run_key& run) {
    for (std::size_t i = 0; i < asked->parks.size() && i < told.parked.size(); ++i)
      if (asked->parks[i].run.fence == run.fence) return told.parked[i].what == admission::parked;
    return false;
  }

  // An actor of the host has said that these wait.
  void hold_back(const std::vector<std::pair<batch_ptr, waiting_ask>>& taken, limiter_update& planned) const {
    std::optional<duration> soonest;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const auto& [b, ask] = taken[i];
      if (!b->park_for || planned.each[i].what != admission::granted) continue;
      planned.each[i].what = admission::parked;
      planned.update.parks.push_back({ask.ask.run, resource});
      const auto held_back = ask.ask.run.fence;
      std::erase_if(planned.update.let_in, [&](const auto& run) { return run.fence == held_back; });
      soonest = soonest ? std::min(*soonest, *b->park_for) : *b->park_for;
    }
    if (!soonest) return;
    planned.update.wakes.clear();
    planned.update.next_checks = {{resource, now() + *soonest}};
  }

  // The last who waited was woken or deleted.
  void forget_next_check() {
    question.ask(self, no_next_check(resource, *seen), [this](result<storage::answer> answer) {
      if (!answer) return refused({}, answer.error());
      saw(std::move(std::get<storage::update_limiter_answer>(*answer).limiter));
      go();
    });
  }

  // These, and whoever came meanwhile; who waits in the store is looked at again when its next check is told of again.
  void refused(const std::vector<std::pair<batch_ptr, waiting_ask>>& taken, const error& why) {
    must_read = false;
    seen.reset();
    for (const auto& [b, ask] : taken)
      judge(b, ask.place, postponed_by_store(why));
    for (const auto& [b, ask] : std::exchange(waiting, {}))
      judge(b, ask.place, postponed_by_store(why));
  }

  static void judge(const batch_ptr& b, std::size_t place, throttle_verdict verdict) {
    b->verdicts[place] = std::move(verdict);
    if (--b->left == 0) b->told.deliver(std::move(b->verdicts));
  }
};

limiter_actor::behavior_type limiter_behavior(limiter_actor::stateful_pointer<limiter_actor_state> self,
                                              server_context_ptr e, std::string resource) {
  install_handlers(self, e, "limiter");
  auto& s = self->state;
  s.self = self;
  s.e = std::move(e);
  s.question.begin(cat("throttler ", printable(resource, 200)), s.e->store);
  s.rule = limiter_rule(resource);
  s.resource = std::move(resource);
  return behavior_with_question<limiter_actor>(
      self,
      [self](acquire_atom, std::vector<throttle_request>& runs) {
        return self->state.acquire(std::move(runs), std::nullopt);
      },
      [](ended_runs_atom, const std::vector<throttled_end>&) {},  // a window gives nothing back
      [self](open_atom) { self->state.open(); },
      [self](park_atom, std::vector<throttle_request>& runs, std::uint64_t us) {
        return self->state.acquire(std::move(runs), duration(us));
      });
}

}  // namespace

limiter_actor spawn_limiter(caf::local_actor* parent, server_context_ptr e, std::string resource) {
  count_actor(e);
  auto made = parent->system().spawn(limiter_behavior, std::move(e), std::move(resource));
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
