#include "actors/hint_router.hpp"

#include "execution/dispatcher.hpp"
#include "execution/lease_keeper.hpp"

namespace sluice::actors {
namespace {

// Fewer are told to look than asked about first.
constexpr std::size_t few_queues = 4;

}  // namespace

void hint_router::route(const storage::hint& one) {
  const auto of = context_.lock();
  if (of && one.cancels && of->keeper) of->keeper->look_for_cancels();
  if (one.all_queues) return look_everywhere();
  if (!of) return;
  for (const auto& queue : one.queues)
    if (const auto found = of->queues.dispatcher_of(queue)) found->claim_if_free();
}

void hint_router::tell(const server_context& of, const std::vector<std::string>& queues) {
  for (const auto& queue : queues)
    if (const auto found = of.queues.dispatcher_of(queue)) found->claim_if_free();
}

// Nobody knows whose the work is. One look at all queues spares those without any a claim in vain.
void hint_router::look_everywhere() {
  const auto of = context_.lock();
  if (!of) return;
  auto queues = of->queues.names();
  if (queues.size() <= few_queues) return tell(*of, queues);
  {
    const mutex_lock held(lock_);
    if (std::exchange(looking_, true)) {
      look_again_ = true;  // what made work since may have come too late for that look
      return;
    }
  }
  auto done = [self = shared_from_this(), queues](std::vector<storage::answer> answers) {
    const auto alive = self->context_.lock();
    if (!alive) return;
    const auto* found = std::get_if<storage::names_answer>(&answers.at(0));
    tell(*alive, found ? found->names : queues);  // else all: each hears for itself what is wrong
    self->looked();
  };
  of->store->submit({storage::ready_request{std::move(queues)}}, std::move(done), storage::priority::unordered);
}

void hint_router::looked() {
  bool again = false;
  {
    const mutex_lock held(lock_);
    looking_ = false;
    again = std::exchange(look_again_, false);
  }
  if (again) look_everywhere();
}

}  // namespace sluice::actors
