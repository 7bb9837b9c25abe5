#include "actors/door_parts.hpp"

namespace sluice::actors {
namespace {

// By weight, what the store has not answered yet, in this process; a host that sends faster is told so.
constexpr std::size_t most_waiting = 100'000;

}  // namespace

void door_store::ask(std::vector<storage::request> asked, answered told) {
  auto& order = waiting_[++last_order_];
  order = {std::move(asked), std::move(told), 0};
  for (const auto& r : order.asked)
    order.weight += storage::weight(r);
  waiting_weight_ += order.weight;
  if (store_ || closed_) submit(last_order_, order);
}

void door_store::ask(storage::request asked, std::function<void(storage::answer&)> told) {
  std::vector<storage::request> one;
  one.push_back(std::move(asked));
  ask(std::move(one), [told = std::move(told)](std::vector<storage::answer>& answers) { told(answers.at(0)); });
}

storage::courier door_store::courier() {
  return [this](storage::request r, std::function<void(storage::answer&)> then) { ask(std::move(r), std::move(then)); };
}

void door_store::submit(std::uint64_t number, const waiting_order& order) {
  auto o = std::make_shared<store_order>();
  o->asked = order.asked;  // a copy: it may have to be asked again
  o->done = [me = door_actor(self_), number](answers_ptr answers) {
    caf::anon_send(me, applied_atom::value, number, std::move(answers));
  };
  if (!closed_) return caf::anon_send(store_, submit_atom::value, std::move(o));
  e_->runner->submit(std::move(o->asked), [done = std::move(o->done)](std::vector<storage::answer> answers) {
    done(std::make_shared<std::vector<storage::answer>>(std::move(answers)));
  });
}

std::optional<error> door_store::cannot_ask() const {
  if (closed_) return error{errc::not_running, "the server has stopped"};
  if (waiting_weight_ >= most_waiting)
    return error{errc::overloaded, "too much is waiting for the store in this process"};
  return std::nullopt;
}

void door_store::applied(std::uint64_t number, std::vector<storage::answer>& answers) {
  const auto found = waiting_.find(number);
  if (found == waiting_.end()) return;  // asked twice, answered twice
  const auto told = std::move(found->second.told);
  waiting_weight_ -= found->second.weight;
  waiting_.erase(found);
  told(answers);
}

void door_store::use(const storage_actor& other) {
  store_ = other;
  for (const auto& [number, order] : waiting_)
    submit(number, order);
}

void door_store::hint() const {
  if (store_) caf::anon_send(store_, hint_atom::value);
}

void door_store::close() {
  closed_ = true;
  for (const auto& [number, order] : waiting_)
    submit(number, order);
}

void door_store::give_up(const error& why) {
  waiting_weight_ = 0;
  for (auto& [number, order] : std::exchange(waiting_, {})) {
    std::vector<storage::answer> answers(order.asked.size(), storage::answer(why));
    order.told(answers);
  }
}

}  // namespace sluice::actors
