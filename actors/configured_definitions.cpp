#include "actors/configured_definitions.hpp"

#include <algorithm>
#include <system_error>

#include "core/log.hpp"
#include "core/throttlers.hpp"
#include "core/unresolved.hpp"
#include "execution/definitions.hpp"
#include "operations/throttlers.hpp"

namespace sluice::actors {
namespace {

using namespace std::chrono_literals;

constexpr duration restore_timeout = 300ms;  // a stop may wait for one step

}  // namespace

storage::answer configured_definitions::ask(const storage::request& r, duration timeout) const {
  if (of_.stopped) return error{errc::overloaded, "the server is stopping"};
  return std::move(of_.store->call({r}, std::chrono::steady_clock::now() + timeout).at(0));
}

result<void> configured_definitions::store(duration timeout) {
  return execution::store_definitions(of_.options, [&](const storage::request& r) { return ask(r, timeout); });
}

result<void> configured_definitions::check_throttlers(duration timeout) const {
  return operations::require_defined(undefined_throttlers(of_.options),
                                     [&](const storage::request& r) { return ask(r, timeout); });
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

bool configured_definitions::is_first_told_of(std::string_view resource) {
  const mutex_lock held(lock_);
  return told_of_.emplace(resource).second;
}

}  // namespace sluice::actors
