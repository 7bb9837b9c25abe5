#include "storage/machine/script.hpp"

#include <initializer_list>

#include "storage/machine/lua_texts.hpp"

namespace sluice::storage::machine {
namespace {

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const auto part : parts)
    all.append(part).append("\n");
  return all;
}

}  // namespace

std::string_view name_of(script s) {
  static constexpr std::array<std::string_view, script_count> names = {
      "open",    "enqueue", "claim",     "settle",   "renew",         "progress",      "promote",
      "expired", "reap",    "prune",     "change",   "pause",         "beat",          "leave",
      "servers", "get",     "list",      "queues",   "put_aside",     "mark",          "take",
      "cell",    "swap",    "define",    "undefine", "throttlers",    "throttler",     "rouse",
      "explain", "lock",    "schedules", "schedule", "due_schedules", "swap_schedule", "audit"};
  return names[static_cast<std::size_t>(s)];
}

std::string text_of(script s) {
  switch (s) {
    case script::open: return joined({lua::prelude, lua::open});
    case script::enqueue: return joined({lua::prelude, lua::new_jobs, lua::enqueue});
    case script::claim: return joined({lua::prelude, lua::admission, lua::claim, lua::claim_alone});
    case script::settle: return joined({lua::prelude, lua::admission, lua::claim, lua::settle});
    case script::renew: return joined({lua::prelude, lua::renew});
    case script::progress: return joined({lua::prelude, lua::progress});
    case script::promote: return joined({lua::prelude, lua::admission, lua::promote});
    case script::expired: return joined({lua::prelude, lua::admission, lua::expired});
    case script::reap: return joined({lua::prelude, lua::admission, lua::reap});
    case script::prune: return joined({lua::prelude, lua::prune});
    case script::change: return joined({lua::prelude, lua::admission, lua::change});
    case script::pause: return joined({lua::prelude, lua::admission, lua::pause});
    case script::beat: return joined({lua::prelude, lua::beat});
    case script::leave: return joined({lua::prelude, lua::leave});
    case script::servers: return joined({lua::prelude, lua::servers});
    case script::get: return joined({lua::prelude, lua::get});
    case script::list: return joined({lua::prelude, lua::list});
    case script::queues: return joined({lua::prelude, lua::queues});
    case script::put_aside: return joined({lua::prelude, lua::admission, lua::put_aside});
    case script::mark: return joined({lua::prelude, lua::mark});
    case script::take: return joined({lua::prelude, lua::admission, lua::take});
    case script::cell: return joined({lua::prelude, lua::admission, lua::cell_view, lua::cell});
    case script::swap: return joined({lua::prelude, lua::admission, lua::cell_view, lua::swap});
    case script::define: return joined({lua::prelude, lua::admission, lua::define});
    case script::undefine: return joined({lua::prelude, lua::admission, lua::undefine});
    case script::throttlers: return joined({lua::prelude, lua::admission, lua::throttler_view, lua::throttlers});
    case script::throttler: return joined({lua::prelude, lua::admission, lua::throttler_view, lua::throttler});
    case script::rouse: return joined({lua::prelude, lua::admission, lua::rouse});
    case script::explain: return joined({lua::prelude, lua::admission, lua::throttler_view, lua::explain});
    case script::lock: return joined({lua::prelude, lua::lock});
    case script::schedules: return joined({lua::prelude, lua::schedule_view, lua::schedules});
    case script::schedule: return joined({lua::prelude, lua::schedule_view, lua::schedule});
    case script::due_schedules: return joined({lua::prelude, lua::schedule_view, lua::due_schedules});
    case script::swap_schedule: return joined({lua::prelude, lua::new_jobs, lua::schedule_view, lua::swap_schedule});
    case script::audit: return joined({lua::prelude, lua::admission, lua::audit});
  }
  return {};
}

bool only_looks(script s) {
  switch (s) {
    case script::get:
    case script::list:
    case script::queues:
    case script::servers:
    case script::cell:
    case script::throttlers:
    case script::throttler:
    case script::explain:
    case script::schedules:
    case script::schedule:
    case script::due_schedules:
    case script::audit: return true;
    default: return false;
  }
}

bool may_find_nothing(script s) {
  return s == script::claim || s == script::promote || s == script::expired || s == script::prune || s == script::rouse;
}

bool is_promise(script s) {
  switch (s) {
    case script::enqueue:
    case script::change:
    case script::pause:
    case script::define:
    case script::undefine:
    case script::lock:
    case script::swap_schedule: return true;
    default: return false;
  }
}

}  // namespace sluice::storage::machine
