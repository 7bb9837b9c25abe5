// The throttler of all mutexes and semaphores: what a run needs of them is one question to the store.
#include <algorithm>
#include <deque>

#include "actors/store_question.hpp"
#include "core/text.hpp"

namespace sluice::actors {
namespace {

struct permits_state {
  static inline const char* name = "permits";
  using promise = caf::typed_response_promise<std::vector<throttle_verdict>>;

  permits_actor::pointer self = nullptr;
  server_context_ptr e;
  store_question question;
  struct waiting_batch {
    std::vector<throttle_request> runs;
    promise told;
  };
  std::deque<waiting_batch> waiting;

  caf::result<std::vector<throttle_verdict>> acquire(std::vector<throttle_request> runs) {
    auto told = self->make_response_promise<std::vector<throttle_verdict>>();
    waiting.push_back({std::move(runs), told});
    ask();
    return told;
  }

  // What came while the store was at the last step goes into the next.
  void ask() {
    if (question.open() || waiting.empty()) return;
    auto batch = std::make_shared<std::vector<waiting_batch>>();
    storage::acquire_permits_request take;
    while (!waiting.empty() && take.runs.size() < 1'000) {
      for (const auto& run : waiting.front().runs)
        take.runs.push_back(wish(run));
      batch->push_back(std::move(waiting.front()));
      waiting.pop_front();
    }
    question.ask(self, std::move(take), [this, batch](result<storage::answer> answer) {
      if (answer) answered(*batch, std::get<storage::acquire_permits_answer>(*answer));
      else refused(*batch, answer.error());
      ask();
    });
  }

  storage::acquire_permits_request::run wish(const throttle_request& run) const {
    storage::acquire_permits_request::run wish;
    wish.key = {run.about->id, run.about->fence};
    wish.park = run.may_park;
    const auto plan = e->config->throttles.find(run.about->type.value);
    if (plan == e->config->throttles.end()) return wish;
    wish.strict = plan->second.strict;
    if (auto needed = plan->second.permits_for(*run.about)) wish.permits = std::move(*needed);
    return wish;
  }

  void answered(std::vector<waiting_batch>& batch, const storage::acquire_permits_answer& answer) {
    auto at = answer.each.begin();
    for (auto& part : batch) {
      std::vector<throttle_verdict> verdicts;
      for (std::size_t i = 0; i < part.runs.size(); ++i)
        verdicts.push_back(verdict_of(at != answer.each.end() ? *at++ : storage::acquire_permits_answer::verdict{}));
      part.told.deliver(std::move(verdicts));
    }
  }

  static void refused(std::vector<waiting_batch>& batch, const error& why) {
    for (auto& part : batch)
      part.told.deliver(std::vector<throttle_verdict>(part.runs.size(), postponed_by_store(why)));
  }

  throttle_verdict verdict_of(const storage::acquire_permits_answer::verdict& one) const {
    if (one.what == admission::undecided) return undefined(*e, one.resource);
    return {one.what, {}, {}, one.resource};
  }
};

permits_actor::behavior_type permits(permits_actor::stateful_pointer<permits_state> self, server_context_ptr e) {
  install_handlers(self, e, "permits");
  auto& s = self->state;
  s.self = self;
  s.e = std::move(e);
  s.question.begin("mutexes and semaphores", s.e->store);
  return behavior_with_question<permits_actor>(
      self, [self](acquire_atom, std::vector<throttle_request>& runs) { return self->state.acquire(std::move(runs)); },
      [](ended_runs_atom, const std::vector<throttled_end>&) {});  // the store gives back what a run held
}

}  // namespace

permits_actor spawn_permits(caf::local_actor* parent, server_context_ptr e) {
  count_actor(e);
  auto made = parent->system().spawn(permits, std::move(e));
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
