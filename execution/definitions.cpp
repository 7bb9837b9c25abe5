#include "execution/definitions.hpp"

#include "core/log.hpp"
#include "core/queues.hpp"
#include "core/throttlers.hpp"
#include "core/unresolved.hpp"
#include "throttling/managing.hpp"

namespace sluice::execution {
namespace {

// Where the queue of its type stands here, a schedule says it, so that its jobs go there whoever enqueues them: another
// server, or a person by hand.
std::vector<recurring> with_queues(std::vector<recurring> all, const std::map<std::string, type_options>& types) {
  for (auto& one : all)
    if (one.queue.empty()) one.queue = queue_of_type(types, one.job);
  return all;
}

}  // namespace

result<void> store_definitions(const server_options& options, const scheduler::asker& ask) {
  for (const auto& definition : options.throttlers) {
    auto stored = storage::to_define(definition);
    stored.config = stored.text;
    const auto answered = ask(stored);
    if (const auto* refused = std::get_if<error>(&answered)) return *refused;
    if (std::get<storage::define_answer>(answered).what != storage::define_answer::how::unchanged)
      log::info("throttler ", stored.resource, " is now ", stored.text);
  }
  return scheduler::apply_configuration(with_queues(options.recurring, options.jobs), options.prune_recurring, ask);
}

result<void> check_throttlers(const server_options& options, const scheduler::asker& ask) {
  return throttling::require_defined(undefined_throttlers(options), ask);
}

}  // namespace sluice::execution
