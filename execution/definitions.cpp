#include "execution/definitions.hpp"

#include <optional>

#include <sluice/exec_key.hpp>

#include "core/codec.hpp"
#include "core/log.hpp"
#include "core/queues.hpp"
#include "core/throttlers.hpp"
#include "operations/schedules.hpp"
#include "operations/throttlers.hpp"

namespace sluice::execution {
namespace {

constexpr std::string_view the_configuration_holds =
    "the configuration's value holds from now on, for all servers; a server whose configuration differs sets its own "
    "when "
    "it starts";

// Where the queue of its type stands here, a schedule says it, so that its jobs go there whoever enqueues them: another
// server, or a person by hand. And one of `exec` jobs is signed where there is a key, its queue with it.
result<std::vector<recurring>> completed(std::vector<recurring> all, const server_options& options) {
  std::optional<exec_key> key;
  if (const auto& file = options.exec.key_file; !file.empty()) {
    auto read = exec_key::read(file);
    if (!read) return error{read.error().code, cat("/exec/key_file: ", read.error().message)};
    key = std::move(*read);
  }
  for (auto& one : all) {
    if (one.queue.empty()) one.queue = queue_of_type(options.jobs, one.job);
    if (!key || one.job.value != exec_job_type) continue;
    if (one.queue.empty()) one.queue = queue_name(std::string(default_queue));
    if (auto fine = key->sign(one); !fine) return fine.error();
  }
  return all;
}

}  // namespace

result<void> store_definitions(const server_options& options, const storage::asker& ask) {
  for (const auto& definition : options.throttlers) {
    auto stored = storage::to_define(definition);
    stored.config = stored.text;
    const auto answered = ask(stored);
    if (const auto* refused = std::get_if<error>(&answered)) return *refused;
    using how = storage::define_answer::how;
    const auto& told = std::get<storage::define_answer>(answered);
    const bool stays = told.what == how::unchanged;
    const auto differs = told.what == how::added
                             ? cat("throttler ", stored.resource, " is now ", stored.text)
                             : operations::difference_of(stored.resource, told.before, stored.text,
                                                         stays ? operations::the_store_holds : the_configuration_holds);
    // What an earlier start has stored, another one changes; what somebody has set since stands against this file.
    const bool by_hand = told.what != how::added && told.before != told.config;
    if (!differs.empty()) log::write(by_hand ? log::level::warn : log::level::info, differs);
  }
  const auto schedules = completed(options.recurring, options);
  return schedules ? operations::apply_configuration(*schedules, options.prune_recurring, ask) : schedules.error();
}

}  // namespace sluice::execution
