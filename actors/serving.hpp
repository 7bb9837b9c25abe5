// Serving until the program is told to stop: what sluice::run does, and `sluice work` with more beside it.
#pragma once

#include <functional>
#include <optional>

#include <sluice/server.hpp>

#include "core/signals.hpp"

namespace sluice {

struct serving {
  const signals::kept& told;
  std::function<void()> when_stopping{};  // as soon as it is told
  std::function<void()> when_stopped{};   // the server has given its jobs back; within the same time
  std::function<void(int)> on_other{};    // signals that mean nothing to a server
  const char* greeting = nullptr;         // logged when it serves
  mutable bool is_to_be_quiet = false;    // it was told while it started

  // As server::start; nothing when it was told to stop while the store was away.
  std::optional<result<void>> start(server& s) const;
  // False when it was told to stop before.
  bool pause(duration how_long) const;
  // As `run` (<sluice/server.hpp>).
  int until_told(server& s) const;
};

}  // namespace sluice
