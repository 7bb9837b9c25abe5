// How a caller of a store asks it: again, until it is carried out, refused for good, or the deadline is near.
#pragma once

#include "storage/async_store.hpp"
#include "storage/shared_store.hpp"

namespace sluice {

// Every request may be repeated (the store knows it again), so an unknown outcome is asked again.
storage::answer ask(storage::shared_store& of, const storage::request& r, duration timeout);
// Once only, for what would be done twice: after an unknown outcome it may have been done.
storage::answer ask_once(storage::shared_store& of, const storage::request& r, duration timeout);
// Several in one commit. What was answered is not asked again: by then it might mean something else.
storage::shared_store::answers ask(storage::shared_store& of, const storage::shared_store::requests& all,
                                   duration timeout);

// Opens a store, again and again for so long while it is away or held by another; the first time it says so in the log.
// A try that has begun by then is waited for: about 2 s of a Redis that says nothing, 5 s of a file that is held.
result<std::shared_ptr<storage::shared_store>> open_within(const std::string& url, open_mode mode, duration timeout);

template <class Answer>
result<Answer> ask_for(storage::shared_store& of, const storage::request& r, duration timeout) {
  auto got = ask(of, r, timeout);
  if (auto* failed = std::get_if<error>(&got)) return std::move(*failed);
  return std::get<Answer>(std::move(got));
}

// Carries out an operation on this thread; each of its questions may take so long.
template <class T>
result<T> carry_out(storage::shared_store& of, duration timeout,
                    const std::function<void(const storage::async_store&, const storage::callback<T>&)>& begin) {
  const auto ask_all = [&](const storage::shared_store::requests& all) { return ask(of, all, timeout); };
  return storage::carry_out<T, decltype(ask_all)>(ask_all, begin);
}

}  // namespace sluice
