// Names in a server's options behind which nothing stands there. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <sluice/handler.hpp>
#include <sluice/options.hpp>

namespace sluice {

// A throttler that `throttlers` does not define, and the types that name it. A mutex needs no definition; what a custom
// throttler is, its host says.
struct undefined_throttler {
  std::string resource;
  std::vector<std::string> types{};
};
std::vector<undefined_throttler> undefined_throttlers(const server_options& options);

// What a job is told that names one of which neither the configuration nor the store knows.
std::string not_defined(std::string_view resource);

// "throttler semaphore:nope, which jobs.a and jobs.b name, is not defined"; and what is to be done about them.
std::string describe(const undefined_throttler& one);
std::string how_to_define(const std::vector<undefined_throttler>& all);

// Custom throttlers that types of this server name and for which it was given no code, a sentence for each. Of types
// that others run, they may have it.
result<void> require_custom_code(const server_options& options, const handler_registry& handlers);

// What the options say without effect here, a sentence for each: schedules and types whose queue this server does not
// serve, those of a type that it does not know, and options that leave others nothing to do. `types`: those it has a
// handler of.
std::vector<std::string> doubts_of(const server_options& options, const std::set<std::string, std::less<>>& types);

}  // namespace sluice
