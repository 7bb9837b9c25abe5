// One question at a time to the store, asked again until it is answered, or refused for good.
#pragma once

#include "actors/spawn.hpp"
#include "core/log.hpp"

namespace sluice::actors {

class store_question {
public:
  // An error: asking again would not help, whoever waits for the answer must not wait on.
  using told = std::function<void(result<storage::answer>)>;

  // `who` asks, for the log.
  void begin(std::string who, storage_actor store) {
    who_ = std::move(who);
    store_ = std::move(store);
  }

  bool open() const { return told_ != nullptr; }

  template <class Self>
  void ask(Self* self, storage::request what, told then) {
    asked_ = std::move(what);
    told_ = std::move(then);
    failures_ = 0;
    ++number_;
    send(self);
  }

  template <class Self>
  void answered(Self* self, std::uint64_t number, std::vector<storage::answer>& answers) {
    if (!told_ || number != number_) return;  // asked twice, answered twice
    if (const auto* failed = std::get_if<error>(&answers.at(0))) {
      if (waiting_helps(failed->code) || failed->code == errc::unknown_outcome) {
        if (failures_++ % said_once_of == 0)
          log::warn(who_, ": the store refused (", to_string(*failed), "); asking again");
        self->delayed_send(self, retry_delay(failures_), again_atom::value, number);
        return;
      }
      if (refusals_++ % said_once_of == 0)
        log::error(who_, ": the store refuses (", to_string(*failed), "); jobs that need it are put off");
      return std::exchange(told_, nullptr)(*failed);
    }
    refusals_ = 0;
    std::exchange(told_, nullptr)(std::move(answers[0]));
  }

  // After a pause.
  template <class Self>
  void again(Self* self, std::uint64_t number) {
    if (number == number_) send(self);
  }

  // The storage actor was replaced. A take that was carried out meanwhile is answered as the first time; a swap is
  // refused then, and decided anew.
  template <class Self>
  void use(Self* self, const storage_actor& other) {
    store_ = other;
    send(self);
  }

private:
  static constexpr std::uint32_t said_once_of = 16;

  template <class Self>
  void send(Self* self) {
    if (!told_) return;
    auto order = std::make_shared<store_order>();
    order->asked.push_back(asked_);
    order->beside = true;
    order->done = [me = typename Self::actor_hdl(self), number = number_](answers_ptr answers) {
      caf::anon_send(me, applied_atom::value, number, std::move(answers));
    };
    caf::anon_send(store_, submit_atom::value, std::move(order));
  }

  std::string who_;
  storage_actor store_;
  storage::request asked_;
  told told_;
  std::uint64_t number_ = 0;
  std::uint32_t failures_ = 0;  // of this question
  std::uint32_t refusals_ = 0;  // for good, in a row
};

// What an actor hears whose state has a `question`: its own messages, and those about the question.
template <class Actor, class Self, class... Handlers>
typename Actor::behavior_type behavior_with_question(Self* self, Handlers... own) {
  return {
      std::move(own)...,
      [self](applied_atom, std::uint64_t number, const answers_ptr& answers) {
        self->state.question.answered(self, number, *answers);
      },
      [self](again_atom, std::uint64_t number) { self->state.question.again(self, number); },
      [self](store_atom, const storage_actor& other) { self->state.question.use(self, other); },
  };
}

// What a start is told whose throttler's store refuses: nobody can say whether it may run.
inline constexpr duration put_off_for = std::chrono::seconds(15);

inline throttle_verdict put_off(const error& why) {
  return {admission::refused, put_off_for, cat("the store refuses to say whether it may run (", to_string(why), ")")};
}

// A store that came back empty, or of which a person removed a throttler, gets it from the configuration again by the
// next beat: no job fails for that.
inline throttle_verdict undefined(engine& e, std::string_view resource) {
  const auto name = printable(resource, 200);
  if (e.configures(resource)) {
    e.must_restore = true;
    return {admission::refused, put_off_for,
            cat("throttler ", name, " is not in the store, which gets it from the configuration again")};
  }
  return {admission::rejected,
          {},
          cat("throttler ", name, " is not defined; define it in the configuration or with `sluice throttler set`")};
}

}  // namespace sluice::actors
