// What a client is made of, for the files of this room.
#pragma once

#include <functional>

#include <sluice/client.hpp>

#include "client/asking.hpp"
#include "core/pipeline.hpp"
#include "core/text.hpp"
#include "scheduler/schedules.hpp"
#include "storage/courier.hpp"
#include "storage/runner.hpp"

namespace sluice {

struct client::parts {
  client_options options;
  enqueue_pipeline pipeline;
  std::shared_ptr<storage::runner> runner;

  parts(client_options o, enqueue_pipeline p, std::shared_ptr<storage::runner> r)
      : options(std::move(o)), pipeline(std::move(p)), runner(std::move(r)) {}

  storage::answer ask(const storage::request& r) { return sluice::ask(*runner, r, options.deadline); }
  template <class Answer>
  result<Answer> ask_for(const storage::request& r) {
    return sluice::ask_for<Answer>(*runner, r, options.deadline);
  }

  result<void> change(const storage::request& r) {
    auto got = ask_for<storage::change_answer>(r);
    if (!got) return got.error();
    if (got->code != errc::none) return error{got->code, got->message};
    return {};
  }

  // Carries out what asks for one answer after the other, however many: none is asked for inside of another.
  template <class T>
  result<T> carry_out(const std::function<void(const storage::courier&, const storage::told<T>&)>& begin) {
    struct open_question {
      storage::request asked;
      std::function<void(storage::answer&)> then;
    };
    std::optional<open_question> open;
    std::optional<result<T>> came;
    begin(
        [&open](storage::request r, std::function<void(storage::answer&)> then) {
          open.emplace(open_question{std::move(r), std::move(then)});
        },
        [&came](result<T> told) { came.emplace(std::move(told)); });
    while (open) {
      const auto next = std::move(*open);
      open.reset();
      auto got = ask(next.asked);
      next.then(got);
    }
    return std::move(*came);
  }

  result<void> change_schedule(const std::string& name, const scheduler::schedule_change& change);
};

}  // namespace sluice
