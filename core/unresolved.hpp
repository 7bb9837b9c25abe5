// Names in a server's options behind which nothing stands there. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

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

// Of each schedule whose jobs this server would not run, a sentence that says why: it does not serve their queue, or
// knows no such type.
std::vector<std::string> schedules_without_server(const server_options& options,
                                                  const std::set<std::string, std::less<>>& types);

}  // namespace sluice
