// What `exec` jobs may do: the configuration's `exec`, looked up before any of them runs, since between fork and exec
// nothing can be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include <sluice/error.hpp>
#include <sluice/exec_key.hpp>
#include <sluice/options.hpp>

namespace sluice::exec {

struct rules {
  struct limit {
    __rlimit_resource what;
    rlim_t most;
  };
  std::vector<std::string> allow;
  std::vector<std::string> variables;  // that a job may set where programs are listed
  std::string folder;
  std::vector<std::string> environment;  // NAME=value
  std::vector<limit> limits;
  rlim_t soft_files = RLIM_INFINITY;  // as the server was started with, before it raised its own
  bool new_privileges = false;
  bool has_user = false;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  std::optional<exec_key> key;  // only what is signed runs
};

// What a server opens is bounded by the hard limit; commands get the soft one that it was started with. Answers how
// many files may be open then. Before rules_of, once.
rlim_t raise_open_files();

// An error names what cannot be: a user, a folder, a limit, a file of keys. `secrets`: variables that no command gets.
result<rules> rules_of(const exec_options& options, const std::vector<std::string>& secrets);

// Where programs are listed, a job's own variables must be, too: many of them make a program run another one
// (LD_PRELOAD, BASH_ENV, PATH).
bool may_set(const rules& r, const std::string& variable);

// The program's path, or the word as it is where any is allowed; nothing when it is not allowed. A word without a slash
// means the allowed program of that name.
std::optional<std::string> program_of(const rules& r, const std::string& word);

// Replaces it where it is there.
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value);

}  // namespace sluice::exec
