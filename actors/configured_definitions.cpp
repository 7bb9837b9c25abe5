#include "actors/configured_definitions.hpp"

#include <algorithm>
#include <system_error>

#include "core/log.hpp"
#include "core/queues.hpp"
#include "core/throttlers.hpp"
#include "scheduler/schedules.hpp"

namespace sluice::actors {
namespace {

using namespace std::chrono_literals;

constexpr duration restore_timeout = 300ms;  // a stop may wait for one step

// Where the queue of its type stands here, a schedule says it, so that its jobs go there whoever enqueues them: another
// server, or a person by hand.
std::vector<recurring> with_queues(std::vector<recurring> all, const std::map<std::string, type_options>& types) {
  for (auto& one : all)
    if (one.queue.empty()) one.queue = queue_of_type(types, one.job);
  return all;
}

}  // namespace

result<void> configured_definitions::store(duration timeout) {
  const auto& options = of_.options;
  const auto within = [&] { return std::chrono::steady_clock::now() + timeout; };
  std::vector<storage::request> definitions;
  for (const auto& definition : options.throttlers) {
    auto stored = storage::to_define(definition);
    stored.config = stored.text;
    definitions.emplace_back(std::move(stored));
  }
  const auto answered = definitions.empty() ? std::vector<storage::answer>() : of_.store->call(definitions, within());
  for (const auto& a : answered)
    if (const auto* refused = std::get_if<error>(&a)) return *refused;
  for (std::size_t i = 0; i < answered.size(); ++i)
    if (std::get<storage::define_answer>(answered[i]).what != storage::define_answer::how::unchanged)
      log::info("throttler ", resource_of(options.throttlers[i].kind, options.throttlers[i].name), " is now ",
                write_throttler(options.throttlers[i]));
  const auto ask = [&](const storage::request& r) -> storage::answer {
    if (of_.stopped) return error{errc::overloaded, "the server is stopping"};
    return std::move(of_.store->call({r}, within()).at(0));
  };
  return scheduler::apply_configuration(with_queues(options.recurring, options.jobs), options.prune_recurring, ask);
}

void configured_definitions::restore() {
  const mutex_lock held(lock_);
  if (of_.stopped) return;
  if (restoring_.exchange(true)) {  // what is under way may have been too early
    must_restore_ = true;
    return;
  }
  try {
    restorer_ = std::jthread([this] { restore_now(); });
  } catch (const std::system_error& e) {  // no thread can be made now
    restoring_ = false;
    failed(message_of(e));
  }
}

void configured_definitions::restore_now() {
  try {
    if (const auto stored = store(restore_timeout); !stored) failed(to_string(stored.error()));
    else
      log::info("the configuration's ", of_.options.throttlers.size(), " throttlers and ", of_.options.recurring.size(),
                " schedules are in the store again");
  } catch (const std::exception& e) {
    failed(message_of(e));
  }
  restoring_ = false;
}

void configured_definitions::failed(const std::string& why) {
  must_restore_ = true;
  log::warn("the configuration could not be stored again (", why, "); trying again in a while");
}

void configured_definitions::end() {
  const mutex_lock held(lock_);
  if (restorer_.joinable()) restorer_.join();
}

bool configured_definitions::defines(std::string_view resource) const {
  const auto of_line = resource.substr(0, resource.find('/'));
  return std::any_of(of_.options.throttlers.begin(), of_.options.throttlers.end(), [&](const throttler& definition) {
    const auto name = resource_of(definition.kind, definition.name);
    return name == resource || name == of_line;
  });
}

}  // namespace sluice::actors
