// What several answers of a store are needed for asks for them one after the other, and says nothing of threads:
// whoever carries it out brings each answer at once (a client, on the caller's thread) or later (an actor, by message).
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "storage/store.hpp"

namespace sluice::storage {

// Takes a request to the store, and calls the other once with the answer: before it returns, or later.
using async_store = std::function<void(request, std::function<void(answer&)>)>;

template <class Answer, class Request>
void ask_for(const async_store& store, Request&& r, std::function<void(result<Answer>)> then) {
  store(request(std::forward<Request>(r)), [then = std::move(then)](answer& got) {
    if (auto* failed = std::get_if<error>(&got)) then(std::move(*failed));
    else then(std::get<Answer>(std::move(got)));
  });
}

// Who is told what came of it, once.
template <class T>
using callback = std::function<void(result<T>)>;

// Carries out what asks for answers, however many, by `ask`, which answers some requests before it returns: what is
// asked for together is asked together, and none inside of another.
template <class T, class Ask>
result<T> carry_out(const Ask& ask, const std::function<void(const async_store&, const callback<T>&)>& begin) {
  struct open_question {
    request asked;
    std::function<void(answer&)> then;
  };
  std::vector<open_question> open;
  std::optional<result<T>> came;
  begin(
      [&open](request r, std::function<void(answer&)> then) {
        open.push_back({std::move(r), std::move(then)});
      },
      [&came](result<T> told) { came.emplace(std::move(told)); });
  while (!open.empty()) {
    auto next = std::exchange(open, {});
    std::vector<request> all;
    all.reserve(next.size());
    for (auto& one : next)
      all.push_back(std::move(one.asked));
    auto got = ask(all);
    for (std::size_t i = 0; i < next.size(); ++i)
      next[i].then(got[i]);
  }
  return std::move(*came);
}

// A store that is asked one thing and answers at once.
using asker = std::function<answer(const request&)>;
template <class T>
result<T> carry_out(const asker& ask, const std::function<void(const async_store&, const callback<T>&)>& begin) {
  const auto ask_each = [&](const std::vector<request>& all) {
    std::vector<answer> each;
    each.reserve(all.size());
    for (const auto& one : all)
      each.push_back(ask(one));
    return each;
  };
  return carry_out<T, decltype(ask_each)>(ask_each, begin);
}

}  // namespace sluice::storage
