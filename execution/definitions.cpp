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

constexpr std::string_view the_configuration_counts =
    "the configuration's counts from now on, for all servers; one that says otherwise stores its own when it starts";

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
    if (told.what == how::added) log::info("throttler ", stored.resource, " is now ", stored.text);
    else if (const auto differs = operations::difference_of(
                 stored.resource, told.before, stored.text,
                 told.what == how::unchanged ? operations::the_store_counts : the_configuration_counts);
             !differs.empty())
      log::warn(differs);
  }
  const auto schedules = completed(options.recurring, options);
  return schedules ? operations::apply_configuration(*schedules, options.prune_recurring, ask) : schedules.error();
}

}  // namespace sluice::execution
