// What `exec` jobs may do: the configuration's `exec`, looked up before any of them runs, since between fork and exec
// nothing can be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include <sluice/error.hpp>
#include <sluice/options.hpp>

namespace sluice::exec {

struct rules {
  struct limit {
    __rlimit_resource what;
    rlim_t most;
  };
  std::vector<std::string> allow;
  std::string folder;
  std::vector<std::string> environment;  // NAME=value
  std::vector<limit> limits;
  bool has_user = false;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
};

// invalid_argument names what cannot be: a user, a folder.
result<rules> rules_of(const exec_options& options);

// The program's path, or the word as it is where any is allowed; nothing when it is not allowed. A word without a slash
// means the allowed program of that name.
std::optional<std::string> program_of(const rules& r, const std::string& word);

// Replaces it where it is there.
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value);

}  // namespace sluice::exec
