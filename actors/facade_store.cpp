#include "actors/facade_parts.hpp"

namespace sluice::actors {
namespace {

// By weight, what the store has not answered yet, in this process; a host that sends faster is told so.
constexpr std::size_t max_waiting = 100'000;

}  // namespace

void facade_store::ask(std::vector<storage::request> asked, answered callback) {
  const auto number = ++last_number_;
  auto& waits = waiting_[number];
  waits.callback = std::move(callback);
  waits.count = asked.size();
  for (const auto& r : asked)
    waits.weight += storage::weight(r);
  waiting_weight_ += waits.weight;
  e_->store->submit(std::move(asked), [me = facade_actor(self_), number](std::vector<storage::answer> answers) {
    caf::anon_send(me, applied_atom::value, number, std::make_shared<std::vector<storage::answer>>(std::move(answers)));
  });
}

void facade_store::ask(storage::request asked, std::function<void(storage::answer&)> callback) {
  std::vector<storage::request> one;
  one.push_back(std::move(asked));
  ask(std::move(one),
      [callback = std::move(callback)](std::vector<storage::answer>& answers) { callback(answers.at(0)); });
}

storage::async_store facade_store::async_store() {
  return [this](storage::request r, std::function<void(storage::answer&)> then) { ask(std::move(r), std::move(then)); };
}

std::optional<error> facade_store::cannot_ask() const {
  if (closed_) return error{errc::not_running, "the server has stopped"};
  if (waiting_weight_ >= max_waiting)
    return error{errc::overloaded, "too much is waiting for the store in this process"};
  return std::nullopt;
}

void facade_store::applied(std::uint64_t number, std::vector<storage::answer>& answers) {
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) return;  // given up
  const auto callback = std::move(found->second.callback);
  waiting_weight_ -= found->second.weight;
  waiting_.erase(found);
  callback(answers);
}

void facade_store::give_up(const error& why) {
  waiting_weight_ = 0;
  for (auto& [number, waits] : std::exchange(waiting_, {})) {
    std::vector<storage::answer> answers(waits.count, storage::answer(why));
    waits.callback(answers);
  }
}

}  // namespace sluice::actors
