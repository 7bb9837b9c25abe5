// What several answers of a store are needed for asks for them one after the other, and says nothing of threads:
// whoever carries it out brings each answer at once (a client, on the caller's thread) or later (an actor, by message).
#pragma once

#include <functional>

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

}  // namespace sluice::storage
