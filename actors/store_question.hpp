// One question at a time to the store, asked again until it is answered.
#pragma once

#include "actors/spawn.hpp"
#include "core/log.hpp"

namespace sluice::actors {

class store_question {
public:
  using told = std::function<void(storage::answer&)>;

  bool open() const { return told_ != nullptr; }

  template <class Self>
  void ask(Self* self, const storage_actor& store, storage::request what, told then) {
    asked_ = std::move(what);
    told_ = std::move(then);
    failures_ = 0;
    ++number_;
    send(self, store);
  }

  template <class Self>
  void answered(Self* self, std::uint64_t number, std::vector<storage::answer>& answers) {
    if (!told_ || number != number_) return;  // asked twice, answered twice
    if (const auto* failed = std::get_if<error>(&answers.at(0))) {
      if (failures_++ % 16 == 0) log::warn("a throttler: the store refused (", to_string(*failed), "); asking again");
      self->delayed_send(self, retry_delay(failures_), again_atom::value, number);
      return;
    }
    const auto then = std::exchange(told_, nullptr);
    then(answers[0]);
  }

  // With another store actor, or after a pause. A take that was carried out meanwhile is answered as the first time; a
  // swap is refused then, and decided anew.
  template <class Self>
  void send(Self* self, const storage_actor& store) {
    if (!told_) return;
    auto order = std::make_shared<store_order>();
    order->asked.push_back(asked_);
    order->beside = true;
    order->done = [me = typename Self::actor_hdl(self), number = number_](answers_ptr answers) {
      caf::anon_send(me, applied_atom::value, number, std::move(answers));
    };
    caf::anon_send(store, submit_atom::value, std::move(order));
  }

  std::uint64_t number() const { return number_; }

private:
  storage::request asked_;
  told told_;
  std::uint64_t number_ = 0;
  std::uint32_t failures_ = 0;
};

}  // namespace sluice::actors
