// One question at a time to the store, asked again until it is answered, or refused for good.
#pragma once

#include "actors/spawn.hpp"
#include "core/log.hpp"
#include "core/unresolved.hpp"
#include "execution/claimer.hpp"
#include "execution/election.hpp"

namespace sluice::actors {

class store_question {
public:
  // An error: asking again would not help, whoever waits for the answer must not wait on.
  using callback = std::function<void(result<storage::answer>)>;

  // `who` asks, for the log.
  void begin(std::string who, std::shared_ptr<store_access> store) {
    who_ = std::move(who);
    store_ = std::move(store);
  }

  bool open() const { return callback_ != nullptr; }

  template <class Self>
  void ask(Self* self, storage::request what, callback then) {
    asked_ = std::move(what);
    callback_ = std::move(then);
    failures_ = 0;
    ++number_;
    send(self);
  }

  template <class Self>
  void answered(Self* self, std::uint64_t number, std::vector<storage::answer>& answers) {
    if (!callback_ || number != number_) return;  // asked twice, answered twice
    if (const auto* failed = std::get_if<error>(&answers.at(0))) {
      if (is_transient(failed->code) || failed->code == errc::unknown_outcome) {
        if (failures_++ % log_every == 0)
          log::warn(who_, ": the store refused (", to_string(*failed), "); asking again");
        self->delayed_send(self, retry_delay(failures_), again_atom::value, number);
        return;
      }
      if (refusals_++ % log_every == 0)
        log::error(who_, ": the store refuses (", to_string(*failed), "); jobs that need it are deferred");
      return std::exchange(callback_, nullptr)(*failed);
    }
    refusals_ = 0;
    std::exchange(callback_, nullptr)(std::move(answers[0]));
  }

  // After a pause.
  template <class Self>
  void again(Self* self, std::uint64_t number) {
    if (number == number_) send(self);
  }

private:
  static constexpr std::uint32_t log_every = 16;

  template <class Self>
  void send(Self* self) {
    if (!callback_) return;
    auto done = [me = typename Self::actor_hdl(self), number = number_](std::vector<storage::answer> answers) {
      caf::anon_send(me, applied_atom::value, number,
                     std::make_shared<std::vector<storage::answer>>(std::move(answers)));
    };
    store_->submit({asked_}, std::move(done), storage::priority::unordered);
  }

  std::string who_;
  std::shared_ptr<store_access> store_;
  storage::request asked_;
  callback callback_;
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
  };
}

}  // namespace sluice::actors
