// The throttler of all mutexes and semaphores: what a start needs of them is one question to the store.
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
  engine_ptr e;
  store_question question;
  struct waiting_batch {
    std::vector<throttle_request> starts;
    promise told;
  };
  std::deque<waiting_batch> waiting;

  caf::result<std::vector<throttle_verdict>> acquire(std::vector<throttle_request> starts) {
    auto told = self->make_response_promise<std::vector<throttle_verdict>>();
    waiting.push_back({std::move(starts), told});
    ask();
    return told;
  }

  // What came while the store was at the last step goes into the next.
  void ask() {
    if (question.open() || waiting.empty()) return;
    auto batch = std::make_shared<std::vector<waiting_batch>>();
    storage::take_request take;
    while (!waiting.empty() && take.starts.size() < 1'000) {
      for (const auto& start : waiting.front().starts)
        take.starts.push_back(wish(start));
      batch->push_back(std::move(waiting.front()));
      waiting.pop_front();
    }
    question.ask(self, std::move(take), [this, batch](result<storage::answer> answer) {
      if (answer) answered(*batch, std::get<storage::take_answer>(*answer));
      else refused(*batch, answer.error());
      ask();
    });
  }

  storage::take_request::start wish(const throttle_request& start) const {
    storage::take_request::start wish;
    wish.key = {start.about->id, start.about->fence};
    wish.park = start.may_park;
    const auto plan = e->can_run->throttles.find(start.about->type.value);
    if (plan == e->can_run->throttles.end()) return wish;
    wish.strict = plan->second.strict;
    if (auto needed = plan->second.permits_for(*start.about)) wish.permits = std::move(*needed);
    return wish;
  }

  void answered(std::vector<waiting_batch>& batch, const storage::take_answer& answer) {
    auto at = answer.each.begin();
    for (auto& part : batch) {
      std::vector<throttle_verdict> verdicts;
      for (std::size_t i = 0; i < part.starts.size(); ++i)
        verdicts.push_back(verdict_of(at != answer.each.end() ? *at++ : storage::take_answer::one{}));
      part.told.deliver(std::move(verdicts));
    }
  }

  static void refused(std::vector<waiting_batch>& batch, const error& why) {
    for (auto& part : batch)
      part.told.deliver(std::vector<throttle_verdict>(part.starts.size(), put_off(why)));
  }

  throttle_verdict verdict_of(const storage::take_answer::one& one) const {
    if (one.what == admission::refused) return undefined(*e, one.resource);
    return {one.what, {}, {}, one.resource};
  }
};

permits_actor::behavior_type permits(permits_actor::stateful_pointer<permits_state> self, engine_ptr e,
                                     const storage_actor& store) {
  arm(self, e, "permits");
  auto& s = self->state;
  s.self = self;
  s.question.begin("mutexes and semaphores", store);
  s.e = std::move(e);
  return behavior_with_question<permits_actor>(
      self,
      [self](acquire_atom, std::vector<throttle_request>& starts) { return self->state.acquire(std::move(starts)); },
      [](over_atom, const std::vector<throttled_end>&) {},  // the store gives back what a start held
      [](describe_atom) { return std::vector<limiter_view>(); });
}

}  // namespace

permits_actor spawn_permits(caf::local_actor* parent, engine_ptr e, const storage_actor& store) {
  enlist(e);
  auto made = parent->system().spawn(permits, std::move(e), store);
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
