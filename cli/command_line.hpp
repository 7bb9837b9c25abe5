// What the operator typed, as values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/job.hpp>
#include <sluice/log.hpp>
#include <sluice/options.hpp>

namespace CLI {
class App;
}

namespace sluice::cli {

struct command {
  std::string name;                // the subcommand, as "show" or "throttler set"
  std::vector<std::string> typed;  // all words as they stood behind the program's name
  std::string shell;
  std::string store;
  std::string config;
  std::vector<std::string> sets;
  std::string queue, type, args, id, state, in, at, timeout;
  std::string throttler;                                             // KIND:NAME
  std::vector<std::string> words;                                    // of a definition, as limit=4
  std::string server, id_begins, since, until, match, error, after;  // of jobs
  std::vector<std::string> headers;                                  // NAME=VALUE
  std::vector<std::string> ids;
  std::string listen = "localhost:8080";       // of a dashboard
  std::string by = "hour";                     // of totals
  std::string expression, zone = "UTC", from;  // of a cron
  std::string exec_key;                        // a file
  std::string schedule;                        // the name of one, or a part of it
  std::string sort = "name";                   // of schedules
  new_job said;                                // what of a new job is said as it stands there
  std::vector<std::string> parents;            // ids
  std::vector<std::string> on;                 // how they have to end
  std::string unless, missing;                 // what happens otherwise
  std::vector<std::string> after_groups;
  std::string group, group_in, seal_within;  // a group, and what it is in
  std::optional<std::string> unique_by;
  std::string unique_until, when_taken, at_most;
  bool unique_per_queue = false;
  std::string start_within, finish_within;
  std::optional<unsigned> count;
  unsigned limit = 50;
  log_level log_from = log_level::info;
  log_format log_as = log_format::text;
  bool json = false;
  bool shows_args = false;
  bool signs = false;  // by an --exec-key that was typed: the environment's may be for other commands
  bool bulk = false;
  bool repair = false;
  bool looks_into_store = false;
  bool all = false, yes = false;
  bool allow_changes = false, once = false;
  bool paused = false;
};

// Exit codes: 0 done, 1 it failed, 2 wrong usage.
struct parsed {
  std::optional<sluice::cli::command> command;
  int exit_code = 0;  // when there is no command: help was shown, or the usage was wrong
};

parsed parse(int argc, char** argv);

// All commands with their words, options and help: what is parsed, completed and described. What it parses goes into
// `c`, which must outlive it.
std::unique_ptr<CLI::App> make_app(command& c);
// The name of the type of words that are files.
inline constexpr const char* type_of_files = "FILE";

// What a command may do to the store that it names.
open_mode mode_of(const command& c);

}  // namespace sluice::cli
