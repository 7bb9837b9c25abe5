#include "core/queues.hpp"

#include <algorithm>

#include "core/codec.hpp"
#include "core/processors.hpp"
#include "core/text.hpp"

namespace sluice {

const queue_options* options_for(const std::map<std::string, queue_options>& queues, const std::string& queue) {
  if (const auto own = queues.find(queue); own != queues.end()) return &own->second;
  const queue_options* best = nullptr;
  std::ptrdiff_t most = -1;
  for (const auto& [pattern, options] : queues) {
    const auto literal = static_cast<std::ptrdiff_t>(pattern.size()) - std::count(pattern.begin(), pattern.end(), '*');
    if (literal <= most || !matches(pattern, queue)) continue;
    most = literal;
    best = &options;
  }
  return best;
}

std::uint32_t default_workers(const std::string& queue, std::uint32_t special_queue_workers) {
  if (queue.ends_with('*')) return 0;
  return queue.ends_with("-queue") ? special_queue_workers : std::min(usable_processors(), 1000u);
}

std::uint64_t workers_in_all(const server_options& options) {
  std::uint64_t all = 0;
  for (const auto& [name, q] : options.queues)
    if (name.find('*') == std::string::npos)
      all += q.workers > 0 ? q.workers : default_workers(name, options.special_queue_workers);
  return all;
}

std::uint32_t threads_of(const server_options& options) {
  if (options.threads > 0) return options.threads;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(workers_in_all(options), 256, 1'000'000));
}

queue_name queue_of_type(const std::map<std::string, type_options>& types, const job_type& type) {
  const auto found = types.find(type.value);
  return found == types.end() ? queue_name() : found->second.queue;
}

queue_name queue_of_schedule(const server_options& options, const recurring& schedule) {
  const auto queue = schedule.queue.empty() ? queue_of_type(options.jobs, schedule.job) : schedule.queue;
  return queue.empty() ? queue_name(std::string(default_queue)) : queue;
}

}  // namespace sluice
