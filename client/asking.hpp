// How a caller of a store asks it: again, until it is carried out, refused for good, or the deadline is near.
#pragma once

#include "storage/runner.hpp"

namespace sluice {

// Every request may be repeated (the store knows it again), so an unknown outcome is asked again.
storage::answer ask(storage::runner& of, const storage::request& r, duration patience);
// Once only, for what would be done twice: after an unknown outcome it may have been done.
storage::answer ask_once(storage::runner& of, const storage::request& r, duration patience);
// Several in one commit. What was answered is not asked again: by then it might mean something else.
storage::runner::answers ask(storage::runner& of, const storage::runner::requests& all, duration patience);

template <class Answer>
result<Answer> ask_for(storage::runner& of, const storage::request& r, duration patience) {
  auto got = ask(of, r, patience);
  if (auto* failed = std::get_if<error>(&got)) return std::move(*failed);
  return std::get<Answer>(std::move(got));
}

}  // namespace sluice
