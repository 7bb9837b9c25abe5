#include "core/unresolved.hpp"

#include <algorithm>

#include "core/codec.hpp"
#include "core/queues.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice {
namespace {

std::string meant_by(const job_type& type, const std::set<std::string, std::less<>>& types) {
  const auto meant = nearest(type.value, std::vector<std::string>(types.begin(), types.end()));
  return meant ? cat("; did you mean '", *meant, "'?") : std::string();
}

}  // namespace

std::vector<undefined_throttler> undefined_throttlers(const server_options& options) {
  std::set<std::string> defined;
  for (const auto& one : options.throttlers)
    defined.insert(resource_of(one.kind, one.name));
  std::vector<undefined_throttler> all;
  for (const auto& [type, its] : options.jobs)
    for (const auto& text : its.throttle) {
      const auto ref = parse_throttle_ref(text);
      if (!ref || ref->kind == throttler_kind::mutex || ref->kind == throttler_kind::custom) continue;
      const auto resource = resource_of(ref->kind, ref->name);
      if (defined.contains(resource)) continue;
      auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.resource == resource; });
      if (at == all.end()) at = all.insert(all.end(), {resource});
      at->types.push_back(type);
    }
  return all;
}

std::string not_defined(std::string_view resource) {
  return cat("throttler ", printable(resource, 200),
             " is not defined; define it in the configuration or with `sluice throttler set`");
}

std::string describe(const undefined_throttler& one) {
  auto types = one.types;
  for (auto& type : types)
    type.insert(0, "jobs.");
  return cat("throttler ", printable(one.resource, 200), ", which ", listed(types),
             types.size() == 1 ? " names" : " name", ", is not defined");
}

std::string how_to_define(const std::vector<undefined_throttler>& all) {
  std::string text;
  for (const auto& one : all)
    text += describe(one) + "; ";
  return cat(text, "define ", all.size() == 1 ? "it" : "them",
             " under throttlers of the configuration, or in the store with `sluice throttler set ",
             all.empty() ? std::string() : printable(all.front().resource, 200), " …`");
}

std::vector<std::string> schedules_without_server(const server_options& options,
                                                  const std::set<std::string, std::less<>>& types) {
  std::vector<std::string> all;
  for (const auto& one : options.recurring) {
    auto queue = one.queue.empty() ? queue_of_type(options.jobs, one.job) : one.queue;
    if (queue.empty()) queue = queue_name(std::string(default_queue));
    if (!options_for(options.queues, queue.value))
      all.push_back(cat("schedule ", printable(one.name, 200), " enqueues into queue ", printable(queue.value, 200),
                        ", which this server does not serve: its jobs wait until another does"));
    if (!types.contains(one.job.value))
      all.push_back(cat("schedule ", printable(one.name, 200), " makes jobs of type ", printable(one.job.value, 200),
                        ", which this server does not know: they wait until another does", meant_by(one.job, types)));
  }
  return all;
}

}  // namespace sluice
